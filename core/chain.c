/*
 * chain.c - walking a chain of links.
 *
 * ctx.at is the cursor. The links before it returned WEIR_NEXT: they get on_response at the verdict
 * and on_done at the end, inside-out, once each. The link at it, which answered, gets neither, or
 * on_done if it waited. The plan lists the hooks there are, so one that is not there costs nothing.
 */
#include "exchange.h"
#include "hint.h"

void weir__chain_no_answer(struct weir__cell *cell, const struct weir__link *link,
                           enum weir_flow flow)
{
        struct weir_ctx *ctx = &cell->ctx;

        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s %.*s: %s returned %s without %s", ctx->pattern,
                 WEIR_FMT(ctx->method_name), weir__link_name(link),
                 flow == WEIR_NEXT   ? "WEIR_NEXT"
                 : flow == WEIR_DONE ? "WEIR_DONE"
                                     : "WEIR_WAIT",
                 flow != WEIR_WAIT ? "an answer"
                 : link->inner     ? "waiting for anything"
                                   : ".waits");
        WEIR__COUNT(cell->loop, bad_answers);
        weir__answer_fixed(ctx, WEIR__STATIC_500);
}

/* The link returned something other than WEIR_NEXT, or had nobody to pass the request on to. */
static WEIR__COLD enum weir__walk end(struct weir__cell *cell, const struct weir__link *link,
                                      enum weir_flow flow)
{
        if (cell->waits) { /* others may have the request by now */
                cell->waited = (uint16_t)(link - cell->plan->links) + 1;
                return WEIR__WAITS;
        }
        weir__chain_no_answer(cell, link, flow);
        return WEIR__ANSWERS;
}

enum weir__walk weir__chain_run(struct weir__cell *cell, unsigned upto)
{
        struct weir_ctx *ctx = &cell->ctx;
        const struct weir__link *link = &ctx->links[ctx->at];
        unsigned at = ctx->at;
        enum weir_flow flow;

        for (; at < upto; link++) {
                flow = link->on_request(ctx, link->self);
                if (flow == WEIR_NEXT && link->passes) {
                        ctx->at = (uint16_t)++at;
                        continue;
                }
                if (flow != WEIR_DONE || !ctx->status)
                        return end(cell, link, flow);
                return WEIR__ANSWERS;
        }
        return WEIR__PASSED;
}

enum weir__walk weir__chain_resume(struct weir__cell *cell, enum weir_flow flow, unsigned upto)
{
        struct weir_ctx *ctx = &cell->ctx;
        const struct weir__link *link = &ctx->links[ctx->at];

        if (flow == WEIR_NEXT && link->passes) {
                ctx->at++;
                return weir__chain_run(cell, upto);
        }
        if (flow != WEIR_DONE || !ctx->status)
                weir__chain_no_answer(cell, link, flow);
        return WEIR__ANSWERS;
}

static void call_hooks(struct weir_ctx *ctx, const struct weir__hook *hook)
{
        uint16_t cursor = ctx->at;

        for (; hook->fn; hook++) {
                ctx->at = hook->link;
                hook->fn(ctx, hook->self);
        }
        ctx->at = cursor;
}

void weir__chain_unwind(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;
        size_t class;

        ctx->verdict_ns = weir__now(&cell->loop->clock);
        ctx->flags |= WEIR__UNWOUND;
        if (ctx->flags & WEIR__OVERFLOW)
                weir__answer_oom(ctx);
        call_hooks(ctx, cell->plan->on_response + ctx->links[ctx->at].response);
        weir__answer_settle(cell);
        class = ctx->status == 499 ? 0 : ctx->status / 100;
        weir__count_by(&cell->loop->counters, WEIR__STAT(status) + class, 1);
}

void weir__chain_done(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        call_hooks(ctx, cell->plan->on_done + ctx->links[ctx->at].done);
}
