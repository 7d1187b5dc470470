/*
 * leave.c - noticing that a client has left.
 *
 * MHD waits for edges, and takes a short read as a sign that there is no more to read. When data
 * and the end of the connection arrive before it looks, both are one edge: it reads the data, and
 * never learns of the end. So each socket is in a second epoll set, for its end alone. That set is
 * a member of MHD's, so it ends a sleep. Once MHD has read the data, the socket gets one more edge,
 * by closing for reading what the client has closed for writing. While MHD has not, because it
 * still writes, that is tried again every now and then. The request of a client that has left does
 * not wait any longer; where the server itself has closed for reading, that cannot be seen. On a
 * listener with half_close only a reset ends such a request, if it is in: until it is over, its
 * socket is watched for that alone.
 */
#include "mhd_private.h"
#include "wait.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGAIN_NS 100000000ull /* 100 ms */

bool weir__leave_init(struct weir__mhd *mhd)
{
        struct epoll_event event = { .events = EPOLLIN }; /* MHD passes over ptr NULL */

        mhd->leave_timers.after_ns = AGAIN_NS;
        mhd->leave_fd = epoll_create1(EPOLL_CLOEXEC);
        return mhd->leave_fd >= 0 &&
               epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, mhd->leave_fd, &event) == 0;
}

void weir__leave_finish(struct weir__mhd *mhd)
{
        if (mhd->leave_fd > 0)
                close(mhd->leave_fd);
}

void weir__leave_watch(struct weir__mhd *mhd, struct weir__conn *conn)
{
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = conn };

        if (epoll_ctl(mhd->leave_fd, EPOLL_CTL_ADD, conn->fd, &event) < 0)
                WEIR__COUNT(mhd->loop, out_of_memory); /* served, but its end may go unseen */
}

void weir__leave_forget(struct weir__mhd *mhd, struct weir__conn *conn)
{
        weir__timer_cancel(&mhd->leave_timers, &conn->leave);
        epoll_ctl(mhd->leave_fd, EPOLL_CTL_DEL, conn->fd, NULL);
}

/* Behind its end nothing more comes: what is empty now stays empty. */
bool weir__has_unread(int fd)
{
        char byte;

        return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Its request waits, and goes on doing so: epoll tells of a reset without being asked. */
static void watch_reset(struct weir__mhd *mhd, struct weir__conn *conn)
{
        struct epoll_event event = { .events = EPOLLONESHOT, .data.ptr = conn };

        epoll_ctl(mhd->leave_fd, EPOLL_CTL_MOD, conn->fd, &event);
}

static void push(struct weir__mhd *mhd, struct weir__conn *conn, uint64_t now_ns, uint32_t events)
{
        conn->ended = !conn->shut;
        if (conn->ended && conn->cell && conn->cell->waits) {
                if (conn->half_close && weir__is_in(conn->cell) &&
                    !(events & (EPOLLHUP | EPOLLERR)))
                        watch_reset(mhd, conn);
                else
                        weir__wait_left(conn->cell);
        } else if (weir__has_unread(conn->fd))
                weir__timer_set(&mhd->leave_timers, &conn->leave, now_ns);
        else
                shutdown(conn->fd, SHUT_RD);
}

void weir__leave_waits(struct weir__mhd *mhd, struct weir__conn *conn)
{
        if (conn->ended && !conn->leave.set)
                weir__timer_set(&mhd->leave_timers, &conn->leave, weir__now(&mhd->loop->clock));
}

static void push_again(struct weir__mhd *mhd, uint64_t now_ns)
{
        struct weir__timer *timer;

        while ((timer = weir__timer_due(&mhd->leave_timers, now_ns)))
                push(mhd,
                     (struct weir__conn *)(void *)((char *)timer -
                                                   offsetof(struct weir__conn, leave)),
                     now_ns, 0);
}

void weir__leave_turn(struct weir__mhd *mhd, uint64_t now_ns)
{
        struct epoll_event events[64];
        int n = epoll_wait(mhd->leave_fd, events, 64, 0);

        for (int i = 0; i < n; i++)
                push(mhd, events[i].data.ptr, now_ns, events[i].events);
        push_again(mhd, now_ns);
}
