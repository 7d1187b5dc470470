/*
 * range.c - reads a Range field (RFC 9110 14.1.1, 14.1.2).
 *
 * Ignoring a Range is always right, so all doubts end there, those about an empty file too. What is
 * beyond the end of the file is left out; when nothing is left, the answer is 416.
 */
#include "range.h"

#include <strings.h>

static void skip(struct weir_str *s, size_t n)
{
        s->ptr += n;
        s->len -= n;
}

static void skip_blanks(struct weir_str *s)
{
        while (s->len && (*s->ptr == ' ' || *s->ptr == '\t'))
                skip(s, 1);
}

/* Takes digits; a number too large becomes UINT64_MAX, which lies beyond every file. */
static bool take_number(struct weir_str *s, uint64_t *n)
{
        size_t len = s->len;

        *n = 0;
        for (; s->len && *s->ptr >= '0' && *s->ptr <= '9'; skip(s, 1)) {
                uint64_t digit = (uint64_t)(*s->ptr - '0');

                *n = *n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *n * 10 + digit;
        }
        return s->len < len;
}

/* Takes "5-9", "5-" or "-5"; of length 0 when nothing of it is in the file. */
static bool take_range(struct weir_str *s, uint64_t size, struct weir__range *range)
{
        uint64_t first, last;
        bool from = take_number(s, &first), to;

        if (!s->len || *s->ptr != '-')
                return false;
        skip(s, 1);
        to = take_number(s, &last);
        if (from && to && last < first)
                return false;
        if (from) {
                if (!to || last >= size)
                        last = size - 1;
                *range = (struct weir__range){ first, first < size ? last - first + 1 : 0 };
                return true;
        }
        if (last > size)
                last = size;
        *range = (struct weir__range){ size - last, last };
        return to;
}

static bool overlap(const struct weir__ranges *ranges, const struct weir__range *range)
{
        for (unsigned i = 0; i < ranges->n; i++) {
                const struct weir__range *other = &ranges->at[i];

                if (range->first < other->first + other->length &&
                    other->first < range->first + range->length)
                        return true;
        }
        return false;
}

/* Takes a range and the comma behind it, and keeps it. False: the whole field is to be ignored. */
static bool take_one(struct weir_str *s, uint64_t size, struct weir__ranges *ranges)
{
        struct weir__range range;

        if (!take_range(s, size, &range))
                return false;
        skip_blanks(s);
        if (s->len && *s->ptr != ',')
                return false;
        if (range.length && overlap(ranges, &range))
                return false;
        if (range.length)
                ranges->at[ranges->n++] = range;
        return true;
}

enum weir__range_status weir__ranges_read(struct weir_str field, uint64_t size, unsigned max,
                                          struct weir__ranges *ranges)
{
        unsigned asked = 0;

        ranges->n = 0;
        if (max > WEIR__MAX_RANGES)
                max = WEIR__MAX_RANGES;
        if (!size || field.len < 6 || strncasecmp(field.ptr, "bytes=", 6) != 0)
                return WEIR__RANGE_IGNORED;
        skip(&field, 6);
        for (;;) {
                while (field.len && strchr(", \t", *field.ptr) && *field.ptr) /* empty elements */
                        skip(&field, 1);
                if (!field.len)
                        break;
                if (asked++ == max || !take_one(&field, size, ranges))
                        return WEIR__RANGE_IGNORED;
        }
        if (!asked)
                return WEIR__RANGE_IGNORED;
        return ranges->n ? WEIR__RANGE_SOME : WEIR__RANGE_NONE;
}
