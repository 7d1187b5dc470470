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
 * What no field name of note and no field value has, in the first WEIR__PEEK bytes of a text that
 * is `len` long: false is certain, true is to be looked at again. WEIR__PEEK bytes behind the
 * start can be read, however short the text is: a transport promises that for the fields of a
 * head.
 */
#define WEIR__PEEK 16

#ifdef __SSE2__
#include <emmintrin.h>

/* Which bytes are from `first` on, for `count` bytes? */
static inline __m128i weir__in_range(__m128i v, char first, char count)
{
        __m128i moved = _mm_sub_epi8(v, _mm_set1_epi8((char)(first + 128)));

        return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(count - 128)));
}

/* Bytes that are no letter, digit or '-': nearly all names of fields have only those. */
static inline __m128i weir__not_plain(__m128i v)
{
        __m128i letter = weir__in_range(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26);
        __m128i digit = weir__in_range(v, '0', 10);
        __m128i dash = _mm_cmpeq_epi8(v, _mm_set1_epi8('-'));
        __m128i good = _mm_or_si128(_mm_or_si128(letter, digit), dash);

        return _mm_cmpeq_epi8(good, _mm_setzero_si128());
}

/* Control bytes, tab included. */
static inline __m128i weir__control(__m128i v)
{
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);

        return _mm_or_si128(low, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
}

/* Is one of the first `len` (1 to 16) bytes among `found`? */
static inline bool weir__peek(__m128i found, size_t len)
{
        return (uint32_t)_mm_movemask_epi8(found) << (32 - len);
}

static inline bool weir__peek_odd_name(const char *text, size_t len)
{
        if (len - 1 >= WEIR__PEEK)
                return true;
        return weir__peek(weir__not_plain(_mm_loadu_si128((const __m128i *)text)), len);
}

static inline bool weir__peek_odd_value(const char *text, size_t len)
{
        __m128i found = weir__control(_mm_loadu_si128((const __m128i *)text));

        if (len - 1 < WEIR__PEEK)
                return weir__peek(found, len);
        if (len == 0)
                return false;
        for (size_t i = WEIR__PEEK; i + WEIR__PEEK < len; i += WEIR__PEEK)
                found = _mm_or_si128(found,
                                     weir__control(_mm_loadu_si128((const __m128i *)(text + i))));
        found = _mm_or_si128(
                found, weir__control(_mm_loadu_si128((const __m128i *)(text + len - WEIR__PEEK))));
        return _mm_movemask_epi8(found);
}

#else

static inline bool weir__peek_odd_name(const char *text, size_t len)
{
        (void)text, (void)len;
        return true;
}

static inline bool weir__peek_odd_value(const char *text, size_t len)
{
        (void)text, (void)len;
        return true;
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
