/* router_walk.h - the search of router.c where it is not just literals that match. */
#ifndef WEIR_CORE_ROUTER_WALK_H
#define WEIR_CORE_ROUTER_WALK_H

#include "router_tree.h"

struct weir__walk {
        const struct weir__router *router;
        const struct weir__path   *path;
        int                        method;
        struct weir_str           *param;
        struct weir__match        *match;
        uint32_t                   visits; /* nodes so far */
};

/*
 * Searches on from `node`, which the path has reached with segment i as the next, and which counts
 * as not yet visited. True when a route was found, and is in the match.
 */
bool weir__walk(struct weir__walk *walk, const struct weir__node *node, size_t i);

/* Puts the parameters of a leaf that is not simple into param[]. */
void weir__fill_params(const struct weir__router *router, const struct weir__path *path,
                       const struct weir__leaf *leaf, struct weir_str *param);

#endif
