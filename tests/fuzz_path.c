/*
 * fuzz_path.c - a path is read as a reader of one byte at a time reads it.
 *
 * Input: a byte whose bits are the rules, and the path.
 */
#include "fuzz_kit.h"
#include "path_cpu.h"

/* The slow reading: decoded segments with '/' in front of each, and how many. */
struct reading {
        enum weir__path_status status;
        char                   text[WEIR__MAX_PATH];
        size_t                 len, n;
        bool                   has_gap, deep;
};

/* One segment to the end of the text: its length, or -1. */
static ptrdiff_t decode(const char *at, const char *end, char *to)
{
        char *start = to;

        while (at < end) {
                int c = (unsigned char)*at++;

                if (c == '%') {
                        c = hex_byte(at, end);
                        if (c < 0x20 || c == 0x7f)
                                return -1;
                        at += 2;
                }
                *to++ = (char)c;
        }
        return to - start;
}

/* Takes the last segment away. */
static void go_up(struct reading *r, const size_t *starts)
{
        if (r->n)
                r->len = starts[--r->n];
}

static void read_slowly(struct reading *r, struct weir_str raw,
                        const struct weir__path_rules *rules)
{
        const char *at = raw.ptr, *end = raw.ptr + raw.len;
        static size_t starts[WEIR__MAX_PATH];

        *r = (struct reading){ .status = WEIR__PATH_BAD };
        if (raw.len > 0 && raw.ptr[0] == '/' && raw.len > WEIR__MAX_PATH)
                r->status = WEIR__PATH_LONG;
        if (raw.len == 0 || raw.ptr[0] != '/' || raw.len > WEIR__MAX_PATH)
                return;
        while (at < end) {
                const char *next = memchr(at + 1, '/', (size_t)(end - at - 1));
                char *seg = r->text + r->len + 1;
                bool last = !next;
                ptrdiff_t len = decode(at + 1, next ? next : end, seg);
                bool dots = (len == 1 && seg[0] == '.') || (len == 2 && !memcmp(seg, "..", 2));

                if (len < 0 || (dots && !rules->normalize_dots))
                        return;
                at = next ? next : end;
                if (dots) {
                        if (len == 2)
                                go_up(r, starts);
                        if (!last)
                                continue;
                        len = 0;
                } else if (len == 0 && !last && rules->merge_slashes) {
                        continue;
                }
                r->has_gap |= len == 0 && !last;
                starts[r->n++] = r->len;
                r->deep |= r->n > WEIR__MAX_SEGMENTS; /* on the way is enough */
                r->text[r->len] = '/';
                r->len += 1 + (size_t)len;
        }
        r->has_gap = false;
        for (size_t i = 0; i + 1 < r->n; i++)
                r->has_gap |= starts[i + 1] - starts[i] == 1;
        r->status = r->deep ? WEIR__PATH_DEEP : WEIR__PATH_OK;
}

/* All segments, with '/' in front of each, are the text. */
static void check_segments(const struct weir__path *path, struct weir_str text)
{
        size_t at = 0;

        for (uint32_t i = 0; i < path->n; i++) {
                struct weir_str seg = weir__path_segment(path, i);
                struct weir_str raw = weir__path_raw_segment(path, i);

                require(raw.ptr >= path->raw.ptr &&
                        raw.ptr + raw.len <= path->raw.ptr + path->raw.len);
                require(at < text.len && text.ptr[at] == '/');
                require(seg.len <= text.len - at - 1 &&
                        !memcmp(seg.ptr, text.ptr + at + 1, seg.len));
                at += 1 + seg.len;
        }
        require(at == text.len);
}

static void check_toggle(struct weir__path *path, struct weir_str text)
{
        bool ends_empty = weir__path_ends_empty(path);

        if (!weir__path_toggle_slash(path)) {
                require(path->has_gap || path->n == 1);
                return;
        }
        require(weir__path_ends_empty(path) != ends_empty);
        require(weir__path_toggle_slash(path));
        check_segments(path, text);
}

/* Any CPU splits it in the same way. */
static void check_portable(const struct weir__path *path, enum weir__path_status status,
                           const struct weir__path_rules *rules)
{
        struct weir__path other;

        require(weir__path_split_portable(&other, path->raw, rules) == status);
        require(other.n == path->n && other.plain == path->plain && other.len == path->len);
        require(other.needs_shadow == path->needs_shadow && other.has_gap == path->has_gap);
        require(!memcmp(other.head, path->head, sizeof(other.head)));
        require(!memcmp(other.cut, path->cut, (other.n + 1) * sizeof(other.cut[0])));
}

static void check(struct weir_str raw, char *shadow, const struct weir__path_rules *rules)
{
        static struct reading reading;
        struct weir__path path;
        enum weir__path_status status = weir__path_split(&path, raw, rules);

        check_portable(&path, status, rules);
        if (status == WEIR__PATH_OK && path.needs_shadow)
                status = weir__path_decode(&path, shadow, rules);
        for (size_t i = 0; i < raw.len; i++) {
                if ((uint8_t)raw.ptr[i] < 0x20 || raw.ptr[i] == 0x7f)
                        return; /* the guard keeps them away: no harm done is enough */
        }
        read_slowly(&reading, raw, rules);
        require((status == WEIR__PATH_OK) == (reading.status == WEIR__PATH_OK));
        require((status == WEIR__PATH_LONG) == (reading.status == WEIR__PATH_LONG));
        require(path.n > 0 && path.n <= WEIR__MAX_SEGMENTS + 1);
        for (uint32_t i = 0; i < path.n; i++)
                require(weir__path_segment(&path, i).len <= raw.len);
        if (status == WEIR__PATH_OK) {
                struct weir_str text = { reading.text, reading.len };

                require(path.n == reading.n && path.has_gap == reading.has_gap);
                require(weir_str_eq(weir__path_decoded(&path), text));
                check_segments(&path, text);
                check_toggle(&path, text);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct weir__path_rules rules = { size && (data[0] & 1), size && (data[0] & 2) };
        size_t len = size ? size - 1 : 0;
        char *raw = malloc(len), *shadow = malloc(len);

        if (len)
                memcpy(raw, data + 1, len);
        check((struct weir_str){ raw, len }, shadow, &rules);
        free(shadow);
        free(raw);
        return 0;
}
