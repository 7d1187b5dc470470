/* test_router_build.c - claims about building a router: what is refused, and what it costs. */
#include "router_kit.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Patterns that are refused. ---- */

/* The sentence quotes the pattern and has `says` in it. */
static void expect_refused(const char *pattern, int code, const char *says)
{
        struct kit kit;

        kit_init(&kit);
        cr_expect_eq(kit_add(&kit, NULL, WEIR_GET, pattern), code, "%s", pattern);
        cr_expect(strstr(kit.error, says), "%s: %s", pattern, kit.error);
        if (strlen(pattern) < 60 && !strpbrk(pattern, "\x01\x7f"))
                cr_expect(strstr(kit.error, pattern), "%s: %s", pattern, kit.error);
        kit_finish(&kit);
}

Test(router_build, refuses_bad_grammar_with_the_mend)
{
        expect_refused("", -EINVAL, "start with '/'");
        expect_refused("books", -EINVAL, "start with '/'");
        expect_refused("/a//b", -EINVAL, "one '/' for");
        expect_refused("//", -EINVAL, "one '/' for");
        expect_refused("/./a", -EINVAL, "without it");
        expect_refused("/a/..", -EINVAL, "without it");
        expect_refused("/a\x01", -EINVAL, "control byte");
        expect_refused("/a\x7f", -EINVAL, "control byte");
        expect_refused("/{id", -EINVAL, "close it");
        expect_refused("/{a/b}", -EINVAL, "close it");
        expect_refused("/id}", -EINVAL, "\"}}\"");
        expect_refused("/a}{b}", -EINVAL, "\"}}\"");
        expect_refused("/{id}}", -EINVAL, "\"}}\"");
        expect_refused("/{}", -EINVAL, "named \"\"");
        expect_refused("/{1a}", -EINVAL, "named \"1a\"");
        expect_refused("/{a-b}", -EINVAL, "named \"a-b\"");
        expect_refused("/{a{b}", -EINVAL, "named \"a{b\"");
        expect_refused("/{...}", -EINVAL, "named \"...\"");
        expect_refused("/{a....}", -EINVAL, "named \"a.\"");
        expect_refused("/{a}{b}", -EINVAL, "two parameters in one segment");
        expect_refused("/{a}-{b}", -EINVAL, "two parameters in one segment");
        expect_refused("/{a}/x/{a}", -EINVAL, "rename");
        expect_refused("/{a}/{a...}", -EINVAL, "rename");
        expect_refused("/{a...}/b", -EINVAL, "comes last");
        expect_refused("/{a...}/", -EINVAL, "comes last");
        expect_refused("/x{a...}", -EINVAL, "whole segment");
        expect_refused("/{a...}x", -EINVAL, "whole segment");
}

Test(router_build, takes_what_is_unusual_but_right)
{
        const char *const patterns[] = { "/",      "/a/",     "/{{",     "/}}",      "/{{{a}}}",
                                         "/...",   "/.a",     "/{a}.",   "/x{_}",     "/{A_9}",
                                         "/a b",   "/a?b=c",  "/%",      "/{a...}",  "/x/{a...}",
                                         "/.{a}",  "/{a}}}",  "/..{a}",  "/{{}}/{a}" };
        struct kit kit;

        kit_init(&kit);
        for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
                cr_expect_eq(kit_add(&kit, NULL, WEIR_GET, patterns[i]), 0, "%s: %s", patterns[i],
                             kit.error);
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/%7B"), "/{{");
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/%7Bx%7D"), "/{{{a}}}");
        cr_expect(weir_str_is(kit.param[0], "x"));
        kit_finish(&kit);
}

Test(router_build, refuses_what_is_beyond_a_limit)
{
        char *pattern = calloc(1, 2 * WEIR__MAX_PATH);

        for (unsigned i = 0; i <= WEIR_MAX_PARAMS; i++)
                sprintf(pattern + strlen(pattern), "/{p%u}", i);
        expect_refused(pattern, -E2BIG, "more than 16 parameters");
        pattern[0] = '\0';
        for (unsigned i = 0; i <= WEIR__MAX_SEGMENTS; i++)
                strcat(pattern, "/a");
        expect_refused(pattern, -E2BIG, "more than 32 segments");
        memset(pattern, 'a', WEIR__MAX_PATH + 1);
        pattern[0] = '/';
        expect_refused(pattern, -E2BIG, "has 8193 bytes");
        pattern[WEIR__MAX_PATH] = '\0';
        expect_refused(pattern, 0, "");
        free(pattern);
}

Test(router_build, refuses_a_method_that_there_is_not)
{
        const int bad[] = { -1, WEIR_CUSTOM + 16, WEIR__NO_METHOD, WEIR_UNKNOWN_METHOD, 32 };
        struct kit kit;

        kit_init(&kit);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_expect_eq(kit_add(&kit, NULL, bad[i], "/a"), -EINVAL);
        cr_expect(strstr(kit.error, "method number 32"));
        kit_finish(&kit);
}

Test(router_build, refuses_hosts_that_no_request_names)
{
        const char *const bad[][2] = {
                { "", "NULL" },
                { "*", "*.example.org" },
                { "*.", "*.example.org" },
                { "a.*.org", "" },
                { "a..b", "" },
                { "a b", "" },
                { "http://a", "scheme" },
                { "a:8080", "port" },
                { "a/b", "pattern" },
                { "*.*.org", "" },
                { "[::1", "" },
                { "[]", "" },
                { ".a", "" },
                { "caf\xc3\xa9.fr", "" },
        };
        char text[400];
        struct kit kit;

        kit_init(&kit);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                cr_expect_eq(kit_add(&kit, bad[i][0], WEIR_GET, "/a"), -EINVAL, "%s", bad[i][0]);
                cr_expect(strstr(kit.error, bad[i][0]) && strstr(kit.error, bad[i][1]), "%s",
                          kit.error);
        }
        memset(text, 'a', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        cr_expect_eq(kit_add(&kit, text, WEIR_GET, "/a"), -EINVAL);
        kit_finish(&kit);
}

/* ---- Conflicts. ---- */

Test(router_build, refuses_the_same_requests_twice_and_names_both)
{
        const char *const pairs[][2] = {
                { "/a", "/a" },
                { "/a/{x}", "/a/{y}" },
                { "/a/{x}.png", "/a/{y}.png" },
                { "/a/{x...}", "/a/{y...}" },
                { "/{{a}}", "/{{a}}" },
                { "/", "/" },
        };

        for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
                struct kit kit;

                kit_init(&kit);
                kit_get(&kit, pairs[i][0]);
                cr_expect_eq(kit_add(&kit, NULL, WEIR_GET, pairs[i][1]), -EEXIST);
                cr_expect(strstr(kit.error, pairs[i][0]) && strstr(kit.error, pairs[i][1]) &&
                                  strstr(kit.error, "GET"),
                          "%s", kit.error);
                cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/a"), i ? "none" : "/a");
                kit_finish(&kit);
        }
}

Test(router_build, takes_all_that_differs_in_shape_method_or_host)
{
        struct kit kit;
        const struct {
                const char *host;
                int         method;
                const char *pattern;
        } routes[] = {
                { NULL, WEIR_GET, "/a/{x}" },    { NULL, WEIR_POST, "/a/{y}" },
                { NULL, WEIR_ANY, "/a/{z}" },    { "h", WEIR_GET, "/a/{x}" },
                { "*.h", WEIR_GET, "/a/{x}" },   { NULL, WEIR_GET, "/a/{x}/" },
                { NULL, WEIR_GET, "/a/x" },      { NULL, WEIR_GET, "/{x}/a" },
                { NULL, WEIR_GET, "/a/{x...}" }, { NULL, WEIR_GET, "/a/b{x}" },
                { NULL, WEIR_GET, "/a/{x}b" },   { NULL, WEIR_GET, "/{{a}}/{x}" },
        };

        kit_init(&kit);
        for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
                cr_expect_eq(kit_add(&kit, routes[i].host, routes[i].method, routes[i].pattern), 0,
                             "%s", kit.error);
                cr_expect_str_empty(kit.error);
        }
        cr_expect_eq(kit.leaf[0], 0);
        cr_expect_eq(kit.leaf[1], 0);
        cr_expect_eq(kit.leaf[2], 0);
        for (uint32_t i = 3; i < kit.n; i++)
                cr_expect_eq(kit.leaf[i], i - 2);
        kit_finish(&kit);
}

Test(router_build, says_on_which_host_a_conflict_is)
{
        struct kit kit;

        kit_init(&kit);
        cr_assert_eq(kit_add(&kit, "*.Example.org", WEIR_CUSTOM, "/a"), 0);
        cr_expect_eq(kit_add(&kit, "*.example.ORG", WEIR_CUSTOM, "/a"), -EEXIST);
        cr_expect(strstr(kit.error, "*.example.org"), "%s", kit.error);
        kit_finish(&kit);
}

/* ---- Cost. ---- */

Test(router_build, of_nothing_finds_nothing)
{
        struct kit kit;

        kit_init(&kit);
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/"), "none");
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/a/b/c"), "none");
        cr_expect_eq(kit.match.allow, 0);
        kit_finish(&kit);
        weir__routes_free(NULL);
        weir__router_free(NULL);
}

/* All mixes of "a" and a parameter, so that each segment of a path of a's has two ways. */
Test(router_build, visits_no_more_nodes_than_there_are)
{
        struct weir__routes *routes = weir__routes_new();
        struct weir__router_facts facts;
        struct weir__router *router;
        const struct weir__path_rules rules = { false, false };
        struct weir__path path;
        uint32_t leaf, visits;
        char error[200];

        for (uint32_t mix = 0; mix < 1024; mix++) {
                char pattern[200] = "";

                for (unsigned i = 0; i < 10; i++)
                        sprintf(pattern + strlen(pattern), mix >> i & 1 ? "/a" : "/{p%u}", i);
                strcat(pattern, "/end");
                cr_assert_eq(weir__routes_add(routes, NULL, WEIR_GET, pattern, mix, &leaf, error,
                                              sizeof(error)),
                             0);
        }
        router = weir__router_new(routes);
        weir__router_facts(router, &facts);
        cr_expect_eq(facts.routes, 1024);
        weir__path_split(&path, WEIR_STR("/a/a/a/a/a/a/a/a/a/a/a"), &rules);
        visits = weir__router_visits(router, &path, (struct weir_str){ 0 }, WEIR_GET);
        cr_expect(visits > 1000 && visits <= facts.nodes, "%u of %zu", visits, facts.nodes);
        weir__path_split(&path, WEIR_STR("/a/a/a/a/a/a/a/a/a/a/end"), &rules);
        visits = weir__router_visits(router, &path, (struct weir_str){ 0 }, WEIR_POST);
        cr_expect_leq(visits, facts.nodes);
        weir__router_free(router);
        weir__routes_free(routes);
}

/* One place with very many literals; a service with very many routes. */
Test(router_build, finds_each_of_100000_literals)
{
        struct weir__routes *routes = weir__routes_new();
        const struct weir__path_rules rules = { false, false };
        struct weir__router_facts facts;
        struct weir__router *router;
        struct weir_str param[WEIR_MAX_PARAMS];
        struct weir__match match;
        struct weir__path path;
        char text[60], error[200];
        uint32_t leaf;

        for (uint32_t i = 0; i < 100000; i++) {
                sprintf(text, "/things/with-a-long-name-%u/{x}", i);
                cr_assert_eq(weir__routes_add(routes, NULL, WEIR_GET, text, i, &leaf, error,
                                              sizeof(error)),
                             0);
                cr_assert_eq(leaf, i);
        }
        router = weir__router_new(routes);
        weir__routes_free(routes);
        for (uint32_t i = 0; i < 100000; i++) {
                int len = sprintf(text, "/things/with-a-long-name-%u/y", i);

                weir__path_split(&path, (struct weir_str){ text, (size_t)len }, &rules);
                cr_assert(weir__router_find(router, &path, NULL, WEIR_GET, param, &match));
                cr_assert_eq(match.route, i);
        }
        weir__router_facts(router, &facts);
        cr_expect_lt(facts.bytes / facts.routes, 512);
        weir__router_free(router);
}
