/* test_path.c - claims about splitting and decoding paths. */
#include "path_cpu.h"
#include "path_scan.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const struct weir__path_rules strict, normalize = { .normalize_dots = true },
                                             merge = { .merge_slashes = true },
                                             both = { true, true };

/* Reads a path from a buffer of its exact size. */
struct subject {
        struct weir__path      path;
        enum weir__path_status status;
        char                  *raw, *shadow;
};

/* The path is split as any CPU would split it. */
static void expect_portable(const struct subject *s, const struct weir__path_rules *rules)
{
        struct weir__path path;

        cr_expect_eq(weir__path_split_portable(&path, s->path.raw, rules), s->status);
        cr_expect(path.n == s->path.n && path.len == s->path.len && path.text == s->path.text &&
                  path.shadow == s->path.shadow && path.needs_shadow == s->path.needs_shadow &&
                  path.has_gap == s->path.has_gap && path.plain == s->path.plain &&
                  memcmp(path.head, s->path.head, sizeof(path.head)) == 0 &&
                  memcmp(path.cut, s->path.cut, (path.n + 1) * sizeof(path.cut[0])) == 0);
}

static struct subject read_bytes(const char *text, size_t len, const struct weir__path_rules *rules)
{
        struct subject s = { .raw = malloc(len), .shadow = malloc(len) };

        if (len)
                memcpy(s.raw, text, len);
        s.status = weir__path_split(&s.path, (struct weir_str){ s.raw, len }, rules);
        expect_portable(&s, rules);
        if (s.status == WEIR__PATH_OK && s.path.needs_shadow)
                s.status = weir__path_decode(&s.path, s.shadow, rules);
        return s;
}

static void drop(struct subject *s)
{
        free(s->raw);
        free(s->shadow);
}

/* The segments with '|' between them. */
static char *joined(const struct weir__path *path, bool raw)
{
        static char text[WEIR__MAX_PATH + 2];
        size_t len = 0;

        for (uint32_t i = 0; i < path->n; i++) {
                struct weir_str seg = raw ? weir__path_raw_segment(path, i)
                                          : weir__path_segment(path, i);

                if (i)
                        text[len++] = '|';
                memcpy(text + len, seg.ptr, seg.len);
                len += seg.len;
        }
        text[len] = '\0';
        return text;
}

static void expect_with(const char *text, const struct weir__path_rules *rules,
                        const char *segments, const char *raw)
{
        struct subject s = read_bytes(text, strlen(text), rules);

        cr_expect_eq(s.status, WEIR__PATH_OK, "%s", text);
        cr_expect_str_eq(joined(&s.path, false), segments, "%s: %s", text, joined(&s.path, false));
        cr_expect_str_eq(joined(&s.path, true), raw, "%s: %s", text, joined(&s.path, true));
        drop(&s);
}

static void expect(const char *text, const char *segments)
{
        expect_with(text, &strict, segments, segments);
}

static void expect_status(const char *text, const struct weir__path_rules *rules,
                          enum weir__path_status status)
{
        struct subject s = read_bytes(text, strlen(text), rules);

        cr_expect_eq(s.status, status, "%s", text);
        drop(&s);
}

/* ---- Splitting. ---- */

Test(path, is_split_at_its_slashes)
{
        expect("/", "");
        expect("/a", "a");
        expect("/a/", "a|");
        expect("/books/7", "books|7");
        expect("/books/7/", "books|7|");
        expect("/a/b/c/d/e/f/g", "a|b|c|d|e|f|g");
        expect("/a/b/c/d/e/f/g/h/i/j/k", "a|b|c|d|e|f|g|h|i|j|k");
        expect("/repos/somebody/something/git/commits/0123456789abcdef0123456789abcdef01234567",
               "repos|somebody|something|git|commits|0123456789abcdef0123456789abcdef01234567");
}

Test(path, of_any_length_is_split_alike_wherever_its_slashes_are)
{
        for (size_t len = 1; len <= 150; len++) {
                char text[151], wanted[152];

                for (size_t slash = 1; slash < len; slash++) {
                        memset(text, 'x', len);
                        text[0] = text[slash] = '/';
                        text[len] = '\0';
                        strcpy(wanted, text + 1);
                        wanted[slash - 1] = '|';
                        if (slash == 1 && len > 2)
                                continue; /* a gap */
                        if (slash == 1)
                                strcpy(wanted, "|");
                        expect(text, wanted);
                }
        }
}

Test(path, has_a_gap_where_a_segment_before_the_last_is_empty)
{
        const char *const gaps[] = { "//", "//a", "/a//b", "/a//", "///", "/a/b//c/d/e/f/g/h" };
        const char *const none[] = { "/", "/a", "/a/", "/a/b/c/d/e/f/g/h/i/" };

        for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
                struct subject s = read_bytes(gaps[i], strlen(gaps[i]), &strict);

                cr_expect(s.status == WEIR__PATH_OK && s.path.has_gap, "%s", gaps[i]);
                drop(&s);
        }
        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
                struct subject s = read_bytes(none[i], strlen(none[i]), &strict);

                cr_expect(s.status == WEIR__PATH_OK && !s.path.has_gap, "%s", none[i]);
                drop(&s);
        }
}

Test(path, has_its_gap_seen_at_every_place)
{
        for (size_t len = 3; len <= 130; len++) {
                for (size_t at = 1; at + 1 < len; at++) {
                        char text[131];
                        struct subject s;

                        memset(text, 'x', len);
                        text[0] = text[at] = text[at + 1] = '/';
                        s = read_bytes(text, len, &strict);
                        cr_assert(s.path.has_gap, "%.*s", (int)len, text);
                        drop(&s);
                }
        }
}

Test(path, needs_no_shadow_unless_it_is_rewritten)
{
        const char *const plain[] = {
                "/", "/a.b", "/.well-known/x", "/...", "/a+b", "/a/b.", "/~x"
        };

        for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
                struct weir__path path;
                struct weir_str raw = { plain[i], strlen(plain[i]) };

                cr_expect_eq(weir__path_split(&path, raw, &both), WEIR__PATH_OK);
                cr_expect(!path.needs_shadow && !path.shadow, "%s", plain[i]);
        }
}

Test(path, may_have_32_segments_and_not_33)
{
        char text[2 * WEIR__MAX_SEGMENTS + 3] = "";
        struct subject s;

        for (unsigned i = 0; i < WEIR__MAX_SEGMENTS; i++)
                strcat(text, "/a");
        s = read_bytes(text, strlen(text), &strict);
        cr_expect(s.status == WEIR__PATH_OK && s.path.n == WEIR__MAX_SEGMENTS);
        drop(&s);
        strcat(text, "/");
        expect_status(text, &strict, WEIR__PATH_DEEP);
        text[1] = '%';
        expect_status(text, &both, WEIR__PATH_BAD);
}

Test(path, is_as_deep_as_the_rules_leave_it)
{
        char text[400] = "";

        for (unsigned i = 0; i < 50; i++)
                strcat(text, "/..");
        strcat(text, "/a");
        expect_with(text, &normalize, "a", "a");
        memset(text, '/', 300);
        text[300] = 'a';
        text[301] = '\0';
        expect_with(text, &merge, "a", "a");
        expect_status(text, &strict, WEIR__PATH_DEEP);
        for (text[0] = '\0'; strlen(text) < 99;)
                strcat(text, "/%61");
        expect_status(text, &both, WEIR__PATH_OK);
        for (; strlen(text) < 199;)
                strcat(text, "/%61");
        expect_status(text, &both, WEIR__PATH_DEEP);
}

Test(path, may_be_8_kib_long)
{
        char *text = malloc(WEIR__MAX_PATH + 2);

        memset(text, 'a', WEIR__MAX_PATH + 1);
        text[0] = '/';
        text[WEIR__MAX_PATH] = '\0';
        expect_status(text, &strict, WEIR__PATH_OK);
        text[WEIR__MAX_PATH] = 'a';
        text[WEIR__MAX_PATH + 1] = '\0';
        expect_status(text, &strict, WEIR__PATH_LONG);
        free(text);
}

Test(path, starts_with_a_slash)
{
        expect_status("", &strict, WEIR__PATH_BAD);
        expect_status("a", &strict, WEIR__PATH_BAD);
        expect_status("*", &strict, WEIR__PATH_BAD);
        expect_status("books/7/and/more/of/it", &strict, WEIR__PATH_BAD);
}

/* ---- Decoding. ---- */

Test(path, is_decoded_once_and_segment_by_segment)
{
        expect_with("/a%20b", &strict, "a b", "a%20b");
        expect_with("/a%2Fb/c", &strict, "a/b|c", "a%2Fb|c");
        expect_with("/a%5cb", &strict, "a\\b", "a%5cb");
        expect_with("/%2541", &strict, "%41", "%2541");
        expect_with("/a+b%2B", &strict, "a+b+", "a+b%2B");
        expect_with("/%C3%A9/%c3%a9/", &strict, "\xc3\xa9|\xc3\xa9|", "%C3%A9|%c3%a9|");
        expect_with("/books/%37/pages", &strict, "books|7|pages", "books|%37|pages");
}

Test(path, is_decoded_to_one_text)
{
        struct subject s = read_bytes("/a%2Fb/c%20d/", 13, &strict);

        cr_expect(weir_str_is(weir__path_decoded(&s.path), "/a/b/c d/"));
        drop(&s);
}

Test(path, with_a_bad_escape_is_bad)
{
        const char *const bad[] = { "/%",    "/%4",  "/a%",     "/a%4", "/%zz", "/%4g",   "/%g4",
                                    "/%%41", "/%/a", "/a/%2/b", "/%-1", "/% 1", "/%u0041" };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                expect_status(bad[i], &strict, WEIR__PATH_BAD);
}

Test(path, with_an_escaped_control_byte_is_bad)
{
        for (unsigned c = 0; c < 256; c++) {
                bool control = c < 0x20 || c == 0x7f;
                char text[16];

                snprintf(text, sizeof(text), "/a%%%02x", c);
                expect_status(text, &strict, control ? WEIR__PATH_BAD : WEIR__PATH_OK);
        }
}

Test(path, with_dot_segments_is_bad_unless_it_is_normalized)
{
        const char *const dots[] = {
                "/.",   "/..",     "/a/./b",      "/a/../b",           "/a/..",
                "/%2e", "/.%2E/a", "/a/%2e%2e/b", "/../../etc/passwd", "/a/b/c/d/e/f/g/h/."
        };

        for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++) {
                expect_status(dots[i], &strict, WEIR__PATH_BAD);
                expect_status(dots[i], &merge, WEIR__PATH_BAD);
                expect_status(dots[i], &normalize, WEIR__PATH_OK);
        }
}

Test(path, is_normalized_as_rfc_3986_says)
{
        expect_with("/a/b/c/./../../g", &normalize, "a|g", "a|g");
        expect_with("/..", &normalize, "", "..");
        expect_with("/../a", &normalize, "a", "a");
        expect_with("/../../../a/", &normalize, "a|", "a|");
        expect_with("/a/..", &normalize, "", "..");
        expect_with("/a/.", &normalize, "a|", "a|.");
        expect_with("/a/b/..", &normalize, "a|", "a|..");
        expect_with("/a/%2e%2e/b%20c", &normalize, "b c", "b%20c");
        expect_with("/a/.../b", &normalize, "a|...|b", "a|...|b");
        expect_with("/a/..b/.c", &normalize, "a|..b|.c", "a|..b|.c");
        expect_with("/a//../b", &normalize, "a|b", "a|b");
}

Test(path, is_merged_but_for_a_last_slash)
{
        expect_with("//a///b", &merge, "a|b", "a|b");
        expect_with("//", &merge, "", "");
        expect_with("/a//", &merge, "a|", "a|");
        expect_with("/a////", &merge, "a|", "a|");
        expect_with("//a/%2F//b", &merge, "a|/|b", "a|%2F|b");
        expect_with("/a//../b", &both, "b", "b");
}

/* ---- What is left of a path that is not OK. ---- */

Test(path, that_is_bad_ends_before_the_fault)
{
        const char *const faults[][2] = {
                { "/api/v1/%zz/x", "api|v1|" }, { "/api/../x", "api|" },  { "/..", "" },
                { "/api/%00", "api|" },         { "/a%20b/%2e/c", "a b|" }, { "nothing", "" },
        };

        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
                struct subject s = read_bytes(faults[i][0], strlen(faults[i][0]), &strict);

                cr_expect_neq(s.status, WEIR__PATH_OK);
                cr_expect_str_eq(joined(&s.path, false), faults[i][1], "%s: %s", faults[i][0],
                                 joined(&s.path, false));
                drop(&s);
        }
}

Test(path, that_ends_before_a_fault_keeps_the_gap_before_it)
{
        const char *const gaps[] = { "/x//b/.", "/%41//b/.", "/%41//b/%", "//..", "/%41//%00/c" };
        const char *const none[] = { "/x/b/.", "/%41/b/%", "/.", "/%00", "/x/.//a" };

        for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
                struct subject s = read_bytes(gaps[i], strlen(gaps[i]), &strict);

                cr_expect(s.status == WEIR__PATH_BAD && s.path.has_gap, "%s", gaps[i]);
                drop(&s);
        }
        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
                struct subject s = read_bytes(none[i], strlen(none[i]), &strict);

                cr_expect(s.status == WEIR__PATH_BAD && !s.path.has_gap, "%s", none[i]);
                drop(&s);
        }
}

Test(path, can_end_at_its_gap)
{
        struct subject s = read_bytes("/a/b//c", 7, &strict);

        weir__path_end_at_gap(&s.path);
        cr_expect(!s.path.has_gap);
        cr_expect_str_eq(joined(&s.path, false), "a|b|");
        drop(&s);
}

/* ---- The last slash. ---- */

static void expect_toggled(const char *text, const char *segments)
{
        struct subject s = read_bytes(text, strlen(text), &strict);
        char before[200];

        strcpy(before, joined(&s.path, false));
        cr_expect_eq(weir__path_toggle_slash(&s.path), segments != NULL, "%s", text);
        cr_expect_str_eq(joined(&s.path, false), segments ? segments : before, "%s", text);
        if (segments) {
                weir__path_toggle_slash(&s.path);
                cr_expect_str_eq(joined(&s.path, false), before, "%s", text);
        }
        drop(&s);
}

Test(path, loses_its_last_slash_and_gets_one)
{
        expect_toggled("/a", "a|");
        expect_toggled("/a/", "a");
        expect_toggled("/a/b/c/d/e/f/g/h/i/j", "a|b|c|d|e|f|g|h|i|j|");
        expect_toggled("/books/%37", "books|7|");
        expect_toggled("/books/%37/", "books|7");
        expect_toggled("/", NULL);
        expect_toggled("//a", NULL);
        expect_toggled("/a//", NULL);
}

/* ---- Escapes of any text. ---- */

Test(percent, decodes_in_place)
{
        char text[] = "%41b%2Fc";

        cr_assert_eq(weir__percent_decode(text, (struct weir_str){ text, 8 }), 4);
        cr_expect(memcmp(text, "Ab/c", 4) == 0);
}

Test(percent, refuses_what_is_no_escape)
{
        char out[8];

        cr_expect_eq(weir__percent_decode(out, WEIR_STR("%4")), -1);
        cr_expect_eq(weir__percent_decode(out, WEIR_STR("a%00")), -1);
        cr_expect_eq(weir__percent_decode(out, WEIR_STR("\x1f")), -1);
        cr_expect_eq(weir__percent_decode(out, WEIR_STR("")), 0);
}

/* ---- Sixteen bytes at once. ---- */

Test(path_scan, by_words_and_by_vectors_finds_the_same)
{
        uint64_t seed = 1;

        for (unsigned i = 0; i < 200000; i++) {
                struct weir__special special = weir__nothing_special();
                bool special_too = false, really = false;
                char text[16];
                uint32_t slashes = 0;

                for (unsigned at = 0; at < 16; at++) {
                        static const char often[] = "//..%%-0aZ~\xaf";

                        seed = seed * 6364136223846793005 + 1442695040888963407;
                        text[at] = seed >> 62 ? often[(seed >> 40 & 0xff) % (sizeof(often) - 1)]
                                              : (char)(seed >> 50);
                        slashes |= (uint32_t)(text[at] == '/') << at;
                        really |= text[at] == '.' || text[at] == '%';
                }
                cr_assert_eq(weir__slashes(text, &special), slashes);
                cr_assert_eq(weir__slashes_in_words(weir__load8(text), weir__load8(text + 8),
                                                    &special_too),
                             slashes);
                cr_assert_eq(special_too, really);
                cr_assert(weir__is_special(special) || !really);
        }
}
