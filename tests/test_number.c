/* test_number.c - claims about numbers as text. The C library in the C locale is the oracle. */
#include "number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed;
}

static struct weir_str view(const char *text)
{
        return (struct weir_str){ text, strlen(text) };
}

/* Doubles of all kinds: any bits, prices, fractions, powers of two and ten and their neighbours. */
static double any_double(void)
{
        uint64_t bits = any();
        double value;

        switch (any() % 6) {
        case 0:
                return (double)(int64_t)(bits % 2000000) / 100;
        case 1:
                return (double)(bits >> 11) * 0x1p-53;
        case 2:
                return ldexp((double)(bits >> 11), -(int)(any() % 70));
        case 3:
                return ldexp(1, (int)(bits % 70) - 16);
        case 4:
                return nextafter(pow(10, (int)(bits % 22) - 5), any() % 2 ? 0 : INFINITY);
        default:
                memcpy(&value, &bits, sizeof(value));
                return isfinite(value) ? value : 0;
        }
}

/* "%.17g", with ".0" behind whole numbers, and no '+' and no zeros in the exponent. */
static void print17(char *out, double value)
{
        int len = sprintf(out, "%.17g", value);
        char *e = strchr(out, 'e');

        if (!strpbrk(out, ".e"))
                strcpy(out + len, ".0");
        if (e)
                sprintf(e + 1, "%ld", strtol(e + 1, NULL, 10));
}

Test(number, integers_are_what_printf_prints)
{
        const int64_t edges[] = { 0,    -1,   9,     10,    99,        100,      999,
                                  1000, 9999, 10000, -1000, INT64_MAX, INT64_MIN };
        char text[WEIR__INT_TEXT + 1], wanted[32];

        for (int i = 0; i < 200000; i++) {
                int64_t value = i < 13 ? edges[i] : (int64_t)any() >> any() % 64;

                *weir__put_int(text, value) = 0;
                sprintf(wanted, "%lld", (long long)value);
                cr_assert_str_eq(text, wanted);
        }
        *weir__put_uint(text, UINT64_MAX) = 0;
        cr_assert_str_eq(text, "18446744073709551615");
}

Test(number, doubles_of_17_digits_are_what_printf_prints)
{
        char text[WEIR__DOUBLE_TEXT + 1], wanted[64];

        for (int i = 0; i < 300000; i++) {
                double value = i & 1 ? any_double() : -any_double();
                unsigned digits;
                char *end = weir__put_double17(text, value, &digits);

                cr_assert_leq(end - text, WEIR__DOUBLE_TEXT);
                *end = 0;
                print17(wanted, value);
                cr_assert_str_eq(text, wanted);
        }
}

/* How many digits of a number count; zeros at both ends do not. */
static int count_digits(const char *text)
{
        int n = 0, zeros = 0;

        for (; *text && *text != 'e'; text++) {
                if (*text < '0' || *text > '9' || (*text == '0' && !n))
                        continue;
                zeros = *text == '0' ? zeros + 1 : 0;
                n++;
        }
        return n - zeros;
}

Test(number, doubles_read_back_with_as_few_of_15_to_17_digits_as_it_takes)
{
        char text[WEIR__DOUBLE_TEXT + 1], wanted[64];

        for (int i = 0; i < 300000; i++) {
                double value = i & 1 ? any_double() : -any_double();
                char *end = weir__put_double(text, value);
                int n = 15;

                cr_assert_leq(end - text, WEIR__DOUBLE_TEXT);
                *end = 0;
                cr_assert(strtod(text, NULL) == value, "%s is not %.17g", text, value);
                cr_assert(strpbrk(text, ".e"), "%s reads as an integer", text);
                while (sprintf(wanted, "%.*e", n - 1, value), strtod(wanted, NULL) != value)
                        n++;
                cr_assert_eq(count_digits(text), count_digits(wanted), "%s, %s", text, wanted);
        }
}

/* What Python's repr() gives, but for the exponents: "1e+22", "1e-07". */
Test(number, doubles_look_as_people_write_them)
{
        const struct {
                double      value;
                const char *text;
        } rows[] = {
                { 0, "0.0" },
                { -0.0, "-0.0" },
                { 5, "5.0" },
                { 19.99, "19.99" },
                { 0.1, "0.1" },
                { 0.1 + 0.2, "0.30000000000000004" },
                { 1e15, "1000000000000000.0" },
                { 1e16, "1e16" },
                { 1e22, "1e22" },
                { 1e-4, "0.0001" },
                { 1e-5, "1e-5" },
                { 1.5e300, "1.5e300" },
                { -2.5e-7, "-2.5e-7" },
                { 123456789.125, "123456789.125" },
        };
        char text[WEIR__DOUBLE_TEXT + 1];

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                *weir__put_double(text, rows[i].value) = 0;
                cr_assert_str_eq(text, rows[i].text);
        }
}

Test(number, integers_are_read_in_full_or_not_at_all)
{
        const struct {
                const char *text;
                bool        good;
                int64_t     value;
        } rows[] = {
                { "0", true, 0 },
                { "-0", true, 0 },
                { "007", true, 7 },
                { "-42", true, -42 },
                { "9223372036854775807", true, INT64_MAX },
                { "-9223372036854775808", true, INT64_MIN },
                { "9223372036854775808", false, 0 },
                { "-9223372036854775809", false, 0 },
                { "99999999999999999999999999", false, 0 },
                { "", false, 0 },
                { "-", false, 0 },
                { "+1", false, 0 },
                { " 1", false, 0 },
                { "1 ", false, 0 },
                { "1x", false, 0 },
                { "--1", false, 0 },
                { "0x10", false, 0 },
                { "1.0", false, 0 },
                { "1e3", false, 0 },
                { "\xd9\xa3", false, 0 },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                int64_t value = 99;

                cr_assert_eq(weir__parse_int(view(rows[i].text), &value), rows[i].good, "%s",
                             rows[i].text);
                cr_assert_eq(value, rows[i].good ? rows[i].value : 99);
        }
        cr_assert_not(weir__parse_int((struct weir_str){ 0 }, &(int64_t){ 0 }));
        cr_assert_not(weir__parse_int(WEIR_STR("1\0"), &(int64_t){ 0 }));
}

Test(number, doubles_that_are_none_are_refused)
{
        const char *const rows[] = { "",
                                     "-",
                                     "+1",
                                     ".5",
                                     "5.",
                                     "1e",
                                     "1e+",
                                     "e5",
                                     "1 ",
                                     " 1",
                                     "inf",
                                     "nan",
                                     "0x1",
                                     "1,5",
                                     "1.5.2",
                                     "1e5.0",
                                     "1e309",
                                     "-1e309",
                                     "1e99999999999999999999",
                                     "1_0",
                                     "--1" };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                double value = 7;

                cr_assert_not(weir__parse_double(view(rows[i]), &value), "%s", rows[i]);
                cr_assert_eq(value, 7);
        }
        cr_assert_not(weir__parse_double((struct weir_str){ 0 }, &(double){ 0 }));
}

static void reads_as_strtod(const char *text)
{
        double value, wanted = strtod(text, NULL);
        bool read = weir__parse_double(view(text), &value);

        cr_assert_eq(read, isfinite(wanted), "%s", text);
        cr_assert(!read || (value == wanted && signbit(value) == signbit(wanted)), "%s: %.17g",
                  text, value);
}

Test(number, doubles_are_read_as_strtod_reads_them)
{
        const char *const rows[] = { "0",
                                     "-0",
                                     "00012.5",
                                     "1e5",
                                     "1E+5",
                                     "1e-5",
                                     "-1.25e-2",
                                     "1e-999",
                                     "0e99999999999999999999",
                                     "4.9e-324",
                                     "2.4e-324",
                                     "1.7976931348623157e308",
                                     "9007199254740993",
                                     "0.000000000000000000000000000000000000000001e40",
                                     "1e-99999999999999999999" };
        char text[64];

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                reads_as_strtod(rows[i]);
        for (int i = 0; i < 200000; i++) {
                snprintf(text, sizeof(text), "%.*e", (int)(any() % 20), any_double());
                reads_as_strtod(text);
        }
}

/* Half of 2^-1074 has 752 digits; a hair above it is no longer 0, however far behind it comes. */
Test(number, a_digit_far_behind_decides_a_tie)
{
        char text[2200];
        int len = snprintf(text, sizeof(text), "%.1075f", 0x1p-1074);
        double value;

        /* The exact text of the least double, halved digit by digit. */
        for (int i = 0, rest = 0; i < len; i++) {
                if (text[i] == '.')
                        continue;
                rest = rest * 10 + text[i] - '0';
                text[i] = (char)('0' + rest / 2);
                rest %= 2;
        }
        cr_assert(weir__parse_double((struct weir_str){ text, (size_t)len }, &value));
        cr_assert_eq(value, 0);
        memset(text + len, '0', 1000);
        text[len + 1000] = '1';
        cr_assert(weir__parse_double((struct weir_str){ text, (size_t)len + 1001 }, &value));
        cr_assert_eq(value, 0x1p-1074);
}

Test(number, words_are_booleans)
{
        bool value = false;

        cr_assert(weir__parse_bool(WEIR_STR("yes"), &value) && value);
        cr_assert(weir__parse_bool(WEIR_STR("off"), &value) && !value);
        cr_assert(weir__parse_bool(WEIR_STR(""), &value) && value);
        cr_assert(weir__parse_bool(WEIR_STR("0"), &value) && !value);
        cr_assert(weir__parse_bool(WEIR_STR("true"), &value) && value);
        cr_assert_not(weir__parse_bool(WEIR_STR("TRUE"), &value));
        cr_assert_not(weir__parse_bool(WEIR_STR("2"), &value));
        cr_assert(value, "a refused word leaves the value alone");
}
