/*
 * path_vbmi.c - splits a path at one go where the CPU has AVX-512 VBMI2.
 *
 * The whole text is one vector: a masked load reads nothing outside it, and compressing the numbers
 * of bytes by the slashes among them gives all cuts at once. There is no branch that depends on the
 * text, nor on how long it is. What is long or has something special is left to path.c.
 *
 * CPUs that have it (Ice Lake, Zen 4 and later) do not slow down for wide vectors; those with less
 * of AVX-512 would.
 */
#include "path_cpu.h"

#ifdef WEIR__VBMI

#include <immintrin.h>

#define SHORT 63 /* with the end, one bit for each byte */

/* 0, 1, 2... */
static const uint8_t numbers[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

WEIR__VBMI enum weir__path_status weir__path_split_vbmi(struct weir__path *path,
                                                        struct weir_str raw,
                                                        const struct weir__path_rules *rules)
{
        uint64_t slashes, cuts, odd;
        __m512i text, at;

        if (raw.len - 1 >= SHORT)
                return weir__path_split_portable(path, raw, rules);
        text = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)raw.len), raw.ptr);
        slashes = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('/'));
        cuts = slashes | UINT64_C(1) << raw.len;
        odd = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('.')) & slashes << 1;
        odd |= _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('%'));
        odd |= cuts & cuts >> 1; /* a gap, or a slash at the end */
        odd |= ~slashes & 1;
        path->n = (uint32_t)_mm_popcnt_u64(slashes);
        if (odd || path->n >= WEIR__MAX_SEGMENTS)
                return weir__path_split_portable(path, raw, rules);

        at = _mm512_maskz_compress_epi8(cuts, _mm512_loadu_si512(numbers));
        _mm512_storeu_si512(path->cut, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(at)));
        path->cut[1] = (uint16_t)_tzcnt_u64(cuts &
                                            (cuts - 1)); /* sooner at hand than from memory */
        _mm_storel_epi64((__m128i *)(void *)path->head, _mm512_castsi512_si128(text));
        path->raw = raw;
        path->shadow = NULL;
        path->text = raw.ptr;
        path->len = (uint32_t)raw.len;
        path->needs_shadow = path->has_gap = false;
        path->plain = true;
        return WEIR__PATH_OK;
}

#endif
