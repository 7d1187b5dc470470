/*
 * http_hooks.c - the contract of the hooks (core/weir/app.h) over sockets, for every way to end.
 *
 * Each middleware writes down its calls with the status and the outcome that it sees. A trace reads
 * "+a" for on_request, "-a200" for on_response, ".a200" for on_done; the outcome follows the
 * status when it is not the one that the status tells: "!" the client has gone, "~" the server
 * stopped, "s" shed.
 */
#include "http.h"

#include <pthread.h>

#define H    "Host: x\r\n"
#define GET  "GET / HTTP/1.1\r\n" H "\r\n"
#define POST "POST / HTTP/1.1\r\n" H

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char trace[8192];

static void note(const char *text)
{
        pthread_mutex_lock(&lock);
        cr_assert_lt(strlen(trace) + strlen(text), sizeof(trace));
        strcat(trace, text);
        pthread_mutex_unlock(&lock);
}

/* The trace so far, and an empty one from now on. */
static const char *taken_trace(void)
{
        static char copy[sizeof(trace)];

        pthread_mutex_lock(&lock);
        strcpy(copy, trace);
        trace[0] = '\0';
        pthread_mutex_unlock(&lock);
        return copy;
}

/* ---- Middleware. ---- */

struct tracer {
        char name;
        int  status; /* not 0: refuses with it */
};

static void note_end(char kind, const struct weir_ctx *ctx, char name)
{
        static const char marks[] = { ' ', ' ', ' ', 's', 't', '!', '~' };
        enum weir_outcome plain = ctx->status < 400   ? WEIR_OK
                                  : ctx->status < 500 ? WEIR_CLIENT_ERROR
                                                      : WEIR_SERVER_ERROR;
        char text[16];

        snprintf(text, sizeof(text), "%c%c%u%c", kind, name, ctx->status,
                 ctx->outcome == plain ? '\0' : marks[ctx->outcome]);
        note(text);
}

static enum weir_flow enter(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        note((char[]){ '+', t->name, '\0' });
        cr_assert_eq(*weir_own(ctx), 0);
        *weir_own(ctx) = (uint64_t)t->name;
        return t->status ? weir_fail(ctx, t->status, NULL) : WEIR_NEXT;
}

static void leave(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        cr_assert_eq(*weir_own(ctx), (uint64_t)t->name);
        note_end('-', ctx, t->name);
}

static void finish(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        cr_assert_eq(*weir_own(ctx), (uint64_t)t->name);
        note_end('.', ctx, t->name);
}

#define TRACER(in_phase, when)                                                                     \
        {                                                                                          \
                .name = "tracer", .self_size = sizeof(struct tracer), .phase = in_phase,           \
                .at = when, .on_request = enter, .on_response = leave, .on_done = finish           \
        }

static const struct weir_middleware observe = TRACER(WEIR_OBSERVE, WEIR_AT_HEADERS);
static const struct weir_middleware limit = TRACER(WEIR_RATE, WEIR_AT_HEADERS);
static const struct weir_middleware check = TRACER(WEIR_APP, WEIR_AT_BODY);

/* ---- The app: o observes, l is at headers, b at the body, h handles. ---- */

static enum weir_flow handle(struct weir_ctx *ctx, void *self)
{
        (void)self;
        note("h");
        return weir_text(ctx, 200, "ok");
}

static enum weir_flow shed(struct weir_ctx *ctx, void *self)
{
        (void)self;
        note("h");
        return weir_refuse(ctx, 503, NULL);
}

/* Never ends, until the client or the server does. */
static ssize_t pull(void *arg, char *buf, size_t size)
{
        (void)arg;
        memset(buf, 'x', size);
        return (ssize_t)size;
}

static ssize_t pull_nothing(void *arg, char *buf, size_t size)
{
        (void)arg, (void)buf, (void)size;
        return -1;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *breaks)
{
        note("h");
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH,
                           breaks ? pull_nothing : pull, NULL, NULL);
}

static struct weir *app;

static struct weir *make_app(int64_t drain_timeout_ms)
{
        struct weir *made = weir_new(&(struct weir_options){ .loops = 1,
                                                             .log = drop_log,
                                                             .drain_timeout_ms = drain_timeout_ms,
                                                             .scope.max_body = 10 });

        weir_listen(made, "127.0.0.1:0", NULL);
        weir_use(made, &observe, &(struct tracer){ 'o', 0 });
        weir_use(made, &limit, &(struct tracer){ 'l', 0 });
        weir_use(made, &check, &(struct tracer){ 'b', 0 });
        weir_any(made, "/", handle, NULL);
        weir_get(made, "/shed", shed, NULL);
        weir_get(made, "/stream", stream, NULL);
        weir_get(made, "/broken", stream, made);
        weir_get(made, "/only", handle, NULL);
        return made;
}

static void start_app(void)
{
        app = make_app(100);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_hooks, .init = start_app, .fini = stop_app);

/* Asks, reads the answer, and compares what happened. */
static void expect_trace(const char *request, int status, const char *want)
{
        struct client client = client_to(app);
        const char *got;

        taken_trace();
        client_send(&client, request);
        cr_assert_eq(client_next(&client, !strncmp(request, "HEAD", 4)).status, status, "%s",
                     request);
        wait_idle(app);
        got = taken_trace();
        cr_assert_str_eq(got, want, "%s: %s, not %s", request, got, want);
        client_close(&client);
}

/* ---- Answered. ---- */

Test(http_hooks, of_what_is_answered_each_hook_sees_the_status)
{
        expect_trace(GET, 200, "+o+l+bh-b200-l200-o200.b200.l200.o200");
        expect_trace("HEAD / HTTP/1.1\r\n" H "\r\n", 200, "+o+l+bh-b200-l200-o200.b200.l200.o200");
        expect_trace(POST "Content-Length: 3\r\n\r\nabc", 200,
                     "+o+l+bh-b200-l200-o200.b200.l200.o200");
        expect_trace("GET /shed HTTP/1.1\r\n" H "\r\n", 503,
                     "+o+l+bh-b503s-l503s-o503s.b503s.l503s.o503s");
}

Test(http_hooks, of_what_no_route_takes_too)
{
        expect_trace("GET /nowhere HTTP/1.1\r\n" H "\r\n", 404,
                     "+o+l+b-b404-l404-o404.b404.l404.o404");
        expect_trace("DELETE /only HTTP/1.1\r\n" H "\r\n", 405,
                     "+o+l+b-b405-l405-o405.b405.l405.o405");
        expect_trace("OPTIONS /only HTTP/1.1\r\n" H "\r\n", 204,
                     "+o+l+b-b204-l204-o204.b204.l204.o204");
        expect_trace("GET /%zz HTTP/1.1\r\n" H "\r\n", 400, "+o+l+b-b400-l400-o400.b400.l400.o400");
}

Test(http_hooks, of_a_body_that_is_too_large_those_at_headers_see_413)
{
        static const char want[] = "+o+l-l413-o413.l413.o413";

        expect_trace(POST "Content-Length: 11\r\n\r\n01234567890", 413, want);
        expect_trace(POST "Content-Length: 99999\r\n\r\n", 413, want);
        expect_trace(POST "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n", 413, want);
        expect_trace(POST "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", 413,
                     want);
}

Test(http_hooks, a_refusal_of_the_guard_is_seen_by_those_who_observe)
{
        expect_trace("GET / HTTP/1.1\r\n" H H "\r\n", 400, "+o-o400.o400");
        expect_trace("CONNECT x:1 HTTP/1.1\r\n" H "\r\n", 501, "+o-o501.o501");
}

Test(http_hooks, what_the_library_answers_first_is_seen_by_nobody)
{
        expect_trace("GET / HTTP/2.0\r\n" H "\r\n", 505, "");
        expect_trace("GET / HTTP/1.1\r\nno-colon\r\n\r\n", 400, "");
}

Test(http_hooks, what_the_library_answers_in_the_body_is_seen_with_its_status)
{
        expect_trace(POST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n", 400,
                     "+o+l-l400-o400.l400.o400");
        expect_trace(POST "Transfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\n", 413,
                     "+o+l-l413-o413.l413.o413");
}

/* ---- Refused in each phase. ---- */

/* A middleware in each phase; that of phase `refusing` refuses. `want` is what must happen. */
static struct weir *make_phases(int refusing, char *want)
{
        static const struct weir_middleware phases[] = {
                TRACER(WEIR_OBSERVE, WEIR_AT_HEADERS),
                TRACER(WEIR_EARLY, WEIR_AT_HEADERS),
                TRACER(WEIR_DEADLINE, WEIR_AT_HEADERS),
                TRACER(WEIR_RATE, WEIR_AT_HEADERS),
                TRACER(WEIR_CONCURRENCY, WEIR_AT_HEADERS),
                TRACER(WEIR_AUTH, WEIR_AT_HEADERS),
                TRACER(WEIR_IDENTITY, WEIR_AT_HEADERS),
                TRACER(WEIR_BREAKER, WEIR_AT_BODY),
                TRACER(WEIR_APP, WEIR_AT_BODY),
                TRACER(WEIR_TRANSFORM, WEIR_AT_BODY),
        };
        struct weir *made = http_app(1);

        *want = '\0';
        for (int i = 0; i < 10; i++) {
                weir_use(made, &phases[i],
                         &(struct tracer){ (char)('0' + i), i == refusing ? 429 : 0 });
                if (i <= refusing)
                        sprintf(want + strlen(want), "+%d", i);
        }
        for (int i = refusing - 1; i >= 0; i--)
                sprintf(want + strlen(want), "-%d429", i);
        for (int i = refusing - 1; i >= 0; i--)
                sprintf(want + strlen(want), ".%d429", i);
        weir_any(made, "/", handle, NULL);
        return made;
}

Test(http_hooks, a_refusal_in_any_phase_is_paid_back_by_those_before_it_only)
{
        char want[256];

        for (int refusing = 0; refusing < 10; refusing++) {
                http_end(app);
                app = make_phases(refusing, want);
                http_start(app);
                expect_trace(GET, 429, want);
                expect_trace(POST "Content-Length: 3\r\n\r\nabc", 429, want);
        }
}

/* ---- The client goes. ---- */

/* Sends a part of a request, leaves, and compares what happened. */
static void expect_trace_of_leaving(const char *part, const char *want)
{
        for (int how = 0; how < 2; how++) {
                struct client client = client_to(app);
                struct linger reset = { .l_onoff = 1 };
                const char *got;

                taken_trace();
                client_send(&client, part);
                if (how)
                        setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
                client_close(&client);
                wait_gone(app, (uint64_t)how + 1);
                got = taken_trace();
                if (how == 0 || *got) /* a reset may be all that is ever seen */
                        cr_assert_str_eq(got, want, "%s: %s, not %s", part, got, want);
        }
}

Test(http_hooks, a_client_that_goes_before_its_head_is_in_is_seen_by_nobody)
{
        expect_trace_of_leaving("GET / HTTP/1.1\r\nHo", "");
}

Test(http_hooks, a_client_that_goes_in_its_body_is_499_for_those_who_were_entered)
{
        expect_trace_of_leaving(POST "Content-Length: 10\r\n\r\nabc",
                                "+o+l-l499!-o499!.l499!.o499!");
}

Test(http_hooks, a_client_that_goes_in_a_refused_body_had_its_verdict)
{
        expect_trace_of_leaving(POST "Content-Length: 50000\r\n\r\nabc",
                                "+o+l-l413-o413.l413!.o413!");
}

Test(http_hooks, a_client_that_goes_while_its_answer_is_on_the_way_had_its_verdict)
{
        struct client client = client_to(app);

        client_send(&client, "GET /stream HTTP/1.1\r\n" H "\r\n");
        cr_assert(client_need(&client, 100000));
        client_close(&client);
        wait_gone(app, 1);
        cr_assert_str_eq(taken_trace(), "+o+l+bh-b200-l200-o200.b200!.l200!.o200!");
}

Test(http_hooks, a_stream_that_breaks_off_had_its_verdict_and_ends_once)
{
        struct client client = client_to(app);
        const char *got;

        client_send(&client, "GET /broken HTTP/1.1\r\n" H "\r\n");
        client_read_all(&client, NULL);
        client_close(&client);
        wait_gone(app, 1);
        got = taken_trace();
        cr_assert_eq(strncmp(got, "+o+l+bh-b200-l200-o200.b", 24), 0, "%s", got);
        cr_assert_eq(strlen(got), strlen("+o+l+bh-b200-l200-o200.b200!.l200!.o200!"), "%s", got);
}

/* ---- The server stops. ---- */

/* Starts a request, stops the server in the middle of it, and compares what happened. */
static void expect_trace_of_stopping(const char *request, size_t read_first, const char *want)
{
        struct client client = client_to(app);
        const char *got;

        taken_trace();
        client_send(&client, request);
        if (read_first)
                cr_assert(client_need(&client, read_first));
        while (!stats_of(app).requests)
                sched_yield();
        weir_stop(app);
        got = taken_trace();
        cr_assert_str_eq(got, want, "%s: %s, not %s", request, got, want);
        client_close(&client);
}

Test(http_hooks, a_stop_in_the_body_is_503_for_those_who_were_entered)
{
        expect_trace_of_stopping(POST "Content-Length: 10\r\n\r\nabc", 0,
                                 "+o+l-l503~-o503~.l503~.o503~");
}

Test(http_hooks, a_stop_while_the_answer_is_on_the_way_comes_after_the_verdict)
{
        expect_trace_of_stopping("GET /stream HTTP/1.1\r\n" H "\r\n", 100000,
                                 "+o+l+bh-b200-l200-o200.b200~.l200~.o200~");
}

Test(http_hooks, a_stop_before_the_head_is_in_is_seen_by_nobody)
{
        struct client client = client_to(app);

        client_send(&client, "GET / HTTP/1.1\r\nHo");
        while (!stats_of(app).connections)
                sched_yield();
        weir_stop(app);
        cr_assert_str_eq(taken_trace(), "");
        client_close(&client);
}
