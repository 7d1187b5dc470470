/* test_answer_header.c - header fields of answers: set, read, refused, too many. */
#include "kit.h"

#include <string.h>

static enum weir_flow set_fields(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert(weir_set_header(ctx, "X-A", "1"));
        cr_assert(weir_set_header(ctx, "x-a", " 2\t"), "names have no case, blanks are cut");
        cr_assert(weir_add_header(ctx, "X-A", "3"));
        cr_assert(weir_set_default_header(ctx, "X-A", "4"));
        cr_assert(weir_set_default_header(ctx, "X-B", "5"));
        cr_assert(weir_set_headerf(ctx, "X-C", "%d-%s", 6, "six"));
        cr_assert(weir_set_header(ctx, "X-Gone", "7"));
        weir_remove_header(ctx, "x-gone");
        cr_assert(weir_str_is(weir_answer_header(ctx, "X-a"), "2"));
        cr_assert_null(weir_answer_header(ctx, "X-Gone").ptr);
        return weir_text(ctx, 200, "ok");
}

Test(answer_header, fields_are_set_added_defaulted_read_and_removed)
{
        struct weir *app = app_with(set_fields, NULL);
        struct weir_reply *reply = ask(app, "GET /", 200);

        cr_assert(weir_str_eq(reply->head, WEIR_STR("Content-Type: text/plain; charset=utf-8\r\n"
                                                    "x-a: 2\r\nX-A: 3\r\nX-B: 5\r\n"
                                                    "X-C: 6-six\r\n")),
                  "%.*s", WEIR_FMT(reply->head));
        weir_reply_free(reply);
        weir_free(app);
}

static enum weir_flow set_bad_fields(struct weir_ctx *ctx, void *self)
{
        static const char *const names[] = {
                "",
                "X A",
                "X:A",
                "X\r\nA",
                "X(",
                "Content-Length",
                "transfer-encoding",
                "Connection",
                "Date",
                "Keep-Alive",
                "Upgrade",
                "Trailer",
        };
        static const char *const values[] = { "a\rb", "a\nb", "a\r\nX: y", "\x01", "\x7f" };

        (void)self;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                cr_assert_not(weir_set_header(ctx, names[i], "x"), "%s", names[i]);
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
                cr_assert_not(weir_set_header(ctx, "X-A", values[i]), "value %zu", i);
        cr_assert(weir_set_header(ctx, "X-Fine", "caf\xc3\xa9"));
        return weir_text(ctx, 200, "ok");
}

Test(answer_header, fields_that_could_split_or_frame_the_answer_are_refused_and_counted)
{
        struct weir *app = app_with(set_bad_fields, NULL);
        struct weir_stats stats;

        expect_header(app, "GET /", "X-Fine", "caf\xc3\xa9");
        weir_stats(app, &stats);
        cr_assert_eq(stats.bad_headers, 17);
        weir_free(app);
}

static enum weir_flow overflow(struct weir_ctx *ctx, void *self)
{
        char value[700];

        (void)self;
        memset(value, 'x', sizeof(value) - 1);
        value[sizeof(value) - 1] = '\0';
        for (int i = 0; i < 10; i++)
                weir_add_header(ctx, "X-Long", value);
        return weir_text(ctx, 200, "ok");
}

Test(answer_header, headers_that_do_not_fit_make_the_answer_500_and_are_counted)
{
        struct weir *app = app_with(overflow, NULL);
        struct weir_stats stats;

        cr_assert_eq(status_of(app, "GET /"), 500);
        weir_stats(app, &stats);
        cr_assert_eq(stats.arena_full, 1);
        weir_free(app);
}
