/* path_scan.h - looks at 16 bytes of a path at once: with SSE2, else as two machine words. */
#ifndef WEIR_CORE_PATH_SCAN_H
#define WEIR_CORE_PATH_SCAN_H

#include "hint.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes as a number whose lowest byte is the first, and back. */
static inline uint64_t weir__load8(const char *text)
{
        uint64_t word;

        memcpy(&word, text, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        return word;
}

static inline uint64_t weir__load4(const char *text)
{
        uint32_t word;

        memcpy(&word, text, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap32(word);
#endif
        return word;
}

static inline void weir__store8(char *text, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        memcpy(text, &word, sizeof(word));
}

/* ---- Words. ---- */

/* The top bit of each byte of `word` that is `byte`. Exact: no carry leaves a byte. */
static inline uint64_t weir__equal_bytes(uint64_t word, char byte)
{
        const uint64_t low7 = 0x7f7f7f7f7f7f7f7f;
        uint64_t diff = word ^ (uint64_t)byte * 0x0101010101010101;

        return ~(((diff & low7) + low7) | diff | low7);
}

/* Those top bits side by side. */
static inline uint32_t weir__gather_bits(uint64_t tops)
{
        return (uint32_t)((tops >> 7) * 0x0102040810204080 >> 56);
}

/* Bit i: byte i of the 16 is '/'. *special becomes true for a '.' or '%' among them. */
static inline uint32_t weir__slashes_in_words(uint64_t low, uint64_t high, bool *special)
{
        uint64_t found = weir__equal_bytes(low, '.') | weir__equal_bytes(high, '.') |
                         weir__equal_bytes(low, '%') | weir__equal_bytes(high, '%');

        *special |= found != 0;
        return weir__gather_bits(weir__equal_bytes(low, '/')) |
               weir__gather_bits(weir__equal_bytes(high, '/')) << 8;
}

/* ---- Blocks of 16, and whether any had something special: '.', '%', perhaps others. ---- */

#if defined(__SSE2__) && !defined(WEIR__NO_SIMD)

#include <emmintrin.h>

/*
 * Bytes are turned over such that '%' and '.' come before '/', which comes before '-' and all that
 * paths are usually made of: the smallest byte tells.
 */
#define WEIR__TURN 0x26
_Static_assert(('.' ^ WEIR__TURN) == 8 && ('%' ^ WEIR__TURN) < 8 && ('/' ^ WEIR__TURN) == 9 &&
                       ('-' ^ WEIR__TURN) > 9 && ('0' ^ WEIR__TURN) > 9,
               "this is ASCII");

struct weir__special {
        __m128i smallest;
};

static inline struct weir__special weir__nothing_special(void)
{
        return (struct weir__special){ _mm_set1_epi8(-1) };
}

static inline bool weir__is_special(struct weir__special special)
{
        __m128i up_to_dot = _mm_min_epu8(special.smallest, _mm_set1_epi8('.' ^ WEIR__TURN));

        return _mm_movemask_epi8(_mm_cmpeq_epi8(special.smallest, up_to_dot)) != 0;
}

static inline uint32_t weir__slashes_in(__m128i block, struct weir__special *special)
{
        __m128i turned = _mm_xor_si128(block, _mm_set1_epi8(WEIR__TURN));

        special->smallest = _mm_min_epu8(special->smallest, turned);
        return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(turned, _mm_set1_epi8('/' ^ WEIR__TURN)));
}

static inline uint32_t weir__slashes(const char *text, struct weir__special *special)
{
        return weir__slashes_in(_mm_loadu_si128((const __m128i *)(const void *)text), special);
}

static inline uint32_t weir__slashes_of(uint64_t low, uint64_t high, struct weir__special *special)
{
        return weir__slashes_in(_mm_set_epi64x((int64_t)high, (int64_t)low), special);
}

#else

struct weir__special {
        bool is;
};

static inline struct weir__special weir__nothing_special(void)
{
        return (struct weir__special){ false };
}

static inline bool weir__is_special(struct weir__special special)
{
        return special.is;
}

static inline uint32_t weir__slashes_of(uint64_t low, uint64_t high, struct weir__special *special)
{
        return weir__slashes_in_words(low, high, &special->is);
}

static inline uint32_t weir__slashes(const char *text, struct weir__special *special)
{
        return weir__slashes_of(weir__load8(text), weir__load8(text + 8), special);
}

#endif

#endif
