/* router.h - from host, path and method to a route: patterns are added, then frozen. */
#ifndef WEIR_CORE_ROUTER_H
#define WEIR_CORE_ROUTER_H

#include "path.h"
#include <weir/ctx.h>

#define WEIR__NO_ROUTE   UINT32_MAX
#define WEIR__NO_METHOD  29 /* matches no route, not even WEIR_ANY: what TRACE gets */
#define WEIR__MAX_MISSED 16

/* ---- Building. ---- */

struct weir__routes;

struct weir__routes *weir__routes_new(void);
void                 weir__routes_free(struct weir__routes *routes);

/*
 * Adds a pattern. `route` is the caller's dense number. 0 and *leaf: the dense number of the place
 * (host and shape) that it shares with the same pattern for other methods. -EEXIST, -EINVAL,
 * -E2BIG (a limit) with a sentence in `error` that quotes the pattern, and the one that it
 * conflicts with; -ENOMEM. `host` is NULL, a name, or "*.suffix", in any case.
 */
int weir__routes_add(struct weir__routes *routes, const char *host, int method, const char *pattern,
                     uint32_t route, uint32_t *leaf, char *error, size_t error_size);

/* ---- Looking up: immutable, any number of threads. ---- */

struct weir__router;

/* NULL when memory is out. Needs `routes` no more afterwards. */
struct weir__router *weir__router_new(const struct weir__routes *routes);
void                 weir__router_free(struct weir__router *router);

struct weir__match {
        uint32_t route;    /* the number given to weir__routes_add(), or WEIR__NO_ROUTE       */
        uint32_t allow;    /* without a route: methods that match the path, as 1 << method    */
        uint32_t n_missed; /* without a route: places that match the path but not the method; */
        uint32_t missed[WEIR__MAX_MISSED];   /* the first of them, perhaps not all            */
        uint32_t n_params;
        uint8_t  param_seg[WEIR_MAX_PARAMS]; /* the segment that each parameter lies in       */
};

/*
 * The best route for `path`, `method` and `host` (lower case, no port; absent or NULL for none). A
 * bare HEAD is served by GET; WEIR_ANY serves what nothing else does. Visits no node twice.
 *
 * Writes the parameters to param[WEIR_MAX_PARAMS], views of path->text; those from n_params on are
 * left with anything. A path with a gap matches nothing, and WEIR__NO_METHOD neither.
 */
bool weir__router_find(const struct weir__router *router, const struct weir__path *path,
                       const struct weir_str *host, int method, struct weir_str *param,
                       struct weir__match *match);

/* The raw form of parameter `i` of a match: a view of path->raw. */
struct weir_str weir__router_raw_param(const struct weir__path *path,
                                       const struct weir__match *match,
                                       const struct weir_str *param, uint32_t i);

/* For tests and reports: nodes in all, nodes that a lookup visited, bytes of the arena. */
struct weir__router_facts {
        size_t nodes, bytes, routes;
};
void     weir__router_facts(const struct weir__router *router, struct weir__router_facts *facts);
uint32_t weir__router_visits(const struct weir__router *router, const struct weir__path *path,
                             struct weir_str host, int method);

/* The name of parameter `i` of `route`, as its pattern spells it. */
struct weir_str weir__router_param_name(const struct weir__router *router, uint32_t route,
                                        uint32_t i);

#endif
