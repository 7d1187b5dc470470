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

#endif
