/*
 * decimal.c - doubles as decimal text.
 *
 * A double is m / 2^s. For amounts in [0.0001, 2^53) the number of n digits nearest to it is
 * round(m * 10^k / 2^s) for the right k; m has 53 bits, 10^k at most 70 and s is at most 66, so
 * 128 bits hold all of it and the result is exact. The rest is rare and goes through snprintf(),
 * whose decimal point, the locale's, is passed over.
 */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 u128;

#define MANTISSA_BITS 52

/* The amount m / 2^s, at least 10^point and below 10^(point + 1) once rounded. */
struct binary {
        uint64_t m;
        unsigned s;
        int      point;
};

static u128 pow10(unsigned k)
{
        static const uint64_t low[] = {
                1,       10,       100,       1000,       10000,       100000,
                1000000, 10000000, 100000000, 1000000000, 10000000000,
        };

        return k <= 10   ? low[k]
               : k <= 20 ? (u128)low[10] * low[k - 10]
                                          : (u128)low[10] * low[10] * low[k - 20];
}

/* m * 10^k / 2^s, halves to even as printf() rounds them. */
static uint64_t scale(const struct binary *bin, unsigned k)
{
        u128 product = bin->m * pow10(k);
        u128 rest = product & (((u128)1 << bin->s) - 1);
        u128 half = (u128)1 << bin->s >> 1;
        uint64_t digits = (uint64_t)(product >> bin->s);

        return digits + (rest > half || (rest == half && bin->s && digits & 1));
}

/* Takes `amount` apart; its 17 digits, or 0 when it is not in range. */
static uint64_t split(double amount, struct binary *bin)
{
        uint64_t bits, digits;
        int log2;

        if (!(amount >= 1e-4 && amount < 9007199254740992.0))
                return 0;
        memcpy(&bits, &amount, sizeof(bits));
        log2 = (int)(bits >> MANTISSA_BITS) - 1023;
        bin->m = (bits & (((uint64_t)1 << MANTISSA_BITS) - 1)) | (uint64_t)1 << MANTISSA_BITS;
        bin->s = (unsigned)(MANTISSA_BITS - log2);
        bin->point = log2 >= 0 ? log2 * 1233 / 4096 : -((-log2 * 1233 + 4095) / 4096);
        digits = scale(bin, (unsigned)(16 - bin->point));
        if (digits < 100000000000000000)
                return digits;
        bin->point++;
        return scale(bin, (unsigned)(16 - bin->point));
}

/* Is this double the nearest one to digits / 10^k? Between doubles lies 1 / 2^s; below a power of
 * two it is half of that. */
static bool reads_back(const struct binary *bin, uint64_t digits, unsigned k)
{
        u128 want = 2 * bin->m * pow10(k), got = (u128)digits << (bin->s + 1);
        u128 apart = got > want ? got - want : want - got;

        if (got < want && bin->m == (uint64_t)1 << MANTISSA_BITS)
                apart *= 2;
        return apart < pow10(k) || (apart == pow10(k) && bin->m % 2 == 0);
}

/* The digits that weir__put_double() promises, of 17 known ones. */
static uint64_t fewest(const struct binary *bin, uint64_t digits)
{
        for (int n = 15; n <= 16; n++) {
                int k = n - 1 - bin->point;
                uint64_t fewer = k >= 0 ? scale(bin, (unsigned)k) : 0;

                if (fewer && reads_back(bin, fewer, (unsigned)k))
                        return fewer;
        }
        return digits;
}

static uint64_t strip_zeros(uint64_t digits)
{
        while (digits % 10000 == 0)
                digits /= 10000;
        while (digits % 10 == 0)
                digits /= 10;
        return digits;
}

static char *put_exponent(char *out, const char *text, size_t n, int point)
{
        *out++ = text[0];
        if (n > 1) {
                *out++ = '.';
                memcpy(out, text + 1, n - 1);
                out += n - 1;
        }
        *out++ = 'e';
        return weir__put_int(out, point);
}

/* digits, without zeros at the end, as d.ddd * 10^point; with an exponent from 10^large on. */
static char *layout(char *out, uint64_t digits, int point, int large)
{
        char text[WEIR__INT_TEXT];
        size_t n = (size_t)(weir__put_uint(text, digits) - text);
        size_t whole = point < 0 ? 0 : (size_t)point + 1;

        if (point < -4 || point >= large)
                return put_exponent(out, text, n, point);
        if (point < 0) {
                memcpy(out, "0.000", 5);
                memcpy(out + 1 - point, text, n);
                return out + 1 - point + n;
        }
        if (n <= whole) {
                memcpy(out, text, n);
                memset(out + n, '0', whole - n);
                memcpy(out + whole, ".0", 2);
                return out + whole + 2;
        }
        memcpy(out, text, whole);
        out[whole] = '.';
        memcpy(out + whole + 1, text + whole, n - whole);
        return out + n + 1;
}

static char *put_zero(char *out)
{
        memcpy(out, "0.0", 3);
        return out + 3;
}

/* n digits of any amount. "%.*e" prints one, a point of any form, the others, 'e' and *point. */
static uint64_t digits_by_printf(double amount, int n, int *point)
{
        char text[64], digits[32];
        int len = snprintf(text, sizeof(text), "%.*e", n - 1, amount);
        const char *e = memchr(text, 'e', (size_t)len);

        digits[0] = text[0];
        memcpy(digits + 1, e - (n - 1), (size_t)n - 1);
        digits[n] = 0;
        *point = (int)strtol(e + 1, NULL, 10);
        return strip_zeros(strtoull(digits, NULL, 10));
}

char *weir__put_double17(char *out, double value, unsigned *n_digits)
{
        struct binary bin;
        uint64_t digits;

        *out = '-';
        out += signbit(value) != 0;
        *n_digits = 1;
        if (value == 0)
                return put_zero(out);
        digits = split(fabs(value), &bin);
        if (digits) {
                digits = strip_zeros(digits);
                *n_digits = weir__count_digits(digits);
        } else {
                digits = digits_by_printf(fabs(value), 17, &bin.point);
                *n_digits = 17;
        }
        return layout(out, digits, bin.point, 17);
}

static char *put_by_printf(char *out, double amount)
{
        for (int n = 15;; n++) {
                double back = 0;
                int point;
                uint64_t digits = digits_by_printf(amount, n, &point);
                char *end = layout(out, digits, point, 16);

                weir__parse_double((struct weir_str){ out, (size_t)(end - out) }, &back);
                if (n == 17 || back == amount)
                        return end;
        }
}

/* Most doubles of daily life have up to four decimals: 19.99. Then n < 10^15, n / 10^4 is rounded
 * once, and equal: this text reads back, and no other text of up to 15 digits does. */
static char *put_short(char *out, double amount)
{
        int64_t n = (int64_t)(amount * 10000 + 0.5);
        unsigned decimals = (unsigned)(n % 10000);

        if ((double)n / 10000 != amount)
                return NULL;
        out = weir__put_uint(out, (uint64_t)n / 10000);
        *out++ = '.';
        out = weir__put_pair(out, decimals / 100);
        if (decimals % 100)
                out = weir__put_pair(out, decimals % 100);
        return out - (out[-1] == '0' && out[-2] != '.');
}

static __attribute__((noinline)) char *put_long(char *out, double amount)
{
        struct binary bin;
        uint64_t digits = split(amount, &bin);

        if (!digits)
                return put_by_printf(out, amount);
        return layout(out, strip_zeros(fewest(&bin, digits)), bin.point, 16);
}

char *weir__put_double(char *out, double value)
{
        double amount = fabs(value);
        char *end;

        *out = '-';
        out += signbit(value) != 0;
        end = amount < 1e11 ? put_short(out, amount) : NULL;
        return end ? end : put_long(out, amount);
}
