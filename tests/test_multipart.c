/* test_multipart.c - forms with files: what middleware/weir/multipart.h promises, in memory. */
#include "form_head.h"
#include "form_scan.h"
#include "kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/multipart.h>

/* ---- Parts as text: "name=value", "name@filename:type=content", in the order of the form. ---- */

static void put_content(FILE *out, const struct weir_part *part)
{
        char buf[4096];
        ssize_t n = part->fd < 0 ? 0 : read(part->fd, buf, sizeof(buf));

        fprintf(out, "%.*s%.*s", WEIR_FMT(part->value), n > 0 ? (int)n : 0, buf);
}

static enum weir_flow tell(struct weir_ctx *ctx, void *self, struct weir_parts *parts)
{
        const struct weir_part *part = NULL;
        enum weir_flow flow;
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        (void)self;
        while ((part = weir_part_next(parts, part))) {
                fprintf(out, "%.*s", WEIR_FMT(part->name));
                if (part->filename.ptr)
                        fprintf(out, "@%.*s:%.*s", WEIR_FMT(part->filename), WEIR_FMT(part->type));
                fputc('=', out);
                put_content(out, part);
                fputc('\n', out);
                if (part->fd >= 0)
                        cr_assert_eq(part->size, (uint64_t)lseek(part->fd, 0, SEEK_END));
                else if (!part->filename.ptr)
                        cr_assert_eq(part->size, part->value.len);
        }
        fclose(out);
        flow = weir_text(ctx, 200, text);
        free(text);
        return flow;
}

static struct weir *form_app(const struct weir_multipart_options *options)
{
        struct weir *app = quiet_app();

        weir_multipart(app, "/", tell, NULL, options);
        return app;
}

#define FORM(body) "POST /\nContent-Type: multipart/form-data; boundary=\"b\"\n\n" body
#define FIELD(name, value) \
        "--b\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define AFILE(name, file, type, value) \
        "--b\r\nContent-Disposition: form-data; name=\"" name "\"; filename=\"" file               \
        "\"\r\nContent-Type: " type "\r\n\r\n" value "\r\n"
#define END "--b--\r\n"

static void expect_form(const char *request, const char *parts)
{
        struct weir *app = form_app(NULL);

        expect(app, request, 200, parts);
        weir_free(app);
}

static void expect_malformed(const char *request, const char *why)
{
        struct weir *app = form_app(NULL);
        struct weir_reply *reply = ask(app, request, 400);

        cr_assert(strstr(reply->body.ptr, why), "%s: %s", request, reply->body.ptr);
        weir_reply_free(reply);
        weir_free(app);
}

/* ---- Forms. ---- */

Test(multipart, fields_and_files_come_in_the_order_of_the_form)
{
        expect_form(
                FORM(FIELD("a", "1") AFILE("f", "x.png", "image/png", "PNG") FIELD("b", "2") END),
                    "a=1\nf@x.png:image/png=PNG\nb=2\n");
        expect_form(FORM("--b--"), "");
        expect_form(FORM("--b--\r\n"), "");
}

Test(multipart, content_is_what_stands_between_the_boundaries_and_nothing_else)
{
        expect_form(FORM(FIELD("a", "") END), "a=\n");
        expect_form(FORM(FIELD("a", "\r\n") END), "a=\r\n\n");
        expect_form(FORM(FIELD("a", "\r\n-") END), "a=\r\n-\n");
        expect_form(FORM(FIELD("a", "\r\n--") END), "a=\r\n--\n");
        expect_form(FORM(FIELD("a", "\r\n\r\n--a") END), "a=\r\n\r\n--a\n");
        expect_form(FORM(FIELD("a", "\r\r\r\n\n--b") END), "a=\r\r\r\n\n--b\n");
        expect_form(FORM(FIELD("a", "x--b--") END), "a=x--b--\n");
}

Test(multipart, what_stands_before_the_first_and_behind_the_last_boundary_does_not_count)
{
        expect_form(FORM("preamble\r\n" FIELD("a", "1") END "epilogue\r\n--b\r\n"), "a=1\n");
        expect_form(FORM("\r\n" FIELD("a", "1") END), "a=1\n");
}

Test(multipart, blanks_behind_a_boundary_are_passed_over)
{
        expect_form(FORM("--b \t \r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--"),
                    "a=1\n");
}

Test(multipart, a_part_without_content_may_leave_out_its_line_end)
{
        expect_form(FORM("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--"), "a=\n");
}

Test(multipart, one_name_may_come_often)
{
        expect_form(FORM(FIELD("a", "1") FIELD("a", "2") END), "a=1\na=2\n");
}

Test(multipart, a_file_that_was_not_chosen_is_not_there)
{
        expect_form(FORM(AFILE("f", "", "application/octet-stream", "") FIELD("a", "1") END),
                    "a=1\n");
        expect_form(FORM(AFILE("f", "", "a/b", "x") END), "f@:a/b=x\n");
        expect_form(FORM(AFILE("f", "empty", "a/b", "") END), "f@empty:a/b=\n");
}

Test(multipart, escapes_of_browsers_and_of_others_are_undone_and_no_more)
{
        expect_form(FORM(FIELD("%22a%22%0d%0A%41%", "1") END), "\"a\"\r\n%41%=1\n");
        expect_form(FORM(FIELD("a\\\"b\\\\c\\d", "1") END), "a\"b\\c\\d=1\n");
}

Test(multipart, of_a_filename_the_folders_are_dropped)
{
        expect_form(FORM(AFILE("f", "../../etc/passwd", "a/b", "x") END), "f@passwd:a/b=x\n");
        expect_form(FORM(AFILE("f", "C:\\dir\\x.png", "a/b", "x") END), "f@x.png:a/b=x\n");
        expect_form(FORM(AFILE("f", "dir/", "a/b", "x") END), "f@:a/b=x\n");
}

Test(multipart, the_fields_of_a_head_come_in_any_case_and_order)
{
        expect_form(FORM("--b\r\ncontent-TYPE: a/b\r\nX-Other: 1\r\n"
                         "CONTENT-disposition:Form-Data;FILENAME=\"x\" ; Name=a\r\n\r\n1\r\n--b--"),
                    "a@x:a/b=1\n");
        expect_form(FORM("--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x\"\r\n\r\n"
                         "1\r\n--b--"),
                    "a@x:text/plain=1\n");
}

/* ---- Wherever it is cut. ---- */

static char *events_of(struct weir_str text, size_t cut, char head[64])
{
        struct weir_str pieces[2] = { { text.ptr, cut }, { text.ptr + cut, text.len - cut } };
        struct weir__form_scan scan;
        enum weir__form_event event = WEIR__FORM_MORE;
        struct weir_str data;
        bool open = false;
        char *log;
        size_t size;
        FILE *out = open_memstream(&log, &size);

        weir__form_scan_init(&scan, WEIR_STR("b"), head, 64);
        for (int i = 0; i < 2; i++) {
                while ((event = weir__form_scan(&scan, &pieces[i], &data)) != WEIR__FORM_MORE &&
                       event < WEIR__FORM_BAD) {
                        if (event == WEIR__FORM_HEAD)
                                fprintf(out, "{%.*s|", (int)scan.head_len, scan.head);
                        else if (event == WEIR__FORM_DATA)
                                fwrite(data.ptr, 1, data.len, out);
                        else
                                fputc('}', out);
                        open = event != WEIR__FORM_END;
                }
                if (event >= WEIR__FORM_BAD)
                        break;
        }
        fprintf(out, "%s",
                event == WEIR__FORM_BAD          ? "BAD"
                           : event == WEIR__FORM_LONG       ? "LONG"
                           : weir__form_scan_is_over(&scan) ? "OVER"
                                                            : "MORE");
        cr_assert(!open || !weir__form_scan_is_over(&scan));
        fclose(out);
        return log;
}

Test(multipart, where_a_form_is_cut_changes_nothing)
{
        static const char *const forms[] = {
                FIELD("a", "1") AFILE("f", "x", "a/b", "\r\n--\r\n--a\r\r\n-") FIELD("c", "") END,
                "x\r\n--b  \r\nA: 1\r\n\r\n--b\r\n\r\n\r\n--b--x",
                "--b\r\nA: 1\r\n\r\n\r\n--\r\n--b\r",
                "--b\r\nA: 1\n\r\n",
                "--bc\r\n",
                "--b-c\r\n",
                "--b\r\nA: 0123456789012345678901234567890123456789012345678901234567890123\r\n",
        };

        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
                struct weir_str text = { forms[i], strlen(forms[i]) };
                char head[64], *whole = events_of(text, 0, head);

                for (size_t cut = 1; cut <= text.len; cut++) {
                        char *parts = events_of(text, cut, head);

                        cr_assert_str_eq(parts, whole, "cut at %zu", cut);
                        free(parts);
                }
                free(whole);
        }
}

/* ---- Forms that are none. ---- */

Test(multipart, what_is_no_form_is_refused)
{
        struct weir *app = form_app(NULL);

        cr_assert_eq(status_of(app, "POST /\nContent-Type: text/plain\n\nx"), 415);
        cr_assert_eq(status_of(app, "POST /"), 415);
        cr_assert_eq(status_of(app, "POST /\nContent-Type: multipart/mixed; boundary=b\n\nx"), 415);
        weir_free(app);
}

#define TOO_LONG \
        "; boundary=12345678901234567890123456789012345678901234567890123456789012345678901"

Test(multipart, a_boundary_must_be_there_once_and_be_one)
{
        static const char *const types[] = { "",
                                             "; boundary=",
                                             "; boundary=\"\"",
                                             "; boundary=\"b \"",
                                             "; boundary=\"b",
                                             "; boundary=a; boundary=b",
                                             "; boundary=a@b",
                                             TOO_LONG };

        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
                char request[256];

                sprintf(request, "POST /\nContent-Type: multipart/form-data%s\n\n--b--", types[i]);
                expect_malformed(request, "boundary");
        }
        expect_form("POST /\nContent-Type: Multipart/Form-Data; charset=x; BOUNDARY=b\n\n--b--",
                    "");
        expect_form("POST /\nContent-Type: multipart/form-data; boundary=a=b/c\n\n--a=b/c--", "");
}

Test(multipart, a_form_that_ends_too_early_is_refused)
{
        static const char form[] = FORM(FIELD("a", "1") "--b--");
        size_t head = strlen(FORM(""));

        for (size_t len = head; len < sizeof(form) - 1; len++) {
                char *part = strndup(form, len);

                expect_malformed(part, len == head ? "" : "the form ends before its last boundary");
                free(part);
        }
}

Test(multipart, a_head_that_cannot_be_read_is_refused)
{
        expect_malformed(FORM("--b\r\n\r\n1\r\n--b--"), "no name");
        expect_malformed(FORM("--b\r\nX: 1\r\n\r\n1\r\n--b--"), "no name");
        expect_malformed(FORM("--b\r\nnonsense\r\n\r\n1\r\n--b--"), "no field");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data\r\n\r\n--b--"), "no name");
        expect_malformed(FORM("--b\r\nContent-Disposition: attachment; name=a\r\n\r\n--b--"),
                         "not form-data");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n--b--"),
                         "twice");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\n--b--"),
                         "no name that can be read");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=a\r\n"
                              "Content-Disposition: form-data; name=b\r\n\r\n--b--"),
                         "twice");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n--b--"),
                         "a part");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=\"a\x01\"\r\n\r\n--b--"),
                         "control byte");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=a\r\n"
                              "Content-Transfer-Encoding: base64\r\n\r\n--b--"),
                         "transfer encoding");
        expect_malformed(FORM("--b\r\nContent-Disposition: form-data; name=a\n\r\n--b--"),
                         "no multipart form");
        expect_malformed(FORM("--bc\r\n--b--"), "no multipart form");
        expect_malformed(FORM("--b-\r\n--b--"), "no multipart form");
}

/* ---- Limits. ---- */

static void expect_limit(const struct weir_multipart_options *options, const char *fits,
                         const char *beyond)
{
        struct weir *app = form_app(options);

        cr_assert_eq(status_of(app, fits), 200);
        cr_assert_eq(status_of(app, beyond), 413);
        weir_free(app);
}

Test(multipart, each_limit_counts_what_it_says)
{
        expect_limit(&(struct weir_multipart_options){ .max_parts = 2 },
                     FORM(FIELD("a", "") FIELD("b", "") END),
                     FORM(FIELD("a", "") FIELD("b", "") FIELD("c", "") END));
        expect_limit(&(struct weir_multipart_options){ .max_parts = 2 },
                     FORM(AFILE("a", "", "a/b", "") FIELD("b", "") END),
                     FORM(AFILE("a", "", "a/b", "") AFILE("a", "", "a/b", "") FIELD("c", "") END));
        expect_limit(&(struct weir_multipart_options){ .max_files = 1 },
                     FORM(AFILE("a", "f", "a/b", "1") FIELD("b", "") END),
                     FORM(AFILE("a", "f", "a/b", "1") AFILE("b", "g", "a/b", "1") END));
        expect_limit(&(struct weir_multipart_options){ .max_field = 3 },
                     FORM(FIELD("a", "123") END), FORM(FIELD("a", "1234") END));
        expect_limit(&(struct weir_multipart_options){ .max_fields = 6 },
                     FORM(FIELD("a", "12") FIELD("b", "34") END),
                     FORM(FIELD("a", "12") FIELD("b", "345") END));
        expect_limit(&(struct weir_multipart_options){ .max_fields = 1 }, FORM(FIELD("a", "") END),
                     FORM(FIELD("ab", "") END));
        expect_limit(&(struct weir_multipart_options){ .max_file = 3, .max_field = 1 },
                     FORM(AFILE("a", "f", "a/b", "123") END),
                     FORM(AFILE("a", "f", "a/b", "1234") END));
        expect_limit(&(struct weir_multipart_options){ .max_head = 43 },
                     FORM("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--"),
                     FORM("--b\r\nContent-Disposition: form-data; name=abc\r\n\r\n--b--"));
        expect_limit(&(struct weir_multipart_options){ .route.max_body = 60 },
                     FORM("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--"),
                     FORM("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n"
                          "12345678901\r\n--b--"));
}

Test(multipart, refusals_are_counted_by_their_kind)
{
        struct weir *app = quiet_app();
        struct weir_multipart_stats stats;
        struct weir_multipart *route = weir_multipart(
                app, "/", tell, NULL,
                &(struct weir_multipart_options){ .max_parts = 1, .max_field = 1 });

        status_of(app, FORM(FIELD("a", "1") END));
        status_of(app, FORM(FIELD("a", "1")));
        status_of(app, FORM(FIELD("a", "1") FIELD("b", "") END));
        status_of(app, FORM(FIELD("a", "12") END));
        weir_multipart_stats(route, &stats);
        cr_assert_eq(stats.forms, 1);
        cr_assert_eq(stats.malformed, 1);
        cr_assert_eq(stats.too_many, 1);
        cr_assert_eq(stats.too_large, 1);
        cr_assert_eq(stats.not_stored, 0);
        weir_free(app);
}

/* ---- Files. ---- */

static int open_descriptors(void)
{
        DIR *dir = opendir("/proc/self/fd");
        int n = 0;

        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

static int kept = -1;

static enum weir_flow keep_file(struct weir_ctx *ctx, void *self, struct weir_parts *parts)
{
        const struct weir_part *part = weir_part(parts, "f");

        (void)self;
        cr_assert_null(weir_part(parts, "g"));
        kept = weir_part_take(parts, part);
        return weir_status(ctx, 204);
}

Test(multipart, files_are_gone_with_the_request_unless_they_are_taken)
{
        struct weir *app = quiet_app();
        int before;
        char buf[8];

        weir_multipart(app, "/", keep_file, NULL, NULL);
        weir_multipart(app, "/tell", tell, NULL, NULL);
        status_of(app, "POST /tell");
        before = open_descriptors();
        cr_assert_eq(status_of(app, FORM(AFILE("f", "x", "a/b", "123") END)), 204);
        cr_assert_eq(open_descriptors(), before + 1);
        cr_assert_eq(read(kept, buf, sizeof(buf)), 3);
        close(kept);
        cr_assert_eq(
                status_of(app, FORM(AFILE("f", "x", "a/b", "123") AFILE("g", "x", "a/b", "1"))),
                     400);
        cr_assert_eq(open_descriptors(), before, "also when the form fails");
        weir_free(app);
}

static char streamed[64];

static enum weir_flow stream_file(struct weir_ctx *ctx, void *self, const struct weir_part *part,
                                  struct weir_str piece, bool last)
{
        (void)self;
        if (last)
                return strcat(streamed, "."), WEIR_NEXT;
        if (memchr(piece.ptr, '!', piece.len))
                return weir_fail(ctx, 422, "no !");
        sprintf(streamed + strlen(streamed), "%.*s/%.*s:%.*s", WEIR_FMT(part->name),
                WEIR_FMT(part->filename), WEIR_FMT(piece));
        return WEIR_NEXT;
}

Test(multipart, on_file_gets_files_as_they_come_in)
{
        struct weir *app = form_app(&(struct weir_multipart_options){ .on_file = stream_file });

        streamed[0] = '\0';
        expect(app, FORM(AFILE("f", "x", "a/b", "12") FIELD("a", "1") END), 200, "f@x:a/b=\na=1\n");
        cr_assert_str_eq(streamed, "f/x:12.");
        cr_assert_eq(status_of(app, FORM(AFILE("f", "x", "a/b", "1!") END)), 422);
        weir_free(app);
}

Test(multipart, a_folder_that_does_not_do_is_an_error_of_the_server)
{
        struct weir *app = form_app(&(struct weir_multipart_options){ .folder = "/nowhere" });

        cr_assert_eq(status_of(app, FORM(AFILE("f", "x", "a/b", "1") END)), 500);
        cr_assert_eq(status_of(app, FORM(FIELD("a", "1") END)), 200);
        weir_free(app);
}

/* ---- Setup. ---- */

static void expect_setup_error(weir_parts_fn *fn, const struct weir_multipart_options *options,
                               const char *why)
{
        struct weir *app = quiet_app();

        weir_multipart(app, "/", fn, NULL, options);
        cr_assert(weir_error(app) && strstr(weir_error(app), why), "%s", weir_error(app));
        weir_free(app);
}

static enum weir_flow no_pieces(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)ctx, (void)self, (void)piece, (void)last;
        return WEIR_NEXT;
}

Test(multipart, mistakes_in_the_setup_are_named)
{
        expect_setup_error(NULL, NULL, "NULL");
        expect_setup_error(tell, &(struct weir_multipart_options){ .max_file = -1 }, "-1");
        expect_setup_error(tell, &(struct weir_multipart_options){ .max_head = WEIR_INF }, "1 MiB");
        expect_setup_error(tell, &(struct weir_multipart_options){ .route.on_body = no_pieces },
                           "on_file");
}
