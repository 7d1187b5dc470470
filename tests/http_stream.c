/* http_stream.c - streams that wait, over sockets: what goes out, and when. */
#include "http_stream.h"

#include <weir/timeout.h>

TestSuite(http_stream, .init = start_one_loop, .fini = end_streams);

#define GET_FEED "GET /feed HTTP/1.1\r\n" H "\r\n"

/* ---- Framing (RFC 9112 6, 7.1). ---- */

Test(http_stream, one_that_waits_goes_out_in_chunks_as_it_comes)
{
        struct client client = client_asking(GET_FEED);
        struct feed *feed = next_feed();
        struct answer head = client_head(&client); /* before there is anything in it */

        cr_assert(head.chunked);
        cr_assert(head.closes);
        supply(feed, "hello", 0);
        client_expect_next(&client, "5\r\nhello\r\n");
        supply(feed, "sixteen or more.", 0);
        client_expect_next(&client, "10\r\nsixteen or more.\r\n");
        cr_assert_eq(stats_of(app).streams_open, 1);
        supply(feed, NULL, 1);
        client_expect_next(&client, "0\r\n\r\n");
        client_expect_end(&client);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
        cr_assert_eq(last_bytes, 21);
}

/* The first piece is framed by MHD, what follows is not. */
Test(http_stream, one_may_begin_before_it_waits)
{
        struct client client = client_to(app);

        first_text = "first";
        client_send(&client, GET_FEED);
        client_head(&client);
        client_expect_next(&client, "5\r\nfirst\r\n");
        supply(next_feed(), "second", 1);
        client_expect_next(&client, "6\r\nsecond\r\n0\r\n\r\n");
        client_expect_end(&client);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
        cr_assert_eq(last_bytes, 11);
}

static void expect_both(const char *request, const char *first, const char *second)
{
        struct client client = client_to(app);
        struct feed *feed;

        first_text = "first";
        gives_and_waits = true;
        client_send(&client, request);
        feed = next_feed();
        client_head(&client);
        client_expect_next(&client, first);
        cr_assert_eq(n_pulls, 1);
        supply(feed, "second", 0);
        client_expect_next(&client, second);
        supply(feed, "", 1);
        client_read_all(&client, NULL);
        client_close(&client);
        wait_idle(app);
}

Test(http_stream, one_may_give_its_first_bytes_and_wait)
{
        expect_both(GET_FEED, "5\r\nfirst\r\n", "6\r\nsecond\r\n");
        n_pulls = 0;
        expect_both("GET /feed HTTP/1.0\r\n" H "\r\n", "first", "second");
        n_pulls = 0;
        known_length = 11;
        expect_both(GET_FEED, "first", "second");
}

Test(http_stream, one_that_ends_does_not_wait_whatever_it_did_before)
{
        struct client client = client_to(app);

        first_text = "x";
        bad_end = 0;
        client_send(&client, GET_FEED);
        cr_assert(weir_str_is(client_read(&client, 200).body, "x"));
        client_expect_end(&client);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
        bad_end = -1;
        client = client_to(app);
        client_send(&client, GET_FEED);
        cr_assert(client_next(&client, false).broken);
        client_close(&client);
        expect_outcome(1, WEIR_ABORT);
}

Test(http_stream, to_an_old_client_it_goes_out_until_the_end_of_the_connection)
{
        struct client client = client_asking("GET /feed HTTP/1.0\r\n" H "\r\n");
        struct feed *feed = next_feed();

        cr_assert_not(client_head(&client).chunked);
        supply(feed, "one", 0);
        client_expect_next(&client, "one");
        supply(feed, "two", 1);
        client_expect_next(&client, "two");
        client_expect_end(&client);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
}

Test(http_stream, one_of_a_known_length_goes_out_as_it_is)
{
        struct client client = client_to(app);
        struct answer head;
        struct feed *feed;

        known_length = 6;
        client_send(&client, GET_FEED);
        feed = next_feed();
        head = client_head(&client);
        cr_assert_eq(head.length, 6);
        cr_assert_not(head.closes);
        supply(feed, "one", 0);
        client_expect_next(&client, "one");
        supply(feed, "two and more", 0);
        client_expect_next(&client, "two");
        client_expect_end(&client);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
        cr_assert_eq(last_bytes, 6);
}

Test(http_stream, one_that_ends_short_of_its_length_is_broken_off)
{
        struct client client = client_to(app);
        struct answer answer;

        known_length = 6;
        client_send(&client, GET_FEED);
        supply(next_feed(), "one", 1);
        answer = client_next(&client, false);
        cr_assert(answer.broken);
        client_close(&client);
        expect_outcome(1, WEIR_ABORT);
}

Test(http_stream, one_that_breaks_off_has_no_last_chunk)
{
        struct client client = client_asking(GET_FEED);
        struct answer answer;

        supply(next_feed(), "one", -1);
        answer = client_next(&client, false);
        cr_assert(answer.broken);
        cr_assert(weir_str_is(answer.body, "one"));
        client_close(&client);
        expect_outcome(1, WEIR_ABORT);
}

Test(http_stream, head_waits_for_nothing)
{
        struct client client = client_asking("HEAD /feed HTTP/1.1\r\n" H "\r\n");

        client_next(&client, true);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
        cr_assert_eq(n_pulls, 0);
}

Test(http_stream, it_may_be_the_last_answer_of_many_on_its_connection)
{
        struct client client = client_to(app);

        for (int i = 0; i < 3; i++)
                client_expect_alive(&client);
        client_send(&client, GET_FEED);
        supply(next_feed(), "last", 1);
        cr_assert(weir_str_is(client_read(&client, 200).body, "last"));
        client_expect_end(&client);
        client_close(&client);
}

Test(http_stream, what_the_client_sends_behind_its_request_is_dropped)
{
        static char garbage[200000];
        struct client client = client_asking(GET_FEED GET_FEED);
        struct feed *feed = next_feed();
        struct answer answer;

        memset(garbage, 'g', sizeof(garbage));
        client_head(&client);
        client_send_bytes(&client, garbage, sizeof(garbage));
        supply(feed, "one", 0);
        client_expect_next(&client, "3\r\none\r\n");
        supply(feed, "two", 1);
        client_expect_next(&client, "3\r\ntwo\r\n0\r\n\r\n");
        answer = client_next(&client, false);
        cr_assert_eq(answer.status, 0);
        client_close(&client);
        expect_outcome(1, WEIR_OK);
}

/* ---- The request. ---- */

#define LONG "long long long long long long long long long long long long long long long long"

static void expect_who(const char *request, const char *target, const char *body)
{
        struct client client = client_asking(request);
        struct feed *feed = next_feed();
        struct weir_ctx *ctx = claimed_feed(feed);
        char want[512];

        snprintf(want, sizeof(want), "%s a/b a%%2Fb c d example.org " LONG " %s 127.0.0.1", target,
                 body);
        cr_assert(weir_str_is(ctx->target, target), "%.*s", WEIR_FMT(ctx->target));
        cr_assert(weir_str_is(weir_header(ctx, "X-Long"), LONG));
        feed->who = true;
        weir_resume(ctx, WEIR_NEXT);
        supply(feed, NULL, 1);
        cr_assert(weir_str_is(client_read(&client, 200).body, want), "not %s", want);
        client_close(&client);
        wait_idle(app);
}

#define HEAD_OF(target) \
        " " target " HTTP/1.1\r\nHost: Example.ORG\r\nX-Short: s\r\nX-Long:   " LONG "\r\n"

Test(http_stream, its_request_can_be_read_for_as_long_as_it_lasts)
{
        expect_who("GET" HEAD_OF("/feed/a%2Fb?q=c+d") "\r\n", "/feed/a%2Fb?q=c+d", "");
        expect_who("POST" HEAD_OF("/feed/a%2Fb?q=c+d") "Content-Length: 4\r\n\r\nbody",
                   "/feed/a%2Fb?q=c+d", "body");
}

Test(http_stream, that_of_a_handler_that_blocks_may_wait_too)
{
        expect_who("POST" HEAD_OF("/job/a%2Fb?q=c+d") "Content-Length: 4\r\n\r\nbody",
                   "/job/a%2Fb?q=c+d", "body");
}

/* ---- A lot. ---- */

/* Counts the zeroes of a chunked body. */
static uint64_t read_zeroes(struct client *client)
{
        struct answer answer = client_read(client, 200);

        for (size_t i = 0; i < answer.body.len; i++)
                cr_assert_eq(answer.body.ptr[i], '0');
        return answer.body.len;
}

#define MANY 20000000

Test(http_stream, a_piece_is_pulled_when_the_kernel_has_the_one_before)
{
        struct client client = client_asking(GET_FEED);
        struct feed *feed = next_feed();
        struct weir_ctx *ctx = claimed_feed(feed);
        unsigned before, pulls;

        feed->zeroes = MANY;
        weir_resume(ctx, WEIR_NEXT);
        client_need(&client, 100000);
        do { /* until nobody takes more */
                before = n_pulls;
                for (int i = 0; i < 50; i++) {
                        struct client other = client_to(app);

                        client_expect_alive(&other);
                        client_close(&other);
                }
                pulls = n_pulls;
        } while (pulls != before);
        cr_assert_lt(pulls, MANY / 16376, "%u pieces for a client that does not read", pulls);
        feed->end = 1;
        cr_assert_eq(read_zeroes(&client), MANY);
        client_expect_end(&client);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(n_outcomes[WEIR_ABORT], 0);
        cr_assert_eq(stats_of(app).write_timeouts, 0);
}

#define CLIENTS 200

Test(http_stream, many_are_open_at_once_and_others_are_served, .init = NULL)
{
        struct client clients[CLIENTS];

        app = stream_app(&(struct weir_options){ .loops = 2, .log = drop_log });
        http_start(app);
        for (int i = 0; i < CLIENTS; i++) {
                clients[i] = client_asking(GET_FEED);
                next_feed();
        }
        while (stats_of(app).streams_open < CLIENTS)
                sched_yield();
        cr_assert_geq(stats_of(app).connections_open, CLIENTS);
        for (int round = 0; round < 5; round++) {
                struct client other = client_to(app);

                for (int i = 0; i < CLIENTS; i++)
                        supply(&feeds[i], "event", round == 4);
                client_expect_alive(&other);
                client_close(&other);
        }
        for (int i = 0; i < CLIENTS; i++) {
                struct answer answer = client_read(&clients[i], 200);

                cr_assert(weir_str_is(answer.body, "eventeventeventeventevent"));
                client_expect_end(&clients[i]);
                client_close(&clients[i]);
        }
}

/* ---- Other sockets. ---- */

Test(http_stream, it_waits_on_a_unix_socket_too, .init = NULL)
{
        char path[64];
        struct client client;

        snprintf(path, sizeof(path), "unix:/tmp/weir-stream-%d", (int)getpid());
        app = stream_app(&(struct weir_options){ .loops = 1, .log = drop_log });
        weir_listen(app, path, NULL);
        http_start(app);
        client = client_on(net_connect_unix(path + 5));
        client_send(&client, GET_FEED);
        supply(next_feed(), "unix", 1);
        cr_assert(weir_str_is(client_read(&client, 200).body, "unix"));
        client_expect_end(&client);
        client_close(&client);
}
