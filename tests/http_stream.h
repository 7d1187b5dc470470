/* http_stream.h - what the socket tests of streams that wait share: feeds and their supplies. */
#ifndef WEIR_TESTS_HTTP_STREAM_H
#define WEIR_TESTS_HTTP_STREAM_H

#include "http.h"

#include <pthread.h>
#include <stdatomic.h>

#define H         "Host: x\r\n"
#define MAX_FEEDS 1024

/* ---- Feeds, in the order in which their requests came. ---- */

/* Belongs to who has its request; the ticket is guarded by the lock. */
struct feed {
        struct weir_ctx   *ctx;
        struct weir_ticket ticket; /* of the last wait                                  */
        const char        *text;   /* to give; then: */
        uint64_t           zeroes; /* so many, */
        bool               who;    /* who asked for it, */
        int                end;    /* 1: the end; -1: it breaks off; else it waits      */
        bool               says_stop; /* says "stop" and ends when the server begins to stop */
};

static pthread_mutex_t feeds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct feed     feeds[MAX_FEEDS];
static atomic_uint     n_feeds, n_known, n_freed, n_pulls;
static uint64_t        known_length;
static const char     *first_text;   /* that feeds begin with                           */
static bool            gives_and_waits; /* the last text and a wait come at once           */
static int             bad_end;      /* a feed that suspends its request returns this   */

static inline ssize_t give_text(struct feed *feed, char *buf, size_t size)
{
        size_t len = strlen(feed->text);

        if (len > size)
                len = size;
        memcpy(buf, feed->text, len);
        feed->text = feed->text[len] ? feed->text + len : NULL;
        return (ssize_t)len;
}

static inline ssize_t give_zeroes(struct feed *feed, char *buf, size_t size)
{
        size_t n = feed->zeroes < size ? (size_t)feed->zeroes : size;

        memset(buf, '0', n);
        feed->zeroes -= n;
        return (ssize_t)n;
}

/* All that the request has views of. */
static inline ssize_t give_who(struct feed *feed, char *buf, size_t size)
{
        struct weir_ctx *ctx = feed->ctx;
        struct weir_str q = { 0 };

        feed->who = false;
        weir_query(ctx, "q", &q);
        return snprintf(buf, size, "%.*s %.*s %.*s %.*s %.*s %.*s %.*s %.*s", WEIR_FMT(ctx->target),
                        WEIR_FMT(weir_param(ctx, "id")), WEIR_FMT(weir_param_raw(ctx, "id")),
                        WEIR_FMT(q), WEIR_FMT(ctx->host), WEIR_FMT(weir_header(ctx, "X-Long")),
                        WEIR_FMT(ctx->body), WEIR_FMT(ctx->client));
}

static inline void wait_for_supply(struct feed *feed)
{
        pthread_mutex_lock(&feeds_lock);
        feed->ticket = weir_suspend(feed->ctx);
        pthread_mutex_unlock(&feeds_lock);
}

static inline ssize_t give_and_wait(struct feed *feed, char *buf, size_t size)
{
        ssize_t n = give_text(feed, buf, size);

        if (gives_and_waits && !feed->text && !feed->end)
                wait_for_supply(feed);
        return n;
}

static inline ssize_t pull_feed(void *arg, char *buf, size_t size)
{
        struct feed *feed = arg;

        atomic_fetch_add(&n_pulls, 1);
        if (feed->text)
                return give_and_wait(feed, buf, size);
        if (feed->zeroes)
                return give_zeroes(feed, buf, size);
        if (feed->who)
                return give_who(feed, buf, size);
        if (feed->says_stop && weir_stopping(feed->ctx)) {
                feed->says_stop = false;
                feed->end = 1;
                memcpy(buf, "stop", 4);
                return 4;
        }
        if (feed->end)
                return feed->end > 0 ? 0 : -1;
        wait_for_supply(feed);
        return bad_end < 1 ? bad_end : WEIR_PULL_WAIT;
}

static inline void free_feed(void *arg)
{
        (void)arg;
        atomic_fetch_add(&n_freed, 1);
}

static inline enum weir_flow stream_feed(struct weir_ctx *ctx, void *self)
{
        struct feed *feed = &feeds[atomic_load(&n_feeds) % MAX_FEEDS];

        (void)self;
        *feed = (struct feed){ .ctx = ctx, .text = first_text, .says_stop = true };
        atomic_fetch_add(&n_feeds, 1);
        return weir_stream(ctx, 200, "text/plain",
                           known_length ? known_length : WEIR_UNKNOWN_LENGTH, pull_feed, free_feed,
                           feed);
}

/* Claims a feed, once it waits. */
static inline struct weir_ctx *claimed_feed(struct feed *feed)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct weir_ctx *ctx;

        do {
                struct weir_ticket ticket;

                cr_assert_lt(time(NULL), end, "the feed does not wait");
                pthread_mutex_lock(&feeds_lock);
                ticket = feed->ticket;
                pthread_mutex_unlock(&feeds_lock);
                ctx = weir_claim(ticket);
                if (!ctx)
                        sched_yield();
        } while (!ctx);
        return ctx;
}

/* The next feed, once its request has come and waits. */
static inline struct feed *next_feed(void)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct feed *feed = &feeds[n_known++ % MAX_FEEDS];

        while (atomic_load(&n_feeds) < n_known) {
                cr_assert_lt(time(NULL), end, "no request comes");
                sched_yield();
        }
        return feed;
}

static inline void supply(struct feed *feed, const char *text, int end)
{
        struct weir_ctx *ctx = claimed_feed(feed);

        feed->text = text;
        feed->end = end;
        weir_resume(ctx, WEIR_NEXT);
}

/* ---- How requests ended. ---- */

static atomic_uint n_ended, n_outcomes[WEIR_SHUTDOWN + 1];
static atomic_ulong last_bytes;

static inline void see_end(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&n_outcomes[ctx->outcome], 1);
        atomic_store(&last_bytes, ctx->bytes);
        atomic_fetch_add(&n_ended, 1);
}

static const struct weir_middleware end_seer = { .name = "seer",
                                                 .phase = WEIR_OBSERVE,
                                                 .on_done = see_end };

/* ---- The app: "/" answers, "/feed" streams. ---- */

static struct weir *app;

static inline struct weir *stream_app(const struct weir_options *options)
{
        static const struct weir_route_options waits = { .waits = true };
        static const struct weir_route_options both = { .waits = true, .blocking = true };
        struct weir *made = weir_new(options);

        bad_end = 1;
        gives_and_waits = false;
        first_text = NULL;
        n_feeds = 0;
        n_known = 0;
        n_freed = 0;
        n_pulls = 0;
        n_ended = 0;
        known_length = 0;
        memset(n_outcomes, 0, sizeof(n_outcomes));
        weir_listen(made, "127.0.0.1:0", NULL);
        weir_use(made, &end_seer, NULL);
        weir_get(made, "/", say, "ok");
        weir_route(made, WEIR_ANY, "/feed", stream_feed, NULL, &waits);
        weir_route(made, WEIR_ANY, "/feed/{id}", stream_feed, NULL, &waits);
        weir_route(made, WEIR_ANY, "/job/{id}", stream_feed, NULL, &both);
        return made;
}

static inline void start_one_loop(void)
{
        app = stream_app(&(struct weir_options){ .loops = 1, .log = drop_log });
        http_start(app);
}

/* Every feed was freed once, every request told its end once, and nothing is open. */
static inline void end_streams(void)
{
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(stats_of(app).streams_open, 0);
        cr_assert_eq(stats_of(app).requests_waiting, 0);
        cr_assert_eq(n_freed, n_feeds, "%u of %u feeds were freed", n_freed, n_feeds);
        cr_assert_eq(n_ended, stats_of(app).requests);
        http_end(app);
}

/* `n` requests ended so, and no other but well. */
static inline void expect_outcome(unsigned n, int outcome)
{
        wait_idle(app);
        cr_assert_eq(n_outcomes[outcome], n, "%u of %u", n_outcomes[outcome], n);
        cr_assert_eq(n_outcomes[outcome] + (outcome ? n_outcomes[WEIR_OK] : 0), n_ended);
}

/* ---- Clients that see a stream bit by bit. ---- */

/* What comes next must be `text`. */
static inline void client_expect_next(struct client *client, const char *text)
{
        size_t len = strlen(text);

        cr_assert(client_need(client, len), "cut off before \"%s\"", text);
        cr_assert(!memcmp(client->buf + client->taken, text, len), "\"%s\", not \"%s\"",
                  shown(client->buf + client->taken, client->len - client->taken), text);
        client->taken += len;
}

/* Takes the head of an answer of which there is no body yet. */
static inline struct answer client_head(struct client *client)
{
        struct answer answer = client_next(client, true);

        cr_assert_eq(answer.status, 200);
        return answer;
}

static inline struct client client_asking(const char *request)
{
        struct client client = client_to(app);

        client_send(&client, request);
        return client;
}

#endif
