/* http_stream_end.c - streams that wait, over sockets: how they end before their end. */
#include "http_stream.h"

#include <weir/timeout.h>

#define TIMES    50
#define LIMIT_MS 60
#define GET_FEED "GET /feed HTTP/1.1\r\n" H "\r\n"

TestSuite(http_stream_leave, .init = start_one_loop, .fini = end_streams);
TestSuite(http_stream_late);
TestSuite(http_stream_stop);

/* ---- Clients that leave. ---- */

static void half_close_it(struct client *client)
{
        shutdown(client->fd, SHUT_WR);
        while (client_fill(client) > 0)
                ;
        client_close(client);
}

static void expect_abort(void (*leave)(struct client *client), bool at_once)
{
        for (unsigned i = 0; i < TIMES; i++) {
                struct client client = client_asking(GET_FEED);

                if (!at_once) {
                        struct feed *feed = next_feed();

                        client_head(&client);
                        if (i % 2)
                                supply(feed, "x", 0);
                }
                leave(&client);
        }
        while (stats_of(app).connections < TIMES || stats_of(app).connections_open)
                sched_yield();
        cr_assert_eq(n_freed, n_feeds);
        cr_assert_eq(n_outcomes[WEIR_ABORT], n_ended);
        for (unsigned i = 0; i < n_feeds; i++)
                cr_assert_null(weir_claim(feeds[i].ticket));
}

Test(http_stream_leave, a_client_that_closes_ends_it)
{
        expect_abort(client_close, false);
}

Test(http_stream_leave, a_client_that_resets_ends_it)
{
        expect_abort(client_reset, false);
}

Test(http_stream_leave, a_client_that_sends_no_more_ends_it)
{
        expect_abort(half_close_it, false);
}

Test(http_stream_leave, a_client_may_leave_as_soon_as_it_has_asked)
{
        expect_abort(client_close, true);
}

Test(http_stream_leave, a_client_may_reset_as_soon_as_it_has_asked)
{
        expect_abort(client_reset, true);
}

Test(http_stream_leave, one_that_is_claimed_ends_once_it_is_back)
{
        for (unsigned i = 0; i < 10; i++) {
                struct client client = client_asking(GET_FEED), other = client_to(app);
                struct feed *feed = next_feed();
                struct weir_ctx *ctx = claimed_feed(feed);

                client_close(&client);
                for (int k = 0; k < 20; k++)
                        client_expect_alive(&other);
                client_close(&other);
                cr_assert_eq(stats_of(app).requests_waiting, 1);
                feed->text = "for nobody";
                weir_resume(ctx, WEIR_NEXT);
                wait_idle(app);
                cr_assert_eq(n_outcomes[WEIR_ABORT], i + 1);
        }
}

Test(http_stream_leave, a_client_that_leaves_with_a_piece_on_its_way_ends_it)
{
        struct client client = client_asking(GET_FEED);
        struct feed *feed = next_feed();
        struct weir_ctx *ctx = claimed_feed(feed);

        feed->zeroes = 100000000;
        weir_resume(ctx, WEIR_NEXT);
        client_need(&client, 1000000);
        client_close(&client);
        expect_outcome(1, WEIR_ABORT);
}

/* On a listener that says so, who sends no more may still listen; who is reset may not. */
Test(http_stream_late, a_client_that_sends_no_more_may_listen_where_a_listener_says_so)
{
        struct client client, other;
        struct feed *feed;

        app = stream_app(&(struct weir_options){ .loops = 1, .log = drop_log });
        weir_listen(app, "127.0.0.1:0", &(struct weir_listen_options){ .half_close = true });
        http_start(app);
        client = client_on(net_connect(weir_port(app, 1)));
        client_send(&client, GET_FEED);
        shutdown(client.fd, SHUT_WR);
        feed = next_feed();
        client_head(&client);
        other = client_to(app);
        for (int i = 0; i < 20; i++)
                client_expect_alive(&other);
        supply(feed, "still", 0);
        client_expect_next(&client, "5\r\nstill\r\n");
        supply(feed, "here", 1);
        client_expect_next(&client, "4\r\nhere\r\n0\r\n\r\n");
        client_expect_end(&client);
        client_close(&client);
        client = client_on(net_connect(weir_port(app, 1)));
        client_send(&client, GET_FEED);
        next_feed();
        client_head(&client);
        client_reset(&client);
        expect_outcome(1, WEIR_ABORT);
        client_close(&other);
        end_streams();
}

/* A stream that has left libmicrohttpd is a connection of its client until its end. */
Test(http_stream_late, one_counts_among_the_connections_of_its_client)
{
        struct client client, refused;

        app = stream_app(&(struct weir_options){
                .loops = 1, .log = drop_log, .max_connections_per_client = 1 });
        http_start(app);
        client = client_asking(GET_FEED);
        next_feed();
        client_head(&client);
        refused = client_to(app);
        client_read(&refused, 503);
        client_close(&refused);
        cr_assert_eq(stats_of(app).clients, 1);
        client_close(&client);
        wait_idle(app);
        while (stats_of(app).clients)
                sched_yield();
        client = client_to(app);
        client_expect_alive(&client);
        client_close(&client);
        end_streams();
}

/* ---- Clients that are slow, and times that are over. ---- */

static void start_hasty(const struct weir_options *options, const struct weir_timeout *timeout)
{
        app = stream_app(options);
        if (timeout)
                weir_use_timeout(app, timeout);
        http_start(app);
}

static void expect_cut(const struct weir_options *options)
{
        struct client client;
        struct feed *feed;
        struct weir_ctx *ctx;

        start_hasty(options, NULL);
        client = client_asking(GET_FEED);
        feed = next_feed();
        ctx = claimed_feed(feed);
        feed->zeroes = 100000000;
        weir_resume(ctx, WEIR_NEXT);
        wait_idle(app);
        cr_assert_eq(stats_of(app).write_timeouts, 1);
        expect_outcome(1, WEIR_ABORT);
        client_close(&client);
        end_streams();
}

Test(http_stream_late, a_client_that_reads_too_slowly_is_cut)
{
        expect_cut(
                &(struct weir_options){ .loops = 1, .log = drop_log, .rate_window_ms = LIMIT_MS });
}

Test(http_stream_late, a_client_that_does_not_read_in_time_is_cut)
{
        expect_cut(&(struct weir_options){ .loops = 1,
                                           .log = drop_log,
                                           .min_write_rate = WEIR_NONE,
                                           .write_timeout_ms = LIMIT_MS });
}

static void expect_expired(const struct weir_timeout *timeout, bool blocked)
{
        static const struct weir_options options = { .loops = 1, .log = drop_log };
        struct client client;
        struct feed *feed;

        start_hasty(&options, timeout);
        client = client_asking(GET_FEED);
        feed = next_feed();
        if (blocked) {
                struct weir_ctx *ctx = claimed_feed(feed);

                feed->zeroes = 100000000;
                weir_resume(ctx, WEIR_NEXT);
                wait_idle(app);
        } else {
                cr_assert(client_next(&client, false).broken);
        }
        expect_outcome(1, WEIR_TIMEOUT);
        cr_assert_eq(stats_of(app).streams_timed_out, 1);
        client_close(&client);
        end_streams();
}

Test(http_stream_late, at_its_deadline_one_that_waits_is_broken_off)
{
        expect_expired(&(struct weir_timeout){ .timeout_ms = LIMIT_MS }, false);
}

Test(http_stream_late, one_that_moves_no_byte_in_its_idle_time_is_broken_off)
{
        expect_expired(&(struct weir_timeout){ .idle_ms = LIMIT_MS }, false);
}

Test(http_stream_late, so_is_one_whose_client_takes_none)
{
        expect_expired(&(struct weir_timeout){ .idle_ms = LIMIT_MS }, true);
        expect_expired(&(struct weir_timeout){ .timeout_ms = 200 }, true);
}

/* ---- Servers that stop. ---- */

Test(http_stream_stop, when_the_stop_begins_one_that_waits_may_end_politely)
{
        struct client clients[10];

        start_one_loop();
        for (int i = 0; i < 10; i++) {
                clients[i] = client_asking(GET_FEED);
                next_feed();
        }
        while (stats_of(app).streams_open < 10)
                sched_yield();
        cr_assert_eq(weir_stop(app), 0);
        for (int i = 0; i < 10; i++) {
                cr_assert(weir_str_is(client_read(&clients[i], 200).body, "stop"));
                client_expect_end(&clients[i]);
                client_close(&clients[i]);
        }
        cr_assert_eq(n_outcomes[WEIR_OK], 10);
        end_streams();
}

static void *stop(void *arg)
{
        return weir_stop(arg) == 0 ? arg : NULL;
}

static void expect_stopped(pthread_t thread)
{
        void *stopped;

        pthread_join(thread, &stopped);
        cr_assert_not_null(stopped);
}

Test(http_stream_stop, the_stop_waits_for_one_that_still_has_something_to_say)
{
        struct client client;
        struct weir_ctx *ctx;
        struct feed *feed;
        pthread_t thread;

        start_one_loop();
        client = client_asking(GET_FEED);
        feed = next_feed();
        ctx = claimed_feed(feed);
        feed->says_stop = false;
        feed->text = "x";
        weir_resume(ctx, WEIR_NEXT);
        ctx = claimed_feed(feed);
        pthread_create(&thread, NULL, stop, app);
        while (!weir_stopping(ctx))
                sched_yield();
        weir_resume(ctx, WEIR_NEXT); /* and waits again */
        supply(feed, "y", 1);
        cr_assert(weir_str_is(client_read(&client, 200).body, "xy"));
        client_close(&client);
        expect_stopped(thread);
        end_streams();
}

static void start_impatient(void)
{
        app = stream_app(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_timeout_ms = 1 });
        http_start(app);
}

Test(http_stream_stop, at_the_end_of_the_stop_one_that_waits_is_cut)
{
        struct client client;
        struct weir_ctx *ctx;
        struct feed *feed;

        start_impatient();
        client = client_asking(GET_FEED);
        feed = next_feed();
        ctx = claimed_feed(feed);
        feed->says_stop = false;
        weir_resume(ctx, WEIR_NEXT);
        client_head(&client);
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_null(weir_claim(feed->ticket));
        cr_assert_eq(n_outcomes[WEIR_SHUTDOWN], 1);
        client_expect_end(&client);
        client_close(&client);
        end_streams();
}

Test(http_stream_stop, at_the_end_of_the_stop_one_that_blocks_is_cut)
{
        struct client client;
        struct weir_ctx *ctx;
        struct feed *feed;

        start_impatient();
        client = client_asking(GET_FEED);
        feed = next_feed();
        ctx = claimed_feed(feed);
        feed->zeroes = 100000000;
        weir_resume(ctx, WEIR_NEXT);
        client_need(&client, 100000);
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(n_outcomes[WEIR_SHUTDOWN], 1);
        client_close(&client);
        end_streams();
}

static struct weir_ctx *lost; /* so that the leak checker finds what belongs to it */

Test(http_stream_stop, one_that_is_claimed_and_never_resumed_fails_the_stop)
{
        struct client client;

        start_impatient();
        client = client_asking(GET_FEED);
        lost = claimed_feed(next_feed());
        cr_assert_eq(weir_stop(app), -1);
        weir_resume(lost, WEIR_NEXT);
        client_close(&client);
        weir_free(app);
}
