/* app.h - building an application: scopes, routes, middleware, listeners; and running it. */
#ifndef WEIR_APP_H
#define WEIR_APP_H

#include <weir/answer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Setup calls return nothing to check and accept a NULL scope. The first error sticks on the root
 * as one sentence that names the culprit and the mend; weir_start() then returns -1.
 * Options: zero is the default, a NULL struct is all defaults. Where zero would be a value:
 */
#define WEIR_NONE (-1)       /* none at all */
#define WEIR_INF  INT64_MAX  /* no limit    */

/* ---- Scopes: a path prefix (and host), its middleware, its routes. ---- */

struct weir;

/* What to do with "/books/" when only "/books" has a route for the method, and the reverse. */
enum weir_slash {
        WEIR_SLASH_INHERIT,  /* as the scope above; the root: strict  */
        WEIR_SLASH_STRICT,   /* 404                                    */
        WEIR_SLASH_REDIRECT, /* 308 to the other form, path only       */
        WEIR_SLASH_IGNORE,   /* serve it                               */
};

struct weir_scope_options {
        const char     *host;       /* "api.example.org" or "*.example.org"; NULL: as above       */
        int64_t         max_body;   /* bytes; 0: as above (the root: 1 MiB); WEIR_NONE: no body   */
        enum weir_slash slash;
        weir_error_fn  *on_error;   /* renders weir_fail(); NULL: as above                        */
        void           *on_error_self;
        uint64_t        reserved[4];
};

enum weir_dot_segments {
        WEIR_DOTS_REJECT,    /* "." and ".." in a path are answered 400 */
        WEIR_DOTS_NORMALIZE, /* removed as RFC 3986 5.2.4 says           */
};

/* Levels of the log, the most urgent first. */
enum weir_level {
        WEIR_LOG_DEFAULT, /* as an option: WEIR_LOG_INFO */
        WEIR_LOG_ERROR,
        WEIR_LOG_WARNING,
        WEIR_LOG_INFO,
        WEIR_LOG_DEBUG,
};

/* Gets one line without a line end, control bytes escaped. Called from any thread. */
typedef void weir_log_fn(void *arg, enum weir_level level, const char *line);

/* Which field of a request says for whom a proxy sent it. */
enum weir_forwarded {
        WEIR_FORWARDED_NONE,  /* none: the client is the peer */
        WEIR_X_FORWARDED_FOR, /* X-Forwarded-For              */
        WEIR_FORWARDED,       /* Forwarded (RFC 7239)         */
};

/* What becomes of a connection for which there is no room (docs/limits.md). */
enum weir_over {
        WEIR_OVER_503,    /* it is told 503, and closed                                     */
        WEIR_OVER_REFUSE, /* it is closed at once                                           */
        WEIR_OVER_WAIT,   /* it waits in the backlog of the listener until another one ends */
};

struct weir_options {
        struct weir_scope_options scope;  /* of the root */
        const char *name;                 /* in log lines; NULL: "weir" */
        unsigned loops;                   /* threads that serve; 0: CPUs this process may use */
        size_t arena;                     /* bytes per request in flight; 0: 4096 */
        size_t connection_memory;         /* bytes per connection; 0: 16384, at least 1024 */
        int64_t max_connections;          /* 0: what the descriptor limit allows */
        unsigned max_headers;             /* fields of a request; 0: 100; beyond: 431 */
        int64_t pool_memory;              /* bytes of buffers a loop keeps; 0: 16 MiB */
        enum weir_dot_segments dot_segments;
        bool merge_slashes;               /* "//" counts as "/"; default: an empty segment, 404 */
        bool dev_log;                     /* one readable line per request, level info */
        enum weir_level log_level;        /* what is less urgent is dropped */
        weir_log_fn *log;                 /* NULL: standard error */
        void *log_arg;
        int64_t drain_delay_ms;           /* serve on, saying close, before draining; 0: none, */
                                         /* but 5 s in weir_run() in a pod of Kubernetes      */
        int64_t drain_timeout_ms;         /* for requests in flight at stop; 0: 20 s */
        int64_t idle_timeout_ms;          /* between requests; 0: 75 s; then closed silently */
        int64_t header_timeout_ms;        /* for the head; 0: 10 s; then 408, closed */
        int64_t body_timeout_ms;          /* for the body; 0: no limit; then 408, closed */
        int64_t write_timeout_ms;         /* for the answer to arrive; 0: no limit; then closed */
        int64_t min_body_rate;            /* bytes a second; 0: 256; WEIR_NONE: any; then 408 */
        int64_t min_write_rate;           /* the same of the answer; then closed */
        int64_t rate_window_ms;           /* that rates are measured in; 0: 10 s */
        int64_t max_requests;             /* of a connection; 0: no limit; the last says close */
        int64_t max_age_ms;               /* of a connection; 0: no limit; then the same */
        unsigned workers;                 /* threads for what blocks; 0: 8; none if nothing does */
        unsigned worker_queue;            /* that may wait for one; 0: 128; beyond: 503 */
        int64_t worker_queue_ms;          /* for how long; 0: 2 s; WEIR_INF: no limit; then 503 */
        const char *trusted_proxies;      /* networks: "10.0.0.0/8, ::1/128, unix"; NULL: none */
        enum weir_forwarded forwarded;    /* the field that they set, for ctx->client */
        enum weir_over over_connections;  /* what is done over max_connections */
        int64_t max_connections_per_client; /* IPv4, or /64 of IPv6, but proxies; 0: no limit */
        int64_t max_header_bytes;         /* of a head; 0: connection_memory; beyond: 431 */
        uint64_t reserved[2];
};

/* A new app: its root scope. NULL only when memory is out. weir_free() frees all of it. */
WEIR_API struct weir *weir_new(const struct weir_options *options) WEIR_MUST_USE;

/* A scope below `parent`: `prefix` is "" or a pattern such as "/api" or "/users/{user}". */
WEIR_API struct weir *weir_group(struct weir *parent, const char *prefix,
                                 const struct weir_scope_options *options);

/*
 * Stops what runs and frees the app. NULL is fine. Not from a hook. While a request is claimed that
 * did not come back (wait.h), nothing is freed.
 */
WEIR_API void weir_free(struct weir *app);

/* ---- Routes. ---- */

/* A handler, and any on_request hook. */
typedef enum weir_flow weir_request_fn(struct weir_ctx *ctx, void *self);

/*
 * Gets a body piece by piece, as it comes in, and at its end once more, with `last` and an empty
 * piece. It returns WEIR_NEXT to take the piece, or WEIR_DONE with the answer that ends the upload.
 * Where it may wait (.waits), WEIR_WAIT holds the client back: it is suspended as wait.h says, and
 * the piece stays as it is until it goes on. weir_wait_until() gives it the same piece again.
 */
typedef enum weir_flow weir_body_fn(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                    bool last);

/*
 * A route with an on_body streams: nothing of the body is kept (ctx->body stays empty), though
 * max_body counts. Its handler runs when the head is in, as do all middleware; it answers at once,
 * or returns WEIR_NEXT to have the body. Then on_body gets the pieces and, at the last, answers.
 */
struct weir_route_options {
        int64_t         max_body; /* bytes; 0: as the scope; WEIR_NONE: none; WEIR_INF: no limit */
        enum weir_slash slash;
        bool            waits;    /* the handler, or on_body, may return WEIR_WAIT: wait.h       */
        bool            blocking; /* both run on a worker: wait.h                                */
        weir_body_fn   *on_body;  /* the route streams; gets the self of the handler             */
        weir_error_fn  *on_error;
        void           *on_error_self;
        const char     *name;     /* in weir_dump(); NULL: none                                  */
        uint64_t        reserved[3];
};

/*
 * Patterns: "/books/{id}", "/files/{name}.png" (literal text around one parameter of a segment),
 * "/static/{path...}" (the rest, possibly empty, slashes included). "{{" and "}}" are braces.
 * They are written decoded. A literal beats a parameter with text around it, that beats a bare
 * parameter, that beats a rest; the order of registration never counts. HEAD is served from GET,
 * OPTIONS answered with Allow, unless a route says otherwise. `fn` gets `self` as it is.
 */
WEIR_API void weir_route(struct weir *scope, int method, const char *pattern, weir_request_fn *fn,
                         void *self, const struct weir_route_options *options);

#define weir_get(scope, pattern, fn, self)    weir_route(scope, WEIR_GET, pattern, fn, self, NULL)
#define weir_post(scope, pattern, fn, self)   weir_route(scope, WEIR_POST, pattern, fn, self, NULL)
#define weir_put(scope, pattern, fn, self)    weir_route(scope, WEIR_PUT, pattern, fn, self, NULL)
#define weir_patch(scope, pattern, fn, self)  weir_route(scope, WEIR_PATCH, pattern, fn, self, NULL)
#define weir_delete(scope, pattern, fn, self) \
        weir_route(scope, WEIR_DELETE, pattern, fn, self, NULL)
#define weir_any(scope, pattern, fn, self)    weir_route(scope, WEIR_ANY, pattern, fn, self, NULL)

/*
 * The number of a method of your own, such as "PROPFIND"; also knows the standard ones. At most 16.
 */
WEIR_API int weir_method(struct weir *scope, const char *name);

/* ---- Middleware. ---- */

/* Where on the way a middleware stands; within one phase: root before leaf, first used first. */
enum weir_phase {
        WEIR_APP = 0, /* the app's own, between BREAKER and TRANSFORM */
        WEIR_OBSERVE = 1,
        WEIR_EARLY,
        WEIR_DEADLINE,
        WEIR_RATE,
        WEIR_CONCURRENCY,
        WEIR_AUTH,
        WEIR_IDENTITY,
        WEIR_BREAKER,
        WEIR_TRANSFORM,
        WEIR_SERVE,
};

/* When on_request runs. Behind a link that waits for the body every link does. */
enum weir_at {
        WEIR_AT_HEADERS, /* before the body is read */
        WEIR_AT_BODY,    /* when it is in           */
};

typedef void weir_hook_fn(struct weir_ctx *ctx, void *self);

/*
 * on_request hooks run outside-in until one returns something other than WEIR_NEXT. Then
 * on_response runs inside-out, before the head is sent, for exactly those that returned
 * WEIR_NEXT, once each, always: also when the client has gone (status 499), the deadline has passed
 * (504) or the server is stopping (503). on_done runs once, inside-out, after the last byte or the
 * abort, for the same ones and those that returned WEIR_WAIT, when status, bytes and duration are
 * final. All run on the request's loop.
 *
 * on_body of those that returned WEIR_NEXT gets every piece of every body, outside-in, before the
 * route does, whether that streams or not; also the last, empty one when there is no body at all.
 */
struct weir_middleware {
        const char      *name;       /* in weir_dump() and errors                     */
        size_t           self_size;  /* weir_use() copies this many bytes             */
        enum weir_phase  phase;
        enum weir_at     at;
        bool             waits;      /* on_request, on_body may return WEIR_WAIT      */
        bool             blocking;   /* both run on a worker: wait.h                  */
        weir_request_fn *on_request; /* NULL: always WEIR_NEXT                        */
        weir_body_fn    *on_body;    /* NULL: does not look at bodies                 */
        weir_hook_fn    *on_response;
        weir_hook_fn    *on_done;
        void           (*on_free)(void *self); /* once, from weir_free()              */
        uint64_t         reserved[4];
};

/*
 * Attaches `mw` (which must outlive the app) to `scope`, with a copy of *self. Returns the copy,
 * or NULL after an error; on_free of a copy that was made always runs.
 */
WEIR_API void *weir_use(struct weir *scope, const struct weir_middleware *mw, const void *self);

/*
 * Reports a mistake in the setup of a middleware, or why a value per loop cannot be opened; the
 * first one sticks. Like printf.
 */
WEIR_API void weir_setup_error(struct weir *scope, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* The slot called `name` of the app, made when it is new; at most 15. */
WEIR_API struct weir_slot weir_slot(struct weir *scope, const char *name);

/*
 * A value per loop: `open` runs in each loop's thread before it serves, one loop after the other,
 * and returns the value. NULL fails the start; the reason is *why, words that outlive the thread as
 * a literal does, or what `open` said to weir_setup_error() by a scope that it knows from `arg`.
 * `close` runs in the same thread when the loop ends. At most 16.
 */
struct weir_local_type {
        const char *name;
        void     *(*open)(void *arg, const char **why);
        void      (*close)(void *value, void *arg);
        uint64_t    reserved[2];
};
WEIR_API struct weir_local weir_local(struct weir *scope, const struct weir_local_type *type,
                                      void *arg);

/*
 * An answer that never changes, for weir_send_static(): `type` and `body` are copied, both may be
 * absent. Lives as long as the app.
 */
WEIR_API struct weir_static *weir_static(struct weir *scope, int status, const char *type,
                                               struct weir_str body);

/* ---- Listeners. ---- */

struct weir_listen_options {
        int         backlog;          /* 0: as long as net.core.somaxconn allows                  */
        unsigned    unix_mode;        /* permission bits of a unix socket; 0: 0660                */
        bool        proxy_protocol;   /* each connection starts with a header, version 1 or 2     */
        const char *trusted_proxies;  /* networks it is taken from; NULL: wherever it comes from  */
        int64_t     proxy_timeout_ms; /* for it to come; 0: 3 s, at most a minute                 */
        bool        half_close;       /* who sends no more may still wait for its answer: wait.h  */
        uint64_t    reserved[3];
};

/*
 * With .proxy_protocol a connection comes through a proxy that says for whom, in the form of
 * https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt: that is then the peer. What starts
 * otherwise, or comes from elsewhere than .trusted_proxies (as in struct weir_options), is closed.
 *
 * "127.0.0.1:8080", "[::1]:8080", "localhost:8080", "*:8080" (every address, v4 and v6), or
 * "unix:/run/app.sock" (a stale socket file is replaced, a live one or another file is an error).
 * Port 0 lets the kernel choose. Without any listener an app serves 127.0.0.1:8080.
 *
 * Sockets that another process has opened and that listen, TCP or unix: "fd:3" is a descriptor of
 * this process, "systemd" all that systemd has passed to it, "systemd:web" those of that name
 * (where weir was built with libsystemd). weir uses copies, makes both close-on-exec, and the
 * socket itself, which the other process has too, one that does not block.
 */
WEIR_API void weir_listen(struct weir *app, const char *address,
                          const struct weir_listen_options *options);

/* The TCP port of the nth listener, from 0, once started; 0 when there is none. */
WEIR_API uint16_t weir_port(const struct weir *app, unsigned nth);

/* ---- Running. ---- */

/* Compiles and serves in threads of its own, and returns: 0, or -1 with weir_error(). An app
 * that was stopped may start again. */
WEIR_API int weir_start(struct weir *app);

/*
 * Stops: no new connections, requests in flight finish within drain_timeout_ms, idle connections
 * close; those that wait are answered 503. Any thread, any number of times. Waits until all is down
 * and returns 0, or -1 when a request was claimed and did not come back: then its loop stays in
 * memory. On a thread of weir's own (in a hook) it only asks for the stop.
 */
WEIR_API int weir_stop(struct weir *app);

/* How far the server of an app is. It goes down this list, and back to the top. */
enum weir_state {
        WEIR_STOPPED, /* not started, or all is down                                   */
        WEIR_RUNNING, /* weir_start() has begun                                        */
        WEIR_LAME,    /* asked to stop: serves on for drain_delay_ms, and says close   */
        WEIR_DRAIN,   /* nobody comes in; requests finish within drain_timeout_ms      */
        WEIR_CANCEL,  /* too late: who waits or comes is answered 503, the rest is cut */
};

/* Any thread. An app that is only asked (test.h) is WEIR_STOPPED. */
WEIR_API enum weir_state weir_state(const struct weir *app);

/*
 * Starts, serves until SIGINT, SIGTERM or weir_stop(), stops. A second signal cuts off what is in
 * flight, a third ends the process. 0, or -1 with weir_error(): as weir_start(), or no descriptor
 * for signals. Where KUBERNETES_SERVICE_HOST is set, a drain_delay_ms of 0 is 5 s, WEIR_NONE none.
 */
WEIR_API int weir_run(struct weir *app);

/* weir_run(), any error to standard error, weir_free(): an exit status for main(). */
WEIR_API int weir_main(struct weir *app);

/*
 * The first setup or start error as a sentence, or NULL. One of the setup stays. One of a start is
 * dropped, and its text freed, when the next begins: that may succeed.
 */
WEIR_API const char *weir_error(const struct weir *app);

/* ---- Looking inside. ---- */

/* Why a request was refused before routing (docs/limits.md). */
enum weir_guard {
        WEIR_GUARD_OK,
        WEIR_GUARD_METHOD,
        WEIR_GUARD_VERSION,
        WEIR_GUARD_HOST,
        WEIR_GUARD_CONTENT_LENGTH,
        WEIR_GUARD_TRANSFER_ENCODING,
        WEIR_GUARD_TARGET,
        WEIR_GUARD_HEADER_NAME,
        WEIR_GUARD_HEADER_VALUE,
        WEIR_GUARD_DUPLICATE_HEADER,
        WEIR_GUARD_FRAMING,
        WEIR_GUARD_TOO_MANY_HEADERS,
        WEIR_GUARD_HEADER_BYTES,
        WEIR_GUARD_REASONS, /* how many there are */
};

/* The name of a reason, such as "content_length". */
WEIR_API const char *weir_guard_name(enum weir_guard reason);

/* Counters since weir_new(), and gauges, which say so. */
struct weir_stats {
        uint64_t connections;                /* accepted                                          */
        uint64_t connections_open;           /* gauge                                             */
        uint64_t connections_refused;        /* over max_connections, or memory is out            */
        uint64_t idle_closed;                /* after idle_timeout_ms, or idle at max_age_ms      */
        uint64_t header_timeouts;            /* cut off: the head took too long                   */
        uint64_t body_timeouts;              /* 408: so did the body, or was too slow             */
        uint64_t write_timeouts;             /* cut off: the client reads too slowly              */
        uint64_t requests;                   /* with a complete head                              */
        uint64_t requests_in_flight;         /* gauge                                             */
        uint64_t requests_waiting;           /* gauge: those of them that are suspended           */
        uint64_t deadlines_missed;           /* 504 while they waited                             */
        uint64_t jobs;                       /* hooks that block, given to workers                */
        uint64_t jobs_refused;               /* 503: worker_queue was full                        */
        uint64_t jobs_expired;               /* 503: longer than worker_queue_ms in it            */
        uint64_t jobs_discarded;             /* came too late: the request had ended              */
        uint64_t status[6];                  /* answers by class: status[4] is 4xx; [0] is 499    */
        uint64_t guard[WEIR_GUARD_REASONS];  /* refusals by reason; [0] is unused                 */
        uint64_t transport_answers;          /* given by libmicrohttpd before weir saw a head     */
        uint64_t transport_status[6];        /* those by class, where it could be learnt          */
        uint64_t bodies_too_large;           /* 413                                               */
        uint64_t aborted;                    /* ended before all was sent: client left, or stop   */
        uint64_t bad_answers;                /* the app was to answer and erred: 500, logged      */
        uint64_t bad_headers;                /* answer fields refused                             */
        uint64_t arena_full;                 /* requests whose answer did not fit: 500            */
        uint64_t answers_reused;             /* dynamic answers that took nothing from the heap   */
        uint64_t answers_heap;               /* dynamic answers that did                          */
        uint64_t buffers_heap;               /* buffers that the pool did not have                */
        uint64_t linger_cut;                 /* refused ones, cut off while they still sent       */
        uint64_t out_of_memory;              /* requests dropped because malloc failed            */
        uint64_t proxy_refused;              /* connections without the PROXY header that is due  */
        uint64_t proxy_timeouts;             /* whose header did not come in time                 */
        uint64_t connections_refused_per_client; /* over max_connections_per_client               */
        uint64_t clients;                    /* gauge: different ones, where those are limited    */
        uint64_t accept_pauses;              /* nothing was accepted for a while: no descriptor,  */
                                    /* or no room and WEIR_OVER_WAIT                     */
        uint64_t streams_open;               /* gauge: answers that are streams and have waited   */
        uint64_t streams_timed_out;          /* those broken off by their deadline or idle time   */
        uint64_t reserved[8];
};

/* Fills *stats; each value is exact, all of them not of one moment. Any thread. */
WEIR_API void weir_stats(const struct weir *app, struct weir_stats *stats);

/*
 * Asks each loop for a sign of life, which it gives when it comes round: at once, or when the hook
 * that holds it up returns. Returns for how long, in nanoseconds, the slowest has owed the one that
 * it was last asked for; so only the next call tells of this one. Any thread.
 */
WEIR_API uint64_t weir_lag_ns(const struct weir *app);

/*
 * Every route with its chain, a line each, in a text that the caller frees with free(). NULL when
 * memory is out. An app with a setup error gives its sentence.
 */
WEIR_API char *weir_dump(struct weir *app) WEIR_MUST_USE;

/* One line to the app's log, formatted like printf. Any thread; NULL scope: standard error. */
WEIR_API void weir_log(const struct weir *scope, enum weir_level level, const char *fmt, ...)
        WEIR_PRINTF(3, 4);

/* The version of the library, "0.1.0". */
WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
