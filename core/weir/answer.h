/* answer.h - what to answer. Each function that answers returns WEIR_DONE. */
#ifndef WEIR_ANSWER_H
#define WEIR_ANSWER_H

#include <stdarg.h>
#include <sys/types.h>
#include <weir/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The last answer counts: a hook that answers again, on_response hooks included, replaces body,
 * type and status and keeps the other headers. A status must be 200 to 599. An answer that does not
 * fit the memory of its request becomes 500 and is counted.
 */

/* Text as it is, copied; text/plain; charset=utf-8. */
WEIR_API enum weir_flow weir_text(struct weir_ctx *ctx, int status, const char *text);

/* The same, formatted like printf. */
WEIR_API enum weir_flow weir_textf(struct weir_ctx *ctx, int status, const char *fmt, ...)
        WEIR_PRINTF(3, 4);

/*
 * A formatted JSON text; application/json. What %s puts in is not escaped: weir/json.h does that.
 */
WEIR_API enum weir_flow weir_jsonf(struct weir_ctx *ctx, int status, const char *fmt, ...)
        WEIR_PRINTF(3, 4);

/* Bytes of media type `type`, copied. `type` must outlive the request (a literal does). */
WEIR_API enum weir_flow weir_bytes(struct weir_ctx *ctx, int status, const char *type,
                                   struct weir_str body);

/*
 * Bytes that weir borrows: nothing is copied. free_fn(arg), when there is one, runs exactly once,
 * when the last byte was sent or the answer was replaced or dropped.
 */
WEIR_API enum weir_flow weir_send(struct weir_ctx *ctx, int status, const char *type,
                                  struct weir_str body, void (*free_fn)(void *arg), void *arg);

/* A status without a body: 204, 304, or any other with Content-Length: 0. */
WEIR_API enum weir_flow weir_status(struct weir_ctx *ctx, int status);

/* `size` bytes of `fd` from `offset` on. weir closes `fd`, always. */
WEIR_API enum weir_flow weir_file(struct weir_ctx *ctx, int status, const char *type, int fd,
                                  uint64_t offset, uint64_t size);

/*
 * A body that is pulled: `pull` puts up to `size` (> 0) bytes into `buf` and returns how many, 0
 * at the end, or -1 to break off and close the connection. With `length` WEIR_UNKNOWN_LENGTH it
 * goes out chunked (or until close, for HTTP/1.0). free_fn(arg) runs exactly once, as for
 * weir_send().
 *
 * It is called on the request's loop, when what it gave before is with the kernel; it must not
 * block. With nothing to give yet it suspends its request (wait.h) and returns WEIR_PULL_WAIT; it
 * may also suspend it and return bytes, which go out first. It is called again at the moment it
 * named, once somebody has claimed the request and resumed it with WEIR_NEXT, or when the server
 * begins to stop (weir_stopping()). Whoever claimed the request owns the stream until then. A
 * stream may wait where the handler, or a middleware on the way, says .waits; there one of unknown
 * length says "Connection: close", since a connection whose stream has waited serves no other
 * request. The deadline, a client that leaves and the end of a stop break off a stream that waits:
 * its outcome is WEIR_TIMEOUT, WEIR_ABORT or WEIR_SHUTDOWN.
 *
 * At its first wait the request moves to memory of its own: views of it (ctx.h) that were taken
 * before, and are not in the ctx, are to be taken again. What weir_alloc() gave stays.
 */
typedef ssize_t weir_pull_fn(void *arg, char *buf, size_t size);
#define WEIR_PULL_WAIT      (-2)
#define WEIR_UNKNOWN_LENGTH UINT64_MAX
WEIR_API enum weir_flow weir_stream(struct weir_ctx *ctx, int status, const char *type,
                                    uint64_t length, weir_pull_fn *pull, void (*free_fn)(void *arg),
                                    void *arg);

/* A redirect (RFC 9110 15.4): `status` 301, 302, 303, 307 or 308. `location` is copied. */
WEIR_API enum weir_flow weir_redirect(struct weir_ctx *ctx, int status, const char *location);

/*
 * An answer prepared once, at setup, by weir_static() in app.h: sent without copying, without
 * touching the heap. With headers set on the ctx it costs as much as weir_send().
 */
struct weir_static;
WEIR_API enum weir_flow weir_send_static(struct weir_ctx *ctx, const struct weir_static *answer);

/*
 * The request failed: the nearest on_error of route, scope and root renders it; without one it is
 * problem+json (RFC 9457): {"type":"about:blank","title":...,"status":...,"detail":...}.
 * The outcome follows from the status. `fmt` may be NULL: no detail. Bytes of the message that are
 * not UTF-8 become U+FFFD.
 */
WEIR_API enum weir_flow weir_fail(struct weir_ctx *ctx, int status, const char *fmt, ...)
        WEIR_PRINTF(3, 4);

/*
 * The same for a refusal that is the server's own (a limit, overload): outcome WEIR_SHED; for 504,
 * when there is no time left, WEIR_TIMEOUT.
 */
WEIR_API enum weir_flow weir_refuse(struct weir_ctx *ctx, int status, const char *fmt, ...)
        WEIR_PRINTF(3, 4);

/* How on_error renders: called once per failed request, answers with any function above. */
typedef enum weir_flow weir_error_fn(struct weir_ctx *ctx, void *self, int status,
                                     struct weir_str detail);

/* ---- Headers of the answer, before or after the call that answers. ---- */

/*
 * These return false and change nothing when the name is not a token (RFC 9110 5.1), the value
 * has CR, LF, NUL or another control byte but tab, the field is one that weir writes itself
 * (Content-Length, Transfer-Encoding, Connection, Date), or the memory of the request is full;
 * the last makes the answer 500. A refused field is counted in weir_stats().
 */
WEIR_API bool weir_set_header(struct weir_ctx *ctx, const char *name, const char *value);
WEIR_API bool weir_set_headerf(struct weir_ctx *ctx, const char *name, const char *fmt, ...)
        WEIR_PRINTF(3, 4);
WEIR_API bool weir_add_header(struct weir_ctx *ctx, const char *name, const char *value);
WEIR_API bool weir_set_default_header(struct weir_ctx *ctx, const char *name, const char *value);

/* The first field `name` of the answer, Content-Type included; absent when not set. */
WEIR_API struct weir_str weir_answer_header(const struct weir_ctx *ctx, const char *name);

/* Removes all fields `name`. */
WEIR_API void weir_remove_header(struct weir_ctx *ctx, const char *name);

/* Closes the connection after this answer (RFC 9112 9.6). */
WEIR_API void weir_close(struct weir_ctx *ctx);

/* ---- What on_response hooks see and may replace. ---- */

/* The body as bytes; absent when it is a file, a stream or empty. */
WEIR_API struct weir_str weir_answer_body(const struct weir_ctx *ctx);

/* Its length, WEIR_UNKNOWN_LENGTH for such a stream. */
WEIR_API uint64_t weir_answer_length(const struct weir_ctx *ctx);

/* Puts another body in place of the answer's, as weir_send() does; status and headers stay. */
WEIR_API void weir_replace_body(struct weir_ctx *ctx, struct weir_str body,
                                void (*free_fn)(void *arg), void *arg);

/*
 * Puts a stream around the body, whatever it is: `pull` gets its input with weir_pull_inner().
 * `length` is what the new stream yields. False when the answer has no body.
 */
WEIR_API bool weir_wrap_body(struct weir_ctx *ctx, uint64_t length, weir_pull_fn *pull,
                             void (*free_fn)(void *arg), void *arg);

/*
 * The next bytes of the wrapped body: as weir_pull_fn. `ctx` is that of the answer. When it gives
 * WEIR_PULL_WAIT, the wrapped body has suspended the request: return that, or bytes first.
 */
WEIR_API ssize_t weir_pull_inner(struct weir_ctx *ctx, char *buf, size_t size);

/* ---- Cookies (RFC 6265). ---- */

enum weir_same_site { WEIR_SAME_SITE_DEFAULT, WEIR_LAX, WEIR_STRICT, WEIR_CROSS_SITE };

struct weir_cookie {
        const char         *name;       /* a token                                               */
        const char         *value;      /* cookie-octets; NULL: delete the cookie                */
        const char         *domain;     /* NULL: none                                            */
        const char         *path;       /* NULL: none                                            */
        int64_t             max_age_s;  /* 0: a session cookie                                   */
        int64_t             expires_s;  /* seconds since the epoch; 0: none                      */
        bool                secure;     /* needed by WEIR_CROSS_SITE and by __Secure-, __Host-   */
        bool                http_only;
        bool                partitioned; /* needs secure                                         */
        enum weir_same_site same_site;  /* default: not said                                     */
        uint64_t            reserved[4];
};

/* Adds a Set-Cookie field. False when a part breaks RFC 6265 4.1.1 or a rule above. */
WEIR_API bool weir_set_cookie(struct weir_ctx *ctx, const struct weir_cookie *cookie);

#ifdef __cplusplus
}
#endif

#endif
