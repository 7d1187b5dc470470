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
        struct weir__counters  counters; /* of what never reached a loop          */
};

/* 0 or -errno. `wake_fd` ends weir__door_wait() when it can be read. */
int weir__door_init(struct weir__door *door, int wake_fd);

/* Accepts until `wake_fd` can be read or `wait_ms` have passed (-1: no limit). */
void weir__door_run(struct weir__door *door, int wait_ms);

/* Accepts what is queued, then closes the sockets. */
void weir__door_close(struct weir__door *door);

void weir__door_finish(struct weir__door *door);

#endif
