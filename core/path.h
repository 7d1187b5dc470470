/* path.h - the path of a request target, split at its raw slashes, decoded by segments. */
#ifndef WEIR_CORE_PATH_H
#define WEIR_CORE_PATH_H

#include <weir/str.h>

#define WEIR__MAX_SEGMENTS 32
#define WEIR__MAX_PATH     8192

enum weir__path_status {
        WEIR__PATH_OK,
        WEIR__PATH_BAD,  /* 400: a bad escape, a control byte, a dot segment */
        WEIR__PATH_LONG, /* 414                                              */
        WEIR__PATH_DEEP, /* 404: more than WEIR__MAX_SEGMENTS                */
};

/* How an app wants paths read. */
struct weir__path_rules {
        bool normalize_dots; /* else they are WEIR__PATH_BAD */
        bool merge_slashes;
};

/*
 * "/a/b%2Fc/" has the segments "a", "b/c" and "". They lie in `text`, each behind a slash:
 *
 *      text   / a / b / c /          segment i is what lies between cut[i] and cut[i + 1]
 *      cut    0   2       6 7
 *
 * text is the raw path as long as that needs no decoding, and then the shadow, which the caller
 * provides, as long as the raw path: decoding never makes a text longer.
 */
struct weir__path {
        struct weir_str raw;
        char           *shadow;       /* NULL: not needed so far                               */
        const char     *text;
        uint32_t        len;          /* of text                                               */
        uint32_t        n;            /* segments; 0 never: "/" has one empty segment          */
        bool            needs_shadow; /* has an escape, or is to be rewritten by a rule        */
        bool            has_gap;      /* an empty segment that is not the last: matches nothing */
        bool            plain;        /* no segment is empty, but that of "/"                  */
        uint16_t        cut[WEIR__MAX_SEGMENTS + 3];
        char            head[8];      /* of text, zeros behind it if it has less               */
        struct {
                uint16_t at, len;
        } raw_seg[WEIR__MAX_SEGMENTS + 2]; /* with a shadow: where the segments are in raw     */
};

/*
 * Splits `raw` (which starts with '/') and, when there is nothing to decode, is done. With
 * needs_shadow set the caller gets raw.len bytes and calls weir__path_decode() next. What is not
 * OK leaves a path that ends before the fault, with an empty segment in its place, and with the
 * gaps that it had before.
 */
enum weir__path_status weir__path_split(struct weir__path *path, struct weir_str raw,
                                        const struct weir__path_rules *rules);
enum weir__path_status weir__path_decode(struct weir__path *path, char *shadow,
                                         const struct weir__path_rules *rules);

/* Turns ".../x/" into ".../x" and the reverse; false when that is not possible ("/" alone). */
bool weir__path_toggle_slash(struct weir__path *path);

/* Ends a path that has a gap there, so that it looks like one whose last segment is empty. */
void weir__path_end_at_gap(struct weir__path *path);

/* Is there a slash at the end? */
static inline bool weir__path_ends_empty(const struct weir__path *path)
{
        return path->cut[path->n] - path->cut[path->n - 1] == 1;
}

/* Segment i, decoded, and as it stands in the target. */
static inline struct weir_str weir__path_segment(const struct weir__path *path, uint32_t i)
{
        uint32_t at = path->cut[i] + 1u;

        return (struct weir_str){ path->text + (at < path->len ? at : path->len),
                                  path->cut[i + 1] - at };
}

struct weir_str weir__path_raw_segment(const struct weir__path *path, uint32_t i);

/* The whole path, decoded: a view of the target, or of the shadow. */
static inline struct weir_str weir__path_decoded(const struct weir__path *path)
{
        return (struct weir_str){ path->text, path->len };
}

/* Decodes one percent-encoded text, "%00" and control bytes refused; -1, or the length in `out`. */
ptrdiff_t weir__percent_decode(char *out, struct weir_str raw);

#endif
