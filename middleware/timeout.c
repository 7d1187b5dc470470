/* timeout.c - how long a request may take: sets times, which the core keeps. */
#include "timeout_header.h"

#include <weir/network.h>
#include <weir/wait.h>

#define DEFAULT_MS    15000
#define MAX_HEADER_MS 600000

struct timeout {
        uint64_t ns, idle_ns; /* 0: none */
        bool     strict;
        enum weir_timeout_header header;
        uint64_t max_header_ns;
        struct weir_networks    *trusted; /* NULL without a header */
};

/* The address of a peer without its port: "127.0.0.1:80", "[::1]:80", "unix". */
static struct weir_str address_of(struct weir_str peer)
{
        const char *colon = memrchr(peer.ptr, ':', peer.len);

        if (!colon)
                return peer;
        if (*peer.ptr == '[')
                return (struct weir_str){ peer.ptr + 1, (size_t)(colon - peer.ptr) - 2 };
        return (struct weir_str){ peer.ptr, (size_t)(colon - peer.ptr) };
}

/* Whoever sends the field is the peer; for whom it does so counts for nothing. */
static bool reads_header(const struct weir_ctx *ctx, const struct timeout *timeout, uint64_t *ns)
{
        const char *name = weir__timeout_header_name(timeout->header);
        struct weir_str text;
        size_t cursor = 0;

        if (!name || !weir_networks_have(timeout->trusted, address_of(ctx->peer)))
                return false;
        text = weir_header_next(ctx, name, &cursor);
        if (!text.ptr || weir_header_next(ctx, name, &cursor).ptr)
                return false;
        return weir__timeout_header_read(timeout->header, text, timeout->max_header_ns, ns);
}

static enum weir_flow set_times(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;
        uint64_t ns;

        if (timeout->ns)
                weir_deadline(ctx, ctx->started_ns + timeout->ns);
        if (timeout->header && reads_header(ctx, timeout, &ns))
                weir_deadline(ctx, ctx->started_ns + ns);
        if (timeout->header && weir_remaining_ns(ctx) == 0)
                return weir_refuse(ctx, 504, "there is no time left for an answer");
        if (timeout->idle_ns)
                weir_idle_timeout(ctx, timeout->idle_ns);
        return WEIR_NEXT;
}

static void drop(void *self)
{
        weir_networks_free(((struct timeout *)self)->trusted);
}

/* What answers at the deadline has the outcome already; what else comes behind it is late. */
static void replace_late(struct weir_ctx *ctx, void *self)
{
        const struct timeout *timeout = self;

        if (timeout->strict && weir_remaining_ns(ctx) == 0 && ctx->outcome < WEIR_SHED)
                weir_fail(ctx, 504, "the answer took too long");
}

/* What a field needs, into *timeout. */
static bool set_header(struct weir *scope, struct timeout *timeout, const struct weir_timeout *o)
{
        int64_t max_ms = o->max_header_ms ? o->max_header_ms : MAX_HEADER_MS;

        if (o->header == WEIR_TIMEOUT_NO_HEADER)
                return true;
        if (!weir__timeout_header_name(o->header) || !o->trusted || max_ms <= 0 ||
            max_ms > MAX_HEADER_MS) {
                weir_setup_error(scope, "weir_use_timeout(): a header needs .trusted, a name of "
                                        "enum weir_timeout_header, and at most 10 minutes");
                return false;
        }
        timeout->header = o->header;
        timeout->max_header_ns = (uint64_t)max_ms * 1000000;
        timeout->trusted = weir_networks(scope, "weir_use_timeout(): trusted", o->trusted);
        return timeout->trusted;
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
                .on_free = drop,
        };
        static const struct weir_timeout defaults;
        const struct weir_timeout *o = options ? options : &defaults;
        int64_t ms = o->timeout_ms ? o->timeout_ms : DEFAULT_MS;
        int64_t idle_ms = o->idle_ms ? o->idle_ms : WEIR_INF;
        struct timeout timeout = { .strict = o->strict };

        if (!is_time(scope, "timeout_ms", ms) || !is_time(scope, "idle_ms", idle_ms))
                return;
        if (ms == WEIR_INF && idle_ms == WEIR_INF && !o->header)
                return;
        if (!set_header(scope, &timeout, o))
                return;
        timeout.ns = ms == WEIR_INF ? 0 : (uint64_t)ms * 1000000;
        timeout.idle_ns = idle_ms == WEIR_INF ? 0 : (uint64_t)idle_ms * 1000000;
        if (!weir_use(scope, &descriptor, &timeout))
                drop(&timeout);
}
