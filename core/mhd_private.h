/* mhd_private.h - what the files of the MHD transport share. */
#ifndef WEIR_CORE_MHD_PRIVATE_H
#define WEIR_CORE_MHD_PRIVATE_H

#include "exchange.h"
#include "mhd.h"
#include "timer.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;
struct weir__slot;
struct weir__linger;

/* A response that can be used again, because only its contents change. */
struct weir__prebuilt {
        struct MHD_Response *response;
        char                *date;  /* of its Date field, in place */
        uint64_t             stamp; /* second that date shows      */
};

/* Responses of a loop (mhd_response.c). */
struct weir__responses {
        struct weir__prebuilt *fixed;   /* by number of a weir_static, twice: keep-alive, close */
        uint32_t               n_fixed;
        struct weir__slot    **slots;   /* hashed by length and block class                     */
        uint32_t               n_slots; /* made so far                                          */
        struct weir__slot     *oldest, *newest;
        bool                   reuse;   /* the start-up probe passed                            */
        uint64_t               second;  /* that `date` shows                                    */
        uint64_t               until_ns; /* by the monotonic clock, date is good               */
        char                   date[WEIR__DATE_LEN];
};

/* A connection: what MHD keeps for us as its socket context. */
struct weir__conn {
        struct weir__conn     *prev, *next;
        struct MHD_Connection *mhd;
        struct weir__cell     *cell;     /* the request in flight        */
        struct weir__timer     swallow;  /* while a refused body comes in */
        struct weir__timer     leave;    /* while it leaves: leave.c      */
        int                    fd;
        uint8_t                peer_len, client_at, client_len;
        char                   peer[64]; /* "127.0.0.1:80", "[::1]:80", "unix" */
};

struct weir__mhd {
        struct MHD_Daemon    *daemon;
        struct weir__loop    *loop;
        struct weir__conn    *conns;
        unsigned              n_conns;
        unsigned              callbacks;  /* in this turn */
        uint16_t              answered;   /* what MHD last answered itself; 0: nothing yet */
        struct weir_str       last_path;  /* of the last target, for keep_raw() only */
        int                   epoll_fd;   /* MHD's own */
        int                   leave_fd;   /* leave.c   */
        unsigned              busy_turns; /* since leave_fd was looked at */
        bool                  exact;      /* heads lie in memory as they were sent: 0.9.75 */
        struct weir__timers   short_timers, linger_timers; /* 2 s: swallowing, lingering */
        struct weir__timers   leave_timers;
        struct weir__linger  *lingers;
        unsigned              n_lingers;
        struct weir__responses responses;
};

/* ---- mhd_response.c ---- */

bool weir__responses_init(struct weir__mhd *mhd);
void weir__responses_finish(struct weir__mhd *mhd);

/* Sends the answer of a cell; false: MHD does not take it, or memory is out. */
bool weir__mhd_send(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell);

/* The answer is out, or will never be. */
void weir__mhd_sent(struct weir__cell *cell);

/* ---- mhd_probe.c ---- */

/* Does a response whose contents change in place go out as it should? */
bool weir__mhd_probe(void);

/* ---- peer.c ---- */

/* Sets peer and client of a connection; `address` may be NULL. */
void weir__peer_name(struct weir__conn *conn, const struct sockaddr *address);

/* ---- leave.c ---- */

/* False without a descriptor. */
bool weir__leave_init(struct weir__mhd *mhd);
void weir__leave_finish(struct weir__mhd *mhd);
void weir__leave_watch(struct weir__mhd *mhd, struct weir__conn *conn);
void weir__leave_forget(struct weir__mhd *mhd, struct weir__conn *conn);

/*
 * Makes MHD see the clients that have left. A turn with callbacks says that others were served:
 * then those who leave may wait for a while.
 */
void weir__leave_turn(struct weir__mhd *mhd);

/* ---- linger.c ---- */

/* Closes slowly: keeps a copy of `fd`, sends nothing more, reads and drops for a while. */
void weir__linger_add(struct weir__mhd *mhd, int fd);
void weir__linger_turn(struct weir__mhd *mhd, uint64_t now_ns);
void weir__linger_finish(struct weir__mhd *mhd);

#endif
