/* mhd_private.h - what the files of the MHD transport share. */
#ifndef WEIR_CORE_MHD_PRIVATE_H
#define WEIR_CORE_MHD_PRIVATE_H

#include "exchange.h"
#include "linger.h"
#include "mhd.h"
#include "timer.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;
struct weir__slot;

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

/* What a connection did when it was last looked at: watch.c. */
struct weir__watch {
        struct weir__timer timer;
        uint64_t           opened_ns;
        uint64_t           since_ns;      /* it is in this state                          */
        uint64_t           window_ns;     /* its rate is measured since                   */
        uint64_t           moved;         /* bytes when that began                        */
        uint32_t           requests_left; /* another number: another request              */
        uint8_t            state;
        bool               quiet;         /* IDLE: it does not send a head bit by bit     */
        bool               old;           /* max_age_ms has passed                        */
};

/* A connection: what MHD keeps for us as its socket context. */
struct weir__conn {
        struct weir__conn     *prev, *next;
        struct MHD_Connection *mhd;
        struct weir__cell     *cell;     /* the request in flight        */
        struct weir__timer     swallow;  /* while a refused body comes in */
        struct weir__timer     leave;    /* while it leaves: leave.c      */
        bool                   ended;    /* its client sends no more: leave.c */
        bool                   shut;     /* the server reads no more, so that one cannot tell */
        bool                   half_close; /* of its listener: leave.c */
        struct weir__conn     *next_aside; /* of `parking` or `waking`: mhd_wait.c */
        struct weir__client   *whose;    /* to tell of its end; or NULL */
        int                    fd;
        uint32_t               requests_left; /* until it is closed behind one       */
        bool                   closing;       /* behind its next answer              */
        struct weir__watch     watch;
        struct weir_str        peer, client; /* views of address, as in ctx */
        char                   address[64];  /* "127.0.0.1:80", "[::1]:80", "unix" */
};

/* Walking the header fields of a request. */
struct weir__field_walk {
        struct weir__cell   *cell;
        struct weir__header *at, *end;
        const char          *expected; /* where the next name must be, were the head exact */
        bool                 inexact;
};

struct weir__mhd {
        struct MHD_Daemon    *daemon;
        struct weir__loop    *loop;
        struct weir__conn    *conns;
        unsigned              n_conns;
        struct weir__conn    *parking;    /* their requests wait, and are put aside soon */
        struct weir__conn    *waking;     /* are put aside, and their requests go on     */
        unsigned              n_aside;    /* connections that are put aside              */
        uint64_t              look_aside_ns; /* before that, `waking` waits for more     */
        const struct weir__arrival *arriving; /* while MHD is about to call back for it */
        unsigned              callbacks;  /* of requests, in this turn */
        struct weir__field_walk     walk;
        struct weir_str       last_path;  /* of the last target, for keep_raw() only */
        int                   epoll_fd;   /* MHD's own */
        int                   leave_fd;   /* leave.c   */
        bool                  stirred;    /* a connection came or goes on: MHD must run */
        unsigned              idle_turns; /* without callbacks, one behind the other */
        unsigned              busy_turns; /* since it looked around */
        unsigned              look_turns; /* after how many it does */
        bool                  no_room;    /* MHD could not send the head of an answer */
        bool                  full;       /* takes no more requests */
        bool                  cut_all;    /* the stop waits for nobody any more */
        size_t                max_header_bytes;
        uint64_t              drain_ns;   /* the drain began: drain.c */
        uint64_t              look_ns;    /* its next look */
        bool                  exact;      /* heads lie in memory as they were sent: 0.9.75 */
        struct weir__timers   short_timers; /* 2 s: swallowing */
        struct weir__timers   leave_timers;
        struct weir__timers   watches;     /* all connections */
        int                   watch_fd;    /* a timer, in the set of MHD... */
        uint64_t              watch_ns;    /* ...and what it is set to; 0: nothing */
        struct weir__lingers  lingers;     /* their set is in that of MHD */
        struct weir__cell    *pushes;      /* streams that have left MHD: push.c */
        unsigned              n_pushes;
        int                   push_fd;     /* an epoll set of theirs */
        unsigned              n_blocked;   /* those that the kernel takes no more from */
        struct weir__responses responses;
};

/*
 * Nothing is known of the body that is as the client has it: no length, not even 0 (RFC 9110 8.6).
 */
static inline bool weir__is_bare_304(const struct weir__cell *cell)
{
        return cell->ctx.status == 304 && weir__body_length(&cell->answer.body) == 0;
}

/* Has all of the request come in? */
static inline bool weir__is_in(const struct weir__cell *cell)
{
        return cell->phase == WEIR__END || (!cell->content_length && !cell->chunked);
}

/* ---- mhd_wait.c ---- */

/* The request waits: what a callback of MHD returns then. `in_first`: in the first one. */
int weir__mhd_suspend(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell,
                      bool in_first);

/* loop->woke: the request goes on with `next`, an enum weir__next. */
void weir__mhd_woke(struct weir__cell *cell, int next);

/* Puts aside those that are still to be. */
void weir__mhd_park(struct weir__mhd *mhd);

/* Lets those go on whose time has come: how long the others wait, or 0 if there are none. */
uint64_t weir__mhd_pace(struct weir__mhd *mhd);

/* Lets all of them go on. */
void weir__mhd_release(struct weir__mhd *mhd);

/* The request of the connection has ended. */
void weir__mhd_unpark(struct weir__mhd *mhd, const struct weir__conn *conn);

/* The first callback is repeated, or there is nothing left to answer: what it returns. */
int weir__mhd_repeat(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell);

/* ---- mhd_conn.c ---- */

/* MHD has taken in what arrives. NULL without memory: then its requests are dropped. */
struct weir__conn *weir__conn_open(struct weir__mhd *mhd, struct MHD_Connection *connection);

/* MHD is about to close it; `conn` may be NULL. */
void weir__conn_close(struct weir__mhd *mhd, struct weir__conn *conn);

/* The server has had enough of it. */
void weir__conn_shut(struct weir__conn *conn, int how);

/* Takes over a socket that is to be closed slowly. */
void weir__mhd_linger(struct weir__mhd *mhd, int fd);

/* ---- mhd.c ---- */

/*
 * Too much body is still to come for an answer through MHD, which would read it all: the answer is
 * written by hand, and MHD is to let go of the connection.
 */
void weir__mhd_cut(struct weir__conn *conn, struct weir__cell *cell);

/* A refused body comes in: not for ever. */
void weir__mhd_watch_swallow(struct weir__mhd *mhd, struct weir__conn *conn);

/* ---- mhd_block.c ---- */

/* How long the block of an answer is. */
size_t weir__block_length(const struct weir__answer *answer);

/* Date, Content-Type and the fields into `block`, with blanks to the end. */
void weir__block_fill(char *block, size_t size, const char *date,
                      const struct weir__answer *answer);

/* Adds a Date field of `size` bytes to change later, and gives its place; NULL without memory. */
char *weir__block_add(struct MHD_Response *response, size_t size);

/* The date of the second in which `cell` had its verdict. */
const char *weir__block_date(struct weir__mhd *mhd, const struct weir__cell *cell);

/* ---- mhd_slot.c ---- */

bool weir__slots_init(struct weir__responses *all);
void weir__slots_finish(struct weir__responses *all);

/* A response with body and fields of the answer; NULL: all are busy, or no memory. */
struct MHD_Response *weir__slot_take(struct weir__mhd *mhd, struct weir__cell *cell,
                                     struct weir_str body, size_t block);

/* The answer that cell->sent holds is out, or will never be. */
void weir__mhd_sent(struct weir__mhd *mhd, struct weir__cell *cell);

/* ---- mhd_response.c ---- */

bool weir__responses_init(struct weir__mhd *mhd);
void weir__responses_finish(struct weir__mhd *mhd);

/* Sends the answer of a cell. MHD_YES, or MHD_NO: MHD does not take it, or memory is out. */
int weir__mhd_send(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell);

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

/* The request waits, or no longer. If its client has left by then, nothing else would tell. */
void weir__leave_waits(struct weir__mhd *mhd, struct weir__conn *conn);

/* Makes MHD see the clients that have left. */
void weir__leave_turn(struct weir__mhd *mhd, uint64_t now_ns);

/* Has something come that MHD has not read? */
bool weir__has_unread(int fd);
/* ---- push.c: the connection of a stream that waits leaves MHD. ---- */

#define WEIR__PUSH_MAX 16376 /* bytes that a stream which may wait is asked for at once */

/* False without a descriptor. */
bool weir__push_init(struct weir__mhd *mhd);
void weir__push_finish(struct weir__mhd *mhd);

/* loop->part: takes along what the request needs. False: no memory, or no descriptor. */
bool weir__push_part(struct weir__cell *cell);

/* What the pull function gave when it suspended the request: WEIR__PUSH_MAX bytes at most. */
void weir__push_keep(struct weir__cell *cell, const char *bytes, ssize_t n);

/* MHD is closing the connection. */
void weir__push_go(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell);

/* loop->flows */
void weir__push_flows(struct weir__cell *cell, int why);

/* Looks for clients that have left, and for streams that go on. */
void weir__push_turn(struct weir__mhd *mhd);

/* Cuts those that do not wait: the others are cut by their waits. */
void weir__push_cut(struct weir__mhd *mhd);

/* ---- watch.c ---- */

/* Bytes that the client has got; UINT64_MAX: nobody knows, as on a unix socket. */
uint64_t weir__acked(int fd);

/* Too slow in the window that has passed? Then a new one begins: *window_ns, with *moved. */
bool weir__rate_is_low(uint64_t *window_ns, uint64_t *moved, uint64_t moved_now, uint64_t rate,
                       uint64_t length_ns, uint64_t now_ns);

/* False without a descriptor. */
bool weir__watch_init(struct weir__mhd *mhd);
void weir__watch_finish(struct weir__mhd *mhd);
void weir__watch_add(struct weir__mhd *mhd, struct weir__conn *conn);
void weir__watch_remove(struct weir__mhd *mhd, struct weir__conn *conn);

/* Cuts the connections that take too long, of those that are to be looked at now. */
void weir__watch_turn(struct weir__mhd *mhd, uint64_t now_ns);

#endif
