/* test_upload.c - bodies in pieces: what on_body of core/weir/app.h promises, in memory. */
#include "upload_kit.h"

Test(upload, a_body_comes_in_pieces_and_the_last_call_answers)
{
        struct weir *app = streaming_app(begin, take);
        char *big = post_of(BIG);

        expect(app, "POST /\n\nabc", 201, "3");
        cr_assert_str_eq(sum.text, "abc");
        cr_assert_eq(sum.lasts, 1);
        expect(app, big, 201, "10000");
        cr_assert_gt(sum.pieces, 1);
        cr_assert_eq(sum.lasts, 1);
        free(big);
        end_app(app);
}

Test(upload, a_request_without_a_body_has_the_last_call_only)
{
        struct weir *app = streaming_app(begin, take);

        expect(app, "POST /", 201, "0");
        cr_assert_eq(sum.pieces, 0);
        cr_assert_eq(sum.lasts, 1);
        expect(app, "POST /\nTransfer-Encoding: chunked\n\n", 201, "0");
        cr_assert_eq(sum.lasts, 1);
        end_app(app);
}

static enum weir_flow refuse_all(struct weir_ctx *ctx, void *self)
{
        *(struct sum *)self = (struct sum){ 0 };
        return weir_fail(ctx, 403, "no");
}

Test(upload, a_handler_that_answers_at_once_gets_no_piece)
{
        struct weir *app = streaming_app(refuse_all, take);

        cr_assert_eq(status_of(app, "POST /\n\nabc"), 403);
        cr_assert_eq(sum.pieces + sum.lasts, 0);
        end_app(app);
}

static enum weir_flow refuse_b(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        cr_assert_not(last);
        add(self, piece);
        return weir_fail(ctx, 422, "no b");
}

Test(upload, a_piece_can_end_the_upload_with_an_answer)
{
        struct weir *app = streaming_app(begin, refuse_b);
        char *big = post_of(BIG);

        cr_assert_eq(status_of(app, big), 422);
        cr_assert_eq(sum.pieces, 1);
        free(big);
        end_app(app);
}

Test(upload, max_body_counts_for_a_body_that_is_not_kept)
{
        struct weir *app = logging_app();
        char *big = post_of(BIG), *chunked = malloc(BIG + 64);

        weir_route(app, WEIR_POST, "/", begin, &sum,
                   &(struct weir_route_options){ .max_body = 5000, .on_body = take });
        cr_assert_eq(status_of(app, big), 413);
        cr_assert_eq(sum.pieces, 0, "what says its length is refused before");
        sprintf(chunked, "POST /\nTransfer-Encoding: chunked\n\n%s", big + 8);
        cr_assert_eq(status_of(app, chunked), 413);
        cr_assert_leq(sum.bytes, 5000);
        cr_assert_eq(sum.lasts, 0);
        free(big);
        free(chunked);
        end_app(app);
}

static enum weir_flow has_no_body(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        (void)self, (void)piece;
        cr_assert_eq(ctx->body.len, 0);
        return last ? weir_text(ctx, 200, "none") : WEIR_NEXT;
}

Test(upload, nothing_is_kept)
{
        struct weir *app = streaming_app(begin, has_no_body);

        expect(app, "POST /\n\nabc", 200, "none");
        end_app(app);
}

/* ---- Misuse. ---- */

static enum weir_flow never_answer(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                   bool last)
{
        (void)ctx, (void)self, (void)piece, (void)last;
        return WEIR_NEXT;
}

static enum weir_flow wait_for_nothing(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                       bool last)
{
        (void)ctx, (void)self, (void)piece, (void)last;
        return WEIR_WAIT;
}

static enum weir_flow done_with_nothing(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                        bool last)
{
        (void)ctx, (void)self, (void)piece, (void)last;
        return WEIR_DONE;
}

Test(upload, hooks_that_do_not_answer_are_answered_500_and_named)
{
        struct weir *app = streaming_app(begin, never_answer);

        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        expect_logged("POST: the handler returned WEIR_NEXT without an answer");
        end_app(app);
        app = streaming_app(begin, wait_for_nothing);
        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        expect_logged("the handler returned WEIR_WAIT without");
        end_app(app);
        app = streaming_app(begin, done_with_nothing);
        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        expect_logged("the handler returned WEIR_DONE without an answer");
        cr_assert_eq(stats_now(app).bad_answers, 1);
        end_app(app);
}

static enum weir_flow suspend_and_go_on(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                        bool last)
{
        (void)self, (void)piece, (void)last;
        ticket = weir_suspend(ctx);
        return WEIR_NEXT;
}

Test(upload, a_hook_that_suspends_and_does_not_wait_is_answered_500)
{
        struct weir *app = streaming_app(begin, suspend_and_go_on);

        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        expect_logged("suspended the request and returned WEIR_NEXT");
        cr_assert_null(weir_claim(ticket));
        end_app(app);
}

Test(upload, a_route_that_may_not_wait_cannot)
{
        struct weir *app = logging_app();

        weir_route(app, WEIR_POST, "/", begin, &sum,
                   &(struct weir_route_options){ .on_body = suspend_and_go_on });
        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        cr_assert_null(weir_claim(ticket));
        end_app(app);
}

Test(upload, a_handler_that_passes_on_without_an_on_body_is_still_a_mistake)
{
        struct weir *app = logging_app();

        weir_post(app, "/", begin, &sum);
        cr_assert_eq(status_of(app, "POST /\n\nabc"), 500);
        expect_logged("the handler returned WEIR_NEXT without an answer");
        end_app(app);
}

/* ---- Middleware. ---- */

static enum weir_flow see(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        struct sum *seen = *(struct sum **)self;

        (void)ctx;
        if (!last)
                add(seen, piece);
        seen->lasts += last;
        return WEIR_NEXT;
}

static const struct weir_middleware seer = { .name = "seer",
                                             .self_size = sizeof(struct sum *),
                                             .on_body = see };

Test(upload, a_middleware_sees_the_pieces_of_bodies_that_are_kept_and_that_are_not)
{
        struct weir *app = streaming_app(begin, take);
        struct sum seen = { 0 }, *self = &seen;
        char *big = post_of(BIG);

        weir_use(app, &seer, &self);
        weir_put(app, "/", echo, NULL);
        expect(app, big, 201, "10000");
        cr_assert_eq(seen.bytes, BIG);
        cr_assert_eq(seen.lasts, 1);
        memcpy(big, "PUT  /", 6);
        seen = (struct sum){ 0 };
        expect(app, "PUT /\n\nabc", 200, "abc");
        cr_assert_eq(seen.bytes, 3);
        cr_assert_eq(seen.lasts, 1);
        seen = (struct sum){ 0 };
        expect(app, "PUT /", 200, "");
        cr_assert_eq(seen.lasts, 1, "also when there is no body");
        free(big);
        end_app(app);
}

static enum weir_flow no_x(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        if (last && !weir_header(ctx, "X-Sum").ptr)
                return weir_fail(ctx, 400, "no sum");
        return piece.len && memchr(piece.ptr, 'x', piece.len) ? weir_fail(ctx, 422, "no x")
                                                              : WEIR_NEXT;
}

static const struct weir_middleware judge = {
        .name = "judge", .on_body = no_x, .on_response = count_response, .on_done = count_done
};

Test(upload, a_middleware_can_end_an_upload_and_is_told_the_end_like_all_that_passed)
{
        struct weir *app = streaming_app(begin, take);
        struct sum seen = { 0 }, *self = &seen;

        unwound = over = 0;
        weir_use(app, &judge, NULL);
        weir_use(app, &seer, &self);
        cr_assert_eq(status_of(app, "POST /\nX-Sum: 1\n\naxb"), 422);
        cr_assert_eq(seen.pieces, 0, "those behind it do not get the piece");
        cr_assert_eq(sum.pieces, 0);
        cr_assert_eq(status_of(app, "POST /\n\nab"), 400);
        cr_assert_eq(sum.pieces, 1);
        cr_assert_eq(sum.lasts, 0);
        cr_assert_eq(status_of(app, "POST /\nX-Sum: 1\n\nab"), 201);
        cr_assert_eq(unwound, 3);
        cr_assert_eq(over, 3);
        end_app(app);
}

static enum weir_flow count_own(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        *weir_own(ctx) += piece.len;
        if (last)
                weir_set_headerf(ctx, "X-Seen", "%llu", (unsigned long long)*weir_own(ctx));
        return WEIR_NEXT;
}

static enum weir_flow own_take(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        *weir_own(ctx) += 2 * piece.len;
        return last ? weir_textf(ctx, 200, "%llu", (unsigned long long)*weir_own(ctx)) : WEIR_NEXT;
}

Test(upload, each_hook_has_its_own_word)
{
        static const struct weir_middleware counter = { .name = "counter", .on_body = count_own };
        struct weir *app = streaming_app(begin, own_take);

        weir_use(app, &counter, NULL);
        expect(app, "POST /\n\nabcd", 200, "8");
        expect_header(app, "POST /\n\nabcd", "X-Seen", "4");
        end_app(app);
}

static enum weir_flow late_pass(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert_eq(ctx->body.len, 0);
        return WEIR_NEXT;
}

Test(upload, on_a_streaming_route_what_waits_for_the_body_runs_before_the_handler)
{
        static const struct weir_middleware late = { .name = "late",
                                                     .at = WEIR_AT_BODY,
                                                     .on_request = late_pass };
        struct weir *app = streaming_app(begin, take);
        char *dump;

        weir_use(app, &late, NULL);
        expect(app, "POST /\n\nabc", 201, "3");
        dump = weir_dump(app);
        cr_assert_str_eq(dump, "POST    /  app:late  -> handler (streams)\n");
        free(dump);
        end_app(app);
}

/* ---- Setup. ---- */

Test(upload, a_middleware_that_would_miss_pieces_is_a_setup_error)
{
        static const struct weir_middleware late = { .name = "late",
                                                     .phase = WEIR_AUTH,
                                                     .at = WEIR_AT_BODY };
        static const struct weir_middleware torn = { .name = "torn",
                                                     .at = WEIR_AT_BODY,
                                                     .on_body = see };
        struct weir *app = logging_app();

        weir_use(app, &late, NULL);
        weir_use(app, &seer, NULL);
        free(weir_dump(app));
        cr_assert_str_eq(weir_error(app),
                         "seer gets bodies in pieces, but stands behind late, which runs when they "
                         "are in: give it an earlier phase");
        weir_free(app);
        app = logging_app();
        weir_use(app, &torn, NULL);
        cr_assert(strstr(weir_error(app), "torn has on_body"));
        weir_free(app);
}
