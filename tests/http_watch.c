/*
 * http_watch.c - clients that take too long: each is cut off, and others are not. The limits are
 * short here; a test waits for what must happen, never for how long that takes.
 */
#include "http.h"

#include <fcntl.h>
#include <sys/stat.h>

#define LIMIT_MS 60

static struct weir *app;
static char path[] = "/tmp/weir-watch-XXXXXX";

static enum weir_flow take_body(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%zu", ctx->body.len);
}

static ssize_t fill(void *arg, char *buf, size_t size)
{
        (void)arg;
        memset(buf, 'x', size);
        return (ssize_t)size;
}

static enum weir_flow endless(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, fill, NULL, NULL);
}

/* A file that is shorter by the time it is sent: sendfile() finds nothing there. */
static enum weir_flow shrinking(struct weir_ctx *ctx, void *self)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);
        enum weir_flow flow;

        (void)self;
        cr_assert_eq(ftruncate(fd, 1 << 20), 0);
        flow = weir_file(ctx, 200, "text/plain", fd, 0, 1 << 20);
        cr_assert_eq(truncate(path, 10), 0);
        return flow;
}

/* Longer than any limit of the connection. */
static enum weir_flow think(struct weir_ctx *ctx, void *self)
{
        (void)self;
        if (*weir_own(ctx))
                return weir_text(ctx, 200, "thought");
        *weir_own(ctx) = 1;
        return weir_wait_until(ctx, weir_now(ctx) + 5ull * LIMIT_MS * 1000000);
}

static void start_app(void)
{
        int fd = mkstemp(path);

        cr_assert_geq(fd, 0);
        close(fd);
        app = weir_new(&(struct weir_options){ .loops = 1,
                                               .idle_timeout_ms = 2 * LIMIT_MS,
                                               .header_timeout_ms = LIMIT_MS,
                                               .rate_window_ms = LIMIT_MS,
                                               .max_requests = 50,
                                               .log = drop_log });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "ok");
        weir_post(app, "/", take_body, NULL);
        weir_get(app, "/endless", endless, NULL);
        weir_get(app, "/shrinking", shrinking, NULL);
        weir_route(app, WEIR_GET, "/think", think, NULL,
                   &(struct weir_route_options){ .waits = true });
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
        unlink(path);
}

TestSuite(http_watch, .init = start_app, .fini = stop_app);

Test(http_watch, a_connection_without_a_request_is_closed_silently)
{
        struct client client = client_to(app);

        client_expect_end(&client);
        cr_assert_eq(stats_of(app).idle_closed, 1);
        client_close(&client);
}

Test(http_watch, a_connection_that_is_idle_between_requests_is_closed_silently)
{
        struct client client = client_to(app);

        client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "ok");
        client_expect_end(&client);
        cr_assert_eq(stats_of(app).idle_closed, 1);
        cr_assert_eq(stats_of(app).aborted, 0);
        client_close(&client);
}

static void expect_408(const char *beginning)
{
        struct client client = client_to(app);

        client_send(&client, beginning);
        client_read(&client, 408);
        client_expect_end(&client);
        client_close(&client);
        wait_idle(app);
}

Test(http_watch, a_head_that_does_not_come_in_is_answered_408)
{
        expect_408("GE");
        expect_408("GET / HTTP/1.1\r\nHost: x");
        cr_assert_eq(stats_of(app).header_timeouts, 2);
}

Test(http_watch, a_body_that_does_not_come_in_is_answered_408)
{
        expect_408("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
        expect_408("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
        cr_assert_eq(stats_of(app).body_timeouts, 2);
        cr_assert_eq(stats_of(app).status[4], 2);
}

Test(http_watch, a_client_that_does_not_read_is_cut_off)
{
        struct client client = client_to(app);

        client_send(&client, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).write_timeouts, 1);
        cr_assert_eq(stats_of(app).aborted, 1);
        client_close(&client);
}

Test(http_watch, a_file_that_shrinks_does_not_hold_its_connection)
{
        struct client client = client_to(app);

        client_send(&client, "GET /shrinking HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).write_timeouts, 1);
        client_close(&client);
}

Test(http_watch, a_request_that_the_app_thinks_about_is_not_cut_off)
{
        struct client client = client_to(app);

        client_send(&client, "GET /think HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "thought");
        client_close(&client);
}

Test(http_watch, a_connection_is_closed_behind_its_last_request)
{
        struct client client = client_to(app);

        for (int i = 1; i <= 50; i++) {
                struct answer answer;

                client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
                answer = client_read(&client, 200);
                cr_assert_eq(header_of(&answer, "Connection").len != 0, i == 50);
        }
        client_expect_end(&client);
        cr_assert_eq(stats_of(app).idle_closed, 0);
        client_close(&client);
}

Test(http_watch, a_connection_that_is_too_old_is_closed_behind_an_answer_or_while_idle)
{
        struct weir *old = weir_new(
                &(struct weir_options){ .loops = 1, .max_age_ms = LIMIT_MS, .log = drop_log });
        struct client idle, busy;
        bool closes = false;

        weir_listen(old, "127.0.0.1:0", NULL);
        weir_get(old, "/", say, "ok");
        http_start(old);
        idle = client_to(old);
        client_expect_end(&idle);
        busy = client_to(old);
        while (!closes) {
                struct answer answer;

                if (!client_try_send(&busy, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27))
                        break;
                answer = client_next(&busy, false);
                if (!answer.status)
                        break; /* the look came between two requests */
                closes = header_of(&answer, "Connection").len != 0;
        }
        wait_gone(old, 2);
        client_close(&idle);
        client_close(&busy);
        http_end(old);
}
