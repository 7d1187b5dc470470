/*
 * bytes.c - classes of bytes in HTTP.
 *
 * The vector versions look at 16 bytes a step. The last step overlaps the one before, and a text
 * shorter than 16 is gathered from two overlapping halves, so nothing outside the text is read:
 * a byte looked at twice changes no verdict.
 */
#include "bytes.h"
#include "hint.h"

#define T WEIR__TCHAR
#define V WEIR__VISIBLE
#define F WEIR__VALUE
#define R WEIR__REGNAME

const uint8_t weir__byte_class[256] = {
        ['\t'] = F,
        [' '] = F,
        ['!'] = T | V | F | R,
        ['"'] = V | F,
        ['#'] = T | F,
        ['$'] = T | V | F | R,
        ['%'] = T | V | F | R,
        ['&'] = T | V | F | R,
        ['\''] = T | V | F | R,
        ['('] = V | F | R,
        [')'] = V | F | R,
        ['*'] = T | V | F | R,
        ['+'] = T | V | F | R,
        [','] = V | F | R,
        ['-'] = T | V | F | R,
        ['.'] = T | V | F | R,
        ['/'] = V | F,
        ['0' ... '9'] = T | V | F | R,
        [':'] = V | F,
        [';'] = V | F | R,
        ['<'] = V | F,
        ['='] = V | F | R,
        ['>'] = V | F,
        ['?'] = V | F,
        ['@'] = V | F,
        ['A' ... 'Z'] = T | V | F | R,
        ['['] = V | F,
        ['\\'] = V | F,
        [']'] = V | F,
        ['^'] = T | V | F,
        ['_'] = T | V | F | R,
        ['`'] = T | V | F,
        ['a' ... 'z'] = T | V | F | R,
        ['{'] = V | F,
        ['|'] = T | V | F,
        ['}'] = V | F,
        ['~'] = T | V | F | R,
        [0x80 ... 0xff] = F,
};

bool weir__all_class(const char *text, size_t len, unsigned class)
{
        unsigned all = class;

        for (size_t i = 0; i < len; i++)
                all &= weir__byte_class[(uint8_t)text[i]];
        return all == class;
}

#ifdef __SSE2__
/* All bytes of a text of 1 to 15, some of them twice. */
static __m128i gather(const char *text, size_t len)
{
        uint64_t low = 0, high = 0;

        if (len >= 8) {
                memcpy(&low, text, 8);
                memcpy(&high, text + len - 8, 8);
        } else if (len >= 4) {
                uint32_t a, b;

                memcpy(&a, text, 4);
                memcpy(&b, text + len - 4, 4);
                low = high = a | (uint64_t)b << 32;
        } else {
                uint64_t a = (uint8_t)text[0], b = (uint8_t)text[len / 2];
                uint64_t c = (uint8_t)text[len - 1];

                low = high = (a | b << 8 | c << 16 | c << 24) * 0x100000001;
        }
        return _mm_set_epi64x((int64_t)high, (int64_t)low);
}

/* Bytes outside 0x21..0x7e, and '#'. */
static __m128i not_visible(__m128i v)
{
        __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x21)); /* 0x80 and up are negative */
        __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
        __m128i hash = _mm_cmpeq_epi8(v, _mm_set1_epi8('#'));

        return _mm_or_si128(_mm_or_si128(low, del), hash);
}

/* Control bytes but tab. */
static __m128i not_value(__m128i v)
{
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
        __m128i tab = _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'));
        __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));

        return _mm_or_si128(_mm_andnot_si128(tab, low), del);
}

/* Which bytes are from `first` on, for `count` bytes? */
static __m128i in_range(__m128i v, char first, char count)
{
        __m128i moved = _mm_sub_epi8(v, _mm_set1_epi8((char)(first + 128)));

        return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(count - 128)));
}

/* Bytes that are no letter, digit or '-'. */
static __m128i not_plain(__m128i v)
{
        __m128i letter = in_range(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26);
        __m128i digit = in_range(v, '0', 10);
        __m128i dash = _mm_cmpeq_epi8(v, _mm_set1_epi8('-'));
        __m128i good = _mm_or_si128(_mm_or_si128(letter, digit), dash);

        return _mm_cmpeq_epi8(good, _mm_setzero_si128());
}

/* Is no byte of the text in the set that `bad` tells? 16 bytes a step. */
static WEIR__INLINE bool none(__m128i (*bad)(__m128i), const char *text, size_t len)
{
        __m128i found;

        if (len < 16)
                return len == 0 || !_mm_movemask_epi8(bad(gather(text, len)));
        found = bad(_mm_loadu_si128((const __m128i *)(text + len - 16)));
        for (size_t i = 0; i + 16 < len; i += 16)
                found = _mm_or_si128(found, bad(_mm_loadu_si128((const __m128i *)(text + i))));
        return !_mm_movemask_epi8(found);
}

bool weir__all_visible(const char *text, size_t len)
{
        return none(not_visible, text, len);
}

bool weir__all_value(const char *text, size_t len)
{
        return none(not_value, text, len);
}

static bool all_plain(const char *text, size_t len)
{
        return none(not_plain, text, len);
}

#else

bool weir__all_visible(const char *text, size_t len)
{
        return weir__all_class(text, len, WEIR__VISIBLE);
}

bool weir__all_value(const char *text, size_t len)
{
        return weir__all_class(text, len, WEIR__VALUE);
}

static bool all_plain(const char *text, size_t len)
{
        (void)text;
        return len == 0;
}

#endif

bool weir__is_token(const char *text, size_t len)
{
        return len && (all_plain(text, len) || weir__all_class(text, len, WEIR__TCHAR));
}
