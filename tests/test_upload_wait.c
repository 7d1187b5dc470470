/* test_upload_wait.c - bodies in pieces that wait, in memory. */
#include "upload_kit.h"

static struct weir_str held_piece;

static enum weir_flow hold_pieces(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        (void)self;
        held_piece = piece;
        if (last)
                return weir_textf(ctx, 200, "%zu", sum.bytes);
        ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

Test(upload, a_piece_that_waits_stays_as_it_is_until_it_is_taken)
{
        struct weir *app = streaming_app(begin, hold_pieces);
        char *big = post_of(BIG);
        struct weir_asked *asked = held(app, big);
        unsigned waits = 0;

        while (weir_ask_waits(asked)) {
                struct weir_ctx *ctx = claimed(ticket);

                cr_assert(memcmp(held_piece.ptr, big + 8 + sum.bytes, held_piece.len) == 0);
                add(&sum, held_piece);
                weir_resume(ctx, WEIR_NEXT);
                waits++;
        }
        cr_assert_gt(waits, 1);
        expect_end(asked, 200, "10000");
        free(big);
        end_app(app);
}

Test(upload, a_resumed_hook_can_end_the_upload)
{
        struct weir *app = streaming_app(begin, hold_pieces);
        char *big = post_of(BIG);
        struct weir_asked *asked = held(app, big);
        struct weir_ctx *ctx = claimed(ticket);

        weir_resume(ctx, weir_fail(ctx, 507, "the disk is full"));
        expect_end(asked, 507, NULL);
        free(big);
        end_app(app);
}

static enum weir_flow hold_last(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        add(self, piece);
        if (!last)
                return WEIR_NEXT;
        ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

Test(upload, the_last_call_may_wait_too)
{
        struct weir *app = streaming_app(begin, hold_last);
        struct weir_asked *asked = held(app, "POST /\n\nabc");
        struct weir_ctx *ctx = claimed(ticket);

        weir_resume(ctx, weir_text(ctx, 200, "late"));
        expect_end(asked, 200, "late");
        asked = held(app, "POST /");
        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 500, NULL);
        end_app(app);
}

static enum weir_flow hold_head(struct weir_ctx *ctx, void *self)
{
        begin(ctx, self);
        ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

Test(upload, a_handler_may_wait_before_it_takes_the_body)
{
        struct weir *app = streaming_app(hold_head, take);
        struct weir_asked *asked = held(app, "POST /\n\nabc");

        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 201, "3");
        asked = held(app, "POST /");
        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 201, "0");
        end_app(app);
}

static enum weir_flow take_in_the_end(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                      bool last)
{
        if (last)
                return take(ctx, self, piece, last);
        if (++*weir_own(ctx) % 3)
                return weir_wait_until(ctx, weir_now(ctx) + 1000000);
        return take(ctx, self, piece, last);
}

Test(upload, a_hook_that_waits_for_a_moment_gets_the_same_piece_again)
{
        struct weir *app = streaming_app(begin, take_in_the_end);
        char *big = post_of(BIG);

        expect(app, big, 201, "10000");
        cr_assert_eq(sum.pieces, 3);
        free(big);
        end_app(app);
}

static const struct weir_middleware gate = { .name = "gate",
                                             .waits = true,
                                             .on_body = hold_pieces,
                                             .on_response = count_response,
                                             .on_done = count_done };

static enum weir_flow gate_pieces(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        (void)self;
        held_piece = piece;
        if (last)
                return WEIR_NEXT;
        ticket = weir_suspend(ctx);
        return WEIR_WAIT;
}

Test(upload, a_middleware_that_waits_passes_the_piece_on_and_the_body_is_kept)
{
        struct weir_middleware passing = gate;
        struct weir *app = logging_app();
        char *big = post_of(BIG);
        struct weir_asked *asked;
        struct weir_reply *reply;

        passing.on_body = gate_pieces;
        unwound = over = 0;
        weir_use(app, &passing, NULL);
        weir_post(app, "/", echo, NULL);
        asked = held(app, big);
        while (weir_ask_waits(asked))
                weir_resume(claimed(ticket), WEIR_NEXT);
        reply = ended(asked, 200);
        cr_assert_str_eq(reply->body.ptr, big + 8);
        cr_assert_eq(unwound, 1);
        cr_assert_eq(over, 1);
        weir_reply_free(reply);
        free(big);
        end_app(app);
}

/* ---- What ends a wait. ---- */

static enum weir_flow shortly(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, weir_now(ctx) + 5000000);
        return begin(ctx, self);
}

Test(upload, a_wait_in_a_body_ends_at_the_deadline_and_when_the_client_leaves)
{
        struct weir *app = streaming_app(shortly, hold_pieces);
        char *big = post_of(BIG);
        struct weir_asked *asked;

        unwound = over = 0;
        weir_use(app,
                 &(struct weir_middleware){
                         .name = "count", .on_response = count_response, .on_done = count_done },
                 NULL);
        asked = held(app, big);
        weir_tick(app, 5);
        expect_end(asked, 504, NULL);
        cr_assert_null(weir_claim(ticket));
        asked = held(app, big);
        weir_ask_leave(asked);
        cr_assert_null(weir_claim(ticket));
        cr_assert_eq(unwound, 2);
        cr_assert_eq(over, 2);
        cr_assert_eq(stats_now(app).status[0], 1);
        expect(app, "POST /", 200, "0");
        free(big);
        end_app(app);
}

Test(upload, a_client_that_leaves_while_its_piece_is_claimed_ends_when_it_is_back)
{
        struct weir *app = streaming_app(begin, hold_pieces);
        struct weir_asked *asked = held(app, "POST /\n\nabc");
        struct weir_ctx *ctx = claimed(ticket);

        weir_resume(ctx, WEIR_NEXT); /* on its way */
        weir_ask_leave(asked);
        cr_assert_eq(stats_now(app).status[0], 1);
        end_app(app);
}
