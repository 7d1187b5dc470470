/*
 * wait.h - who owns a request that waits.
 *
 * The word of a cell holds a turn and a state, which change in one step: so a ticket, which is a
 * cell and a turn, is good for one wait only, and one of those who want the request gets it.
 *
 *      HERE    -- weir_suspend(), its loop ------------------------------> WAITING, next turn
 *      WAITING -- its loop: a moment, the deadline, the client, a stop --> HERE
 *      WAITING -- weir_claim(), any thread ------------------------------> CLAIMED
 *      CLAIMED -- weir_resume(), any thread -----------------------------> BACK
 *      BACK    -- its loop finds it in `resumed` ------------------------> HERE
 *
 * WAITING is stored with release and left with acquire, so that who takes the request sees all of
 * it. `resumed` is a stack that any thread pushes to (release) and the loop empties (acquire).
 */
#ifndef WEIR_CORE_WAIT_H
#define WEIR_CORE_WAIT_H

#include "cell.h"
#include <weir/wait.h>

/* All of these on the loop's thread. */

/* The on_request of a link that may wait: calls its hook, and sees to it that the two agree. */
enum weir_flow weir__wait_call(struct weir_ctx *ctx, void *self);

/* A hook that was allowed to wait has returned `flow`: what it stands for. */
enum weir_flow weir__wait_after(struct weir__cell *cell, enum weir_flow flow);

/* Ends the waits that are over, and tells loop->woke what each request does next. */
void weir__wait_turn(struct weir__loop *loop);

/* When weir__wait_turn() has something to do without being woken; UINT64_MAX: never. */
static inline uint64_t weir__wait_until(const struct weir__loop *loop)
{
        return loop->dues.first ? loop->dues.first->at_ns : UINT64_MAX;
}

/* Suspends a request until `until_ns`, its deadline or a claim; its hook returns WEIR_WAIT. */
struct weir_ticket weir__wait_begin(struct weir__cell *cell, uint64_t until_ns);

/* Takes a request that waits back to the loop, unless it is claimed. */
bool weir__wait_take(struct weir__cell *cell);

/* The client of a request that waits has gone: it ends now, or when its claimer gives it back. */
void weir__wait_left(struct weir__cell *cell);

/* The server begins to stop: streams that wait are called once more, so that they can end. */
void weir__wait_drain(struct weir__loop *loop);

/*
 * The server stops: all that wait are answered 503, streams are cut. Those that are claimed may
 * still come back.
 */
void weir__wait_stop(struct weir__loop *loop);

/* It will not wait any more: for streams, which stay in the loop's list in between. */
void weir__wait_unlist(struct weir__cell *cell);

/* A stream has moved bytes, perhaps while it waits for more. */
void weir__wait_moved(struct weir__cell *cell);

/* A stream that does not wait is to be looked at, at a moment: loop->flows(). */
void weir__wait_look(struct weir__cell *cell, uint64_t at_ns);

/* ---- On any thread. ---- */

/* Does the request still wait? Who needs to be sure claims it. */
bool weir__wait_is_on(struct weir_ticket ticket);

/* Hands a cell to its loop: a request that is resumed, or a job without one. */
void weir__wait_push(struct weir__cell *cell);

/* ---- At the end of a loop. ---- */

/* The loop ends: says which requests are claimed and did not come back. How many? */
unsigned weir__wait_lost(struct weir__loop *loop);

#endif
