/* http_proxy.c - connections that start with a header of the PROXY protocol. */
#include "http.h"

#include <poll.h>

#define LINE      "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"
#define BLOCK     "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\x3c\xcb\0\x71\x2b\x12\x67\1\xbb"
#define LOCAL     "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
#define GET       "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_CLOSE "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static enum weir_flow show_peer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%.*s %.*s", WEIR_FMT(ctx->peer), WEIR_FMT(ctx->client));
}

static struct weir *proxy_app(const struct weir_options *options, const char *address,
                              const struct weir_listen_options *listen)
{
        struct weir *app = weir_new(options);

        weir_listen(app, address, listen);
        weir_get(app, "/", show_peer, NULL);
        http_start(app);
        return app;
}

static struct weir *simple_app(void)
{
        return proxy_app(
                &(struct weir_options){ .loops = 1, .log = drop_log }, "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 60000 });
}

/* Sends bytes on a connection of their own; what comes back must be that body. */
static void expect_peer(const struct weir *app, const char *bytes, size_t size, const char *body)
{
        struct client client = client_to(app);

        client_send_bytes(&client, bytes, size);
        client_expect(&client, 200, body);
        client_expect_alive(&client); /* the header comes once, requests as often as they like */
        client_close(&client);
}

/* The connection must end without an answer. */
static void expect_closed(struct client *client)
{
        struct weir_str rest = client_read_all(client, NULL);

        cr_assert_eq(rest.len, 0, "answered: %.200s", rest.ptr);
        client_close(client);
}

/* Waits until the counter is `n`; nothing may have been served to get there. */
static void wait_refused(const struct weir *app, uint64_t n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (stats_of(app).proxy_refused < n) {
                cr_assert_lt(time(NULL), end);
                sched_yield();
        }
        cr_assert_eq(stats_of(app).proxy_refused, n);
}

Test(http_proxy, the_peer_is_the_one_that_the_header_names)
{
        struct weir *app = simple_app();

        expect_peer(app, LINE GET, sizeof(LINE GET) - 1, "192.168.0.1:56324 192.168.0.1");
        expect_peer(app, BLOCK GET, sizeof(BLOCK GET) - 1, "192.0.2.60:4711 192.0.2.60");
        expect_peer(app, "PROXY TCP6 2001:DB8::17 2001:db8::1 4711 443\r\n" GET,
                    strlen("PROXY TCP6 2001:DB8::17 2001:db8::1 4711 443\r\n" GET),
                    "[2001:db8::17]:4711 2001:db8::17");
        expect_peer(app, "PROXY TCP6 ::ffff:192.0.2.60 ::ffff:192.0.2.61 4711 443\r\n" GET,
                    strlen("PROXY TCP6 ::ffff:192.0.2.60 ::ffff:192.0.2.61 4711 443\r\n" GET),
                    "192.0.2.60:4711 192.0.2.60");
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        wait_gone(app, 4);
        http_end(app);
}

Test(http_proxy, a_client_of_the_proxy_on_a_unix_socket_is_called_so)
{
        char header[16 + 216] = "\r\n\r\n\0\r\nQUIT\n\x21\x31\0\xd8";
        struct weir *app = simple_app();
        struct client client = client_to(app);

        client_send_bytes(&client, header, sizeof(header));
        client_send(&client, GET);
        client_expect(&client, 200, "unix unix");
        client_close(&client);
        http_end(app);
}

/* "127.0.0.1:PORT 127.0.0.1" of a client. */
static const char *own_name(const struct client *client)
{
        static char text[64];
        struct sockaddr_in own;
        socklen_t len = sizeof(own);

        getsockname(client->fd, (struct sockaddr *)&own, &len);
        snprintf(text, sizeof(text), "127.0.0.1:%u 127.0.0.1", ntohs(own.sin_port));
        return text;
}

Test(http_proxy, the_peer_stays_where_the_header_names_none)
{
        static const char unknown[] = "PROXY UNKNOWN\r\n";
        struct weir *app = simple_app();

        for (int i = 0; i < 2; i++) {
                struct client client = client_to(app);

                client_send_bytes(&client, i ? unknown : LOCAL,
                                  i ? sizeof(unknown) - 1 : sizeof(LOCAL) - 1);
                client_send(&client, GET);
                client_expect(&client, 200, own_name(&client));
                client_close(&client);
        }
        http_end(app);
}

/* All of `bytes` in two pieces, whichever byte they part at. Each client must be there before. */
static void split(const char *bytes, size_t size, const char *body)
{
        const char *path = "http_proxy.sock";
        struct weir *app = proxy_app(
                &(struct weir_options){ .loops = 1, .log = drop_log }, "unix:http_proxy.sock",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 60000 });

        for (size_t at = 0; at <= size; at++) {
                struct client first = client_on(net_connect_unix(path));
                struct client second;

                client_send_bytes(&first, bytes, at);
                /* The door takes them in their order: when this one has its answer, it has
                 * looked at what the other has sent. */
                second = client_on(net_connect_unix(path));
                client_send(&second, LINE GET_CLOSE);
                client_expect(&second, 200, "192.168.0.1:56324 192.168.0.1");
                client_close(&second);
                client_send_bytes(&first, bytes + at, size - at);
                client_expect(&first, 200, body);
                client_close(&first);
        }
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        wait_gone(app, 2 * (size + 1));
        http_end(app);
}

Test(http_proxy, a_line_may_come_in_pieces_parted_at_any_byte)
{
        split(LINE GET, sizeof(LINE GET) - 1, "192.168.0.1:56324 192.168.0.1");
}

Test(http_proxy, a_block_may_come_in_pieces_parted_at_any_byte)
{
        split(BLOCK GET, sizeof(BLOCK GET) - 1, "192.0.2.60:4711 192.0.2.60");
}

Test(http_proxy, a_header_may_come_byte_by_byte)
{
        struct weir *app = simple_app();
        struct client client = client_to(app);

        for (size_t i = 0; i < sizeof(BLOCK) - 1; i++)
                client_send_bytes(&client, &BLOCK[i], 1);
        client_send(&client, GET);
        client_expect(&client, 200, "192.0.2.60:4711 192.0.2.60");
        client_close(&client);
        http_end(app);
}

Test(http_proxy, what_comes_behind_the_header_is_all_there)
{
        size_t size = 100000;
        char *request = malloc(size + 200);
        struct weir *app = simple_app();
        struct client client = client_to(app);
        size_t head = (size_t)sprintf(request,
                                      LINE "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu"
                                           "\r\n\r\n",
                                      size);

        memset(request + head, 'a', size);
        client_send_bytes(&client, request, head + size);
        client_send(&client, GET);
        client_read(&client, 405);
        client_close(&client);

        client = client_to(app);
        client_send(&client, LINE GET GET GET_CLOSE);
        for (int i = 0; i < 3; i++)
                client_expect(&client, 200, "192.168.0.1:56324 192.168.0.1");
        client_expect_end(&client);
        client_close(&client);
        free(request);
        http_end(app);
}

Test(http_proxy, a_connection_without_a_header_is_closed_and_counted)
{
        static const struct {
                const char *bytes;
                size_t      size;
        } bad[] = {
                { GET, sizeof(GET) - 1 },
                { "\x16\x03\x01\0\xa5\1", 6 },
                { "PROXY TCP4 192.168.0.1\r\n" GET, 24 },
                { "PROXY UNKNOWN\nGET / HTTP/1.1\r\n", 30 },
                { "\r\n\r\n\0\r\nQUIT\n\x11\x11\0\x0c", 16 },
                { "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\4", 16 },         /* too short for addresses */
                { "\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16 },     /* too long for anybody    */
                { BLOCK, 13 }, /* and no more */
        };
        struct weir *app = simple_app();

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct client client = client_to(app);

                client_send_bytes(&client, bad[i].bytes, bad[i].size);
                if (i == 7)
                        shutdown(client.fd, SHUT_WR);
                expect_closed(&client);
                wait_refused(app, i + 1);
        }
        cr_assert_eq(stats_of(app).requests, 0);
        cr_assert_eq(stats_of(app).connections, 0);
        cr_assert_eq(stats_of(app).proxy_timeouts, 0);
        http_end(app);
}

Test(http_proxy, a_line_of_108_bytes_is_refused_before_its_end)
{
        char line[108];
        struct weir *app = simple_app();
        struct client client = client_to(app);

        memset(line, 'a', sizeof(line));
        memcpy(line, "PROXY UNKNOWN ", 14);
        memcpy(line + 105, "\r\n", 2);
        client_send_bytes(&client, line, 107);
        client_send(&client, GET);
        client_expect(&client, 200, own_name(&client));
        client_close(&client);

        client = client_to(app);
        memset(line + 14, 'a', sizeof(line) - 14);
        client_send_bytes(&client, line, 107);
        expect_closed(&client);
        wait_refused(app, 1);
        http_end(app);
}

Test(http_proxy, who_leaves_before_the_header_is_in_is_counted)
{
        struct weir *app = simple_app();
        struct client client = client_to(app);

        client_close(&client);
        wait_refused(app, 1);
        client = client_to(app);
        client_send(&client, "PROXY TCP4 192");
        client_close(&client);
        wait_refused(app, 2);
        client = client_to(app);
        client_send(&client, LINE GET); /* all is said: half closed is not gone */
        shutdown(client.fd, SHUT_WR);
        client_expect(&client, 200, "192.168.0.1:56324 192.168.0.1");
        client_close(&client);
        wait_refused(app, 2);
        http_end(app);
}

Test(http_proxy, a_header_that_does_not_come_in_time_is_not_waited_for)
{
        struct weir *app = proxy_app(
                &(struct weir_options){ .loops = 1, .log = drop_log }, "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 20 });
        struct client silent = client_to(app), slow = client_to(app);

        client_try_send(&slow, "PROXY TCP4 ", 11);
        expect_closed(&silent);
        expect_closed(&slow);
        cr_assert_eq(stats_of(app).proxy_timeouts, 2);
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        cr_assert_eq(stats_of(app).connections, 0);
        http_end(app);
}

Test(http_proxy, who_is_served_is_not_timed)
{
        struct weir *app = proxy_app(
                &(struct weir_options){ .loops = 1, .log = drop_log }, "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 500 });
        struct client client = client_to(app), silent = client_to(app);

        client_send(&client, LINE GET);
        client_expect(&client, 200, "192.168.0.1:56324 192.168.0.1");
        expect_closed(&silent); /* the time is up for it, so it would be for the other */
        client_expect_alive(&client);
        client_close(&client);
        cr_assert_eq(stats_of(app).proxy_timeouts, 1);
        http_end(app);
}

/* Starts an app for one address on a listener that trusts `networks`. */
static struct weir *trusting_app(const char *networks, const char *address)
{
        char copy[64]; /* of the caller, who may do what he likes with it */
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });

        snprintf(copy, sizeof(copy), "%s", networks);
        weir_listen(app, address,
                    &(struct weir_listen_options){ .proxy_protocol = true,
                                                   .proxy_timeout_ms = 60000,
                                                   .trusted_proxies = copy });
        memset(copy, 'x', sizeof(copy) - 1);
        weir_get(app, "/", show_peer, NULL);
        http_start(app);
        return app;
}

Test(http_proxy, a_header_is_taken_from_trusted_networks_alone)
{
        struct weir *app = trusting_app("10.0.0.0/8, 127.0.0.0/8", "127.0.0.1:0");
        struct client client;

        expect_peer(app, LINE GET, sizeof(LINE GET) - 1, "192.168.0.1:56324 192.168.0.1");
        http_end(app);

        app = trusting_app("10.0.0.0/8, ::/0, unix", "127.0.0.1:0");
        client = client_to(app);
        client_try_send(&client, LINE GET, sizeof(LINE GET) - 1);
        expect_closed(&client);
        wait_refused(app, 1);
        http_end(app);
}

Test(http_proxy, a_trusted_proxy_may_come_by_a_unix_socket)
{
        struct weir *app = trusting_app("unix", "unix:http_proxy_trusted.sock");
        struct client client = client_on(net_connect_unix("http_proxy_trusted.sock"));

        client_send(&client, LINE GET);
        client_expect(&client, 200, "192.168.0.1:56324 192.168.0.1");
        client_close(&client);
        http_end(app);
}

Test(http_proxy, who_owes_a_header_counts_as_a_connection)
{
        struct weir *app = proxy_app(
                &(struct weir_options){ .loops = 1,
                                        .log = drop_log,
                                        .max_connections = 2,
                                        .over_connections = WEIR_OVER_REFUSE },
                "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 60000 });
        struct client waits = client_to(app), served = client_to(app), third;

        client_send(&served, LINE GET);
        client_expect(&served, 200, "192.168.0.1:56324 192.168.0.1");
        third = client_to(app);
        client_try_send(&third, LINE GET, sizeof(LINE GET) - 1);
        expect_closed(&third);
        third = client_to(app);
        expect_closed(&third);
        cr_assert_eq(stats_of(app).connections_refused, 2);
        client_send(&waits, LINE GET); /* its place is kept */
        client_expect(&waits, 200, "192.168.0.1:56324 192.168.0.1");
        client_close(&waits);
        client_close(&served);
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        http_end(app);
}

Test(http_proxy, a_stop_waits_for_headers_as_long_as_for_requests)
{
        struct weir *app = proxy_app(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_timeout_ms = 100 },
                "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 60000 });
        struct client first = client_to(app), second = client_to(app);

        client_send(&first, "PROXY TCP4 ");
        client_send(&second, LINE GET);
        client_expect(&second, 200, "192.168.0.1:56324 192.168.0.1");
        cr_assert_eq(weir_stop(app), 0);
        expect_closed(&first);
        client_close(&second);
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        cr_assert_eq(weir_start(app), 0);
        expect_peer(app, LINE GET, sizeof(LINE GET) - 1, "192.168.0.1:56324 192.168.0.1");
        http_end(app);
}

Test(http_proxy, other_listeners_of_the_app_take_no_header)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
        struct client client;
        int status;

        weir_listen(app, "127.0.0.1:0", &(struct weir_listen_options){ .proxy_protocol = true });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", show_peer, NULL);
        http_start(app);
        expect_peer(app, LINE GET, sizeof(LINE GET) - 1, "192.168.0.1:56324 192.168.0.1");
        client = client_on(net_connect(weir_port(app, 1)));
        client_send(&client, GET);
        client_expect(&client, 200, own_name(&client));
        client_close(&client);
        client = client_on(net_connect(weir_port(app, 1)));
        client_send(&client,
                    LINE GET); /* no request: libmicrohttpd refuses it, or closes at once */
        status = client_next(&client, false).status;
        cr_assert(status == 0 || status >= 400, "%d", status);
        client_close(&client);
        http_end(app);
}
