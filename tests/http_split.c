/*
 * http_split.c - how a request is cut up on its way makes no difference.
 *
 * Each request of a table is sent whole, then split in two at every byte, then byte by byte. The
 * server reads each part before the next is sent: unix sockets tell. Behind each stands a last
 * request that closes, so that all that came can be read to its end.
 */
#include "http.h"

#include <weir/json.h>

#define H    "Host: x\r\n\r\n"
#define POST "POST /echo HTTP/1.1\r\nHost: x\r\n"
#define TE   "Transfer-Encoding: chunked\r\n\r\n"
#define LAST "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

enum { CLOSES = 1, CLOSES_WHEN_OLD = 2 };

struct request {
        const char *text;
        const char *statuses; /* of all answers but that of LAST     */
        int         closes;   /* is the connection closed behind it? */
};

static const struct request requests[] = {
        { "GET /hello HTTP/1.1\r\n" H, "200", 0 },
        { "GET /hello?a=1&b=%20x HTTP/1.1\r\n" H, "200", 0 },
        { "GET /items/a%2Fb%20c/d?q=%2B+ HTTP/1.1\r\nAccept: */*\r\n" H, "200", 0 },
        { "GET /items/%zz/d HTTP/1.1\r\n" H, "400", 0 },
        { "GET http://x/hello HTTP/1.1\r\n" H, "200", 0 },
        { "GET http://Y:80/items/1/2?z HTTP/1.1\r\n" H, "200", 0 },
        { "GET /fixed HTTP/1.1\r\n" H, "200", 0 },
        { "GET /stream HTTP/1.1\r\n" H, "200", 0 },
        { "GET /known HTTP/1.1\r\n" H, "200", 0 },
        { "GET /old HTTP/1.1\r\n" H, "301", 0 },
        { "GET /none HTTP/1.1\r\n" H, "404", 0 },
        { "GET /same HTTP/1.1\r\nIf-None-Match: \"1\"\r\n" H, "304", CLOSES_WHEN_OLD },
        { "HEAD /hello HTTP/1.1\r\n" H, "200", 0 },
        { "HEAD /stream HTTP/1.1\r\n" H, "200", CLOSES_WHEN_OLD },
        { "OPTIONS /echo HTTP/1.1\r\n" H, "204", 0 },
        { "OPTIONS * HTTP/1.1\r\n" H, "204", 0 },
        { "DELETE /gone HTTP/1.1\r\n" H, "204", 0 },
        { "DELETE /hello HTTP/1.1\r\n" H, "405", 0 },
        { "BREW /hello HTTP/1.1\r\n" H, "501", 0 },
        { "GET /hello HTTP/1.2\r\n" H, "200", 0 },
        { "GET /hello HTTP/1.0\r\n\r\n", "200", CLOSES },
        { "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200", 0 },
        { "GET /hello HTTP/1.1\r\nConnection: close\r\n" H, "200", CLOSES },
        { "GET /hello HTTP/1.1\r\nCookie: a=b\r\nX:\r\nY: \t z\t \r\n" H, "200", 0 },
        { POST "Content-Length: 0\r\n\r\n", "200", 0 },
        { POST "Content-Length: 5\r\n\r\nhello", "200", 0 },
        { POST "Content-Length: 005\r\n\r\nhello", "200", 0 },
        { POST "Content-Length: 65\r\n\r\n"
               "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef!",
          "413", 0 },
        { POST TE "0\r\n\r\n", "200", CLOSES_WHEN_OLD },
        { POST TE "5\r\nhello\r\n0\r\n\r\n", "200", CLOSES_WHEN_OLD },
        { POST TE "1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n", "200", CLOSES_WHEN_OLD },
        { POST TE "00A\r\n0123456789\r\n0a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n", "200",
          CLOSES_WHEN_OLD },
        { POST TE "40\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n"
                  "1\r\n!\r\n0\r\n\r\n",
          "413", CLOSES_WHEN_OLD },
        { "POST /form HTTP/1.1\r\nContent-Length: 16\r\n"
          "Content-Type: application/x-www-form-urlencoded\r\n" H "name=J%C3%B6+%26",
          "200", 0 },
        { "POST /json HTTP/1.1\r\nContent-Length: 12\r\nContent-Type: application/json\r\n" H
          "{\"name\":\"J\"}",
          "200", 0 },
        { "POST /json HTTP/1.1\r\nContent-Length: 11\r\nContent-Type: application/json\r\n" H
          "{\"name\":\"J\"",
          "400", 0 },
        { "GET /hello HTTP/1.1\r\n" H "GET /fixed HTTP/1.1\r\n" H, "200 200", 0 },
        { POST "Content-Length: 2\r\n\r\nhi"
               "HEAD /hello HTTP/1.1\r\n" H,
          "200 200", 0 },
        { "GET /none HTTP/1.1\r\n" H POST "Content-Length: 3\r\n\r\nabc", "404 200", 0 },
        { "GET /hello HTTP/1.1\r\n" H "GET / HTTP/1.1\r\nHost: x\r\n" H, "200 400", CLOSES },
};

/* ---- The app. ---- */

static enum weir_flow show(struct weir_ctx *ctx, void *self)
{
        struct weir_str a = weir_param(ctx, "a"), b = weir_param(ctx, "b"), q = { 0 };

        (void)self;
        weir_query(ctx, "q", &q);
        weir_set_header(ctx, "X-Long", "a field that makes the block of fields larger than it was");
        return weir_textf(ctx, 200, "%.*s|%.*s|%.*s|%.*s", WEIR_FMT(ctx->host), WEIR_FMT(a),
                          WEIR_FMT(b), WEIR_FMT(q));
}

static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

static enum weir_flow form(struct weir_ctx *ctx, void *self)
{
        struct weir_str name = { 0 };

        (void)self;
        if (weir_form(ctx, "name", &name) != WEIR_FIELD_OK)
                return weir_fail(ctx, 400, "name");
        return weir_bytes(ctx, 200, "text/plain", name);
}

static enum weir_flow json(struct weir_ctx *ctx, void *self)
{
        json_t *body = weir_json_body(ctx);

        (void)self;
        return body ? weir_json_new(ctx, 200, body) : WEIR_DONE;
}

static enum weir_flow nothing(struct weir_ctx *ctx, void *status)
{
        return weir_status(ctx, *(const int *)status);
}

static enum weir_flow fixed(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

static enum weir_flow moved(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_redirect(ctx, 301, "/hello");
}

/* Three pieces, then the end. */
static ssize_t pull(void *arg, char *buf, size_t size)
{
        int *n = arg;

        if (++*n > 3)
                return 0;
        cr_assert_geq(size, 5);
        memcpy(buf, "piece", 5);
        return 5;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *length)
{
        int *n = weir_alloc(ctx, sizeof(*n));

        *n = 0;
        return weir_stream(ctx, 200, "text/plain", length ? 15 : WEIR_UNKNOWN_LENGTH, pull, NULL,
                           n);
}

static struct weir *app;
static char dir[] = "/tmp/weir-test-XXXXXX", path[64];

static void start_app(void)
{
        static int gone = 204, same = 304;
        char address[80];

        app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log, .scope.max_body = 64 });
        cr_assert(mkdtemp(dir));
        snprintf(path, sizeof(path), "%s/sock", dir);
        snprintf(address, sizeof(address), "unix:%s", path);
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_listen(app, address, NULL);
        weir_get(app, "/hello", say, "hello");
        weir_get(app, "/last", say, "last");
        weir_get(app, "/items/{a}/{b}", show, NULL);
        weir_get(app, "/fixed", fixed, weir_static(app, 200, "text/html", WEIR_STR("<p>")));
        weir_get(app, "/stream", stream, NULL);
        weir_get(app, "/known", stream, app);
        weir_get(app, "/old", moved, NULL);
        weir_get(app, "/same", nothing, &same);
        weir_delete(app, "/gone", nothing, &gone);
        weir_post(app, "/echo", echo, NULL);
        weir_post(app, "/form", form, NULL);
        weir_post(app, "/json", json, NULL);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
        rmdir(dir);
}

TestSuite(http_split, .init = start_app, .fini = stop_app);

/* ---- Asking. ---- */

/* All that comes back, dates blanked, for the caller to free. */
static char *read_dateless(struct client *client)
{
        struct weir_str all = client_read_all(client, NULL);
        char *text = malloc(all.len + 1);

        memcpy(text, all.ptr, all.len + 1);
        for (char *at = text; (at = strstr(at, "\r\nDate: ")); at += 8)
                memset(at + 8, '-', 29);
        return text;
}

/* Sends a request in parts of these sizes, the last one all the rest, LAST included. */
static char *ask_in_parts(const char *request, size_t first, size_t more)
{
        struct client client = client_on(net_connect_unix(path));
        size_t len = strlen(request) + strlen(LAST), at = 0;
        char *all = malloc(len + 1), *reply;

        sprintf(all, "%s%s", request, LAST);
        for (size_t part = first; part && at + part < len; part = more) {
                if (!client_try_send(&client, all + at, part))
                        break;
                client_wait_taken(&client);
                at += part;
        }
        client_try_send(&client, all + at, len - at);
        reply = read_dateless(&client);
        client_close(&client);
        free(all);
        return reply;
}

/* The status of each answer, but that of LAST when it came. */
static void expect_statuses(const struct request *request, const char *reply)
{
        bool closes = request->closes == CLOSES ||
                      (request->closes == CLOSES_WHEN_OLD && mhd_is_old());
        char statuses[64] = "";
        size_t len = 0;

        for (const char *at = reply; (at = strstr(at, "HTTP/1.1 ")); at += 9)
                len += (size_t)sprintf(statuses + len, "%s%.3s", len ? " " : "", at + 9);
        if (!closes) {
                cr_assert(len > 4 && !strcmp(statuses + len - 4, " 200"), "%s: %s", request->text,
                          statuses);
                cr_assert_str_eq(reply + strlen(reply) - 4, "last");
                statuses[len - 4] = '\0';
        }
        cr_assert_str_eq(statuses, request->statuses, "%s: %s", request->text, statuses);
}

static void expect_same(const struct request *request, const char *want, char *reply, size_t split)
{
        cr_assert_str_eq(reply, want, "split at %zu: %s\nbrings\n%s\nnot\n%s", split, request->text,
                         reply, want);
        free(reply);
}

#define N (sizeof(requests) / sizeof(requests[0]))

Test(http_split, each_request_has_the_answer_that_it_should)
{
        for (size_t i = 0; i < N; i++) {
                char *reply = ask_in_parts(requests[i].text, 0, 0);

                expect_statuses(&requests[i], reply);
                free(reply);
        }
}

Test(http_split, a_request_in_two_parts_has_the_answer_of_the_whole)
{
        for (size_t i = 0; i < N; i++) {
                char *want = ask_in_parts(requests[i].text, 0, 0);

                for (size_t split = 1; split <= strlen(requests[i].text); split++)
                        expect_same(&requests[i], want, ask_in_parts(requests[i].text, split, 0),
                                    split);
                free(want);
        }
}

Test(http_split, a_request_byte_by_byte_has_the_answer_of_the_whole)
{
        for (size_t i = 0; i < N; i++) {
                char *want = ask_in_parts(requests[i].text, 0, 0);

                expect_same(&requests[i], want, ask_in_parts(requests[i].text, 1, 1), 0);
                expect_same(&requests[i], want, ask_in_parts(requests[i].text, 3, 2), 0);
                free(want);
        }
}

Test(http_split, over_tcp_it_is_the_same)
{
        for (size_t i = 0; i < N; i++) {
                struct client client = client_to(app);
                char *want = ask_in_parts(requests[i].text, 0, 0);

                for (const char *at = requests[i].text; *at; at++) {
                        if (!client_try_send(&client, at, 1))
                                break;
                }
                client_try_send(&client, LAST, strlen(LAST));
                expect_same(&requests[i], want, read_dateless(&client), 0);
                client_close(&client);
                free(want);
        }
}
