/* test_sse_end.c - the life of a handle on server-sent events: middleware/weir/sse.h. */
#include "sse_ask.h"

TestSuite(sse_end, .init = start_app, .fini = stop_app);

Test(sse_end, what_was_sent_before_it_was_closed_goes_out)
{
        struct weir_asked *asked = held(app, "GET /");

        send_event(sse, NULL, NULL, "last");
        weir_sse_close(sse);
        weir_sse_close(sse);
        cr_assert_not(send_event(sse, NULL, NULL, "too late"));
        expect_end(asked, 200, "data: last\n\n");
}

static struct weir_sse *released;

static void forget(void *arg, struct weir_sse *closed)
{
        (void)arg;
        cr_assert_eq(closed, released);
        n_closed++;
}

static void release_in_it(void *arg, struct weir_sse *closed)
{
        forget(arg, closed);
        weir_sse_release(closed);
}

/* Frees nothing twice and leaks nothing: the sanitizer looks. */
static void expect_released(bool in_it, bool before)
{
        struct weir_asked *asked;

        options.on_close = in_it ? release_in_it : forget;
        asked = held(app, "GET /");
        released = sse;
        if (before) {
                send_event(sse, NULL, NULL, "last");
                weir_sse_release(sse);
                expect_end(asked, 200, "data: last\n\n");
        } else {
                weir_ask_leave(asked);
        }
        if (!before && !in_it)
                weir_sse_release(released);
        cr_assert_eq(n_closed, 1);
        sse = NULL; /* for stop_app() */
}

Test(sse_end, who_releases_one_that_is_open_closes_it)
{
        expect_released(false, true);
}

Test(sse_end, it_may_be_released_when_it_ends)
{
        expect_released(true, false);
}

Test(sse_end, it_may_be_released_behind_its_end)
{
        expect_released(false, false);
}

static enum weir_flow open_and_fail(struct weir_ctx *ctx, void *self)
{
        (void)self;
        sse = weir_sse_open(ctx, &options);
        send_event(sse, NULL, NULL, "x");
        return weir_fail(ctx, 409, "changed its mind");
}

Test(sse_end, an_answer_that_is_replaced_ends_it)
{
        wait_route(app, WEIR_GET, "/fail", open_and_fail, NULL);
        cr_assert_eq(status_of(app, "GET /fail"), 409);
        cr_assert_eq(n_closed, 1);
}

Test(sse_end, no_handle_is_no_stream)
{
        cr_assert_not(send_event(NULL, NULL, NULL, "x"));
        cr_assert_not(weir_sse_comment(NULL, WEIR_STR("x")));
        cr_assert_not(weir_sse_retry(NULL, 1));
        cr_assert_eq(weir_sse_missed(NULL), 0);
        weir_sse_close(NULL);
        weir_sse_release(NULL);
        weir_ask_leave(held(app, "GET /"));
}
