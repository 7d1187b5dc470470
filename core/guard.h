/*
 * guard.h - what a request must be before weir looks at it (RFC 9112, stricter than MHD).
 *
 *      weir__guard_field()     for each field that is taken into the index
 *      weir__guard_head()      when the head is complete
 */
#ifndef WEIR_CORE_GUARD_H
#define WEIR_CORE_GUARD_H

#include "bytes.h"
#include "cell.h"
#include "hint.h"

/*
 * By length, with which letters the names start that say what the message is: bit 1 is 'a' or 'A'.
 * A name that is longer than the table, or starts with another byte, may look like one.
 */
extern const uint32_t weir__known_starts[32];

static WEIR__INLINE bool weir__may_be_known(const char *name, uint32_t len)
{
        return weir__known_starts[len & 31] >> (name[0] & 31) & 1;
}

/* Judges a field, cuts blanks off its end, and takes note of what it says of the message. */
WEIR__APART void weir__guard_look(struct weir__cell *cell, struct weir__header *field, bool usual);

/* The same for a field that is in the index; nearly all say nothing and are done at a glance. */
static WEIR__INLINE void weir__guard_field(struct weir__cell *cell, struct weir__header *field)
{
        bool usual = weir__is_usual_field(field->name, field->name_len, field->value,
                                          field->value_len);

        if (!usual || weir__may_be_known(field->name, field->name_len))
                weir__guard_look(cell, field, usual);
}

/*
 * The head is complete: ctx.method_name, weir__cell_target(), and its fields. `version` is as sent,
 * "HTTP/1.1". Sets ctx.method, host and path, and what the cell knows of the framing.
 */
enum weir_guard weir__guard_head(struct weir__cell *cell, struct weir_str version);

#endif
