/* test_forwarded.c - claims about the client behind proxies, after RFC 7239. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>

static enum weir_flow show_client(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%.*s", WEIR_FMT(ctx->client));
}

static struct weir *app_that_trusts(const char *networks, enum weir_forwarded field)
{
        struct weir *app = weir_new(&(struct weir_options){
                .log = drop_log, .trusted_proxies = networks, .forwarded = field });

        weir_get(app, "/", show_client, NULL);
        return app;
}

/* Asks with these header lines, as 127.0.0.1, and says who the client is. */
static const char *client_of(const char *networks, enum weir_forwarded field, const char *lines)
{
        static char client[64];
        struct weir *app = app_that_trusts(networks, field);
        struct weir_reply *reply;
        char request[4096];

        snprintf(request, sizeof(request), "GET /\n%s\n", lines);
        reply = ask(app, request, 200);
        snprintf(client, sizeof(client), "%.*s", WEIR_FMT(reply->body));
        weir_reply_free(reply);
        weir_free(app);
        return client;
}

#define PROXIES "127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48"

/* By X-Forwarded-For and by Forwarded. */
static const char *x_client(const char *lines)
{
        return client_of(PROXIES, WEIR_X_FORWARDED_FOR, lines);
}

static const char *client(const char *lines)
{
        return client_of(PROXIES, WEIR_FORWARDED, lines);
}

/* ---- Both fields. ---- */

Test(forwarded, without_options_no_field_is_believed)
{
        cr_assert_str_eq(client_of(NULL, WEIR_FORWARDED_NONE,
                                   "X-Forwarded-For: 192.0.2.43\nForwarded: for=192.0.2.43\n"),
                         "127.0.0.1");
}

Test(forwarded, only_a_trusted_peer_is_believed)
{
        cr_assert_str_eq(client_of("10.0.0.0/8, ::1, unix", WEIR_X_FORWARDED_FOR,
                                   "X-Forwarded-For: 192.0.2.43\n"),
                         "127.0.0.1");
        cr_assert_str_eq(
                client_of("127.0.0.0/8", WEIR_X_FORWARDED_FOR, "X-Forwarded-For: 192.0.2.43\n"),
                         "192.0.2.43");
}

Test(forwarded, the_other_field_is_not_read)
{
        cr_assert_str_eq(x_client("Forwarded: for=192.0.2.43\n"), "127.0.0.1");
        cr_assert_str_eq(client("X-Forwarded-For: 192.0.2.43\n"), "127.0.0.1");
        cr_assert_str_eq(client("Forwarded-: for=192.0.2.43\nXForwarded: for=192.0.2.44\n"),
                         "127.0.0.1");
}

Test(forwarded, without_the_field_the_client_is_the_peer)
{
        cr_assert_str_eq(x_client(""), "127.0.0.1");
        cr_assert_str_eq(client(""), "127.0.0.1");
        cr_assert_str_eq(x_client("X-Forwarded-For:\n"), "127.0.0.1");
        cr_assert_str_eq(client("Forwarded: \n"), "127.0.0.1");
}

Test(forwarded, names_have_no_case)
{
        cr_assert_str_eq(x_client("x-forwarded-FOR: 192.0.2.43\n"), "192.0.2.43");
        cr_assert_str_eq(client("FORWARDED: FOR=192.0.2.43\n"), "192.0.2.43");
}

static enum weir_flow keep_both(struct weir_ctx *ctx, void *self)
{
        snprintf(*(char **)self, 64, "%.*s %.*s", WEIR_FMT(ctx->peer), WEIR_FMT(ctx->client));
        return WEIR_NEXT;
}

Test(forwarded, middleware_see_it_on_every_way_and_the_peer_beside_it)
{
        static const struct weir_middleware mw = { .name = "both",
                                                   .self_size = sizeof(char *),
                                                   .phase = WEIR_OBSERVE,
                                                   .on_request = keep_both };
        static const char *const requests[] = { "GET /", "GET /none", "DELETE /" };
        struct weir *app = app_that_trusts(PROXIES, WEIR_X_FORWARDED_FOR);
        char seen[64], *self = seen;

        weir_use(app, &mw, &self);
        for (int i = 0; i < 3; i++) {
                char request[128];

                snprintf(request, sizeof(request), "%s\nX-Forwarded-For: 192.0.2.43", requests[i]);
                seen[0] = '\0';
                status_of(app, request);
                cr_assert_str_eq(seen, "127.0.0.1:1 192.0.2.43", "%s: %s", requests[i], seen);
        }
        weir_free(app);
}

Test(forwarded, nothing_of_a_request_that_the_guard_refuses_is_believed)
{
        static const struct weir_middleware mw = { .name = "both",
                                                   .self_size = sizeof(char *),
                                                   .phase = WEIR_OBSERVE,
                                                   .on_request = keep_both };
        struct weir *app = app_that_trusts(PROXIES, WEIR_X_FORWARDED_FOR);
        char seen[64], *self = seen;

        weir_use(app, &mw, &self);
        cr_assert_eq(status_of(app, "GET /\nHost: a\nHost: b\nX-Forwarded-For: 192.0.2.43"), 400);
        cr_assert_str_eq(seen, "127.0.0.1:1 127.0.0.1");
        weir_free(app);
}

/* ---- The walk. ---- */

Test(forwarded, the_rightmost_address_that_is_not_trusted_is_the_client)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43, 203.0.113.43\n"), "203.0.113.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43, 203.0.113.43, 10.0.0.1\n"),
                         "203.0.113.43");
        cr_assert_str_eq(
                x_client("X-Forwarded-For: 192.0.2.43,203.0.113.43,2001:db8:ffff::1,10.9.9.9\n"),
                "203.0.113.43");
        cr_assert_str_eq(client("Forwarded: for=192.0.2.43, for=203.0.113.43, for=10.0.0.1\n"),
                         "203.0.113.43");
}

Test(forwarded, where_all_are_trusted_the_leftmost_is_the_client)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 10.0.0.3, 10.0.0.2, 10.0.0.1\n"), "10.0.0.3");
        cr_assert_str_eq(client("Forwarded: for=10.0.0.3, for=10.0.0.2\n"), "10.0.0.3");
}

Test(forwarded, several_fields_are_one_list)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43\nX-Forwarded-For: 203.0.113.43\n"),
                         "203.0.113.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43, 203.0.113.43\nA: b\n"
                                  "X-Forwarded-For: 10.0.0.1\n"),
                         "203.0.113.43");
        cr_assert_str_eq(client("Forwarded: for=192.0.2.43\nForwarded: for=203.0.113.43\n"
                                "Forwarded: for=10.0.0.1\n"),
                         "203.0.113.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43\nX-Forwarded-For: x\n"
                                  "X-Forwarded-For: 10.0.0.1\n"),
                         "10.0.0.1");
}

Test(forwarded, what_is_no_address_ends_the_walk_and_nothing_left_of_it_counts)
{
        static const char *const bad[] = {
                "unknown",
                "_hidden",
                "x",
                "192.0.2",
                "192.0.2.256",
                "192.0.02.1",
                "1.2.3.4.5",
                "::1::",
                "[::1",
                "::1]",
                "[192.0.2.1]",
                "[]",
                "192.0.2.1:",
                "192.0.2.1:x",
                "192.0.2.1:123456",
                "[::1]x",
                "[::1]:",
                "[::1]80",
                "192.0.2.1 192.0.2.2",
                "\"192.0.2.1\"",
                "for=192.0.2.1",
                "unix",
                "localhost",
                "%",
                "::1%",
                "192.0.2.1%eth0",
                "-",
                ":",
                "[",
                "]",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                char line[256];

                snprintf(line, sizeof(line), "X-Forwarded-For: 192.0.2.43, %s, 10.0.0.1\n", bad[i]);
                cr_assert_str_eq(x_client(line), "10.0.0.1", "%s", bad[i]);
                snprintf(line, sizeof(line), "X-Forwarded-For: 192.0.2.43, %s\n", bad[i]);
                cr_assert_str_eq(x_client(line), "127.0.0.1", "%s", bad[i]);
        }
}

Test(forwarded, empty_elements_are_none) /* RFC 9110 5.6.1.2 */
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43, ,10.0.0.1,,\n"), "192.0.2.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: ,\n"), "127.0.0.1");
        cr_assert_str_eq(client("Forwarded: ,for=192.0.2.43,\t, for=10.0.0.1 ,\n"), "192.0.2.43");
}

Test(forwarded, blanks_around_an_address_are_not_part_of_it)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: \t 192.0.2.43 \t\n"), "192.0.2.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: \t 192.0.2.43 \t,\t 10.0.0.1\n"), "192.0.2.43");
}

Test(forwarded, a_long_list_of_trusted_addresses_is_walked_to_its_end)
{
        char *lines = calloc(1, 4000);

        strcpy(lines, "X-Forwarded-For: 192.0.2.43");
        for (int i = 0; i < 300; i++)
                strcat(lines, ",10.0.0.1");
        strcat(lines, "\n");
        cr_assert_str_eq(x_client(lines), "192.0.2.43");
        free(lines);
}

/* ---- X-Forwarded-For. ---- */

Test(forwarded, ports_brackets_and_zones_are_cut_off)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43:4711\n"), "192.0.2.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: 2001:db8:cafe::17\n"), "2001:db8:cafe::17");
        cr_assert_str_eq(x_client("X-Forwarded-For: [2001:db8:cafe::17]\n"), "2001:db8:cafe::17");
        cr_assert_str_eq(x_client("X-Forwarded-For: [2001:db8:cafe::17]:4711\n"),
                         "2001:db8:cafe::17");
        cr_assert_str_eq(x_client("X-Forwarded-For: fe80::17%eth0\n"), "fe80::17");
        cr_assert_str_eq(x_client("X-Forwarded-For: [fe80::17%eth0]:4711\n"), "fe80::17");
}

Test(forwarded, an_address_has_one_form)
{
        cr_assert_str_eq(x_client("X-Forwarded-For: 2001:0DB8:0:0::0017\n"), "2001:db8::17");
        cr_assert_str_eq(x_client("X-Forwarded-For: ::ffff:192.0.2.43\n"), "192.0.2.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: ::ffff:c000:22b\n"), "192.0.2.43");
        cr_assert_str_eq(x_client("X-Forwarded-For: 192.0.2.43, ::ffff:10.0.0.1\n"), "192.0.2.43");
}

/* ---- Forwarded. ---- */

Test(forwarded, takes_the_examples_of_rfc_7239)
{
        static const char *const examples[][2] = {
                { "Forwarded: for=\"_gazonk\"\n", "127.0.0.1" },
                { "Forwarded: For=\"[2001:db8:cafe::17]:4711\"\n", "2001:db8:cafe::17" },
                { "Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43\n", "192.0.2.60" },
                { "Forwarded: for=192.0.2.43, for=198.51.100.17\n", "198.51.100.17" },
                { "Forwarded: for=_hidden, for=_SEVKISEK\n", "127.0.0.1" },
                { "Forwarded: for=192.0.2.43,for=\"[2001:db8:cafe::17]\",for=unknown\n",
                  "127.0.0.1" },
                { "Forwarded: for=192.0.2.43, for=\"[2001:db8:cafe::17]\", for=unknown\n",
                  "127.0.0.1" },
                { "Forwarded: for=192.0.2.43\n"
                  "Forwarded: for=\"[2001:db8:cafe::17]\", for=unknown\n",
                  "127.0.0.1" },
                { "Forwarded: for=192.0.2.43, for=\"[2001:db8:cafe::17]\"\n", "2001:db8:cafe::17" },
                { "Forwarded: for=192.0.2.43;proto=http;by=203.0.113.60, for=198.51.100.17;"
                  "by=203.0.113.60;proto=http;host=example.com\n",
                  "198.51.100.17" },
        };

        for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
                cr_assert_str_eq(client(examples[i][0]), examples[i][1], "%s", examples[i][0]);
}

Test(forwarded, a_node_may_have_a_port_that_is_hidden) /* RFC 7239 6 */
{
        cr_assert_str_eq(client("Forwarded: for=\"192.0.2.43:47011\"\n"), "192.0.2.43");
        cr_assert_str_eq(client("Forwarded: for=\"192.0.2.43:_port.1-a_\"\n"), "192.0.2.43");
        cr_assert_str_eq(client("Forwarded: for=\"[2001:db8::17]:_x\"\n"), "2001:db8::17");
}

Test(forwarded, pairs_may_stand_in_any_order_and_be_empty)
{
        cr_assert_str_eq(client("Forwarded: proto=http;for=192.0.2.43\n"), "192.0.2.43");
        cr_assert_str_eq(client("Forwarded: ;;proto=http;;for=192.0.2.43;\n"), "192.0.2.43");
        cr_assert_str_eq(client("Forwarded: proto=http ; for=192.0.2.43 ; by=_x\n"), "192.0.2.43");
        cr_assert_str_eq(
                client("Forwarded: secret=\"a, b; for=10.0.0.9 \\\" \\\\\";for=192.0.2.43\n"),
                         "192.0.2.43");
        cr_assert_str_eq(
                client("Forwarded: for=192.0.2.43;host=\"a\\\\\", for=10.0.0.1;host=\"\"\n"),
                         "192.0.2.43");
}

Test(forwarded, an_element_that_is_wrong_anywhere_ends_the_walk)
{
        static const char *const bad[] = {
                "proto=http",
                "for",
                "for=",
                "=192.0.2.1",
                "for =192.0.2.1",
                "for= 192.0.2.1",
                "for=192.0.2.1;for=192.0.2.1",
                "for=192.0.2.1 proto=http",
                "for=192.0.2.1;proto",
                "for=192.0.2.1;proto=",
                "for=\"192.0.2.1",
                "for=192.0.2.1\"",
                "for=\"192.0.2.1\"x",
                "for=\"\\192.0.2.1\"",
                "for=192.0.2.1:80",
                "for=[2001:db8::17]",
                "for=2001:db8::17",
                "for=\"2001:db8::17\"",
                "for=\"[2001:db8::17%eth0]\"",
                "for=\"192.0.2.1 \"",
                "for=\\\"192.0.2.1\\\"",
                "for='192.0.2.1'",
                "for=unknown",
                "for=_x",
                "for=\"\"",
                "192.0.2.1",
                "fo=192.0.2.1",
                "forr=192.0.2.1",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                char line[256];

                snprintf(line, sizeof(line), "Forwarded: for=192.0.2.43, %s, for=10.0.0.1\n",
                         bad[i]);
                cr_assert_str_eq(client(line), "10.0.0.1", "%s", bad[i]);
        }
}

/* The client sends the left part; the proxy adds the right one. */
Test(forwarded, a_quote_that_the_client_left_open_takes_in_nothing_of_the_proxys)
{
        static const char *const left[] = { "for=\"",
                                            "for=\"x",
                                            "for=1.2.3.4;a=\"",
                                            "\"",
                                            "\\",
                                            "\\\"",
                                            "for=\"\\",
                                            "a=\"b\\\\",
                                            ",\"",
                                            "for=1.2.3.4;host=\"a, for=1.2.3.4;b=\\" };
        static const char *const right[] = { "for=192.0.2.43", "for=\"192.0.2.43:80\"",
                                             "for=192.0.2.43;host=\"a\\\"b\\\\\"",
                                             "proto=http;for=\"192.0.2.43\"" };

        for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
                for (size_t k = 0; k < sizeof(right) / sizeof(right[0]); k++) {
                        char line[256];

                        snprintf(line, sizeof(line), "Forwarded: %s, %s\n", left[i], right[k]);
                        cr_assert_str_eq(client(line), "192.0.2.43", "%s", line);
                }
        }
}

/* ---- Memory. ---- */

static enum weir_flow use_own_word(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert_eq((uintptr_t)weir_own(ctx) % sizeof(uint64_t), 0);
        cr_assert_eq(*weir_own(ctx), 0);
        *weir_own(ctx) = UINT64_MAX;
        return WEIR_NEXT;
}

Test(forwarded, an_address_that_is_copied_stands_apart_from_the_words_of_middleware)
{
        static const struct weir_middleware mw = { .name = "word", .on_request = use_own_word };
        struct weir *app = app_that_trusts(PROXIES, WEIR_X_FORWARDED_FOR);

        weir_use(app, &mw, NULL);
        expect(app, "GET /\nX-Forwarded-For: 2001:db8:1234:5678:9abc:def0:1234:5678", 200,
               "2001:db8:1234:5678:9abc:def0:1234:5678");
        weir_free(app);
}

/* ---- Options. ---- */

static void refused(const char *networks, enum weir_forwarded field, const char *words)
{
        struct weir *app = app_that_trusts(networks, field);

        cr_assert_eq(weir_start(app), -1);
        cr_assert(strstr(weir_error(app), words), "%s", weir_error(app));
        weir_free(app);
}

Test(forwarded, wrong_options_are_named)
{
        refused("10.0.0.0/8, 10.0.0.0/33", WEIR_FORWARDED, "trusted_proxies: \"10.0.0.0/33\"");
        refused(NULL, WEIR_FORWARDED, "trusted_proxies");
        refused("10.0.0.0/8", WEIR_FORWARDED_NONE, "forwarded");
        refused("10.0.0.0/8", (enum weir_forwarded)3, "forwarded is 3");
}
