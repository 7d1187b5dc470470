/* wait.h - requests that wait: for a moment, or for another thread. */
#ifndef WEIR_WAIT_H
#define WEIR_WAIT_H

#include <weir/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A request has one owner at a time: its loop, or whoever claimed its ticket.
 *
 *         struct weir_ticket ticket = weir_suspend(ctx);      in on_request, on the loop
 *         hand_to_somebody(ticket);
 *         return WEIR_WAIT;
 *
 *         struct weir_ctx *ctx = weir_claim(ticket);          later, on any thread
 *         if (ctx)
 *                 weir_resume(ctx, weir_text(ctx, 200, "done"));
 *
 * Only hooks that say so may wait: .waits of struct weir_middleware and struct weir_route_options.
 * A server none of whose routes waits pays nothing for it.
 *
 * Instead of all this, a hook may simply block where it says .blocking: weir then calls it on one
 * of its workers, with a ctx that is good on that thread, and goes on with what it returns. Its
 * weir_local() values are those of the worker. If its deadline, its client or a stop ends the
 * request first, the hook runs to its end all the same, and what it returns is dropped; what its
 * views and slots point to, and what was deferred, stays until then. The workers' number and queue
 * are options of the app; a full queue is answered 503. weir_ask() calls such a hook itself.
 */

/* A request that waits, by value. One that is out of date is harmless, as long as the app lives. */
struct weir_ticket {
        void    *request; /* private */
        uint64_t turn;    /* private */
};

/*
 * From on_request or on_body, which then returns WEIR_WAIT: the request no longer belongs to it,
 * since others may have it already. It ends as 504 at its deadline, as 499 when its client leaves
 * (sends no more; on a listener with half_close, once the request is in, only a reset is that), as
 * 503 when the server stops; whoever holds the ticket then finds out by weir_claim().
 */
WEIR_API struct weir_ticket weir_suspend(struct weir_ctx *ctx) WEIR_MUST_USE;

/*
 * The request, which belongs to the caller until weir_resume(); NULL when somebody else was first:
 * the deadline, the client, a stop, or another claim. Any thread. Do not keep it: nothing can take
 * it back, so its client waits, and so does a stop.
 */
WEIR_API struct weir_ctx *weir_claim(struct weir_ticket ticket) WEIR_MUST_USE;

/* Gives it back. `flow` is what the hook would have returned: WEIR_DONE when it has answered. */
WEIR_API void weir_resume(struct weir_ctx *ctx, enum weir_flow flow);

/*
 * The same until weir_now() is `at_ns`: then the same hook is called again, unless somebody has
 * claimed the request before.
 */
WEIR_API struct weir_ticket weir_suspend_until(struct weir_ctx *ctx, uint64_t at_ns) WEIR_MUST_USE;

/*
 * Waits until weir_now() is `at_ns`; then the same hook is called again, which can tell by
 * weir_own(). To be returned: it is WEIR_WAIT.
 */
WEIR_API enum weir_flow weir_wait_until(struct weir_ctx *ctx, uint64_t at_ns) WEIR_MUST_USE;

/*
 * The pull function of a stream (weir_stream()) suspends its request by the same functions, and
 * returns WEIR_PULL_WAIT. It has the ctx from its `arg`. The head of the answer is out by then, so
 * what ends the wait breaks the stream off, and a claimer resumes with WEIR_NEXT:
 *
 *         if (queue_is_empty(feed)) {                         in the pull function, on the loop
 *                 feed->ticket = weir_suspend(feed->ctx);
 *                 return WEIR_PULL_WAIT;
 *         }
 *
 *         struct weir_ctx *ctx = weir_claim(feed->ticket);    later, on any thread
 *         if (ctx)
 *                 weir_resume(ctx, WEIR_NEXT);
 *
 * A wait that cannot be, for want of memory or of .waits, gives a ticket of zeroes, and
 * WEIR_PULL_WAIT breaks the stream off then.
 */

/* Does the server begin to stop, or is it at it? What has no end of its own may end politely. */
WEIR_API bool weir_stopping(const struct weir_ctx *ctx);

/* ---- Deadlines. ---- */

/* The time on the clock of the request: CLOCK_MONOTONIC in nanoseconds, or that of a test. */
WEIR_API uint64_t weir_now(const struct weir_ctx *ctx);

/* Sets when a request that waits is answered 504. It only ever comes closer. */
WEIR_API void weir_deadline(struct weir_ctx *ctx, uint64_t at_ns);

/*
 * How long a stream may move no byte: then it is broken off. From its first wait on, that is
 * instead of the deadline. It only ever becomes shorter.
 */
WEIR_API void weir_idle_timeout(struct weir_ctx *ctx, uint64_t ns);

/* What is left until the deadline; WEIR_NO_DEADLINE without one, 0 behind it. */
#define WEIR_NO_DEADLINE UINT64_MAX
WEIR_API uint64_t weir_remaining_ns(const struct weir_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
