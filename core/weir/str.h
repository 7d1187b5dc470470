/* str.h - strings as a pointer and a length, and the attributes of the other headers. */
#ifndef WEIR_STR_H
#define WEIR_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WEIR_API          __attribute__((visibility("default")))
#define WEIR_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define WEIR_MUST_USE     __attribute__((warn_unused_result))

#ifdef __cplusplus
extern "C" {
#endif

/* A view: never owned, never NUL-terminated. Absent is { NULL, 0 }; empty has a pointer. */
struct weir_str {
        const char *ptr;
        size_t      len;
};

#ifdef __cplusplus
#define WEIR_STR(lit) (weir_str{ "" lit, sizeof(lit) - 1 })
#else
#define WEIR_STR(lit) ((struct weir_str){ "" lit, sizeof(lit) - 1 })
#endif

/* The two arguments of "%.*s". */
#define WEIR_FMT(s) (int)(s).len, (s).ptr ? (s).ptr : ""

/* Are `a` and `b` the same bytes? Absent and empty are equal. */
static inline bool weir_str_eq(struct weir_str a, struct weir_str b)
{
        return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Is `a` the text of the C string `b`? */
static inline bool weir_str_is(struct weir_str a, const char *b)
{
        size_t len = strlen(b);

        return a.len == len && (len == 0 || memcmp(a.ptr, b, len) == 0);
}

#ifdef __cplusplus
}
#endif

#endif
