/*
 * sip.h - SipHash-2-4 of 16 bytes: who does not know the key cannot choose inputs that collide
 * (https://www.aumasson.jp/siphash/siphash.pdf).
 */
#ifndef WEIR_CORE_SIP_H
#define WEIR_CORE_SIP_H

#include <stdint.h>

struct weir__sip {
        uint64_t v0, v1, v2, v3;
};

static inline uint64_t weir__sip_turn(uint64_t x, unsigned by)
{
        return x << by | x >> (64 - by);
}

static inline void weir__sip_rounds(struct weir__sip *s, int n)
{
        for (int i = 0; i < n; i++) {
                s->v0 += s->v1;
                s->v2 += s->v3;
                s->v1 = weir__sip_turn(s->v1, 13) ^ s->v0;
                s->v3 = weir__sip_turn(s->v3, 16) ^ s->v2;
                s->v0 = weir__sip_turn(s->v0, 32) + s->v3;
                s->v2 += s->v1;
                s->v1 = weir__sip_turn(s->v1, 17) ^ s->v2;
                s->v3 = weir__sip_turn(s->v3, 21) ^ s->v0;
                s->v2 = weir__sip_turn(s->v2, 32);
        }
}

static inline void weir__sip_word(struct weir__sip *s, uint64_t word)
{
        s->v3 ^= word;
        weir__sip_rounds(s, 2);
        s->v0 ^= word;
}

/* Both words as they lie in memory with the least significant byte first. */
static inline uint64_t weir__sip(const uint64_t key[2], uint64_t first, uint64_t second)
{
        struct weir__sip s = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                               key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };

        weir__sip_word(&s, first);
        weir__sip_word(&s, second);
        weir__sip_word(&s, 16ull << 56); /* the length, in the word of what is left: nothing */
        s.v2 ^= 0xff;
        weir__sip_rounds(&s, 4);
        return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
