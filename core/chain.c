/*
 * chain.c - walking a chain of links.
 *
 * ctx.at is the cursor. The links before it returned WEIR_NEXT: they get on_response at the verdict
 * and on_done at the end, inside-out, once each. The link at it, which answered, gets neither. The
 * masks of the plan say which links have which hook, so a hook that is not there costs nothing.
 */
#include "exchange.h"

/* A hook that ended the walk without an answer. */
static void no_answer(struct weir__cell *cell, const struct weir__link *link, enum weir_flow flow)
{
        struct weir_ctx *ctx = &cell->ctx;

        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s %.*s: %s returned %s without an answer",
                 ctx->pattern, WEIR_FMT(ctx->method_name),
                 link->mw ? link->mw->name : "the handler",
                 flow == WEIR_NEXT   ? "WEIR_NEXT"
                 : flow == WEIR_DONE ? "WEIR_DONE"
                                     : "WEIR_WAIT");
        WEIR__COUNT(cell->loop, bad_answers);
        weir__answer_fixed(ctx, WEIR__STATIC_500);
}

bool weir__chain_run(struct weir__cell *cell, unsigned upto)
{
        struct weir_ctx *ctx = &cell->ctx;
        enum weir_flow flow = WEIR_NEXT;

        for (; ctx->at < upto; ctx->at++) {
                const struct weir__link *link = &ctx->links[ctx->at];

                if (!link->on_request)
                        continue;
                flow = link->on_request(ctx, link->self);
                if (flow == WEIR_NEXT && link->mw)
                        continue;
                if (flow != WEIR_DONE || !ctx->status)
                        no_answer(cell, link, flow);
                return true;
        }
        return false;
}

/* Calls one kind of hook for the set bits of `links`, the last link first. */
static void call_hooks(struct weir_ctx *ctx, uint64_t links, size_t hook)
{
        uint16_t cursor = ctx->at;

        while (links) {
                unsigned i = 63 - (unsigned)__builtin_clzll(links);
                const struct weir__link *link = &ctx->links[i];

                links &= ~((uint64_t)1 << i);
                ctx->at = (uint16_t)i;
                (*(weir_hook_fn *const *)((const char *)link + hook))(ctx, link->self);
        }
        ctx->at = cursor;
}

static uint64_t passed(const struct weir_ctx *ctx)
{
        return ctx->at >= 64 ? UINT64_MAX : ((uint64_t)1 << ctx->at) - 1;
}

void weir__chain_unwind(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        ctx->verdict_ns = weir__now(&cell->loop->clock);
        ctx->flags |= WEIR__UNWOUND;
        if (ctx->flags & WEIR__OVERFLOW)
                weir__answer_oom(ctx);
        call_hooks(ctx, cell->plan->has_response & passed(ctx),
                   offsetof(struct weir__link, on_response));
        weir__answer_settle(cell);
        weir__count_by(&cell->loop->counters,
                       WEIR__STAT(status) + (ctx->status == 499 ? 0 : ctx->status / 100), 1);
}

void weir__chain_done(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        call_hooks(ctx, cell->plan->has_done & passed(ctx), offsetof(struct weir__link, on_done));
}
