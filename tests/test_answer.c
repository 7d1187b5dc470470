/* test_answer.c - what handlers answer, and header fields of answers. */
#include "kit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum weir_flow long_text(struct weir_ctx *ctx, void *self)
{
        return weir_textf(ctx, 200, "%0*d", *(int *)self, 7);
}

Test(answer, formatted_text_of_any_length_arrives_whole)
{
        static const int lengths[] = { 1, 100, 3000, 4095, 4096, 4097, 70000, 2000000 };

        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                int len = lengths[i];
                struct weir *app = app_with(long_text, &len);
                struct weir_reply *reply = ask(app, "GET /", 200);

                cr_assert_eq(reply->body.len, (size_t)len);
                cr_assert_eq(reply->body.ptr[len - 1], '7');
                weir_reply_free(reply);
                weir_free(app);
        }
}

static enum weir_flow send_heap(struct weir_ctx *ctx, void *self)
{
        char *text = strdup("borrowed");

        (void)self;
        return weir_send(ctx, 200, "text/x", (struct weir_str){ text, 8 }, free, text);
}

Test(answer, borrowed_bytes_are_sent_and_freed_once)
{
        struct weir *app = app_with(send_heap, NULL);

        expect(app, "GET /", 200, "borrowed");
        expect_header(app, "GET /", "Content-Type", "text/x");
        weir_free(app); /* LeakSanitizer and AddressSanitizer look at the rest */
}

static enum weir_flow answer_twice(struct weir_ctx *ctx, void *self)
{
        send_heap(ctx, self);
        weir_set_header(ctx, "X-Kept", "yes");
        return weir_text(ctx, 201, "second");
}

Test(answer, the_last_answer_counts_and_headers_stay)
{
        struct weir *app = app_with(answer_twice, NULL);

        expect(app, "GET /", 201, "second");
        expect_header(app, "GET /", "X-Kept", "yes");
        expect_header(app, "GET /", "Content-Type", "text/plain; charset=utf-8");
        weir_free(app);
}

static ssize_t count_down(void *arg, char *buf, size_t size)
{
        int *left = arg;

        cr_assert_gt(size, 0);
        if (!*left)
                return 0;
        buf[0] = (char)('0' + (*left)-- % 10);
        return 1;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, count_down, NULL, self);
}

Test(answer, a_stream_is_pulled_to_its_end)
{
        int left = 5;
        struct weir *app = app_with(stream, &left);

        expect(app, "GET /", 200, "54321");
        weir_free(app);
}

static ssize_t break_off(void *arg, char *buf, size_t size)
{
        (void)arg, (void)buf, (void)size;
        return -1;
}

static enum weir_flow broken_stream(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_stream(ctx, 200, "text/plain", 10, break_off, NULL, NULL);
}

Test(answer, a_stream_that_breaks_off_is_reported)
{
        struct weir *app = app_with(broken_stream, NULL);
        struct weir_reply *reply = ask(app, "GET /", 200);

        cr_assert(reply->broken);
        weir_reply_free(reply);
        weir_free(app);
}

static enum weir_flow send_file(struct weir_ctx *ctx, void *self)
{
        return weir_file(ctx, 200, "text/plain", open(self, O_RDONLY | O_CLOEXEC), 2, 5);
}

Test(answer, a_file_is_sent_from_its_offset)
{
        char path[] = "/tmp/weir-test-XXXXXX";
        int fd = mkstemp(path);
        struct weir *app = app_with(send_file, path);

        cr_assert_eq(write(fd, "0123456789", 10), 10);
        close(fd);
        expect(app, "GET /", 200, "23456");
        unlink(path);
        cr_assert_eq(status_of(app, "GET /"), 500, "a file that cannot be opened");
        weir_free(app);
}

static enum weir_flow status_only(struct weir_ctx *ctx, void *self)
{
        weir_text(ctx, 200, "gone");
        return weir_text(ctx, *(int *)self, "body");
}

Test(answer, a_204_205_or_304_has_no_body)
{
        static const int statuses[] = { 204, 205, 304 };

        for (int i = 0; i < 3; i++) {
                int status = statuses[i];
                struct weir *app = app_with(status_only, &status);

                expect(app, "GET /", status, "");
                weir_free(app);
        }
}

Test(answer, a_status_outside_200_to_599_is_a_bug_of_the_handler)
{
        static const int statuses[] = { 0, 100, 199, 600, 999, -1 };

        for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
                int status = statuses[i];
                struct weir *app = app_with(status_only, &status);

                cr_assert_eq(status_of(app, "GET /"), 500);
                weir_free(app);
        }
}

static enum weir_flow redirect(struct weir_ctx *ctx, void *self)
{
        return weir_redirect(ctx, 303, self);
}

Test(answer, a_redirect_has_a_location_that_cannot_split_the_head)
{
        struct weir *app = app_with(redirect, "/books/7");

        expect_header(app, "GET /", "Location", "/books/7");
        weir_free(app);
        app = app_with(redirect, "/x\r\nSet-Cookie: a=b");
        cr_assert_eq(status_of(app, "GET /"), 500);
        expect_header(app, "GET /", "Set-Cookie", NULL);
        weir_free(app);
}

/* ---- Failures. ---- */

static enum weir_flow fail_with(struct weir_ctx *ctx, void *self)
{
        return weir_fail(ctx, 404, "no book \"%s\"", (const char *)self);
}

Test(answer, a_failure_is_problem_json_with_its_message_escaped)
{
        struct weir *app = app_with(fail_with, "a\"\\\n\xff\xc3\xa9");

        expect(app, "GET /", 404,
               "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,\"detail\":"
               "\"no book \\\"a\\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\\\"\"}");
        expect_header(app, "GET /", "Content-Type", "application/problem+json");
        weir_free(app);
}

static enum weir_flow as_text(struct weir_ctx *ctx, void *self, int status, struct weir_str detail)
{
        return weir_textf(ctx, status, "%s: %.*s", (const char *)self, WEIR_FMT(detail));
}

Test(answer, the_nearest_on_error_renders_a_failure)
{
        struct weir *app = weir_new(&(struct weir_options){
                .scope = { .on_error = as_text, .on_error_self = "root" } });
        struct weir *api = weir_group(
                app, "/api",
                &(struct weir_scope_options){ .on_error = as_text, .on_error_self = "api" });

        weir_get(app, "/", fail_with, "x");
        weir_get(api, "/", fail_with, "x");
        weir_route(api, WEIR_GET, "/own", fail_with, "x",
                   &(struct weir_route_options){ .on_error = as_text, .on_error_self = "own" });
        expect(app, "GET /", 404, "root: no book \"x\"");
        expect(app, "GET /api/", 404, "api: no book \"x\"");
        expect(app, "GET /api/own", 404, "own: no book \"x\"");
        expect(app, "GET /api/nope", 404, "api: ");
        expect(app, "GET /nope", 404, "root: ");
        weir_free(app);
}

static enum weir_flow fail_again(struct weir_ctx *ctx, void *self, int status,
                                 struct weir_str detail)
{
        (void)self, (void)status, (void)detail;
        return weir_fail(ctx, 500, "in on_error");
}

Test(answer, a_failure_in_on_error_is_rendered_plainly)
{
        struct weir *app = weir_new(&(struct weir_options){ .scope.on_error = fail_again });

        weir_get(app, "/", fail_with, "x");
        expect(app, "GET /", 500,
               "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\","
                                  "\"status\":500,\"detail\":\"in on_error\"}");
        weir_free(app);
}

/* ---- Fixed answers and wrapped bodies. ---- */

static enum weir_flow send_fixed(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

Test(answer, a_static_answer_is_sent_as_it_was_prepared)
{
        struct weir *app = quiet_app();
        struct weir_static *fixed = weir_static(app, 202, "text/x", WEIR_STR("fixed"));

        weir_get(app, "/", send_fixed, fixed);
        expect(app, "GET /", 202, "fixed");
        expect_header(app, "GET /", "Content-Type", "text/x");
        weir_free(app);
}

static ssize_t upper(void *arg, char *buf, size_t size)
{
        ssize_t n = weir_pull_inner(arg, buf, size < 2 ? size : 2);

        for (ssize_t i = 0; i < n; i++)
                buf[i] = (char)(buf[i] >= 'a' && buf[i] <= 'z' ? buf[i] - 32 : buf[i]);
        return n;
}

static ssize_t bracket(void *arg, char *buf, size_t size)
{
        ssize_t n = weir_pull_inner(arg, buf + 1, size - 1);

        buf[0] = '|';
        return n > 0 ? n + 1 : n;
}

static void wrap(struct weir_ctx *ctx, void *self)
{
        cr_assert(weir_wrap_body(ctx, WEIR_UNKNOWN_LENGTH, *(weir_pull_fn **)self, NULL, ctx));
}

Test(answer, a_body_is_wrapped_in_streams_whatever_it_is)
{
        static const struct weir_middleware mw = {
                .name = "wrap",
                .self_size = sizeof(weir_pull_fn *),
                .on_response = wrap,
        };
        weir_pull_fn *outer = bracket, *inner = upper;
        int left = 3;
        struct weir *app = quiet_app();

        weir_use(app, &mw, &outer);
        weir_use(app, &mw, &inner);
        weir_get(app, "/text", say, "hello");
        weir_get(app, "/heap", send_heap, NULL);
        weir_get(app, "/stream", stream, &left);
        expect(app, "GET /text", 200, "|HE|LL|O");
        expect(app, "GET /heap", 200, "|BO|RR|OW|ED");
        expect(app, "GET /stream", 200, "|3|2|1");
        weir_free(app);
}

static void set_late(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert(weir_set_header(ctx, "X-Late", "set in on_response"));
}

Test(answer, a_body_of_any_size_leaves_room_for_headers_that_hooks_set)
{
        static const struct weir_middleware mw = { .name = "late", .on_response = set_late };

        for (int len = 1; len < 9000; len += 61) {
                struct weir *app = quiet_app();

                weir_use(app, &mw, NULL);
                weir_get(app, "/", long_text, &len);
                expect_header(app, "GET /", "X-Late", "set in on_response");
                weir_free(app);
        }
}

static void see_type(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert_null(weir_answer_header(ctx, "Content-Type").ptr);
}

static enum weir_flow see_no_type(struct weir_ctx *ctx, void *self)
{
        see_type(ctx, self);
        return WEIR_NEXT;
}

Test(answer, nothing_of_the_answer_before_is_seen_by_the_next_request)
{
        static const struct weir_middleware mw = { .name = "see", .on_request = see_no_type };
        struct weir *app = quiet_app();

        weir_use(app, &mw, NULL);
        weir_get(app, "/", say, "x");
        for (int i = 0; i < 3; i++)
                expect(app, "GET /", 200, "x");
        weir_free(app);
}

static ssize_t three_bytes(void *arg, char *buf, size_t size)
{
        int *calls = arg;

        (void)size;
        memcpy(buf, "abc", 3);
        return (*calls)++ ? 0 : 3;
}

static enum weir_flow short_stream(struct weir_ctx *ctx, void *self)
{
        return weir_stream(ctx, 200, "text/plain", 10, three_bytes, NULL, self);
}

Test(answer, a_stream_that_ends_short_of_its_length_broke_off)
{
        int calls = 0;
        struct weir *app = app_with(short_stream, &calls);
        struct weir_reply *reply = ask(app, "GET /", 200);

        cr_assert(reply->broken);
        weir_reply_free(reply);
        weir_free(app);
}

static enum weir_flow send_beyond(struct weir_ctx *ctx, void *self)
{
        return weir_file(ctx, 200, "text/plain", open(self, O_RDONLY | O_CLOEXEC), 0, 11);
}

Test(answer, a_file_is_not_sent_beyond_its_end)
{
        char path[] = "/tmp/weir-test-XXXXXX";
        int fd = mkstemp(path);
        struct weir *app = app_with(send_beyond, path);

        cr_assert_eq(write(fd, "0123456789", 10), 10);
        close(fd);
        cr_assert_eq(status_of(app, "GET /"), 500);
        unlink(path);
        weir_free(app);
}

static enum weir_flow hostile_type(struct weir_ctx *ctx, void *self)
{
        return weir_bytes(ctx, 200, self, WEIR_STR("x"));
}

Test(answer, a_type_cannot_split_the_answer)
{
        struct weir *app = app_with(hostile_type, "a/b\r\nX-Evil: 1");

        cr_assert_eq(status_of(app, "GET /"), 500);
        expect_header(app, "GET /", "X-Evil", NULL);
        weir_free(app);
}

static void count_call(void *arg)
{
        ++*(int *)arg;
}

/* What a free_fn gets: a ctx, and what it counts. */
struct late {
        struct weir_ctx *ctx;
        int             *calls;
};

static void defer_late(void *arg)
{
        struct late *late = arg;

        weir_defer(late->ctx, count_call, late->calls);
        weir_text(late->ctx, 200, "too late");
}

static enum weir_flow send_late(struct weir_ctx *ctx, void *self)
{
        struct late *late = weir_alloc(ctx, sizeof(*late));

        *late = (struct late){ ctx, self };
        return weir_send(ctx, 200, "a/b", WEIR_STR("x"), defer_late, late);
}

Test(answer, what_a_free_fn_defers_or_answers_is_not_left_to_the_next_request)
{
        int calls = 0;
        struct weir *app = app_with(send_late, &calls);

        for (int i = 1; i <= 3; i++) {
                expect(app, "GET /", 200, "x");
                cr_assert_eq(calls, i);
        }
        weir_free(app);
}
