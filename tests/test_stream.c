/* test_stream.c - streams that wait, in memory: core/weir/answer.h, core/weir/wait.h. */
#include "stream_kit.h"

/* ---- Going on. ---- */

Test(stream, one_that_waits_keeps_its_request_open)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        feed.text = "one";
        asked = held(app, "GET /");
        expect_so_far(asked, "one");
        cr_assert_eq(stats_now(app).streams_open, 1);
        cr_assert_eq(stats_now(app).requests_waiting, 1);
        cr_assert_eq(feed.pulls, 2);
        cr_assert_eq(n_done, 0);
        supply("two", 1);
        expect_over(asked, "onetwo", WEIR_OK);
        end_streams(app);
}

Test(stream, one_may_wait_before_its_first_byte_and_have_none)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");

        expect_so_far(asked, "");
        supply(NULL, 1);
        expect_over(asked, "", WEIR_OK);
        end_streams(app);
}

Test(stream, one_waits_as_often_as_it_likes)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");

        for (int i = 0; i < 100; i++) {
                supply("x", 0);
                cr_assert(weir_ask_waits(asked));
                cr_assert_eq(weir_ask_body(asked).len, (size_t)i + 1);
        }
        cr_assert_eq(stats_now(app).streams_open, 1);
        weir_ask_leave(asked);
        end_streams(app);
}

Test(stream, a_ticket_is_good_for_one_wait)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ticket first = feed.ticket;

        supply("x", 0);
        cr_assert(weir_ask_waits(asked));
        cr_assert_null(weir_claim(first));
        supply(NULL, 1);
        expect_over(asked, "x", WEIR_OK);
        cr_assert_null(weir_claim(feed.ticket));
        end_streams(app);
}

Test(stream, nobody_pulls_while_it_is_claimed)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;
        struct weir_ctx *ctx;
        unsigned pulls;

        feed.wait_ms = 100;
        asked = held(app, "GET /");
        pulls = feed.pulls;
        ctx = claimed(feed.ticket);
        weir_tick(app, 1000);
        cr_assert(weir_ask_waits(asked));
        cr_assert_eq(feed.pulls, pulls);
        feed.end = 1;
        weir_resume(ctx, WEIR_NEXT);
        expect_over(asked, "", WEIR_OK);
        end_streams(app);
}

/* ---- Moments. ---- */

Test(stream, at_its_moment_it_is_pulled_again)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        feed.wait_ms = 100;
        asked = held(app, "GET /");
        feed.text = "tick";
        weir_tick(app, 99);
        expect_so_far(asked, "");
        weir_tick(app, 1);
        expect_so_far(asked, "tick");
        feed.end = 1;
        weir_tick(app, 100);
        expect_over(asked, "tick", WEIR_OK);
        end_streams(app);
}

Test(stream, who_claims_it_before_its_moment_is_first)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;
        struct weir_ticket late;

        feed.wait_ms = 100;
        asked = held(app, "GET /");
        weir_tick(app, 99);
        supply("early", 0);
        expect_so_far(asked, "early");
        late = feed.ticket;
        weir_tick(app, 100);
        cr_assert(weir_ask_waits(asked));
        cr_assert_null(weir_claim(late), "the moment was first");
        weir_ask_leave(asked);
        end_streams(app);
}

static ssize_t pull_three_times(void *arg, char *buf, size_t size)
{
        struct feed *from = arg;

        (void)size;
        if (++from->pulls > 6)
                return 0;
        if (from->pulls % 2) {
                buf[0] = (char)('0' + from->pulls);
                return 1;
        }
        from->ticket = weir_suspend_until(from->ctx, weir_now(from->ctx) + 100 * MS);
        return WEIR_PULL_WAIT;
}

static enum weir_flow stream_three_times(struct weir_ctx *ctx, void *self)
{
        feed.ctx = ctx;
        (void)self;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull_three_times, free_feed,
                           &feed);
}

Test(stream, an_ask_moves_time_from_moment_to_moment)
{
        struct weir *app = feeding_app();
        struct weir_reply *reply;

        wait_route(app, WEIR_GET, "/three", stream_three_times, NULL);
        reply = ask(app, "GET /three", 200);
        cr_assert_str_eq(reply->body.ptr, "135");
        cr_assert_eq(reply->took_ns, 300 * MS);
        weir_reply_free(reply);
        cr_assert_eq(feed.freed, 1);
        end_streams(app);
}

/* ---- Lengths. ---- */

Test(stream, one_of_a_known_length_may_wait)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;
        struct weir_reply *reply;

        feed.length = 6;
        feed.text = "one";
        asked = held(app, "GET /");
        supply("two", 1);
        cr_assert(!weir_ask_waits(asked));
        reply = weir_ask_finish(asked);
        cr_assert_eq(reply->length, 6);
        cr_assert_not(reply->closes, "its end can be told");
        cr_assert_not(reply->broken);
        cr_assert_str_eq(reply->body.ptr, "onetwo");
        weir_reply_free(reply);
        end_streams(app);
}

Test(stream, one_that_gives_less_than_it_promised_is_broken_off)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        feed.length = 6;
        feed.text = "one";
        asked = held(app, "GET /");
        supply(NULL, 1);
        expect_over(asked, "one", WEIR_ABORT);
        end_streams(app);
}

static void expect_closes(struct weir *app, const char *request, bool closes)
{
        struct weir_reply *reply;

        feed.text = "x";
        feed.end = 1;
        reply = ask(app, request, 200);
        cr_assert_eq(reply->closes, closes, "%s", request);
        weir_reply_free(reply);
}

Test(stream, where_one_may_wait_its_connection_is_closed_behind_it)
{
        struct weir *app = feeding_app();

        weir_get(app, "/plain", stream_feed, &feed);
        expect_closes(app, "GET /", true);
        expect_closes(app, "GET /plain", false);
        end_streams(app);
}

Test(stream, head_pulls_nothing)
{
        struct weir *app = feeding_app();
        struct weir_reply *reply = ask(app, "HEAD /", 200);

        cr_assert_eq(feed.pulls, 0);
        cr_assert_eq(feed.freed, 1);
        weir_reply_free(reply);
        end_streams(app);
}

/* ---- Ends. ---- */

Test(stream, one_may_break_off_behind_a_wait)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");

        supply("x", -1);
        expect_over(asked, "x", WEIR_ABORT);
        end_streams(app);
}

Test(stream, a_client_that_leaves_ends_it)
{
        struct weir *app = feeding_app();

        weir_ask_leave(held(app, "GET /"));
        cr_assert_null(weir_claim(feed.ticket));
        cr_assert_eq(n_done, 1);
        cr_assert_eq(last_outcome, WEIR_ABORT);
        cr_assert_eq(feed.freed, 1);
        cr_assert_eq(stats_now(app).aborted, 1);
        end_streams(app);
}

static struct weir_ctx *claimed_ctx;

static void *resume_it(void *arg)
{
        (void)arg;
        weir_resume(claimed_ctx, WEIR_NEXT);
        return NULL;
}

Test(stream, a_client_that_leaves_while_it_is_claimed_ends_it_once_it_is_back)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");
        pthread_t thread;
        unsigned pulls;

        claimed_ctx = claimed(feed.ticket);
        pulls = feed.pulls;
        pthread_create(&thread, NULL, resume_it, NULL);
        weir_ask_leave(asked);
        pthread_join(thread, NULL);
        cr_assert_eq(feed.pulls, pulls, "nobody is there to read it");
        cr_assert_eq(n_done, 1);
        cr_assert_eq(last_outcome, WEIR_ABORT);
        cr_assert_eq(feed.freed, 1);
        end_streams(app);
}

/* ---- Bytes and a wait at once; wrapped streams. ---- */

/* Gives what it has, and suspends its request when that is the last. */
static ssize_t pull_and_wait(void *arg, char *buf, size_t size)
{
        struct feed *from = arg;
        ssize_t n = pull_feed(from, buf, size);

        if (n > 0 && !from->text && !from->end)
                from->ticket = weir_suspend(from->ctx);
        return n;
}

static enum weir_flow stream_and_wait(struct weir_ctx *ctx, void *self)
{
        feed.ctx = ctx;
        (void)self;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull_and_wait, free_feed,
                           &feed);
}

Test(stream, one_may_give_bytes_and_wait)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/both", stream_and_wait, NULL);
        feed.text = "one";
        asked = held(app, "GET /both");
        cr_assert_eq(feed.pulls, 1);
        expect_so_far(asked, "one");
        supply("two", 0);
        expect_so_far(asked, "onetwo");
        cr_assert_eq(feed.pulls, 2, "not before it was resumed");
        supply("", 1);
        expect_over(asked, "onetwo", WEIR_OK);
        end_streams(app);
}

/* Upper case; keeps the last byte back until the inner stream waits. */
struct wrapper {
        struct weir_ctx *ctx;
        char             kept;
};

static ssize_t pull_wrapped(void *arg, char *buf, size_t size)
{
        struct wrapper *wrapper = arg;
        char inner[64];
        ssize_t n = weir_pull_inner(wrapper->ctx, inner, size < 64 ? size - 1 : 63), len = 0;

        if (n == -1 || (n <= 0 && !wrapper->kept))
                return n;
        if (wrapper->kept)
                buf[len++] = wrapper->kept;
        wrapper->kept = 0;
        for (ssize_t i = 0; i < n; i++)
                buf[len++] = (char)(inner[i] & ~0x20);
        if (n > 0)
                wrapper->kept = buf[--len];
        return len ? len : weir_pull_inner(wrapper->ctx, inner, 0);
}

static struct wrapper wrapper;

static void wrap(struct weir_ctx *ctx, void *self)
{
        (void)self;
        wrapper = (struct wrapper){ .ctx = ctx };
        cr_assert(weir_wrap_body(ctx, WEIR_UNKNOWN_LENGTH, pull_wrapped, NULL, &wrapper));
}

static const struct weir_middleware wrapping = { .name = "wrap", .on_response = wrap };

Test(stream, one_that_is_wrapped_may_wait)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked;

        weir_use(app, &wrapping, NULL);
        feed.text = "one";
        asked = held(app, "GET /");
        expect_so_far(asked, "ONE");
        supply("two", 0);
        expect_so_far(asked, "ONETWO");
        supply("three", 1);
        expect_over(asked, "ONETWOTHREE", WEIR_OK);
        end_streams(app);
}

/* ---- Stops. ---- */

Test(stream, an_app_that_runs_does_not_stop)
{
        struct weir *app = feeding_app();
        struct weir_asked *asked = held(app, "GET /");

        cr_assert_not(weir_stopping(feed.ctx));
        weir_ask_leave(asked);
        end_streams(app);
}
