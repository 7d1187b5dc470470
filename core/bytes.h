/* bytes.h - classes of bytes in HTTP, checked many at a time where the machine can. */
#ifndef WEIR_CORE_BYTES_H
#define WEIR_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
        WEIR__TCHAR = 1,   /* RFC 9110 5.6.2                         */
        WEIR__VISIBLE = 2, /* 0x21 to 0x7e without '#': a target     */
        WEIR__VALUE = 4,   /* RFC 9110 5.5: no control byte but tab  */
        WEIR__REGNAME = 8, /* RFC 3986 3.2.2: a host name            */
};

extern const uint8_t weir__byte_class[256];

/* Are all `len` bytes of the class? These read nothing else. */
bool weir__all_class(const char *text, size_t len, unsigned class);
bool weir__all_visible(const char *text, size_t len);
bool weir__all_value(const char *text, size_t len);

/* A token: at least one byte, all of them tchar. */
bool weir__is_token(const char *text, size_t len);

/*
 * Is this field what nearly all are: a name of letters and '-', a value that is printable ASCII,
 * and no blank behind it? True is certain, but for a name without bytes; false is to be looked at
 * again. WEIR__PEEK bytes behind each start and one before the value can be read, whatever the
 * lengths: a transport promises that for the fields of a head.
 */
#define WEIR__PEEK 16

#ifdef __SSE2__
#include <emmintrin.h>

static inline __m128i weir__load16(const char *text)
{
        return _mm_loadu_si128((const __m128i *)text);
}

/* How many bytes at the front are among those found. */
static inline unsigned weir__front(__m128i found)
{
        return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(found));
}

/* Letters and '-'. Upper case folds to lower; then all but letters are moved out of the way. */
static inline __m128i weir__letters(__m128i v)
{
        __m128i from_a = _mm_sub_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)),
                                      _mm_set1_epi8((char)('a' + 128)));
        __m128i letter = _mm_cmpgt_epi8(_mm_set1_epi8(26 - 128), from_a);

        return _mm_or_si128(letter, _mm_cmpeq_epi8(v, _mm_set1_epi8('-')));
}

/* 0x20 to 0x7e: one more makes 0x7f negative, like all from 0x80 on. */
static inline __m128i weir__printable(__m128i v)
{
        return _mm_cmpgt_epi8(_mm_add_epi8(v, _mm_set1_epi8(1)), _mm_set1_epi8(0x20));
}

/* The same of a text of more than 16 bytes, all of it. */
static inline bool weir__all_printable(const char *text, size_t len)
{
        __m128i found = weir__printable(weir__load16(text + len - 16));

        for (size_t i = 0; i + 16 < len; i += 16)
                found = _mm_and_si128(found, weir__printable(weir__load16(text + i)));
        return _mm_movemask_epi8(found) == 0xffff;
}

static inline bool weir__is_usual_field(const char *name, uint32_t name_len, const char *value,
                                        uint32_t value_len)
{
        if (weir__front(weir__letters(weir__load16(name))) < name_len)
                return false;
        if (weir__front(weir__printable(weir__load16(value))) < value_len &&
            (value_len <= 16 || !weir__all_printable(value, value_len)))
                return false;
        return (value - 1)[value_len] != ' ';
}

/* Are `len` bytes the same? Reads on, as weir__is_usual_field() does. */
static inline bool weir__peek_same(const char *a, const char *b, size_t len)
{
        if (len > 16)
                return memcmp(a, b, len) == 0;
        return weir__front(_mm_cmpeq_epi8(weir__load16(a), weir__load16(b))) >= len;
}

#else

static inline bool weir__is_usual_field(const char *name, uint32_t name_len, const char *value,
                                        uint32_t value_len)
{
        (void)name, (void)name_len, (void)value, (void)value_len;
        return false;
}

static inline bool weir__peek_same(const char *a, const char *b, size_t len)
{
        return memcmp(a, b, len) == 0;
}

#endif

static inline char weir__lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Is `text`, in any case, the lower-case `lower` of the same length `len`? */
static inline bool weir__same_token(const char *text, const char *lower, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (weir__lower(text[i]) != lower[i])
                        return false;
        }
        return true;
}

#endif
