/* test_router.c - claims about which route takes a request. */
#include "router_kit.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* For GET, with these routes: path and pattern in turn, up to NULL. */
static void expect(const char *const *patterns, const char *const *wanted)
{
        struct kit kit;

        kit_init(&kit);
        for (; *patterns; patterns++)
                kit_get(&kit, *patterns);
        for (; *wanted; wanted += 2)
                cr_expect_str_eq(kit_ask(&kit, WEIR_GET, wanted[0]), wanted[1], "%s", wanted[0]);
        kit_finish(&kit);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define ROUTES    LIST
#define WANTED    LIST

static void expect_param(const struct kit *kit, uint32_t i, const char *value, const char *raw)
{
        struct weir_str as_sent = weir__router_raw_param(&kit->path, &kit->match, kit->param, i);

        cr_expect(weir_str_is(kit->param[i], value), "\"%.*s\"", WEIR_FMT(kit->param[i]));
        cr_expect(weir_str_is(as_sent, raw), "\"%.*s\"", WEIR_FMT(as_sent));
}

/* ---- Precedence. ---- */

Test(router, literal_beats_parameter)
{
        expect(ROUTES("/users/{id}", "/users/me", "/{any}/me"),
               WANTED("/users/me", "/users/me", "/users/7", "/users/{id}", "/x/me", "/{any}/me",
                      "/users/mee", "/users/{id}", "/users/m", "/users/{id}"));
}

Test(router, affixed_parameter_beats_bare_one)
{
        expect(ROUTES("/{x}", "/{x}.png", "/img-{x}", "/img-{x}.png", "/img-7.png"),
               WANTED("/img-7.png", "/img-7.png", "/img-8.png", "/img-{x}.png", "/8.png",
                      "/{x}.png", "/img-8", "/img-{x}", "/img-", "/{x}", "/.png", "/{x}",
                      "/img-.png", "/img-{x}", "/8", "/{x}"));
}

Test(router, longer_prefix_beats_longer_suffix)
{
        expect(ROUTES("/a{x}", "/ab{x}", "/a{x}.tar.gz", "/{x}.tar.gz", "/{x}.gz", "/ab{x}z"),
               WANTED("/abc", "/ab{x}", "/ac", "/a{x}", "/abc.tar.gz", "/ab{x}z", "/ac.tar.gz",
                      "/a{x}.tar.gz", "/c.tar.gz", "/{x}.tar.gz", "/c.gz", "/{x}.gz", "/a", "none",
                      "/ab", "/a{x}", "/abz", "/ab{x}"));
}

Test(router, parameter_beats_rest)
{
        expect(ROUTES("/files/{path...}", "/files/{name}", "/files/{name}/raw", "/{all...}"),
               WANTED("/files/a", "/files/{name}", "/files/a/raw", "/files/{name}/raw",
                      "/files/a/b", "/files/{path...}", "/files/", "/files/{path...}", "/files",
                      "/{all...}", "/", "/{all...}", "/a/b/c", "/{all...}"));
}

Test(router, better_segment_further_left_beats_any_further_right)
{
        expect(ROUTES("/a/{x}/{y}", "/{x}/b/c", "/a/{rest...}", "/{x}/b/{rest...}"),
               WANTED("/a/b/c", "/a/{x}/{y}", "/a/b", "/a/{rest...}", "/z/b/c", "/{x}/b/c",
                      "/z/b/d/e", "/{x}/b/{rest...}"));
}

Test(router, order_of_registration_never_counts)
{
        const char *patterns[] = { "/a/b", "/a/{x}", "/a/{x}.b", "/a/b{x}", "/{x}/b", "/{x...}" };
        const char *paths[] = { "/a/b", "/a/c", "/a/c.b", "/a/bb", "/c/b", "/c/d", "/a/b.b" };
        const char *first[7] = { 0 };

        for (unsigned order = 0; order < 720; order++) {
                unsigned left = order, taken = 0;
                struct kit kit;

                kit_init(&kit);
                for (unsigned n = 6; n > 0; left /= n, n--) {
                        unsigned skip = left % n, at = 0;

                        while (taken >> at & 1 || skip-- > 0)
                                at++;
                        taken |= 1u << at;
                        kit_get(&kit, patterns[at]);
                }
                for (unsigned i = 0; i < 7; i++) {
                        const char *found = kit_ask(&kit, WEIR_GET, paths[i]);

                        if (order == 0)
                                first[i] = found;
                        cr_assert_str_eq(found, first[i], "order %u, %s", order, paths[i]);
                }
                kit_finish(&kit);
        }
}

/* ---- Going back. ---- */

Test(router, finds_a_route_if_any_matches)
{
        expect(ROUTES("/a/b/c", "/a/{x}/d", "/{x}/b/e", "/{x}/{y}/f", "/{x...}"),
               WANTED("/a/b/c", "/a/b/c", "/a/b/d", "/a/{x}/d", "/a/b/e", "/{x}/b/e", "/a/b/f",
                      "/{x}/{y}/f", "/a/b/g", "/{x...}", "/a/b", "/{x...}"));
}

Test(router, goes_back_from_an_affix)
{
        expect(ROUTES("/v{x}/a", "/{x}z/b", "/{x}/c", "/v{x}z/d"),
               WANTED("/vyz/a", "/v{x}/a", "/vyz/b", "/{x}z/b", "/vyz/c", "/{x}/c", "/vyz/d",
                      "/v{x}z/d", "/vyz/e", "none"));
}

/* gin-gonic/gin 2900, 4783 */
Test(router, does_not_lose_its_way_between_literals_with_a_common_start)
{
        expect(ROUTES("/get/test/abc/", "/get/{param}/abc/", "/something/{p}/second",
                      "/something/x"),
               WANTED("/get/test/abc/", "/get/test/abc/", "/get/tes/abc/", "/get/{param}/abc/",
                      "/get/testaa/abc/", "/get/{param}/abc/", "/something/x/second",
                      "/something/{p}/second", "/something/xy/second", "/something/{p}/second"));
        expect(ROUTES("/{p0}/{p1}", "/bc/{p1}/a"),
               WANTED("/bc/a", "/{p0}/{p1}", "/bc/x/a", "/bc/{p1}/a", "/bc/bc", "/{p0}/{p1}"));
}

/* ibraheemdev/matchit 8, 31 */
Test(router, takes_a_parameter_that_starts_like_a_literal)
{
        expect(ROUTES("/cmd/vet", "/cmd/{tool}", "/cmd/{tool}/{sub}"),
               WANTED("/cmd/vet", "/cmd/vet", "/cmd/v", "/cmd/{tool}", "/cmd/vett", "/cmd/{tool}",
                      "/cmd/vet/x", "/cmd/{tool}/{sub}", "/cmd/", "none"));
        expect(ROUTES("/path/foo", "/path/{rest...}"),
               WANTED("/path/foo", "/path/foo", "/path/foobar", "/path/{rest...}", "/path/foo/x",
                      "/path/{rest...}", "/path/", "/path/{rest...}", "/path", "none"));
}

/* delvedor/find-my-way 80 */
Test(router, prefers_a_deeper_literal_behind_a_parameter)
{
        expect(ROUTES("/{x}/b/{y}", "/{x}/{y}/c", "/a/{x}"),
               WANTED("/a/b/c", "/{x}/b/{y}", "/a/d/c", "/{x}/{y}/c", "/a/b", "/a/{x}"));
}

/* ---- Segments. ---- */

Test(router, tells_literals_apart_by_every_byte)
{
        char text[80], other[80];

        for (unsigned len = 1; len <= 40; len++) {
                for (unsigned at = 0; at < len; at++) {
                        struct kit kit;

                        memset(text, 'x', sizeof(text));
                        memset(other, 'x', sizeof(other));
                        text[0] = other[0] = '/';
                        text[1 + len] = other[1 + len] = '\0';
                        other[1 + at] = 'y';
                        kit_init(&kit);
                        kit_get(&kit, text);
                        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, other), "none", "%s", other);
                        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, text), text);
                        kit_finish(&kit);
                        kit_init(&kit);
                        kit_get(&kit, text);
                        kit_get(&kit, other);
                        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, other), other);
                        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, text), text);
                        kit_finish(&kit);
                }
        }
}

Test(router, parameters_are_never_empty_and_a_rest_may_be)
{
        expect(ROUTES("/a/{x}", "/b/{x}/c", "/d/{x...}", "/e/p{x}"),
               WANTED("/a/", "none", "/a", "none", "/b//c", "none", "/d/", "/d/{x...}", "/d",
                      "none", "/e/p", "none", "/a/x", "/a/{x}"));
}

Test(router, empty_segments_match_nothing)
{
        expect(ROUTES("/a/b", "/{x}/{y}", "/{x...}", "/a/"),
               WANTED("//a", "none", "/a//b", "none", "/a//", "none", "//", "none", "/a/", "/a/",
                      "/b/", "/{x...}"));
}

Test(router, last_slash_makes_a_difference)
{
        expect(ROUTES("/a", "/b/", "/c/{x}/", "/"),
               WANTED("/a", "/a", "/a/", "none", "/b", "none", "/b/", "/b/", "/c/x/", "/c/{x}/",
                      "/c/x", "none", "/", "/"));
}

Test(router, compares_decoded_segments)
{
        expect(ROUTES("/caf\xc3\xa9/{x}", "/a b", "/a%20b", "/{{x}}", "/a/b"),
               WANTED("/caf%C3%A9/1", "/caf\xc3\xa9/{x}", "/a%20b", "/a b", "/a%2520b", "/a%20b",
                      "/%7Bx%7d", "/{{x}}", "/{x}", "/{{x}}", "/a%2Fb", "none", "/%61/%62", "/a/b",
                      "/A/b", "none"));
}

Test(router, literals_are_case_sensitive)
{
        expect(ROUTES("/Books"), WANTED("/Books", "/Books", "/books", "none"));
}

/* golang/go 21955 */
Test(router, escaped_slash_stays_inside_its_segment)
{
        struct kit kit;

        kit_init(&kit);
        kit_get(&kit, "/files/{name}/info");
        kit_get(&kit, "/files/a/b/info");
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/files/a%2Fb/info"), "/files/{name}/info");
        expect_param(&kit, 0, "a/b", "a%2Fb");
        kit_finish(&kit);
}

/* ---- Parameters. ---- */

Test(router, parameters_come_in_the_order_of_the_pattern)
{
        struct kit kit;

        kit_init(&kit);
        kit_get(&kit, "/{a}/x/{b}/{c}.{{}}/y/v{d}/{e...}");
        cr_expect_str_neq(kit_ask(&kit, WEIR_GET, "/1/x/2/3.%7B%7d/y/v4/5/6%2f7"), "none");
        cr_assert_eq(kit.match.n_params, 5);
        expect_param(&kit, 0, "1", "1");
        expect_param(&kit, 1, "2", "2");
        expect_param(&kit, 2, "3", "3");
        expect_param(&kit, 3, "4", "4");
        expect_param(&kit, 4, "5/6/7", "5/6%2f7");
        kit_finish(&kit);
}

Test(router, parameters_are_decoded_and_have_a_raw_form)
{
        struct kit kit;

        kit_init(&kit);
        kit_get(&kit, "/pre{x}fix/{y}");
        cr_expect_str_neq(kit_ask(&kit, WEIR_GET, "/%70re%61+%20b%66ix/%2B"), "none");
        expect_param(&kit, 0, "a+ b", "%61+%20b");
        expect_param(&kit, 1, "+", "%2B");
        kit_finish(&kit);
}

Test(router, a_rest_has_no_slash_in_front)
{
        struct kit kit;

        kit_init(&kit);
        kit_get(&kit, "/s/{p...}");
        kit_ask(&kit, WEIR_GET, "/s/a/b.css");
        expect_param(&kit, 0, "a/b.css", "a/b.css");
        kit_ask(&kit, WEIR_GET, "/s/");
        expect_param(&kit, 0, "", "");
        kit_ask(&kit, WEIR_GET, "/s/a/");
        expect_param(&kit, 0, "a/", "a/");
        kit_finish(&kit);
}

Test(router, a_pattern_may_have_16_parameters_and_32_segments)
{
        char pattern[400] = "", path[200] = "";
        struct kit kit;

        for (unsigned i = 0; i < 16; i++) {
                sprintf(pattern + strlen(pattern), "/a/{p%u}", i);
                sprintf(path + strlen(path), "/a/%u", i);
        }
        kit_init(&kit);
        kit_get(&kit, pattern);
        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, path), pattern);
        cr_assert_eq(kit.match.n_params, 16);
        for (uint32_t i = 0; i < 16; i++) {
                char value[8], name[8];

                sprintf(value, "%u", i);
                sprintf(name, "p%u", i);
                expect_param(&kit, i, value, value);
                cr_expect(weir_str_is(weir__router_param_name(kit.router, 0, i), name));
        }
        strcat(path, "/");
        cr_assert_str_eq(kit_ask(&kit, WEIR_GET, path), "404");
        kit_finish(&kit);
}

Test(router, names_of_parameters_are_those_of_the_route)
{
        struct kit kit;

        kit_init(&kit);
        kit_get(&kit, "/books/{id}/pages/{n}");
        cr_assert_eq(kit_add(&kit, NULL, WEIR_PUT, "/books/{book}/pages/{page}"), 0);
        cr_expect_eq(kit.leaf[0], kit.leaf[1]);
        kit_ask(&kit, WEIR_PUT, "/books/1/pages/2");
        cr_expect(weir_str_is(weir__router_param_name(kit.router, 0, 0), "id"));
        cr_expect(weir_str_is(weir__router_param_name(kit.router, 0, 1), "n"));
        cr_expect(weir_str_is(weir__router_param_name(kit.router, 1, 0), "book"));
        cr_expect(weir_str_is(weir__router_param_name(kit.router, 1, 1), "page"));
        kit_finish(&kit);
}
