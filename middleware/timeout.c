/* timeout.c - how long a request may take: sets times, which the core keeps. */
#include <weir/timeout.h>
#include <weir/wait.h>

#define DEFAULT_MS 15000

struct timeout {
        uint64_t ns, idle_ns; /* 0: none */
        bool     strict;
};

static enum weir_flow set_times(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;

        if (timeout->ns)
                weir_deadline(ctx, ctx->started_ns + timeout->ns);
        if (timeout->idle_ns)
                weir_idle_timeout(ctx, timeout->idle_ns);
        return WEIR_NEXT;
}

/* What answers at the deadline has the outcome already; what else comes behind it is late. */
static void replace_late(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;

        if (timeout->strict && weir_remaining_ns(ctx) == 0 && ctx->outcome < WEIR_SHED)
                weir_fail(ctx, 504, "the answer took too long");
}

static bool is_time(struct weir *scope, const char *option, int64_t ms)
{
        if (ms == WEIR_INF || (ms >= 0 && ms <= INT64_MAX / 2000000))
                return true;
        weir_setup_error(scope, "weir_use_timeout(): %s of %lld is not a time; WEIR_INF is none",
                         option, (long long)ms);
        return false;
}

void weir_use_timeout(struct weir *scope, const struct weir_timeout *options)
{
        static const struct weir_middleware descriptor = {
                .name = "timeout",
                .self_size = sizeof(struct timeout),
                .phase = WEIR_DEADLINE,
                .on_request = set_times,
                .on_response = replace_late,
        };
        int64_t ms = options && options->timeout_ms ? options->timeout_ms : DEFAULT_MS;
        int64_t idle_ms = options && options->idle_ms ? options->idle_ms : WEIR_INF;
        struct timeout timeout = { .strict = options && options->strict };

        if (!is_time(scope, "timeout_ms", ms) || !is_time(scope, "idle_ms", idle_ms))
                return;
        if (ms == WEIR_INF && idle_ms == WEIR_INF)
                return;
        timeout.ns = ms == WEIR_INF ? 0 : (uint64_t)ms * 1000000;
        timeout.idle_ns = idle_ms == WEIR_INF ? 0 : (uint64_t)idle_ms * 1000000;
        weir_use(scope, &descriptor, &timeout);
}
