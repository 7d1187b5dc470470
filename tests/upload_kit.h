/* upload_kit.h - what the tests of bodies in pieces share: a route that adds up what it gets. */
#ifndef WEIR_TESTS_UPLOAD_KIT_H
#define WEIR_TESTS_UPLOAD_KIT_H

#include "wait_kit.h"

#include <stdio.h>

#define BIG 10000 /* more than one piece of an ask */

/* ---- A route that adds up what it gets. ---- */

struct sum {
        size_t   bytes;
        unsigned pieces, lasts;
        char     text[64]; /* the first of them */
};

static inline enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        (void)ctx;
        *(struct sum *)self = (struct sum){ 0 };
        return WEIR_NEXT;
}

static inline void add(struct sum *sum, struct weir_str piece)
{
        for (size_t i = 0; i < piece.len && sum->bytes + i < sizeof(sum->text) - 1; i++)
                sum->text[sum->bytes + i] = piece.ptr[i];
        sum->bytes += piece.len;
        sum->pieces++;
}

static inline enum weir_flow take(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        struct sum *sum = self;

        if (!last) {
                cr_assert_gt(piece.len, 0);
                add(sum, piece);
                return WEIR_NEXT;
        }
        cr_assert_eq(piece.len, 0);
        sum->lasts++;
        return weir_textf(ctx, 201, "%zu", sum->bytes);
}

static struct sum sum;

static inline struct weir *streaming_app(weir_request_fn *fn, weir_body_fn *on_body)
{
        struct weir *app = logging_app();

        weir_route(app, WEIR_POST, "/", fn, &sum,
                   &(struct weir_route_options){ .waits = true, .on_body = on_body });
        return app;
}

/* A request with `size` bytes of body, which the caller frees. */
static inline char *post_of(size_t size)
{
        char *text = malloc(size + 32);
        size_t head = (size_t)sprintf(text, "POST /\n\n");

        for (size_t i = 0; i < size; i++)
                text[head + i] = (char)('a' + i % 26);
        text[head + size] = '\0';
        return text;
}

static inline enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

/* ---- Hooks that count their calls. ---- */

static int unwound, over;

static inline void count_response(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        unwound++;
}

static inline void count_done(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        over++;
}

#endif
