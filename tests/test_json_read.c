/* test_json_read.c - claims about JSON bodies as documents. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/json.h>
#include <weir/test.h>

/* Answers with the document that it got. */
static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        json_t *body = weir_json_body(ctx);

        (void)self;
        return body ? weir_json_new(ctx, 200, body) : WEIR_DONE;
}

static enum weir_flow as_text(struct weir_ctx *ctx, void *self, int status, struct weir_str detail)
{
        (void)self;
        return weir_textf(ctx, status, "<%.*s>", WEIR_FMT(detail));
}

/* The status, and what was answered in `out`. */
static int ask_bytes(const char *type, struct weir_str body, char out[1024])
{
        struct weir_options options = { .scope = { .on_error = as_text } };
        struct weir *app = weir_new(&options);
        char *request = malloc(body.len + 256);
        int len = sprintf(request, "POST /\n%s%s\n\n", *type ? "Content-Type: " : "", type);
        struct weir_reply *reply;
        int status;

        weir_post(app, "/", echo, NULL);
        memcpy(request + len, body.ptr, body.len);
        reply = weir_ask_bytes(app, (struct weir_str){ request, (size_t)len + body.len });
        cr_assert_not_null(reply);
        status = reply->status;
        snprintf(out, 1024, "%s", reply->body.ptr);
        weir_reply_free(reply);
        weir_free(app);
        free(request);
        return status;
}

static int ask(const char *type, const char *body, char out[1024])
{
        return ask_bytes(type, (struct weir_str){ body, strlen(body) }, out);
}

Test(json_read, takes_any_json_value)
{
        static const char *const values[] = {
                "{\"a\":[1,2.5,\"x\",true,null]}", "[]", "\"text\"", "7", "null", "false"
        };
        char out[1024];

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                cr_assert_eq(ask("application/json", values[i], out), 200);
                cr_assert_str_eq(out, values[i]);
        }
}

Test(json_read, takes_types_that_are_json)
{
        static const char *const types[] = { "application/json",
                                             "Application/JSON",
                                             "application/json; charset=utf-8",
                                             "application/json ;x",
                                             "application/merge-patch+json",
                                             "a/b+JSON;c=\"+d\"" };
        char out[1024];

        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
                cr_assert_eq(ask(types[i], "{}", out), 200, "%s", types[i]);
}

Test(json_read, answers_415_to_other_types)
{
        static const char *const types[] = { "",
                                             "text/plain",
                                             "application/jsonx",
                                             "text/json+xml",
                                             "application/x-www-form-urlencoded",
                                             "+json",
                                             "json",
                                             "text/plain; a=b+json" };
        char out[1024];

        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
                cr_assert_eq(ask(types[i], "{}", out), 415, "%s", types[i]);
}

Test(json_read, says_at_415_what_it_takes)
{
        struct weir *app = weir_new(NULL);
        struct weir_reply *reply;

        weir_post(app, "/", echo, NULL);
        reply = weir_ask(app, "POST /\nContent-Type: text/plain\n\n{}");
        cr_assert(weir_str_is(weir_reply_header(reply, "Accept"), "application/json"));
        weir_reply_free(reply);
        weir_free(app);
}

Test(json_read, answers_400_with_line_and_column)
{
        static const struct {
                const char *body, *where;
        } rows[] = {
                { "", "line 1, column 1: the body is empty" },
                { " ", "line 1, column 1: " },
                { "{", "line 1, column 1: " },
                { "{\n  \"a\": 1,\n  \"b\": nul\n}", "line 3, column 10: " },
                { "[1,\n2", "line 2, column 1: " },
                { "[1,\n", "line 2, column 1: " },
                { "[\"é\" x]", "line 1, column 6: " },
                { "{} {}", "line 1, column 4: " },
                { "[01]", "line 1, column 2: " },
                { "{'a':1}", "line 1, column 2: " },
        };
        char out[1024];

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                cr_assert_eq(ask("application/json", rows[i].body, out), 400, "%s", rows[i].body);
                cr_assert_eq(strncmp(out + 1, rows[i].where, strlen(rows[i].where)), 0, "%s: %s",
                             rows[i].body, out);
        }
}

static void refuses(const char *body, const char *reason)
{
        char out[1024];

        cr_assert_eq(ask("application/json", body, out), 400, "%s", body);
        cr_assert_not_null(strstr(out, reason), "%s: %s", body, out);
}

Test(json_read, refuses_what_is_json_but_cannot_be_kept)
{
        refuses("{\"a\":1,\"b\":2,\"a\":3}", "duplicate");
        refuses("9223372036854775808", "too big");
        refuses("-9223372036854775809", "too big");
        refuses("1e400", "overflow");
        refuses("\"a\\u0000b\"", "u0000");
        refuses("{\"a\\u0000b\":1}", "u0000");
        refuses("[\"\\ud800\"]", "invalid Unicode");
}

Test(json_read, refuses_what_is_not_utf8)
{
        refuses("\"\xff\"", "0xff");
        refuses("\"\xed\xa0\x80\"", "0xed");
        refuses("\"\xc3", "0xc3");
}

/* Jansson takes "[1\0]". */
Test(json_read, refuses_a_nul_byte_wherever_it_stands)
{
        static const char body[] = "[1,\n\"é\",true\0]";
        char out[1024];

        cr_assert_eq(ask_bytes("application/json", WEIR_STR("[1\0]"), out), 400);
        cr_assert_str_eq(out, "<line 1, column 3: a NUL byte>");
        cr_assert_eq(
                ask_bytes("application/json", (struct weir_str){ body, sizeof(body) - 1 }, out),
                     400);
        cr_assert_str_eq(out, "<line 2, column 9: a NUL byte>");
}

Test(json_read, quotes_no_control_bytes_of_the_body)
{
        char out[1024];

        cr_assert_eq(ask("application/json", "[\x01]", out), 400);
        cr_assert_null(strchr(out, 1));
}

Test(json_read, takes_2048_levels_and_no_more)
{
        char *body = malloc(2 * 2049), out[1024];

        for (int levels = 2048; levels <= 2049; levels++) {
                memset(body, '[', (size_t)levels);
                memset(body + levels, ']', (size_t)levels);
                cr_assert_eq(ask_bytes("application/json",
                                       (struct weir_str){ body, 2 * (size_t)levels }, out),
                             levels == 2048 ? 200 : 400);
        }
        free(body);
}

/* ---- Answers through a request. ---- */

static enum weir_flow answer_nothing(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_json(ctx, 200, NULL);
}

static enum weir_flow drop_a_writer(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_array(&w);
        weir_json_cstr(&w, "gone");
        return weir_text(ctx, 200, "text");
}

static enum weir_flow write_wrong(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_object(&w);
        weir_json_int(&w, 1);
        weir_json_int(&w, 2);
        weir_json_object_end(&w);
        return weir_json_end(&w, 200);
}

static enum weir_flow write_well(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_array(&w);
        for (int i = 0; i < 20000; i++)
                weir_json_int(&w, i);
        weir_json_array_end(&w);
        return weir_json_end(&w, 201);
}

static enum weir_flow write_in_a_full_arena(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w;

        (void)self;
        while (weir_alloc(ctx, 16))
                ;
        w = weir_json_begin(ctx);
        weir_json_array(&w);
        weir_json_cstr(&w, "text");
        weir_json_array_end(&w);
        return weir_json_end(&w, 200);
}

static void count_line(void *arg, enum weir_level level, const char *line)
{
        (void)level;
        (void)line;
        ++*(int *)arg;
}

/* What a request left behind. */
struct trace {
        int      n_lines; /* in the log */
        uint64_t n_bad;   /* bad_answers */
};

static struct weir_reply *reply_of(weir_request_fn *handler, struct trace *trace)
{
        struct weir_options options = { .log = count_line, .log_arg = &trace->n_lines };
        struct weir *app = weir_new(&options);
        struct weir_reply *reply;
        struct weir_stats stats;

        trace->n_lines = 0;
        weir_get(app, "/", handler, NULL);
        reply = weir_ask(app, "GET /");
        cr_assert_not_null(reply);
        weir_stats(app, &stats);
        trace->n_bad = stats.bad_answers;
        weir_free(app);
        return reply;
}

Test(json_answer, of_a_writer_is_what_was_written)
{
        struct trace trace;
        struct weir_reply *reply = reply_of(write_well, &trace);
        json_t *read = json_loadb(reply->body.ptr, reply->body.len, 0, NULL);

        cr_assert_eq(reply->status, 201);
        cr_assert(weir_str_is(weir_reply_header(reply, "Content-Type"), "application/json"));
        cr_assert_eq(json_array_size(read), 20000);
        cr_assert_eq(json_integer_value(json_array_get(read, 19999)), 19999);
        cr_assert_eq(trace.n_bad, 0);
        json_decref(read);
        weir_reply_free(reply);
}

/* A mistake of the app: 500, a line in the log, one more of the bad answers. */
static void is_a_mistake(weir_request_fn *handler)
{
        struct trace trace;
        struct weir_reply *reply = reply_of(handler, &trace);

        cr_assert_eq(reply->status, 500);
        cr_assert_eq(trace.n_lines, 1);
        cr_assert_eq(trace.n_bad, 1);
        weir_reply_free(reply);
}

Test(json_answer, of_a_wrong_writer_is_500_logged_once_and_counted_once)
{
        is_a_mistake(write_wrong);
}

Test(json_answer, without_a_document_is_500_logged_once_and_counted_once)
{
        is_a_mistake(answer_nothing);
}

Test(json_answer, may_be_something_else_after_a_writer_was_begun)
{
        struct trace trace;
        struct weir_reply *reply = reply_of(drop_a_writer, &trace);

        cr_assert_eq(reply->status, 200);
        cr_assert_str_eq(reply->body.ptr, "text");
        cr_assert_eq(trace.n_lines, 0);
        cr_assert_eq(trace.n_bad, 0);
        weir_reply_free(reply);
}

Test(json_answer, of_a_writer_in_a_full_arena_is_500_and_no_mistake)
{
        struct trace trace;
        struct weir_reply *reply = reply_of(write_in_a_full_arena, &trace);

        cr_assert_eq(reply->status, 500);
        cr_assert_eq(trace.n_bad, 0);
        weir_reply_free(reply);
}
