/* range.h - which bytes of a file a client asks for: Range (RFC 9110 14). */
#ifndef WEIR_MIDDLEWARE_RANGE_H
#define WEIR_MIDDLEWARE_RANGE_H

#include <weir/str.h>

#define WEIR__MAX_RANGES 64

struct weir__range {
        uint64_t first, length; /* length is never 0 */
};

struct weir__ranges {
        unsigned           n;
        struct weir__range at[WEIR__MAX_RANGES]; /* as asked for: in any order, without overlap */
};

enum weir__range_status {
        WEIR__RANGE_IGNORED, /* send the whole: not well-formed, of another unit, or too much */
        WEIR__RANGE_SOME,    /* 206                                                           */
        WEIR__RANGE_NONE,    /* 416: none of them is in the file                              */
};

/*
 * Reads a Range field for a file of `size` bytes. More than `max` ranges (up to WEIR__MAX_RANGES),
 * or any two that overlap, are ignored: what RFC 9110 14.2 advises, since a client that means well
 * has no use for them.
 */
enum weir__range_status weir__ranges_read(struct weir_str field, uint64_t size, unsigned max,
                                          struct weir__ranges *ranges);

#endif
