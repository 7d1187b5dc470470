/* mhd_conn.c - the connections of a loop: from the door to MHD, and their end. */
#include <microhttpd.h>

#include "clients.h"
#include "mhd_private.h"

#include <stdlib.h>
#include <sys/socket.h>

#define MAX_LINGERS 64

struct weir__conn *weir__conn_open(struct weir__mhd *mhd, struct MHD_Connection *connection)
{
        struct weir__conn *conn = calloc(1, sizeof(*conn));

        mhd->n_conns++;
        WEIR__COUNT(mhd->loop, connections_open);
        if (!conn)
                return NULL;
        conn->mhd = connection;
        conn->fd = mhd->arriving->fd;
        weir__peer_name(conn, (const struct sockaddr *)&mhd->arriving->address);
        conn->whose = mhd->arriving->client;
        conn->half_close = mhd->arriving->half_close;
        mhd->arriving = NULL;
        conn->next = mhd->conns;
        if (mhd->conns)
                mhd->conns->prev = conn;
        mhd->conns = conn;
        weir__leave_watch(mhd, conn);
        weir__watch_add(mhd, conn);
        return conn;
}

void weir__conn_close(struct weir__mhd *mhd, struct weir__conn *conn)
{
        mhd->n_conns--;
        if (conn)
                weir__client_leave(conn->whose, &mhd->loop->counters);
        weir__count_by(&mhd->loop->counters, WEIR__STAT(connections_open), (uint64_t)-1);
        if (!conn)
                return;
        weir__leave_forget(mhd, conn);
        weir__watch_remove(mhd, conn);
        weir__timer_cancel(&mhd->short_timers, &conn->swallow);
        *(conn->prev ? &conn->prev->next : &mhd->conns) = conn->next;
        if (conn->next)
                conn->next->prev = conn->prev;
        free(conn);
}

void weir__conn_shut(struct weir__conn *conn, int how)
{
        conn->shut = true;
        shutdown(conn->fd, how);
}

void weir__mhd_add(struct weir__mhd *mhd, const struct weir__arrival *arrival)
{
        mhd->stirred = true;
        mhd->arriving = arrival;
        if (MHD_add_connection(mhd->daemon, arrival->fd, (const struct sockaddr *)&arrival->address,
                               arrival->address_len) != MHD_YES)
                WEIR__COUNT(mhd->loop, out_of_memory); /* MHD has closed it */
        WEIR__COUNT(mhd->loop, connections);           /* who counts it sees it open */
        if (mhd->arriving)                             /* no memory to keep it in */
                weir__client_leave(arrival->client, &mhd->loop->counters);
        mhd->arriving = NULL;
}

void weir__mhd_linger(struct weir__mhd *mhd, int fd)
{
        weir__linger_add(&mhd->lingers, fd, MAX_LINGERS, weir__now(&mhd->loop->clock));
}

unsigned weir__mhd_connections(const struct weir__mhd *mhd)
{
        return mhd->n_conns + mhd->lingers.n + mhd->n_pushes;
}

void weir__mhd_turn_away(struct weir__mhd *mhd)
{
        mhd->full = true;
        for (struct weir__conn *conn = mhd->conns; conn; conn = conn->next)
                conn->requests_left = 1;
}

void weir__mhd_close_all(struct weir__mhd *mhd)
{
        mhd->cut_all = true;
        weir__push_cut(mhd);
        weir__lingers_finish(&mhd->lingers);
        for (struct weir__conn *conn = mhd->conns; conn; conn = conn->next)
                weir__conn_shut(conn, SHUT_RDWR);
}
