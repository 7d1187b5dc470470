/* router_pattern.h - a route's pattern and host, taken apart. */
#ifndef WEIR_CORE_ROUTER_PATTERN_H
#define WEIR_CORE_ROUTER_PATTERN_H

#include <weir/ctx.h>

/* What a segment of a pattern can be. In the order in which the router prefers them. */
enum weir__kind {
        WEIR__LITERAL, /* "books"                                         */
        WEIR__AFFIXED, /* "{name}.png": a parameter with text around it   */
        WEIR__BARE,    /* "{id}"                                          */
        WEIR__REST,    /* "{path...}"                                     */
};

struct weir__piece {
        enum weir__kind kind;
        struct weir_str prefix; /* of a literal: all of it          */
        struct weir_str suffix;
        struct weir_str name;   /* of the parameter; absent if none */
};

/* One heap block. Pieces are decoded: "{{" is "{" in them. */
struct weir__pattern {
        uint32_t           n, n_params;
        const char        *spelled; /* as it was given */
        struct weir__piece piece[];
};

/* Where a sentence about what is wrong goes. */
struct weir__fault {
        char  *text;
        size_t size;
};

/* Writes the sentence; returns `code`, which is negative. */
int weir__fault(struct weir__fault *fault, int code, const char *fmt, ...) WEIR_PRINTF(3, 4);

/* 0 and a pattern for free(); -EINVAL, -E2BIG with a sentence; -ENOMEM. */
int weir__pattern_parse(const char *text, struct weir__pattern **pattern,
                        struct weir__fault *fault);

/* Do they match the same paths? Names do not count. */
bool weir__pattern_same(const struct weir__pattern *a, const struct weir__pattern *b);

/* Which piece is preferred: negative for `a`. 0 when they match the same segments. */
int weir__piece_compare(const struct weir__piece *a, const struct weir__piece *b);

/* "{0}": the text in quotes, control bytes escaped, cut when long. */
#define WEIR__QUOTED 176
const char *weir__quoted(char out[WEIR__QUOTED], const char *text);

/*
 * A host of a route: a name, "*.suffix" or an address in brackets; in lower case, without a dot at
 * the end, to out[]. 0, or -EINVAL with a sentence.
 */
#define WEIR__HOST_SIZE 256
int weir__host_parse(const char *text, char out[WEIR__HOST_SIZE], struct weir__fault *fault);

#endif
