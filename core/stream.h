/*
 * stream.h - answers that are pulled, and may wait while they are: what all transports share.
 *
 * A wait behind the verdict is one of the answer's stream. It has the states of wait.h, and ends in
 * loop->flows() where that of a hook ends in loop->woke():
 *
 *      weir__stream_pull()    a transport wants bytes; the pull function may suspend the request
 *        -> loop->part()      at the first time: the transport takes the request along, or cannot
 *        -> the ticket is out
 *      loop->flows(ON)        it was resumed, or its moment has come: pull again
 *      loop->flows(...)       it is over: weir__stream_end()
 */
#ifndef WEIR_CORE_STREAM_H
#define WEIR_CORE_STREAM_H

#include "exchange.h"

/* Why a stream does not wait any more. */
enum weir__flows {
        WEIR__FLOWS_ON,      /* it goes on                        */
        WEIR__FLOWS_LATE,    /* its deadline or idle time is over */
        WEIR__FLOWS_LEFT,    /* its client has gone               */
        WEIR__FLOWS_STOPPED, /* the server is cutting it          */
};

/* Is what the cell waits for bytes of its answer? */
static inline bool weir__is_stream(const struct weir__cell *cell)
{
        return weir__is_answered(cell);
}

/*
 * Up to `size` bytes of the answer's body: as weir_pull_fn. WEIR_PULL_WAIT: cell->waits. With bytes
 * it may wait too: they come first. Others may have the request then.
 */
ssize_t weir__stream_pull(struct weir__cell *cell, char *buf, size_t size);

/* Its stream is about to wait: false without the memory for that. Nothing has changed then. */
bool weir__stream_waits(struct weir__cell *cell);

/* It was claimed, and has come back. */
void weir__stream_back(struct weir__cell *cell);

/* How a stream that does not go on ends. */
enum weir__end weir__stream_end_of(int why);

/* It is over, and so is the request. */
void weir__stream_end(struct weir__cell *cell, enum weir__end end);

/* Must its head say that the connection is closed behind it? */
bool weir__stream_closes(const struct weir__cell *cell);

#endif
