/* test_wait_answer.c - what another thread may do with a request that it has claimed. */
#include "wait_kit.h"

#include <weir/json.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Answers on a thread of its own: the request is claimed there and resumed. */
static void *work(void *fn)
{
        struct weir_ctx *ctx = weir_claim(ticket);

        cr_assert_not_null(ctx);
        weir_resume(ctx, (*(weir_request_fn **)fn)(ctx, NULL));
        return NULL;
}

static struct weir_reply *answered_by(struct weir *app, const char *request, weir_request_fn *fn)
{
        struct weir_asked *asked = held(app, request);
        struct weir_reply *reply;
        pthread_t thread;

        cr_assert_eq(pthread_create(&thread, NULL, work, &fn), 0);
        reply = weir_ask_finish(asked); /* waits for the thread */
        pthread_join(thread, NULL);
        cr_assert_not_null(reply);
        return reply;
}

/* A thread answers with `fn`: the reply, with the app's counters in `stats`. */
static struct weir_stats stats;

static struct weir_reply *answer(const char *request, weir_request_fn *fn)
{
        struct weir *app = holding_app();
        struct weir_reply *reply = answered_by(app, request, fn);

        stats = stats_now(app);
        end_app(app);
        return reply;
}

static void expect_reply(weir_request_fn *fn, int status, const char *body)
{
        struct weir_reply *reply = answer("GET /", fn);

        cr_assert_eq(reply->status, status);
        cr_assert_str_eq(reply->body.ptr, body);
        weir_reply_free(reply);
}

/* ---- Texts. ---- */

static enum weir_flow text(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "from elsewhere");
}

Test(wait_answer, a_text)
{
        expect_reply(text, 200, "from elsewhere");
}

#define BIG 100000

static enum weir_flow big_text(struct weir_ctx *ctx, void *self)
{
        static char bytes[BIG];

        (void)self;
        memset(bytes, 'x', sizeof(bytes));
        return weir_bytes(ctx, 200, "text/plain", (struct weir_str){ bytes, sizeof(bytes) });
}

Test(wait_answer, a_text_beyond_the_arena_is_on_the_heap_and_counted)
{
        uint64_t by_the_ask;
        struct weir_reply *reply;

        weir_reply_free(answer("GET /", text));
        by_the_ask = stats.buffers_heap;
        reply = answer("GET /", big_text);
        cr_assert_eq(reply->body.len, BIG);
        cr_assert_gt(stats.buffers_heap, by_the_ask);
        weir_reply_free(reply);
}

static enum weir_flow big_textf(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%*d", BIG, 7);
}

Test(wait_answer, a_formatted_text_beyond_the_arena)
{
        struct weir_reply *reply = answer("GET /", big_textf);

        cr_assert_eq(reply->body.len, BIG);
        cr_assert_eq(reply->body.ptr[BIG - 1], '7');
        weir_reply_free(reply);
}

static enum weir_flow replaced(struct weir_ctx *ctx, void *self)
{
        big_text(ctx, self);
        big_textf(ctx, self);
        return weir_text(ctx, 200, "the last one");
}

Test(wait_answer, an_answer_replaces_the_one_before)
{
        expect_reply(replaced, 200, "the last one");
}

/* ---- JSON. ---- */

static enum weir_flow written(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_array(&w);
        for (int i = 0; i < 3000; i++)
                weir_json_int(&w, i);
        weir_json_array_end(&w);
        return weir_json_end(&w, 200);
}

Test(wait_answer, json_of_the_writer)
{
        struct weir_reply *reply = answer("GET /", written);

        cr_assert_eq(reply->status, 200);
        cr_assert(!strncmp(reply->body.ptr, "[0,1,2,3,", 9), "%.20s", reply->body.ptr);
        cr_assert_str_eq(reply->body.ptr + reply->body.len - 10, "2998,2999]");
        weir_reply_free(reply);
}

static enum weir_flow echoed(struct weir_ctx *ctx, void *self)
{
        json_t *body = weir_json_body(ctx);

        (void)self;
        return body ? weir_json_new(ctx, 201, body) : WEIR_DONE;
}

Test(wait_answer, json_of_a_document)
{
        static const char request[] = "POST /\nContent-Type: application/json\n\n";
        struct weir_reply *reply = answer("POST /\nContent-Type: application/json\n\n[1,\"b\"]",
                                          echoed);

        cr_assert_eq(reply->status, 201);
        cr_assert_str_eq(reply->body.ptr, "[1,\"b\"]");
        weir_reply_free(reply);
        reply = answer(request, echoed);
        cr_assert_eq(reply->status, 400);
        weir_reply_free(reply);
}

/* ---- Reading. ---- */

static enum weir_flow read_fields(struct weir_ctx *ctx, void *self)
{
        struct weir_str q = { 0 }, f = { 0 };

        (void)self;
        cr_assert_eq(weir_query(ctx, "q", &q), WEIR_FIELD_OK);
        cr_assert_eq(weir_form(ctx, "f", &f), WEIR_FIELD_OK);
        return weir_textf(ctx, 200, "%.*s %.*s %.*s %.*s", WEIR_FMT(q), WEIR_FMT(f),
                          WEIR_FMT(weir_cookie(ctx, "c")), WEIR_FMT(weir_header(ctx, "X-H")));
}

Test(wait_answer, the_request_can_be_read)
{
        struct weir_reply *reply = answer(
                "POST /?q=%41+b\nCookie: c=d\nX-H: e\n"
                "Content-Type: application/x-www-form-urlencoded\n\nf=%20g",
                read_fields);

        cr_assert_str_eq(reply->body.ptr, "A b  g d e");
        weir_reply_free(reply);
}

/* ---- Header fields. ---- */

static enum weir_flow with_headers(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert(weir_set_header(ctx, "X-One", "1"));
        cr_assert(weir_set_headerf(ctx, "X-Two", "%d", 2));
        cr_assert(weir_set_cookie(ctx, &(struct weir_cookie){ .name = "a", .value = "b" }));
        cr_assert_not(weir_set_header(ctx, "X-Bad", "a\nb"));
        return weir_redirect(ctx, 302, "/else");
}

Test(wait_answer, header_fields)
{
        struct weir_reply *reply = answer("GET /", with_headers);

        cr_assert_eq(reply->status, 302);
        cr_assert(weir_str_is(weir_reply_header(reply, "X-One"), "1"));
        cr_assert(weir_str_is(weir_reply_header(reply, "X-Two"), "2"));
        cr_assert(weir_str_is(weir_reply_header(reply, "Location"), "/else"));
        cr_assert(weir_str_is(weir_reply_header(reply, "Set-Cookie"), "a=b"));
        cr_assert_eq(stats.bad_headers, 1);
        weir_reply_free(reply);
}

static enum weir_flow with_too_many_headers(struct weir_ctx *ctx, void *self)
{
        (void)self;
        for (int i = 0; i < 100; i++)
                weir_add_header(ctx, "X-Many", "1");
        return weir_text(ctx, 200, "lost");
}

Test(wait_answer, what_does_not_fit_is_500_and_counted)
{
        struct weir_reply *reply = answer("GET /", with_too_many_headers);

        cr_assert_eq(reply->status, 500);
        cr_assert_eq(stats.arena_full, 1);
        weir_reply_free(reply);
}

/* ---- Failures. ---- */

static enum weir_flow fail(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_fail(ctx, 409, "taken by %s", "another");
}

Test(wait_answer, a_failure)
{
        struct weir_reply *reply = answer("GET /", fail);

        cr_assert_eq(reply->status, 409);
        cr_assert(strstr(reply->body.ptr, "taken by another"));
        weir_reply_free(reply);
}

static enum weir_flow render(struct weir_ctx *ctx, void *self, int status, struct weir_str detail)
{
        (void)self;
        return weir_textf(ctx, status, "oh: %.*s", WEIR_FMT(detail));
}

Test(wait_answer, a_failure_that_on_error_renders)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .log = drop_log, .scope.on_error = render });
        struct weir_reply *reply;

        wait_route(app, WEIR_GET, "/", hold, NULL);
        reply = answered_by(app, "GET /", fail);
        cr_assert_eq(reply->status, 409);
        cr_assert_str_eq(reply->body.ptr, "oh: taken by another");
        weir_reply_free(reply);
        end_app(app);
}

/* ---- Files, streams, what is borrowed and what is deferred. ---- */

static enum weir_flow file(struct weir_ctx *ctx, void *self)
{
        FILE *made = tmpfile();
        int fd;

        (void)self;
        cr_assert(made && fputs("from a file", made) >= 0 && fflush(made) == 0);
        fd = dup(fileno(made));
        fclose(made);
        return weir_file(ctx, 200, "text/plain", fd, 5, 6);
}

Test(wait_answer, a_file)
{
        expect_reply(file, 200, "a file");
}

static atomic_int n_freed;
static pthread_t  freed_by;

static void count_freed(void *arg)
{
        (void)arg;
        freed_by = pthread_self();
        atomic_fetch_add(&n_freed, 1);
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        int *left = arg;

        cr_assert_geq(size, 1);
        if (!*left)
                return 0;
        *buf = (char)('0' + --*left);
        return 1;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        int *left = weir_alloc(ctx, sizeof(*left));

        (void)self;
        *left = 5;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull, count_freed, left);
}

Test(wait_answer, a_stream_that_is_pulled_on_the_loop)
{
        atomic_store(&n_freed, 0);
        expect_reply(stream, 200, "43210");
        cr_assert_eq(atomic_load(&n_freed), 1);
        cr_assert(pthread_equal(freed_by, pthread_self()));
}

static enum weir_flow borrowed(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_send(ctx, 200, "text/plain", WEIR_STR("borrowed"), count_freed, NULL);
}

Test(wait_answer, borrowed_bytes_are_given_back_once)
{
        atomic_store(&n_freed, 0);
        expect_reply(borrowed, 200, "borrowed");
        cr_assert_eq(atomic_load(&n_freed), 1);
}

static enum weir_flow defer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert(weir_defer(ctx, count_freed, NULL));
        return weir_text(ctx, 200, "ok");
}

Test(wait_answer, what_was_deferred_runs_on_the_loop_at_the_end)
{
        atomic_store(&n_freed, 0);
        expect_reply(defer, 200, "ok");
        cr_assert_eq(atomic_load(&n_freed), 1);
        cr_assert(pthread_equal(freed_by, pthread_self()));
}

Test(wait_answer, an_answer_for_a_client_that_has_left_is_freed)
{
        static weir_request_fn *const answers[] = { big_text, stream, borrowed, file, written };
        struct weir *app = holding_app();

        atomic_store(&n_freed, 0);
        for (size_t i = 0; i < 5; i++) {
                struct weir_asked *asked = held(app, "GET /");
                struct weir_ctx *ctx = claimed(ticket);

                weir_resume(ctx, answers[i](ctx, NULL));
                weir_ask_leave(asked);
        }
        cr_assert_eq(atomic_load(&n_freed), 2);
        cr_assert_eq(stats_now(app).status[0], 5);
        end_app(app);
}

/* ---- The clock. ---- */

static atomic_bool over;

static void *watch_the_clock(void *arg)
{
        struct weir_ctx *ctx = arg;
        uint64_t last = 0;

        while (!atomic_load(&over)) {
                cr_assert_geq(weir_now(ctx), last);
                last = weir_now(ctx);
        }
        return NULL;
}

Test(wait_answer, the_clock_can_be_read)
{
        struct weir *app = holding_app();
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(ticket);
        pthread_t thread;

        pthread_create(&thread, NULL, watch_the_clock, ctx);
        for (int i = 0; i < 1000; i++)
                weir_tick(app, 1);
        atomic_store(&over, true);
        pthread_join(thread, NULL);
        cr_assert_eq(weir_now(ctx) - ctx->started_ns, 1000000000ull);
        weir_resume(ctx, weir_text(ctx, 200, "ok"));
        expect_end(asked, 200, "ok");
        end_app(app);
}
