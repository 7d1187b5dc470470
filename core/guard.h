/* guard.h - what a request must be before weir looks at it (RFC 9112, stricter than MHD). */
#ifndef WEIR_CORE_GUARD_H
#define WEIR_CORE_GUARD_H

#include "cell.h"

/*
 * The head is complete: ctx.method_name, weir__cell_target(), and its fields in the index.
 * `version` is as sent, "HTTP/1.1". Sets ctx.method, host and path, and what the cell knows of the
 * framing. *not_implemented: the refusal is 501, not 400.
 */
enum weir_guard weir__guard_head(struct weir__cell *cell, struct weir_str version,
                                 bool *not_implemented);

#endif
