/* test_wait.c - the promises of core/weir/wait.h, in memory. */
#include "wait_kit.h"

#define MS 1000000ull

/* ---- Tickets. ---- */

Test(wait, a_request_that_waits_is_answered_by_whoever_claims_it)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx;

        cr_assert_eq(stats_now(app).requests_waiting, 1);
        ctx = claimed(ticket);
        cr_assert(weir_ask_waits(asked), "it waits until it is resumed");
        weir_resume(ctx, weir_text(ctx, 201, "done"));
        expect_end(asked, 201, "done");
        end_app(app);
}

Test(wait, a_ticket_is_good_for_one_claim)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(ticket);

        cr_assert_null(weir_claim(ticket));
        weir_resume(ctx, weir_text(ctx, 200, "once"));
        cr_assert_null(weir_claim(ticket));
        expect_end(asked, 200, "once");
        cr_assert_null(weir_claim(ticket));
        end_app(app);
}

Test(wait, a_ticket_of_zeroes_is_no_request)
{
        cr_assert_null(weir_claim((struct weir_ticket){ 0 }));
}

Test(wait, a_ticket_that_is_out_of_date_does_not_touch_the_request_that_came_after)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ticket old = ticket;
        struct weir_ctx *ctx = claimed(old);

        weir_resume(ctx, weir_text(ctx, 200, "first"));
        expect_end(asked, 200, "first");
        asked = held(app, "GET /");
        cr_assert_eq(ticket.request, old.request, "the cell is used again");
        cr_assert_null(weir_claim(old));
        ctx = claimed(ticket);
        cr_assert_null(weir_claim(old));
        weir_resume(ctx, weir_text(ctx, 200, "second"));
        expect_end(asked, 200, "second");
        end_app(app);
}

Test(wait, requests_end_in_the_order_in_which_they_are_resumed)
{
        struct weir *app = holding_app();
        struct weir_asked *asked[3];
        struct weir_ctx *ctx[3];

        for (int i = 0; i < 3; i++) {
                asked[i] = held(app, "GET /");
                ctx[i] = claimed(ticket);
        }
        cr_assert_eq(stats_now(app).requests_waiting, 3);
        for (int i = 2; i >= 0; i--)
                weir_resume(ctx[i], weir_textf(ctx[i], 200, "%d", i));
        expect_end(asked[1], 200, "1");
        expect_end(asked[0], 200, "0");
        expect_end(asked[2], 200, "2");
        end_app(app);
}

Test(wait, what_is_resumed_twice_goes_on_once)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(ticket);

        weir_resume(ctx, weir_text(ctx, 200, "once"));
        weir_resume(ctx, WEIR_DONE);
        expect_logged("not claimed");
        expect_end(asked, 200, "once");
        asked = held(app, "GET /");
        weir_resume(ctx, WEIR_DONE);
        cr_assert(weir_ask_waits(asked), "a request that is not claimed is not resumed");
        weir_ask_leave(asked);
        end_app(app);
}

/* ---- Flows. ---- */

static enum weir_flow hand_on(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "handled");
}

static const struct weir_middleware gate = { .name = "gate", .waits = true, .on_request = hold };

Test(wait, a_middleware_that_is_resumed_with_next_passes_on_to_the_next_link)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        weir_use(app, &gate, NULL);
        weir_use(app, &gate, NULL);
        weir_get(app, "/", hand_on, NULL);
        asked = held(app, "GET /");
        weir_resume(claimed(ticket), WEIR_NEXT);
        cr_assert(weir_ask_waits(asked), "the second gate waits");
        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 200, "handled");
        end_app(app);
}

static void expect_bad_flow(weir_request_fn *fn, enum weir_flow flow, const char *name)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", fn, NULL);
        asked = held(app, "GET /");
        weir_resume(claimed(ticket), flow);
        expect_end(asked, 500, NULL);
        expect_logged("GET: the handler returned ");
        expect_logged(name);
        cr_assert_eq(stats_now(app).bad_answers, 1);
        end_app(app);
}

Test(wait, a_handler_that_is_resumed_without_an_answer_gives_500)
{
        expect_bad_flow(hold, WEIR_DONE, "WEIR_DONE without an answer");
        expect_bad_flow(hold, WEIR_NEXT, "WEIR_NEXT without an answer");
        expect_bad_flow(hold, WEIR_WAIT, "WEIR_WAIT without waiting for anything");
}

/* ---- Moments. ---- */

/* Waits three times for 100 ms, by its word. */
static enum weir_flow doze(struct weir_ctx *ctx, void *self)
{
        uint64_t *times = weir_own(ctx);

        (void)self;
        if (*times == 3)
                return weir_textf(ctx, 200, "%llu ms",
                                  (unsigned long long)((weir_now(ctx) - ctx->started_ns) / MS));
        ++*times;
        return weir_wait_until(ctx, weir_now(ctx) + 100 * MS);
}

Test(wait, until_a_moment_the_same_hook_is_called_again)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", doze, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 99);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 1);
        cr_assert(weir_ask_waits(asked), "it waits again");
        weir_tick(app, 100);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 99);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 1);
        expect_end(asked, 200, "300 ms");
        end_app(app);
}

Test(wait, an_ask_moves_time_to_the_moment)
{
        struct weir *app = logging_app();
        struct weir_reply *reply;

        wait_route(app, WEIR_GET, "/", doze, NULL);
        reply = ask(app, "GET /", 200);
        cr_assert_str_eq(reply->body.ptr, "300 ms");
        cr_assert_eq(reply->took_ns, 300 * MS);
        weir_reply_free(reply);
        end_app(app);
}

/* Holds for 100 ms, then answers itself. */
static enum weir_flow hold_until(struct weir_ctx *ctx, void *self)
{
        (void)self;
        if (*weir_own(ctx))
                return weir_text(ctx, 200, "nobody came");
        *weir_own(ctx) = 1;
        ticket = weir_suspend_until(ctx, weir_now(ctx) + 100 * MS);
        return WEIR_WAIT;
}

Test(wait, a_claim_before_the_moment_is_first)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;
        struct weir_ctx *ctx;

        wait_route(app, WEIR_GET, "/", hold_until, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 99);
        ctx = claimed(ticket);
        weir_tick(app, 100);
        cr_assert(weir_ask_waits(asked), "it is the claimer's");
        weir_resume(ctx, weir_text(ctx, 200, "claimed"));
        expect_end(asked, 200, "claimed");
        end_app(app);
}

Test(wait, at_the_moment_the_ticket_is_out_of_date)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", hold_until, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 100);
        cr_assert_null(weir_claim(ticket));
        expect_end(asked, 200, "nobody came");
        end_app(app);
}

static enum weir_flow wait_for_the_past(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return ++*weir_own(ctx) <= 3 ? weir_wait_until(ctx, 0) : weir_text(ctx, 200, "over");
}

Test(wait, a_moment_that_has_passed_is_the_next_turn)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", wait_for_the_past, NULL);
        asked = weir_ask_start(app, "GET /");
        for (int turn = 1; turn <= 2; turn++)
                cr_assert(weir_ask_waits(asked), "turn %d", turn);
        expect_end(asked, 200, "over");
        end_app(app);
}

Test(wait, moments_come_in_order_of_time)
{
        static const uint64_t at_ms[] = { 300, 100, 200, 100 };
        struct weir *app = logging_app();
        struct weir_asked *asked[4];
        bool open[4] = { true, true, true, true };

        wait_route(app, WEIR_GET, "/{ms}", doze, NULL);
        for (int i = 0; i < 4; i++) {
                asked[i] = held(app, "GET /x");
                weir_tick(app, at_ms[i] % 7);
        }
        for (int ms = 0; ms < 400; ms++) {
                weir_tick(app, 1);
                for (int i = 0; i < 4; i++) {
                        bool waits = weir_ask_waits(asked[i]);

                        cr_assert(open[i] || !waits);
                        cr_assert(i == 0 || open[i - 1] == false || waits, "%d before %d", i,
                                  i - 1);
                        open[i] = waits;
                }
        }
        for (int i = 0; i < 4; i++)
                expect_end(asked[i], 200, NULL);
        end_app(app);
}

/* ---- Deadlines. ---- */

static enum weir_flow hold_200_ms(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert_eq(weir_remaining_ns(ctx), WEIR_NO_DEADLINE);
        weir_deadline(ctx, weir_now(ctx) + 200 * MS);
        cr_assert_eq(weir_remaining_ns(ctx), 200 * MS);
        weir_deadline(ctx, weir_now(ctx) + 300 * MS);
        cr_assert_eq(weir_remaining_ns(ctx), 200 * MS, "it only comes closer");
        return hold(ctx, self);
}

Test(wait, at_its_deadline_a_request_is_answered_504)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", hold_200_ms, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 199);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 1);
        cr_assert_null(weir_claim(ticket), "the deadline was first");
        expect_end(asked, 504, NULL);
        cr_assert_eq(stats_now(app).deadlines_missed, 1);
        cr_assert_eq(stats_now(app).status[5], 1);
        end_app(app);
}

Test(wait, what_was_claimed_before_its_deadline_is_answered_behind_it)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;
        struct weir_ctx *ctx;

        wait_route(app, WEIR_GET, "/", hold_200_ms, NULL);
        asked = held(app, "GET /");
        ctx = claimed(ticket);
        weir_tick(app, 500);
        cr_assert(weir_ask_waits(asked));
        cr_assert_eq(weir_remaining_ns(ctx), 0);
        weir_resume(ctx, weir_text(ctx, 200, "late"));
        expect_end(asked, 200, "late");
        cr_assert_eq(stats_now(app).deadlines_missed, 0);
        end_app(app);
}

/* A moment, in ms, and a deadline of 200 ms. */
static enum weir_flow doze_past(struct weir_ctx *ctx, void *ms)
{
        if (*weir_own(ctx))
                return weir_text(ctx, 200, "again");
        *weir_own(ctx) = 1;
        weir_deadline(ctx, weir_now(ctx) + 200 * MS);
        return weir_wait_until(ctx, weir_now(ctx) + *(uint64_t *)ms * MS);
}

static void expect_of_moment(uint64_t ms, int status)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", doze_past, &ms);
        asked = held(app, "GET /");
        weir_tick(app, 1000); /* both have passed */
        expect_end(asked, status, NULL);
        end_app(app);
}

Test(wait, of_moment_and_deadline_the_earlier_one_counts)
{
        expect_of_moment(199, 200);
        expect_of_moment(200, 504);
        expect_of_moment(201, 504);
}

static enum weir_flow hold_in_the_past(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, 0);
        cr_assert_eq(weir_remaining_ns(ctx), 0);
        return hold(ctx, self);
}

Test(wait, a_deadline_that_has_passed_is_answered_at_once)
{
        struct weir *app = logging_app();

        wait_route(app, WEIR_GET, "/", hold_in_the_past, NULL);
        expect_end(weir_ask_start(app, "GET /"), 504, NULL);
        end_app(app);
}

static enum weir_flow only_deadline(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_deadline(ctx, weir_now(ctx));
        return weir_text(ctx, 200, "did not wait");
}

Test(wait, a_deadline_is_for_those_who_wait)
{
        struct weir *app = logging_app();

        weir_get(app, "/", only_deadline, NULL);
        expect(app, "GET /", 200, "did not wait");
        end_app(app);
}

/* ---- Clients that leave. ---- */

Test(wait, a_client_that_leaves_ends_its_request_as_499)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");

        weir_ask_leave(asked);
        cr_assert_null(weir_claim(ticket));
        cr_assert_eq(stats_now(app).status[0], 1);
        cr_assert_eq(stats_now(app).aborted, 1);
        end_app(app);
}

Test(wait, a_client_that_leaves_before_a_moment_is_not_waited_for)
{
        struct weir *app = logging_app();

        wait_route(app, WEIR_GET, "/", doze, NULL);
        weir_ask_leave(held(app, "GET /"));
        cr_assert_eq(stats_now(app).status[0], 1);
        weir_tick(app, 1000);
        end_app(app);
}

/* ---- What is not allowed. ---- */

Test(wait, a_hook_that_may_not_wait_gives_500)
{
        struct weir *app = logging_app();

        weir_get(app, "/", hold, NULL);
        cr_assert_eq(status_of(app, "GET /"), 500);
        cr_assert_null(weir_claim(ticket));
        expect_logged("/ GET: the handler returned WEIR_WAIT without .waits");
        cr_assert_eq(stats_now(app).bad_answers, 1);
        end_app(app);
}

Test(wait, what_observes_may_not_wait)
{
        static const struct weir_middleware observer = {
                .name = "observer", .phase = WEIR_OBSERVE, .waits = true, .on_request = hold
        };
        struct weir *app = logging_app();

        weir_use(app, &observer, NULL);
        weir_get(app, "/", hand_on, NULL);
        cr_assert(weir_error(app) && strstr(weir_error(app), "observer"), "%s", weir_error(app));
        weir_free(app);
}

static enum weir_flow suspend_twice(struct weir_ctx *ctx, void *self)
{
        struct weir_ticket second;

        ticket = weir_suspend(ctx);
        second = weir_suspend(ctx);
        cr_assert_null(weir_claim(second));
        cr_assert_eq(weir_wait_until(ctx, 0), WEIR_WAIT);
        (void)self;
        return WEIR_WAIT;
}

Test(wait, a_hook_that_suspends_twice_has_one_good_ticket)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;
        struct weir_ctx *ctx;

        wait_route(app, WEIR_GET, "/", suspend_twice, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 1000);
        ctx = claimed(ticket);
        weir_resume(ctx, weir_text(ctx, 200, "ok"));
        expect_end(asked, 200, "ok");
        end_app(app);
}
