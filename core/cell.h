/*
 * cell.h - one request in flight: everything weir knows about it, in one block of memory.
 *
 *      +---------------+-----------------+------------------+----------------+
 *      | weir__cell    | struct weir_ctx | arena (options.  | header index   |
 *      | (private)     | 64-byte lines   | arena bytes)     | (max_headers)  |
 *      +---------------+-----------------+------------------+----------------+
 *
 * Cells belong to a loop, are reused, and are touched by the loop's thread only. A transport fills
 * in the head, calls weir__exchange_*() as the request comes in, and sends cell->answer.
 */
#ifndef WEIR_CORE_CELL_H
#define WEIR_CORE_CELL_H

#include "app.h"
#include "buffer.h"
#include "due.h"
#include "fields.h"
#include "plan.h"
#include <stdatomic.h>
#include <weir/wait.h>

#define WEIR__MAX_FIELDS 32  /* header fields of an answer            */
#define WEIR__HOST_MAX   255 /* bytes of a host name (RFC 1035 2.3.4) */

/* Bits of ctx.flags. */
#define WEIR__OVERFLOW 1 /* the answer did not fit: it is 500, whatever was answered since  */
#define WEIR__FAILING  2 /* on_error runs: its own failures are rendered as problem+json    */
#define WEIR__UNWOUND  4 /* on_response has run                                              */

struct weir__cell;
struct weir__client;

/* ---- A loop: what the requests of one thread share. ---- */

/* What the core asks of the thing that carries requests. Two users: mhd.c and ask.c. */
struct weir__transport {
        bool        checks_chunks; /* false: close the connection behind a chunked request */
};

struct weir__loop {
        struct weir__app        *app;
        const struct weir__tree *tree;
        const struct weir__transport *transport;
        struct weir__clock       clock;
        uint32_t                 number;
        atomic_bool              draining;    /* answers say close; any thread sets it, relaxed */
        struct weir__cell       *free_cells;
        struct weir__pool        pool;
        void                    *local[WEIR__MAX_LOCALS + 1]; /* from 1 */
        char                     last_host[WEIR__HOST_MAX]; /* the last Host that was good... */
        size_t                   last_host_len; /* ...how long it is                          */
        bool                     last_is_lower; /* ...whether it has no upper case            */
        size_t                   last_name_len; /* ...and how long without port and last dot  */
        struct weir__counters    counters;

        /* Requests that wait: wait.h. */
        struct weir__cell       *waiting;     /* all of them, and streams that have waited    */
        struct weir__dues        dues;        /* those with a moment or a deadline            */
        struct weir__cell       *jobs;        /* those that are not back                      */
        struct weir__crew       *crew;        /* NULL: nothing blocks, or in memory           */
        struct weir__cell *_Atomic resumed;   /* a stack that any thread pushes to            */
        void                   (*wake)(struct weir__loop *loop); /* any thread: look at resumed */
        void                   (*woke)(struct weir__cell *cell, int next); /* it goes on      */
        void                    *carrier;     /* the transport's own                          */

        /* Streams that wait: stream.h. */
        bool                   (*part)(struct weir__cell *cell); /* before its first wait      */
        void                   (*flows)(struct weir__cell *cell, int why); /* it goes on       */
};

void weir__loop_init(struct weir__loop *loop, struct weir__app *app, uint32_t number,
                     const struct weir__transport *transport);
void weir__loop_finish(struct weir__loop *loop);

static inline bool weir__is_draining(const struct weir__loop *loop)
{
        return atomic_load_explicit(&loop->draining, memory_order_relaxed);
}

/* ---- The head of a request: WEIR__PEEK bytes behind each start can be read (bytes.h). ---- */

struct weir__header {
        const char *name, *value;
        uint32_t    name_len, value_len;
};

/* What the fields said, gathered one by one: guard.c. */
struct weir__guard {
        enum weir_guard refused;         /* the first reason         */
        uint32_t        seen;            /* fields that may not come twice */
        uint32_t        n_hosts;
        bool            not_implemented; /* the refusal is 501       */
};

/* ---- The answer. ---- */

enum weir__body_kind {
        WEIR__EMPTY,
        WEIR__BYTES,
        WEIR__FD,
        WEIR__PULL,
        WEIR__FIXED,
};

/* "Name: value\r\n" in the arena. */
struct weir__field {
        const char *line;
        uint32_t    name_len, len; /* len counts the line end */
};

/* A source of body bytes, and the one that it wraps. */
struct weir__body {
        enum weir__body_kind kind;
        int                  fd;
        const struct weir_static *fixed; /* FIXED                                  */
        struct weir_str      bytes;   /* BYTES                                     */
        uint64_t             offset;  /* FD; of BYTES, what weir_pull_inner() took */
        uint64_t             length;  /* FD and PULL                               */
        weir_pull_fn        *pull;
        void               (*free_fn)(void *arg);
        void                *arg;     /* of pull and free_fn                       */
        struct weir__buf     buf;     /* when the bytes are weir's own             */
        struct weir__body   *inner;   /* what pull reads, or NULL                  */
};

struct weir__answer {
        struct weir__body         body;
        const struct weir__body  *pulling; /* the stream whose pull function runs */
        struct weir_str           type;   /* Content-Type; absent: none */
        uint16_t                  n_fields;
        bool                      close;
        struct weir__field        field[WEIR__MAX_FIELDS];
};

/* ---- Waiting: wait.h. ---- */

/* What each wait reads and writes stands together, here as in weir__push: it may be one of many. */
struct weir__wait {
        _Atomic uint64_t   word;
        uint64_t           until_ns;       /* the hook is called again; UINT64_MAX: not         */
        uint64_t           idle_ns;        /* of a stream, when the wait began                  */
        struct weir__due   due;
        struct weir__cell *next_resumed;
        enum weir_flow     flow;           /* that it was resumed with                          */
        bool               listed;
        struct weir__cell *prev, *next;    /* of the loop's list                                */
};

/* ---- Bodies in pieces: upload.c. ---- */

struct weir__upload {
        const struct weir__body_hook *hook; /* that has the piece; NULL: there is none at hand */
        struct weir_str    piece;
        bool               last;
        uint16_t           passed; /* ctx.at, but for while a hook has the piece */
};

/* ---- Jobs: job.h. Of the copy of a request that a thread of the crew works on. ---- */

struct weir__job {
        struct weir__cell *of;   /* the request; NULL: this cell is one itself */
        struct weir__cell *next; /* in the queue                              */
        struct weir_ticket ticket;
        weir_request_fn   *fn;
        weir_body_fn      *on_body;  /* in place of fn, with a piece                      */
        struct weir_str    piece;
        bool               last;
        void              *self;
        uint64_t           queued_ns;
        struct weir__buf   text; /* what the views are of: views.h            */
        bool               done; /* back on the loop                          */
};

/* ---- A stream that has waited, on a socket of its own: push.c. ---- */

struct weir__push {
        struct weir__buf   out;         /* a piece on its way, framed                          */
        size_t             at;          /* how much of it the kernel has                       */
        size_t             n_body;      /* bytes of the body in it                             */
        uint64_t           left;        /* of the promised length; UINT64_MAX: none is         */
        uint64_t           blocked_ns;  /* since when the kernel takes no more; 0: it does     */
        int                fd;
        bool               chunked;
        bool               last;        /* behind `out` there is nothing                       */
        struct weir__cell *prev, *next; /* of all that the loop has                            */
        uint64_t           window_ns;   /* the rate is measured since                          */
        uint64_t           acked;       /* what the client had then                            */
        struct weir__client *whose;     /* to be told of the end                               */
};

/* ---- The cell. ---- */

struct weir__defer {
        struct weir__defer *next;
        void              (*fn)(void *arg);
        void               *arg;
};

enum weir__phase {
        WEIR__FRESH,    /* the target is known                        */
        WEIR__HEAD,     /* the chain has run as far as headers go      */
        WEIR__BODY,     /* the body comes in                           */
        WEIR__SWALLOW,  /* answered; what is left of the body is dropped */
        WEIR__END,      /* the body is in: the chain runs to its end   */
        WEIR__ANSWERED, /* the verdict is there                        */
        WEIR__LEFT,     /* the client has gone while it waited         */
};

/* What a scope has to answer for a request that no route takes. */
enum weir__miss {
        WEIR__NO_MISS,
        WEIR__MISS_400,      /* the path is not well-formed              */
        WEIR__MISS_404,
        WEIR__MISS_405,      /* with match.allow                         */
        WEIR__MISS_414,
        WEIR__MISS_501,
        WEIR__MISS_OPTIONS,  /* with match.allow                         */
        WEIR__MISS_ASTERISK, /* OPTIONS *                                */
        WEIR__MISS_SLASH,    /* 308 to the path with or without the last slash */
};

/* Behind the last reason of the guard: the server stops, and takes no more requests. */
#define WEIR__TURNED_AWAY WEIR_GUARD_REASONS

struct weir__cell {
        struct weir__cell *next;   /* in the loop's free list */
        struct weir__loop *loop;
        struct weir__app *app;     /* which outlives the loop: for tickets */
        struct weir__header *header;
        struct weir__header *header_end;
        struct weir__wait wait;
        struct weir__push push;
        uint64_t moved_ns;               /* when its stream last moved a byte       */
        struct weir__job work;           /* of the copy of a request: job.h         */

        /* From here to path_shadow: zero in a fresh cell. */
        const struct weir__place *place;
        const struct weir__plan *plan;   /* of the place, or for guard refusals     */
        void *conn;                      /* the transport's own: its connection     */
        void *sent;                      /* the transport's own: the answer on its way */
        struct weir__cell *job;          /* its last job: running, or done and kept  */
        uint64_t content_length;
        uint64_t body_seen;              /* bytes of the body so far                */
        uint64_t swallowed;              /* those behind a refusal                  */
        uint64_t sent_bytes;             /* of the answer's body, so far            */
        uint64_t idle_ns;                /* how long its stream may move no byte; 0: for ever */
        struct weir_str host_header, content_type;
        enum weir__phase phase;
        enum weir__miss miss;            /* why place is a scope                    */
        uint16_t version;                /* 10 or 11                                */
        uint16_t n_headers;
        struct weir__guard guard;
        bool inexact;                    /* what the transport noticed: guard.c...  */
        uint8_t excess;                  /* ...and an enum weir_guard: a limit, or that above */
        bool chunked, expects_continue;
        bool no_memory;                  /* for reading the path: 503               */
        uint16_t transport_status;       /* what the transport answered itself      */
        bool linger;                     /* close this connection slowly            */
        bool broken;                     /* the app's own stream broke off          */
        bool cut;                        /* answered by hand: mhd.c                 */
        bool over;                       /* kept for its job alone                  */
        bool may_wait;                   /* a hook runs that may suspend it         */
        bool waits;                      /* suspended, and not yet back             */
        bool away;                       /* claimed: touched by another thread       */
        bool left;                       /* its client has gone while it was claimed */
        bool streams;                    /* its answer is a stream that has waited  */
        uint8_t repeats;                 /* MHD will repeat a callback: mhd_wait.c   */
        uint8_t step;                    /* enum weir__next: what a wait ended with  */
        uint16_t waited;                 /* the last link that waited, from 1        */
        bool has_query;                  /* its first byte is hidden: mhd.c         */
        char hidden;                     /* the first byte of the query: mhd.c      */

        struct weir__buf path_shadow;    /* empty in a fresh cell, as those below   */
        struct weir__upload upload;
        struct weir__buf body;
        struct weir__defer *defers;
        struct weir__fields query, form;
        struct weir__path path;
        struct weir__match match;
        struct weir__answer answer;
        char host_text[WEIR__HOST_MAX];  /* of ctx.host, when not as sent           */
        struct weir_ctx ctx;
};

static inline struct weir__cell *weir__cell_of(const struct weir_ctx *ctx)
{
        return (struct weir__cell *)((char *)(uintptr_t)ctx - offsetof(struct weir__cell, ctx));
}

/* A cell with an empty request; NULL without memory. */
struct weir__cell *weir__cell_get(struct weir__loop *loop);

/* Sets target, path and query of a fresh request: views of `target`. */
void weir__cell_target(struct weir__cell *cell, struct weir_str target);

/* Runs what was deferred, frees what the request held. The answer must not be in use any more. */
void weir__cell_put(struct weir__cell *cell);

/* ---- What the files that answer share (answer.c). ---- */

/* Ends the answer's body: frees what it owns. Headers stay. */
void weir__body_drop(struct weir__cell *cell, struct weir__body *body);

/* Up to `size` bytes of a body, whatever its kind: as weir_pull_fn. */
ssize_t weir__body_pull(struct weir__cell *cell, struct weir__body *body, char *buf, size_t size);

/* How long a body is, or WEIR_UNKNOWN_LENGTH. */
uint64_t weir__body_length(const struct weir__body *body);

/* Makes the answer what its status allows on the wire. Called once, after the last hook. */
void weir__answer_settle(struct weir__cell *cell);

/* Where buffers of the request come from, and whose counters count it: also when it is claimed. */
struct weir__pool *weir__ctx_pool(struct weir_ctx *ctx);
void               weir__ctx_count(struct weir_ctx *ctx, size_t stat);

#define WEIR__CTX_COUNT(ctx, field) weir__ctx_count(ctx, WEIR__STAT(field))

/* Moves `buf` into the answer. `type` must outlive the request. */
enum weir_flow weir__answer_buf(struct weir_ctx *ctx, int status, const char *type,
                                struct weir__buf *buf);

/* The answer for a request whose memory is not enough: 500, counted. */
enum weir_flow weir__answer_oom(struct weir_ctx *ctx);

/* A fixed answer of weir's own with its status. */
enum weir_flow weir__answer_fixed(struct weir_ctx *ctx, int number);

/* Appends the header fields of the answer, "Name: value\r\n" each; false without memory. */
bool weir__wire_fields(struct weir__cell *cell, struct weir__buf *out);

/* Appends a whole answer that closes its connection; false without memory or for a stream. */
bool weir__wire(struct weir__cell *cell, struct weir__buf *out);

/*
 * Sends an answer to a request of which nothing is known, not even its method: so it has no body,
 * and closes its connection. `fields` are lines with their ends, few. False: it did not go.
 */
bool weir__wire_bare(int fd, const struct weir__clock *clock, int status, const char *fields);

/* The reason phrase of a status (RFC 9110 15), "" for one that has none. */
const char *weir__status_title(int status);

#endif
