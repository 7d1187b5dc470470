/* test.h - asking an app in memory, without a socket, with a clock turned by hand. */
#ifndef WEIR_TEST_H
#define WEIR_TEST_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An answer in full. Free it with weir_reply_free(). */
struct weir_reply {
        int             status;
        struct weir_str body;    /* NUL-terminated for convenience; empty for HEAD    */
        struct weir_str head;    /* the header fields, "Name: value\r\n" each         */
        bool            closes;  /* would the connection be closed behind it?         */
        bool            broken;  /* a stream broke off: body is what came before      */
        uint64_t        length;  /* of the body, for HEAD too; WEIR_UNKNOWN_LENGTH    */
        uint64_t        took_ns; /* by the clock                                      */
        uint64_t        reserved[4];
};

/*
 * Sends one request through guard, router and chain, on the caller's thread, and returns the
 * answer; NULL when memory is out. `request` is a request line, header lines and a body:
 *
 *         "GET /books/7"
 *         "POST /books\nContent-Type: application/json\n\n{\"title\":\"Dune\"}"
 *
 * Lines may end in \n or \r\n. "HTTP/1.1" is added when the line has no version, then a Host
 * ("test") and a Content-Length when there is none; the body of a chunked request is given without
 * chunk sizes. The app is compiled at the first ask; a setup error is answered 500 with the
 * sentence as body. Time stands still (weir_tick). One thread at a time per app; a
 * handler may ask its own app.
 */
WEIR_API struct weir_reply *weir_ask(struct weir *app, const char *request) WEIR_MUST_USE;

/* The same for bytes, such as a binary body. */
WEIR_API struct weir_reply *weir_ask_bytes(struct weir *app, struct weir_str request) WEIR_MUST_USE;

/* ---- Requests that wait (wait.h). ---- */

/*
 * weir_ask() waits for other threads, and where a hook waits for a moment it moves the clock there.
 * To see what happens meanwhile, the parts of an ask:
 */
struct weir_asked;

/* Sends a request. NULL when memory is out. */
WEIR_API struct weir_asked *weir_ask_start(struct weir *app, const char *request) WEIR_MUST_USE;

/* Is it still not answered in full? Looks for what was resumed meanwhile. */
WEIR_API bool weir_ask_waits(struct weir_asked *asked);

/* What has come of its body so far: of a stream that waits. Good until anything else is asked. */
WEIR_API struct weir_str weir_ask_body(const struct weir_asked *asked);

/*
 * Its answer, as weir_ask() gets it. Frees `asked`. Of a stream without an end there is none:
 * weir_ask_leave().
 */
WEIR_API struct weir_reply *weir_ask_finish(struct weir_asked *asked) WEIR_MUST_USE;

/* Its client leaves. Frees `asked`, once whoever claimed the request has given it back. */
WEIR_API void weir_ask_leave(struct weir_asked *asked);

/* ---- Answers and time. ---- */

/* The first field `name` of the answer, without surrounding blanks; absent when there is none. */
WEIR_API struct weir_str weir_reply_header(const struct weir_reply *reply, const char *name);

WEIR_API void weir_reply_free(struct weir_reply *reply);

/*
 * Moves the clock of asks, which starts at 1 s and stands still between ticks, forward by `ms`.
 * What is due by then happens.
 */
WEIR_API void weir_tick(struct weir *app, uint64_t ms);

#ifdef __cplusplus
}
#endif

#endif
