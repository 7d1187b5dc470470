/* wait_kit.h - what the tests of waiting share: handlers that wait, and what became of them. */
#ifndef WEIR_TESTS_WAIT_KIT_H
#define WEIR_TESTS_WAIT_KIT_H

#include "kit.h"

#include <string.h>

/* ---- What was logged. ---- */

static char logged[4096];

static inline void keep_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level;
        if (strlen(logged) + strlen(line) + 2 < sizeof(logged))
                strcat(strcat(logged, line), "\n");
}

static inline void expect_logged(const char *want)
{
        cr_assert(strstr(logged, want), "\"%s\" is not in the log: %s", want, logged);
}

/* An app whose log is in `logged`. */
static inline struct weir *logging_app(void)
{
        logged[0] = '\0';
        return weir_new(&(struct weir_options){ .log = keep_log });
}

/* ---- Handlers that wait. ---- */

static struct weir_ticket ticket; /* the last one */

/* Waits for whoever claims `ticket`. */
static inline enum weir_flow hold(struct weir_ctx *ctx, void *self)
{
        (void)self;
        ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

static inline void wait_route(struct weir *scope, int method, const char *pattern,
                              weir_request_fn *fn, void *self)
{
        weir_route(scope, method, pattern, fn, self, &(struct weir_route_options){ .waits = true });
}

/* An app that holds every request to "/". */
static inline struct weir *holding_app(void)
{
        struct weir *app = logging_app();

        wait_route(app, WEIR_ANY, "/", hold, NULL);
        return app;
}

/* ---- Asking. ---- */

/* Sends a request, which must wait. */
static inline struct weir_asked *held(struct weir *app, const char *request)
{
        struct weir_asked *asked = weir_ask_start(app, request);

        cr_assert_not_null(asked);
        cr_assert(weir_ask_waits(asked), "%s does not wait", request);
        return asked;
}

static inline struct weir_ctx *claimed(struct weir_ticket which)
{
        struct weir_ctx *ctx = weir_claim(which);

        cr_assert_not_null(ctx, "nobody can claim it");
        return ctx;
}

/* It must not wait any more; the reply is the caller's. */
static inline struct weir_reply *ended(struct weir_asked *asked, int status)
{
        struct weir_reply *reply;

        cr_assert_not(weir_ask_waits(asked), "it still waits");
        reply = weir_ask_finish(asked);
        cr_assert_not_null(reply);
        cr_assert_eq(reply->status, status, "%d, not %d: %s", reply->status, status,
                     reply->body.ptr);
        return reply;
}

static inline void expect_end(struct weir_asked *asked, int status, const char *body)
{
        struct weir_reply *reply = ended(asked, status);

        if (body)
                cr_assert_str_eq(reply->body.ptr, body);
        weir_reply_free(reply);
}

static inline struct weir_stats stats_now(const struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        return stats;
}

/* Nothing is in flight; frees the app. */
static inline void end_app(struct weir *app)
{
        struct weir_stats stats = stats_now(app);

        cr_assert_eq(stats.requests_in_flight, 0);
        cr_assert_eq(stats.requests_waiting, 0);
        weir_free(app);
}

#endif
