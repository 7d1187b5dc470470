/* router_model.h - what a router should do, in a way that is slow and obvious. */
#ifndef WEIR_TESTS_ROUTER_MODEL_H
#define WEIR_TESTS_ROUTER_MODEL_H

#include "router.h"

#define MODEL_SEGMENTS 8 /* segments of a pattern */
#define MODEL_TEXT 400

/* In the order of preference. */
enum model_kind { MODEL_LITERAL, MODEL_AFFIXED, MODEL_BARE, MODEL_REST };

struct model_segment {
        enum model_kind   kind;
        const char *prefix, *suffix;
};

struct model_pattern {
        struct model_segment segment[MODEL_SEGMENTS];
        unsigned       n;
        const char    *host; /* NULL, a name, "*.suffix" */
        int            method;
        uint32_t       leaf;
        bool           added;
};

/* A path as the model reads it: decoded segments, with their raw forms. */
struct model_path {
        enum weir__path_status status;
        char                   text[40][MODEL_TEXT];
        unsigned               n;
};

/* Reads a path; of the statuses only OK and BAD. */
void model_read(struct model_path *path, const char *raw, const struct weir__path_rules *rules);

/* Writes the pattern as weir spells it. */
void model_spell(const struct model_pattern *pattern, char *to);

/* Are they for the same requests? */
bool model_same(const struct model_pattern *a, const struct model_pattern *b);

/*
 * Of the patterns that were added, the best one for the request; NULL when none is. *allow: the
 * methods of those that match but for the method, as 1 << method.
 */
const struct model_pattern *model_best(const struct model_pattern *all, unsigned n,
                                       const struct model_path *path, const char *host, int method,
                                       uint32_t *allow);

#endif
