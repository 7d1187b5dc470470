/* number.h - numbers as decimal text and back. Never by a locale. */
#ifndef WEIR_CORE_NUMBER_H
#define WEIR_CORE_NUMBER_H

#include <weir/str.h>

/* ---- Writing: numbers without a NUL behind them. ---- */

#define WEIR__INT_TEXT    20 /* bytes that an integer takes at most */
#define WEIR__DOUBLE_TEXT 26 /* bytes that a double takes at most   */

unsigned weir__count_digits(uint64_t value);

/* Each writes to `out` and returns the end of its text. */
char *weir__put_uint(char *out, uint64_t value);

extern const char weir__pairs[]; /* "00" to "99" */

/* Two digits: value < 100. */
static inline char *weir__put_pair(char *out, unsigned value)
{
        memcpy(out, weir__pairs + 2 * value, 2);
        return out + 2;
}

/* value < 10000. */
static inline char *weir__put_small(char *out, unsigned value)
{
        if (value >= 1000)
                return weir__put_pair(weir__put_pair(out, value / 100), value % 100);
        if (value >= 100)
                *out++ = (char)('0' + value / 100);
        if (value >= 10)
                return weir__put_pair(out, value % 100);
        *out++ = (char)('0' + value);
        return out;
}

static inline char *weir__put_int(char *out, int64_t value)
{
        *out = '-';
        return value < 0 ? weir__put_uint(out + 1, 0 - (uint64_t)value)
                         : weir__put_uint(out, (uint64_t)value);
}

/*
 * A finite double with as many of 15, 16 or 17 digits as it takes to read the same double again,
 * without zeros at the end. It always has a '.' or an 'e', so that it is read as a real: "5.0",
 * "19.99", "1e22".
 */
char *weir__put_double(char *out, double value);

/*
 * A finite double as "%.17g" prints it, with ".0" behind whole numbers and exponents like "e22",
 * "e-7". *n_digits is how many count; 17 is also said of what is outside [0.0001, 2^53) and not 0.
 */
char *weir__put_double17(char *out, double value, unsigned *n_digits);

/* ---- Reading: whole texts. ---- */

/*
 * '-' or nothing, digits, for doubles maybe a point with digits and an exponent. False leaves
 * *value alone; so does a number that is too large, while one too close to 0 is 0.
 */
bool weir__parse_int(struct weir_str text, int64_t *value);
bool weir__parse_double(struct weir_str text, double *value);

/* "true", "1", "yes", "on", ""; "false", "0", "no", "off". */
bool weir__parse_bool(struct weir_str text, bool *value);

#endif
