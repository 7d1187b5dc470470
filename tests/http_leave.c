/*
 * http_leave.c - clients that leave in the middle: each is noticed, and nothing of it stays.
 *
 * The end of a connection often arrives together with the last data. It must not be lost then, so
 * each point is tried many times over.
 */
#include "http.h"

#define TIMES 200
#define HEAD  "POST / HTTP/1.1\r\nHost: x\r\n"

static const char *const beginnings[] = {
        "",
        "PO",
        HEAD,
        HEAD "Content-Length: 10\r\n\r\n",
        HEAD "Content-Length: 10\r\n\r\nabc",
        HEAD "Content-Length: 10\r\n\r\n0123456789",
        HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD "Content-Length: 10\r\n\r\n0123456789" HEAD "Content-Le",
        HEAD "Content-Length: 50000\r\n\r\nabc", /* refused, and waited for */
};

static struct weir *app;

static void start_app(void)
{
        app = http_app(1);
        weir_route(app, WEIR_POST, "/", say, "ok", &(struct weir_route_options){ .max_body = 99 });
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_leave, .init = start_app, .fini = stop_app);

/* All connections must end, with the server running: those of the beginnings up to `i`. */
static void expect_nobody(size_t i)
{
        struct weir_stats stats;

        wait_gone(app, TIMES * (i + 1));
        stats = stats_of(app);
        cr_assert_eq(stats.requests, stats.status[0] + stats.status[2] + stats.status[4]);
}

Test(http_leave, a_client_that_closes_is_gone_wherever_it_was)
{
        for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
                for (int n = 0; n < TIMES; n++) {
                        struct client client = client_to(app);

                        client_send(&client, beginnings[i]);
                        client_close(&client);
                }
                expect_nobody(i);
        }
}

Test(http_leave, a_client_that_sends_no_more_is_answered_as_far_as_it_came_and_closed)
{
        for (size_t i = 0; i + 1 < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
                const char *whole = strstr(beginnings[i], "0123456789");

                for (int n = 0; n < TIMES; n++) {
                        struct client client = client_to(app);

                        client_send(&client, beginnings[i]);
                        shutdown(client.fd, SHUT_WR);
                        if (whole)
                                client_expect(&client, 200, "ok");
                        client_expect_end(&client);
                        client_close(&client);
                }
                expect_nobody(i);
        }
}

Test(http_leave, a_client_that_resets_is_gone_wherever_it_was)
{
        struct linger none = { .l_onoff = 1 };

        for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
                for (int n = 0; n < TIMES; n++) {
                        struct client client = client_to(app);

                        client_send(&client, beginnings[i]);
                        setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
                        client_close(&client);
                }
                expect_nobody(i);
        }
}
