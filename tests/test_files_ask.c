/* test_files_ask.c - files: conditional requests (RFC 9110 13) and ranges (RFC 9110 14). */
#include "files_kit.h"

#include "range.h"

#include <inttypes.h>

static struct weir *app;
static char etag[128]; /* of a.txt */

static void keep_etag(void)
{
        struct weir_reply *reply = ask(app, "GET /a.txt", 200);

        snprintf(etag, sizeof(etag), "%.*s", WEIR_FMT(weir_reply_header(reply, "ETag")));
        weir_reply_free(reply);
}

static void start(void)
{
        folder_new();
        put("a.txt", "0123456789");
        put("empty", "");
        app = files_app(&(struct weir_files){ .max_ranges = 4, .precompressed = true });
        keep_etag();
}

static void stop(void)
{
        weir_free(app);
        folder_free();
}

TestSuite(files_condition, .init = start, .fini = stop);
TestSuite(files_range, .init = start, .fini = stop);

/* ---- Conditions. In fields, @ stands for the entity-tag. ---- */

static struct weir_reply *ask_of(const char *line, const char *fields)
{
        char text[2048];
        size_t len = 0;

        for (; *fields; fields++) {
                if (*fields == '@')
                        len += (size_t)sprintf(text + len, "%s", etag);
                else
                        text[len++] = *fields;
        }
        text[len] = '\0';
        return ask_with(app, line, text);
}

static void expect_status(const char *fields, int status)
{
        static const char *const lines[] = { "GET /a.txt", "HEAD /a.txt" };

        for (int i = 0; i < 2; i++) {
                struct weir_reply *reply = ask_of(lines[i], fields);

                cr_assert_eq(reply->status, status, "%s, %s: %d, not %d", lines[i], fields,
                             reply->status, status);
                weir_reply_free(reply);
        }
}

#define BEFORE "Sun, 09 Sep 2001 01:46:39 GMT" /* OLD_DATE less a second */
#define AFTER  "Sun, 09 Sep 2001 01:46:41 GMT"

Test(files_condition, an_etag_is_strong_and_the_same_for_the_same_file)
{
        cr_assert_eq(etag[0], '"');
        expect_header(app, "GET /a.txt", "ETag", etag);
        expect_header(app, "HEAD /a.txt", "ETag", etag);
}

Test(files_condition, an_etag_changes_with_content_time_and_file)
{
        char before[sizeof(etag)];
        struct timespec times[2] = { { .tv_sec = OLD_S }, { .tv_sec = OLD_S, .tv_nsec = 1 } };

        strcpy(before, etag);
        put("a.txt", "01234567890");
        keep_etag();
        cr_assert_str_neq(etag, before);
        put("a.txt", "abcdefghij");
        cr_assert_eq(utimensat(AT_FDCWD, in_folder("a.txt"), times, 0), 0);
        keep_etag();
        cr_assert_str_neq(etag, before);
        put("b.txt", "9876543210");
        cr_assert_eq(rename(in_folder("b.txt"), in_folder("a.txt")), 0);
        keep_etag();
        cr_assert_str_neq(etag, before);
}

Test(files_condition, an_etag_of_a_young_file_is_weak)
{
        set_time("a.txt", time(NULL));
        keep_etag();
        cr_assert_eq(strncmp(etag, "W/\"", 3), 0);
        expect_status("If-None-Match: @\n", 304);
        expect_status("If-Match: @\n", 412);
        set_time("a.txt", time(NULL) - 3);
        keep_etag();
        cr_assert_eq(etag[0], '"');
}

/* The clock that the server reads: time() may lag behind it by a tick. */
static time_t now_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec;
}

Test(files_condition, a_file_from_the_future_was_not_changed_later_than_now)
{
        struct weir_reply *reply;
        struct tm tm = { 0 };
        time_t now = now_s();

        set_time("a.txt", now + 100000);
        reply = ask(app, "GET /a.txt", 200);
        cr_assert_not_null(strptime(weir_reply_header(reply, "Last-Modified").ptr,
                                    "%a, %d %b %Y %H:%M:%S GMT", &tm));
        cr_assert(timegm(&tm) >= now && timegm(&tm) <= now_s());
        weir_reply_free(reply);
}

Test(files_condition, if_none_match_is_a_304)
{
        expect_status("If-None-Match: @\n", 304);
        expect_status("If-None-Match: W/@\n", 304);
        expect_status("If-None-Match: *\n", 304);
        expect_status("If-None-Match: \"a,b\", @\n", 304);
        expect_status("If-None-Match: ,, \"x\" ,\t@ ,\n", 304);
        expect_status("If-None-Match: \"x\"\nIf-None-Match: @\n", 304);
        expect_status("If-None-Match: \"x\"\n", 200);
        expect_status("If-None-Match: \"\"\n", 200);
        expect_status("If-None-Match:\n", 200);
        expect_status("If-None-Match: x, @\n", 200);
        expect_status("If-None-Match: \"x\" @\n", 200);
        expect_status("If-None-Match: \"x, @\n", 200);
        expect_status("If-None-Match: w/@\n", 200);
}

Test(files_condition, a_304_tells_what_a_cache_needs)
{
        struct weir_reply *reply = ask_of("GET /a.txt", "If-None-Match: @\n");

        cr_assert_eq(reply->status, 304);
        cr_assert_eq(reply->body.len, 0);
        cr_assert(weir_str_is(weir_reply_header(reply, "ETag"), etag));
        cr_assert(weir_str_is(weir_reply_header(reply, "Cache-Control"), "no-cache"));
        cr_assert(weir_str_is(weir_reply_header(reply, "Vary"), "Accept-Encoding"));
        cr_assert_null(weir_reply_header(reply, "Content-Type").ptr);
        cr_assert_null(weir_reply_header(reply, "Content-Range").ptr);
        cr_assert(!reply->closes);
        weir_reply_free(reply);
}

Test(files_condition, if_modified_since_counts_in_all_three_forms)
{
        expect_status("If-Modified-Since: " OLD_DATE "\n", 304);
        expect_status("If-Modified-Since: Sunday, 09-Sep-01 01:46:40 GMT\n", 304);
        expect_status("If-Modified-Since: Sun Sep  9 01:46:40 2001\n", 304);
        expect_status("If-Modified-Since: " AFTER "\n", 304);
        expect_status("If-Modified-Since: " BEFORE "\n", 200);
        expect_status("If-Modified-Since: Sunday, 09-Sep-01 01:46:39 GMT\n", 200);
        expect_status("If-Modified-Since: Sun Sep  9 01:46:39 2001\n", 200);
        expect_status("If-Modified-Since: 2001-09-09T01:46:40Z\n", 200);
        expect_status("If-Modified-Since: Sun, 09 Sep 2001 01:46:40 UTC\n", 200);
}

Test(files_condition, if_match_and_if_unmodified_since_are_a_412)
{
        expect_status("If-Match: @\n", 200);
        expect_status("If-Match: *\n", 200);
        expect_status("If-Match: \"x\", @\n", 200);
        expect_status("If-Match: W/@\n", 412);
        expect_status("If-Match: \"x\"\n", 412);
        expect_status("If-Match:\n", 412);
        expect_status("If-Unmodified-Since: " OLD_DATE "\n", 200);
        expect_status("If-Unmodified-Since: " BEFORE "\n", 412);
        expect_status("If-Unmodified-Since: yesterday\n", 200);
}

Test(files_condition, the_order_is_that_of_the_rfc)
{
        expect_status("If-Match: @\nIf-Unmodified-Since: " BEFORE "\n", 200);
        expect_status("If-Match: \"x\"\nIf-None-Match: @\n", 412);
        expect_status("If-Unmodified-Since: " BEFORE "\nIf-None-Match: @\n", 412);
        expect_status("If-Match: @\nIf-None-Match: @\n", 304);
        expect_status("If-None-Match: \"x\"\nIf-Modified-Since: " OLD_DATE "\n", 200);
        expect_status("If-None-Match: @\nIf-Modified-Since: " BEFORE "\n", 304);
        expect_status("If-None-Match: @\nRange: bytes=0-1\n", 304);
        expect_status("If-Match: \"x\"\nRange: bytes=0-1\n", 412);
        expect_status("If-None-Match: @\nRange: bytes=99-\n", 304);
}

Test(files_condition, a_404_has_no_conditions)
{
        struct weir_reply *reply = ask_of("GET /none", "If-Match: @\nIf-None-Match: *\n");

        cr_assert_eq(reply->status, 404);
        weir_reply_free(reply);
}

/* ---- Ranges. ---- */

/* Asks for a range of a.txt, with more fields: a 206 with `body`, or a 200 for NULL. */
static void expect_range(const char *field, const char *content_range, const char *body)
{
        struct weir_reply *reply = ask_of("GET /a.txt", field);
        struct weir_str got = weir_reply_header(reply, "Content-Range");

        cr_assert_eq(reply->status, body ? 206 : 200, "%s: %d", field, reply->status);
        cr_assert_str_eq(reply->body.ptr, body ? body : "0123456789", "%s: %s", field,
                         reply->body.ptr);
        cr_assert(content_range ? weir_str_is(got, content_range) : !got.ptr, "%s: %.*s", field,
                  WEIR_FMT(got));
        cr_assert(weir_str_is(weir_reply_header(reply, "ETag"), etag));
        cr_assert(weir_str_is(weir_reply_header(reply, "Last-Modified"), OLD_DATE));
        weir_reply_free(reply);
}

Test(files_range, one_range_is_a_206)
{
        expect_range("Range: bytes=0-0\n", "bytes 0-0/10", "0");
        expect_range("Range: bytes=2-5\n", "bytes 2-5/10", "2345");
        expect_range("Range: bytes=7-\n", "bytes 7-9/10", "789");
        expect_range("Range: bytes=7-99\n", "bytes 7-9/10", "789");
        expect_range("Range: bytes=0-\n", "bytes 0-9/10", "0123456789");
        expect_range("Range: bytes=-3\n", "bytes 7-9/10", "789");
        expect_range("Range: bytes=-99\n", "bytes 0-9/10", "0123456789");
        expect_range("Range: BYTES=2-2\n", "bytes 2-2/10", "2");
        expect_range("Range: bytes= ,, 2-2 ,\n", "bytes 2-2/10", "2");
        expect_range("Range: bytes=9-99999999999999999999999\n", "bytes 9-9/10", "9");
        expect_range("Range: bytes=-99999999999999999999999\n", "bytes 0-9/10", "0123456789");
        expect_range("Range: bytes=99-,2-3\n", "bytes 2-3/10", "23");
}

Test(files_range, what_is_not_well_formed_is_ignored)
{
        static const char *const fields[] = {
                "",
                "bytes",
                "bytes=",
                "bytes=,",
                "bytes=-",
                "bytes=a-b",
                "bytes=1",
                "bytes=5-2",
                "bytes=1-2-3",
                "bytes=1-2 3-4",
                "bytes=1-2;3-4",
                "bytes =1-2",
                "bytes=1 -2",
                "bytes=0x1-2",
                "bytes=+1-2",
                "bytes=--2",
                "lines=1-2",
                "bytes=1-2, x",
                "1-2",
        };
        char text[64];

        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                snprintf(text, sizeof(text), "Range: %s\n", fields[i]);
                expect_range(text, NULL, NULL);
        }
        expect_range("Range: bytes=1-2\nRange: bytes=1-2\n", NULL, NULL);
}

static void expect_unsatisfiable(const char *range)
{
        struct weir_reply *reply = ask_of("GET /a.txt", range);

        cr_assert_eq(reply->status, 416, "%s: %d", range, reply->status);
        cr_assert(weir_str_is(weir_reply_header(reply, "Content-Range"), "bytes */10"));
        cr_assert(
                weir_str_is(weir_reply_header(reply, "Content-Type"), "application/problem+json"));
        weir_reply_free(reply);
}

Test(files_range, what_is_beyond_the_end_is_a_416)
{
        expect_unsatisfiable("Range: bytes=10-\n");
        expect_unsatisfiable("Range: bytes=10-20\n");
        expect_unsatisfiable("Range: bytes=99999999999999999999999-\n");
        expect_unsatisfiable("Range: bytes=-0\n");
        expect_unsatisfiable("Range: bytes=10-,11-12,-0\n");
}

Test(files_range, an_empty_file_has_no_ranges)
{
        static const char *const fields[] = { "Range: bytes=0-\n", "Range: bytes=-5\n",
                                              "Range: bytes=0-0\n" };

        for (int i = 0; i < 3; i++) {
                struct weir_reply *reply = ask_with(app, "GET /empty", fields[i]);

                cr_assert_eq(reply->status, 200);
                weir_reply_free(reply);
        }
}

Test(files_range, range_counts_for_get_alone)
{
        struct weir_reply *reply = ask_of("HEAD /a.txt", "Range: bytes=2-3\n");

        cr_assert_eq(reply->status, 200);
        cr_assert_eq(reply->length, 10);
        weir_reply_free(reply);
}

Test(files_range, too_many_or_overlapping_ranges_bring_the_whole_file)
{
        expect_range("Range: bytes=0-0,2-2,4-4,6-6,8-8\n", NULL, NULL);
        expect_range("Range: bytes=99-,99-,99-,99-,2-2\n", NULL, NULL);
        expect_range("Range: bytes=0-3,3-5\n", NULL, NULL);
        expect_range("Range: bytes=0-,0-\n", NULL, NULL);
        expect_range("Range: bytes=5-6,-9\n", NULL, NULL);
}

Test(files_range, no_ranges_by_option)
{
        struct weir *none = files_app(&(struct weir_files){ .max_ranges = WEIR_NONE });
        struct weir_reply *reply = ask_with(none, "GET /a.txt", "Range: bytes=2-3\n");

        cr_assert_eq(reply->status, 200);
        cr_assert_null(weir_reply_header(reply, "Accept-Ranges").ptr);
        weir_reply_free(reply);
        weir_free(none);
}

Test(files_range, if_range_lets_it_count_only_for_the_very_same_file)
{
        expect_range("Range: bytes=2-3\nIf-Range: @\n", "bytes 2-3/10", "23");
        expect_range("Range: bytes=2-3\nIf-Range: " OLD_DATE "\n", "bytes 2-3/10", "23");
        expect_range("Range: bytes=2-3\nIf-Range: Sun Sep  9 01:46:40 2001\n", "bytes 2-3/10",
                     "23");
        expect_range("Range: bytes=2-3\nIf-Range: W/@\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range: \"x\"\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range: @, \"x\"\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range: *\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range:\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range: " BEFORE "\n", NULL, NULL);
        expect_range("Range: bytes=2-3\nIf-Range: " AFTER "\n", NULL, NULL);
        expect_range("Range: bytes=99-\nIf-Range: \"x\"\n", NULL, NULL);
}

Test(files_range, validators_of_a_young_file_are_not_good_enough_for_if_range)
{
        char date[64], field[128];
        time_t now = time(NULL);

        set_time("a.txt", now);
        keep_etag();
        strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
        for (int i = 0; i < 2; i++) {
                struct weir_reply *reply;

                snprintf(field, sizeof(field), "Range: bytes=2-3\nIf-Range: %s\n", i ? date : "@");
                reply = ask_of("GET /a.txt", field);
                cr_assert_eq(reply->status, 200, "%s", field);
                weir_reply_free(reply);
        }
}

/* What is written by the rule of RFC 9110 14.6 and RFC 2046 5.1.1, with the boundary it says. */
static void expect_parts(const char *range, const char *const (*parts)[2])
{
        static const char type[] = "multipart/byteranges; boundary=";
        struct weir_reply *reply = ask_of("GET /a.txt", range);
        struct weir_str got = weir_reply_header(reply, "Content-Type");
        char boundary[80], wanted[2048];
        size_t len = 0;

        cr_assert_eq(reply->status, 206);
        cr_assert(got.len > sizeof(type) && !strncmp(got.ptr, type, sizeof(type) - 1));
        snprintf(boundary, sizeof(boundary), "%.*s", (int)(got.len - sizeof(type) + 1),
                 got.ptr + sizeof(type) - 1);
        cr_assert_leq(strlen(boundary), 70);
        for (; (*parts)[0]; parts++)
                len += (size_t)snprintf(wanted + len, sizeof(wanted) - len,
                                        "\r\n--%s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                        "Content-Range: bytes %s/10\r\n\r\n%s",
                                        boundary, (*parts)[0], (*parts)[1]);
        snprintf(wanted + len, sizeof(wanted) - len, "\r\n--%s--\r\n", boundary);
        cr_assert_str_eq(reply->body.ptr, wanted);
        cr_assert_eq(reply->length, strlen(wanted));
        cr_assert_null(weir_reply_header(reply, "Content-Range").ptr);
        cr_assert(!reply->broken);
        weir_reply_free(reply);
}

Test(files_range, several_ranges_are_parts_in_the_order_asked_for)
{
        static const char *const two[][2] = { { "0-1", "01" }, { "5-7", "567" }, { 0 } };
        static const char *const back[][2] = { { "8-9", "89" }, { "0-0", "0" }, { 0 } };
        static const char *const all[][2] = {
                { "9-9", "9" }, { "0-3", "0123" }, { "6-6", "6" }, { "4-5", "45" }, { 0 }
        };

        expect_parts("Range: bytes=0-1,5-7\n", two);
        expect_parts("Range: bytes=0-1, 99-, 5-7\n", two);
        expect_parts("Range: bytes=-2,0-0\n", back);
        expect_parts("Range: bytes=9-,0-3,6-6,4-5\n", all);
}

Test(files_range, without_room_for_parts_the_whole_file_comes)
{
        struct weir *small = weir_new(&(struct weir_options){ .log = drop_log, .arena = 1024 });
        char text[129] = "", field[512] = "Range: bytes=0-0";
        struct weir_reply *reply;

        memset(text, 'x', 128);
        put("long.txt", text);
        for (int i = 1; i < 64; i++)
                sprintf(field + strlen(field), ",%d-%d", 2 * i, 2 * i);
        strcat(field, "\n");
        weir_use_files(small, &(struct weir_files){ .root = folder, .max_ranges = 64 });
        reply = ask_with(small, "GET /long.txt", field);
        cr_assert_eq(reply->status, 200);
        cr_assert_str_eq(reply->body.ptr, text);
        weir_reply_free(reply);
        weir_free(small);
}

/* The rule once more, slowly: which bytes of a small file does a list of ranges name? */
Test(files_range, ranges_are_those_of_a_slow_reading)
{
        srand(1);
        for (int round = 0; round < 20000; round++) {
                struct weir__ranges ranges;
                unsigned n = 1 + (unsigned)rand() % 3, seen[8] = { 0 }, wanted[8] = { 0 };
                uint64_t size = 1 + (uint64_t)rand() % 8;
                bool overlap = false, any = false;
                char field[64] = "bytes=";
                enum weir__range_status status;

                for (unsigned i = 0; i < n; i++) {
                        int first = rand() % 10, last = first + rand() % 10, kind = rand() % 3;
                        char *at = field + strlen(field);

                        sprintf(at,
                                kind == 0   ? "%s%d-%d"
                                : kind == 1 ? "%s%d-"
                                            : "%s-%d",
                                i ? "," : "", first, last);
                        for (int byte = 0; byte < (int)size; byte++) {
                                bool in = kind == 0   ? byte >= first && byte <= last
                                          : kind == 1 ? byte >= first
                                                      : byte >= (int)size - first;

                                overlap = overlap || (in && wanted[byte]);
                                wanted[byte] += in;
                                any = any || in;
                        }
                }
                status = weir__ranges_read((struct weir_str){ field, strlen(field) }, size, 16,
                                           &ranges);
                cr_assert_eq(status,
                             overlap ? WEIR__RANGE_IGNORED
                                     : any   ? WEIR__RANGE_SOME
                                             : WEIR__RANGE_NONE,
                             "%s of %" PRIu64, field, size);
                for (unsigned i = 0; status == WEIR__RANGE_SOME && i < ranges.n; i++) {
                        cr_assert_gt(ranges.at[i].length, 0);
                        for (uint64_t byte = 0; byte < ranges.at[i].length; byte++)
                                seen[ranges.at[i].first + byte]++;
                }
                if (status == WEIR__RANGE_SOME)
                        cr_assert_arr_eq(seen, wanted, sizeof(seen), "%s", field);
        }
}
