/* test_timeout.c - deadlines as the timeout middleware sets them (weir/timeout.h). */
#include "kit.h"

#include <weir/timeout.h>

static struct weir *app;

static void start_app(void)
{
        app = weir_new(&(struct weir_options){ .log = drop_log });
}

static void stop_app(void)
{
        weir_free(app);
}

TestSuite(timeout, .init = start_app, .fini = stop_app);

static const struct weir_route_options waits = { .waits = true };

/* Waits for what never comes. */
static enum weir_flow wait_on(struct weir_ctx *ctx, void *ticket)
{
        *(struct weir_ticket *)ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

static enum weir_flow tell_remaining(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%llu", (unsigned long long)weir_remaining_ns(ctx) / 1000000);
}

/* Is on the loop for `ms` of the clock. */
static enum weir_flow take(struct weir_ctx *ctx, void *ms)
{
        weir_tick(weir_app(ctx), *(const unsigned *)ms);
        return weir_text(ctx, 200, "late");
}

static int answered_after(const char *request, uint64_t ms)
{
        struct weir_asked *asked = weir_ask_start(app, request);
        struct weir_reply *reply;
        int status;

        cr_assert(weir_ask_waits(asked));
        weir_tick(app, ms - 1);
        cr_assert(weir_ask_waits(asked), "%s was answered too early", request);
        weir_tick(app, 1);
        cr_assert(!weir_ask_waits(asked), "%s still waits", request);
        reply = weir_ask_finish(asked);
        status = reply->status;
        weir_reply_free(reply);
        return status;
}

Test(timeout, a_request_that_waits_is_answered_504_at_its_deadline)
{
        struct weir_ticket ticket;

        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = 200 });
        weir_route(app, WEIR_GET, "/", wait_on, &ticket, &waits);
        cr_assert_eq(answered_after("GET /", 200), 504);
        cr_assert_null(weir_claim(ticket));
}

Test(timeout, the_default_is_15_seconds)
{
        struct weir_ticket ticket;

        weir_use_timeout(app, NULL);
        weir_route(app, WEIR_GET, "/", wait_on, &ticket, &waits);
        cr_assert_eq(answered_after("GET /", 15000), 504);
}

Test(timeout, a_scope_below_can_only_shorten_it)
{
        struct weir *shorter = weir_group(app, "/shorter", NULL);
        struct weir *longer = weir_group(app, "/longer", NULL);

        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = 500 });
        weir_use_timeout(shorter, &(struct weir_timeout){ .timeout_ms = 100 });
        weir_use_timeout(longer, &(struct weir_timeout){ .timeout_ms = 9000 });
        weir_get(shorter, "/", tell_remaining, NULL);
        weir_get(longer, "/", tell_remaining, NULL);
        weir_get(app, "/", tell_remaining, NULL);
        expect(app, "GET /shorter/", 200, "100");
        expect(app, "GET /longer/", 200, "500");
        expect(app, "GET /", 200, "500");
}

Test(timeout, without_one_there_is_no_deadline)
{
        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = WEIR_INF });
        weir_get(app, "/", tell_remaining, NULL);
        expect(app, "GET /", 200, "18446744073709"); /* WEIR_NO_DEADLINE in milliseconds */
}

Test(timeout, a_late_answer_goes_out_unless_the_timeout_is_strict)
{
        static const unsigned ms = 300;
        struct weir *strict = weir_group(app, "/strict", NULL);

        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = 200 });
        weir_use_timeout(strict, &(struct weir_timeout){ .timeout_ms = 200, .strict = true });
        weir_get(app, "/", take, (void *)(uintptr_t)&ms);
        weir_get(strict, "/", take, (void *)(uintptr_t)&ms);
        expect(app, "GET /", 200, "late");
        cr_assert_eq(status_of(app, "GET /strict/"), 504);
}

Test(timeout, a_time_that_is_none_is_a_setup_error)
{
        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = -5 });
        cr_assert_str_eq(weir_error(app),
                         "weir_use_timeout(): timeout_ms of -5 is not a time; WEIR_INF is none");
}
