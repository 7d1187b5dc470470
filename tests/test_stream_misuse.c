/* test_stream_misuse.c - what a stream that waits may not do, and what happens when it does. */
#include "stream_kit.h"

static ssize_t wait_for_nothing(void *arg, char *buf, size_t size)
{
        (void)arg, (void)buf, (void)size;
        return WEIR_PULL_WAIT;
}

static enum weir_flow stream_nothing(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, wait_for_nothing, free_feed,
                           &feed);
}

Test(stream_misuse, one_that_waits_for_nothing_breaks_off)
{
        struct weir *app = feeding_app();

        wait_route(app, WEIR_GET, "/nothing", stream_nothing, NULL);
        expect_over(weir_ask_start(app, "GET /nothing"), "", WEIR_ABORT);
        expect_logged("/nothing GET: the stream of the handler returned WEIR_PULL_WAIT without "
                      "waiting for anything");
        cr_assert_eq(stats_now(app).bad_answers, 1);
        end_streams(app);
}

Test(stream_misuse, one_of_a_route_that_may_not_wait_breaks_off)
{
        struct weir *app = feeding_app();

        weir_get(app, "/plain", stream_feed, &feed);
        feed.text = "x";
        expect_over(weir_ask_start(app, "GET /plain"), "x", WEIR_ABORT);
        cr_assert_null(feed.ticket.request);
        expect_logged("returned WEIR_PULL_WAIT without .waits");
        end_streams(app);
}

Test(stream_misuse, one_where_only_a_middleware_says_that_it_waits_may_wait)
{
        static const struct weir_middleware waiter = { .name = "waiter", .waits = true };
        struct weir *app = feeding_app();
        struct weir *group = weir_group(app, "/group", NULL);
        struct weir_asked *asked;

        weir_use(group, &waiter, NULL);
        weir_get(group, "", stream_feed, &feed);
        asked = held(app, "GET /group");
        supply("x", 1);
        expect_over(asked, "x", WEIR_OK);
        end_streams(app);
}

static void expect_broken_by(enum weir_flow flow)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        feed.text = "x";
        asked = held(app, "GET /");
        weir_resume(claimed(feed.ticket), flow);
        expect_over(asked, "x", WEIR_ABORT);
        expect_logged("was not resumed with WEIR_NEXT");
        cr_assert_eq(stats_now(app).bad_answers, 1);
        end_streams(app);
}

Test(stream_misuse, who_resumes_one_with_anything_but_next_breaks_it_off)
{
        expect_broken_by(WEIR_DONE);
        expect_broken_by(WEIR_WAIT);
}

Test(stream_misuse, an_answer_behind_its_head_is_memory_given_back)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(feed.ticket);

        weir_resume(ctx, weir_text(ctx, 404, "too late"));
        cr_assert_eq(feed.freed, 1);
        cr_assert_not(weir_ask_waits(asked));
        weir_reply_free(weir_ask_finish(asked));
        end_streams(app);
}

/* Suspends its request and ends. */
static ssize_t wait_and_end(void *arg, char *buf, size_t size)
{
        (void)buf, (void)size;
        feed.ticket = weir_suspend(feed.ctx);
        return *(int *)arg;
}

static enum weir_flow stream_end(struct weir_ctx *ctx, void *end)
{
        feed.ctx = ctx;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, wait_and_end, NULL, end);
}

Test(stream_misuse, one_that_ends_does_not_wait_whatever_it_did_before)
{
        struct weir *app = feeding_app();
        int ends[] = { 0, -1 };

        wait_route(app, WEIR_GET, "/end", stream_end, &ends[0]);
        wait_route(app, WEIR_GET, "/break", stream_end, &ends[1]);
        cr_assert_eq(status_of(app, "GET /end"), 200);
        cr_assert_eq(last_outcome, WEIR_OK);
        cr_assert_null(weir_claim(feed.ticket));
        cr_assert_eq(status_of(app, "GET /break"), 200);
        cr_assert_eq(last_outcome, WEIR_ABORT);
        cr_assert_null(weir_claim(feed.ticket));
        end_streams(app);
}

Test(stream_misuse, one_that_suspends_twice_has_one_good_ticket)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ticket other = weir_suspend(feed.ctx); /* from outside of its pull function */

        cr_assert_null(other.request);
        supply("x", 1);
        expect_over(asked, "x", WEIR_OK);
        end_streams(app);
}
