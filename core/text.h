/* text.h - small readings of text that many parsers need. ASCII only, never by a locale. */
#ifndef WEIR_CORE_TEXT_H
#define WEIR_CORE_TEXT_H

#include "bytes.h"
#include <weir/str.h>

/* Are `len` bytes the same but for their case? */
static inline bool weir__same_name(const char *a, const char *b, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (weir__lower(a[i]) != weir__lower(b[i]))
                        return false;
        }
        return true;
}

/* OWS of RFC 9110 5.6.3. */
static inline bool weir__is_blank(char c)
{
        return c == ' ' || c == '\t';
}

/* Without blanks at its end. */
static inline struct weir_str weir__trim_end(struct weir_str text)
{
        while (text.len && weir__is_blank(text.ptr[text.len - 1]))
                text.len--;
        return text;
}

/* Without blanks around it. */
static inline struct weir_str weir__trim(struct weir_str text)
{
        while (text.len && weir__is_blank(*text.ptr)) {
                text.ptr++;
                text.len--;
        }
        return weir__trim_end(text);
}

/* A field such as Content-Type (RFC 9110 8.3.1) without what stands behind its first ';'. */
static inline struct weir_str weir__without_parameters(struct weir_str field)
{
        const char *semicolon = field.len ? memchr(field.ptr, ';', field.len) : NULL;

        if (semicolon)
                field.len = (size_t)(semicolon - field.ptr);
        return weir__trim_end(field);
}

/* What a hexadecimal digit stands for; -1: it is none. */
static inline int weir__hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
