/* guard.h - what a request must be before weir looks at it (RFC 9112, stricter than MHD). */
#ifndef WEIR_CORE_GUARD_H
#define WEIR_CORE_GUARD_H

#include "cell.h"

/* What the header fields said, gathered field by field. All zero before the first. */
struct weir__guard {
        enum weir_guard refused;         /* the first reason                */
        uint32_t        seen;            /* fields that may stand only once */
        uint32_t        n_hosts;
        bool            not_implemented; /* a transfer coding, CONNECT: 501 */
};

/* One field of the head, in order. Takes it into the cell's index, without trailing blanks. */
void weir__guard_field(struct weir__cell *cell, struct weir__guard *guard, const char *name,
                       size_t name_len, const char *value, size_t value_len);

/* The rest: method, version, target, Host, framing. Sets ctx.method, host and path. */
enum weir_guard weir__guard_head(struct weir__cell *cell, struct weir__guard *guard,
                                 struct weir_str version);

#endif
