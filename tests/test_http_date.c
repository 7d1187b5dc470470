/* test_http_date.c - dates of header fields, in and out; the C library is the judge. */
#include "http_date.h"
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOW 1700000000 /* 2023-11-14 */

static bool reads(const char *text, int64_t *s)
{
        return weir__http_date_read((struct weir_str){ text, strlen(text) }, NOW, s);
}

static void expect_read(const char *text, int64_t s)
{
        int64_t got = -1;

        cr_assert(reads(text, &got), "%s", text);
        cr_assert_eq(got, s, "%s: %lld", text, (long long)got);
}

static void compare(int64_t s)
{
        char ours[WEIR__HTTP_DATE], theirs[64], other[64];
        time_t t = (time_t)s;
        struct tm tm;
        size_t len;

        gmtime_r(&t, &tm);
        strftime(theirs, sizeof(theirs), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        weir__http_date(ours, s);
        cr_assert_str_eq(ours, theirs);
        expect_read(ours, s);
        strftime(other, sizeof(other), "%a %b %e %H:%M:%S %Y", &tm);
        expect_read(other, s);
        if (tm.tm_year < 75 || tm.tm_year > 170)
                return;
        len = strftime(other, sizeof(other), "%A, %d-%b-", &tm);
        snprintf(other + len, sizeof(other) - len, "%02d %02d:%02d:%02d GMT", tm.tm_year % 100,
                 tm.tm_hour, tm.tm_min, tm.tm_sec);
        expect_read(other, s);
}

Test(http_date, dates_are_those_of_the_c_library)
{
        srand(1);
        for (int64_t day = -25000; day < 60000; day++)
                compare(day * 86400 + rand() % 86400);
        compare(-30610224000);  /* 1000-01-01 */
        compare(253402300799); /* 9999-12-31 23:59:59 */
}

Test(http_date, what_is_out_of_bounds_is_the_nearest_date)
{
        char text[WEIR__HTTP_DATE];

        weir__http_date(text, INT64_MAX);
        cr_assert_str_eq(text, "Fri, 31 Dec 9999 23:59:59 GMT");
        weir__http_date(text, INT64_MIN);
        cr_assert_str_eq(text, "Mon, 01 Jan 0001 00:00:00 GMT");
}

Test(http_date, the_examples_of_the_rfc_are_one_moment)
{
        expect_read("Sun, 06 Nov 1994 08:49:37 GMT", 784111777);
        expect_read("Sunday, 06-Nov-94 08:49:37 GMT", 784111777);
        expect_read("Sun Nov  6 08:49:37 1994", 784111777);
}

/* RFC 9110 5.6.7: more than 50 years ahead is the past. */
Test(http_date, a_year_of_two_digits_is_at_most_50_years_ahead)
{
        expect_read("Sunday, 01-Jan-73 00:00:00 GMT", 3250454400); /* 2073 */
        expect_read("Tuesday, 01-Jan-74 00:00:00 GMT", 126230400); /* 1974 */
        expect_read("Saturday, 01-Jan-00 00:00:00 GMT", 946684800);
}

Test(http_date, what_is_no_date_is_refused)
{
        static const char *const texts[] = {
                "",
                "0",
                "now",
                "Sun, 06 Nov 1994 08:49:37",
                "Sun, 06 Nov 1994 08:49:37 GMT ",
                " Sun, 06 Nov 1994 08:49:37 GMT",
                "Sun, 6 Nov 1994 08:49:37 GMT",
                "Sun, 06 Nov 1994 24:49:37 GMT",
                "Sun, 06 Nov 1994 08:60:37 GMT",
                "Sun, 06 Nov 1994 08:49:61 GMT",
                "Sun, 00 Nov 1994 08:49:37 GMT",
                "Sun, 31 Nov 1994 08:49:37 GMT",
                "Sun, 29 Feb 1900 08:49:37 GMT",
                "Sun, 30 Feb 2000 08:49:37 GMT",
                "sun, 06 nov 1994 08:49:37 gmt",
                "Sun, 06 Nov 1994 08:49:37 +0000",
                "Sun, 06 Nov 94 08:49:37 GMT",
                "Sun, 06-Nov-94 08:49:37 GMT",
                "Sunday, 06 Nov 1994 08:49:37 GMT",
                "Sun Nov 06 08:49:37 94",
                "Sun Nov 6 08:49:37 1994",
                "Xyz, 06 Nov 1994 08:49:37 GMT",
                "Sun, 06 Xyz 1994 08:49:37 GMT",
                "Sun, -6 Nov 1994 08:49:37 GMT",
        };
        int64_t s;

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                cr_assert(!reads(texts[i], &s), "%s", texts[i]);
        expect_read("Tue, 29 Feb 2000 08:49:37 GMT", 951814177);
        expect_read("Sun, 31 Dec 2000 23:59:60 GMT", 978307200); /* a leap second */
}
