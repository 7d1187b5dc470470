/*
 * job.h - a hook that blocks, on a thread of its own.
 *
 * Its request waits meanwhile. The hook gets a copy of it, the cell `job`, with views of copied
 * text: so the deadline can be answered, and the connection go on, while the hook still runs. What
 * slots point to, and what was deferred, belongs to the request's own cell, which is kept until the
 * hook has returned.
 *
 *      loop                                  a thread of the crew
 *      weir__job_run(): copies, suspends --> weir__job_work(): runs the hook, claims the request
 *      weir__job_back(): takes the answer <--- the claim was good
 *      weir__job_end(): drops the answer  <--- somebody was first
 *
 * All pieces of a body are the work of one job, so that they cost one copy.
 */
#ifndef WEIR_CORE_JOB_H
#define WEIR_CORE_JOB_H

#include "cell.h"

/* The on_request of a link that blocks: WEIR_WAIT, or a refusal. */
enum weir_flow weir__job_run(struct weir_ctx *ctx, void *self);

/* The same for the hook that has the piece at hand: as weir_body_fn. */
enum weir_flow weir__job_piece(struct weir__cell *cell);

/* On a thread of the crew, whose own values are `local`. */
void weir__job_work(struct weir__cell *job, void *const *local);

/* The request was resumed by its job. */
void weir__job_back(struct weir__cell *cell);

/* A job is back without its request, which ended before, or which does not wait any more. */
void weir__job_end(struct weir__cell *job);

/* Gives back what a job held. */
void weir__job_put(struct weir__cell *job);

/* Says which hooks have not returned. How many? */
unsigned weir__jobs_lost(struct weir__loop *loop);

#endif
