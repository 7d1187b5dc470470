/* wait.c - suspending, claiming and resuming requests. */
#include "wait.h"
#include "exchange.h"
#include "hint.h"
#include "job.h"
#include "stream.h"

enum {
        HERE,
        WAITING,
        CLAIMED,
        BACK,
        STATES,
};

static bool change(struct weir__cell *cell, uint64_t turn, uint64_t from, uint64_t to)
{
        uint64_t word = turn * STATES + from;

        return atomic_compare_exchange_strong_explicit(&cell->wait.word, &word, turn * STATES + to,
                                                       memory_order_acq_rel, memory_order_relaxed);
}

/* ---- Into the wait: on the loop. ---- */

static void list(struct weir__loop *loop, struct weir__cell *cell)
{
        cell->wait.listed = true;
        cell->wait.prev = NULL;
        cell->wait.next = loop->waiting;
        if (loop->waiting)
                loop->waiting->wait.prev = cell;
        loop->waiting = cell;
}

void weir__wait_unlist(struct weir__cell *cell)
{
        *(cell->wait.prev ? &cell->wait.prev->wait.next : &cell->loop->waiting) = cell->wait.next;
        if (cell->wait.next)
                cell->wait.next->wait.prev = cell->wait.prev;
        cell->wait.listed = false;
}

/* A stream stays in the list: it will wait again, and its neighbours are far away in memory. */
static void end_wait(struct weir__loop *loop, struct weir__cell *cell)
{
        weir__due_cancel(&loop->dues, &cell->wait.due);
        weir__count_by(&loop->counters, WEIR__STAT(requests_waiting), (uint64_t)-1);
        cell->waits = false;
        if (!cell->streams)
                weir__wait_unlist(cell);
}

/* A stream may have an idle time instead. */
static uint64_t deadline_of(const struct weir__cell *cell)
{
        if (cell->streams && cell->idle_ns)
                return weir__ns_after(cell->moved_ns, cell->idle_ns);
        return cell->ctx.deadline_ns ? cell->ctx.deadline_ns : UINT64_MAX;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

struct weir_ticket weir__wait_begin(struct weir__cell *cell, uint64_t until_ns)
{
        struct weir__loop *loop = cell->loop;
        uint64_t turn = atomic_load_explicit(&cell->wait.word, memory_order_relaxed) / STATES + 1;
        uint64_t due = earlier(until_ns, deadline_of(cell));

        cell->waits = true;
        cell->wait.until_ns = until_ns;
        cell->wait.idle_ns = cell->streams ? cell->idle_ns : 0;
        WEIR__COUNT(loop, requests_waiting);
        if (!cell->wait.listed)
                list(loop, cell);
        if (due != UINT64_MAX)
                weir__due_set(&loop->dues, &cell->wait.due, due);
        atomic_store_explicit(&cell->wait.word, turn * STATES + WAITING, memory_order_release);
        return (struct weir_ticket){ cell, turn };
}

/* Its claimer may change its idle time meanwhile, for the next wait. */
void weir__wait_moved(struct weir__cell *cell)
{
        cell->moved_ns = weir__now(&cell->loop->clock);
        if (cell->waits && cell->wait.idle_ns)
                weir__due_set(&cell->loop->dues, &cell->wait.due,
                              earlier(cell->wait.until_ns,
                                      weir__ns_after(cell->moved_ns, cell->wait.idle_ns)));
}

void weir__wait_look(struct weir__cell *cell, uint64_t at_ns)
{
        cell->wait.until_ns = at_ns;
        weir__due_set(&cell->loop->dues, &cell->wait.due, earlier(at_ns, deadline_of(cell)));
}

/* The stream of a handler that blocked may know its request by the job's ctx. */
static struct weir__cell *request_of(struct weir_ctx *ctx)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        return !cell->away && cell->work.of ? cell->work.of : cell;
}

/*
 * Without leave to wait nothing happens: the hook returns WEIR_WAIT, which is answered 500. Only an
 * on_request hook and the pull function of a stream have it, once in a call: not on_error, which
 * the former may cause, nor a claimer. Nothing may fail once the ticket is out.
 */
static struct weir_ticket suspend(struct weir_ctx *ctx, uint64_t at_ns)
{
        struct weir__cell *cell = request_of(ctx);

        if (cell->waits) /* by now others may change what comes below */
                return (struct weir_ticket){ 0 };
        if (cell->away || !cell->may_wait)
                return (struct weir_ticket){ 0 };
        if (weir__is_stream(cell) ? !weir__stream_waits(cell) : cell->ctx.flags & WEIR__FAILING)
                return (struct weir_ticket){ 0 };
        return weir__wait_begin(cell, at_ns);
}

struct weir_ticket weir_suspend(struct weir_ctx *ctx)
{
        return suspend(ctx, UINT64_MAX);
}

struct weir_ticket weir_suspend_until(struct weir_ctx *ctx, uint64_t at_ns)
{
        return suspend(ctx, at_ns);
}

enum weir_flow weir_wait_until(struct weir_ctx *ctx, uint64_t at_ns)
{
        (void)suspend(ctx, at_ns);
        return WEIR_WAIT;
}

/* The hook suspended its request and then did not wait: 500, unless somebody has it already. */
static WEIR__COLD enum weir_flow end_misuse(struct weir__cell *cell, enum weir_flow flow)
{
        const struct weir__link *link = &cell->ctx.links[cell->ctx.at];
        bool ours = weir__wait_take(cell);

        weir_log(weir_app(&cell->ctx), WEIR_LOG_ERROR,
                 "%s %.*s: %s suspended the request and returned %s, not WEIR_WAIT",
                 cell->ctx.pattern, WEIR_FMT(cell->ctx.method_name), weir__link_name(link),
                 flow == WEIR_NEXT ? "WEIR_NEXT" : "WEIR_DONE");
        if (!ours)
                return WEIR_WAIT;
        WEIR__COUNT(cell->loop, bad_answers);
        return weir__answer_fixed(&cell->ctx, WEIR__STATIC_500);
}

enum weir_flow weir__wait_after(struct weir__cell *cell, enum weir_flow flow)
{
        cell->may_wait = false;
        return cell->waits && flow != WEIR_WAIT ? end_misuse(cell, flow) : flow;
}

enum weir_flow weir__wait_call(struct weir_ctx *ctx, void *self)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        cell->may_wait = true;
        return weir__wait_after(cell, ctx->links[ctx->at].inner(ctx, self));
}

/* ---- Out of it: on any thread. ---- */

/* The app is freed only when nobody holds a request of it; its cells are there until then. */
struct weir_ctx *weir_claim(struct weir_ticket ticket)
{
        struct weir__cell *cell = ticket.request;

        if (!cell)
                return NULL;
        atomic_fetch_add(&cell->app->claims, 1);
        if (!change(cell, ticket.turn, WAITING, CLAIMED)) {
                atomic_fetch_sub(&cell->app->claims, 1);
                return NULL;
        }
        cell->away = true;
        return &cell->ctx;
}

void weir__wait_push(struct weir__cell *cell)
{
        struct weir__loop *loop = cell->loop;
        struct weir__cell *first = atomic_load_explicit(&loop->resumed, memory_order_relaxed);
        struct weir__app *app = cell->app;

        atomic_fetch_add(&app->waking, 1);
        do {
                cell->wait.next_resumed = first;
        } while (!atomic_compare_exchange_weak_explicit(
                &loop->resumed, &first, cell, memory_order_release, memory_order_relaxed));
        loop->wake(loop);
        atomic_fetch_sub(&app->waking, 1);
}

void weir_resume(struct weir_ctx *ctx, enum weir_flow flow)
{
        struct weir__cell *cell = weir__cell_of(ctx);
        struct weir__app *app = cell->app;
        uint64_t turn = atomic_load_explicit(&cell->wait.word, memory_order_relaxed) / STATES;

        if (!change(cell, turn, CLAIMED, BACK)) {
                weir_log(&app->root, WEIR_LOG_ERROR,
                         "weir_resume() of a request that is not claimed");
                return;
        }
        cell->wait.flow = flow;
        weir__wait_push(cell);
        atomic_fetch_sub(&app->claims, 1);
}

bool weir__wait_is_on(struct weir_ticket ticket)
{
        const struct weir__cell *cell = ticket.request;

        return atomic_load_explicit(&cell->wait.word, memory_order_relaxed) ==
               ticket.turn * STATES + WAITING;
}

/* ---- Out of it: on the loop. ---- */

bool weir__wait_take(struct weir__cell *cell)
{
        uint64_t turn = atomic_load_explicit(&cell->wait.word, memory_order_relaxed) / STATES;

        if (!change(cell, turn, WAITING, HERE))
                return false;
        end_wait(cell->loop, cell);
        return true;
}

static void take_back(struct weir__cell *cell)
{
        uint64_t turn = atomic_load_explicit(&cell->wait.word, memory_order_relaxed) / STATES;

        atomic_store_explicit(&cell->wait.word, turn * STATES + HERE, memory_order_relaxed);
        cell->away = false;
        end_wait(cell->loop, cell);
}

static void go_on(struct weir__cell *cell, enum weir__next next)
{
        if (next != WEIR__WAIT)
                cell->loop->woke(cell, next);
}

/* In the order in which they came: the stack has the last one first. */
static struct weir__cell *take_resumed(struct weir__loop *loop)
{
        struct weir__cell *stack = atomic_exchange_explicit(&loop->resumed, NULL,
                                                            memory_order_acquire);
        struct weir__cell *queue = NULL;

        while (stack) {
                struct weir__cell *next = stack->wait.next_resumed;

                stack->wait.next_resumed = queue;
                queue = stack;
                stack = next;
        }
        return queue;
}

static void end_resumed(struct weir__loop *loop)
{
        struct weir__cell *cell = take_resumed(loop), *next;

        for (; cell; cell = next) {
                next = cell->wait.next_resumed;
                if (cell->work.of) {
                        weir__job_end(cell);
                        continue;
                }
                take_back(cell);
                if (cell->job && !cell->job->work.done)
                        weir__job_back(cell);
                if (weir__is_stream(cell))
                        weir__stream_back(cell);
                else if (cell->left)
                        go_on(cell, weir__exchange_left(cell));
                else
                        go_on(cell, weir__exchange_resume(cell, cell->wait.flow));
        }
}

static struct weir__cell *cell_of_due(struct weir__due *due)
{
        return (struct weir__cell *)(void *)((char *)due - offsetof(struct weir__cell, wait.due));
}

/*
 * In order of time, but for those that are claimed: they come back. A stream may have a moment
 * without a wait (weir__wait_look()).
 */
static struct weir__cell *take_due(struct weir__loop *loop, uint64_t now)
{
        struct weir__cell *first = NULL, **end = &first;

        while (loop->dues.first && loop->dues.first->at_ns <= now) {
                struct weir__cell *cell = cell_of_due(loop->dues.first);

                weir__due_cancel(&loop->dues, &cell->wait.due);
                if (cell->waits && !weir__wait_take(cell))
                        continue;
                *end = cell;
                end = &cell->wait.next_resumed;
        }
        *end = NULL;
        return first;
}

/* What waits again for a moment that has passed is for the next turn: others want theirs. */
void weir__wait_turn(struct weir__loop *loop)
{
        struct weir__cell *cell, *next;

        end_resumed(loop);
        if (!loop->dues.first)
                return;
        for (cell = take_due(loop, weir__now(&loop->clock)); cell; cell = next) {
                bool late = cell->wait.until_ns >= deadline_of(cell);

                next = cell->wait.next_resumed;
                if (weir__is_stream(cell))
                        cell->loop->flows(cell, late ? WEIR__FLOWS_LATE : WEIR__FLOWS_ON);
                else
                        go_on(cell,
                              late ? weir__exchange_expire(cell) : weir__exchange_again(cell));
        }
}

void weir__wait_left(struct weir__cell *cell)
{
        if (!weir__wait_take(cell))
                cell->left = true;
        else if (weir__is_stream(cell))
                cell->loop->flows(cell, WEIR__FLOWS_LEFT);
        else
                go_on(cell, weir__exchange_left(cell));
}

void weir__wait_stop(struct weir__loop *loop)
{
        struct weir__cell *next;

        for (struct weir__cell *cell = loop->waiting; cell; cell = next) {
                next = cell->wait.next;
                if (!weir__wait_take(cell))
                        continue;
                if (weir__is_stream(cell))
                        loop->flows(cell, WEIR__FLOWS_STOPPED);
                else
                        go_on(cell, weir__exchange_stop(cell));
        }
}

void weir__wait_drain(struct weir__loop *loop)
{
        struct weir__cell *next;

        for (struct weir__cell *cell = loop->waiting; cell; cell = next) {
                next = cell->wait.next;
                if (weir__is_stream(cell) && weir__wait_take(cell))
                        loop->flows(cell, WEIR__FLOWS_ON);
        }
}

unsigned weir__wait_lost(struct weir__loop *loop)
{
        unsigned n = 0;

        end_resumed(loop);
        weir__wait_stop(loop);
        for (const struct weir__cell *cell = loop->waiting; cell; cell = cell->wait.next) {
                const struct weir__link *link = &cell->ctx.links[cell->ctx.at];

                if (!cell->waits)
                        continue;
                weir_log(&loop->app->root, WEIR_LOG_ERROR,
                         "%s %.*s: claimed by %s, never resumed: its memory stays",
                         cell->ctx.pattern, WEIR_FMT(cell->ctx.method_name), weir__link_name(link));
                n++;
        }
        return n;
}

/* ---- Deadlines. ---- */

uint64_t weir_now(const struct weir_ctx *ctx)
{
        return weir__now(&weir__cell_of(ctx)->loop->clock);
}

void weir_deadline(struct weir_ctx *ctx, uint64_t at_ns)
{
        if (!at_ns)
                at_ns = 1; /* 0 is none */
        if (!ctx->deadline_ns || at_ns < ctx->deadline_ns)
                ctx->deadline_ns = at_ns;
}

void weir_idle_timeout(struct weir_ctx *ctx, uint64_t ns)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        if (!ns)
                ns = 1; /* 0 is none */
        if (!cell->idle_ns || ns < cell->idle_ns)
                cell->idle_ns = ns;
}

bool weir_stopping(const struct weir_ctx *ctx)
{
        return weir__is_draining(weir__cell_of(ctx)->loop);
}

uint64_t weir_remaining_ns(const struct weir_ctx *ctx)
{
        uint64_t now;

        if (!ctx->deadline_ns)
                return WEIR_NO_DEADLINE;
        now = weir_now(ctx);
        return now < ctx->deadline_ns ? ctx->deadline_ns - now : 0;
}
