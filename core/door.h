/* door.h - the acceptor: takes connections in and shares them out among the loops. */
#ifndef WEIR_CORE_DOOR_H
#define WEIR_CORE_DOOR_H

#include "clients.h"
#include "linger.h"
#include "listen.h"
#include "loop.h"
#include "room.h"

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
        bool                   waits;    /* for room, rather than refuse          */
        bool                   looks_away; /* from the listening sockets          */
        uint64_t               paused_until_ns; /* no descriptors; 0: there are   */
        struct weir__room      room;     /* that loops make while it waits        */
        struct weir__lingers   refused;  /* whom it has told that there is none   */
        struct weir__clients   clients;
        unsigned               n_callers;  /* connections that owe a PROXY header...   */
        int                    callers_fd; /* ...and an epoll set of them, in epoll_fd */
        struct weir__counters  counters; /* of what never reached a loop          */
};

/* 0 or -errno. `wake_fd` ends weir__door_wait() when it can be read. */
int weir__door_init(struct weir__door *door, int wake_fd);

/* Serves until `wake_fd` can be read or `wait_ms` have passed (-1: no limit). */
void weir__door_run(struct weir__door *door, int wait_ms);

/*
 * Accepts what is queued, then closes the sockets. Connections that owe a PROXY header go on doing
 * so (n_callers), until weir__callers_finish().
 */
void weir__door_close(struct weir__door *door);

void weir__door_finish(struct weir__door *door);

/* Is there no room for another connection? */
bool weir__door_is_full(const struct weir__door *door);

/* The most that any loop owes a sign of life. The door's thread, or with app->lock held. */
uint64_t weir__door_lag_ns(const struct weir__door *door);

/* Gives a connection to a loop, or refuses it. */
void weir__door_hand_over(struct weir__door *door, const struct weir__socket *sock,
                          struct weir__arrival *arrival);

/* ---- door_refuse.c: connections for which there is no room. ---- */

/* False without a descriptor. */
bool weir__refused_init(struct weir__door *door);

/* Says 503 and closes slowly, or as over_connections says. */
void weir__door_refuse(struct weir__door *door, int fd);

/* Closes those that have read it; the milliseconds until a look is due, or -1. */
int weir__refused_turn(struct weir__door *door);

void weir__refused_finish(struct weir__door *door);

/* ---- door_pause.c: when the door does not accept. ---- */

/* 0 or -errno. */
int weir__pause_init(struct weir__door *door);
void weir__pause_finish(struct weir__door *door);

/* Descriptors or memory have run out, says `why`: accepts nothing for a moment. */
void weir__pause_begin(struct weir__door *door, const char *why);

/* door->room.fd can be read. */
void weir__pause_woken(const struct weir__door *door);

/* Looks at the listening sockets, or away; the milliseconds until a look is due, or -1. */
int weir__pause_turn(struct weir__door *door);

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
