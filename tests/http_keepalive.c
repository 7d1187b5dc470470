/*
 * http_keepalive.c - connections: kept where they should be, closed where they must.
 */
#include "http.h"

#include <pthread.h>

#define H    "Host: x\r\n"
#define GET  "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define TE   "Transfer-Encoding: chunked\r\n\r\n"

static struct weir *app;

static enum weir_flow close_it(struct weir_ctx *ctx, void *fixed)
{
        weir_close(ctx);
        if (fixed)
                return weir_send_static(ctx, fixed);
        return weir_text(ctx, 200, "closed");
}

static enum weir_flow fixed(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

static enum weir_flow empty(struct weir_ctx *ctx, void *status)
{
        return weir_status(ctx, *(const int *)status);
}

static enum weir_flow tell(struct weir_ctx *ctx, void *self)
{
        struct weir_str n = { 0 };

        (void)self;
        weir_query(ctx, "n", &n);
        return weir_bytes(ctx, 200, "text/plain", n);
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        int *left = arg;

        (void)size;
        if (!*left)
                return 0;
        *buf = (char)('a' + --*left);
        return 1;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        int *left = weir_alloc(ctx, sizeof(*left));

        (void)self;
        *left = 3;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull, NULL, left);
}

static void start_app(void)
{
        static int none = 204, same = 304;
        struct weir_static *text;

        app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log, .scope.max_body = 10 });
        weir_listen(app, "127.0.0.1:0", NULL);
        text = weir_static(app, 200, "text/plain", WEIR_STR("fixed"));
        weir_any(app, "/", say, "ok");
        weir_get(app, "/fixed", fixed, text);
        weir_get(app, "/none", empty, &none);
        weir_get(app, "/same", empty, &same);
        weir_get(app, "/n", tell, NULL);
        weir_get(app, "/stream", stream, NULL);
        weir_get(app, "/close", close_it, NULL);
        weir_get(app, "/close-fixed", close_it, text);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_keepalive, .init = start_app, .fini = stop_app);

/* ---- Kept or closed. ---- */

struct row {
        const char *request;
        int         status;
};

static struct answer ask_row(struct client *client, const struct row *row)
{
        struct answer answer;

        client_send(client, row->request);
        answer = client_next(client, !strncmp(row->request, "HEAD", 4));
        cr_assert_eq(answer.status, row->status, "%s: %d", row->request, answer.status);
        return answer;
}

/* Answered without "close" and followed by more, all on one connection. */
static void expect_kept(const struct row *rows, size_t n)
{
        struct client client = client_to(app);

        for (size_t i = 0; i < n; i++) {
                cr_assert(!ask_row(&client, &rows[i]).closes, "%s", rows[i].request);
                client_expect_alive(&client);
        }
        client_close(&client);
        cr_assert_eq(stats_of(app).connections, 1);
}

/* Answered with "close" and the end behind it; what comes with it is not served. */
static void expect_closed(const struct row *rows, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                struct client client = client_to(app);
                uint64_t served = stats_of(app).requests;
                struct weir_str rest;

                cr_assert(ask_row(&client, &rows[i]).closes, "%s", rows[i].request);
                client_expect_end(&client);
                client_close(&client);
                client = client_to(app);
                client_send(&client, rows[i].request);
                client_try_send(&client, GET "\r\n", strlen(GET) + 2);
                client_next(&client, !strncmp(rows[i].request, "HEAD", 4));
                rest = client_read_all(&client, NULL);
                cr_assert_eq(rest.len, 0, "%s: then %s", rows[i].request, rest.ptr);
                client_close(&client);
                cr_assert_eq(stats_of(app).requests, served + 2, "%s", rows[i].request);
        }
}

#define EACH(rows) rows, sizeof(rows) / sizeof((rows)[0])

Test(http_keepalive, a_connection_is_kept_where_nothing_speaks_against_it)
{
        static const struct row rows[] = {
                { GET "\r\n", 200 },
                { GET "Connection: keep-alive\r\n\r\n", 200 },
                { "GET /fixed HTTP/1.1\r\n" H "\r\n", 200 },
                { "GET /stream HTTP/1.1\r\n" H "\r\n", 200 },
                { "GET /none HTTP/1.1\r\n" H "\r\n", 204 },
                { "GET /nowhere HTTP/1.1\r\n" H "\r\n", 404 },
                { "GET /%zz HTTP/1.1\r\n" H "\r\n", 400 },
                { "DELETE /n HTTP/1.1\r\n" H "\r\n", 405 },
                { "BREW / HTTP/1.1\r\n" H "\r\n", 200 },
                { "BREW /n HTTP/1.1\r\n" H "\r\n", 501 },
                { "OPTIONS /n HTTP/1.1\r\n" H "\r\n", 204 },
                { "OPTIONS * HTTP/1.1\r\n" H "\r\n", 204 },
                { "HEAD / HTTP/1.1\r\n" H "\r\n", 200 },
                { "HEAD /nowhere HTTP/1.1\r\n" H "\r\n", 404 },
                { POST "Content-Length: 0\r\n\r\n", 200 },
                { POST "Content-Length: 3\r\n\r\nabc", 200 },
                { POST "Content-Length: 11\r\n\r\n01234567890", 413 },
                { "POST /nowhere HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", 404 },
                { "POST /n HTTP/1.1\r\n" H "Content-Length: 11\r\n\r\n01234567890", 413 },
                { "GET / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", 200 },
                { "GET / HTTP/1.2\r\n" H "\r\n", 200 },
        };

        expect_kept(EACH(rows));
}

Test(http_keepalive, a_client_of_http_1_0_keeps_its_connection_when_it_asks_for_it)
{
        static const struct row rows[] = {
                { "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200 },
                { "GET /fixed HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 200 },
                { "GET /nowhere HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 404 },
                { "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200 },
                { "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
                  200 },
        };
        struct client client = client_to(app);

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct answer answer = ask_row(&client, &rows[i]);

                cr_assert(name_is(header_of(&answer, "Connection"), "keep-alive"), "%s",
                          rows[i].request); /* RFC 9112 9.3 */
        }
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_keepalive, a_connection_is_closed_when_the_client_says_so)
{
        static const struct row rows[] = {
                { GET "Connection: close\r\n\r\n", 200 },
                { GET "Connection: Close\r\n\r\n", 200 },
                { GET "Connection: keep-alive, close\r\n\r\n", 200 },
                { "GET /fixed HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 200 },
                { "GET /none HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 204 },
                { "GET /nowhere HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 404 },
                { "GET /stream HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 200 },
                { "HEAD / HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 200 },
                { POST "Connection: close\r\nContent-Length: 3\r\n\r\nabc", 200 },
                { "GET / HTTP/1.0\r\n\r\n", 200 },
                { "GET /fixed HTTP/1.0\r\n\r\n", 200 },
                { "GET / HTTP/1.0\r\nConnection: close\r\n\r\n", 200 },
        };

        expect_closed(EACH(rows));
}

Test(http_keepalive, a_connection_is_closed_when_the_handler_or_the_guard_says_so)
{
        static const struct row rows[] = {
                { "GET /close HTTP/1.1\r\n" H "\r\n", 200 },
                { "HEAD /close HTTP/1.1\r\n" H "\r\n", 200 },
                { "GET /close-fixed HTTP/1.1\r\n" H "\r\n", 200 },
                { "GET /close HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200 },
                { GET H "\r\n", 400 },
                { GET "A(b): c\r\n\r\n", 400 },
                { "CONNECT x:1 HTTP/1.1\r\n" H "\r\n", 501 },
                { POST "Content-Length: 70000\r\n\r\nabc", 413 },
        };

        expect_closed(EACH(rows));
}

Test(http_keepalive, behind_chunks_it_is_kept_if_the_library_checks_them)
{
        static const struct row rows[] = {
                { POST TE "0\r\n\r\n", 200 },
                { POST TE "3\r\nabc\r\n0\r\n\r\n", 200 },
                { POST TE "3\r\nabc\r\n0\r\nA: b\r\n\r\n", 200 },
                { POST TE "b\r\n01234567890\r\n0\r\n\r\n", 413 },
                { "POST /n HTTP/1.1\r\n" H TE "3\r\nabc\r\n0\r\n\r\n", 405 },
        };

        if (mhd_is_old())
                expect_closed(EACH(rows));
        else
                expect_kept(EACH(rows));
}

Test(http_keepalive, behind_an_answer_of_unknown_length_without_body_it_is_kept_if_the_library_can)
{
        static const struct row rows[] = {
                { "GET /same HTTP/1.1\r\n" H "\r\n", 304 },
                { "HEAD /same HTTP/1.1\r\n" H "\r\n", 304 },
                { "HEAD /stream HTTP/1.1\r\n" H "\r\n", 200 },
        };

        if (mhd_is_old())
                expect_closed(EACH(rows));
        else
                expect_kept(EACH(rows));
}

Test(http_keepalive, a_stream_of_unknown_length_ends_with_the_connection_for_http_1_0)
{
        struct client client = client_to(app);
        struct answer answer;

        client_send(&client, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        answer = client_read(&client, 200);
        cr_assert(answer.until_close && !answer.chunked);
        cr_assert(weir_str_is(answer.body, "cba"));
        client_close(&client);
}

/* ---- Many on one connection. ---- */

Test(http_keepalive, fifty_requests_in_one_go_are_answered_in_order)
{
        struct client client = client_to(app);
        char all[50 * 128], text[16];
        size_t len = 0;

        for (int i = 0; i < 50; i++) {
                static const char *const other[] = {
                        "GET /fixed HTTP/1.1\r\n" H "\r\n",
                        "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
                        "GET /stream HTTP/1.1\r\n" H "\r\n",
                        "GET /nowhere HTTP/1.1\r\n" H "\r\n",
                };

                if (i % 3)
                        sprintf(text, "%d", i);
                len += (size_t)sprintf(all + len, "%s%s%s", i % 3 ? "GET /n?n=" : "",
                                       i % 3 ? text : other[i / 3 % 4],
                                       i % 3 ? " HTTP/1.1\r\n" H "\r\n" : "");
        }
        client_send_bytes(&client, all, len);
        for (int i = 0; i < 50; i++) {
                static const char *const bodies[] = { "fixed", "ok", "cba" };
                int kind = i / 3 % 4;

                sprintf(text, "%d", i);
                if (i % 3)
                        client_expect(&client, 200, text);
                else if (kind == 3)
                        client_read(&client, 404);
                else
                        client_expect(&client, 200, bodies[kind]);
        }
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_keepalive, a_thousand_requests_one_after_the_other_use_one_connection)
{
        struct client client = client_to(app);
        struct weir_stats stats;
        char text[64], body[16];

        for (int i = 0; i < 1000; i++) {
                sprintf(text, "GET /n?n=%d HTTP/1.1\r\n" H "\r\n", i);
                sprintf(body, "%d", i);
                client_send(&client, text);
                client_expect(&client, 200, body);
        }
        stats = stats_of(app);
        cr_assert_eq(stats.connections, 1);
        cr_assert_eq(stats.requests, 1000);
        cr_assert_eq(stats.status[2], 1000);
        client_close(&client);
}

/* ---- While the server stops. ---- */

static void *stop_it(void *self)
{
        weir_stop(self);
        return NULL;
}

Test(http_keepalive, while_the_server_drains_an_answer_says_close)
{
        struct client idle = client_to(app), busy = client_to(app);
        struct answer answer;
        pthread_t stopper;

        client_expect_alive(&idle);
        client_send(&busy, POST "Content-Length: 3\r\n\r\nab");
        while (stats_of(app).requests < 2)
                sched_yield();
        pthread_create(&stopper, NULL, stop_it, app);
        client_expect_end(&idle); /* now the loop drains */
        client_send(&busy, "c");
        answer = client_read(&busy, 200);
        cr_assert(answer.closes && weir_str_is(answer.body, "ok"));
        client_expect_end(&busy);
        pthread_join(stopper, NULL);
        client_close(&idle);
        client_close(&busy);
}

Test(http_keepalive, a_stop_ends_with_the_last_connection_that_closes_slowly)
{
        struct client client = client_to(app);
        pthread_t stopper;
        time_t start;
        int fd;

        client_send(&client, GET H "\r\n");
        client_read(&client, 400);
        client_expect_end(&client); /* the server still reads */
        pthread_create(&stopper, NULL, stop_it, app);
        while ((fd = net_connect(weir_port(app, 0))) >= 0)
                close(fd);
        start = time(NULL);
        client_close(&client);
        pthread_join(stopper, NULL);
        cr_assert_lt(time(NULL) - start, 10, "drain_timeout_ms is 20 s");
}

Test(http_keepalive, a_lame_server_serves_on_and_says_close)
{
        struct client client;
        struct answer answer;
        pthread_t stopper;

        weir_free(app);
        app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_delay_ms = 1000 });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
        pthread_create(&stopper, NULL, stop_it, app);
        do {
                client = client_to(app);
                client_send(&client, GET "\r\n");
                answer = client_read(&client, 200);
                if (answer.closes)
                        client_expect_end(&client);
                client_close(&client);
        } while (!answer.closes);
        pthread_join(stopper, NULL);
}
