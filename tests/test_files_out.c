/* test_files_out.c - files: what never is served. */
#include "files_kit.h"

#include <sys/socket.h>
#include <sys/un.h>

TestSuite(files_out, .init = folder_new, .fini = folder_free);

/* Beside the folder that is served lies a secret. */
static struct weir *app_beside_secret(const struct weir_files *options)
{
        static char root[64];
        struct weir_files all = *options;
        struct weir *app = quiet_app();

        put("secret", "secret");
        put_folder("public");
        put_folder("public/sub");
        put("public/a.txt", "a");
        put("public/sub/b.txt", "b");
        put("public/sub\\c.txt", "c");
        snprintf(root, sizeof(root), "%s/public", folder);
        all.root = root;
        weir_use_files(app, &all);
        return app;
}

static const char *const hostile[] = {
        "/../secret",
        "/sub/../../secret",
        "/%2e%2e/secret",
        "/.%2E/secret",
        "/..%2fsecret",
        "/..%2Fsecret",
        "/%2e%2e%2fsecret",
        "/sub/..%2f..%2fsecret",
        "/..\\secret",
        "/..%5csecret",
        "/%5c..%5csecret",
        "/sub\\c.txt",
        "/sub%5Cc.txt",
        "/sub%2fb.txt",
        "/sub%2Fb.txt",
        "//a.txt",
        "/sub//b.txt",
        "/./a.txt",
        "/sub/.",
        "/sub/..",
        "/a.txt%00",
        "/a.txt%00.html",
        "/%00",
        "/a.txt%0a",
        "/..;/secret",
        "/%c0%ae%c0%ae/secret",
        "/%252e%252e/secret",
        "/%u002e%u002e/secret",
        "/....//secret",
        "/secret",
};

static void expect_nothing(struct weir *app, bool normalizes)
{
        char request[128];

        for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
                struct weir_reply *reply;

                snprintf(request, sizeof(request), "GET %s", hostile[i]);
                reply = weir_ask(app, request);
                cr_assert_null(strstr(reply->body.ptr, "secret"), "%s", request);
                if (!normalizes)
                        cr_assert(reply->status == 404 || reply->status == 400, "%s: %d", request,
                                  reply->status);
                weir_reply_free(reply);
        }
        expect(app, "GET /a.txt", 200, "a");
        expect(app, "GET /sub/b.txt", 200, "b");
}

Test(files_out, nothing_leads_out_of_the_folder)
{
        struct weir *app = app_beside_secret(&(struct weir_files){ .show_hidden = true });

        expect_nothing(app, false);
        weir_free(app);
}

Test(files_out, nothing_leads_out_without_openat2)
{
        struct weir *app;

        forbid_openat2();
        app = app_beside_secret(&(struct weir_files){ .show_hidden = true });
        expect_nothing(app, false);
        weir_free(app);
}

Test(files_out, nothing_leads_out_where_dots_and_slashes_are_put_right)
{
        struct weir *app = weir_new(&(struct weir_options){
                .log = drop_log, .dot_segments = WEIR_DOTS_NORMALIZE, .merge_slashes = true });
        static char root[64];

        weir_free(app_beside_secret(&(struct weir_files){ 0 }));
        snprintf(root, sizeof(root), "%s/public", folder);
        weir_use_files(app, &(struct weir_files){ .root = root });
        expect_nothing(app, true);
        weir_free(app);
}

Test(files_out, long_paths_and_names_are_not_there)
{
        char request[8300] = "GET /";
        struct weir *app = files_app(NULL);

        for (size_t len = 250; len < 8192; len = len * 3 / 2) {
                memset(request + 5, 'a', len);
                request[5 + len] = '\0';
                cr_assert_eq(status_of(app, request), 404, "%zu", len);
        }
        for (size_t at = 7; at < 5 + 4200; at += 200)
                request[at] = '/';
        request[5 + 4200] = '\0';
        cr_assert_eq(status_of(app, request), 404);
        weir_free(app);
}

Test(files_out, hidden_files_are_there_only_by_option)
{
        struct weir *app;

        put(".env", "key");
        put_folder(".git");
        put(".git/config", "git");
        app = files_app(NULL);
        cr_assert_eq(status_of(app, "GET /.env"), 404);
        cr_assert_eq(status_of(app, "GET /%2Eenv"), 404);
        cr_assert_eq(status_of(app, "GET /.git"), 404);
        cr_assert_eq(status_of(app, "GET /.git/config"), 404);
        weir_free(app);
        app = files_app(&(struct weir_files){ .show_hidden = true });
        expect(app, "GET /.env", 200, "key");
        expect(app, "GET /.git/config", 200, "git");
        weir_free(app);
}

Test(files_out, only_regular_files_are_served_and_nothing_waits, .timeout = 20)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct weir *app;

        cr_assert_eq(mkfifo(in_folder("fifo"), 0644), 0);
        strcpy(address.sun_path, in_folder("socket"));
        cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        put_link("null", "/dev/null");
        app = files_app(&(struct weir_files){ .links = WEIR_FILES_ALL_LINKS });
        cr_assert_eq(status_of(app, "GET /fifo"), 404);
        cr_assert_eq(status_of(app, "GET /socket"), 404);
        cr_assert_eq(status_of(app, "GET /null"), 404);
        weir_free(app);
        close(fd);
}

/* ---- Links. ---- */

static void put_links(void)
{
        put_folder("sub");
        put("sub/a.txt", "a");
        put_link("near", "sub/a.txt");
        put_link("near-folder", "sub");
        put_link("sub/up", "../sub/a.txt");
        put_link("out", "../../etc/passwd");
        put_link("out-folder", "../../etc");
        put_link("absolute", "/etc/passwd");
        put_link("loop", "loop");
        put_link("nowhere", "none");
        put_link("magic", "/proc/self/exe");
}

static void expect_links(enum weir_files_links links, int near, int out)
{
        struct weir *app = files_app(&(struct weir_files){ .links = links });

        cr_assert_eq(status_of(app, "GET /sub/a.txt"), 200);
        cr_assert_eq(status_of(app, "GET /near"), near);
        cr_assert_eq(status_of(app, "GET /near-folder/a.txt"), near);
        cr_assert_eq(status_of(app, "GET /sub/up"), near);
        cr_assert_eq(status_of(app, "GET /out"), out);
        cr_assert_eq(status_of(app, "GET /out-folder/passwd"), out);
        cr_assert_eq(status_of(app, "GET /absolute"), out);
        cr_assert_eq(status_of(app, "GET /magic"), out);
        cr_assert_eq(status_of(app, "GET /loop"), 404);
        cr_assert_eq(status_of(app, "GET /nowhere"), 404);
        weir_free(app);
}

Test(files_out, links_are_not_followed)
{
        put_links();
        expect_links(WEIR_FILES_NO_LINKS, 404, 404);
}

Test(files_out, links_are_not_followed_without_openat2)
{
        put_links();
        forbid_openat2();
        expect_links(WEIR_FILES_NO_LINKS, 404, 404);
}

Test(files_out, links_that_stay_below_are_followed_by_option)
{
        put_links();
        expect_links(WEIR_FILES_LINKS_BELOW, 200, 404);
}

Test(files_out, all_links_are_followed_by_option)
{
        put_links();
        expect_links(WEIR_FILES_ALL_LINKS, 200, 200);
}

Test(files_out, all_links_are_followed_by_option_without_openat2)
{
        put_links();
        forbid_openat2();
        expect_links(WEIR_FILES_ALL_LINKS, 200, 200);
}

Test(files_out, the_folder_itself_may_be_a_link_and_may_be_moved)
{
        struct weir *app = quiet_app();
        static char root[64];

        put_folder("release-1");
        put("release-1/a.txt", "1");
        put_folder("release-2");
        put("release-2/a.txt", "2");
        put_link("current", "release-1");
        snprintf(root, sizeof(root), "%s", in_folder("current"));
        weir_use_files(app, &(struct weir_files){ .root = root });
        expect(app, "GET /a.txt", 200, "1");
        cr_assert_eq(rename(in_folder("release-1"), in_folder("moved")), 0);
        unlink(root);
        put_link("current", "release-2");
        expect(app, "GET /a.txt", 200, "1");
        weir_free(app);
}
