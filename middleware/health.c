/*
 * health.c - answers whether the process lives, may have requests, and has started.
 *
 * Each answer is a list of items, made anew for each request: an item is one thing that was looked
 * at. Nothing in here waits: checks run on threads of their own (check.c), and leave their results.
 * Those threads are started and stopped by a value per loop, which the first loop opens and the
 * last one closes; in memory nobody starts them, and a request runs what is due.
 */
#include "check.h"

#include <weir/json.h>
#include <weir/network.h>
#include <weir/wait.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#define DEFAULT_LAG_MS 5000
#define LINE_BYTES     (32 + WEIR__CHECK_WHY + 32) /* "[-]NAME failed (optional): WHY\n" */
#define MAX_ITEMS      (WEIR__MAX_CHECKS + 2)

enum probe {
        LIVEZ,
        READYZ,
        STARTUPZ,
        PROBES,
};

struct weir_health {
        struct weir          *scope;
        char                 *path[PROBES]; /* NULL: none */
        size_t                path_len[PROBES];
        uint64_t              max_lag_ns;
        atomic_bool           started;
        struct weir_networks *trusted;
        struct weir__checks  *checks;
};

/* What was looked at: `n` items, the critical ones of which make up `ok`. */
struct report {
        bool                    ok;
        unsigned                n;
        struct weir__check_view item[MAX_ITEMS];
};

/* ---- Looking. ---- */

static void add(struct report *report, const char *name, bool ok, const char *why)
{
        struct weir__check_view *item = &report->item[report->n++];

        *item = (struct weir__check_view){ .name = name, .ok = ok };
        if (!ok)
                snprintf(item->why, sizeof(item->why), "%s", why);
}

static void look_at_start(const struct weir_health *health, struct report *report)
{
        add(report, "started", atomic_load(&health->started), "has not started yet");
}

/* An app that is asked in memory is in no state. */
static void look_at_state(const struct weir_ctx *ctx, struct report *report)
{
        enum weir_state state = weir_state(weir_app(ctx));

        add(report, "serving", state == WEIR_STOPPED || state == WEIR_RUNNING, "is about to stop");
}

static void look_at_loops(const struct weir_ctx *ctx, const struct weir_health *health,
                          struct report *report)
{
        uint64_t lag = weir_lag_ns(weir_app(ctx));
        char why[64];

        snprintf(why, sizeof(why), "a loop is held up for %llu ms",
                 (unsigned long long)(lag / 1000000));
        add(report, "loops", lag <= health->max_lag_ns, why);
}

static uint64_t now_in_memory(const void *ctx)
{
        return weir_now(ctx);
}

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void look_at_checks(const struct weir_ctx *ctx, struct weir_health *health,
                           struct report *report)
{
        bool in_memory = weir_state(weir_app(ctx)) == WEIR_STOPPED;

        if (in_memory)
                weir__checks_run(health->checks, now_in_memory, ctx);
        report->n += weir__checks_view(health->checks, in_memory ? weir_now(ctx) : now_ns(),
                                       report->item + report->n);
}

static void look(const struct weir_ctx *ctx, struct weir_health *health, enum probe probe,
                 struct report *report)
{
        report->n = 0;
        if (probe == LIVEZ) {
                look_at_loops(ctx, health, report);
        } else {
                look_at_start(health, report);
                if (probe == READYZ) {
                        look_at_state(ctx, report);
                        look_at_checks(ctx, health, report);
                }
        }
        report->ok = true;
        for (unsigned i = 0; i < report->n; i++)
                report->ok &= report->item[i].ok || report->item[i].optional;
}

/* ---- Telling. ---- */

static enum weir_flow tell_json(struct weir_ctx *ctx, const struct report *report, bool why)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        weir_json_object(&w);
        weir_json_key(&w, "status");
        weir_json_cstr(&w, report->ok ? "ok" : "failed");
        weir_json_key(&w, "checks");
        weir_json_array(&w);
        for (unsigned i = 0; i < report->n; i++) {
                const struct weir__check_view *item = &report->item[i];

                weir_json_object(&w);
                weir_json_key(&w, "name");
                weir_json_cstr(&w, item->name);
                weir_json_key(&w, "ok");
                weir_json_bool(&w, item->ok);
                weir_json_key(&w, "optional");
                weir_json_bool(&w, item->optional);
                if (why && !item->ok && *item->why) {
                        weir_json_key(&w, "why");
                        weir_json_cstr(&w, item->why);
                }
                weir_json_object_end(&w);
        }
        weir_json_array_end(&w);
        weir_json_object_end(&w);
        return weir_json_end(&w, report->ok ? 200 : 503);
}

static enum weir_flow tell_text(struct weir_ctx *ctx, const struct report *report, bool verbose,
                                bool why)
{
        char text[MAX_ITEMS * LINE_BYTES + 16];
        size_t len = 0;

        for (unsigned i = 0; verbose && i < report->n; i++) {
                const struct weir__check_view *item = &report->item[i];
                const char *reason = why && !item->ok ? item->why : "";

                len += (size_t)snprintf(text + len, sizeof(text) - len, "[%c]%s %s%s%s%s\n",
                                        item->ok ? '+' : '-', item->name,
                                        item->ok ? "ok" : "failed",
                                        item->optional && !item->ok ? " (optional)" : "",
                                        *reason ? ": " : "", reason);
        }
        snprintf(text + len, sizeof(text) - len, "%s\n", report->ok ? "ok" : "failed");
        return weir_text(ctx, report->ok ? 200 : 503, text);
}

/* Does a client name JSON, of whatever weight? */
static bool wants_json(const struct weir_ctx *ctx)
{
        struct weir_str accept = weir_header(ctx, "Accept");

        for (size_t i = 0; i + 16 <= accept.len; i++) {
                if (!strncasecmp(accept.ptr + i, "application/json", 16))
                        return true;
        }
        return false;
}

static enum weir_flow answer(struct weir_ctx *ctx, struct weir_health *health, enum probe probe)
{
        bool why = weir_networks_have(health->trusted, ctx->client), verbose = false;
        struct report report;

        weir_set_header(ctx, "Cache-Control", "no-store");
        if (ctx->method != WEIR_GET && ctx->method != WEIR_HEAD) {
                weir_set_header(ctx, "Allow", "GET, HEAD");
                return weir_fail(ctx, 405, NULL);
        }
        look(ctx, health, probe, &report);
        if (wants_json(ctx))
                return tell_json(ctx, &report, why);
        weir_query_bool(ctx, "verbose", &verbose);
        return tell_text(ctx, &report, verbose, why);
}

static enum weir_flow be_asked(struct weir_ctx *ctx, void *self)
{
        struct weir_health *health = self;

        for (int probe = 0; probe < PROBES; probe++) {
                if (ctx->path.len == health->path_len[probe] && health->path[probe] &&
                    !memcmp(ctx->path.ptr, health->path[probe], ctx->path.len))
                        return answer(ctx, health, (enum probe)probe);
        }
        return WEIR_NEXT;
}

/* ---- The threads of the checks. ---- */

/* In memory there are none. */
static void *open_checks(void *arg, const char **why)
{
        static char in_memory;
        struct weir_health *health = arg;

        if (weir_state(health->scope) == WEIR_STOPPED)
                return &in_memory;
        *why = "no thread left for a check";
        return weir__checks_start(health->checks) ? health : NULL;
}

static void close_checks(void *value, void *arg)
{
        struct weir_health *health = arg;
        const char *name = NULL;
        unsigned hang;

        if (value != health)
                return;
        hang = weir__checks_stop(health->checks, &name);
        if (hang)
                weir_log(health->scope, WEIR_LOG_WARNING,
                         "%u of the checks hang, \"%s\" is one: its thread ends when it returns",
                         hang, name);
}

/* ---- Setting up. ---- */

static void finish(void *self)
{
        struct weir_health *health = self;

        for (int probe = 0; probe < PROBES; probe++)
                free(health->path[probe]);
        weir_networks_free(health->trusted);
        weir__checks_put(health->checks);
}

static bool set_path(struct weir_health *health, enum probe probe, const char *path,
                     const char *usual)
{
        if (!path)
                path = usual;
        if (!*path)
                return true;
        if (*path != '/') {
                weir_setup_error(health->scope,
                                 "weir_use_health(): the path \"%s\" must start with '/'", path);
                return false;
        }
        health->path[probe] = strdup(path);
        health->path_len[probe] = strlen(path);
        return health->path[probe];
}

static bool set_up(struct weir_health *health, const struct weir_health_options *options)
{
        int64_t lag_ms = options->max_lag_ms ? options->max_lag_ms : DEFAULT_LAG_MS;

        if (lag_ms < 0 || lag_ms > INT64_MAX / 2000000) {
                weir_setup_error(health->scope, "weir_use_health(): max_lag_ms is %lld: no time",
                                 (long long)lag_ms);
                return false;
        }
        health->max_lag_ns = (uint64_t)lag_ms * 1000000;
        atomic_init(&health->started, !options->manual_start);
        health->checks = weir__checks_new();
        if (options->trusted)
                health->trusted = weir_networks(health->scope, "weir_use_health(): trusted",
                                                options->trusted);
        return health->checks && (health->trusted || !options->trusted) &&
               set_path(health, LIVEZ, options->livez, "/livez") &&
               set_path(health, READYZ, options->readyz, "/readyz") &&
               set_path(health, STARTUPZ, options->startupz, "/startupz");
}

void weir_mark_started(struct weir_health *health)
{
        if (health)
                atomic_store(&health->started, true);
}

static uint64_t ns_of(int64_t ms, int64_t usual)
{
        return (uint64_t)(ms ? ms : usual) * 1000000;
}

void weir_health_check(struct weir_health *health, const char *name, weir_check_fn *fn, void *arg,
                       const struct weir_check_options *options)
{
        static const struct weir_check_options defaults;
        const struct weir_check_options *o = options ? options : &defaults;
        struct weir__check_rule rule = { ns_of(o->interval_ms, 5000), 0,
                                         o->fail_after ? o->fail_after : 2,
                                         o->ok_after ? o->ok_after : 1, o->optional };
        const char *wrong = NULL;

        if (!health)
                return;
        rule.timeout_ns = ns_of(o->timeout_ms, 1000);
        if (!o->timeout_ms && rule.timeout_ns > rule.interval_ns)
                rule.timeout_ns = rule.interval_ns;
        if (o->interval_ms < 0 || o->interval_ms > 86400000 || o->timeout_ms < 0 ||
            rule.timeout_ns > rule.interval_ns)
                wrong = "interval_ms must be 1 to 86400000, timeout_ms at most that";
        else if (weir_state(health->scope) != WEIR_STOPPED)
                wrong = "the app has started";
        else
                wrong = weir__checks_add(health->checks, name, fn, arg, &rule);
        if (wrong)
                weir_setup_error(health->scope, "weir_health_check(): \"%s\": %s", name ? name : "",
                                 wrong);
}

struct weir_health *weir_use_health(struct weir *scope, const struct weir_health_options *options)
{
        static const struct weir_middleware descriptor = {
                .name = "health",
                .self_size = sizeof(struct weir_health),
                .phase = WEIR_EARLY,
                .on_request = be_asked,
                .on_free = finish,
        };
        static const struct weir_local_type checks = {
                .name = "health",
                .open = open_checks,
                .close = close_checks,
        };
        static const struct weir_health_options defaults;
        struct weir_health *health, made = { .scope = scope };

        if (!scope)
                return NULL;
        health = set_up(&made, options ? options : &defaults) ? weir_use(scope, &descriptor, &made)
                                                              : NULL;
        if (!health) {
                finish(&made);
                weir_setup_error(scope, "weir_use_health(): out of memory");
                return NULL;
        }
        (void)weir_local(scope, &checks, health);
        return health;
}
