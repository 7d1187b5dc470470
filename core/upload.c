/*
 * upload.c - a body in pieces: each goes through the on_body hooks of the links that were passed.
 *
 * While a hook has the piece, ctx.at is its link, so that weir_own() is its own; between pieces it
 * is where the chain stopped. Only then may anything else of the request go on.
 */
#include "exchange.h"
#include "job.h"
#include "wait.h"

static enum weir_flow call(struct weir__cell *cell)
{
        struct weir__upload *upload = &cell->upload;
        const struct weir__body_hook *hook = upload->hook;

        cell->ctx.at = hook->link;
        if (cell->ctx.links[hook->link].blocks)
                return weir__job_piece(cell);
        cell->may_wait = cell->ctx.links[hook->link].waits;
        return weir__wait_after(cell,
                                hook->fn(&cell->ctx, hook->self, upload->piece, upload->last));
}

/* The hook that has the piece did not pass it on. */
static enum weir__walk end(struct weir__cell *cell, enum weir_flow flow)
{
        if (flow != WEIR_DONE || !cell->ctx.status)
                weir__chain_no_answer(cell, &cell->ctx.links[cell->upload.hook->link], flow);
        return WEIR__ANSWERS;
}

static enum weir__walk run(struct weir__cell *cell)
{
        struct weir__upload *upload = &cell->upload;

        for (; upload->hook->fn; upload->hook++) {
                enum weir_flow flow = call(cell);

                if (flow == WEIR_WAIT && cell->waits) /* others may have the request by now */
                        return WEIR__WAITS;
                if (flow != WEIR_NEXT)
                        return end(cell, flow);
        }
        return WEIR__PASSED;
}

enum weir__walk weir__upload_run(struct weir__cell *cell, struct weir_str piece, bool last)
{
        cell->upload = (struct weir__upload){ cell->plan->on_body, piece, last, cell->ctx.at };
        return run(cell);
}

enum weir__walk weir__upload_resume(struct weir__cell *cell, enum weir_flow flow)
{
        if (flow != WEIR_NEXT)
                return end(cell, flow);
        cell->upload.hook++;
        return run(cell);
}

enum weir__walk weir__upload_again(struct weir__cell *cell)
{
        return run(cell);
}

void weir__upload_end(struct weir__cell *cell)
{
        cell->ctx.at = cell->upload.passed;
        cell->upload.hook = NULL;
}
