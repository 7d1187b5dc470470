/*
 * heap_upload.c - uploads in pieces take nothing from the heap, and survive one that has nothing.
 *
 * As in heap.c, every call of the heap fails once.
 */
#include "heap_net.h"
#include <weir/json.h>
#include <weir/multipart.h>

/* ---- The app. ---- */

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

static enum weir_flow count(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        *weir_own(ctx) += piece.len;
        return last ? weir_textf(ctx, 200, "%llu", (unsigned long long)*weir_own(ctx)) : WEIR_NEXT;
}

/* Waits for a moment with each piece. */
static enum weir_flow doze(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self, (void)piece;
        if (last)
                return weir_text(ctx, 200, "ok");
        return (*weir_own(ctx))++ % 2 ? WEIR_NEXT : weir_wait_until(ctx, weir_now(ctx));
}

static enum weir_flow take_form(struct weir_ctx *ctx, void *self, struct weir_parts *parts)
{
        (void)self;
        return weir_text(ctx, weir_part(parts, "a") ? 200 : 500, "form");
}

static enum weir_flow take_value(struct weir_ctx *ctx, void *self, json_t *value, uint64_t line)
{
        (void)ctx, (void)self, (void)value, (void)line;
        return WEIR_NEXT;
}

static enum weir_flow answer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "lines");
}

static struct weir *make_app(void)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1, .workers = 1, .log = drop_log });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_route(app, WEIR_POST, "/count", pass, NULL,
                   &(struct weir_route_options){ .on_body = count });
        weir_route(app, WEIR_POST, "/doze", pass, NULL,
                   &(struct weir_route_options){ .waits = true, .on_body = doze });
        weir_route(app, WEIR_POST, "/block", pass, NULL,
                   &(struct weir_route_options){ .blocking = true, .on_body = count });
        weir_multipart(app, "/form", take_form, NULL, NULL);
        weir_multipart(app, "/form/block", take_form, NULL,
                       &(struct weir_multipart_options){ .route.blocking = true });
        weir_json_lines(app, "/lines", take_value, answer, NULL, NULL);
        return app;
}

/* ---- Nothing is taken. ---- */

#define POST(path) "POST " path " HTTP/1.1\r\nHost: x\r\n"
#define CLOSE(path) POST(path) "Connection: close\r\n"
#define CHUNKED    "Transfer-Encoding: chunked\r\n\r\n"

static const char *const asks[] = {
        POST("/count") "Content-Length: 5\r\n\r\nhello",
        POST("/doze") "Content-Length: 5\r\n\r\nhello",
        POST("/block") "Content-Length: 5\r\n\r\nhello",
};

static void test_zero(void)
{
        struct weir *app = make_app();

        check(weir_start(app) == 0, "weir_start()", "failed");
        for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
                takes_nothing(weir_port(app, 0), asks[i]);
        weir_free(app);
}

/* ---- Nothing is left. ---- */

#define FORM                                                                                       \
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 170\r\n\r\n"             \
        "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1234567890123456789012345\r\n"       \
        "--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n12345\r\n--b--" PADDING
#define PADDING "\r\nthe rest does not count"

static const char *const visits[] = {
        CLOSE("/count") "Content-Length: 5\r\n\r\nhello",
        CLOSE("/count") CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        CLOSE("/doze") CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        CLOSE("/block") CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        CLOSE("/form") FORM,
        CLOSE("/form/block") FORM,
        CLOSE("/lines") "Content-Type: application/x-ndjson\r\n" CHUNKED
                       "5\r\n[1]\n[\r\n3\r\n2]\n\r\n0\r\n\r\n",
};

static void live(void)
{
        struct weir *app = make_app();

        if (app && weir_start(app) == 0) {
                for (size_t i = 0; i < sizeof(visits) / sizeof(visits[0]); i++) {
                        int status = visit(weir_port(app, 0), visits[i]);

                        check(!status || status == 200 || status >= 500, visits[i],
                              "an odd status");
                }
                check(weir_stop(app) == 0, "weir_stop()", "failed");
                expect_nothing_left(app);
        }
        weir_free(app);
}

int main(void)
{
        test_zero();
        test_failing(live, false);
        test_failing(live, true);
        printf("3 passed, 0 failed\n");
        return 0;
}
