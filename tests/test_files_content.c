/* test_files_content.c - files: types, compressed siblings, Cache-Control. */
#include "files_kit.h"

TestSuite(files_content, .init = folder_new, .fini = folder_free);

static void expect_type(struct weir *app, const char *name, const char *type)
{
        char request[64];

        put(name, "x");
        snprintf(request, sizeof(request), "GET /%s", name);
        expect_header(app, request, "Content-Type", type);
}

Test(files_content, types_follow_from_the_end_of_the_name)
{
        struct weir *app = files_app(NULL);

        expect_type(app, "a.html", "text/html; charset=utf-8");
        expect_type(app, "a.HTML", "text/html; charset=utf-8");
        expect_type(app, "a.tar.gz", "application/gzip");
        expect_type(app, "7.7z", "application/x-7z-compressed");
        expect_type(app, "z.zst", "application/zstd");
        expect_type(app, "a.js", "text/javascript; charset=utf-8");
        expect_type(app, "a.json", "application/json");
        expect_type(app, "a.svg", "image/svg+xml");
        expect_type(app, "a.unknown", "application/octet-stream");
        expect_type(app, "html", "application/octet-stream");
        expect_type(app, "a.", "application/octet-stream");
        weir_free(app);
}

Test(files_content, types_of_the_app_go_before)
{
        static const struct weir_files_type types[] = { { "js", "text/x" },
                                                        { "new", "a/b" },
                                                        { 0 } };
        struct weir *app = files_app(&(struct weir_files){ .types = types });

        expect_type(app, "a.js", "text/x");
        expect_type(app, "a.NEW", "a/b");
        expect_type(app, "a.css", "text/css; charset=utf-8");
        weir_free(app);
}

static void expect_coding(struct weir *app, const char *accept, const char *coding)
{
        struct weir_reply *reply = ask_with(app, "GET /a.js", accept);
        struct weir_str got = weir_reply_header(reply, "Content-Encoding");

        cr_assert_eq(reply->status, 200);
        cr_assert(coding ? weir_str_is(got, coding) : !got.ptr, "%s: %.*s", accept, WEIR_FMT(got));
        cr_assert(weir_str_is(weir_reply_header(reply, "Vary"), "Accept-Encoding"));
        cr_assert(weir_str_is(weir_reply_header(reply, "Content-Type"),
                              "text/javascript; charset=utf-8"));
        cr_assert_str_eq(reply->body.ptr, coding ? coding : "plain");
        weir_reply_free(reply);
}

Test(files_content, compressed_siblings_go_to_those_who_accept_them)
{
        struct weir *app;

        put("a.js", "plain");
        put("a.js.gz", "gzip");
        put("a.js.br", "br");
        put("a.js.zst", "zstd");
        app = files_app(&(struct weir_files){ .precompressed = true });
        expect_coding(app, "", NULL);
        expect_coding(app, "Accept-Encoding: gzip, deflate\n", "gzip");
        expect_coding(app, "Accept-Encoding: GZIP\n", "gzip");
        expect_coding(app, "Accept-Encoding: gzip, deflate, br, zstd\n", "br");
        expect_coding(app, "Accept-Encoding: gzip\nAccept-Encoding: zstd\n", "zstd");
        expect_coding(app, "Accept-Encoding: br;q=0.1, gzip;q=0.2\n", "gzip");
        expect_coding(app, "Accept-Encoding: br;q=0, zstd;q=0.000, gzip;q=0\n", NULL);
        expect_coding(app, "Accept-Encoding: *\n", "br");
        expect_coding(app, "Accept-Encoding: br ; q=0 , * ; q=0.5\n", "zstd");
        expect_coding(app, "Accept-Encoding: br;q=x, gzip;q=2, zstd;q=0.1234\n", NULL);
        expect_coding(app, "Accept-Encoding: identity, bro, , ;q=1\n", NULL);
        weir_free(app);
}

Test(files_content, a_sibling_that_is_older_or_no_file_is_left_alone)
{
        struct weir *app;

        put("a.js", "plain");
        put("a.js.gz", "gzip");
        put_folder("a.js.br");
        set_time("a.js.gz", OLD_S - 1);
        app = files_app(&(struct weir_files){ .precompressed = true });
        expect_coding(app, "Accept-Encoding: gzip, br\n", NULL);
        set_time("a.js.gz", OLD_S + 1);
        expect_coding(app, "Accept-Encoding: gzip, br\n", "gzip");
        weir_free(app);
}

Test(files_content, siblings_do_not_count_without_the_option)
{
        struct weir_reply *reply;
        struct weir *app;

        put("a.js", "plain");
        put("a.js.gz", "gzip");
        app = files_app(NULL);
        reply = ask_with(app, "GET /a.js", "Accept-Encoding: gzip\n");
        cr_assert_str_eq(reply->body.ptr, "plain");
        cr_assert_null(weir_reply_header(reply, "Vary").ptr);
        weir_reply_free(reply);
        weir_free(app);
}

static enum weir_flow set_cache(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_set_header(ctx, "Cache-Control", "private");
        return WEIR_NEXT;
}

Test(files_content, cache_control_follows_the_options)
{
        static const struct weir_middleware own = { .name = "own", .on_request = set_cache };
        struct weir *app;

        put("a", "a");
        app = files_app(&(struct weir_files){ .max_age_s = 3600 });
        expect_header(app, "GET /a", "Cache-Control", "max-age=3600");
        weir_free(app);
        app = files_app(&(struct weir_files){ .max_age_s = WEIR_NONE });
        expect_header(app, "GET /a", "Cache-Control", NULL);
        weir_free(app);
        app = files_app(&(struct weir_files){ .max_age_s = 3600 });
        weir_use(app, &own, NULL);
        expect_header(app, "GET /a", "Cache-Control", "private");
        expect_header(app, "GET /none", "Cache-Control", "private");
        weir_free(app);
}
