/* ctx.h - the request in flight: what the client asked, and what middleware share. */
#ifndef WEIR_CTX_H
#define WEIR_CTX_H

#include <weir/str.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_MAX_PARAMS 16 /* parameters of one pattern              */
#define WEIR_MAX_SLOTS  16 /* slots of one app, the unused 0 included */
#define WEIR_MAX_LINKS  64 /* middleware on the way to one handler   */

/* What a hook says. Whatever answers returns WEIR_DONE. */
enum weir_flow {
        WEIR_NEXT, /* pass the request on     */
        WEIR_DONE, /* it is answered: unwind  */
        WEIR_WAIT, /* it is suspended         */
};

/* Methods. The bit of a method in an Allow set is 1 << method; WEIR_CUSTOM and up are the app's. */
enum weir_method {
        WEIR_GET,
        WEIR_HEAD,
        WEIR_POST,
        WEIR_PUT,
        WEIR_PATCH,
        WEIR_DELETE,
        WEIR_OPTIONS,
        WEIR_CUSTOM,              /* first method of the app's own, by weir_method()     */
        WEIR_UNKNOWN_METHOD = 30, /* a token that no route of the app names              */
        WEIR_ANY            = 31, /* in a route: every method but CONNECT and TRACE      */
};

/* How the request ended, or will: what breakers, limiters and metrics look at. */
enum weir_outcome {
        WEIR_OK,           /* 1xx to 3xx                                          */
        WEIR_CLIENT_ERROR, /* 4xx                                                 */
        WEIR_SERVER_ERROR, /* 5xx                                                 */
        WEIR_SHED,         /* weir refused: weir_refuse()                         */
        WEIR_TIMEOUT,      /* the deadline passed                                 */
        WEIR_ABORT,        /* the client has gone: status 499, never on the wire  */
        WEIR_SHUTDOWN,     /* the server stopped first                            */
};

struct weir;
struct weir__link;

/*
 * Read any field that has a comment without "private"; write through the functions below.
 * weir allocates every ctx. Times are CLOCK_MONOTONIC in nanoseconds. All views live until
 * the request is over, but for those kept elsewhere when its stream waits (weir_stream()).
 */
struct weir_ctx {
        /* Line 0: the driver's own, read on every hop. */
#ifdef __cplusplus
        alignas(64)
#else
        _Alignas(64)
#endif
        const struct weir__link *links;          /* private: the chain                          */
        uint16_t            at;                  /* private: the link that is running           */
        uint16_t            status;              /* 0 until answered                            */
        uint8_t             method;              /* enum weir_method                            */
        uint8_t             outcome;             /* enum weir_outcome, valid from the verdict   */
        uint8_t             n_params;            /* parameters of the route                     */
        uint8_t             flags;               /* private                                     */
        uint64_t           *own;                 /* private: one word per link                  */
        uint64_t            started_ns;          /* when the request line was read              */
        uint64_t            verdict_ns;          /* when the answer was ready; 0 before         */
        uint64_t            deadline_ns;         /* 0: none                                     */
        char               *brk;                 /* private: what is left of the arena          */
        char               *end;                 /* private                                     */

        /* Lines 1 and 2: the request, as views. */
        struct weir_str     target;              /* as on the wire: path and query              */
        struct weir_str     path;                /* raw, before '?'                             */
        struct weir_str     query;               /* raw, after '?'; absent without one          */
        struct weir_str     body;                /* in full once AT_BODY hooks and handlers run */
        struct weir_str     host;                /* lower case, without port                    */
        struct weir_str     peer;                /* whom the connection is from, "127.0.0.1:80"  */
        struct weir_str     client;              /* the client's address, without port          */
        struct weir_str     method_name;         /* the token as sent                           */

        /* Lines 3 to 6: path parameters, decoded, in the order the pattern names them. */
        struct weir_str     param[WEIR_MAX_PARAMS];

        /* Lines 7 and 8: values shared between middleware and handlers. Index 0 is never valid. */
        void               *slot[WEIR_MAX_SLOTS];

        /* Line 9. */
        const char         *pattern;             /* of the route, stable; "" when none matched  */
        void *const        *local;               /* private: this loop's values of weir_local() */
        uint64_t            bytes;               /* body bytes handed to the kernel, in on_done */
        uint32_t            route_id;            /* dense from 0; UINT32_MAX when none matched  */
        uint32_t            loop;                /* dense from 0: which loop serves it          */
        uint64_t            reserved[4];
};

/* ---- What the client asked. Absent is { NULL, 0 }. ---- */

/* The decoded value of the path parameter `name` of the route's pattern. */
WEIR_API struct weir_str weir_param(const struct weir_ctx *ctx, const char *name);

/* The same as it stood in the target, percent-encoded. */
WEIR_API struct weir_str weir_param_raw(const struct weir_ctx *ctx, const char *name);

/*
 * A path parameter as an integer in [min, max]. False leaves *value alone: not digits with an
 * optional '-', or out of range.
 */
WEIR_API bool weir_param_int(const struct weir_ctx *ctx, const char *name, int64_t min, int64_t max,
                             int64_t *value);

/* The path, decoded ("%2F" becomes '/'). Absent when it is not well-formed, and for "*". */
WEIR_API struct weir_str weir_path_decoded(struct weir_ctx *ctx);

/* The first header field `name`, in any case (RFC 9110 5.1), without surrounding blanks. */
WEIR_API struct weir_str weir_header(const struct weir_ctx *ctx, const char *name);

/*
 * All fields `name`, one a call: start with *cursor 0, end at an absent value. With `name` NULL
 * every field in order; weir_header_name() tells the name of the one just returned, by the cursor
 * as that call left it.
 */
WEIR_API struct weir_str weir_header_next(const struct weir_ctx *ctx, const char *name,
                                          size_t *cursor);
WEIR_API struct weir_str weir_header_name(const struct weir_ctx *ctx, size_t cursor);

/* The first cookie `name` (RFC 6265 5.4), without surrounding quotes. */
WEIR_API struct weir_str weir_cookie(const struct weir_ctx *ctx, const char *name);

/*
 * Query and urlencoded form fields, decoded: '+' is a blank, "%XX" a byte. Names compare
 * decoded. The getters say what they met.
 */
enum weir_field {
        WEIR_FIELD_OK,      /* *value is set                                              */
        WEIR_FIELD_ABSENT,  /* no such field: *value is left alone, so it may be a default */
        WEIR_FIELD_INVALID, /* a bad escape, not a number, or out of range                */
};

/*
 * The first field `name` of the query. An empty value is INVALID as a number; numbers have digits
 * on both sides of a point.
 */
WEIR_API enum weir_field weir_query(struct weir_ctx *ctx, const char *name, struct weir_str *value);
WEIR_API enum weir_field weir_query_int(struct weir_ctx *ctx, const char *name, int64_t min,
                                        int64_t max, int64_t *value);
WEIR_API enum weir_field weir_query_double(struct weir_ctx *ctx, const char *name, double min,
                                           double max, double *value);
/* true, 1, yes, on or an empty value; false, 0, no, off. */
WEIR_API enum weir_field weir_query_bool(struct weir_ctx *ctx, const char *name, bool *value);

/* All values of the fields `name`, one a call: start with *cursor 0. ABSENT at the end. */
WEIR_API enum weir_field weir_query_values(struct weir_ctx *ctx, const char *name, size_t *cursor,
                                           struct weir_str *value);

/* All fields in order: *cursor starts at 0; ABSENT at the end. Behind an INVALID one it goes on. */
WEIR_API enum weir_field weir_query_next(struct weir_ctx *ctx, size_t *cursor,
                                         struct weir_str *name, struct weir_str *value);

/* The same on a body of type application/x-www-form-urlencoded; another type has no fields. */
WEIR_API enum weir_field weir_form(struct weir_ctx *ctx, const char *name, struct weir_str *value);
WEIR_API enum weir_field weir_form_int(struct weir_ctx *ctx, const char *name, int64_t min,
                                       int64_t max, int64_t *value);
WEIR_API enum weir_field weir_form_double(struct weir_ctx *ctx, const char *name, double min,
                                          double max, double *value);
WEIR_API enum weir_field weir_form_bool(struct weir_ctx *ctx, const char *name, bool *value);
WEIR_API enum weir_field weir_form_values(struct weir_ctx *ctx, const char *name, size_t *cursor,
                                          struct weir_str *value);
WEIR_API enum weir_field weir_form_next(struct weir_ctx *ctx, size_t *cursor, struct weir_str *name,
                                        struct weir_str *value);

/* Is the media type of the body `type`, such as "application/json"? Parameters do not count. */
WEIR_API bool weir_is_type(const struct weir_ctx *ctx, const char *type);

/* ---- Memory and values of the request. ---- */

/* `size` bytes until the request is over, aligned to 16. NULL when the arena is full. */
WEIR_API void *weir_alloc(struct weir_ctx *ctx, size_t size) WEIR_MUST_USE;

/* `s` copied into the arena with a NUL behind it. NULL when the arena is full. */
WEIR_API char *weir_cstr(struct weir_ctx *ctx, struct weir_str s) WEIR_MUST_USE;

/* Runs fn(arg) when the request is over, whatever happens; last in, first out. False, and fn(arg)
 * has run at once, when the arena is full. */
WEIR_API bool weir_defer(struct weir_ctx *ctx, void (*fn)(void *arg), void *arg);

/* The private word of the running middleware: zero before on_request, kept until on_done. */
static inline uint64_t *weir_own(const struct weir_ctx *ctx)
{
        return &ctx->own[ctx->at];
}

/* A value that middleware hand to handlers; weir_slot() in app.h makes one. */
struct weir_slot {
        uint8_t index;
};

static inline void weir_slot_set(struct weir_ctx *ctx, struct weir_slot slot, void *value)
{
        ctx->slot[slot.index & (WEIR_MAX_SLOTS - 1)] = value;
}

static inline void *weir_slot_get(const struct weir_ctx *ctx, struct weir_slot slot)
{
        return ctx->slot[slot.index & (WEIR_MAX_SLOTS - 1)];
}

/* A value that each loop has for itself, such as a database handle; weir_local() in app.h. */
struct weir_local {
        uint8_t index;
};

static inline void *weir_local_get(const struct weir_ctx *ctx, struct weir_local local)
{
        return ctx->local[local.index];
}

/* The root of the app that serves this request. */
WEIR_API struct weir *weir_app(const struct weir_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
