/*
 * path.c - splits and decodes paths.
 *
 * A slash is a bit in a word, and each next cut its lowest bit that is left. A path of up to HEAD
 * bytes with less than CUTS segments and nothing special in it, which is what clients mostly send,
 * costs no branch that depends on its bytes. Nothing outside the text is read: blocks of 16 bytes
 * overlap at its end, and a shorter text is gathered from words that do.
 */
#include "path.h"
#include "path_cpu.h"
#include "path_scan.h"

#define HEAD 48 /* bytes whose slashes are found without a loop */
#define CUTS 7  /* that are made without a loop                 */

/* Bits behind all others, so that there is always one to cut at. */
#define BEYOND      56
#define BITS_BEYOND (UINT64_C(0xff) << BEYOND)
_Static_assert(HEAD < BEYOND && BEYOND + CUTS < 64, "all in a word");

static inline size_t smaller(size_t a, size_t b)
{
        return a < b ? a : b;
}

/* ---- Short texts. ---- */

/* 1 to 7 bytes, zeros behind them. */
static inline uint64_t gather(const char *text, size_t len)
{
        uint64_t a, b, c;

        if (len >= 4)
                return weir__load4(text) | weir__load4(text + len - 4) << 8 * (len - 4);
        a = (uint8_t)text[0];
        b = (uint8_t)text[len / 2];
        c = (uint8_t)text[len - 1];
        return a | b << 8 * (len / 2) | c << 8 * (len - 1);
}

/* ---- Finding slashes. ---- */

/* Of less than 16 bytes. Takes the head, too. */
static inline uint64_t scan_short(struct weir__path *path, struct weir__special *special)
{
        const char *text = path->text;
        size_t len = path->len;
        uint64_t head, tail = 0;

        if (len < 8) {
                head = gather(text, len);
        } else {
                head = weir__load8(text);
                tail = weir__load8(text + len - 8) >> 8 >> 8 * (15 - len);
        }
        weir__store8(path->head, head);
        return weir__slashes_of(head, tail, special);
}

/* Of `len` from 16 to HEAD bytes: three blocks, each as far to the right as that allows. */
static inline uint64_t scan_head(struct weir__path *path, size_t len, struct weir__special *special)
{
        const char *text = path->text;
        size_t last = len - 16, middle = smaller(16, last);
        uint64_t slashes = weir__slashes(text, special);

        memcpy(path->head, text, sizeof(path->head));
        slashes |= (uint64_t)weir__slashes(text + middle, special) << middle;
        return slashes | (uint64_t)weir__slashes(text + last, special) << last;
}

/* ---- Cutting. ---- */

/* The next bit of `bits`; returns those behind it. */
static inline uint64_t cut(struct weir__path *path, uint32_t i, uint64_t bits)
{
        path->cut[i] = (uint16_t)__builtin_ctzll(bits);
        return bits & (bits - 1);
}

/* Cuts at all slashes, which are bits from byte `base` on. Counts those that do not fit, too. */
static void cut_all(struct weir__path *path, uint64_t slashes, size_t base)
{
        for (; slashes; slashes &= slashes - 1) {
                if (path->n <= WEIR__MAX_SEGMENTS)
                        path->cut[path->n] = (uint16_t)(base + (size_t)__builtin_ctzll(slashes));
                path->n++;
        }
}

/* Cuts what lies behind HEAD bytes, whose last one is a slash (`carry`) or not. True for a gap. */
static bool cut_tail(struct weir__path *path, uint64_t carry, struct weir__special *special)
{
        size_t len = path->len, last = len - 16;
        uint64_t gaps = 0;

        for (size_t at = HEAD; at < len; at += 16) {
                size_t from = smaller(at, last);
                uint64_t slashes = weir__slashes(path->text + from, special) >> (at - from);

                gaps |= slashes & (slashes << 1 | carry);
                carry = slashes >> 15;
                cut_all(path, slashes, at);
        }
        return gaps != 0;
}

/* ---- Judging. ---- */

static inline bool is_dots(struct weir_str seg)
{
        return (seg.len == 1 && seg.ptr[0] == '.') ||
               (seg.len == 2 && seg.ptr[0] == '.' && seg.ptr[1] == '.');
}

/* Ends the path at segment i, which becomes empty. A gap before it stays one. */
static enum weir__path_status stop(struct weir__path *path, uint32_t i,
                                   enum weir__path_status status)
{
        path->n = i + 1;
        path->cut[i + 1] = path->cut[i] + 1;
        path->needs_shadow = false;
        path->plain = i == 0;
        return status;
}

/* A path that cannot be looked at all is "/". */
static WEIR__COLD enum weir__path_status refuse(struct weir__path *path,
                                                enum weir__path_status status)
{
        path->text = "/";
        path->len = 1;
        weir__store8(path->head, '/');
        path->cut[0] = 0;
        return stop(path, 0, status);
}

/* Does what the rules say about segments that are empty or dots. */
static enum weir__path_status judge_segments(struct weir__path *path,
                                             const struct weir__path_rules *rules)
{
        for (uint32_t i = 0; i < path->n; i++) {
                struct weir_str seg = weir__path_segment(path, i);

                if (is_dots(seg)) {
                        if (!rules->normalize_dots)
                                return stop(path, i, WEIR__PATH_BAD);
                        path->needs_shadow = true;
                } else if (seg.len == 0 && i + 1 < path->n) {
                        path->needs_shadow |= rules->merge_slashes;
                        path->has_gap |= !rules->merge_slashes;
                }
        }
        path->plain = !path->has_gap && (path->n == 1 || !weir__path_ends_empty(path));
        return WEIR__PATH_OK;
}

/* All cuts are made that fit. `special`: there may be an escape. */
static enum weir__path_status judge(struct weir__path *path, bool special,
                                    const struct weir__path_rules *rules)
{
        bool deep = path->n > WEIR__MAX_SEGMENTS;
        enum weir__path_status status;

        if (deep)
                path->n = WEIR__MAX_SEGMENTS;
        else
                path->cut[path->n] = (uint16_t)path->len;
        path->needs_shadow = special && memchr(path->text, '%', path->len);
        status = judge_segments(path, rules);
        if (!deep || status != WEIR__PATH_OK)
                return status;
        if (!rules->normalize_dots && !rules->merge_slashes)
                return stop(path, WEIR__MAX_SEGMENTS, WEIR__PATH_DEEP);
        path->needs_shadow = true; /* what the rules leave may be less deep */
        return WEIR__PATH_OK;
}

/* ---- Splitting. ---- */

/* A path that is long or deep, ends with a slash, or has something special. */
static WEIR__COLD enum weir__path_status split_rare(struct weir__path *path, uint64_t slashes,
                                                    struct weir__special special,
                                                    const struct weir__path_rules *rules)
{
        bool odd = slashes & slashes >> 1;

        if (path->n >= CUTS) {
                path->n = 0;
                cut_all(path, slashes, 0);
        }
        if (path->len > HEAD)
                odd |= cut_tail(path, slashes >> (HEAD - 1), &special);
        odd |= weir__is_special(special) || path->text[path->len - 1] == '/';
        if (odd || path->n > WEIR__MAX_SEGMENTS)
                return judge(path, weir__is_special(special), rules);
        path->cut[path->n] = (uint16_t)path->len;
        return WEIR__PATH_OK;
}

enum weir__path_status weir__path_split_portable(struct weir__path *path, struct weir_str raw,
                                                 const struct weir__path_rules *rules)
{
        size_t head = smaller(raw.len, HEAD);
        struct weir__special special = weir__nothing_special();
        uint64_t slashes, cuts, gaps;

        path->raw = raw;
        path->shadow = NULL;
        path->text = raw.ptr;
        path->len = (uint32_t)raw.len;
        path->needs_shadow = path->has_gap = false;
        path->plain = true;
        if (raw.len == 0 || raw.ptr[0] != '/')
                return refuse(path, WEIR__PATH_BAD);
        if (raw.len > WEIR__MAX_PATH)
                return refuse(path, WEIR__PATH_LONG);

        slashes = head < 16 ? scan_short(path, &special) : scan_head(path, head, &special);
        cuts = slashes | UINT64_C(1) << head; /* the end is a cut as well */
        gaps = cuts & cuts >> 1;
        path->cut[0] = 0;
        cuts = (cuts - 1) | BITS_BEYOND; /* the first slash is cut */
        cuts = cut(path, 1, cuts);
        cuts = cut(path, 2, cuts);
        cuts = cut(path, 3, cuts);
        cuts = cut(path, 4, cuts);
        cuts = cut(path, 5, cuts);
        cuts = cut(path, 6, cuts);
        cut(path, CUTS, cuts);
        path->n = BEYOND + CUTS - 1 - path->cut[CUTS]; /* so many bits beyond are left over */
        if (gaps || weir__is_special(special) || raw.len > HEAD || path->n >= CUTS)
                return split_rare(path, slashes, special, rules);
        return WEIR__PATH_OK;
}

enum weir__path_status weir__path_split(struct weir__path *path, struct weir_str raw,
                                        const struct weir__path_rules *rules)
{
#ifdef WEIR__VBMI
        if (weir__has_vbmi())
                return weir__path_split_vbmi(path, raw, rules);
#endif
        return weir__path_split_portable(path, raw, rules);
}

/* ---- Decoding. ---- */

/* Appends the decoded segment that lies behind the text. */
static enum weir__path_status push(struct weir__path *path, size_t seg_len, struct weir_str raw)
{
        uint32_t n = path->n;

        if (n == WEIR__MAX_SEGMENTS)
                return WEIR__PATH_DEEP;
        path->shadow[path->len] = '/';
        path->raw_seg[n].at = (uint16_t)(raw.ptr - path->raw.ptr);
        path->raw_seg[n].len = (uint16_t)raw.len;
        path->len += 1 + (uint32_t)seg_len;
        path->cut[++path->n] = (uint16_t)path->len;
        return WEIR__PATH_OK;
}

static void pop(struct weir__path *path)
{
        if (path->n)
                path->len = path->cut[--path->n];
}

/* Decodes one segment to where the text ends, and does with it what the rules say. */
static enum weir__path_status take(struct weir__path *path, struct weir_str raw, bool last,
                                   const struct weir__path_rules *rules)
{
        struct weir_str seg = { path->shadow + path->len + 1, 0 };
        ptrdiff_t len = weir__percent_decode(path->shadow + path->len + 1, raw);

        if (len < 0)
                return WEIR__PATH_BAD;
        seg.len = (size_t)len;
        if (is_dots(seg)) {
                if (!rules->normalize_dots)
                        return WEIR__PATH_BAD;
                if (seg.len == 2)
                        pop(path);
                return last ? push(path, 0, raw) : WEIR__PATH_OK; /* RFC 3986 5.2.4 */
        }
        if (seg.len == 0 && !last && rules->merge_slashes)
                return WEIR__PATH_OK;
        return push(path, seg.len, raw);
}

static void find_gap(struct weir__path *path)
{
        path->has_gap = false;
        for (uint32_t i = 0; i + 1 < path->n; i++)
                path->has_gap |= path->cut[i + 1] - path->cut[i] == 1;
}

enum weir__path_status weir__path_decode(struct weir__path *path, char *shadow,
                                         const struct weir__path_rules *rules)
{
        const char *at = path->raw.ptr, *end = at + path->raw.len;
        enum weir__path_status status = WEIR__PATH_OK;

        path->text = path->shadow = shadow;
        path->n = path->len = 0;
        path->cut[0] = 0;
        while (status == WEIR__PATH_OK && at < end) {
                const char *from = at + 1;

                at = memchr(from, '/', (size_t)(end - from));
                if (!at)
                        at = end;
                status = take(path, (struct weir_str){ from, (size_t)(at - from) }, at == end,
                              rules);
        }
        if (status != WEIR__PATH_OK) {
                path->shadow[path->len++] = '/'; /* of the segment that is at fault */
                path->raw_seg[path->n].at = (uint16_t)path->raw.len;
                path->raw_seg[path->n].len = 0;
        }
        if (path->len >= sizeof(path->head))
                memcpy(path->head, shadow, sizeof(path->head));
        else
                weir__store8(path->head, gather(shadow, path->len));
        if (status != WEIR__PATH_OK)
                stop(path, path->n, status);
        find_gap(path);
        path->plain = !path->has_gap && (path->n == 1 || !weir__path_ends_empty(path));
        return status;
}

bool weir__path_toggle_slash(struct weir__path *path)
{
        uint32_t n = path->n;
        bool has_slash = weir__path_ends_empty(path);

        if (path->has_gap || (has_slash && n == 1))
                return false;
        if (has_slash) {
                path->n--;
                path->plain = true;
                return true;
        }
        path->cut[n + 1] = path->cut[n] + 1;
        path->raw_seg[n].at = (uint16_t)path->raw.len;
        path->raw_seg[n].len = 0;
        path->n++;
        path->plain = false;
        return true;
}

void weir__path_end_at_gap(struct weir__path *path)
{
        for (uint32_t i = 0; i < path->n; i++) {
                if (path->cut[i + 1] - path->cut[i] == 1) {
                        path->n = i + 1;
                        break;
                }
        }
        path->has_gap = false;
}

struct weir_str weir__path_raw_segment(const struct weir__path *path, uint32_t i)
{
        if (!path->shadow) {
                size_t at = smaller(path->cut[i] + (size_t)1, path->raw.len);

                return (struct weir_str){ path->raw.ptr + at, weir__path_segment(path, i).len };
        }
        return (struct weir_str){ path->raw.ptr + path->raw_seg[i].at, path->raw_seg[i].len };
}

static int hex(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `out` may be where `raw` is: it never gets ahead. */
ptrdiff_t weir__percent_decode(char *out, struct weir_str raw)
{
        const char *at = raw.ptr, *end = raw.ptr + raw.len;
        char *to = out;

        while (at < end) {
                unsigned char c = (unsigned char)*at++;

                if (c == '%') {
                        int high = end - at >= 2 ? hex(at[0]) : -1;
                        int low = high >= 0 ? hex(at[1]) : -1;

                        if (low < 0)
                                return -1;
                        c = (unsigned char)(high << 4 | low);
                        at += 2;
                }
                if (c < 0x20 || c == 0x7f)
                        return -1;
                *to++ = (char)c;
        }
        return to - out;
}
