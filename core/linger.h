/*
 * linger.h - connections that close slowly: no more is sent, and what comes in is read and dropped
 * until the client closes, so that it can read what it was told.
 */
#ifndef WEIR_CORE_LINGER_H
#define WEIR_CORE_LINGER_H

#include "app.h"
#include "timer.h"

/* A set of them, owned by one thread. */
struct weir__lingers {
        struct weir__timers     timers;   /* of all, the next to be cut first       */
        unsigned                n;
        int                     fd;       /* an epoll set of their sockets          */
        struct weir__counters  *counters; /* where what is cut off counts           */
};

/* Adds its set to `epoll_fd`, with `tag` as the event's pointer. False without a descriptor. */
bool weir__lingers_init(struct weir__lingers *lingers, int epoll_fd, void *tag,
                        struct weir__counters *counters);

/* Takes over `fd`, and closes it at once when `most` linger already or memory is out. */
void weir__linger_add(struct weir__lingers *lingers, int fd, unsigned most, uint64_t now_ns);

/* Reads what has come, and closes those that have ended or whose time is up. */
void weir__lingers_turn(struct weir__lingers *lingers, uint64_t now_ns);

/* Closes all. */
void weir__lingers_finish(struct weir__lingers *lingers);

#endif
