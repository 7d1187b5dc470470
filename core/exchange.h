/*
 * exchange.h - the life of one request, whatever carries it.
 *
 *      weir__exchange_head()      the head is in: guard, route, the chain as far as headers go, or
 *                                 to its end when there is no body
 *        READ      -> weir__exchange_body() per piece, then weir__exchange_end()
 *        ANSWER    -> send cell->answer now and close the connection
 *      weir__exchange_end()       the request is in: cell->answer holds the answer
 *      weir__exchange_done()      the answer is out, or the client has gone; the cell is free
 */
#ifndef WEIR_CORE_EXCHANGE_H
#define WEIR_CORE_EXCHANGE_H

#include "cell.h"

enum weir__next {
        WEIR__READ,   /* go on reading                                        */
        WEIR__ANSWER, /* answer at once, close behind it                      */
        WEIR__CUT,    /* too much is still to come: answer raw, cut the rest   */
};

/* Upload bytes after a refusal that are swallowed to keep the connection. */
#define WEIR__SWALLOW_MAX (64 * 1024)

/* The head is complete: see weir__guard_head(). */
enum weir__next weir__exchange_head(struct weir__cell *cell, struct weir_str version);
enum weir__next weir__exchange_body(struct weir__cell *cell, const char *data, size_t size);
void            weir__exchange_end(struct weir__cell *cell);

/* How a request ended for the transport. */
enum weir__end {
        WEIR__SENT,    /* the whole answer went out   */
        WEIR__GONE,    /* the client left before      */
        WEIR__REFUSED, /* the transport answered: cell->transport_status */
        WEIR__STOPPED, /* the server stopped before   */
};
void weir__exchange_done(struct weir__cell *cell, uint64_t bytes, enum weir__end end);

/* ---- Its parts (chain.c): the contract of the hooks is there. ---- */

/* Runs links until one ends the walk or `upto` is reached; then true when there is an answer. */
bool weir__chain_run(struct weir__cell *cell, unsigned upto);

/* The verdict: on_response of all links that were passed. */
void weir__chain_unwind(struct weir__cell *cell);

/* on_done of the same. */
void weir__chain_done(struct weir__cell *cell);

/* ---- Routing (route.c). ---- */

/* Sets place and parameters; for what has no route the place is a scope and `miss` says why. */
void weir__route(struct weir__cell *cell);

/* The handler of every scope: answers for what `miss` says. */
enum weir_flow weir__serve_miss(struct weir_ctx *ctx, void *self);

#endif
