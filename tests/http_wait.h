/* http_wait.h - what the socket tests of waiting share: an app that holds requests. */
#ifndef WEIR_TESTS_HTTP_WAIT_H
#define WEIR_TESTS_HTTP_WAIT_H

#include "http.h"

#include <pthread.h>
#include <sys/resource.h>

#define H "Host: x\r\n"

/* ---- Tickets, in the order in which their requests began to wait. ---- */

#define MAX_TICKETS 4096

static pthread_mutex_t    tickets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct weir_ticket tickets[MAX_TICKETS];
static unsigned           n_tickets, n_taken;

static inline enum weir_flow hold(struct weir_ctx *ctx, void *self)
{
        (void)self;
        pthread_mutex_lock(&tickets_lock);
        cr_assert_lt(n_tickets, MAX_TICKETS);
        tickets[n_tickets++] = weir_suspend(ctx);
        pthread_mutex_unlock(&tickets_lock);
        return WEIR_WAIT;
}

/* The next one, once there is one. */
static inline struct weir_ticket next_ticket(void)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct weir_ticket ticket = { 0 };

        while (!ticket.request) {
                cr_assert_lt(time(NULL), end, "no request waits");
                pthread_mutex_lock(&tickets_lock);
                if (n_taken < n_tickets)
                        ticket = tickets[n_taken++];
                pthread_mutex_unlock(&tickets_lock);
                sched_yield();
        }
        return ticket;
}

static inline struct weir_ctx *claimed(struct weir_ticket ticket)
{
        struct weir_ctx *ctx = weir_claim(ticket);

        cr_assert_not_null(ctx, "nobody can claim it");
        return ctx;
}

/* Lets the next request that waits pass on. */
static inline void pass_next(void)
{
        weir_resume(claimed(next_ticket()), WEIR_NEXT);
}

/* Answers the next request that waits. */
static inline void answer_next(const char *text)
{
        struct weir_ctx *ctx = claimed(next_ticket());

        weir_resume(ctx, weir_text(ctx, 200, text));
}

/* ---- The app: "/" answers, "/hold" waits, below "/gate" and "/late" a middleware does. ---- */

static struct weir *app;

static inline enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

/* A moment, that is soon over. */
static inline enum weir_flow doze(struct weir_ctx *ctx, void *self)
{
        (void)self;
        if ((*weir_own(ctx))++ < 3)
                return weir_wait_until(ctx, weir_now(ctx) + 1000000);
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

/* Waits for 1 ms at most. */
static inline enum weir_flow hold_shortly(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, weir_now(ctx) + 1000000);
        return hold(ctx, self);
}

static inline void wait_route(struct weir *scope, int method, const char *pattern,
                              weir_request_fn *fn)
{
        weir_route(scope, method, pattern, fn, NULL, &(struct weir_route_options){ .waits = true });
}

static const struct weir_middleware gate = { .name = "gate", .waits = true, .on_request = hold };
static const struct weir_middleware late = {
        .name = "late", .at = WEIR_AT_BODY, .waits = true, .on_request = hold
};

static inline struct weir *make_app(int64_t drain_timeout_ms, weir_log_fn *log)
{
        struct weir *made = weir_new(&(struct weir_options){
                .loops = 1, .log = log, .drain_timeout_ms = drain_timeout_ms });
        struct weir *gated = weir_group(made, "/gate", NULL);
        struct weir *lated = weir_group(made, "/late", NULL);

        n_tickets = n_taken = 0;
        weir_listen(made, "127.0.0.1:0", NULL);
        weir_get(made, "/", say, "ok");
        wait_route(made, WEIR_ANY, "/hold", hold);
        wait_route(made, WEIR_ANY, "/doze", doze);
        wait_route(made, WEIR_ANY, "/short", hold_shortly);
        weir_use(gated, &gate, NULL);
        weir_any(gated, "/echo", echo, NULL);
        weir_use(lated, &late, NULL);
        weir_any(lated, "/echo", echo, NULL);
        return made;
}

/* ---- Many that wait at once. ---- */

#define MANY 500

static struct client many[MANY];

static inline void hold_many(void)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max < 8 * MANY ? limit.rlim_max : 8 * MANY;
        setrlimit(RLIMIT_NOFILE, &limit);
        for (int i = 0; i < MANY; i++) {
                many[i] = client_to(app);
                client_send(&many[i], i % 2 ? "GET /hold HTTP/1.1\r\n" H "\r\n"
                                            : "GET /gate/echo HTTP/1.1\r\n" H "\r\n");
        }
        while (stats_of(app).requests_waiting < MANY)
                sched_yield();
}

#endif
