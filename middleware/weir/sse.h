/*
 * sse.h - server-sent events (WHATWG HTML, "Server-sent events"): a stream that any thread adds to.
 *
 *      static enum weir_flow subscribe(struct weir_ctx *ctx, void *self)
 *      {
 *              struct weir_sse *sse = weir_sse_open(ctx, NULL);
 *
 *              if (sse)
 *                      add_subscriber(self, sse);
 *              return WEIR_DONE;
 *      }
 *
 *      weir_sse_send(sse, &(struct weir_event){ .data = WEIR_STR("hello") });
 *
 * The route says .waits. No thread is bound and no buffer held while there is nothing to send.
 */
#ifndef WEIR_SSE_H
#define WEIR_SSE_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A handle on a stream of events. It is good until whoever opened it releases it, once, whatever
 * has become of the stream: to send to one that has ended is harmless, and false.
 *
 *      weir_sse_open() ---------------------------------------------------> weir_sse_release()
 *           |  the handle: send, comment, retry, close, from any thread              |
 *           |                                                                      freed
 *           |  the stream: open             ends: the client leaves, the server stops,
 *           `-----------------------------> weir_sse_close() or _release(); on_close(), once
 *
 * Both orders are fine. Releasing one that is open closes it, since nobody could send any more.
 */
struct weir_sse;

/*
 * A heartbeat is a comment when nothing else went out for a while: it keeps proxies patient. A
 * client whose stream was ended comes back, and says which event it had last.
 */
struct weir_sse_options {
        int64_t  heartbeat_ms;    /* after how long; 0: 15 s; WEIR_NONE: none                    */
        int64_t  retry_ms;        /* when a client that was cut off is to come back; 0: not said */
        int64_t  buffer;          /* bytes that may wait for the client; 0: 64 KiB; WEIR_INF     */
        bool     close_when_full; /* end the stream of a client that misses an event             */
        void   (*on_close)(void *arg, struct weir_sse *sse); /* the stream has ended: see below  */
        void    *arg;
        uint64_t reserved[4];
};

/* Absent fields are not sent. One without data sets the client's last id, and is no event to it. */
struct weir_event {
        struct weir_str event; /* its type; absent: "message". No CR or LF                     */
        struct weir_str id;    /* what a client says that comes back. No CR, LF or NUL         */
        struct weir_str data;  /* UTF-8; may have several lines, which LF, CR or CRLF end      */
        uint64_t        reserved[2];
};

/*
 * Answers 200 with a stream of events, which is stored by nobody. The handler returns WEIR_DONE.
 * NULL, and 503, when memory is out. A deadline does not apply to the stream; an idle time does.
 *
 * on_close(arg, sse) is called exactly once for each handle that was opened, on the loop of its
 * request, also when the client asked by HEAD, or when the answer was replaced. It may take locks
 * that are held around weir_sse_send(). It is the place to take the handle off a list, and to
 * release it.
 */
WEIR_API struct weir_sse *weir_sse_open(struct weir_ctx *ctx,
                                        const struct weir_sse_options *options) WEIR_MUST_USE;

/* The id of the last event that a client had which comes back; absent when it says none. */
WEIR_API struct weir_str weir_sse_last_id(const struct weir_ctx *ctx);

/* ---- Any thread, as long as the handle is good. NULL is fine: false. ---- */

/*
 * Copies an event behind what is still to be sent. False: the stream has ended, the event does not
 * fit what .buffer leaves (which is counted), memory is out, or a field has what it may not have.
 */
WEIR_API bool weir_sse_send(struct weir_sse *sse, const struct weir_event *event);

/* The same for a comment, which clients pass over, and for the time after which they come back. */
WEIR_API bool weir_sse_comment(struct weir_sse *sse, struct weir_str text);
WEIR_API bool weir_sse_retry(struct weir_sse *sse, int64_t ms);

/* Ends the stream behind what was sent. The handle stays good. Any number of times. */
WEIR_API void weir_sse_close(struct weir_sse *sse);

/* Gives the handle back: it is not good any more. Closes the stream. */
WEIR_API void weir_sse_release(struct weir_sse *sse);

/* How many events, comments and times did not fit so far. */
WEIR_API uint64_t weir_sse_missed(struct weir_sse *sse);

#ifdef __cplusplus
}
#endif

#endif
