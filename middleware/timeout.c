/* timeout.c - how long a request may take: sets its deadline, which the core keeps. */
#include <weir/timeout.h>
#include <weir/wait.h>

#define DEFAULT_MS 15000

struct timeout {
        uint64_t ns;
        bool     strict;
};

static enum weir_flow set_deadline(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;

        weir_deadline(ctx, ctx->started_ns + timeout->ns);
        return WEIR_NEXT;
}

/* What answers at the deadline has the outcome already; what else comes behind it is late. */
static void replace_late(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;

        if (timeout->strict && weir_remaining_ns(ctx) == 0 && ctx->outcome < WEIR_SHED)
                weir_fail(ctx, 504, "the answer took too long");
}

void weir_use_timeout(struct weir *scope, const struct weir_timeout *options)
{
        static const struct weir_middleware descriptor = {
                .name = "timeout",
                .self_size = sizeof(struct timeout),
                .phase = WEIR_DEADLINE,
                .on_request = set_deadline,
                .on_response = replace_late,
        };
        int64_t ms = options && options->timeout_ms ? options->timeout_ms : DEFAULT_MS;
        struct timeout timeout = { .strict = options && options->strict };

        if (ms == WEIR_INF)
                return;
        if (ms < 0 || ms > INT64_MAX / 2000000) {
                weir_setup_error(scope,
                                 "weir_use_timeout(): %lld ms is not a time; WEIR_INF is none",
                                 (long long)ms);
                return;
        }
        timeout.ns = (uint64_t)ms * 1000000;
        weir_use(scope, &descriptor, &timeout);
}
