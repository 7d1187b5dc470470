/* http_limits.c - heads of requests on the wire: how long they may be. */
#include "http.h"

#define LIMIT 1000

static struct weir *app;

static void start_app(void)
{
        app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .max_header_bytes = LIMIT });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_listen(app, "[::1]:0", NULL);
        weir_any(app, "/", say, "ok");
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_limits, .init = start_app, .fini = stop_app);

/* A head of `size` bytes, long by its target or by a field. */
static const char *head_of(size_t size, bool by_target, const char *more)
{
        static char text[65536];
        char before[200];
        int len = snprintf(before, sizeof(before), "GET /%s HTTP/1.1\r\nHost: x\r\n%s%s",
                           by_target ? "?" : "", more, by_target ? "" : "A: ");
        size_t fill = size - (size_t)len - (by_target ? 2 : 4);

        if (by_target)
                snprintf(text, sizeof(text), "GET /?%0*d HTTP/1.1\r\nHost: x\r\n%s\r\n", (int)fill,
                         0, more);
        else
                snprintf(text, sizeof(text), "%s%0*d\r\n\r\n", before, (int)fill, 0);
        cr_assert_eq(strlen(text), size);
        return text;
}

static void expect_431(int fd, const char *head, const char *body)
{
        struct client client = client_on(fd);

        client_send(&client, head);
        client_send(&client, body);
        client_read(&client, 431);
        client_expect_end(&client); /* not reset, whatever it has sent */
        client_close(&client);
}

Test(http_limits, a_head_may_be_as_long_as_the_limit)
{
        for (int by_target = 0; by_target < 2; by_target++) {
                struct client client = client_to(app);

                client_send(&client, head_of(LIMIT, by_target, ""));
                client_expect(&client, 200, "ok");
                client_expect_alive(&client);
                client_close(&client);
        }
        cr_assert_eq(stats_of(app).guard[WEIR_GUARD_HEADER_BYTES], 0);
}

Test(http_limits, a_longer_one_is_answered_431_and_counted)
{
        uint64_t n = 0;

        for (size_t size = LIMIT + 1; size <= 12001; size += 1000) {
                expect_431(net_connect(weir_port(app, 0)), head_of(size, true, ""), "");
                expect_431(net_connect_v6(weir_port(app, 1)), head_of(size, false, ""), "");
                n += 2;
                wait_gone(app, n);
                cr_assert_eq(stats_of(app).guard[WEIR_GUARD_HEADER_BYTES], n);
                cr_assert_eq(stats_of(app).status[4], n);
        }
        cr_assert_eq(stats_of(app).transport_answers, 0);
}

Test(http_limits, the_client_of_one_can_read_that_though_its_body_is_under_way)
{
        static char body[500001];

        memset(body, 'x', sizeof(body) - 1);
        expect_431(net_connect(weir_port(app, 0)),
                   head_of(5000, false, "Content-Length: 500000\r\n"), body);
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).guard[WEIR_GUARD_HEADER_BYTES], 1);
}

Test(http_limits, each_request_of_a_connection_has_the_whole_limit)
{
        struct client client = client_to(app);

        for (int i = 0; i < 3; i++)
                client_send(&client, head_of(LIMIT, i % 2, ""));
        for (int i = 0; i < 3; i++)
                client_expect(&client, 200, "ok");
        client_close(&client);
}
