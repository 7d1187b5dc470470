/* job.c - the life of a job: see job.h. */
#include "job.h"
#include "crew.h"
#include "views.h"
#include "wait.h"

#include <weir/wait.h>

void weir__job_put(struct weir__cell *job)
{
        weir__buf_release(&job->loop->pool, &job->work.text);
        job->work.of = NULL;
        weir__cell_put(job);
}

/* ---- A copy of the request: on the loop. ---- */

static void copy_answer(struct weir__cell *job, const struct weir__cell *cell)
{
        job->answer.n_fields = cell->answer.n_fields;
        memcpy(job->answer.field, cell->answer.field,
               cell->answer.n_fields * sizeof(cell->answer.field[0]));
        job->answer.type = cell->answer.type;
        job->answer.close = cell->answer.close;
}

static void copy_ctx(struct weir__cell *job, const struct weir__cell *cell)
{
        struct weir_ctx *ctx = &job->ctx;
        char *end = ctx->end;
        size_t words = cell->plan->n_links * sizeof(uint64_t);

        *ctx = cell->ctx;
        ctx->own = (uint64_t *)(void *)(job + 1); /* the arena, as in exchange.c */
        memcpy(ctx->own, cell->ctx.own, words);
        ctx->brk = (char *)ctx->own + words;
        ctx->end = end;
}

/* The request for a hook on another thread. NULL without memory. */
static struct weir__cell *copy(struct weir__cell *cell)
{
        struct weir__cell *job = weir__cell_get(cell->loop);

        if (!job)
                return NULL;
        copy_ctx(job, cell);
        job->place = cell->place;
        job->plan = cell->plan;
        job->content_length = cell->content_length;
        job->host_header = cell->host_header;
        job->content_type = cell->content_type;
        job->miss = cell->miss;
        job->version = cell->version;
        job->chunked = cell->chunked;
        job->path = cell->path;
        job->match = cell->match;
        job->n_headers = cell->n_headers;
        memcpy(job->header, cell->header, cell->n_headers * sizeof(cell->header[0]));
        copy_answer(job, cell);
        job->idle_ns = cell->idle_ns;
        job->work = (struct weir__job){ .of = cell };
        if (weir__views_move(job))
                return job;
        weir__job_put(job);
        return NULL;
}

/* The job of an earlier piece, for the next one: what may have changed since. */
static struct weir__cell *renew(struct weir__cell *cell)
{
        struct weir__cell *job = cell->job;
        struct weir_ctx *to = &job->ctx, *from = &cell->ctx;

        cell->job = job->job;
        to->at = from->at;
        to->status = from->status;
        to->flags = from->flags;
        to->deadline_ns = from->deadline_ns;
        memcpy(to->own, from->own, cell->plan->n_links * sizeof(uint64_t));
        memcpy(to->slot, from->slot, sizeof(to->slot));
        copy_answer(job, cell);
        job->idle_ns = cell->idle_ns;
        job->work.done = false;
        return job;
}

static void send_away(struct weir__cell *job, struct weir__cell *cell)
{
        job->body = cell->body;
        cell->body = (struct weir__buf){ 0 };
        cell->ctx.body = (struct weir_str){ 0 };
        job->job = cell->job; /* an earlier one, whose answer may still be in use */
        cell->job = job;
        job->away = true;
        job->wait.next = job->loop->jobs;
        job->wait.prev = NULL;
        if (job->loop->jobs)
                job->loop->jobs->wait.prev = job;
        job->loop->jobs = job;
        atomic_fetch_add(&job->app->claims, 1); /* until weir__job_work() is through */
}

static void come_home(struct weir__cell *job)
{
        job->away = false;
        *(job->wait.prev ? &job->wait.prev->wait.next : &job->loop->jobs) = job->wait.next;
        if (job->wait.next)
                job->wait.next->wait.prev = job->wait.prev;
        job->work.done = true;
}

/* What was deferred last runs first. */
static void join_defers(struct weir__cell *cell, struct weir__cell *job)
{
        struct weir__defer **end = &job->defers;

        while (*end)
                end = &(*end)->next;
        *end = cell->defers;
        cell->defers = job->defers;
        job->defers = NULL;
}

static void take_over(struct weir__cell *cell)
{
        struct weir__cell *job = cell->job;
        struct weir_ctx *ctx = &cell->ctx;

        weir__body_drop(cell, &cell->answer.body);
        cell->answer = job->answer;
        job->answer.body.kind = WEIR__EMPTY;
        ctx->status = job->ctx.status;
        ctx->outcome = job->ctx.outcome;
        ctx->flags |= job->ctx.flags & WEIR__OVERFLOW;
        ctx->deadline_ns = job->ctx.deadline_ns;
        cell->idle_ns = job->idle_ns;
        memcpy(ctx->slot, job->ctx.slot, sizeof(ctx->slot));
        memcpy(ctx->own, job->ctx.own, cell->plan->n_links * sizeof(uint64_t));
        cell->body = job->body;
        ctx->body = job->ctx.body;
        job->body = (struct weir__buf){ 0 };
        join_defers(cell, job);
}

static enum weir_flow refuse(struct weir_ctx *ctx, const char *why)
{
        weir_set_header(ctx, "Retry-After", "1");
        return weir_refuse(ctx, 503, "%s", why);
}

static enum weir_flow no_memory(struct weir__cell *cell)
{
        WEIR__COUNT(cell->loop, out_of_memory);
        return weir__answer_fixed(&cell->ctx, WEIR__STATIC_503);
}

static enum weir_flow hand_over(struct weir__cell *cell, struct weir__cell *job)
{
        job->work.queued_ns = weir__now(&cell->loop->clock);
        job->work.ticket = weir__wait_begin(cell, UINT64_MAX);
        send_away(job, cell);
        if (weir__crew_take(cell->loop->crew, job)) {
                WEIR__COUNT(cell->loop, jobs);
                return WEIR_WAIT;
        }
        atomic_fetch_sub(&cell->app->claims, 1);
        come_home(job);
        weir__wait_take(cell);
        take_over(cell);
        WEIR__COUNT(cell->loop, jobs_refused);
        return refuse(&cell->ctx, "too much work is queued");
}

enum weir_flow weir__job_run(struct weir_ctx *ctx, void *self)
{
        struct weir__cell *cell = weir__cell_of(ctx);
        const struct weir__link *link = &ctx->links[ctx->at];
        struct weir__cell *job;

        if (!cell->loop->crew) /* in memory there is one thread */
                return link->inner(ctx, self);
        job = copy(cell);
        if (!job)
                return no_memory(cell);
        job->work.fn = link->inner;
        job->work.self = self;
        return hand_over(cell, job);
}

enum weir_flow weir__job_piece(struct weir__cell *cell)
{
        const struct weir__upload *upload = &cell->upload;
        const struct weir__body_hook *hook = upload->hook;
        struct weir__cell *job;

        if (!cell->loop->crew)
                return hook->fn(&cell->ctx, hook->self, upload->piece, upload->last);
        job = cell->job && cell->job->work.on_body ? renew(cell) : copy(cell);
        if (!job)
                return no_memory(cell);
        job->work.on_body = hook->fn;
        job->work.self = hook->self;
        job->work.piece = upload->piece;
        job->work.last = upload->last;
        return hand_over(cell, job);
}

/* ---- On a thread of the crew. ---- */

static bool is_too_late(const struct weir__cell *job)
{
        uint64_t queued_ns = weir__now(&job->loop->clock) - job->work.queued_ns;

        return queued_ns > weir__ns_of_ms(job->app->options.worker_queue_ms);
}

static enum weir_flow work(struct weir__cell *job)
{
        const struct weir__job *work = &job->work;
        struct weir_ctx *ctx = &job->ctx;

        if (is_too_late(job)) {
                WEIR__CTX_COUNT(ctx, jobs_expired);
                return refuse(ctx, "the work was queued for too long");
        }
        return work->on_body ? work->on_body(ctx, work->self, work->piece, work->last)
                             : work->fn(ctx, work->self);
}

void weir__job_work(struct weir__cell *job, void *const *local)
{
        struct weir__app *app = job->app;
        struct weir_ticket ticket = job->work.ticket;
        enum weir_flow flow = WEIR_DONE;
        struct weir_ctx *ctx;

        job->ctx.local = local;
        if (weir__wait_is_on(ticket)) /* else nobody would get its answer */
                flow = work(job);
        ctx = weir_claim(ticket);
        if (ctx)
                weir_resume(ctx, flow);
        else
                weir__wait_push(job);
        atomic_fetch_sub(&app->claims, 1);
}

/* ---- On the loop again. ---- */

void weir__job_end(struct weir__cell *job)
{
        struct weir__cell *cell = job->work.of;
        struct weir__loop *loop = job->loop;

        come_home(job);
        cell->job = job->job;
        job->job = NULL;
        weir__job_put(job);
        if (cell->over)
                weir__cell_put(cell);
        WEIR__COUNT(loop, jobs_discarded); /* who counts it sees it gone */
}

void weir__job_back(struct weir__cell *cell)
{
        come_home(cell->job);
        take_over(cell);
}

unsigned weir__jobs_lost(struct weir__loop *loop)
{
        unsigned n = 0;

        for (const struct weir__cell *job = loop->jobs; job; job = job->wait.next) {
                const struct weir__link *link = &job->ctx.links[job->ctx.at];

                weir_log(&loop->app->root, WEIR_LOG_ERROR,
                         "%s %.*s: %s has not returned: its memory stays", job->ctx.pattern,
                         WEIR_FMT(job->ctx.method_name), weir__link_name(link));
                n++;
        }
        return n;
}
