/*
 * http_bodiless.c - answers without a body on the wire: HEAD, 204, 205, 304, whatever they are
 * made of.
 *
 * The rules are those of RFC 9110 8.6, 9.3.2, 15.3.5, 15.3.6 and 15.4.5. What comes behind on the
 * same connection proves that not a byte too much was sent.
 */
#include "http.h"

#include <fcntl.h>

#define SIZE 5000 /* more than fits a reused answer */

static char data[SIZE];

enum kind { FIXED, EMPTY, TEXT, LARGE, BORROWED, FILED, STREAM, ENDLESS, KINDS };

static const char *const names[KINDS] = { "fixed", "empty",    "text",   "large",
                                          "borrowed", "file", "stream", "endless" };

static const int statuses[] = { 200, 204, 205, 304, 404 };

static struct weir_static *fixed[5];

static ssize_t pull(void *arg, char *buf, size_t size)
{
        size_t *at = arg, n = SIZE - *at < size ? SIZE - *at : size;

        memcpy(buf, data + *at, n);
        *at += n;
        return (ssize_t)n;
}

static int open_data(void)
{
        int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        cr_assert_geq(fd, 0);
        cr_assert_eq(write(fd, data, SIZE), SIZE);
        return fd;
}

static enum weir_flow answer(struct weir_ctx *ctx, void *self)
{
        int64_t kind = 0, i = 0;
        size_t *at = weir_alloc(ctx, sizeof(*at));

        (void)self;
        weir_param_int(ctx, "kind", 0, KINDS - 1, &kind);
        weir_param_int(ctx, "status", 0, 4, &i);
        *at = 0;
        switch ((enum kind)kind) {
        case FIXED:
                return weir_send_static(ctx, fixed[i]);
        case TEXT:
                return weir_text(ctx, statuses[i], "some text");
        case LARGE:
                return weir_bytes(ctx, statuses[i], "text/plain", (struct weir_str){ data, SIZE });
        case BORROWED:
                return weir_send(ctx, statuses[i], "text/plain", (struct weir_str){ data, SIZE },
                                 NULL, NULL);
        case FILED:
                return weir_file(ctx, statuses[i], "text/plain", open_data(), 0, SIZE);
        case STREAM:
        case ENDLESS:
                return weir_stream(ctx, statuses[i], "text/plain",
                                   kind == STREAM ? SIZE : WEIR_UNKNOWN_LENGTH, pull, NULL, at);
        case EMPTY:
        case KINDS:
                break;
        }
        return weir_status(ctx, statuses[i]);
}

static struct weir *app;

static void start_app(void)
{
        for (size_t i = 0; i < SIZE; i++)
                data[i] = (char)('a' + i % 26);
        app = http_app(1);
        for (int i = 0; i < 5; i++)
                fixed[i] = i == 0 || i == 4
                                   ? weir_static(app, statuses[i], "text/plain",
                                                          WEIR_STR("a fixed text"))
                                   : weir_static(app, statuses[i], NULL, (struct weir_str){ 0 });
        weir_get(app, "/{kind}/{status}", answer, NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_bodiless, .init = start_app, .fini = stop_app);

/* How long the body is that GET would bring. */
static int64_t length_of(int kind)
{
        return kind == EMPTY ? 0 : kind == TEXT ? 9 : kind == FIXED ? 12 : SIZE;
}

/* Asks, and lets `check` look; then the connection must be as the answer says. */
static void ask_for(const char *method, int kind, int status,
                    void (*check)(const struct answer *answer, int kind))
{
        struct client client = client_to(app);
        struct answer answer;
        char request[128];

        for (int again = 0; again < 2; again++) { /* the second time from a kept answer */
                sprintf(request, "%s /%d/%d HTTP/1.1\r\nHost: x\r\n\r\n", method, kind, status);
                client_send(&client, request);
                answer = client_next(&client, !strcmp(method, "HEAD"));
                cr_assert_eq(answer.status, statuses[status], "%s %d %s: %d", method,
                             statuses[status], names[kind], answer.status);
                check(&answer, kind);
                if (answer.closes) {
                        client_expect_end(&client);
                        client_close(&client);
                        client = client_to(app);
                }
                client_expect_alive(&client);
        }
        client_close(&client);
}

static void has_body(const struct answer *answer, int kind)
{
        cr_assert_eq((int64_t)answer->body.len, length_of(kind), "%s", names[kind]);
        if (kind >= LARGE)
                cr_assert(!memcmp(answer->body.ptr, data, SIZE), "%s", names[kind]);
        cr_assert_eq(answer->chunked, kind == ENDLESS, "%s", names[kind]);
}

static void tells_length(const struct answer *answer, int kind)
{
        if (kind == ENDLESS)
                cr_assert_eq(answer->length, -1);
        else
                cr_assert_eq(answer->length, length_of(kind), "%s: %ld", names[kind],
                             (long)answer->length);
}

static void tells_nothing(const struct answer *answer, int kind)
{
        cr_assert(answer->length == -1 && !answer->chunked, "%s", names[kind]);
        cr_assert_null(header_of(answer, "Content-Type").ptr, "%s", names[kind]);
}

static void is_empty(const struct answer *answer, int kind)
{
        cr_assert_eq(answer->length, 0, "%s", names[kind]);
}

static void tells_nothing_wrong(const struct answer *answer, int kind)
{
        cr_assert(answer->length == -1 || answer->length == length_of(kind), "%s: %ld", names[kind],
                  (long)answer->length);
        if (kind == EMPTY)
                cr_assert_eq(answer->length, -1, "that of the other answer is not known");
}

#define EACH_KIND(method, status, check)                                                           \
        for (int kind = 0; kind < KINDS; kind++)                                                   \
        ask_for(method, kind, status, check)

Test(http_bodiless, get_has_the_body)
{
        EACH_KIND("GET", 0, has_body);
        EACH_KIND("GET", 4, has_body);
}

Test(http_bodiless, head_has_no_body_and_tells_the_length_that_get_would_have)
{
        EACH_KIND("HEAD", 0, tells_length);
        EACH_KIND("HEAD", 4, tells_length);
}

Test(http_bodiless, a_204_has_no_body_and_no_length)
{
        EACH_KIND("GET", 1, tells_nothing);
        EACH_KIND("HEAD", 1, tells_nothing);
}

Test(http_bodiless, a_205_has_an_empty_body)
{
        EACH_KIND("GET", 2, is_empty);
        EACH_KIND("HEAD", 2, is_empty);
}

Test(http_bodiless, a_304_has_no_body_and_no_length_but_that_of_the_200)
{
        EACH_KIND("GET", 3, tells_nothing_wrong);
        EACH_KIND("HEAD", 3, tells_nothing_wrong);
}

Test(http_bodiless, head_and_get_alternate_on_one_kept_answer)
{
        struct client client = client_to(app);

        for (int i = 0; i < 20; i++) {
                client_send(&client, "HEAD /2/0 HTTP/1.1\r\nHost: x\r\n\r\n"
                                     "GET /2/0 HTTP/1.1\r\nHost: x\r\n\r\n");
                cr_assert_eq(client_next(&client, true).length, 9);
                client_expect(&client, 200, "some text");
        }
        client_close(&client);
}
