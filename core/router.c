/*
 * router.c - finds the route for a path.
 *
 * The tree is drawn in router_tree.h. Most requests go down it by literals, with parameters that
 * there is no choice about, to a leaf that has their method. That is done here, in few steps and
 * almost without branches that depend on the path. Where it takes more, a choice, a way back, an
 * unusual method, router_walk.c goes on from the node that was reached.
 */
#include "router.h"

#include "path_cpu.h"
#include "router_host.h"
#include "router_walk.h"

/* ---- The quick way down. ---- */

/* A node, and the segment behind what it skips. */
struct spot {
        const struct weir__node *node;
        size_t                   at;
};

/* Is the child, which may be a hole, not simply the literal of this key and length? */
static WEIR__INLINE bool differs(const struct weir__node *child, struct weir__key key, size_t len)
{
        return (child->first ^ key.first) | (child->last ^ key.last) | (child->tag ^ len);
}

/* The child for a segment, by way of a wide table. NULL where it takes more to know. */
static WEIR__COLD const struct weir__node *other_child(const struct weir__router *router,
                                                       const struct weir__path *path,
                                                       const struct weir__node *node, size_t at)
{
        size_t begin = path->cut[at] + (size_t)1, end = path->cut[at + 1], len = end - begin;
        struct weir__key key = at ? weir__key(path->text, begin, end) : weir__path_key(path);
        const struct weir__node *child;

        if (!(node->flags & WEIR__WIDE))
                return NULL;
        child = weir__wide_child(router, node, weir__key_hash(key));
        if (!differs(child, key, len))
                return child;
        if (node->flags & WEIR__HAS_MORE || len == 0 || child->tag & WEIR__CAREFUL)
                return NULL;
        return node->param ? router->node + node->param : NULL;
}

/* One segment on, and over those that are skipped. False when the segment stops it. */
static WEIR__INLINE bool step(const struct weir__router *router, const struct weir__path *path,
                 struct spot *spot, struct weir__key key, size_t len)
{
        const struct weir__node *node = spot->node;
        const struct weir__node *child = weir__child(node, weir__key_hash(key));

        if (WEIR__UNLIKELY(differs(child, key, len))) {
                if (node->flags == WEIR__HAS_PARAM && len > 0 && !(child->tag & WEIR__CAREFUL))
                        child = router->node + node->param;
                else
                        child = other_child(router, path, node, spot->at);
                if (!child)
                        return false;
        }
        spot->node = child;
        spot->at += child->skip + (size_t)1;
        return true;
}

/* To where the path ends. False when a segment stops it before. */
static WEIR__INLINE bool descend(const struct weir__router *router, const struct weir__path *path,
                           struct spot *spot)
{
        if (!step(router, path, spot, weir__path_key(path), path->cut[1] - (size_t)1))
                return false;
        while (spot->at < path->n) {
                size_t begin = path->cut[spot->at] + (size_t)1, end = path->cut[spot->at + 1];

                if (WEIR__UNLIKELY(end < 8))
                        return false; /* too near the beginning for weir__key() */
                if (!step(router, path, spot, weir__key(path->text, begin, end), end - begin))
                        return false;
        }
        return true;
}

/*
 * The leaf at the end of the path, and in it the place of the route for a method below WEIR_CUSTOM.
 * NULL when there is none, or more to do about it.
 */
static WEIR__INLINE const struct weir__leaf *leaf_at(const struct weir__router *router,
                                                     struct spot spot, size_t n, unsigned method,
                                                     uint32_t *rank)
{
        size_t over = spot.at - n; /* behind all that the node skips it is 0, before them skip */
        bool behind = over == 0;
        const struct weir__leaf *leaf = weir__leaf_at(router, spot.node->leaf[behind]);

        *rank = spot.node->rank[behind] >> 4 * method & 15;
        if (WEIR__UNLIKELY(over - 1 < spot.node->skip - (size_t)1 || *rank == WEIR__NO_RANK))
                return NULL;
        return WEIR__LIKELY(leaf->simple) ? leaf : NULL;
}

static WEIR__INLINE void put_param(const struct weir__path *path, const struct weir__leaf *leaf,
                                   size_t i, struct weir_str *param)
{
        size_t seg = leaf->seg[i], at = path->cut[seg], end = path->cut[seg + 1];

        param[i].ptr = path->text + at + 1;
        param[i].len = end - at - 1;
}

/* Puts WEIR__FEW_PARAMS, whether there are so many or not: that is cheaper than to ask. */
static WEIR__INLINE void deliver(const struct weir__path *path, const struct weir__leaf *leaf,
                                 uint32_t rank, struct weir_str *param, struct weir__match *match)
{
        match->route = leaf->route[rank];
        match->n_params = leaf->n_params;
        memcpy(match->param_seg, leaf->seg, sizeof(leaf->seg));
        put_param(path, leaf, 0, param);
        put_param(path, leaf, 1, param);
        put_param(path, leaf, 2, param);
}

/* ---- The whole. ---- */

/* Searches the trees for the host, the most particular one first, and then that for all hosts. */
static bool search_hosts(struct weir__walk *walk, struct weir_str host)
{
        const struct weir__router *router = walk->router;
        uint32_t slot = weir__host_find(router, host);

        while (slot != WEIR__NO_HOST) {
                if (weir__walk(walk, router->node + router->host[slot].root, 0))
                        return true;
                slot = router->host[slot].next;
        }
        return weir__walk(walk, router->root, 0);
}

/* The quick way ended at the spot, with hosts at once. */
static WEIR__COLD bool search(const struct weir__router *router, const struct weir__path *path,
                              const struct weir_str *host, int method, struct weir_str *param,
                              struct weir__match *match, struct spot spot)
{
        struct weir__walk walk = { router, path, method, param, match, 0 };

        if (router->n_hosts)
                return search_hosts(&walk, host ? *host : (struct weir_str){ 0 });
        return weir__walk(&walk, spot.node, spot.at - spot.node->skip);
}

static WEIR__INLINE bool find(const struct weir__router *router, const struct weir__path *path,
                 const struct weir_str *host, int method, struct weir_str *param,
                                                       struct weir__match *match)
{
        struct spot spot = { router->quick, 0 };

        match->allow = match->n_missed = 0;
        if (WEIR__LIKELY(path->plain && (unsigned)method < WEIR_CUSTOM) &&
            WEIR__LIKELY(descend(router, path, &spot))) {
                uint32_t rank;
                const struct weir__leaf *leaf = leaf_at(router, spot, path->n, (unsigned)method,
                                                        &rank);

                if (leaf) {
                        deliver(path, leaf, rank, param, match);
                        return true;
                }
        }
        return search(router, path, host, method, param, match, spot);
}

static WEIR__APART bool find_portable(const struct weir__router *router,
                                      const struct weir__path *path, const struct weir_str *host,
                                      int method, struct weir_str *param, struct weir__match *match)
{
        return find(router, path, host, method, param, match);
}

#ifdef WEIR__BMI

/* The same, with shifts that cost less. */
WEIR__BMI static WEIR__APART bool find_bmi(const struct weir__router *router,
                                           const struct weir__path *path,
                                           const struct weir_str *host, int method,
                                           struct weir_str *param, struct weir__match *match)
{
        return find(router, path, host, method, param, match);
}

#endif

bool weir__router_find(const struct weir__router *router, const struct weir__path *path,
                       const struct weir_str *host, int method, struct weir_str *param,
                       struct weir__match *match)
{
#ifdef WEIR__BMI
        if (weir__has_bmi())
                return find_bmi(router, path, host, method, param, match);
#endif
        return find_portable(router, path, host, method, param, match);
}

/* ---- Around it. ---- */

/* The raw text that decodes to the first `n` bytes of it: how long it is. */
static size_t raw_length(struct weir_str raw, size_t n)
{
        size_t at = 0;

        while (n-- > 0 && at < raw.len)
                at += raw.ptr[at] == '%' ? 3 : 1;
        return at < raw.len ? at : raw.len;
}

struct weir_str weir__router_raw_param(const struct weir__path *path,
                                       const struct weir__match *match,
                                       const struct weir_str *param, uint32_t i)
{
        struct weir_str seg = weir__path_segment(path, match->param_seg[i]);
        struct weir_str raw = weir__path_raw_segment(path, match->param_seg[i]);
        size_t before = (size_t)(param[i].ptr - seg.ptr);
        size_t skip;

        if (before + param[i].len > seg.len) { /* a rest of several segments */
                struct weir_str last = weir__path_raw_segment(path, path->n - 1);

                return (struct weir_str){ raw.ptr, (size_t)(last.ptr + last.len - raw.ptr) };
        }
        skip = raw_length(raw, before);
        raw.ptr += skip;
        raw.len = raw_length((struct weir_str){ raw.ptr, raw.len - skip }, param[i].len);
        return raw;
}

void weir__router_facts(const struct weir__router *router, struct weir__router_facts *facts)
{
        *facts = (struct weir__router_facts){
                .nodes = router->n_nodes,
                .bytes = router->bytes,
                .routes = router->n_routes,
        };
}

uint32_t weir__router_visits(const struct weir__router *router, const struct weir__path *path,
                             struct weir_str host, int method)
{
        struct weir_str param[WEIR_MAX_PARAMS];
        struct weir__match match = { 0 };
        struct weir__walk walk = { router, path, method, param, &match, 0 };

        search_hosts(&walk, host);
        return walk.visits;
}

struct weir_str weir__router_param_name(const struct weir__router *router, uint32_t route,
                                        uint32_t i)
{
        const uint32_t *name = router->aux + router->names[route] + 2 * i;

        return (struct weir_str){ router->text + name[0], name[1] };
}
