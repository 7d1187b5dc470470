/*
 * app.c - the application: its scopes, its options, its first error, its end.
 */
#include "app.h"
#include "ask.h"
#include "forwarded.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>

static char no_memory[] = "out of memory during setup";

static WEIR_PRINTF(2, 0) void keep_first(struct weir__app *app, const char *fmt, va_list args)
{
        char text[1024];

        vsnprintf(text, sizeof(text), fmt, args);
        pthread_mutex_lock(&app->lock);
        if (!app->error) {
                app->error_of_start = app->starting;
                app->error = strdup(text);
                if (!app->error)
                        app->error = no_memory;
        }
        pthread_mutex_unlock(&app->lock);
}

void weir__error(struct weir__app *app, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        keep_first(app, fmt, args);
        va_end(args);
}

void weir__forget_start_error(struct weir__app *app)
{
        pthread_mutex_lock(&app->lock);
        if (app->error_of_start && app->error) {
                if (app->error != no_memory)
                        free(app->error);
                app->error = NULL;
        }
        pthread_mutex_unlock(&app->lock);
}

void weir__start_error(struct weir__app *app, const char *fmt, ...)
{
        va_list args;

        weir__forget_start_error(app);
        app->starting = true;
        va_start(args, fmt);
        keep_first(app, fmt, args);
        va_end(args);
        app->starting = false;
}

void weir_setup_error(struct weir *scope, const char *fmt, ...)
{
        va_list args;

        if (!scope)
                return;
        va_start(args, fmt);
        keep_first(scope->app, fmt, args);
        va_end(args);
}

const char *weir_error(const struct weir *app)
{
        return app ? app->app->error : "out of memory: weir_new() returned NULL";
}

bool weir__is_open(struct weir *scope, const char *call)
{
        if (!scope)
                return false;
        if (scope->app->frozen) {
                weir__error(scope->app,
                            "%s came after the app was compiled: set it up before "
                            "weir_start(), weir_dump() and weir_ask()",
                            call);
                weir_log(scope, WEIR_LOG_ERROR, "%s came too late and is lost", call);
        }
        return !scope->app->frozen;
}

void *weir__keep(struct weir *scope, void *memory)
{
        if (!memory)
                weir__error(scope->app, "%s", no_memory);
        return memory;
}

char *weir__concat(const char *a, const char *b)
{
        size_t len = strlen(a), size = strlen(b) + 1;
        char *both = malloc(len + size);

        if (both) {
                memcpy(both, a, len);
                memcpy(both + len, b, size);
        }
        return both;
}

/* ---- The app itself. ---- */

static void set_defaults(struct weir_options *options)
{
        if (!options->arena)
                options->arena = 4096;
        if (!options->connection_memory)
                options->connection_memory = 16384;
        if (!options->max_headers)
                options->max_headers = 100;
        if (!options->max_connections_per_client)
                options->max_connections_per_client = WEIR_INF;
        if (!options->max_header_bytes)
                options->max_header_bytes = WEIR_INF; /* connection_memory bounds it */
        if (!options->pool_memory)
                options->pool_memory = 16 << 20;
        if (!options->idle_timeout_ms)
                options->idle_timeout_ms = 75000;
        if (!options->header_timeout_ms)
                options->header_timeout_ms = 10000;
        if (!options->body_timeout_ms)
                options->body_timeout_ms = WEIR_INF;
        if (!options->write_timeout_ms)
                options->write_timeout_ms = WEIR_INF;
        if (!options->min_body_rate)
                options->min_body_rate = 256;
        if (!options->min_write_rate)
                options->min_write_rate = 256;
        if (!options->rate_window_ms)
                options->rate_window_ms = 10000;
        if (!options->max_requests)
                options->max_requests = WEIR_INF;
        if (!options->max_age_ms)
                options->max_age_ms = WEIR_INF;
        if (!options->workers)
                options->workers = 8;
        if (!options->worker_queue)
                options->worker_queue = 128;
        if (!options->worker_queue_ms)
                options->worker_queue_ms = 2000;
        if (!options->drain_timeout_ms)
                options->drain_timeout_ms = 20000;
        if (options->pool_memory == WEIR_NONE)
                options->pool_memory = 0;
        if (options->drain_timeout_ms == WEIR_NONE)
                options->drain_timeout_ms = 0;
}

/* Limits on time and requests, where WEIR_INF is none; rates, where WEIR_NONE is none. */
static void check_limits(struct weir__app *app)
{
        const struct weir_options *o = &app->options;
        const struct {
                const char *name;
                int64_t     value, least;
        } limits[] = {
                { "idle_timeout_ms", o->idle_timeout_ms, 0 },
                { "header_timeout_ms", o->header_timeout_ms, 0 },
                { "body_timeout_ms", o->body_timeout_ms, 0 },
                { "write_timeout_ms", o->write_timeout_ms, 0 },
                { "min_body_rate", o->min_body_rate, WEIR_NONE },
                { "min_write_rate", o->min_write_rate, WEIR_NONE },
                { "rate_window_ms", o->rate_window_ms, 0 },
                { "max_requests", o->max_requests, 0 },
                { "max_age_ms", o->max_age_ms, 0 },
                { "worker_queue_ms", o->worker_queue_ms, 0 },
                { "max_connections_per_client", o->max_connections_per_client, 0 },
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                if (limits[i].value < limits[i].least)
                        weir__error(app, "options: %s must not be negative, but is %lld",
                                    limits[i].name, (long long)limits[i].value);
        }
        if (o->workers > 1024)
                weir__error(app, "options: workers must be at most 1024, not %u", o->workers);
}

static void check_doors(struct weir__app *app)
{
        const struct weir_options *o = &app->options;

        if ((unsigned)o->over_connections > WEIR_OVER_WAIT)
                weir__error(app,
                            "options: over_connections must be WEIR_OVER_503, "
                            "WEIR_OVER_REFUSE or WEIR_OVER_WAIT, not %d",
                            (int)o->over_connections);
        if (o->max_header_bytes < 128)
                weir__error(app, "options: max_header_bytes must be at least 128, not %lld",
                            (long long)o->max_header_bytes);
        if (o->max_header_bytes != WEIR_INF && (uint64_t)o->max_header_bytes > o->connection_memory)
                weir__error(app,
                            "options: max_header_bytes is %lld, but a head must fit into "
                            "connection_memory, %zu: raise that, or lower it",
                            (long long)o->max_header_bytes, o->connection_memory);
}

static void check_options(struct weir__app *app)
{
        const struct weir_options *options = &app->options;

        if (options->arena < 1024 || options->arena > 1 << 26)
                weir__error(app, "options: arena must be 1024 bytes to 64 MiB, not %zu",
                            options->arena);
        if (options->connection_memory < 1024 || options->connection_memory > 1 << 26)
                weir__error(app, "options: connection_memory must be 1024 bytes to 64 MiB, not %zu",
                            options->connection_memory);
        if (options->max_headers > 10000)
                weir__error(app, "options: max_headers must be at most 10000, not %u",
                            options->max_headers);
        if (options->loops > 1024)
                weir__error(app, "options: loops must be at most 1024, not %u", options->loops);
        if (options->pool_memory < 0 || options->max_connections < 0 ||
            options->drain_timeout_ms < 0 || options->drain_delay_ms < WEIR_NONE)
                weir__error(app, "options: pool_memory, max_connections, drain_delay_ms and "
                            "drain_timeout_ms must not be negative");
        if (options->scope.host)
                weir__error(app, "options: the root takes no host: use weir_group() for \"%s\"",
                            options->scope.host);
        check_limits(app);
        check_doors(app);
        weir__forwarded_setup(app);
}

static bool add_fixed(struct weir__app *app, int number, int status, const char *title)
{
        char text[160];
        int len = snprintf(text, sizeof(text),
                           "{\"type\":\"about:blank\",\"title\":\"%s\","
                           "\"status\":%d}",
                           title, status);

        app->fixed[number] = weir_static(&app->root, status, "application/problem+json",
                                         (struct weir_str){ text, (size_t)len });
        return app->fixed[number];
}

static bool add_all_fixed(struct weir__app *app)
{
        return add_fixed(app, WEIR__STATIC_404, 404, "Not Found") &&
               add_fixed(app, WEIR__STATIC_GUARD_400, 400, "Bad Request") &&
               add_fixed(app, WEIR__STATIC_GUARD_431, 431, "Request Header Fields Too Large") &&
               add_fixed(app, WEIR__STATIC_GUARD_501, 501, "Not Implemented") &&
               add_fixed(app, WEIR__STATIC_GUARD_505, 505, "HTTP Version Not Supported") &&
               add_fixed(app, WEIR__STATIC_500, 500, "Internal Server Error") &&
               add_fixed(app, WEIR__STATIC_503, 503, "Service Unavailable");
}

struct weir *weir_new(const struct weir_options *options)
{
        struct weir__app *app = calloc(1, sizeof(*app));

        if (!app)
                return NULL;
        if (options)
                app->options = *options;
        set_defaults(&app->options);
        pthread_mutex_init(&app->lock, NULL);
        weir__pool_init(&app->heap, 0);
        app->heap.from_heap = &app->elsewhere.at[WEIR__STAT(buffers_heap)];
        app->root.app = app;
        app->root.last_use = &app->root.uses;
        app->root.options = app->options.scope;
        app->last_scope = &app->root;
        app->last_route = &app->routes;
        app->last_listen = &app->listens;
        app->last_static = &app->statics;
        app->n_scopes = 1;
        app->clock = weir__system_clock;
        app->machine_root = "";
        app->name = strdup(app->options.name ? app->options.name : "weir");
        app->root.prefix = strdup("");
        if (!app->name || !app->root.prefix || !add_all_fixed(app)) {
                weir_free(&app->root);
                return NULL;
        }
        check_options(app);
        return &app->root;
}

struct weir *weir_group(struct weir *parent, const char *prefix,
                        const struct weir_scope_options *options)
{
        struct weir *scope;

        if (!weir__is_open(parent, "weir_group()"))
                return NULL;
        if (!prefix)
                prefix = "";
        if (*prefix && (*prefix != '/' || prefix[strlen(prefix) - 1] == '/')) {
                weir__error(parent->app,
                            "weir_group(): the prefix \"%s\" must start with '/' and "
                            "not end with it, or be empty",
                            prefix);
                return NULL;
        }
        scope = weir__keep(parent, calloc(1, sizeof(*scope)));
        if (!scope)
                return NULL;
        if (options)
                scope->options = *options;
        scope->parent = parent;
        scope->app = parent->app;
        scope->last_use = &scope->uses;
        scope->prefix = weir__keep(parent, weir__concat(parent->prefix, prefix));
        if (scope->options.host || parent->host)
                scope->host = weir__keep(
                        parent, strdup(scope->options.host ? scope->options.host : parent->host));
        if (!scope->prefix || ((scope->options.host || parent->host) && !scope->host)) {
                free(scope->prefix);
                free(scope->host);
                free(scope);
                return NULL;
        }
        scope->number = parent->app->n_scopes++;
        parent->app->last_scope->next = scope;
        parent->app->last_scope = scope;
        return scope;
}

/* ---- Looking inside. ---- */

void weir__counters_add(struct weir__counters *to, const struct weir__counters *from)
{
        for (size_t i = 0; i < WEIR__N_STATS; i++)
                weir__count_by(to, i, atomic_load_explicit(&from->at[i], memory_order_relaxed));
}

void weir_stats(const struct weir *root, struct weir_stats *stats)
{
        struct weir__counters sum = { 0 };
        struct weir__app *app;

        *stats = (struct weir_stats){ 0 };
        if (!root)
                return;
        app = root->app;
        pthread_mutex_lock(&app->lock);
        weir__counters_add(&sum, &app->past);
        weir__counters_add(&sum, &app->elsewhere);
        weir__server_counters(app->server, &sum);
        weir__ask_counters(app->asker, &sum);
        pthread_mutex_unlock(&app->lock);
        memcpy(stats, &sum, sizeof(sum));
}

enum weir_state weir_state(const struct weir *root)
{
        return root ? (enum weir_state)atomic_load(&root->app->state) : WEIR_STOPPED;
}

uint64_t weir_lag_ns(const struct weir *root)
{
        uint64_t lag;

        if (!root)
                return 0;
        pthread_mutex_lock(&root->app->lock);
        lag = weir__server_lag_ns(root->app->server);
        pthread_mutex_unlock(&root->app->lock);
        return lag;
}

/* ---- The end. ---- */

static void free_scopes(struct weir__app *app)
{
        for (struct weir *scope = app->root.next, *next; scope; scope = next) {
                next = scope->next;
                free(scope->prefix);
                free(scope->host);
                free(scope);
        }
        free(app->root.prefix);
}

static void free_uses(struct weir *scope)
{
        for (struct weir__use *use = scope->uses, *next; use; use = next) {
                next = use->next;
                if (use->mw->on_free)
                        use->mw->on_free(use->self);
                free(use->self);
                free(use);
        }
}

static void free_lists(struct weir__app *app)
{
        for (struct weir__route *route = app->routes, *next; route; route = next) {
                next = route->next;
                free(route->pattern);
                free(route);
        }
        for (struct weir__listen *listen = app->listens, *next; listen; listen = next) {
                next = listen->next;
                free(listen->address);
                free(listen->trusted);
                free(listen);
        }
        for (struct weir_static *fixed = app->statics, *next; fixed; fixed = next) {
                next = fixed->next;
                free(fixed);
        }
        for (int i = 0; i < WEIR_MAX_SLOTS; i++)
                free(app->slots[i]);
        for (int i = 0; i < WEIR__MAX_METHODS; i++)
                free(app->methods[i]);
}

void weir_free(struct weir *root)
{
        struct weir__app *app = root ? root->app : NULL;

        if (!app)
                return;
        weir__server_free(app);
        if (atomic_load(&app->claims)) /* who claimed a request may still come back with it */
                return;
        weir__ask_free(app->asker);
        weir__cells_free(app);
        weir__tree_free(app->tree);
        for (struct weir *scope = root; scope; scope = scope->next)
                free_uses(scope);
        free_lists(app);
        free_scopes(app);
        if (app->error != no_memory)
                free(app->error);
        free(app->name);
        free(app->trusted);
        pthread_mutex_destroy(&app->lock);
        free(app);
}
