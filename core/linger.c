/*
 * linger.c - closing a connection slowly.
 *
 * A socket that is closed while the client still sends is reset, and the reset can overtake the
 * answer. So a copy of the descriptor outlives the connection: it sends no more, and what comes in
 * is read and dropped until the client closes, for at most 2 s and 1 MiB.
 */
#include "mhd_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MAX_LINGERS 64
#define MAX_DROPPED (1 << 20)

struct weir__linger {
        struct weir__linger *prev, *next;
        struct weir__timer   timer;
        size_t               dropped;
        int                  fd;
};

static void end(struct weir__mhd *mhd, struct weir__linger *linger)
{
        weir__timer_cancel(&mhd->linger_timers, &linger->timer);
        *(linger->prev ? &linger->prev->next : &mhd->lingers) = linger->next;
        if (linger->next)
                linger->next->prev = linger->prev;
        mhd->n_lingers--;
        epoll_ctl(mhd->linger_fd, EPOLL_CTL_DEL, linger->fd, NULL); /* a child may hold it open */
        shutdown(linger->fd, SHUT_RDWR);
        close(linger->fd);
        free(linger);
}

void weir__linger_add(struct weir__mhd *mhd, int fd)
{
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
        struct weir__linger *linger;

        if (mhd->n_lingers == MAX_LINGERS) {
                WEIR__COUNT(mhd->loop, linger_cut);
                return;
        }
        linger = calloc(1, sizeof(*linger));
        if (!linger)
                return;
        linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (linger->fd < 0) {
                free(linger);
                return;
        }
        shutdown(linger->fd, SHUT_WR);
        event.data.ptr = linger;
        epoll_ctl(mhd->linger_fd, EPOLL_CTL_ADD, linger->fd, &event); /* else the timer finds it */
        linger->next = mhd->lingers;
        if (mhd->lingers)
                mhd->lingers->prev = linger;
        mhd->lingers = linger;
        mhd->n_lingers++;
        weir__timer_set(&mhd->linger_timers, &linger->timer, weir__now(&mhd->loop->clock));
}

/* Reads what there is; false when the client has closed or has sent enough. */
static bool drop_input(struct weir__mhd *mhd, struct weir__linger *linger)
{
        char sink[16384];
        ssize_t n;

        while ((n = recv(linger->fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0) {
                linger->dropped += (size_t)n;
                if (linger->dropped >= MAX_DROPPED) {
                        WEIR__COUNT(mhd->loop, linger_cut);
                        return false;
                }
        }
        return n < 0 && (errno == EAGAIN || errno == EINTR);
}

bool weir__linger_init(struct weir__mhd *mhd)
{
        struct epoll_event event = { .events = EPOLLIN }; /* MHD passes over ptr NULL */

        mhd->linger_fd = epoll_create1(EPOLL_CLOEXEC);
        return mhd->linger_fd >= 0 &&
               epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, mhd->linger_fd, &event) == 0;
}

void weir__linger_turn(struct weir__mhd *mhd, uint64_t now_ns)
{
        struct epoll_event events[MAX_LINGERS];
        int n = epoll_wait(mhd->linger_fd, events, MAX_LINGERS, 0);

        for (int i = 0; i < n; i++) {
                if (!drop_input(mhd, events[i].data.ptr))
                        end(mhd, events[i].data.ptr);
        }
        for (struct weir__linger *linger = mhd->lingers, *next; linger; linger = next) {
                next = linger->next;
                if (linger->timer.due_ns > now_ns)
                        continue;
                WEIR__COUNT(mhd->loop, linger_cut);
                end(mhd, linger);
        }
}

void weir__linger_finish(struct weir__mhd *mhd)
{
        for (struct weir__linger *linger = mhd->lingers, *next; linger; linger = next) {
                next = linger->next;
                end(mhd, linger);
        }
}
