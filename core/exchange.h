/*
 * exchange.h - the life of one request, whatever carries it.
 *
 *      weir__exchange_head()      the head is in: guard, route, the chain as far as headers go, or
 *                                 to its end when there is no body
 *        READ      -> weir__exchange_body() per piece, then weir__exchange_end()
 *        ANSWER    -> send cell->answer now and close the connection
 *      weir__exchange_end()       the request is in: cell->answer holds the answer
 *        WAIT      -> nothing, until loop->woke() tells what is next: READ, ANSWER
 *      weir__exchange_done()      the answer is out, or the client has gone; the cell is free
 */
#ifndef WEIR_CORE_EXCHANGE_H
#define WEIR_CORE_EXCHANGE_H

#include "cell.h"

enum weir__next {
        WEIR__READ,   /* go on reading                                        */
        WEIR__ANSWER, /* answer at once, close behind it                      */
        WEIR__CUT,    /* too much is still to come: answer raw, cut the rest   */
        WEIR__WAIT,   /* the request is suspended                             */
};

/* Upload bytes after a refusal that are swallowed to keep the connection. */
#define WEIR__SWALLOW_MAX (64 * 1024)

/* The head is complete: see weir__guard_head(). */
enum weir__next weir__exchange_head(struct weir__cell *cell, struct weir_str version);
enum weir__next weir__exchange_body(struct weir__cell *cell, const char *data, size_t size);
enum weir__next weir__exchange_end(struct weir__cell *cell);

/* Has the verdict been? Then weir__exchange_end() has nothing to do. */
static inline bool weir__is_answered(const struct weir__cell *cell)
{
        return cell->ctx.flags & WEIR__UNWOUND;
}

/* The body comes in too slowly: 408 is the answer, unless there is one. */
void weir__exchange_too_slow(struct weir__cell *cell);

/* What ends a wait, once the cell is back. */
enum weir__next weir__exchange_resume(struct weir__cell *cell, enum weir_flow flow);
enum weir__next weir__exchange_again(struct weir__cell *cell);  /* calls the same hook */
enum weir__next weir__exchange_expire(struct weir__cell *cell); /* its deadline: 504 */
enum weir__next weir__exchange_stop(struct weir__cell *cell);   /* the server stops: 503 */
enum weir__next weir__exchange_left(struct weir__cell *cell);   /* its client: 499, no answer */

/* How a request ended for the transport. */
enum weir__end {
        WEIR__SENT,    /* the whole answer went out   */
        WEIR__GONE,    /* the client left before      */
        WEIR__REFUSED, /* the transport answered: cell->transport_status */
        WEIR__STOPPED, /* the server stopped before   */
        WEIR__EXPIRED, /* its time was up before      */
};
void weir__exchange_done(struct weir__cell *cell, uint64_t bytes, enum weir__end end);

/* ---- Its parts (chain.c): the contract of the hooks is there. ---- */

/* How a walk ended. */
enum weir__walk {
        WEIR__PASSED,  /* all links up to `upto` passed the request on */
        WEIR__ANSWERS, /* one has answered                             */
        WEIR__WAITS,   /* one has suspended it                         */
};

/* Runs links from ctx.at on until one ends the walk or `upto` is reached. */
enum weir__walk weir__chain_run(struct weir__cell *cell, unsigned upto);

/* Goes on as if the link at ctx.at had returned `flow`. */
enum weir__walk weir__chain_resume(struct weir__cell *cell, enum weir_flow flow, unsigned upto);

/* The verdict: on_response of all links that were passed. */
void weir__chain_unwind(struct weir__cell *cell);

/* on_done of the same. */
void weir__chain_done(struct weir__cell *cell);

/* The link ended its walk, or was resumed, with `flow` but without an answer: logged, 500. */
void weir__chain_no_answer(struct weir__cell *cell, const struct weir__link *link,
                           enum weir_flow flow);

/* ---- Bodies in pieces (upload.c). ---- */

/* Gives a piece to the on_body hooks: as weir__chain_run(). */
enum weir__walk weir__upload_run(struct weir__cell *cell, struct weir_str piece, bool last);

/* Goes on with the piece at hand, as if the hook that has it had returned `flow`. */
enum weir__walk weir__upload_resume(struct weir__cell *cell, enum weir_flow flow);

/* The same, calling that hook again. */
enum weir__walk weir__upload_again(struct weir__cell *cell);

/* No piece is at hand any more. */
void weir__upload_end(struct weir__cell *cell);

/* ---- Routing (route.c). ---- */

/* Sets place and parameters; for what has no route the place is a scope and `miss` says why. */
void weir__route(struct weir__cell *cell);

/* The handler of every scope: answers for what `miss` says. */
enum weir_flow weir__serve_miss(struct weir_ctx *ctx, void *self);

#endif
