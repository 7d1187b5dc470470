/*
 * router_walk.c - the search with all its alternatives.
 *
 * A node tries the literal, then affixes, the longest prefix and then the longest suffix first,
 * then the bare parameter, then the rest. When a child fails, the search goes back to its parent
 * and on with the next of these, which the child knows. So the first route found is the best, there
 * is no stack, and since a node has one parent and a fixed depth, none is visited twice.
 */
#include "router_walk.h"

static const struct weir__node *node_at(const struct weir__walk *walk, uint32_t node)
{
        return node ? walk->router->node + node : NULL;
}

/* ---- Literals. ---- */

static struct weir__key key_of(const struct weir__path *path, size_t i)
{
        size_t at = path->cut[i] + (size_t)1, end = path->cut[i + 1];
        char padded[16] = { 0 };

        if (i == 0)
                return weir__path_key(path);
        if (at == end)
                return (struct weir__key){ 0, 0 };
        if (end >= 8)
                return weir__key(path->text, at, end);
        memcpy(padded + 8, path->text, end);
        return weir__key(padded, 8 + at, 8 + end);
}

static bool is_literal(const struct weir__walk *walk, const struct weir__node *node,
                       struct weir__key key, struct weir_str seg)
{
        const struct weir__extra *extra = weir__extra_of(walk->router, node);

        if (node->first != key.first || node->last != key.last ||
            (node->tag & ~WEIR__CAREFUL) != seg.len)
                return false;
        return !(node->tag & WEIR__CAREFUL) || seg.len < WEIR__KEY_BYTES ||
               memcmp(walk->router->text + extra->literal, seg.ptr, seg.len) == 0;
}

static const struct weir__node *literal(const struct weir__walk *walk,
                                        const struct weir__node *node, size_t i)
{
        struct weir__key key = key_of(walk->path, i);
        struct weir_str seg = weir__path_segment(walk->path, (uint32_t)i);
        uint64_t hash = weir__key_hash(key);
        const struct weir__node *child = node->flags & WEIR__WIDE
                                                 ? weir__wide_child(walk->router, node, hash)
                                                 : weir__child(node, hash);

        while (child && !is_literal(walk, child, key, seg)) {
                if (!(child->tag & WEIR__CAREFUL))
                        return NULL;
                child = node_at(walk, weir__extra_of(walk->router, child)->next);
        }
        return child;
}

/* ---- Arriving. ---- */

static struct weir_str trimmed(const struct weir__path *path, uint32_t seg, uint32_t trim)
{
        struct weir_str value = weir__path_segment(path, seg);

        if (trim == WEIR__TRIM_REST) {
                size_t end = path->cut[path->n] < path->len ? path->cut[path->n] : path->len;

                value.len = (size_t)(path->text + end - value.ptr);
        } else {
                value.ptr += trim & UINT16_MAX;
                value.len -= (trim & UINT16_MAX) + (trim >> 16);
        }
        return value;
}

void weir__fill_params(const struct weir__router *router, const struct weir__path *path,
                       const struct weir__leaf *leaf, struct weir_str *param)
{
        for (uint32_t i = 0; i < leaf->n_params; i++)
                param[i] = trimmed(path, leaf->seg[i], router->aux[leaf->trim + i]);
}

static bool has_method(const struct weir__leaf *leaf, int method)
{
        return leaf->methods >> method & 1;
}

/* The place of the method's route in leaf->route; -1 when it has none. */
static int find_rank(const struct weir__leaf *leaf, uint32_t rank, int method)
{
        unsigned any = rank >> 4 * WEIR_CUSTOM;

        if (method == WEIR__NO_METHOD)
                return -1;
        if (method < WEIR_CUSTOM)
                any = rank >> 4 * method & 15;
        else if (method < WEIR_UNKNOWN_METHOD && has_method(leaf, method))
                return __builtin_popcount(leaf->methods & ((UINT32_C(1) << method) - 1)) +
                       has_method(leaf, WEIR_ANY);
        return any == WEIR__NO_RANK ? -1 : (int)any;
}

/* The path ends at leaf[side]. */
static bool arrive(const struct weir__walk *walk, const struct weir__node *node, unsigned side)
{
        struct weir__match *match = walk->match;
        const struct weir__leaf *leaf = weir__leaf_at(walk->router, node->leaf[side]);
        int rank;

        if (node->leaf[side] == 0)
                return false;
        rank = find_rank(leaf, node->rank[side], walk->method);
        if (rank < 0) {
                match->allow |= leaf->methods;
                if (match->n_missed < WEIR__MAX_MISSED)
                        match->missed[match->n_missed] = leaf->number;
                match->n_missed++;
                return false;
        }
        match->route = leaf->route[rank];
        match->n_params = leaf->n_params;
        memcpy(match->param_seg, leaf->seg, sizeof(leaf->seg));
        weir__fill_params(walk->router, walk->path, leaf, walk->param);
        return true;
}

/* The path ends `over` segments before the end of those that the node skips. */
static bool arrive_at(const struct weir__walk *walk, const struct weir__node *node, size_t over)
{
        const struct weir__path *path = walk->path;

        if (over == node->skip)
                return arrive(walk, node, 0);
        return over == 0 && !weir__path_ends_empty(path) && arrive(walk, node, 1);
}

/* ---- The other ways. ---- */

static bool has_affixes(const char *text, const struct weir__affix *affix, struct weir_str seg)
{
        size_t prefix = affix->prefix_len, suffix = affix->suffix_len;

        return seg.len > prefix + suffix && memcmp(seg.ptr, text, prefix) == 0 &&
               memcmp(seg.ptr + seg.len - suffix, text + prefix, suffix) == 0;
}

/*
 * The child behind the first alternative from `stage` on that takes segment i; NULL when there is
 * none. A rest takes all that is left: then *found tells whether that was a route.
 */
static const struct weir__node *turn(struct weir__walk *walk, const struct weir__node *node,
                                     size_t i, uint32_t stage, bool *found)
{
        const struct weir__router *router = walk->router;
        const struct weir__extra *extra = weir__extra_of(router, node);
        const struct weir__affix *affix = (const void *)(router->aux + extra->affix);
        struct weir_str seg = weir__path_segment(walk->path, (uint32_t)i);

        for (; stage < extra->n_affixes; stage++) {
                if (has_affixes(router->text + affix[stage].text, &affix[stage], seg))
                        return node_at(walk, affix[stage].node);
        }
        if (stage == extra->n_affixes && node->param && seg.len > 0)
                return node_at(walk, node->param);
        if (extra->rest) {
                walk->visits++;
                *found = arrive(walk, node_at(walk, extra->rest), 0);
        }
        return NULL;
}

static bool search(struct weir__walk *walk, const struct weir__node *node, size_t i)
{
        const struct weir__router *router = walk->router;
        size_t n = walk->path->n;
        bool found = false;

        for (;;) {
                size_t at = i + node->skip;
                const struct weir__node *next = NULL;

                walk->visits++;
                if (at >= n) {
                        found = arrive_at(walk, node, at - n);
                } else {
                        next = literal(walk, node, at);
                        if (!next)
                                next = turn(walk, node, at, 0, &found);
                }
                while (!next && !found) {
                        struct weir__up up = router->up[node - router->node];

                        if (!up.parent)
                                return false;
                        node = node_at(walk, up.parent);
                        at = i - 1;
                        i = at - node->skip;
                        next = turn(walk, node, at, up.stage, &found);
                }
                if (found)
                        return true;
                node = next;
                i = at + 1;
        }
}

bool weir__walk(struct weir__walk *walk, const struct weir__node *node, size_t i)
{
        if (!walk->path->has_gap && search(walk, node, i))
                return true;
        walk->match->route = WEIR__NO_ROUTE;
        walk->match->n_params = 0;
        return false;
}
