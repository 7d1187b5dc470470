/*
 * drain.c - closing idle connections without losing a request.
 *
 * A client may send its next request at any moment, and one that crosses the end of its connection
 * gets no answer. So only connections that have been quiet for a while are closed; a client that is
 * busy sends its next request meanwhile, and is told in the answer. What has come but was not read
 * yet is looked for right before.
 */
#include "mhd_private.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define QUIET_MS 250
#define LOOK_NS  50000000ull /* 50 ms between two looks */

/* Milliseconds since anything came or went; where the kernel does not say, since the drain began.
 */
static uint64_t quiet_ms(const struct weir__mhd *mhd, const struct weir__conn *conn,
                         uint64_t now_ns)
{
        struct tcp_info info;
        socklen_t len = sizeof(info);

        if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
                return (now_ns - mhd->drain_ns) / 1000000;
        return info.tcpi_last_data_recv < info.tcpi_last_data_sent ? info.tcpi_last_data_recv
                                                                   : info.tcpi_last_data_sent;
}

/* Closes it now, unless it is not quiet: true then. */
static bool stays(const struct weir__mhd *mhd, struct weir__conn *conn, uint64_t now_ns)
{
        if (conn->shut)
                return false;
        if (quiet_ms(mhd, conn, now_ns) < QUIET_MS || weir__has_unread(conn->fd))
                return true;
        weir__conn_shut(conn, SHUT_RDWR);
        return false;
}

void weir__mhd_drain(struct weir__mhd *mhd, uint64_t now_ns)
{
        mhd->drain_ns = now_ns;
}

int weir__mhd_drain_turn(struct weir__mhd *mhd, uint64_t now_ns)
{
        bool any = false;

        if (now_ns < mhd->look_ns)
                return (int)((mhd->look_ns - now_ns) / 1000000) + 1;
        mhd->look_ns = now_ns + LOOK_NS;
        for (struct weir__conn *conn = mhd->conns; conn; conn = conn->next) {
                if (!conn->cell)
                        any |= stays(mhd, conn, now_ns);
        }
        return any ? (int)(LOOK_NS / 1000000) : -1;
}
