/* json_text.c - JSON text into a buffer that grows: room, and strings that need escapes. */
#include "json_text.h"

#include "utf8.h"

char *weir__json_grow(struct weir_json_writer *w, char *at, size_t need)
{
        struct weir__json_home *home = w->home;

        home->buf.len = home->buf.ptr ? (size_t)(at - home->buf.ptr) : 0;
        if (!weir__buf_reserve(home->pool, &home->buf, need)) {
                weir__json_break(w, WEIR__JSON_MEMORY);
                return NULL;
        }
        w->at = home->buf.ptr + home->buf.len;
        w->end = home->buf.ptr + home->buf.cap;
        return w->at;
}

/* What stands behind the backslash; 'u' for what has no short form. 0: the byte is not special. */
static const char escapes[256] = {
        [0 ... 7] = 'u', ['\b'] = 'b',  ['\t'] = 't',          ['\n'] = 'n',
        [0x0b] = 'u',    ['\f'] = 'f',  ['\r'] = 'r',          [0x0e ... 0x1f] = 'u',
        ['"'] = '"',     ['\\'] = '\\', [0x80 ... 0xff] = 'u',
};

/* Copies text up to its first special byte, or to the end; how many bytes that is. */
static size_t copy_plain(char *out, const char *text, size_t len)
{
        size_t n = 0;

        for (; len - n >= 16; n += 16) {
                weir__json_bytes bytes;
                weir__json_words special;

                memcpy(&bytes, text + n, 16);
                special = weir__json_special(bytes);
                if (special[0] | special[1])
                        break;
                memcpy(out + n, &bytes, 16);
        }
        for (; n < len && !escapes[(unsigned char)text[n]]; n++)
                out[n] = text[n];
        return n;
}

static char *escape_byte(char *at, unsigned char byte)
{
        static const char hex[] = "0123456789ABCDEF";

        *at++ = '\\';
        *at++ = escapes[byte];
        if (escapes[byte] != 'u')
                return at;
        *at++ = '0';
        *at++ = '0';
        *at++ = hex[byte >> 4];
        *at++ = hex[byte & 15];
        return at;
}

/* One character that is special, of which `n` bytes are UTF-8. */
static char *put_special(char *at, const char *text, size_t n)
{
        if (n == 1)
                return escape_byte(at, (unsigned char)*text);
        memcpy(at, n ? text : "\xef\xbf\xbd", n ? n : 3);
        return at + (n ? n : 3);
}

/* The characters at the start of *text that are special; NULL when w broke. */
static char *put_specials(struct weir_json_writer *w, char *at, struct weir_str *text, bool strict)
{
        while (text->len && escapes[(unsigned char)*text->ptr]) {
                size_t n = weir__utf8_len(text->ptr, text->len);

                if (n == 0 && strict) {
                        weir__json_break(w, WEIR__JSON_NOT_UTF8);
                        return NULL;
                }
                at = weir__json_room(w, at, text->len + WEIR__JSON_ROOM);
                if (!at)
                        return NULL;
                at = put_special(at, text->ptr, n);
                text->ptr += n ? n : 1;
                text->len -= n ? n : 1;
        }
        return at;
}

char *weir__json_quote_any(struct weir_json_writer *w, char *at, const char *text, size_t len,
                           bool strict)
{
        struct weir_str rest = { text, len };

        at = weir__json_room(w, at, len + WEIR__JSON_ROOM);
        if (!at)
                return NULL;
        *at++ = '"';
        while (rest.len) {
                size_t n = copy_plain(at, rest.ptr, rest.len);

                rest.ptr += n;
                rest.len -= n;
                at = put_specials(w, at + n, &rest, strict);
                if (!at)
                        return NULL;
        }
        *at++ = '"';
        return at;
}
