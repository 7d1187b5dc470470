/* bytes.h - classes of bytes in HTTP, checked many at a time where the machine can. */
#ifndef WEIR_CORE_BYTES_H
#define WEIR_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        WEIR__TCHAR = 1,   /* RFC 9110 5.6.2                                */
        WEIR__VISIBLE = 2, /* 0x21 to 0x7e without '#': a request target    */
        WEIR__VALUE = 4,   /* RFC 9110 5.5: no control byte but tab         */
        WEIR__REGNAME = 8, /* RFC 3986 3.2.2: a host name                   */
};

extern const uint8_t weir__byte_class[256];

/* Are all `len` bytes of the class? Reads nothing else. */
bool weir__all_visible(const char *text, size_t len);
bool weir__all_value(const char *text, size_t len);
bool weir__all_class(const char *text, size_t len, unsigned class);

/* A token: at least one byte, all of them tchar. */
bool weir__is_token(const char *text, size_t len);

static inline char weir__lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Is `text`, in any case, the lower-case token `lower` of the same length `len`? */
static inline bool weir__same_token(const char *text, const char *lower, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (weir__lower(text[i]) != lower[i])
                        return false;
        }
        return true;
}

#endif
