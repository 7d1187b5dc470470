/*
 * http_half_close.c - clients that send no more but wait for their answer, where the listener takes
 * that for what it is.
 */
#include "http_wait.h"

#define TIMES 50

static void start_app(void)
{
        struct weir *gated;

        app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_timeout_ms = 100 });
        weir_listen(app, "127.0.0.1:0", &(struct weir_listen_options){ .half_close = true });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_listen(app, "[::1]:0", &(struct weir_listen_options){ .half_close = true });
        wait_route(app, WEIR_GET, "/hold", hold);
        wait_route(app, WEIR_POST, "/body", hold);
        gated = weir_group(app, "/gate", NULL);
        weir_use(gated, &gate, NULL);
        weir_post(gated, "/body", echo, NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_half_close, .init = start_app, .fini = stop_app);

static void expect_served(struct client client)
{
        client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
        shutdown(client.fd, SHUT_WR);
        answer_next("held");
        client_expect(&client, 200, "held");
        client_expect_end(&client);
        client_close(&client);
}

Test(http_half_close, a_request_waits_on_when_its_client_sends_no_more)
{
        for (int i = 0; i < TIMES; i++) {
                expect_served(client_to(app));
                expect_served(client_on(net_connect_v6(weir_port(app, 2))));
        }
        wait_gone(app, 2 * TIMES);
        cr_assert_eq(stats_of(app).aborted, 0);
}

/* The end comes once the request waits, and the loop has seen it: it has served another since. */
Test(http_half_close, it_does_so_when_the_end_comes_while_it_waits)
{
        for (int i = 0; i < TIMES; i++) {
                struct client client = client_to(app), other = client_to(app);
                struct weir_ticket ticket;
                struct weir_ctx *ctx;

                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
                ticket = next_ticket();
                shutdown(client.fd, SHUT_WR);
                for (int n = 0; n < 3; n++) {
                        client_send(&other, "GET / HTTP/1.1\r\n" H "\r\n");
                        client_expect(&other, 200, "ok");
                }
                ctx = claimed(ticket);
                weir_resume(ctx, weir_text(ctx, 200, "held"));
                client_expect(&client, 200, "held");
                client_expect_end(&client);
                client_close(&client);
                client_close(&other);
        }
        wait_gone(app, 2 * TIMES);
        cr_assert_eq(stats_of(app).aborted, 0);
}

Test(http_half_close, requests_behind_the_first_are_answered_too)
{
        for (int i = 0; i < TIMES; i++) {
                struct client client = client_to(app);

                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\nGET /hold HTTP/1.1\r\n" H
                                     "\r\nGET / HTTP/1.1\r\n" H "\r\n");
                shutdown(client.fd, SHUT_WR);
                answer_next("held");
                answer_next("held");
                client_expect(&client, 200, "held");
                client_expect(&client, 200, "held");
                client_expect(&client, 200, "ok");
                client_expect_end(&client);
                client_close(&client);
        }
        wait_gone(app, TIMES);
}

Test(http_half_close, a_reset_ends_the_wait_before_the_end_and_behind_it)
{
        for (int i = 0; i < TIMES; i++) {
                struct client client = client_to(app);
                struct weir_ticket ticket;

                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
                ticket = next_ticket();
                if (i % 2)
                        shutdown(client.fd, SHUT_WR);
                client_reset(&client);
                wait_gone(app, (uint64_t)i + 1);
                cr_assert_null(weir_claim(ticket));
        }
        cr_assert_eq(stats_of(app).status[0], TIMES);
        cr_assert_eq(stats_of(app).requests_waiting, 0);
}

Test(http_half_close, other_listeners_of_the_app_take_the_end_for_leaving)
{
        struct client client = client_on(net_connect(weir_port(app, 1)));

        client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
        next_ticket();
        shutdown(client.fd, SHUT_WR);
        client_expect_end(&client);
        client_close(&client);
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).status[0], 1);
}

Test(http_half_close, a_stop_answers_those_that_wait)
{
        struct client client = client_to(app);

        client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
        next_ticket();
        shutdown(client.fd, SHUT_WR);
        cr_assert_eq(weir_stop(app), 0);
        client_read(&client, 503);
        client_expect_end(&client);
        client_close(&client);
}

/* Sends the head, and the body where it is in, and no more. */
static void send_body(struct client *client, const char *path, bool all)
{
        client_send(client, "POST ");
        client_send(client, path);
        client_send(client, " HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\na");
        if (all)
                client_send(client, "bc");
}

Test(http_half_close, a_body_that_is_in_is_answered_too)
{
        for (int i = 0; i < TIMES; i++) {
                struct client client = client_to(app);
                struct weir_ticket ticket;
                struct weir_ctx *ctx;

                send_body(&client, "/body", true);
                ticket = next_ticket();
                shutdown(client.fd, SHUT_WR);
                ctx = claimed(ticket);
                weir_resume(ctx, weir_bytes(ctx, 200, "text/plain", ctx->body));
                client_expect(&client, 200, "abc");
                client_expect_end(&client);
                client_close(&client);
        }
        wait_gone(app, TIMES);
        cr_assert_eq(stats_of(app).aborted, 0);
}

Test(http_half_close, a_body_that_never_comes_ends_its_request)
{
        struct client client = client_to(app);
        struct weir_ticket ticket;

        send_body(&client, "/gate/body", false);
        ticket = next_ticket();
        shutdown(client.fd, SHUT_WR);
        client_expect_end(&client);
        client_close(&client);
        wait_gone(app, 1);
        cr_assert_null(weir_claim(ticket));
        cr_assert_eq(stats_of(app).status[0], 1);
}
