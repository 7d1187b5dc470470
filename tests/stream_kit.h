/* stream_kit.h - what the tests of streams that wait share: a feed, and what became of it. */
#ifndef WEIR_TESTS_STREAM_KIT_H
#define WEIR_TESTS_STREAM_KIT_H

#include "wait_kit.h"

#include <pthread.h>
#include <weir/timeout.h>

#define MS 1000000ull

/* What a stream gives: text, when there is some; then its end, once that is set; else it waits. */
struct feed {
        struct weir_ctx   *ctx;
        struct weir_ticket ticket; /* of the last wait                         */
        uint64_t           wait_ms; /* for so long; 0: until it is claimed     */
        uint64_t           length; /* that is promised; 0: none                */
        const char        *text;
        int                end;    /* 1: when there is no text; -1: it breaks off */
        unsigned           pulls, freed;
};

static struct feed feed;

static inline ssize_t give(struct feed *from, char *buf, size_t size)
{
        size_t len = strlen(from->text);

        if (len > size)
                len = size;
        memcpy(buf, from->text, len);
        from->text = from->text[len] ? from->text + len : NULL;
        return (ssize_t)len;
}

static inline ssize_t pull_feed(void *arg, char *buf, size_t size)
{
        struct feed *from = arg;

        from->pulls++;
        if (from->text)
                return give(from, buf, size);
        if (from->end)
                return from->end > 0 ? 0 : -1;
        from->ticket = from->wait_ms ? weir_suspend_until(from->ctx,
                                                          weir_now(from->ctx) + from->wait_ms * MS)
                                     : weir_suspend(from->ctx);
        return WEIR_PULL_WAIT;
}

static inline void free_feed(void *arg)
{
        ((struct feed *)arg)->freed++;
}

static inline enum weir_flow stream_feed(struct weir_ctx *ctx, void *self)
{
        struct feed *from = self;

        from->ctx = ctx;
        return weir_stream(ctx, 200, "text/plain",
                           from->length ? from->length : WEIR_UNKNOWN_LENGTH, pull_feed, free_feed,
                           from);
}

/* ---- How requests ended. ---- */

static unsigned n_done;
static int      last_outcome;
static uint64_t last_bytes;

static inline void see_end(struct weir_ctx *ctx, void *self)
{
        (void)self;
        n_done++;
        last_outcome = ctx->outcome;
        last_bytes = ctx->bytes;
}

static const struct weir_middleware end_seer = { .name = "seer",
                                                 .phase = WEIR_OBSERVE,
                                                 .on_done = see_end };

/* An app that streams `feed` at "/". */
static inline struct weir *feeding_app(void)
{
        struct weir *app = logging_app();

        feed = (struct feed){ 0 };
        n_done = 0;
        weir_use(app, &end_seer, NULL);
        wait_route(app, WEIR_GET, "/", stream_feed, &feed);
        return app;
}

/* Gives the feed something, as another thread would. */
static inline void supply(const char *text, int end)
{
        struct weir_ctx *ctx = claimed(feed.ticket);

        feed.text = text;
        feed.end = end;
        weir_resume(ctx, WEIR_NEXT);
}

static inline void expect_so_far(struct weir_asked *asked, const char *body)
{
        struct weir_str so_far;

        cr_assert(weir_ask_waits(asked), "it is over");
        so_far = weir_ask_body(asked);
        cr_assert(weir_str_is(so_far, body), "%.*s, not %s", WEIR_FMT(so_far), body);
}

/* The stream is over, the request was told so once, and the feed was freed once. */
static inline void expect_over(struct weir_asked *asked, const char *body, int outcome)
{
        struct weir_reply *reply = ended(asked, 200);

        cr_assert_str_eq(reply->body.ptr, body);
        cr_assert_eq(reply->broken, outcome != WEIR_OK);
        weir_reply_free(reply);
        cr_assert_eq(n_done, 1);
        cr_assert_eq(last_outcome, outcome, "outcome %d", last_outcome);
        cr_assert_eq(last_bytes, strlen(body));
        cr_assert_eq(feed.freed, 1, "freed %u times", feed.freed);
}

/* Nothing streams; frees the app. */
static inline void end_streams(struct weir *app)
{
        cr_assert_eq(stats_now(app).streams_open, 0);
        end_app(app);
}

#endif
