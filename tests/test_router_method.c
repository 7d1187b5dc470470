/* test_router_method.c - claims about methods and hosts of routes. */
#include "router_kit.h"
#include <criterion/criterion.h>
#include <errno.h>

#define BIT(method) (UINT32_C(1) << (method))

static void add(struct kit *kit, int method, const char *pattern)
{
        cr_assert_eq(kit_add(kit, NULL, method, pattern), 0, "%s", kit->error);
}

static void add_host(struct kit *kit, const char *host, const char *pattern)
{
        cr_assert_eq(kit_add(kit, host, WEIR_GET, pattern), 0, "%s", kit->error);
}

/* ---- Methods. ---- */

Test(router_method, is_part_of_the_match)
{
        struct kit kit;

        kit_init(&kit);
        add(&kit, WEIR_GET, "/books/new");
        add(&kit, WEIR_PUT, "/books/{id}");
        add(&kit, WEIR_DELETE, "/{all...}");
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/books/new"), "/books/new");
        cr_expect_str_eq(kit_ask(&kit, WEIR_PUT, "/books/new"), "/books/{id}");
        cr_expect_str_eq(kit_ask(&kit, WEIR_DELETE, "/books/new"), "/{all...}");
        kit_finish(&kit);
}

/* gin-gonic/gin 3459; golang/go 69690 */
Test(router_method, that_nobody_serves_leaves_the_methods_of_all_that_match)
{
        struct kit kit;

        kit_init(&kit);
        add(&kit, WEIR_GET, "/books/new");
        add(&kit, WEIR_PUT, "/books/{id}");
        add(&kit, WEIR_DELETE, "/books/{rest...}");
        add(&kit, WEIR_PATCH, "/books/{id}/x");
        cr_expect_str_eq(kit_ask(&kit, WEIR_POST, "/books/new"), "none");
        cr_expect_eq(kit.match.allow, BIT(WEIR_GET) | BIT(WEIR_PUT) | BIT(WEIR_DELETE));
        cr_assert_eq(kit.match.n_missed, 3);
        cr_expect_eq(kit.match.missed[0], kit.leaf[0]);
        cr_expect_eq(kit.match.missed[1], kit.leaf[1]);
        cr_expect_eq(kit.match.missed[2], kit.leaf[2]);
        cr_expect_str_eq(kit_ask(&kit, WEIR_POST, "/books/7"), "none");
        cr_expect_eq(kit.match.allow, BIT(WEIR_PUT) | BIT(WEIR_DELETE));
        cr_expect_str_eq(kit_ask(&kit, WEIR_POST, "/nothing"), "none");
        cr_expect_eq(kit.match.allow, 0);
        cr_expect_eq(kit.match.n_missed, 0);
        kit_finish(&kit);
}

Test(router_method, head_is_served_by_get)
{
        struct kit kit;

        kit_init(&kit);
        add(&kit, WEIR_GET, "/a");
        add(&kit, WEIR_GET, "/b");
        add(&kit, WEIR_HEAD, "/b");
        add(&kit, WEIR_ANY, "/b");
        add(&kit, WEIR_ANY, "/c");
        add(&kit, WEIR_POST, "/d");
        add(&kit, WEIR_GET, "/{x}");
        cr_expect_str_eq(kit_ask(&kit, WEIR_HEAD, "/a"), "/a");
        cr_expect_str_eq(kit_ask(&kit, WEIR_HEAD, "/b"), "/b");
        cr_expect_eq(kit.match.route, 2);
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/b"), "/b");
        cr_expect_eq(kit.match.route, 1);
        cr_expect_str_eq(kit_ask(&kit, WEIR_HEAD, "/c"), "/c");
        cr_expect_str_eq(kit_ask(&kit, WEIR_HEAD, "/d"), "/{x}");
        kit_finish(&kit);
}

Test(router_method, any_serves_what_no_other_route_of_its_place_does)
{
        struct kit kit;

        kit_init(&kit);
        add(&kit, WEIR_ANY, "/a");
        add(&kit, WEIR_POST, "/a");
        add(&kit, WEIR_CUSTOM + 3, "/a");
        add(&kit, WEIR_GET, "/{x}");
        for (int method = 0; method <= WEIR_UNKNOWN_METHOD; method++) {
                if (method == WEIR__NO_METHOD ||
                    (method >= WEIR_CUSTOM + 16 && method != WEIR_UNKNOWN_METHOD))
                        continue;
                kit_ask(&kit, method, "/a");
                cr_expect_eq(kit.match.route, method == WEIR_POST         ? 1u
                                              : method == WEIR_CUSTOM + 3 ? 2u
                                                                          : 0u);
        }
        cr_expect_str_eq(kit_ask(&kit, WEIR__NO_METHOD, "/a"), "none");
        cr_expect_eq(kit.match.allow,
                     BIT(WEIR_ANY) | BIT(WEIR_POST) | BIT(WEIR_CUSTOM + 3) | BIT(WEIR_GET));
        kit_finish(&kit);
}

Test(router_method, of_the_app_is_like_any_other)
{
        struct kit kit;

        kit_init(&kit);
        for (int method = WEIR_CUSTOM + 15; method >= 0; method--)
                add(&kit, method, "/all");
        add(&kit, WEIR_ANY, "/all");
        add(&kit, WEIR_CUSTOM, "/one");
        for (int method = 0; method < WEIR_CUSTOM + 16; method++) {
                kit_ask(&kit, method, "/all");
                cr_expect_eq(kit.match.route, (uint32_t)(WEIR_CUSTOM + 15 - method));
        }
        kit_ask(&kit, WEIR_UNKNOWN_METHOD, "/all");
        cr_expect_eq(kit.match.route, 23);
        cr_expect_str_eq(kit_ask(&kit, WEIR_CUSTOM, "/one"), "/one");
        cr_expect_str_eq(kit_ask(&kit, WEIR_CUSTOM + 1, "/one"), "none");
        cr_expect_eq(kit.match.allow, BIT(WEIR_CUSTOM));
        kit_finish(&kit);
}

Test(router_method, is_missed_by_more_places_than_are_told)
{
        struct kit kit;
        char pattern[20][16];

        kit_init(&kit);
        for (unsigned i = 0; i < 20; i++) {
                memset(pattern[i], 0, sizeof(pattern[i]));
                strcpy(pattern[i], "/");
                memset(pattern[i] + 1, 'a', i / 2);
                strcat(pattern[i], i % 2 ? "{x}" : "{x}b");
                add(&kit, WEIR_GET, pattern[i]);
        }
        cr_expect_str_eq(kit_ask(&kit, WEIR_PUT, "/aaaaaaaaaaaab"), "none");
        cr_expect_eq(kit.match.n_missed, 20);
        cr_expect_eq(kit.match.allow, BIT(WEIR_GET));
        kit_finish(&kit);
}

/* ---- Hosts. ---- */

static struct kit with_hosts(void)
{
        struct kit kit;

        kit_init(&kit);
        add_host(&kit, "api.example.org", "/exact");
        add_host(&kit, "*.example.org", "/exact");
        add_host(&kit, "*.example.org", "/{suffix}");
        add_host(&kit, "*.b.example.org", "/longer");
        add_host(&kit, NULL, "/{any}");
        add_host(&kit, NULL, "/none");
        add_host(&kit, "[::1]", "/six");
        return kit;
}

Test(router_host, exact_beats_longest_suffix_beats_none)
{
        struct kit kit = with_hosts();

        kit_ask_host(&kit, "api.example.org", WEIR_GET, "/exact");
        cr_expect_eq(kit.match.route, 0);
        kit_ask_host(&kit, "www.example.org", WEIR_GET, "/exact");
        cr_expect_eq(kit.match.route, 1);
        kit_ask_host(&kit, "other.org", WEIR_GET, "/exact");
        cr_expect_eq(kit.match.route, 4);
        kit_ask_host(&kit, "a.b.example.org", WEIR_GET, "/longer");
        cr_expect_eq(kit.match.route, 3);
        kit_ask_host(&kit, "[::1]", WEIR_GET, "/six");
        cr_expect_eq(kit.match.route, 6);
        kit_finish(&kit);
}

Test(router_host, of_a_suffix_has_one_label_or_more_in_front)
{
        struct kit kit = with_hosts();

        kit_ask_host(&kit, "a.b.c.example.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 2);
        kit_ask_host(&kit, "example.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 4);
        kit_ask_host(&kit, ".example.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 4);
        kit_ask_host(&kit, "notexample.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 4);
        kit_finish(&kit);
}

Test(router_host, that_has_no_route_falls_through_to_wider_ones)
{
        struct kit kit = with_hosts();

        kit_ask_host(&kit, "api.example.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 2);
        kit_ask_host(&kit, "a.b.example.org", WEIR_GET, "/x");
        cr_expect_eq(kit.match.route, 2);
        kit_ask_host(&kit, "api.example.org", WEIR_GET, "/none");
        cr_expect_eq(kit.match.route, 2);
        kit_ask_host(&kit, "a.b.example.org", WEIR_PUT, "/longer");
        cr_expect_eq(kit.match.allow, BIT(WEIR_GET));
        cr_expect_eq(kit.match.n_missed, 3);
        kit_finish(&kit);
}

Test(router_host, may_be_absent)
{
        struct kit kit = with_hosts();

        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/exact"), "/{any}");
        cr_expect_str_eq(kit_ask(&kit, WEIR_GET, "/none"), "/none");
        kit_finish(&kit);
}

Test(router_host, is_given_in_any_case_and_with_a_last_dot)
{
        struct kit kit;

        kit_init(&kit);
        add_host(&kit, "API.Example.ORG.", "/a");
        cr_expect_eq(kit_add(&kit, "api.example.org", WEIR_GET, "/a"), -EEXIST);
        kit_ask_host(&kit, "api.example.org", WEIR_GET, "/a");
        cr_expect_eq(kit.match.route, 0);
        kit_finish(&kit);
}

Test(router_host, of_any_length_does_no_harm)
{
        struct kit kit = with_hosts();
        char host[600];

        for (size_t len = 0; len < sizeof(host); len++) {
                memset(host, '.', sizeof(host));
                host[len] = '\0';
                cr_expect_str_eq(kit_ask_host(&kit, host, WEIR_GET, "/exact"), "/{any}");
        }
        kit_finish(&kit);
}
