/* json_scan.h - copies text and finds the bytes that a JSON string must escape, 16 at a time. */
#ifndef WEIR_CORE_JSON_SCAN_H
#define WEIR_CORE_JSON_SCAN_H

#include <weir/str.h>

/* Sixteen bytes; those that are not ASCII are negative. */
typedef signed char weir__json_bytes __attribute__((vector_size(16)));
typedef uint64_t weir__json_words __attribute__((vector_size(16)));

/* All bits of each byte that is a control byte, '"', '\\', or not ASCII. */
static inline weir__json_words weir__json_special(weir__json_bytes b)
{
        return (weir__json_words)((b < 0x20) | (b == '"') | (b == '\\'));
}

#define WEIR__JSON_SHORT 32

/* The four that follow copy by halves that overlap, and tell which bytes are special. */

static inline uint64_t weir__json_copy_16_to_32(char *out, const char *text, size_t len)
{
        weir__json_bytes head, tail;
        weir__json_words special;

        memcpy(&head, text, 16);
        memcpy(&tail, text + len - 16, 16);
        memcpy(out, &head, 16);
        memcpy(out + len - 16, &tail, 16);
        special = weir__json_special(head) | weir__json_special(tail);
        return special[0] | special[1];
}

static inline uint64_t weir__json_copy_8_to_16(char *out, const char *text, size_t len)
{
        weir__json_words special;
        uint64_t head, tail;

        memcpy(&head, text, 8);
        memcpy(&tail, text + len - 8, 8);
        memcpy(out, &head, 8);
        memcpy(out + len - 8, &tail, 8);
        special = weir__json_special((weir__json_bytes)(weir__json_words){ head, tail });
        return special[0] | special[1];
}

static inline uint64_t weir__json_copy_4_to_8(char *out, const char *text, size_t len)
{
        uint32_t head, tail;

        memcpy(&head, text, 4);
        memcpy(&tail, text + len - 4, 4);
        memcpy(out, &head, 4);
        memcpy(out + len - 4, &tail, 4);
        return weir__json_special(
                (weir__json_bytes)(weir__json_words){ head | (uint64_t)tail << 32 })[0];
}

static inline uint64_t weir__json_copy_1_to_4(char *out, const char *text, size_t len)
{
        uint64_t head = (uint8_t)text[0], mid = (uint8_t)text[len / 2];
        uint64_t tail = (uint8_t)text[len - 1];

        out[0] = (char)head;
        out[len / 2] = (char)mid;
        out[len - 1] = (char)tail;
        return (uint32_t)weir__json_special((weir__json_bytes)(weir__json_words){
                head | mid << 8 | tail << 16 | head << 24 })[0];
}

/* Copies a text; false when it has a special byte, or more than WEIR__JSON_SHORT of any. */
static inline __attribute__((always_inline)) bool weir__json_copy_short(char *out, const char *text,
                                                                        size_t len)
{
        if (len >= 8) {
                if (len <= 16)
                        return !weir__json_copy_8_to_16(out, text, len);
                return len <= WEIR__JSON_SHORT && !weir__json_copy_16_to_32(out, text, len);
        }
        if (len >= 4)
                return !weir__json_copy_4_to_8(out, text, len);
        return len == 0 || !weir__json_copy_1_to_4(out, text, len);
}

#endif
