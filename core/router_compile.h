/* router_compile.h - what the files that compile a router share. */
#ifndef WEIR_CORE_ROUTER_COMPILE_H
#define WEIR_CORE_ROUTER_COMPILE_H

#include "router_routes.h"
#include "router_tree.h"

/* A growing array of things of one size. */
struct weir__vec {
        char  *at;
        size_t n, cap, size;
};

struct weir__sorted {
        const struct weir__shape *shape;
};

/* A router being made. Its parts grow, so all refer to each other by index. */
struct weir__compiler {
        const struct weir__routes *routes;
        struct weir__sorted       *order; /* all shapes                      */
        struct weir__vec           nodes;
        struct weir__vec           ups;   /* as many as nodes                */
        struct weir__vec           leaves;
        struct weir__vec           aux;
        struct weir__vec           text;
        uint32_t                  *names; /* as in the router                */
        struct weir__host         *host;
        uint32_t                   root, host_mask;
        uint32_t                   n_nodes; /* that are not holes            */
        bool                       no_memory; /* and nothing more is made    */
};

/* While it is made a node has the number of its table in the place of the address. */
static inline const struct weir__node *weir__number(uint32_t table)
{
        return (const struct weir__node *)(uintptr_t)table;
}

/* ---- Parts: index 0 of each is nothing. What is made without memory is 0. ---- */

struct weir__node  *weir__new_node(struct weir__compiler *c, uint32_t node);
struct weir__extra *weir__new_extra(struct weir__compiler *c, uint32_t node);
uint32_t           *weir__new_aux(struct weir__compiler *c, uint32_t at);

/* `n` nodes in a row that are like no segment. */
uint32_t weir__add_nodes(struct weir__compiler *c, size_t n);
uint32_t weir__add_leaves(struct weir__compiler *c, size_t lines);
uint32_t weir__add_aux(struct weir__compiler *c, size_t words);
uint32_t weir__add_text(struct weir__compiler *c, struct weir_str text);

/* A node that lies in no table. */
uint32_t weir__add_node(struct weir__compiler *c, uint32_t parent, uint32_t stage);

/* Makes a node a child. */
void weir__set_up(struct weir__compiler *c, uint32_t node, uint32_t parent, uint32_t stage);

/* Gives the node an extra, unless it has one; false without memory. */
bool weir__need_extra(struct weir__compiler *c, uint32_t node);

/* The leaf of a shape, for paths that end at the node (side 0), or behind what it skips (1). */
void weir__add_leaf(struct weir__compiler *c, uint32_t node, unsigned side,
                    const struct weir__shape *shape);

/* ---- The tree. ---- */

/* Shapes order[from, to), which have the first `depth` segments in common. */
struct weir__range {
        uint32_t from, to, depth;
};

/* Hangs the shapes of the range, which are of one host, under the root. */
void weir__build(struct weir__compiler *c, uint32_t root, struct weir__range range);

#endif
