/*
 * number.c - integers and doubles as decimal text, and text as numbers.
 *
 * Reading a double: strtod() rounds right but wants the decimal point of the locale. So the point
 * is taken out of the text and put into the exponent: "12.5e3" is read as "125e2".
 */
#include "number.h"

#include <math.h>
#include <stdlib.h>

const char weir__pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

unsigned weir__count_digits(uint64_t value)
{
        static const uint64_t pow10[] = {
                0,
                10,
                100,
                1000,
                10000,
                100000,
                1000000,
                10000000,
                100000000,
                1000000000,
                10000000000,
                100000000000,
                1000000000000,
                10000000000000,
                100000000000000,
                1000000000000000,
                10000000000000000,
                100000000000000000,
                1000000000000000000,
                10000000000000000000u,
        };
        unsigned guess = (64 - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12;

        return guess + (value >= pow10[guess]);
}

char *weir__put_uint(char *out, uint64_t value)
{
        char *end, *at;

        if (value < 10000)
                return weir__put_small(out, (unsigned)value);
        end = at = out + weir__count_digits(value);
        for (; value >= 100; value /= 100) {
                at -= 2;
                weir__put_pair(at, (unsigned)(value % 100));
        }
        if (value >= 10)
                weir__put_pair(out, (unsigned)value);
        else
                *out = (char)('0' + value);
        return end;
}

/* ---- Reading. ---- */

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

bool weir__parse_int(struct weir_str text, int64_t *value)
{
        const char *at = text.ptr, *end;
        bool negative = text.len && *at == '-';
        int64_t sum = 0;

        if (text.len <= negative)
                return false;
        end = at + text.len;
        at += negative;
        for (; at < end; at++) {
                int digit = negative ? '0' - *at : *at - '0';

                if (!is_digit(*at) || __builtin_mul_overflow(sum, 10, &sum) ||
                    __builtin_add_overflow(sum, digit, &sum))
                        return false;
        }
        *value = sum;
        return true;
}

/* Halfway between two doubles takes 767 digits; of those beyond only "was there one?" counts. */
#define MAX_DIGITS 770

struct decimal {
        char    digits[MAX_DIGITS + 32]; /* without point and leading zeros */
        size_t  n;
        bool    more;                    /* beyond MAX_DIGITS, not all 0    */
        int64_t exponent;                /* of ten, for digits as a whole   */
};

static const char *take_digits(struct decimal *dec, const char *at, const char *end, bool fraction)
{
        for (; at < end && is_digit(*at); at++) {
                dec->exponent -= fraction;
                if (*at == '0' && dec->n == 0)
                        continue;
                if (dec->n < MAX_DIGITS) {
                        dec->digits[dec->n++] = *at;
                        continue;
                }
                dec->exponent++;
                dec->more |= *at != '0';
        }
        return at;
}

/* Takes "e+12", "E-3". What is beyond any double stays so. NULL when it is something else. */
static const char *take_exponent(struct decimal *dec, const char *at, const char *end)
{
        bool negative = ++at < end && *at == '-';
        int64_t sum = 0;

        at += at < end && (*at == '-' || *at == '+');
        if (at == end)
                return NULL;
        for (; at < end && is_digit(*at); at++)
                sum = sum < INT64_MAX / 100 ? sum * 10 + (*at - '0') : sum;
        dec->exponent += negative ? -sum : sum;
        return at;
}

static double to_double(struct decimal *dec)
{
        const int64_t far = 1000000; /* with at most MAX_DIGITS digits: 0 or infinity */

        if (dec->n == 0)
                return 0;
        if (dec->more) {
                dec->digits[dec->n++] = '1';
                dec->exponent--;
        }
        if (dec->exponent > far || dec->exponent < -far)
                dec->exponent = dec->exponent < 0 ? -far : far;
        dec->digits[dec->n++] = 'e';
        *weir__put_int(dec->digits + dec->n, dec->exponent) = 0;
        return strtod(dec->digits, NULL);
}

/* Digits, then maybe a point and digits, then maybe an exponent; NULL when it is something else. */
static const char *take_decimal(struct decimal *dec, const char *at, const char *end)
{
        const char *from = at;

        at = take_digits(dec, at, end, false);
        if (at == from)
                return NULL;
        if (at < end && *at == '.') {
                from = ++at;
                at = take_digits(dec, at, end, true);
                if (at == from)
                        return NULL;
        }
        return at < end && (*at == 'e' || *at == 'E') ? take_exponent(dec, at, end) : at;
}

bool weir__parse_double(struct weir_str text, double *value)
{
        bool negative = text.len && *text.ptr == '-';
        struct decimal dec;
        double amount;

        if (text.len <= negative)
                return false;
        dec.n = 0;
        dec.more = false;
        dec.exponent = 0;
        if (take_decimal(&dec, text.ptr + negative, text.ptr + text.len) != text.ptr + text.len)
                return false;
        amount = to_double(&dec);
        if (isinf(amount))
                return false;
        *value = negative ? -amount : amount;
        return true;
}

static bool is_one_of(struct weir_str text, const char *const *words)
{
        while (*words && !weir_str_is(text, *words))
                words++;
        return *words;
}

bool weir__parse_bool(struct weir_str text, bool *value)
{
        static const char *const yes[] = { "true", "1", "yes", "on", "", NULL };
        static const char *const no[] = { "false", "0", "no", "off", NULL };
        bool is_yes = is_one_of(text, yes);

        if (!is_yes && !is_one_of(text, no))
                return false;
        *value = is_yes;
        return true;
}
