/* utf8.c - is it UTF-8 (RFC 3629)? No overlong forms, no surrogates, nothing beyond U+10FFFF. */
#include "utf8.h"

static bool is_tail(unsigned char c)
{
        return (c & 0xc0) == 0x80;
}

static size_t len3(const unsigned char *s)
{
        unsigned char least = s[0] == 0xe0 ? 0xa0 : 0x80, most = s[0] == 0xed ? 0x9f : 0xbf;

        return s[1] >= least && s[1] <= most && is_tail(s[2]) ? 3 : 0;
}

static size_t len4(const unsigned char *s)
{
        unsigned char least = s[0] == 0xf0 ? 0x90 : 0x80, most = s[0] == 0xf4 ? 0x8f : 0xbf;

        return s[1] >= least && s[1] <= most && is_tail(s[2]) && is_tail(s[3]) ? 4 : 0;
}

size_t weir__utf8_len(const char *text, size_t len)
{
        const unsigned char *s = (const unsigned char *)text;

        if (s[0] < 0x80)
                return 1;
        if (s[0] < 0xc2)
                return 0;
        if (s[0] < 0xe0)
                return len >= 2 && is_tail(s[1]) ? 2 : 0;
        if (s[0] < 0xf0)
                return len >= 3 ? len3(s) : 0;
        return s[0] < 0xf5 && len >= 4 ? len4(s) : 0;
}
