/*
 * heap_wait.c - requests that wait take nothing from the heap, and survive one that has nothing.
 *
 * A thread answers what waits, each request in the way that its path names. As in heap.c, every
 * call of the heap fails once.
 */
#include "heap_net.h"
#include <weir/json.h>
#include <weir/sse.h>

#include <pthread.h>

/* ---- Tickets, and the thread that answers for them. ---- */

#define MAX_TICKETS 64

static pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t     cond = PTHREAD_COND_INITIALIZER;
static struct weir_ticket tickets[MAX_TICKETS];
static struct weir_sse   *handles[MAX_TICKETS]; /* in place of a ticket */
static unsigned           n_tickets, n_done;

static enum weir_flow hold(struct weir_ctx *ctx, void *self)
{
        (void)self;
        pthread_mutex_lock(&lock);
        handles[n_tickets % MAX_TICKETS] = NULL;
        tickets[n_tickets++ % MAX_TICKETS] = weir_suspend(ctx);
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&lock);
        return WEIR_WAIT;
}

struct events {
        struct weir_ctx *ctx;
        int              left;
        bool             ready;
};

static ssize_t pull(void *arg, char *buf, size_t size)
{
        int *left = arg;

        memset(buf, 'x', size);
        return (*left)-- > 0 ? (ssize_t)size : 0;
}

static enum weir_flow stream(struct weir_ctx *ctx)
{
        int *left = weir_alloc(ctx, sizeof(*left));

        *left = 3;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull, NULL, left);
}

/* Waits before each of two texts. */
static ssize_t pull_event(void *arg, char *buf, size_t size)
{
        struct events *events = arg;

        (void)size;
        if (events->ready) {
                events->ready = false;
                memcpy(buf, "text", 4);
                return 4;
        }
        if (events->left-- == 0)
                return 0;
        events->ready = true;
        (void)hold(events->ctx, NULL);
        return WEIR_PULL_WAIT;
}

static enum weir_flow stream_events(struct weir_ctx *ctx, void *self)
{
        struct events *events = weir_alloc(ctx, sizeof(*events));

        (void)self;
        *events = (struct events){ .ctx = ctx, .left = 2 };
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull_event, NULL, events);
}

static enum weir_flow open_events(struct weir_ctx *ctx, void *self)
{
        struct weir_sse *sse = weir_sse_open(ctx, &(struct weir_sse_options){ .retry_ms = 1 });

        (void)self;
        if (!sse)
                return WEIR_DONE;
        pthread_mutex_lock(&lock);
        handles[n_tickets++ % MAX_TICKETS] = sse;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&lock);
        return WEIR_DONE;
}

/* All of this may fail: the stream has ended, or there is no memory. */
static void tell(struct weir_sse *sse)
{
        static char large[50000];

        weir_sse_send(sse, &(struct weir_event){ .id = WEIR_STR("1"), .data = WEIR_STR("a\nb") });
        weir_sse_send(sse, &(struct weir_event){ .data = { large, sizeof(large) } });
        weir_sse_release(sse);
}

static enum weir_flow document(struct weir_ctx *ctx)
{
        json_t *made = json_pack("{s:i, s:s}", "a", 1, "b", "c");

        return made ? weir_json_new(ctx, 200, made) : weir_fail(ctx, 503, NULL);
}

static enum weir_flow written(struct weir_ctx *ctx)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        weir_json_array(&w);
        for (int i = 0; i < 3000; i++)
                weir_json_int(&w, i);
        weir_json_array_end(&w);
        return weir_json_end(&w, 200);
}

static enum weir_flow answer(struct weir_ctx *ctx)
{
        static char large[50000];

        if (ctx->status) /* its head is out: it is a stream that waits */
                return WEIR_NEXT;
        weir_set_header(ctx, "X-Claimed", "1");
        switch (ctx->path.ptr[1]) {
        case 'l':
                return weir_bytes(ctx, 200, "text/plain",
                                  (struct weir_str){ large, sizeof(large) });
        case 's':
                return stream(ctx);
        case 'd':
                return document(ctx);
        case 'w':
                return written(ctx);
        case 'f':
                return weir_fail(ctx, 503, "on purpose");
        case 'g':
                return WEIR_NEXT;
        default:
                return weir_text(ctx, 200, "ok");
        }
}

static void *answer_all(void *arg)
{
        (void)arg;
        pthread_mutex_lock(&lock);
        for (;;) {
                struct weir_sse *sse;
                struct weir_ctx *ctx;

                while (n_done == n_tickets)
                        pthread_cond_wait(&cond, &lock);
                pthread_mutex_unlock(&lock);
                sse = handles[n_done % MAX_TICKETS];
                ctx = sse ? NULL : weir_claim(tickets[n_done % MAX_TICKETS]);
                if (sse)
                        tell(sse);
                if (ctx)
                        weir_resume(ctx, answer(ctx));
                pthread_mutex_lock(&lock);
                n_done++;
                pthread_cond_broadcast(&cond);
        }
        return NULL;
}

/* Tickets are harmless as long as the app lives. */
static void wait_for_answers(void)
{
        pthread_mutex_lock(&lock);
        while (n_done != n_tickets)
                pthread_cond_wait(&cond, &lock);
        pthread_mutex_unlock(&lock);
}

/* ---- The app. ---- */

static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

static enum weir_flow doze(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return (*weir_own(ctx))++ ? weir_text(ctx, 200, "ok") : weir_wait_until(ctx, weir_now(ctx));
}

static enum weir_flow miss(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_deadline(ctx, weir_now(ctx));
        return weir_wait_until(ctx, UINT64_MAX);
}

static struct weir *make_app(void)
{
        static const struct weir_middleware gate = { .name = "gate",
                                                     .waits = true,
                                                     .on_request = hold };
        static const struct weir_route_options waits = { .waits = true };
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
        struct weir *gated = weir_group(app, "/gate", NULL);

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(gated, &gate, NULL);
        weir_post(gated, "", echo, NULL);
        weir_route(app, WEIR_GET, "/doze", doze, NULL, &waits);
        weir_route(app, WEIR_GET, "/miss", miss, NULL, &waits);
        weir_route(app, WEIR_GET, "/events", stream_events, NULL, &waits);
        weir_route(app, WEIR_GET, "/sse", open_events, NULL, &waits);
        weir_route(app, WEIR_ANY, "/{what}", hold, NULL, &waits);
        return app;
}

/* ---- Nothing is taken. ---- */

#define H "Host: x\r\n\r\n"

static const char *const asks[] = {
        "GET /text HTTP/1.1\r\n" H,
        "POST /text HTTP/1.1\r\nContent-Length: 5\r\n" H "hello",
        "POST /gate HTTP/1.1\r\nContent-Length: 5\r\n" H "hello",
        "GET /doze HTTP/1.1\r\n" H,
};

static void test_zero(void)
{
        struct weir *app = make_app();

        check(weir_start(app) == 0, "weir_start()", "failed");
        for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
                takes_nothing(weir_port(app, 0), asks[i]);
        wait_for_answers();
        weir_free(app);
}

/* ---- Nothing is left. ---- */

#define CLOSE " HTTP/1.1\r\nConnection: close\r\nHost: x\r\n"

static const char *const visits[] = {
        "GET /text" CLOSE "\r\n",      "GET /large" CLOSE "\r\n",
        "GET /stream" CLOSE "\r\n",    "GET /written" CLOSE "\r\n",
        "GET /document" CLOSE "\r\n",  "GET /fail" CLOSE "\r\n",
        "GET /doze" CLOSE "\r\n",      "GET /miss" CLOSE "\r\n",
        "GET /events" CLOSE "\r\n",    "GET /sse" CLOSE "\r\n",
        "GET /gate/none" CLOSE "\r\n", "POST /gate" CLOSE "Content-Length: 5\r\n\r\nhello",
};

/* Sends, and leaves at once: perhaps before its request waits, or while it is claimed. */
static void leave(uint16_t port, const char *request)
{
        int fd = net_connect(port);

        net_send(fd, request, strlen(request));
        close(fd);
}

static void live(void)
{
        struct weir *app = make_app();

        if (app && weir_start(app) == 0) {
                for (size_t i = 0; i < sizeof(visits) / sizeof(visits[0]); i++) {
                        int status = visit(weir_port(app, 0), visits[i]);

                        check(!status || status == 200 || status == 404 || status >= 500, visits[i],
                              "an odd status");
                        leave(weir_port(app, 0), visits[i]);
                }
                check(weir_stop(app) == 0, "weir_stop()", "failed");
                wait_for_answers();
                expect_nothing_left(app);
        }
        weir_free(app);
}

int main(void)
{
        pthread_t answers;

        check(pthread_create(&answers, NULL, answer_all, NULL) == 0, "pthread_create()", "failed");
        test_zero();
        test_failing(live, false);
        test_failing(live, true);
        printf("3 passed, 0 failed\n");
        return 0;
}
