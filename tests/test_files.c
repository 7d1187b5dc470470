/* test_files.c - files: which are served, and what comes where there is none. */
#include "files_kit.h"

#include <sys/resource.h>

TestSuite(files, .init = folder_new, .fini = folder_free);

Test(files, a_file_is_served_with_type_and_validators)
{
        struct weir *app;

        put("hello.txt", "Hello!\n");
        app = files_app(NULL);
        expect(app, "GET /hello.txt", 200, "Hello!\n");
        expect_header(app, "GET /hello.txt", "Content-Type", "text/plain; charset=utf-8");
        expect_header(app, "GET /hello.txt", "Last-Modified", OLD_DATE);
        expect_header(app, "GET /hello.txt", "Accept-Ranges", "bytes");
        expect_header(app, "GET /hello.txt", "X-Content-Type-Options", "nosniff");
        expect_header(app, "GET /hello.txt", "Cache-Control", "no-cache");
        expect_header(app, "GET /hello.txt", "Vary", NULL);
        expect_header(app, "GET /hello.txt", "Content-Encoding", NULL);
        weir_free(app);
}

Test(files, an_empty_file_is_a_file)
{
        struct weir *app;

        put("empty", "");
        app = files_app(NULL);
        expect(app, "GET /empty", 200, "");
        weir_free(app);
}

Test(files, head_tells_the_length_and_sends_nothing)
{
        struct weir_reply *reply;
        struct weir *app;

        put("hello.txt", "Hello!\n");
        app = files_app(NULL);
        reply = ask(app, "HEAD /hello.txt", 200);
        cr_assert_eq(reply->body.len, 0);
        cr_assert_eq(reply->length, 7);
        weir_reply_free(reply);
        weir_free(app);
}

Test(files, other_methods_are_told_which_there_are)
{
        static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
        struct weir *app;
        char request[64];

        put("hello.txt", "Hello!\n");
        app = files_app(NULL);
        for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
                snprintf(request, sizeof(request), "%s /hello.txt", methods[i]);
                cr_assert_eq(status_of(app, request), 405);
                expect_header(app, request, "Allow", "GET, HEAD, OPTIONS");
        }
        cr_assert_eq(status_of(app, "OPTIONS /hello.txt"), 204);
        weir_free(app);
}

Test(files, names_are_decoded_once)
{
        struct weir *app;

        put("a b.txt", "blank");
        put("%41", "percent");
        put("\xc3\xa9", "accent");
        app = files_app(NULL);
        expect(app, "GET /a%20b.txt", 200, "blank");
        expect(app, "GET /%2541", 200, "percent");
        expect(app, "GET /%C3%A9?a=b", 200, "accent");
        cr_assert_eq(status_of(app, "GET /%41"), 404);
        weir_free(app);
}

Test(files, a_prefix_is_no_part_of_the_path)
{
        struct weir *app = quiet_app();
        struct weir *group = weir_group(app, "/shop/{id}", NULL);

        put("a.txt", "a");
        put("index.html", "index");
        weir_use_files(group, &(struct weir_files){ .root = folder, .prefix = "/static" });
        expect(app, "GET /shop/7/static/a.txt", 200, "a");
        expect(app, "GET /shop/7/static/", 200, "index");
        cr_assert_eq(status_of(app, "GET /shop/7/static"), 308);
        expect_header(app, "GET /shop/7/static?q", "Location", "/shop/7/static/?q");
        cr_assert_eq(status_of(app, "GET /a.txt"), 404);
        cr_assert_eq(status_of(app, "GET /shop/7/staticx"), 404);
        weir_free(app);
}

Test(files, routes_that_name_more_go_before_files)
{
        struct weir *app;

        put("about", "file");
        app = files_app(NULL);
        weir_get(app, "/about", say, "route");
        weir_get(app, "/books/{id}", say, "book");
        expect(app, "GET /about", 200, "route");
        expect(app, "GET /books/1", 200, "book");
        weir_free(app);
}

/* ---- Folders. ---- */

Test(files, a_folder_answers_its_index)
{
        struct weir *app;

        put("index.html", "top");
        put_folder("docs");
        put("docs/index.html", "docs");
        app = files_app(NULL);
        expect(app, "GET /", 200, "top");
        expect(app, "GET /docs/", 200, "docs");
        expect_header(app, "GET /docs/", "Content-Type", "text/html; charset=utf-8");
        weir_free(app);
}

Test(files, the_index_may_have_another_name_or_none)
{
        struct weir *app;

        put("index.html", "html");
        put("main.md", "md");
        app = files_app(&(struct weir_files){ .index = "main.md" });
        expect(app, "GET /", 200, "md");
        weir_free(app);
        app = files_app(&(struct weir_files){ .index = "" });
        cr_assert_eq(status_of(app, "GET /"), 404);
        expect(app, "GET /index.html", 200, "html");
        weir_free(app);
}

Test(files, a_folder_is_never_listed)
{
        struct weir *app;

        put_folder("docs");
        put("docs/secret-name", "");
        put_folder("odd");
        put_folder("odd/index.html");
        app = files_app(NULL);
        cr_assert_eq(status_of(app, "GET /docs/"), 404);
        cr_assert_eq(status_of(app, "GET /odd/"), 404);
        weir_free(app);
}

Test(files, a_folder_without_slash_is_redirected_to_the_one_with)
{
        struct weir *app;

        put_folder("docs");
        put_folder("docs/a:b");
        app = files_app(NULL);
        cr_assert_eq(status_of(app, "GET /docs"), 308);
        expect_header(app, "GET /docs", "Location", "./docs/");
        expect_header(app, "GET /docs?page=2&x=/", "Location", "./docs/?page=2&x=/");
        expect_header(app, "GET /docs?", "Location", "./docs/?");
        expect_header(app, "GET /docs/a:b", "Location", "./a:b/");
        expect_header(app, "GET /docs/a%3Ab", "Location", "./a%3Ab/");
        weir_free(app);
}

Test(files, a_redirect_leads_to_no_other_host)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .log = drop_log, .merge_slashes = true });

        put_folder("evil.example");
        weir_use_files(app, &(struct weir_files){ .root = folder });
        expect_header(app, "GET //evil.example", "Location", "./evil.example/");
        expect_header(app, "GET http://test//evil.example", "Location", "./evil.example/");
        weir_free(app);
}

Test(files, a_file_is_no_folder)
{
        struct weir *app;

        put("a.txt", "a");
        app = files_app(NULL);
        cr_assert_eq(status_of(app, "GET /a.txt/"), 404);
        cr_assert_eq(status_of(app, "GET /a.txt/b"), 404);
        weir_free(app);
}

/* ---- When there is no file. ---- */

Test(files, the_fallback_answers_for_pages_and_not_for_assets)
{
        struct weir *app;

        put("index.html", "app");
        put("app.js", "code");
        put_folder("assets");
        app = files_app(&(struct weir_files){
                .fallback = "index.html", .max_age_s = 60, .immutable = true });
        expect(app, "GET /users/7", 200, "app");
        expect(app, "GET /users/", 200, "app");
        expect(app, "GET /assets/", 200, "app");
        expect(app, "HEAD /users/7", 200, "");
        expect_header(app, "GET /users/7", "Content-Type", "text/html; charset=utf-8");
        expect_header(app, "GET /users/7", "Cache-Control", "no-cache");
        expect_header(app, "GET /app.js", "Cache-Control", "max-age=60, immutable");
        cr_assert_eq(status_of(app, "GET /old.js"), 404);
        cr_assert_eq(status_of(app, "GET /.git"), 404);
        cr_assert_eq(status_of(app, "GET /a%2Fb"), 404);
        cr_assert_eq(status_of(app, "POST /users/7"), 405);
        weir_free(app);
}

Test(files, a_fallback_that_is_gone_is_a_404)
{
        struct weir *app = files_app(&(struct weir_files){ .fallback = "index.html" });

        cr_assert_eq(status_of(app, "GET /users/7"), 404);
        weir_free(app);
}

Test(files, what_is_missing_goes_on_to_a_handler)
{
        struct weir *app;

        put("a.txt", "a");
        app = files_app(&(struct weir_files){ .missing = say, .missing_self = "rendered" });
        expect(app, "GET /a.txt", 200, "a");
        expect(app, "GET /b.txt", 200, "rendered");
        expect(app, "GET /", 200, "rendered");
        weir_free(app);
}

Test(files, a_file_that_may_not_be_read_is_a_403)
{
        struct weir *app;
        int status;

        put("closed", "x");
        cr_assert_eq(chmod(in_folder("closed"), 0), 0);
        cr_assert_eq(chmod(folder, 0755), 0);
        app = files_app(NULL);
        if (geteuid() == 0) /* root may read all */
                cr_assert_eq(setresuid((uid_t)-1, 65534, (uid_t)-1), 0);
        status = status_of(app, "GET /closed");
        if (getuid() == 0)
                cr_assert_eq(setresuid((uid_t)-1, 0, (uid_t)-1), 0);
        cr_assert_eq(status, 403);
        weir_free(app);
}

Test(files, without_a_descriptor_the_server_is_busy)
{
        struct rlimit limit;
        struct weir *app;
        int next = dup(0);

        close(next);
        put("a.txt", "a");
        app = files_app(NULL);
        expect(app, "GET /a.txt", 200, "a");
        cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = (rlim_t)next + 1; /* the folder has taken `next` */
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        cr_assert_eq(status_of(app, "GET /a.txt"), 503);
        limit.rlim_cur = limit.rlim_max;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        expect(app, "GET /a.txt", 200, "a");
        weir_free(app);
}

/* ---- Setup. ---- */

static void expect_error(const struct weir_files *options, const char *part)
{
        struct weir *app = quiet_app();

        weir_use_files(app, options);
        cr_assert_eq(weir_start(app), -1);
        cr_assert(strstr(weir_error(app), part), "\"%s\" does not say \"%s\"", weir_error(app),
                  part);
        weir_free(app);
}

Test(files, mistakes_are_named)
{
        static const struct weir_files_type dotted[] = { { ".js", "a/b" }, { 0 } };

        put("file", "");
        expect_error(NULL, "set .root");
        expect_error(&(struct weir_files){ .root = "/none/here" },
                     "\"/none/here\": No such file or directory");
        expect_error(&(struct weir_files){ .root = in_folder("file") }, "Not a directory");
        expect_error(&(struct weir_files){ .root = folder, .index = "a/b" }, "index \"a/b\"");
        expect_error(&(struct weir_files){ .root = folder, .index = ".." }, "index \"..\"");
        expect_error(&(struct weir_files){ .root = folder, .fallback = "" }, "fallback \"\"");
        expect_error(&(struct weir_files){ .root = folder, .fallback = "/etc/passwd" },
                     "fallback \"/etc/passwd\"");
        expect_error(&(struct weir_files){ .root = folder, .fallback = "a/../../b" }, "fallback");
        expect_error(&(struct weir_files){ .root = folder, .links = 9 }, "links is 9");
        expect_error(&(struct weir_files){ .root = folder, .max_age_s = -5 }, "max_age_s is -5");
        expect_error(&(struct weir_files){ .root = folder, .immutable = true }, "immutable");
        expect_error(&(struct weir_files){ .root = folder, .max_ranges = 65 }, "max_ranges is 65");
        expect_error(&(struct weir_files){ .root = folder, .types = dotted }, "type of \".js\"");
        expect_error(&(struct weir_files){ .root = folder, .prefix = "static" }, "\"static\"");
        forbid_openat2();
        expect_error(&(struct weir_files){ .root = folder, .links = WEIR_FILES_LINKS_BELOW },
                     "needs Linux 5.6");
}

Test(files, two_folders_at_one_place_are_a_mistake)
{
        struct weir *app = files_app(NULL);

        weir_use_files(app, &(struct weir_files){ .root = folder });
        cr_assert_eq(weir_start(app), -1);
        cr_assert(strstr(weir_error(app), "/{path...}"), "%s", weir_error(app));
        weir_free(app);
}

Test(files, no_scope_is_no_crash)
{
        weir_use_files(NULL, &(struct weir_files){ .root = folder });
        weir_use_files(NULL, NULL);
}

Test(files, no_descriptor_is_left_open)
{
        struct weir *app;
        int before = dup(0), after;

        put("a.txt", "0123456789");
        put("a.txt.gz", "x");
        put_folder("d");
        close(before);
        for (int i = 0; i < 3; i++) {
                app = files_app(&(struct weir_files){ .precompressed = true, .links = i });
                weir_reply_free(ask_with(app, "GET /a.txt", "Accept-Encoding: gzip\n"));
                weir_reply_free(ask_with(app, "GET /a.txt", "Range: bytes=1-2\n"));
                weir_reply_free(ask_with(app, "GET /a.txt", "Range: bytes=1-2,4-5\n"));
                weir_reply_free(ask_with(app, "HEAD /a.txt", "Range: bytes=99-\n"));
                weir_reply_free(ask_with(app, "GET /a.txt", "Range: bytes=99-\n"));
                weir_reply_free(ask_with(app, "GET /a.txt", "If-Match: \"x\"\n"));
                weir_reply_free(ask_with(app, "GET /a.txt", "If-Modified-Since: " OLD_DATE "\n"));
                cr_assert_eq(status_of(app, "GET /d"), 308);
                cr_assert_eq(status_of(app, "GET /d/"), 404);
                weir_free(app);
        }
        after = dup(0);
        close(after);
        cr_assert_eq(before, after);
}
