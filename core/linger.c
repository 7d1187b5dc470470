/*
 * linger.c - closing a connection slowly.
 *
 * A socket that is closed while the client still sends is reset, and the reset can overtake the
 * answer. So it sends no more, and what comes in is read and dropped until the client closes, for
 * at most 2 s and 1 MiB.
 */
#include "linger.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIME_NS     2000000000ull
#define MAX_EVENTS  64
#define MAX_DROPPED (1 << 20)

struct slow {
        struct weir__timer timer; /* stands first */
        size_t             dropped;
        int                fd;
};

static struct slow *slow_of(struct weir__timer *timer)
{
        return (struct slow *)(void *)timer;
}

static void count_cut(struct weir__lingers *lingers)
{
        weir__count_by(lingers->counters, WEIR__STAT(linger_cut), 1);
}

static void end(struct weir__lingers *lingers, struct slow *slow)
{
        weir__timer_cancel(&lingers->timers, &slow->timer);
        lingers->n--;
        epoll_ctl(lingers->fd, EPOLL_CTL_DEL, slow->fd, NULL); /* a child may hold it open */
        shutdown(slow->fd, SHUT_RDWR);
        close(slow->fd);
        free(slow);
}

bool weir__lingers_init(struct weir__lingers *lingers, int epoll_fd, void *tag,
                        struct weir__counters *counters)
{
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = tag };

        lingers->timers.after_ns = TIME_NS;
        lingers->counters = counters;
        lingers->fd = epoll_create1(EPOLL_CLOEXEC);
        return lingers->fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, lingers->fd, &event) == 0;
}

void weir__linger_add(struct weir__lingers *lingers, int fd, unsigned most, uint64_t now_ns)
{
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
        struct slow *slow = lingers->n < most ? calloc(1, sizeof(*slow)) : NULL;

        shutdown(fd, SHUT_WR);
        if (!slow) {
                count_cut(lingers);
                close(fd);
                return;
        }
        slow->fd = fd;
        event.data.ptr = slow;
        epoll_ctl(lingers->fd, EPOLL_CTL_ADD, fd, &event); /* else the timer finds it */
        weir__timer_set(&lingers->timers, &slow->timer, now_ns);
        lingers->n++;
}

/* Reads what there is; false when the client has closed or has sent enough. */
static bool drop_input(struct weir__lingers *lingers, struct slow *slow)
{
        char sink[16384];
        ssize_t n;

        while ((n = recv(slow->fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0) {
                slow->dropped += (size_t)n;
                if (slow->dropped >= MAX_DROPPED) {
                        count_cut(lingers);
                        return false;
                }
        }
        return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void weir__lingers_turn(struct weir__lingers *lingers, uint64_t now_ns)
{
        struct epoll_event events[MAX_EVENTS];
        int n = lingers->n ? epoll_wait(lingers->fd, events, MAX_EVENTS, 0) : 0;

        for (int i = 0; i < n; i++) {
                if (!drop_input(lingers, events[i].data.ptr))
                        end(lingers, events[i].data.ptr);
        }
        for (struct weir__timer *timer = lingers->timers.first, *next;
             timer && timer->due_ns <= now_ns; timer = next) {
                next = timer->next;
                count_cut(lingers);
                end(lingers, slow_of(timer));
        }
}

void weir__lingers_finish(struct weir__lingers *lingers)
{
        for (struct weir__timer *timer = lingers->timers.first, *next; timer; timer = next) {
                next = timer->next;
                end(lingers, slow_of(timer));
        }
}
