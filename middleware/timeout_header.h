/* timeout_header.h - how long a caller waits, as header fields say it. */
#ifndef WEIR_MIDDLEWARE_TIMEOUT_HEADER_H
#define WEIR_MIDDLEWARE_TIMEOUT_HEADER_H

#include <weir/timeout.h>

/* The name of a field, or NULL. */
const char *weir__timeout_header_name(enum weir_timeout_header header);

/* Its value in nanoseconds; what is longer than `max_ns` is that. False: it is none. */
bool weir__timeout_header_read(enum weir_timeout_header header, struct weir_str text,
                               uint64_t max_ns, uint64_t *ns);

#endif
