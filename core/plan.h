/*
 * plan.h - the compiled application: what a request is routed to, read without locks.
 *
 *      tree -- router ----> route numbers ----> place ----> plan ----> links
 *        `---- prefixes --> scope numbers ----> place (for what no route answers)
 *
 * Everything here is made by weir__tree_new() and constant afterwards.
 */
#ifndef WEIR_CORE_PLAN_H
#define WEIR_CORE_PLAN_H

#include "router.h"
#include <weir/app.h>

struct weir__app;

/* One hop of a chain. */
struct weir__link {
        weir_request_fn              *on_request;
        void                         *self;
        weir_hook_fn                 *on_response;
        weir_hook_fn                 *on_done;
        const struct weir_middleware *mw;    /* NULL for a handler             */
        enum weir_at                  at;
        enum weir_phase               phase;
        bool                          waits, blocks;
        bool                          passes; /* may return WEIR_NEXT: all but most handlers */
        uint16_t                      response, done; /* the first hooks of links before this one */
        weir_request_fn              *inner; /* of a link that waits or blocks: its own hook, which
                                                on_request calls, or has the crew call */
};

/* Whose hook it is, for log lines. */
static inline const char *weir__link_name(const struct weir__link *link)
{
        return link->mw ? link->mw->name : "the handler";
}

/* A hook that runs on the way back, and the link it belongs to. */
struct weir__hook {
        weir_hook_fn *fn; /* NULL ends a list */
        void         *self;
        uint16_t      link;
};

/* A hook that gets bodies in pieces, and the link it belongs to. */
struct weir__body_hook {
        weir_body_fn *fn; /* NULL ends a list */
        void         *self;
        uint16_t      link;
};

/*
 * A flat array of links; the last one is the handler. The lists of hooks have the last link first,
 * so the hooks of all links before one are what is left of a list from a certain place on. Behind
 * the links stands one more, which only tells these places.
 */
struct weir__plan {
        struct weir__link *links;
        struct weir__hook *on_response, *on_done; /* both in one block with links */
        struct weir__body_hook *on_body; /* in the order of links, in that block; or NULL */
        uint16_t           n_links;
        uint16_t           n_at_headers; /* the links before this one run at headers */
        bool               streams;      /* the body is not kept; all links run at headers */
        bool               holds;        /* but each piece is, since a hook may wait with it */
        bool               waits;        /* a link says .waits, so a stream may wait too */
};

/* Where a request can end up: a route, or a scope that has no route for it. */
struct weir__place {
        struct weir__plan plan;
        const char       *pattern;  /* "" for a scope                   */
        const char       *name;     /* of a route, or NULL              */
        uint32_t          id;       /* of a route, or UINT32_MAX        */
        uint32_t          scope;    /* number of the scope it belongs to */
        int               method;   /* of a route                       */
        uint64_t          max_body;
        enum weir_slash   slash;
        weir_error_fn    *on_error; /* NULL: problem+json               */
        void             *on_error_self;
};

struct weir__tree {
        struct weir__app     *app;
        struct weir__router  *router;
        struct weir__router  *prefixes;   /* scope prefixes, each with a rest behind it    */
        struct weir__place   *route;      /* by route number                               */
        struct weir__place   *scope;      /* by scope number; 0 is the root                */
        uint32_t             *leaf_scope; /* by leaf: the deepest scope above all its routes */
        uint32_t             *parent;     /* by scope                                      */
        uint32_t              n_routes, n_scopes, n_leaves;
        struct weir__plan     observe;    /* the root's OBSERVE links: for guard refusals  */
        uint32_t              methods;    /* that any route serves                         */
        bool                  has_slash_rules;
        bool                  waits, blocks; /* any link does                              */
        struct weir__path_rules path_rules;
};

/* NULL with a sticky error on the app. */
struct weir__tree *weir__tree_new(struct weir__app *app);
void               weir__tree_free(struct weir__tree *tree);

/* The deepest scope that holds both. */
uint32_t weir__tree_common_scope(const struct weir__tree *tree, uint32_t a, uint32_t b);

#endif
