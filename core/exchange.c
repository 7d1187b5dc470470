/*
 * exchange.c - the life of one request, from its head to its end.
 *
 * The answer of a request that is refused while its body is still to come waits until the body has
 * been swallowed, when that is little: so the connection can be kept. Otherwise it goes out at once
 * and the connection is closed slowly, so that the client can read it.
 */
#include "exchange.h"
#include "forwarded.h"
#include "guard.h"
#include "hint.h"
#include "log.h"

/* Takes a plan: its links, and a zeroed word of the arena for each. */
static void bind(struct weir__cell *cell, const struct weir__plan *plan)
{
        struct weir_ctx *ctx = &cell->ctx;
        size_t size = plan->n_links * sizeof(uint64_t);

        cell->plan = plan;
        ctx->links = plan->links;
        ctx->own = (uint64_t *)ctx->brk; /* the arena starts aligned and has room: freeze.c */
        memset(ctx->own, 0, size);
        ctx->brk += size;
}

static void verdict(struct weir__cell *cell)
{
        weir__chain_unwind(cell);
        cell->phase = WEIR__ANSWERED;
        if (weir__is_draining(cell->loop))
                cell->answer.close = true;
}

static int guard_answer(const struct weir__cell *cell, enum weir_guard reason)
{
        if (cell->guard.not_implemented &&
            (reason == WEIR_GUARD_METHOD || reason == WEIR_GUARD_TRANSFER_ENCODING))
                return WEIR__STATIC_GUARD_501;
        if (reason == WEIR_GUARD_VERSION)
                return WEIR__STATIC_GUARD_505;
        if (reason == WEIR_GUARD_TOO_MANY_HEADERS || reason == WEIR_GUARD_HEADER_BYTES)
                return WEIR__STATIC_GUARD_431;
        if (reason == WEIR__TURNED_AWAY)
                return WEIR__STATIC_503;
        return WEIR__STATIC_GUARD_400;
}

/* The OBSERVE links of the root see a refusal; nothing else runs. */
static enum weir__next guard_refusal(struct weir__cell *cell, enum weir_guard reason)
{
        const struct weir__tree *tree = cell->loop->tree;

        if (reason != WEIR__TURNED_AWAY)
                weir__count_by(&cell->loop->counters, WEIR__STAT(guard) + reason, 1);
        cell->place = &tree->scope[0];
        bind(cell, &tree->observe);
        weir__chain_run(cell, tree->observe.n_links);
        weir__answer_fixed(&cell->ctx, guard_answer(cell, reason));
        if (reason == WEIR__TURNED_AWAY)
                cell->ctx.outcome = WEIR_SHUTDOWN;
        cell->answer.close = cell->linger = true;
        verdict(cell);
        return WEIR__ANSWER;
}

/* What to do with the body of a request that already has its answer. */
static enum weir__next after_refusal(struct weir__cell *cell)
{
        uint64_t left = cell->content_length - cell->body_seen;

        if (!cell->chunked && left == 0)
                return WEIR__READ;
        if (!cell->expects_continue && (cell->chunked || left <= WEIR__SWALLOW_MAX)) {
                cell->phase = WEIR__SWALLOW;
                return WEIR__READ;
        }
        cell->answer.close = cell->linger = true;
        return WEIR__ANSWER;
}

static void too_large(struct weir__cell *cell)
{
        WEIR__COUNT(cell->loop, bodies_too_large);
        weir_fail(&cell->ctx, 413, "the body must not be larger than %llu bytes",
                  (unsigned long long)cell->place->max_body);
}

static bool has_body(const struct weir__cell *cell)
{
        return cell->content_length || cell->chunked;
}

/* What is next when the chain has walked as far as it may; a body may still be to be read. */
static enum weir__next after_walk(struct weir__cell *cell, enum weir__walk walk)
{
        bool is_in = cell->phase == WEIR__END, waited;

        if (walk == WEIR__WAITS)
                return WEIR__WAIT;
        waited = cell->waited == cell->ctx.at + 1;
        if (walk == WEIR__PASSED) {
                if (!has_body(cell))
                        return weir__exchange_end(cell);
                if (cell->content_length <= cell->place->max_body)
                        return WEIR__READ;
                too_large(cell);
        }
        verdict(cell);
        if (waited) /* it is told the end */
                cell->ctx.at++;
        return is_in ? WEIR__READ : after_refusal(cell);
}

enum weir__next weir__exchange_head(struct weir__cell *cell, struct weir_str version)
{
        enum weir_guard reason = weir__guard_head(cell, version);
        struct weir_ctx *ctx = &cell->ctx;

        WEIR__COUNT(cell->loop, requests);
        WEIR__COUNT(cell->loop, requests_in_flight);
        cell->phase = WEIR__HEAD;
        if (reason)
                return guard_refusal(cell, reason);
        weir__forwarded(cell);
        weir__route(cell);
        ctx->pattern = cell->place->pattern;
        ctx->route_id = cell->place->id;
        bind(cell, &cell->place->plan);
        if (has_body(cell) || cell->plan->on_body)
                return after_walk(cell, weir__chain_run(cell, cell->plan->n_at_headers));
        if (weir__chain_run(cell, cell->plan->n_links) == WEIR__WAITS) /* the request is in */
                return WEIR__WAIT;
        verdict(cell);
        return WEIR__READ;
}

/* The body turned out too large, or there is no memory for it: answered, the rest is dropped. */
static enum weir__next refuse_body(struct weir__cell *cell, size_t size)
{
        verdict(cell);
        cell->phase = WEIR__SWALLOW;
        weir__buf_release(&cell->loop->pool, &cell->body);
        cell->swallowed = size;
        if (cell->chunked || cell->content_length - cell->body_seen <= WEIR__SWALLOW_MAX)
                return WEIR__READ;
        cell->answer.close = cell->linger = true;
        return WEIR__CUT;
}

static enum weir__next at_end(struct weir__cell *cell)
{
        const struct weir__plan *plan = cell->plan;

        if (plan->streams)
                weir__chain_no_answer(cell, &plan->links[plan->n_links - 1], WEIR_NEXT);
        else if (weir__chain_run(cell, plan->n_links) == WEIR__WAITS)
                return WEIR__WAIT;
        verdict(cell);
        return WEIR__READ;
}

/* What is next when a piece has gone through the hooks. */
static enum weir__next after_piece(struct weir__cell *cell, enum weir__walk walk)
{
        const struct weir__upload piece = cell->upload;

        if (walk == WEIR__WAITS)
                return WEIR__WAIT;
        weir__upload_end(cell);
        if (walk == WEIR__PASSED)
                return piece.last ? at_end(cell) : WEIR__READ;
        if (!piece.last)
                return refuse_body(cell, piece.piece.len);
        verdict(cell);
        return WEIR__READ;
}

/* Adds to the body; where the route streams, in place of the piece before. */
static bool keep(struct weir__cell *cell, const char *data, size_t size)
{
        struct weir__buf *body = &cell->body;

        if (cell->plan->streams)
                body->len = 0;
        if (!weir__buf_reserve(&cell->loop->pool, body, size))
                return false;
        memcpy(body->ptr + body->len, data, size);
        body->len += size;
        return true;
}

/* The hooks may have a piece for longer than the transport does: then they get the copy. */
static enum weir__next take_piece(struct weir__cell *cell, struct weir_str piece)
{
        const struct weir__plan *plan = cell->plan;

        if (!plan->streams || plan->holds) {
                if (!keep(cell, piece.ptr, piece.len)) {
                        WEIR__COUNT(cell->loop, out_of_memory);
                        weir__answer_fixed(&cell->ctx, WEIR__STATIC_503);
                        return refuse_body(cell, piece.len);
                }
                piece.ptr = cell->body.ptr + cell->body.len - piece.len;
        }
        if (!plan->on_body)
                return WEIR__READ;
        return after_piece(cell, weir__upload_run(cell, piece, false));
}

enum weir__next weir__exchange_body(struct weir__cell *cell, const char *data, size_t size)
{
        cell->body_seen += size;
        if (cell->phase == WEIR__SWALLOW) {
                cell->swallowed += size;
                if (cell->swallowed <= WEIR__SWALLOW_MAX)
                        return WEIR__READ;
                cell->answer.close = cell->linger = true;
                return WEIR__CUT;
        }
        cell->phase = WEIR__BODY;
        if (cell->body_seen > cell->place->max_body) {
                too_large(cell);
                return refuse_body(cell, size);
        }
        return take_piece(cell, (struct weir_str){ data, size });
}

enum weir__next weir__exchange_end(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        if (weir__is_answered(cell))
                return WEIR__READ;
        cell->phase = WEIR__END;
        if (!cell->plan->streams)
                ctx->body = (struct weir_str){ cell->body.ptr, cell->body.len };
        if (cell->plan->on_body)
                return after_piece(cell, weir__upload_run(cell, WEIR_STR(""), true));
        return at_end(cell);
}

void weir__exchange_too_slow(struct weir__cell *cell)
{
        if (weir__is_answered(cell))
                return;
        weir_fail(&cell->ctx, 408, "the body comes in too slowly");
        cell->answer.close = true;
        verdict(cell);
}

/* ---- Waits that end. ---- */

/* How far the chain may go. */
static unsigned reach(const struct weir__cell *cell)
{
        bool at_headers = cell->phase == WEIR__HEAD && (has_body(cell) || cell->plan->on_body);

        return at_headers ? cell->plan->n_at_headers : cell->plan->n_links;
}

enum weir__next weir__exchange_resume(struct weir__cell *cell, enum weir_flow flow)
{
        if (cell->upload.hook)
                return after_piece(cell, weir__upload_resume(cell, flow));
        return after_walk(cell, weir__chain_resume(cell, flow, reach(cell)));
}

enum weir__next weir__exchange_again(struct weir__cell *cell)
{
        if (cell->upload.hook)
                return after_piece(cell, weir__upload_again(cell));
        return after_walk(cell, weir__chain_run(cell, reach(cell)));
}

/* weir answers in place of the link that waited. */
static enum weir__next end_wait(struct weir__cell *cell, enum weir_outcome outcome)
{
        cell->ctx.outcome = (uint8_t)outcome;
        if (cell->upload.hook)
                return after_piece(cell, WEIR__ANSWERS);
        return after_walk(cell, WEIR__ANSWERS);
}

enum weir__next weir__exchange_expire(struct weir__cell *cell)
{
        WEIR__COUNT(cell->loop, deadlines_missed);
        weir_fail(&cell->ctx, 504, "the answer took too long");
        return end_wait(cell, WEIR_TIMEOUT);
}

enum weir__next weir__exchange_stop(struct weir__cell *cell)
{
        bool in_body = cell->phase == WEIR__BODY;
        enum weir__next next;

        cell->answer.close = true;
        weir_fail(&cell->ctx, 503, "the server is stopping");
        next = end_wait(cell, WEIR_SHUTDOWN);
        if (cell->phase != WEIR__SWALLOW)
                return next;
        cell->phase = WEIR__ANSWERED; /* there is no time to read the rest */
        cell->linger = true;
        return in_body ? WEIR__CUT : WEIR__ANSWER;
}

/* For a request that never had its verdict. Nothing that hooks answer now goes out. */
static WEIR__COLD void late_verdict(struct weir__cell *cell, enum weir__end end)
{
        struct weir_ctx *ctx = &cell->ctx;
        int status = end == WEIR__REFUSED ? cell->transport_status : end == WEIR__GONE ? 499 : 503;
        enum weir_outcome outcome;

        if (cell->upload.hook)
                weir__upload_end(cell);
        ctx->flags &= (uint8_t)~WEIR__OVERFLOW;
        weir_status(ctx, status);
        if (end != WEIR__REFUSED)
                ctx->outcome = end == WEIR__GONE ? WEIR_ABORT : WEIR_SHUTDOWN;
        outcome = ctx->outcome;
        verdict(cell);
        ctx->status = (uint16_t)status;
        ctx->outcome = (uint8_t)outcome;
}

enum weir__next weir__exchange_left(struct weir__cell *cell)
{
        bool in_piece = cell->upload.hook;

        late_verdict(cell, WEIR__GONE);
        if (!in_piece)
                cell->ctx.at++; /* the link that waited is told the end */
        cell->phase = WEIR__LEFT;
        return WEIR__READ;
}

/* Of an answer that did not go out whole. */
static enum weir_outcome outcome_of(enum weir__end end)
{
        return end == WEIR__GONE ? WEIR_ABORT : end == WEIR__EXPIRED ? WEIR_TIMEOUT : WEIR_SHUTDOWN;
}

void weir__exchange_done(struct weir__cell *cell, uint64_t bytes, enum weir__end end)
{
        struct weir_ctx *ctx = &cell->ctx;
        struct weir__loop *loop = cell->loop;

        if (end == WEIR__GONE || end == WEIR__STOPPED)
                WEIR__COUNT(loop, aborted);
        if (cell->plan) {
                if (!weir__is_answered(cell))
                        late_verdict(cell, end);
                else if (end != WEIR__SENT)
                        ctx->outcome = (uint8_t)outcome_of(end);
                ctx->bytes = bytes;
                weir__chain_done(cell);
                if (loop->app->options.dev_log)
                        weir__log_request(cell);
                weir__count_by(&loop->counters, WEIR__STAT(requests_in_flight), (uint64_t)-1);
        }
        weir__cell_put(cell);
}
