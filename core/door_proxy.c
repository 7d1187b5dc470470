/*
 * door_proxy.c - connections that start with a PROXY header, from accept() until that is in.
 *
 * The header nearly always comes at once. What comes is looked at, and stays in the socket until
 * the header is whole; then exactly that is taken off. So the set of those that wait is edge
 * triggered: it tells of more, not of what is there.
 */
#include "door.h"
#include "network.h"
#include "proxy.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define GONE (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

struct caller {
        struct weir__timer   timer; /* in the list of its socket; stands first */
        struct weir__socket *sock;
        struct weir__arrival arrival;
};

/* 1: the header is in, and off the socket; 0: it goes on; -1: none comes. */
static int read_header(struct weir__arrival *arrival)
{
        char bytes[WEIR__PROXY_MAX];
        ssize_t n = recv(arrival->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        int len;

        if (n <= 0)
                return n < 0 && errno == EAGAIN ? 0 : -1;
        len = weir__proxy_read(bytes, (size_t)n, &arrival->address, &arrival->address_len);
        if (len <= 0)
                return len;
        return recv(arrival->fd, bytes, (size_t)len, MSG_DONTWAIT) == len ? 1 : -1;
}

static void refuse(struct weir__door *door, int fd)
{
        WEIR__COUNT(door, proxy_refused);
        close(fd);
}

/* ---- Those that wait. ---- */

static bool add(struct weir__door *door, struct weir__socket *sock,
                const struct weir__arrival *arrival)
{
        struct caller *caller = calloc(1, sizeof(*caller));
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = caller };

        if (!caller || epoll_ctl(door->callers_fd, EPOLL_CTL_ADD, arrival->fd, &event) < 0) {
                free(caller);
                return false;
        }
        caller->sock = sock;
        caller->arrival = *arrival;
        weir__timer_set(&sock->callers, &caller->timer, weir__now(&weir__system_clock));
        door->n_callers++;
        return true;
}

/* Forgets a caller, but does not close its connection. */
static void drop(struct weir__door *door, struct caller *caller)
{
        epoll_ctl(door->callers_fd, EPOLL_CTL_DEL, caller->arrival.fd, NULL);
        weir__timer_cancel(&caller->sock->callers, &caller->timer);
        door->n_callers--;
        free(caller);
}

/* Closes those of a socket whose time is up at `now_ns`, or all at the end of time. */
static void close_due(struct weir__door *door, const struct weir__timers *callers, uint64_t now_ns)
{
        struct weir__timer *next;

        for (struct weir__timer *due = callers->first; due && due->due_ns <= now_ns; due = next) {
                struct caller *caller = (struct caller *)(void *)due;
                int fd = caller->arrival.fd;

                next = due->next;
                drop(door, caller);
                if (now_ns < UINT64_MAX)
                        WEIR__COUNT(door, proxy_timeouts); /* who sees the end sees it counted */
                close(fd);
        }
}

/* ---- For the door. ---- */

int weir__callers_init(struct weir__door *door)
{
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = door };
        bool any = false;

        for (unsigned i = 0; i < door->n_sockets; i++)
                any |= door->sockets[i].proxy_protocol;
        if (!any)
                return 0;
        door->callers_fd = epoll_create1(EPOLL_CLOEXEC);
        if (door->callers_fd < 0 ||
            epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, door->callers_fd, &event) < 0)
                return -errno;
        return 0;
}

void weir__caller_take(struct weir__door *door, struct weir__socket *sock,
                       struct weir__arrival *arrival)
{
        struct weir__address from = weir__address_of(&arrival->address);
        int state = -1;

        if (!sock->trusted || weir__networks_have(sock->trusted, &from))
                state = read_header(arrival);
        if (state < 0) {
                refuse(door, arrival->fd);
        } else if (state > 0) {
                weir__door_hand_over(door, sock, arrival);
        } else if (weir__door_is_full(door) || !add(door, sock, arrival)) {
                WEIR__COUNT(door, connections_refused);
                weir__door_refuse(door, arrival->fd);
        }
}

void weir__callers_turn(struct weir__door *door)
{
        struct epoll_event events[256];
        int n = door->n_callers ? epoll_wait(door->callers_fd, events, 256, 0) : 0;

        for (int i = 0; i < n; i++) {
                struct caller *caller = events[i].data.ptr;
                int state = read_header(&caller->arrival);
                struct weir__arrival arrival = caller->arrival;
                const struct weir__socket *sock = caller->sock;

                if (state == 0 && !(events[i].events & GONE))
                        continue;
                drop(door, caller);
                if (state > 0)
                        weir__door_hand_over(door, sock, &arrival);
                else
                        refuse(door, arrival.fd);
        }
}

int weir__callers_expire(struct weir__door *door)
{
        uint64_t now = door->n_callers ? weir__now(&weir__system_clock) : 0;
        int least = INT_MAX;

        for (unsigned i = 0; i < door->n_sockets && door->n_callers; i++) {
                struct weir__timers *callers = &door->sockets[i].callers;

                close_due(door, callers, now);
                if (callers->first && weir__timer_wait_ms(callers, now) < least)
                        least = weir__timer_wait_ms(callers, now);
        }
        return least == INT_MAX ? -1 : least;
}

void weir__callers_finish(struct weir__door *door)
{
        for (unsigned i = 0; i < door->n_sockets; i++)
                close_due(door, &door->sockets[i].callers, UINT64_MAX);
        assert(door->n_callers == 0);
        if (door->callers_fd > 0)
                close(door->callers_fd);
        door->callers_fd = 0;
}
