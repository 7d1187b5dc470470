/*
 * fields.c - name=value lists of queries and urlencoded forms.
 *
 * Fields are split by '&', empty ones passed over; the first '=' ends the name. A '+' is a blank,
 * "%XX" a byte, "%00" and a '%' without two digits make the field invalid.
 */
#include "fields.h"

#include "text.h"

/* One field as it stands in the raw text. */
struct pair {
        struct weir_str name, value;
};

static bool take(struct weir_str raw, size_t *cursor, struct pair *pair)
{
        while (*cursor < raw.len) {
                const char *from = raw.ptr + *cursor;
                const char *end = memchr(from, '&', raw.len - *cursor), *equals;
                size_t len = end ? (size_t)(end - from) : raw.len - *cursor;

                *cursor += len + (end != NULL);
                if (len == 0)
                        continue;
                equals = memchr(from, '=', len);
                if (!equals)
                        equals = from + len;
                pair->name = (struct weir_str){ from, (size_t)(equals - from) };
                pair->value.ptr = equals + (equals < from + len);
                pair->value.len = (size_t)(from + len - pair->value.ptr);
                return true;
        }
        return false;
}

/* The byte that `at` stands for, and moves on; -1 for a bad escape. */
static int take_byte(const char **at, const char *end)
{
        const char *from = (*at)++;
        int high, low;

        if (*from == '+')
                return ' ';
        if (*from != '%')
                return (unsigned char)*from;
        if (end - from < 3)
                return -1;
        *at += 2;
        high = weir__hex_digit(from[1]);
        low = weir__hex_digit(from[2]);
        return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

static bool is_raw(struct weir_str text)
{
        return !text.len || (!memchr(text.ptr, '%', text.len) && !memchr(text.ptr, '+', text.len));
}

/* Puts the decoded form of *text into the shadow, and in place of *text. */
static bool decode(struct weir__fields *fields, struct weir_str *text)
{
        const char *at = text->ptr, *end = at + text->len;
        char *out, *from;

        if (is_raw(*text))
                return true;
        if (!weir__buf_reserve(fields->pool, &fields->shadow, fields->raw.len))
                return false;
        out = from = fields->shadow.ptr + (text->ptr - fields->raw.ptr);
        while (at < end) {
                int byte = take_byte(&at, end);

                if (byte < 0)
                        return false;
                *out++ = (char)byte;
        }
        *text = (struct weir_str){ from, (size_t)(out - from) };
        return true;
}

enum weir_field weir__fields_next(struct weir__fields *fields, size_t *cursor,
                                  struct weir_str *name, struct weir_str *value)
{
        struct pair pair;

        *name = *value = (struct weir_str){ 0 };
        if (!take(fields->raw, cursor, &pair))
                return WEIR_FIELD_ABSENT;
        if (!decode(fields, &pair.name))
                return WEIR_FIELD_INVALID;
        *name = pair.name;
        if (!decode(fields, &pair.value))
                return WEIR_FIELD_INVALID;
        *value = pair.value;
        return WEIR_FIELD_OK;
}

static bool is_named(struct weir_str raw, const char *name, size_t len)
{
        const char *at = raw.ptr, *end = at + raw.len;

        if (raw.len < len)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (at == end || take_byte(&at, end) != (unsigned char)name[i])
                        return false;
        }
        return at == end;
}

enum weir_field weir__fields_find(struct weir__fields *fields, const char *name,
                                  struct weir_str *value)
{
        size_t cursor = 0, len = strlen(name);
        struct pair pair;

        while (take(fields->raw, &cursor, &pair)) {
                if (!is_named(pair.name, name, len))
                        continue;
                if (!decode(fields, &pair.value))
                        return WEIR_FIELD_INVALID;
                *value = pair.value;
                return WEIR_FIELD_OK;
        }
        return WEIR_FIELD_ABSENT;
}
