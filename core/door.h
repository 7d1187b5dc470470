/* door.h - the acceptor: takes connections in and shares them out among the loops. */
#ifndef WEIR_CORE_DOOR_H
#define WEIR_CORE_DOOR_H

#include "listen.h"
#include "loop.h"

/* Used by one thread, which owns it. */
struct weir__door {
        struct weir__app      *app;
        struct weir__socket   *sockets;
        unsigned               n_sockets;
        struct weir__worker  **workers;
        unsigned               n_workers;
        unsigned               max_connections;
        int                    epoll_fd;
        bool                   warned;   /* of descriptors running out, once      */
        bool                   paused;   /* accepts nothing until the next wait   */
        unsigned               n_callers;  /* connections that owe a PROXY header...   */
        int                    callers_fd; /* ...and an epoll set of them, in epoll_fd */
        struct weir__counters  counters; /* of what never reached a loop          */
};

/* 0 or -errno. `wake_fd` ends weir__door_wait() when it can be read. */
int weir__door_init(struct weir__door *door, int wake_fd);

/* Accepts until `wake_fd` can be read or `wait_ms` have passed (-1: no limit). */
void weir__door_run(struct weir__door *door, int wait_ms);

/* Accepts what is queued, then closes the sockets. */
void weir__door_close(struct weir__door *door);

void weir__door_finish(struct weir__door *door);

/* Is there no room for another connection? */
bool weir__door_is_full(const struct weir__door *door);

/* Gives a connection to a loop, or closes it. */
void weir__door_hand_over(struct weir__door *door, const struct weir__arrival *arrival);

/* ---- door_proxy.c: connections that start with a PROXY header. ---- */

/* 0 or -errno. */
int weir__callers_init(struct weir__door *door);

/* Takes in a connection that was accepted: it goes to a loop, or waits, or is closed. */
void weir__caller_take(struct weir__door *door, struct weir__socket *sock,
                       struct weir__arrival *arrival);

/* Looks at those of which more has come. */
void weir__callers_turn(struct weir__door *door);

/* Closes those whose time is up; the milliseconds until the next one's is, or -1. */
int weir__callers_expire(struct weir__door *door);

/* Closes all. */
void weir__callers_finish(struct weir__door *door);

#endif
