/* test_cookie.c - claims about cookies, after RFC 6265 and draft-ietf-httpbis-rfc6265bis. */
#include "cookie.h"

#include <criterion/criterion.h>

/* ---- Reading. ---- */

static const char *find(const char *field, const char *name)
{
        static char out[256];
        struct weir_str value;

        if (!weir__cookie_find((struct weir_str){ field, strlen(field) }, name, &value))
                return NULL;
        memcpy(out, value.ptr, value.len);
        out[value.len] = 0;
        return out;
}

Test(cookie, is_found_among_others)
{
        cr_assert_str_eq(find("SID=31d4d96e407aad42; lang=en-US", "SID"), "31d4d96e407aad42");
        cr_assert_str_eq(find("SID=31d4d96e407aad42; lang=en-US", "lang"), "en-US");
        cr_assert_null(find("SID=31d4d96e407aad42; lang=en-US", "la"));
        cr_assert_null(find("SID=31d4d96e407aad42; lang=en-US", "langs"));
        cr_assert_null(find("", "a"));
}

Test(cookie, names_are_compared_with_their_case)
{
        cr_assert_null(find("a=1", "A"));
}

Test(cookie, that_comes_first_wins)
{
        cr_assert_str_eq(find("a=1; a=2", "a"), "1");
}

Test(cookie, may_stand_in_blanks_or_none)
{
        cr_assert_str_eq(find("a=1;b=2", "b"), "2");
        cr_assert_str_eq(find(" \ta = 1 ;; ; b\t=\t2 ", "a"), "1");
        cr_assert_str_eq(find(" \ta = 1 ;; ; b\t=\t2 ", "b"), "2");
}

Test(cookie, loses_quotes_around_its_value)
{
        cr_assert_str_eq(find("a=\"x y\"; b=\"; c=\"\"; d=x\"y", "a"), "x y");
        cr_assert_str_eq(find("a=\"x y\"; b=\"; c=\"\"; d=x\"y", "b"), "\"");
        cr_assert_str_eq(find("a=\"x y\"; b=\"; c=\"\"; d=x\"y", "c"), "");
        cr_assert_str_eq(find("a=\"x y\"; b=\"; c=\"\"; d=x\"y", "d"), "x\"y");
}

Test(cookie, may_be_empty_or_hold_an_equals_sign)
{
        cr_assert_str_eq(find("a=; b=c=d", "a"), "");
        cr_assert_str_eq(find("a=; b=c=d", "b"), "c=d");
}

Test(cookie, without_an_equals_sign_is_passed_over)
{
        cr_assert_str_eq(find("a; b=1; a=2", "a"), "2");
}

/* ---- Writing. ---- */

static const char *format(struct weir_cookie cookie)
{
        static char out[512];
        ptrdiff_t len = weir__cookie_format(out, sizeof(out) - 1, &cookie);

        if (len < 0)
                return NULL;
        out[len] = 0;
        return out;
}

/* Those of RFC 6265 3.1, in our order of attributes. */
Test(cookie, is_written_as_the_rfc_shows)
{
        cr_assert_str_eq(format((struct weir_cookie){ .name = "SID", .value = "31d4d96e407aad42" }),
                         "SID=31d4d96e407aad42");
        cr_assert_str_eq(format((struct weir_cookie){ .name = "SID",
                                                      .value = "31d4d96e407aad42",
                                                      .domain = "example.com",
                                                      .path = "/" }),
                         "SID=31d4d96e407aad42; Domain=example.com; Path=/");
        cr_assert_str_eq(format((struct weir_cookie){
                                 .name = "lang", .value = "en-US", .expires_s = 1623233894 }),
                         "lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT");
        cr_assert_str_eq(format((struct weir_cookie){ .name = "SID",
                                                      .value = "31d4d96e407aad42",
                                                      .path = "/",
                                                      .secure = true,
                                                      .http_only = true }),
                         "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly");
}

Test(cookie, has_all_attributes)
{
        cr_assert_str_eq(format((struct weir_cookie){ .name = "__Host-a",
                                                      .value = "b",
                                                      .path = "/",
                                                      .max_age_s = 3600,
                                                      .secure = true,
                                                      .http_only = true,
                                                      .partitioned = true,
                                                      .same_site = WEIR_CROSS_SITE }),
                         "__Host-a=b; Path=/; Max-Age=3600; Secure; HttpOnly; SameSite=None; "
                         "Partitioned");
        cr_assert_str_eq(
                format((struct weir_cookie){ .name = "a", .value = "b", .same_site = WEIR_LAX }),
                         "a=b; SameSite=Lax");
        cr_assert_str_eq(
                format((struct weir_cookie){ .name = "a", .value = "b", .same_site = WEIR_STRICT }),
                         "a=b; SameSite=Strict");
}

Test(cookie, without_a_value_is_deleted)
{
        cr_assert_str_eq(format((struct weir_cookie){ .name = "a",
                                                      .value = NULL,
                                                      .path = "/",
                                                      .max_age_s = 60,
                                                      .expires_s = 60 }),
                         "a=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
        cr_assert_str_eq(format((struct weir_cookie){ .name = "a", .value = "" }), "a=");
}

Test(cookie, name_must_be_a_token)
{
        const char *const bad[] = { "", "a b", "a=b", "a;b", "a\"", "a\r\n", "\xc3\xa9", "a,b" };

        cr_assert_null(format((struct weir_cookie){ .name = NULL, .value = "b" }));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_null(format((struct weir_cookie){ .name = bad[i], .value = "b" }), "%s",
                               bad[i]);
        cr_assert_str_eq(
                format((struct weir_cookie){ .name = "!#$%&'*+-.^_`|~09azAZ", .value = "" }),
                         "!#$%&'*+-.^_`|~09azAZ=");
}

/* RFC 6265 4.1.1: cookie-octet. */
Test(cookie, value_has_only_octets_that_it_may)
{
        for (int c = 1; c < 256; c++) {
                char value[] = { (char)c, 0 };
                bool good = c == 0x21 || (c >= 0x23 && c <= 0x2b) || (c >= 0x2d && c <= 0x3a) ||
                            (c >= 0x3c && c <= 0x5b) || (c >= 0x5d && c <= 0x7e);

                cr_assert_eq(format((struct weir_cookie){ .name = "a", .value = value }) != NULL,
                             good, "%#x", c);
        }
        cr_assert_str_eq(format((struct weir_cookie){ .name = "a", .value = "\"b\"" }), "a=\"b\"");
        cr_assert_null(format((struct weir_cookie){ .name = "a", .value = "\"b" }));
        cr_assert_null(format((struct weir_cookie){ .name = "a", .value = "\"b c\"" }));
}

Test(cookie, attributes_cannot_smuggle_another)
{
        const char *const bad[] = { "/;Secure", "/\r\nX: y", "/\n", "/\x7f", "/\xc3\xa9" };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                cr_assert_null(
                        format((struct weir_cookie){ .name = "a", .value = "b", .path = bad[i] }));
                cr_assert_null(format(
                        (struct weir_cookie){ .name = "a", .value = "b", .domain = bad[i] }));
        }
}

Test(cookie, prefixes_keep_their_promise)
{
        cr_assert_null(format((struct weir_cookie){ .name = "__Secure-a", .value = "b" }));
        cr_assert_null(format((struct weir_cookie){ .name = "__secure-a", .value = "b" }));
        cr_assert_not_null(
                format((struct weir_cookie){ .name = "__Secure-a", .value = "b", .secure = true }));
        cr_assert_null(
                format((struct weir_cookie){ .name = "__Host-a", .value = "b", .secure = true }));
        cr_assert_null(
                format((struct weir_cookie){ .name = "__Host-a", .value = "b", .path = "/" }));
        cr_assert_null(format((struct weir_cookie){
                .name = "__Host-a", .value = "b", .path = "/x", .secure = true }));
        cr_assert_null(format((struct weir_cookie){ .name = "__HOST-a",
                                                    .value = "b",
                                                    .domain = "example.com",
                                                    .path = "/",
                                                        .secure = true }));
        cr_assert_not_null(format((struct weir_cookie){
                .name = "__Host-a", .value = "b", .path = "/", .secure = true }));
}

Test(cookie, for_other_sites_or_partitions_needs_secure)
{
        cr_assert_null(format(
                (struct weir_cookie){ .name = "a", .value = "b", .same_site = WEIR_CROSS_SITE }));
        cr_assert_null(
                format((struct weir_cookie){ .name = "a", .value = "b", .partitioned = true }));
}

Test(cookie, ages_and_dates_out_of_range_are_refused)
{
        cr_assert_null(format((struct weir_cookie){ .name = "a", .value = "b", .max_age_s = -1 }));
        cr_assert_null(format((struct weir_cookie){ .name = "a", .value = "b", .expires_s = -1 }));
        cr_assert_null(format(
                (struct weir_cookie){ .name = "a", .value = "b", .expires_s = 253402300800 }));
        cr_assert_str_eq(format((struct weir_cookie){
                                 .name = "a", .value = "b", .expires_s = 253402300799 }),
                         "a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT");
        cr_assert_str_eq(
                format((struct weir_cookie){ .name = "a", .value = "b", .max_age_s = INT64_MAX }),
                         "a=b; Max-Age=9223372036854775807");
}

Test(cookie, that_does_not_fit_is_refused)
{
        struct weir_cookie cookie = {
                .name = "name", .value = "value", .path = "/", .max_age_s = 5
        };
        const char *wanted = "name=value; Path=/; Max-Age=5";
        char out[64];

        for (size_t size = 0; size < strlen(wanted); size++)
                cr_assert_eq(weir__cookie_format(out, size, &cookie), -1);
        cr_assert_eq(weir__cookie_format(out, strlen(wanted), &cookie), (ptrdiff_t)strlen(wanted));
        cr_assert_eq(memcmp(out, wanted, strlen(wanted)), 0);
}
