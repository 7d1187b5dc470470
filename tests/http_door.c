/*
 * http_door.c - what becomes of connections for which there is no room: over max_connections, over
 * max_connections_per_client, or without a descriptor left.
 */
#include "http.h"

#include <sys/resource.h>

#define GET       "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_CLOSE "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static const struct weir_listen_options behind_proxy = { .proxy_protocol = true,
                                                         .proxy_timeout_ms = 60000 };

static struct weir *serve(const struct weir_options *options, const char *address,
                          const struct weir_listen_options *listen)
{
        struct weir_options quiet = *options;
        struct weir *app;

        quiet.loops = 2;
        quiet.log = drop_log;
        app = weir_new(&quiet);
        weir_listen(app, address, listen);
        weir_get(app, "/", say, "ok");
        http_start(app);
        return app;
}

/* Is served, so that it is certain to be counted. */
static struct client served(int fd)
{
        struct client client = client_on(fd);

        client_send(&client, GET);
        client_expect(&client, 200, "ok");
        return client;
}

/* What is told must arrive in full, whatever the client has sent until then. */
static void expect_503(int fd, const char *request, size_t size)
{
        struct client client = client_on(fd);
        struct answer answer;

        cr_assert(client_try_send(&client, request, size));
        answer = client_read(&client, 503);
        cr_assert(answer.closes);
        cr_assert(weir_str_is(header_of(&answer, "Retry-After"), "1"));
        cr_assert_eq(answer.body.len, 0);
        client_expect_end(&client);
        client_close(&client);
}

static void expect_closed(int fd)
{
        struct client client = client_on(fd);
        struct weir_str rest = client_read_all(&client, NULL);

        cr_assert_eq(rest.len, 0, "answered: %.200s", rest.ptr);
        client_close(&client);
}

static void wait_open(const struct weir *app, uint64_t n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (stats_of(app).connections_open != n) {
                cr_assert_lt(time(NULL), end);
                sched_yield();
        }
}

static void wait_paused(const struct weir *app, uint64_t n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (stats_of(app).accept_pauses < n) {
                cr_assert_lt(time(NULL), end, "it goes on accepting");
                sched_yield();
        }
}

/* ---- Over max_connections. ---- */

Test(http_door, who_finds_no_room_is_told_503)
{
        static char large[200000];
        struct weir *app = serve(&(struct weir_options){ .max_connections = 2 }, "127.0.0.1:0",
                                 NULL);
        struct client first = served(net_connect(weir_port(app, 0)));
        struct client second = served(net_connect(weir_port(app, 0)));

        memset(large, 'x', sizeof(large));
        memcpy(large, "POST / HTTP/1.1\r\n", 17);
        for (uint64_t i = 0; i < 50; i++) {
                expect_503(net_connect(weir_port(app, 0)), GET, i % 2 ? strlen(GET) : 0);
                cr_assert_eq(stats_of(app).connections_refused, i + 1);
        }
        expect_503(net_connect(weir_port(app, 0)), large, sizeof(large));
        cr_assert_eq(stats_of(app).connections, 2);
        client_expect_alive(&first);
        client_close(&first);
        wait_open(app, 1);
        first = client_admitted(app);
        client_close(&first);
        client_close(&second);
        http_end(app);
}

Test(http_door, many_without_room_do_not_pile_up)
{
        enum { N = 300 };
        struct weir *app = serve(&(struct weir_options){ .max_connections = 1 }, "127.0.0.1:0",
                                 NULL);
        struct client first = served(net_connect(weir_port(app, 0)));
        int fds[N];
        char buf[256];

        for (int i = 0; i < N; i++) { /* none of them reads or closes */
                fds[i] = net_connect(weir_port(app, 0));
                cr_assert_geq(fds[i], 0);
        }
        client_expect_alive(&first);
        for (int i = 0; i < N; i++) { /* none has sent, so none is reset */
                cr_assert_gt(net_read_all(fds[i], buf, sizeof(buf)), 0, "%d", i);
                cr_assert_eq(net_status(buf), 503);
                close(fds[i]);
        }
        cr_assert_eq(stats_of(app).connections_refused, N);
        cr_assert_gt(stats_of(app).linger_cut, 0);
        client_close(&first);
        http_end(app);
}

Test(http_door, a_stop_lets_them_read_what_they_were_told)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections = 1 }, "127.0.0.1:0",
                                 NULL);
        struct client first = served(net_connect(weir_port(app, 0)));
        struct client second = client_to(app);

        while (stats_of(app).connections_refused == 0)
                sched_yield();
        client_close(&first);
        client_send(&second, GET);
        cr_assert_eq(weir_stop(app), 0);
        client_read(&second, 503);
        client_close(&second);
        http_end(app);
}

Test(http_door, who_finds_no_room_may_wait_for_it)
{
        struct weir *app = serve(
                &(struct weir_options){ .max_connections = 2, .over_connections = WEIR_OVER_WAIT },
                                 "127.0.0.1:0", NULL);

        for (uint64_t round = 1; round <= 50; round++) {
                struct client first = served(net_connect(weir_port(app, 0)));
                struct client second = served(net_connect(weir_port(app, 0)));
                struct client third = client_to(app), fourth = client_to(app);

                client_send(&third, GET);
                client_send(&fourth, GET);
                wait_paused(app, round);
                cr_assert_eq(stats_of(app).connections_open, 2);
                client_expect_alive(&first);
                client_close(&first);
                client_expect(&third, 200, "ok");
                client_close(&second);
                client_expect(&fourth, 200, "ok");
                client_close(&third);
                client_close(&fourth);
                wait_gone(app, 4 * round);
        }
        cr_assert_eq(stats_of(app).connections_refused, 0);
        http_end(app);
}

Test(http_door, all_of_a_crowd_are_served_in_the_end)
{
        enum { N = 400 };
        struct weir *app = serve(
                &(struct weir_options){ .max_connections = 3, .over_connections = WEIR_OVER_WAIT },
                                 "127.0.0.1:0", NULL);
        int fds[N];
        char buf[4096];

        for (int i = 0; i < N; i++) {
                fds[i] = net_connect(weir_port(app, 0));
                cr_assert(net_send(fds[i], GET_CLOSE, strlen(GET_CLOSE)));
        }
        for (int i = 0; i < N; i++) {
                cr_assert_gt(net_read_all(fds[i], buf, sizeof(buf)), 0);
                cr_assert_eq(net_status(buf), 200);
                close(fds[i]);
        }
        wait_gone(app, N);
        cr_assert_eq(stats_of(app).connections_refused, 0);
        http_end(app);
}

Test(http_door, a_stop_tells_those_that_wait)
{
        struct weir *app = serve(
                &(struct weir_options){ .max_connections = 1, .over_connections = WEIR_OVER_WAIT },
                                 "127.0.0.1:0", NULL);
        struct client first = served(net_connect(weir_port(app, 0)));
        struct client second = client_to(app);

        client_send(&second, GET);
        wait_paused(app, 1);
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(stats_of(app).connections_refused, 1);
        client_read(&second, 503);
        client_close(&first);
        client_close(&second);
        http_end(app);
}

Test(http_door, who_owes_a_proxy_header_takes_room_that_others_wait_for)
{
        struct weir *app = serve(
                &(struct weir_options){ .max_connections = 1, .over_connections = WEIR_OVER_WAIT },
                                 "127.0.0.1:0", &behind_proxy);
        struct client owes = client_to(app), second;

        client_send(&owes, "PROXY ");
        second = client_to(app);
        client_send(&second, "PROXY UNKNOWN\r\n" GET);
        wait_paused(app, 1);
        client_close(&owes);
        client_expect(&second, 200, "ok");
        client_close(&second);
        http_end(app);
}

/* ---- Without descriptors. ---- */

Test(http_door, who_comes_when_descriptors_have_run_out_waits_for_one)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections = 1000 }, "127.0.0.1:0",
                                 NULL);
        struct client first = served(net_connect(weir_port(app, 0)));
        int second = net_connect(weir_port(app, 0)), third;
        struct rlimit before, none;
        char buf[4096];

        cr_assert(net_send(second, GET_CLOSE, strlen(GET_CLOSE)));
        cr_assert_gt(net_read_all(second, buf, sizeof(buf)), 0);
        third = socket(AF_INET, SOCK_STREAM, 0); /* the last that there is */
        getrlimit(RLIMIT_NOFILE, &before);
        none = (struct rlimit){ 3, before.rlim_max };
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
        cr_assert_eq(connect(third,
                             (struct sockaddr *)&(struct sockaddr_in){
                                     .sin_family = AF_INET,
                                     .sin_port = htons(weir_port(app, 0)),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
                             sizeof(struct sockaddr_in)),
                     0);
        wait_paused(app, 1);
        client_expect_alive(&first); /* those that are in are served */
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        cr_assert(net_send(third, GET_CLOSE, strlen(GET_CLOSE)));
        cr_assert_gt(net_read_all(third, buf, sizeof(buf)), 0);
        cr_assert_eq(net_status(buf), 200);
        close(second);
        close(third);
        client_close(&first);
        http_end(app);
}

/* ---- Over max_connections_per_client. ---- */

/* From an address of this machine, 127.0.0.`host`. */
static int connect_from(uint8_t host, uint16_t port)
{
        struct sockaddr_in from = { .sin_family = AF_INET,
                                    .sin_addr = { htonl(0x7f000000u | host) } };
        struct sockaddr_in to = { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        cr_assert_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
        return net_ready(fd, (const struct sockaddr *)&to, sizeof(to));
}

Test(http_door, each_client_has_its_own_share)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 2 },
                                 "127.0.0.1:0", NULL);
        struct client first = served(connect_from(1, weir_port(app, 0)));
        struct client second = served(connect_from(1, weir_port(app, 0)));
        struct client other = served(connect_from(2, weir_port(app, 0)));

        cr_assert_eq(stats_of(app).clients, 2);
        expect_503(connect_from(1, weir_port(app, 0)), GET, strlen(GET));
        cr_assert_eq(stats_of(app).connections_refused_per_client, 1);
        cr_assert_eq(stats_of(app).connections_refused, 0);
        client_close(&second);
        wait_open(app, 2);
        second = served(connect_from(1, weir_port(app, 0)));
        expect_503(connect_from(1, weir_port(app, 0)), GET, 0);
        client_close(&first);
        client_close(&second);
        client_close(&other);
        wait_gone(app, 4);
        cr_assert_eq(stats_of(app).clients, 0);
        http_end(app);
}

Test(http_door, ipv6_has_a_share_too)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1 },
                                 "[::1]:0", NULL);
        struct client first = served(net_connect_v6(weir_port(app, 0)));

        expect_503(net_connect_v6(weir_port(app, 0)), GET, strlen(GET));
        client_close(&first);
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).clients, 0);
        http_end(app);
}

Test(http_door, an_address_is_one_client_by_ipv4_and_as_mapped_to_ipv6)
{
        struct weir *app = weir_new(&(struct weir_options){
                .loops = 1, .log = drop_log, .max_connections_per_client = 1 });
        struct client first;

        weir_listen(app, "*:0", NULL);
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
        first = served(net_connect(weir_port(app, 0)));
        expect_503(net_connect(weir_port(app, 1)), GET, strlen(GET));
        client_close(&first);
        http_end(app);
}

Test(http_door, over_the_share_one_is_closed_where_the_app_wants_that)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1,
                                                         .over_connections = WEIR_OVER_REFUSE },
                                 "127.0.0.1:0", NULL);
        struct client first = served(net_connect(weir_port(app, 0)));

        expect_closed(net_connect(weir_port(app, 0)));
        cr_assert_eq(stats_of(app).connections_refused_per_client, 1);
        client_close(&first);
        http_end(app);
}

Test(http_door, over_the_share_nobody_waits)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1,
                                                         .max_connections = 2,
                                                         .over_connections = WEIR_OVER_WAIT },
                                 "127.0.0.1:0", NULL);
        struct client first = served(net_connect(weir_port(app, 0)));

        expect_503(net_connect(weir_port(app, 0)), GET, strlen(GET));
        client_close(&first);
        http_end(app);
}

Test(http_door, clients_on_a_unix_socket_have_no_share)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1 },
                                 "unix:http_door.sock", NULL);
        struct client first = served(net_connect_unix("http_door.sock"));
        struct client second = served(net_connect_unix("http_door.sock"));

        cr_assert_eq(stats_of(app).clients, 0);
        client_close(&first);
        client_close(&second);
        http_end(app);
}

Test(http_door, a_trusted_proxy_has_no_share)
{
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1,
                                                         .trusted_proxies = "127.0.0.2/32",
                                                         .forwarded = WEIR_X_FORWARDED_FOR },
                                 "127.0.0.1:0", NULL);
        struct client first = served(connect_from(2, weir_port(app, 0)));
        struct client second = served(connect_from(2, weir_port(app, 0)));
        struct client other = served(connect_from(1, weir_port(app, 0)));

        expect_503(connect_from(1, weir_port(app, 0)), GET, strlen(GET));
        client_close(&first);
        client_close(&second);
        client_close(&other);
        http_end(app);
}

/* Says for whom it comes, and is served. */
static struct client served_for(const struct weir *app, const char *line)
{
        struct client client = client_to(app);

        client_send(&client, line);
        client_send(&client, GET);
        client_expect(&client, 200, "ok");
        return client;
}

Test(http_door, behind_the_proxy_protocol_the_share_is_of_whom_it_names)
{
        static const char line[] = "PROXY TCP4 192.0.2.1 192.0.2.9 4711 443\r\n" GET;
        static const char v6[] = "PROXY TCP6 2001:db8::2 2001:db8::9 4711 443\r\n" GET;
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 1 },
                                 "127.0.0.1:0", &behind_proxy);
        struct client first = served_for(app, "PROXY TCP4 192.0.2.1 192.0.2.9 1 443\r\n");
        struct client second = served_for(app, "PROXY TCP4 192.0.2.2 192.0.2.9 1 443\r\n");
        struct client third = served_for(app, "PROXY TCP6 2001:db8::1 2001:db8::9 1 443\r\n");
        struct client late = client_to(app);

        client_send(&late, "PROXY TCP4 192.0."); /* nobody yet */
        expect_503(net_connect(weir_port(app, 0)), line, strlen(line));
        expect_503(net_connect(weir_port(app, 0)), v6, strlen(v6));
        client_send(&late, "2.1 192.0.2.9 1 443\r\n" GET);
        client_read(&late, 503);
        client_expect_end(&late);
        cr_assert_eq(stats_of(app).connections_refused_per_client, 3);
        cr_assert_eq(stats_of(app).clients, 3);
        client_close(&first);
        client_close(&second);
        client_close(&third);
        client_close(&late);
        wait_gone(app, 3);
        cr_assert_eq(stats_of(app).clients, 0);
        http_end(app);
}

Test(http_door, a_proxy_that_names_nobody_has_no_share_where_it_is_trusted)
{
        struct weir_listen_options trusting = behind_proxy;
        struct weir *app;
        struct client first, second;

        trusting.trusted_proxies = "127.0.0.0/8";
        app = serve(&(struct weir_options){ .max_connections_per_client = 1 }, "127.0.0.1:0",
                    &trusting);
        first = served_for(app, "PROXY UNKNOWN\r\n");
        second = served_for(app, "PROXY UNKNOWN\r\n");
        cr_assert_eq(stats_of(app).clients, 0);
        client_close(&first);
        client_close(&second);
        http_end(app);
}

Test(http_door, nobody_is_counted_any_more_when_all_have_left)
{
        enum { N = 2000 };
        struct weir *app = serve(&(struct weir_options){ .max_connections_per_client = 8 },
                                 "127.0.0.1:0", NULL);
        struct linger none = { .l_onoff = 1 };
        struct client open[16];
        uint64_t came;

        for (int i = 0; i < N; i++) {
                int fd = connect_from((uint8_t)(1 + i % 250), weir_port(app, 0));

                cr_assert_geq(fd, 0);
                if (i % 3)
                        cr_assert(net_send(fd, GET, i % 3 == 1 ? 5 : strlen(GET)));
                if (i % 5 == 0)
                        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
                close(fd);
        }
        do
                came = stats_of(app).connections + stats_of(app).connections_refused_per_client;
        while (came < N);
        wait_open(app, 0);
        cr_assert_eq(stats_of(app).clients, 0);
        for (int i = 0; i < 16; i++)
                open[i] = served(connect_from((uint8_t)(1 + i / 8), weir_port(app, 0)));
        cr_assert_eq(stats_of(app).clients, 2);
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(stats_of(app).clients, 0);
        for (int i = 0; i < 16; i++)
                client_close(&open[i]);
        http_end(app);
}
