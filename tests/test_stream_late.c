/* test_stream_late.c - streams that wait for too long, in memory: deadlines and idle times. */
#include "stream_kit.h"

static struct weir *timed_app(const struct weir_timeout *options)
{
        struct weir *app = feeding_app();

        weir_use_timeout(app, options);
        return app;
}

Test(stream_late, at_its_deadline_one_that_waits_is_broken_off)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .timeout_ms = 200 });
        struct weir_asked *asked;

        feed.text = "x";
        asked = held(app, "GET /");
        weir_tick(app, 199);
        expect_so_far(asked, "x");
        weir_tick(app, 1);
        cr_assert_null(weir_claim(feed.ticket));
        expect_over(asked, "x", WEIR_TIMEOUT);
        cr_assert_eq(stats_now(app).streams_timed_out, 1);
        cr_assert_eq(stats_now(app).status[2], 1, "its head was out");
        cr_assert_eq(stats_now(app).deadlines_missed, 0);
        end_streams(app);
}

Test(stream_late, one_that_is_claimed_at_its_deadline_goes_on)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .timeout_ms = 200 });
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(feed.ticket);

        weir_tick(app, 300);
        feed.text = "late";
        feed.end = 1;
        weir_resume(ctx, WEIR_NEXT);
        expect_over(asked, "late", WEIR_OK);
        end_streams(app);
}

Test(stream_late, one_that_moves_a_byte_in_its_idle_time_has_no_deadline)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .timeout_ms = 200, .idle_ms = 150 });
        struct weir_asked *asked = held(app, "GET /");

        for (int i = 0; i < 10; i++) {
                weir_tick(app, 149);
                supply("x", 0);
                cr_assert(weir_ask_waits(asked));
        }
        weir_tick(app, 149);
        expect_so_far(asked, "xxxxxxxxxx");
        weir_tick(app, 1);
        expect_over(asked, "xxxxxxxxxx", WEIR_TIMEOUT);
        cr_assert_eq(stats_now(app).streams_timed_out, 1);
        end_streams(app);
}

Test(stream_late, a_wait_that_ends_without_a_byte_does_not_count)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .idle_ms = 150 });
        struct weir_asked *asked;

        feed.wait_ms = 100;
        asked = held(app, "GET /");
        weir_tick(app, 100);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 49);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 1);
        expect_over(asked, "", WEIR_TIMEOUT);
        end_streams(app);
}

static enum weir_flow stream_hastily(struct weir_ctx *ctx, void *self)
{
        weir_idle_timeout(ctx, 100 * MS);
        weir_idle_timeout(ctx, 200 * MS);
        return stream_feed(ctx, self);
}

Test(stream_late, an_idle_time_only_becomes_shorter)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .idle_ms = 150 });
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/hasty", stream_hastily, &feed);
        asked = held(app, "GET /hasty");
        weir_tick(app, 99);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 1);
        expect_over(asked, "", WEIR_TIMEOUT);
        end_streams(app);
}

Test(stream_late, an_idle_time_of_nonsense_is_no_setup)
{
        struct weir *app = timed_app(&(struct weir_timeout){ .idle_ms = -7 });

        cr_assert_str_eq(weir_error(app),
                         "weir_use_timeout(): idle_ms of -7 is not a time; WEIR_INF is none");
        weir_free(app);
}
