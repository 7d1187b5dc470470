/* fields.h - name=value lists of queries and urlencoded forms. */
#ifndef WEIR_CORE_FIELDS_H
#define WEIR_CORE_FIELDS_H

#include "buffer.h"
#include <weir/ctx.h>

/*
 * A list in its raw form and, once an escape was met, its shadow: as long as the raw text, where a
 * name or value is decoded to the very offset of its raw form. So decoding twice changes nothing,
 * views stay good, and the memory is bounded by the request.
 */
struct weir__fields {
        struct weir_str    raw;
        struct weir__buf   shadow;
        struct weir__pool *pool; /* where the shadow comes from */
};

/*
 * Walks the list from *cursor 0: OK, ABSENT at the end, or INVALID, which leaves absent what could
 * not be decoded: a bad escape, "%00", or no memory. The cursor has moved on.
 */
enum weir_field weir__fields_next(struct weir__fields *fields, size_t *cursor,
                                  struct weir_str *name, struct weir_str *value);

/* The first field `name`. A field whose name has a bad escape is passed over. */
enum weir_field weir__fields_find(struct weir__fields *fields, const char *name,
                                  struct weir_str *value);

/*
 * Whole texts as numbers, never by a locale: '-' or nothing, digits, for doubles maybe a point with
 * digits and an exponent. False leaves *value alone; so does a number that is too large, while one
 * too close to 0 is 0.
 */
bool weir__parse_int(struct weir_str text, int64_t *value);
bool weir__parse_double(struct weir_str text, double *value);

/* "true", "1", "yes", "on", ""; "false", "0", "no", "off". */
bool weir__parse_bool(struct weir_str text, bool *value);

/*
 * The first cookie `name` in one Cookie field; false when it is not there. Reads what clients send
 * (RFC 6265 5.4), and more: blanks around names and values do not count, nor quotes around values.
 */
bool weir__cookie_find(struct weir_str field, const char *name, struct weir_str *value);

/* A Set-Cookie value for `cookie` into out[size]; its length, or -1: not valid or too long. */
struct weir_cookie;
ptrdiff_t weir__cookie_format(char *out, size_t size, const struct weir_cookie *cookie);

#endif
