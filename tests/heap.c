/*
 * heap.c - requests take nothing from the heap; and nothing breaks when the heap has nothing left.
 *
 * The app starts, serves and stops once for every call of the heap that there is, which fails then.
 * What is lost on the way, a sanitizer finds.
 */
#include "heap.h"
#include "net.h"
#include <weir/files.h>
#include <weir/json.h>
#include <weir/weir.h>

/* ---- Checking. ---- */

static int n_passed;

static void check(bool ok, const char *what, const char *detail)
{
        if (ok)
                return;
        atomic_store(&fail_at, 0);
        printf("heap: %s: %s\n%d passed, 1 failed\n", what, detail, n_passed);
        exit(1);
}

/* ---- The app. ---- */

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)self;
        *weir_own(ctx) = 1;
        return WEIR_NEXT;
}

static void passed(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_set_default_header(ctx, "X-Passed", "1");
}

static enum weir_flow fixed(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

/* 500 bytes of JSON and three header fields. */
static enum weir_flow json(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_set_header(ctx, "X-One", "1");
        weir_set_headerf(ctx, "X-Two", "%d", 2);
        weir_set_header(ctx, "Cache-Control", "no-store");
        weir_json_object(&w);
        weir_json_key(&w, "items");
        weir_json_array(&w);
        for (int i = 10; i < 31; i++) {
                weir_json_object(&w);
                weir_json_key(&w, "id");
                weir_json_int(&w, i);
                weir_json_key(&w, "name");
                weir_json_str(&w, WEIR_STR("a"));
                weir_json_object_end(&w);
        }
        weir_json_array_end(&w);
        weir_json_object_end(&w);
        return weir_json_end(&w, 200);
}

static enum weir_flow text(struct weir_ctx *ctx, void *self)
{
        struct weir_str name = weir_param(ctx, "name"), q = { 0 };

        (void)self;
        weir_query(ctx, "q", &q);
        return weir_textf(ctx, 200, "%.*s %.*s %.*s", WEIR_FMT(name), WEIR_FMT(q),
                          WEIR_FMT(weir_cookie(ctx, "c")));
}

static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

static enum weir_flow form(struct weir_ctx *ctx, void *self)
{
        struct weir_str a = { 0 };

        (void)self;
        weir_form(ctx, "a", &a);
        return weir_bytes(ctx, 200, "text/plain", a);
}

static enum weir_flow moved(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_set_cookie(ctx, &(struct weir_cookie){ .name = "a", .value = "b" });
        return weir_redirect(ctx, 302, "/elsewhere");
}

static enum weir_flow document(struct weir_ctx *ctx, void *self)
{
        json_t *body = weir_json_body(ctx);

        (void)self;
        return body ? weir_json_new(ctx, 200, body) : WEIR_DONE;
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        int *left = arg;

        if (!*left)
                return 0;
        --*left;
        memset(buf, 'x', size);
        return (ssize_t)size;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        int *left = weir_alloc(ctx, sizeof(*left));

        (void)self;
        *left = 3;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull, NULL, left);
}

static enum weir_flow large(struct weir_ctx *ctx, void *self)
{
        static char bytes[50000];

        (void)self;
        return weir_bytes(ctx, 200, "text/plain", (struct weir_str){ bytes, sizeof(bytes) });
}

static enum weir_flow who(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%.*s", WEIR_FMT(ctx->client));
}

static void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

static struct weir *make_app(void)
{
        static const struct weir_middleware mw = { .name = "pass",
                                                   .on_request = pass,
                                                   .on_response = passed };
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1,
                                        .log = drop_log,
                                        .max_connections_per_client = 100,
                                        .over_connections = WEIR_OVER_WAIT,
                                        .trusted_proxies = "127.0.0.1, 10.0.0.0/8, unix",
                                        .forwarded = WEIR_FORWARDED });
        struct weir *group = weir_group(app, "/group", NULL);

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &mw, NULL);
        weir_use(group, &mw, NULL);
        weir_get(app, "/fixed", fixed, weir_static(app, 200, "text/plain", WEIR_STR("fixed")));
        weir_get(app, "/json", json, NULL);
        weir_get(group, "/{name}", text, NULL);
        weir_post(group, "/echo", echo, NULL);
        weir_route(app, WEIR_POST, "/small", echo, NULL,
                   &(struct weir_route_options){ .max_body = 10 });
        weir_post(app, "/form", form, NULL);
        weir_post(app, "/document", document, NULL);
        weir_get(app, "/moved", moved, NULL);
        weir_get(app, "/stream", stream, NULL);
        weir_get(app, "/large", large, NULL);
        weir_get(app, "/client", who, NULL);
        weir_use_files(app, &(struct weir_files){ .root = "/", .prefix = "/files" });
        return app;
}

/* ---- Nothing is taken. ---- */

#define H "Host: x\r\nUser-Agent: test/1.0\r\nAccept: */*\r\n"
#define E "0123456789012345678901234567890123456789"

static const struct ask {
        const char *request;
        int         status;
        size_t      length; /* of the body; 0: any */
} asks[] = {
        { "GET /fixed HTTP/1.1\r\n" H "\r\n", 200, 5 },
        { "GET /json HTTP/1.1\r\n" H "\r\n", 200, 0 },
        { "HEAD /json HTTP/1.1\r\n" H "\r\n", 200, 0 },
        { "GET /group/a%20b?q=%2B+c HTTP/1.1\r\nCookie: a=b; c=d\r\n" H "\r\n", 200, 9 },
        { "POST /group/echo HTTP/1.1\r\n" H "Content-Length: 40\r\n\r\n" E, 200, 40 },
        { "POST /form HTTP/1.1\r\n" H "Content-Type: application/x-www-form-urlencoded\r\n"
          "Content-Length: 9\r\n\r\nb=1&a=%41",
          200, 1 },
        { "POST /small HTTP/1.1\r\n" H "Content-Length: 40\r\n\r\n" E, 413, 0 },
        { "GET /moved HTTP/1.1\r\n" H "\r\n", 302, 0 },
        { "GET /client HTTP/1.1\r\n" H "Forwarded: for=192.0.2.43, for=10.0.0.1\r\n\r\n", 200, 10 },
        { "GET /client HTTP/1.1\r\n" H "Forwarded: for=\"[2001:db8::17]\"\r\n\r\n", 200, 12 },
        { "GET /nowhere HTTP/1.1\r\n" H "\r\n", 404, 0 },
        { "GET /files/none HTTP/1.1\r\n" H "\r\n", 404, 0 },
        { "GET /files/tmp HTTP/1.1\r\n" H "\r\n", 308, 0 },
        { "DELETE /json HTTP/1.1\r\n" H "\r\n", 405, 0 },
        { "OPTIONS /json HTTP/1.1\r\n" H "\r\n", 204, 0 },
        { "GET /%zz HTTP/1.1\r\n" H "\r\n", 400, 0 },
};

#define N_ASKS (sizeof(asks) / sizeof(asks[0]))

/* One answer; that to HEAD has no body. Takes nothing from the heap itself. */
static void ask(int fd, const struct ask *ask)
{
        char buf[65536], *body;
        bool is_head = !strncmp(ask->request, "HEAD", 4);
        size_t len = 0, want = SIZE_MAX;

        check(net_send(fd, ask->request, strlen(ask->request)), "cannot send", ask->request);
        while (len < want) {
                ssize_t n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0);

                check(n > 0, "no answer", ask->request);
                len += (size_t)n;
                buf[len] = '\0';
                body = strstr(buf, "\r\n\r\n");
                if (!body)
                        continue;
                want = (size_t)(body + 4 - buf);
                body = strstr(buf, "Content-Length: ");
                if (body && !is_head)
                        want += strtoul(body + 16, NULL, 10);
        }
        check(net_status(buf) == ask->status, ask->request, buf);
        body = strstr(buf, "\r\n\r\n") + 4;
        check(!ask->length || (size_t)(buf + len - body) == ask->length, ask->request, buf);
}

static void takes_nothing(uint16_t port, const struct ask *which)
{
        int fd = net_connect(port);
        unsigned long before;
        char text[64];

        for (int i = 0; i < 100; i++)
                ask(fd, which);
        before = atomic_load(&calls);
        for (int i = 0; i < 1000; i++)
                ask(fd, which);
        snprintf(text, sizeof(text), "%lu calls in 1000 requests", atomic_load(&calls) - before);
        check(atomic_load(&calls) == before, which->request, text);
        close(fd);
        n_passed++;
}

/* Does what libraries call inside count too? */
static void counts(void)
{
        unsigned long before = atomic_load(&calls);
        FILE *file = fopen("/dev/null", "re");

        check(file && atomic_load(&calls) > before, "fopen()", "is not counted");
        fclose(file);
}

static void test_zero(void)
{
        struct weir *app = make_app();

        counts();
        check(weir_start(app) == 0, "weir_start()", weir_error(app) ? weir_error(app) : "");
        for (size_t i = 0; i < N_ASKS; i++)
                takes_nothing(weir_port(app, 0), &asks[i]);
        weir_free(app);
}

/* ---- Nothing is left. ---- */

static const char *const visits[] = {
        "GET /fixed HTTP/1.1\r\n" H "\r\n",
        "GET /json HTTP/1.1\r\n" H "\r\n",
        "GET /group/a%20b?q=%2B+c HTTP/1.1\r\n" H "\r\n",
        "POST /group/echo HTTP/1.1\r\n" H "Content-Length: 40\r\n\r\n" E,
        "POST /document HTTP/1.1\r\n" H "Content-Type: application/json\r\n"
        "Content-Length: 17\r\n\r\n{\"a\":[1,\"b\",2.5]}",
        "GET /stream HTTP/1.1\r\n" H "\r\n",
        "GET /large HTTP/1.1\r\n" H "\r\n",
        "GET /nowhere HTTP/1.1\r\n" H "\r\n",
        "GET /json HTTP/1.1\r\n" H "Host: x\r\n\r\n",
};

#define N_VISITS (sizeof(visits) / sizeof(visits[0]))

/* A visit ends with an answer, or with a closed connection; never with nothing. */
static void visit(uint16_t port, const char *request)
{
        static char buf[1 << 18];
        int fd = net_connect(port), status;
        ssize_t n = 1;
        size_t len = 0;

        check(fd >= 0, "cannot connect", request);
        net_send(fd, request, strlen(request));
        shutdown(fd, SHUT_WR); /* then the server closes behind its answer */
        while ((n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0)) > 0)
                len += (size_t)n;
        check(n == 0 || errno == ECONNRESET, "neither answer nor end", request);
        buf[len] = '\0';
        status = net_status(buf);
        check(!len || status == 200 || status == 400 || status == 404 || status >= 500, request,
              buf);
        close(fd);
}

/* One life of an app. What cannot start says why. */
static void live(void)
{
        struct weir *app = make_app();

        if (app && weir_start(app) == 0) {
                for (size_t i = 0; i < N_VISITS; i++)
                        visit(weir_port(app, 0), visits[i]);
                check(weir_stop(app) == 0, "weir_stop()", "failed");
        } else if (app) {
                check(weir_error(app) && *weir_error(app), "weir_start()",
                      "failed without a reason");
        }
        weir_free(app);
}

static void test_failing(bool more)
{
        unsigned long n = fail_each(live, more);

        printf("heap: %lu calls failed, one a life%s\n", n, more ? ", and all behind it" : "");
        check(n >= 100, "too few calls", "is malloc() the one above?");
        n_passed++;
}

int main(void)
{
        test_zero();
        test_failing(false);
        test_failing(true);
        printf("%d passed, 0 failed\n", n_passed);
        return 0;
}
