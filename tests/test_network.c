/* test_network.c - claims about addresses (RFC 4291, RFC 5952) and networks (RFC 4632). */
#include "network.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

static struct weir_str str(const char *text)
{
        return (struct weir_str){ text, strlen(text) };
}

/* ---- Addresses. ---- */

/* The address in its usual form, or NULL. */
static const char *usual(const char *text)
{
        static char out[WEIR__ADDRESS_TEXT];
        struct weir__address address;

        if (!weir__address_parse(str(text), &address))
                return NULL;
        cr_assert_eq(weir__address_print(&address, out), strlen(out));
        return out;
}

Test(network, an_ipv4_address_is_four_numbers)
{
        cr_assert_str_eq(usual("0.0.0.0"), "0.0.0.0");
        cr_assert_str_eq(usual("192.0.2.60"), "192.0.2.60");
        cr_assert_str_eq(usual("255.255.255.255"), "255.255.255.255");
}

Test(network, what_is_nearly_an_ipv4_address_is_none)
{
        static const char *const bad[] = {
                "",
                " ",
                "1",
                "1.2.3",
                "1.2.3.4.5",
                "1.2.3.",
                ".1.2.3",
                "1..2.3",
                "1.2.3.256",
                "1.2.3.999",
                "01.2.3.4",
                "1.2.3.04",
                "1.2.3.4 ",
                " 1.2.3.4",
                "1.2.3.4:80",
                "+1.2.3.4",
                "1.2.3.-4",
                "0x1.2.3.4",
                "1.2.3.4000",
                "4294967297.2",
                "a.b.c.d",
                "unix",
                "1.2.3.4294967299",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_null(usual(bad[i]), "\"%s\"", bad[i]);
}

Test(network, an_ipv6_address_has_one_usual_form) /* RFC 5952 1 and 4 */
{
        cr_assert_str_eq(usual("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
        cr_assert_str_eq(usual("2001:0db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
        cr_assert_str_eq(usual("2001:DB8:0:0:1::1"), "2001:db8::1:0:0:1");
        cr_assert_str_eq(usual("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
        cr_assert_str_eq(usual("2001:db8:0:0:0:0:2:1"), "2001:db8::2:1");
        cr_assert_str_eq(usual("::"), "::");
        cr_assert_str_eq(usual("::1"), "::1");
        cr_assert_str_eq(usual("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
                         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

Test(network, what_is_nearly_an_ipv6_address_is_none)
{
        static const char *const bad[] = {
                ":",
                ":::",
                "1::2::3",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "12345::",
                "g::",
                "[::1]",
                "::1%lo",
                "::1 ",
                " ::1",
                "::1.2.3",
                "::1.2.3.4.5",
                "::1/8",
                "1:2:3:4:5:6:7:8:",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        };
        struct weir__address address;

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_null(usual(bad[i]), "\"%s\"", bad[i]);
        cr_assert_not(weir__address_parse((struct weir_str){ "::1\0x", 5 }, &address));
        cr_assert_not(weir__address_parse((struct weir_str){ 0 }, &address));
}

Test(network, an_ipv4_address_that_ipv6_maps_is_that_address) /* RFC 4291 2.5.5.2 */
{
        cr_assert_str_eq(usual("::ffff:192.0.2.60"), "192.0.2.60");
        cr_assert_str_eq(usual("::FFFF:c000:023c"), "192.0.2.60");
        cr_assert_str_eq(usual("0:0:0:0:0:ffff:c000:23c"), "192.0.2.60");
}

Test(network, unix_is_the_name_of_a_peer_and_no_address)
{
        struct weir__address address;

        cr_assert(weir__peer_parse(str("unix"), &address));
        cr_assert_eq(address.family, AF_UNIX);
        cr_assert_not(weir__address_parse(str("unix"), &address));
        cr_assert_not(weir__peer_parse(str("unix:"), &address));
        cr_assert(weir__peer_parse(str("192.0.2.60"), &address));
        cr_assert_eq(address.family, AF_INET);
}

Test(network, an_address_of_a_socket_is_the_one_of_its_text)
{
        struct sockaddr_storage from = { 0 };
        struct sockaddr_in in = { .sin_family = AF_INET };
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
        struct weir__address got, wanted;

        inet_pton(AF_INET, "192.0.2.60", &in.sin_addr);
        memcpy(&from, &in, sizeof(in));
        got = weir__address_of(&from);
        cr_assert(weir__address_parse(str("192.0.2.60"), &wanted));
        cr_assert(got.family == wanted.family && got.hi == wanted.hi && got.lo == wanted.lo);

        inet_pton(AF_INET6, "2001:db8::17", &in6.sin6_addr);
        memcpy(&from, &in6, sizeof(in6));
        got = weir__address_of(&from);
        cr_assert(weir__address_parse(str("2001:db8::17"), &wanted));
        cr_assert(got.family == wanted.family && got.hi == wanted.hi && got.lo == wanted.lo);

        from.ss_family = AF_UNIX;
        cr_assert_eq(weir__address_of(&from).family, AF_UNIX);
}

/* ---- Networks. ---- */

static bool have(const char *networks, const char *peer)
{
        char why[256];
        struct weir__networks *set = weir__networks_new(networks, why, sizeof(why));
        struct weir__address address;
        bool found;

        cr_assert_not_null(set, "%s", why);
        cr_assert(weir__peer_parse(str(peer), &address), "%s", peer);
        found = weir__networks_have(set, &address);
        free(set);
        return found;
}

Test(network, has_the_addresses_that_begin_with_its_bits)
{
        cr_assert(have("10.0.0.0/8", "10.0.0.0"));
        cr_assert(have("10.0.0.0/8", "10.255.255.255"));
        cr_assert_not(have("10.0.0.0/8", "9.255.255.255"));
        cr_assert_not(have("10.0.0.0/8", "11.0.0.0"));
        cr_assert(have("192.0.2.128/25", "192.0.2.128"));
        cr_assert_not(have("192.0.2.128/25", "192.0.2.127"));
        cr_assert(have("2001:db8::/32", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"));
        cr_assert_not(have("2001:db8::/32", "2001:db9::"));
        cr_assert(have("2001:db8:0:0:8000::/65", "2001:db8::8000:0:0:1"));
        cr_assert_not(have("2001:db8:0:0:8000::/65", "2001:db8::7fff:0:0:1"));
        cr_assert(have("2001:db8::/64", "2001:db8::ffff:0:0:1"));
        cr_assert_not(have("2001:db8::/64", "2001:db8:0:1::1"));
}

Test(network, without_a_length_has_one_address)
{
        cr_assert(have("192.0.2.7", "192.0.2.7"));
        cr_assert_not(have("192.0.2.7", "192.0.2.6"));
        cr_assert_not(have("192.0.2.7", "192.0.2.8"));
        cr_assert(have("::1", "::1"));
        cr_assert_not(have("::1", "::"));
        cr_assert_not(have("::1", "::2"));
}

Test(network, of_one_family_has_nothing_of_another)
{
        cr_assert(have("0.0.0.0/0", "255.255.255.255"));
        cr_assert_not(have("0.0.0.0/0", "::1"));
        cr_assert(have("::/0", "::1"));
        cr_assert_not(have("::/0", "127.0.0.1"));
        cr_assert_not(have("0.0.0.0/0, ::/0", "unix"));
        cr_assert(have("unix", "unix"));
        cr_assert_not(have("unix", "0.0.0.0"));
        cr_assert_not(have("unix", "::"));
}

Test(network, in_mapped_form_is_an_ipv4_network)
{
        cr_assert(have("::ffff:10.0.0.0/104", "10.1.2.3"));
        cr_assert_not(have("::ffff:10.0.0.0/104", "11.1.2.3"));
        cr_assert(have("10.0.0.0/8", "::ffff:10.1.2.3"));
        cr_assert(have("::ffff:0:0/96", "203.0.113.43"));
}

Test(network, stands_between_others_in_any_order)
{
        static const char set[] =
                "unix,\t203.0.113.0/24 ,2001:db8::/32,10.0.0.0/8, 10.1.0.0/16,10.0.0.0/16,"
                                  "::1/128,192.0.2.7,10.0.0.0/8,203.0.113.43";
        static const char *const in[] = { "unix",           "203.0.113.0",  "203.0.113.255",
                                          "2001:db8::1",    "10.0.0.0",     "::1",
                                          "10.255.255.255", "10.1.255.255", "192.0.2.7",
                                          "10.2.0.0" };
        static const char *const out[] = { "203.0.112.255", "203.0.114.0", "9.255.255.255",
                                           "11.0.0.0",      "::",          "::2",
                                           "192.0.2.6",     "192.0.2.8",   "0.0.0.0",
                                           "2001:db7::" };

        for (size_t i = 0; i < 10; i++) {
                cr_assert(have(set, in[i]), "%s", in[i]);
                cr_assert_not(have(set, out[i]), "%s", out[i]);
        }
}

/* Every address near the edges of random networks, against one mask after the other. */
Test(network, lookup_agrees_with_a_look_at_each)
{
        unsigned seed = 1;

        for (int round = 0; round < 300; round++) {
                unsigned n = 1 + (unsigned)rand_r(&seed) % 12, first[12], bits[12];
                char text[512] = "", why[256];
                struct weir__networks *set;

                for (unsigned i = 0; i < n; i++) {
                        bits[i] = 20 + (unsigned)rand_r(&seed) % 13;
                        first[i] = 0x0a000000 |
                                   ((unsigned)rand_r(&seed) % 8192 & ~((1u << (32 - bits[i])) - 1));
                        sprintf(text + strlen(text), "%s%u.%u.%u.%u/%u", i ? "," : "",
                                first[i] >> 24, first[i] >> 16 & 255, first[i] >> 8 & 255,
                                first[i] & 255, bits[i]);
                }
                set = weir__networks_new(text, why, sizeof(why));
                cr_assert_not_null(set, "%s", why);
                for (unsigned value = 0x0a000000; value < 0x0a000000 + 10000;
                     value += 1 + (unsigned)rand_r(&seed) % 7) {
                        struct weir__address address = { .family = AF_INET,
                                                         .hi = (uint64_t)value << 32 };
                        bool wanted = false;

                        for (unsigned i = 0; i < n; i++)
                                wanted |= (value ^ first[i]) >> (32 - bits[i]) == 0;
                        cr_assert_eq(weir__networks_have(set, &address), wanted, "%08x in %s",
                                     value, text);
                }
                free(set);
        }
}

Test(network, that_is_none_is_named)
{
        static const char *const bad[][2] = {
                { "", "\"\" is not" },
                { "10.0.0.0/8,", "\"\" is not" },
                { "10.0.0.0/8,,::1", "\"\" is not" },
                { "::1, 10.0.0.0/33", "\"10.0.0.0/33\" is not" },
                { "10.0.0.0/", "\"10.0.0.0/\" is not" },
                { "10.0.0.0/-1", "\"10.0.0.0/-1\" is not" },
                { "10.0.0.0/08", "\"10.0.0.0/08\" is not" },
                { "10.0.0.0/8 ::1", "\"10.0.0.0/8 ::1\" is not" },
                { "10.0.0/8", "\"10.0.0/8\" is not" },
                { "10/8", "\"10/8\" is not" },
                { "/8", "\"/8\" is not" },
                { "::1/129", "\"::1/129\" is not" },
                { "unix/0", "\"unix/0\" is not" },
                { "localhost", "\"localhost\" is not" },
                { "10.0.0.1/8", "\"10.0.0.1/8\" has bits" },
                { "2001:db8::1/64", "\"2001:db8::1/64\" has bits" },
                { "::ffff:10.0.0.0/95", "\"::ffff:10.0.0.0/95\" has bits" },
        };
        char why[256];

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                cr_assert_null(weir__networks_new(bad[i][0], why, sizeof(why)), "%s", bad[i][0]);
                cr_assert(strstr(why, bad[i][1]), "%s: %s", bad[i][0], why);
        }
}
