/*
 * ctx.c - cells and their memory.
 *
 * A loop keeps the cells it made in a list until it ends. The arena is a bump allocator between
 * ctx.brk and ctx.end; nothing in it is freed before the request is over, and nothing falls back to
 * malloc: full is full.
 */
#include "cell.h"
#include "hint.h"
#include "job.h"

#include <stdlib.h>

_Static_assert(offsetof(struct weir_ctx, target) == 64, "line 1");
_Static_assert(offsetof(struct weir_ctx, param) == 192, "line 3");
_Static_assert(offsetof(struct weir_ctx, slot) == 448, "line 7");
_Static_assert(offsetof(struct weir_ctx, pattern) == 576, "line 9");
_Static_assert(sizeof(struct weir_ctx) == 640, "whole lines");

static size_t arena_of(const struct weir__app *app)
{
        return (app->options.arena + 63) & ~(size_t)63;
}

/* Of an app whose requests wait: their tickets name cells, which so outlive their loops. */
static struct weir__cell *take_retired(struct weir__app *app)
{
        struct weir__cell *cell;

        if (!app->tree->waits)
                return NULL;
        pthread_mutex_lock(&app->lock);
        cell = app->retired;
        if (cell)
                app->retired = cell->next;
        pthread_mutex_unlock(&app->lock);
        return cell;
}

static struct weir__cell *allocate(struct weir__app *app)
{
        size_t arena = arena_of(app);
        size_t index = app->options.max_headers * sizeof(struct weir__header);
        size_t size = (sizeof(struct weir__cell) + arena + index + 63) & ~(size_t)63;
        struct weir__cell *cell = aligned_alloc(64, size);

        if (!cell)
                return NULL;
        memset(cell, 0, sizeof(*cell));
        cell->app = app;
        cell->header = (struct weir__header *)((char *)(cell + 1) + arena);
        cell->header_end = cell->header + app->options.max_headers;
        cell->ctx.end = (char *)cell->header;
        return cell;
}

static struct weir__cell *make(struct weir__loop *loop)
{
        struct weir__cell *cell = take_retired(loop->app);

        if (!cell)
                cell = allocate(loop->app);
        if (!cell)
                return NULL;
        cell->loop = loop;
        cell->ctx.local = loop->local;
        cell->ctx.loop = loop->number;
        return cell;
}

/*
 * For sizes that the compiler knows: in steps that it makes plain stores, not a string operation.
 */
static WEIR__INLINE void zero(void *at, size_t size)
{
        size_t i = 0;

        for (; i + 64 <= size; i += 64)
                memset((char *)at + i, 0, 64);
        memset((char *)at + i, 0, size - i);
}

static WEIR__INLINE struct weir__cell *clean(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        zero(&cell->place,
             offsetof(struct weir__cell, path_shadow) - offsetof(struct weir__cell, place));
        cell->path.text = NULL;
        cell->answer.type = (struct weir_str){ 0 };
        cell->answer.n_fields = 0;
        ctx->links = NULL;
        ctx->at = ctx->status = 0;
        ctx->outcome = ctx->n_params = ctx->flags = 0;
        ctx->own = NULL;
        ctx->verdict_ns = ctx->deadline_ns = ctx->bytes = 0;
        ctx->brk = (char *)(cell + 1);
        ctx->body = ctx->query = ctx->host = (struct weir_str){ 0 };
        zero(ctx->slot, sizeof(ctx->slot));
        ctx->pattern = "";
        ctx->route_id = UINT32_MAX;
        return cell;
}

static WEIR__APART struct weir__cell *get_new(struct weir__loop *loop)
{
        struct weir__cell *cell = make(loop);

        return cell ? clean(cell) : NULL;
}

struct weir__cell *weir__cell_get(struct weir__loop *loop)
{
        struct weir__cell *cell = loop->free_cells;

        if (!cell)
                return get_new(loop);
        loop->free_cells = cell->next;
        return clean(cell);
}

void weir__cell_target(struct weir__cell *cell, struct weir_str target)
{
        struct weir_ctx *ctx = &cell->ctx;
        const char *mark = target.len ? memchr(target.ptr, '?', target.len) : NULL;
        const char *end = target.ptr + target.len;

        ctx->target = target;
        ctx->path = (struct weir_str){ target.ptr, (size_t)((mark ? mark : end) - target.ptr) };
        if (mark)
                ctx->query = (struct weir_str){ mark + 1, (size_t)(end - mark - 1) };
}

static void run_deferred(struct weir__cell *cell)
{
        while (cell->defers) {
                struct weir__defer *defer = cell->defers;

                cell->defers = defer->next;
                defer->fn(defer->arg);
        }
}

static WEIR__INLINE void put(struct weir__cell *cell)
{
        cell->answer.body.kind = WEIR__EMPTY;
        cell->next = cell->loop->free_cells;
        cell->loop->free_cells = cell;
}

/* Gives back what the request held, then the cell. */
static WEIR__APART void put_with_all(struct weir__cell *cell)
{
        struct weir__pool *pool = &cell->loop->pool;

        if (cell->job && !cell->job->work.done) {
                cell->over = true; /* the hook that still runs may use what is in here */
                return;
        }
        run_deferred(cell);
        while (cell->answer.body.kind != WEIR__EMPTY) { /* a free_fn may defer, or answer again */
                weir__body_drop(cell, &cell->answer.body);
                run_deferred(cell);
        }
        weir__buf_release(pool, &cell->body);
        weir__buf_release(pool, &cell->path_shadow);
        weir__buf_release(pool, &cell->query.shadow);
        weir__buf_release(pool, &cell->form.shadow);
        weir__buf_release(pool, &cell->work.text);
        if (cell->job)
                weir__job_put(cell->job);
        put(cell);
}

void weir__cell_put(struct weir__cell *cell)
{
        enum weir__body_kind kind = cell->answer.body.kind;

        if (cell->job || cell->defers || cell->body.ptr || cell->path_shadow.ptr ||
            cell->query.shadow.ptr || cell->form.shadow.ptr ||
            (kind != WEIR__EMPTY && kind != WEIR__FIXED))
                put_with_all(cell);
        else
                put(cell);
}

void weir__loop_init(struct weir__loop *loop, struct weir__app *app, uint32_t number,
                     const struct weir__transport *transport)
{
        *loop = (struct weir__loop){
                .app = app,
                .tree = app->tree,
                .transport = transport,
                .clock = app->clock,
                .number = number,
        };
        weir__pool_init(&loop->pool, (size_t)app->options.pool_memory);
        loop->pool.from_heap = &loop->counters.at[WEIR__STAT(buffers_heap)];
}

static void retire(struct weir__app *app, struct weir__cell *cell)
{
        pthread_mutex_lock(&app->lock);
        cell->next = app->retired;
        app->retired = cell;
        pthread_mutex_unlock(&app->lock);
}

void weir__loop_finish(struct weir__loop *loop)
{
        while (loop->free_cells) {
                struct weir__cell *cell = loop->free_cells;

                loop->free_cells = cell->next;
                if (loop->tree->waits)
                        retire(loop->app, cell);
                else
                        free(cell);
        }
        weir__pool_finish(&loop->pool);
}

void weir__cells_free(struct weir__app *app)
{
        while (app->retired) {
                struct weir__cell *cell = app->retired;

                app->retired = cell->next;
                free(cell);
        }
}

void *weir_alloc(struct weir_ctx *ctx, size_t size)
{
        char *at = ctx->brk + (-(uintptr_t)ctx->brk & 15);

        if (at > ctx->end || size > (size_t)(ctx->end - at))
                return NULL;
        ctx->brk = at + size;
        return at;
}

char *weir_cstr(struct weir_ctx *ctx, struct weir_str s)
{
        char *copy = ctx->brk;

        if (s.len >= (size_t)(ctx->end - ctx->brk))
                return NULL;
        if (s.len)
                memcpy(copy, s.ptr, s.len);
        copy[s.len] = '\0';
        ctx->brk += s.len + 1;
        return copy;
}

bool weir_defer(struct weir_ctx *ctx, void (*fn)(void *arg), void *arg)
{
        struct weir__cell *cell = weir__cell_of(ctx);
        struct weir__defer *defer = weir_alloc(ctx, sizeof(*defer));

        if (!defer) {
                fn(arg);
                return false;
        }
        *defer = (struct weir__defer){ cell->defers, fn, arg };
        cell->defers = defer;
        return true;
}

struct weir *weir_app(const struct weir_ctx *ctx)
{
        return &weir__cell_of(ctx)->loop->app->root;
}
