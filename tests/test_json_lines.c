/* test_json_lines.c - newline-delimited JSON: what core/weir/json.h promises, in memory. */
#include "kit.h"

#include <stdio.h>
#include <weir/json.h>

#define POST(type, body) "POST /\nContent-Type: " type "\n\n" body
#define LINES(body)      POST("application/x-ndjson", body)

static char got[1024];

/* "1:{"a":1} 2:..." of what comes. */
static enum weir_flow take(struct weir_ctx *ctx, void *self, json_t *value, uint64_t line)
{
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

        (void)self;
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%llu:%.20s ",
                 (unsigned long long)line, text);
        free(text);
        if (json_is_true(value))
                return weir_fail(ctx, 422, "no truth");
        return WEIR_NEXT;
}

static enum weir_flow tell(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, got);
}

static struct weir *lines_app(const struct weir_json_lines_options *options)
{
        struct weir *app = quiet_app();

        weir_json_lines(app, "/", take, tell, NULL, options);
        got[0] = '\0';
        return app;
}

static void expect_lines(const char *request, int status, const char *values)
{
        struct weir *app = lines_app(NULL);

        cr_assert_eq(status_of(app, request), status);
        cr_assert_str_eq(got, values);
        weir_free(app);
}

static void expect_fault(const char *request, const char *where)
{
        struct weir *app = lines_app(NULL);
        struct weir_reply *reply = ask(app, request, 400);

        cr_assert(strstr(reply->body.ptr, where), "%s", reply->body.ptr);
        weir_reply_free(reply);
        weir_free(app);
}

Test(json_lines, each_line_is_a_value)
{
        expect_lines(LINES("{\"a\": 1}\n[2]\n3\n"), 200, "1:{\"a\":1} 2:[2] 3:3 ");
        expect_lines(LINES("1\r\n2"), 200, "1:1 2:2 ");
        expect_lines(LINES(""), 200, "");
        expect_lines(LINES("\n \t\r\n\n4\n\n"), 200, "4:4 ");
}

Test(json_lines, the_names_that_are_in_use_are_taken_and_others_not)
{
        expect_lines(POST("application/ndjson", "1"), 200, "1:1 ");
        expect_lines(POST("application/jsonl", "1"), 200, "1:1 ");
        expect_lines(POST("Application/X-JSONLines; charset=utf-8", "1"), 200, "1:1 ");
        expect_lines(POST("application/json", "1"), 415, "");
        expect_lines("POST /\n\n1", 415, "");
}

Test(json_lines, a_fault_says_its_line_and_column_and_ends_the_upload)
{
        expect_fault(LINES("1\n{\"a\":}\n3\n"), "line 2, column 6");
        cr_assert_str_eq(got, "1:1 ");
        expect_fault(LINES("1\n\n2 3\n"), "line 3");
        expect_fault(LINES("{\"a\":\n1}\n"), "line 1");
        expect_fault(LINES("{\"a\":1,\"a\":2}"), "line 1");
}

Test(json_lines, a_value_can_end_the_upload)
{
        expect_lines(LINES("1\ntrue\n3\n"), 422, "1:1 2:true ");
}

Test(json_lines, lines_are_the_same_wherever_they_are_cut)
{
        struct weir *app = lines_app(&(struct weir_json_lines_options){ .max_line = 20000 });
        char *request = malloc(100000);
        char want[64];
        size_t head;

        for (size_t len = 4080; len < 4110; len++) { /* an ask sends 4096 at a time */
                got[0] = '\0';
                head = (size_t)sprintf(request, LINES(""));
                sprintf(request + head, "\"%0*d\"\r\n[1]\r\n\"%0*d\"", (int)len, 7, 9000, 8);
                cr_assert_eq(status_of(app, request), 200);
                sprintf(want, "1:\"%019d 2:[1] 3:\"%019d ", 0, 0);
                cr_assert_str_eq(got, want);
        }
        free(request);
        weir_free(app);
}

Test(json_lines, limits_count_what_they_say)
{
        struct weir *app = lines_app(
                &(struct weir_json_lines_options){ .max_line = 5, .max_lines = 3 });
        struct weir_stats stats;

        cr_assert_eq(status_of(app, LINES("12345\n[1,2]\n1")), 200);
        cr_assert_eq(status_of(app, LINES("123456\n")), 413);
        cr_assert_eq(status_of(app, LINES("123456")), 413);
        cr_assert_eq(status_of(app, LINES("1\n2\n3\n")), 200);
        cr_assert_eq(status_of(app, LINES("1\n2\n3\n4")), 413);
        weir_stats(app, &stats);
        cr_assert_eq(stats.bodies_too_large, 3);
        weir_free(app);
}

static void expect_setup_error(weir_json_line_fn *on_line, weir_request_fn *fn,
                               const struct weir_json_lines_options *options, const char *why)
{
        struct weir *app = quiet_app();

        weir_json_lines(app, "/", on_line, fn, NULL, options);
        cr_assert(weir_error(app) && strstr(weir_error(app), why), "%s", weir_error(app));
        weir_free(app);
}

Test(json_lines, mistakes_in_the_setup_are_named)
{
        expect_setup_error(NULL, tell, NULL, "NULL");
        expect_setup_error(take, NULL, NULL, "NULL");
        expect_setup_error(take, tell, &(struct weir_json_lines_options){ .max_line = -1 }, "-1");
        expect_setup_error(take, tell, &(struct weir_json_lines_options){ .max_lines = -2 }, "-2");
}
