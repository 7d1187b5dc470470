/* router_tree.h - the compiled tree of a router, as its maker writes and the search reads it. */
#ifndef WEIR_CORE_ROUTER_TREE_H
#define WEIR_CORE_ROUTER_TREE_H

#include "path_scan.h"
#include "router.h"

/*
 * A node is one cache line. Its literal children lie in a table of lines; the slot that a segment
 * hashes to is the child, if any is.
 *
 *      +---------------------------------------------------------------------------------+
 *      | first last tag    the literal that leads here                                   |
 *      | skip              then so many segments that are parameters, whatever they are  |
 *      | table mul shift   then the next literal: table[hash(segment) * mul >> shift]    |
 *      | param             or a bare parameter                                           |
 *      | extra             or what is rare: affixes, a rest                              |
 *      | rank leaf         [0]: for paths that end here, [1]: behind the skipped ones    |
 *      +---------------------------------------------------------------------------------+
 *
 * "/repos/{owner}/{repo}" and "/repos/{owner}/{repo}/issues" make three nodes: the root, "repos"
 * with skip 2 and a leaf[1], and "issues". `mul` is such that no two children meet in a slot, so
 * one probe tells. A node with very many children is wide: it has another table, in which buckets
 * of children are moved apart.
 *
 * Nodes 0 and 1 are dead: nothing leads away from them, and no segment is like them. They are the
 * table of a node without one. "No such child" is 0.
 */
struct weir__node {
        uint64_t                 first, last;  /* of the literal: weir__key()                   */
        uint64_t                 mul;
        const struct weir__node *table;
        uint32_t                 param;        /* a node                                        */
        uint32_t                 extra;        /* in aux: a struct weir__extra                  */
        uint32_t                 rank[2];      /* 4 bits per method: its place in leaf->route   */
        uint32_t                 leaf[2];      /* in bytes                                      */
        uint16_t                 tag;          /* length of the literal; and WEIR__CAREFUL      */
        uint8_t                  flags;
        uint8_t                  skip;
        uint8_t                  shift;        /* 64 - log2(slots of the table)                 */
        uint8_t                  wide_shift;   /* the same for the wide table                   */
        uint8_t                  bucket_shift; /* and for its buckets                           */
        uint8_t                  unused;
};

#define WEIR__LINE_SHIFT 6
/* Bits of flags. */
enum {
        WEIR__HAS_PARAM = 1,
        WEIR__HAS_MORE = 2, /* affixes, a rest */
        WEIR__WIDE = 4,
};

/* Tags. A literal is at most WEIR__MAX_PATH long. */
#define WEIR__CAREFUL 0x8000 /* the key does not tell all, or another literal has the same hash */
#define WEIR__HOLE    0x7fff /* like no segment                                                  */

#define WEIR__NO_RANK 15

struct weir__extra {
        uint32_t literal;   /* in text, of a careful node                                   */
        uint32_t next;      /* a node outside the table, whose literal has the same hash    */
        uint32_t wide;      /* node: the first slot of a wide table                         */
        uint32_t buckets;   /* in aux: their displacements                                  */
        uint32_t affix;     /* in aux: n_affixes of struct weir__affix, preferred ones first */
        uint32_t n_affixes;
        uint32_t rest;      /* a node */
};

struct weir__affix {
        uint16_t prefix_len, suffix_len;
        uint32_t text; /* prefix and suffix */
        uint32_t node;
};

/* The way back from a node: its parent, and the first alternative that this has not tried then. */
struct weir__up {
        uint32_t parent;
        uint32_t stage;
};

/*
 * Where a pattern ends: a place. One line, or several for more than 8 routes: first those for
 * methods below WEIR_CUSTOM, then WEIR_ANY, then the app's own.
 */
struct weir__leaf {
        uint32_t number;
        uint32_t methods; /* 1 << method                                                        */
        uint8_t  n_params;
        bool     simple;  /* at most WEIR__FEW_PARAMS, all of them whole segments               */
        uint16_t unused;
        uint32_t trim;    /* in aux, by parameter: prefix_len | suffix_len << 16, or TRIM_REST  */
        uint8_t  seg[WEIR_MAX_PARAMS];
        uint32_t route[];
};

#define WEIR__FEW_PARAMS 3
#define WEIR__TRIM_REST  UINT32_MAX

/* Hosts: an open table. A suffix starts with its dot. */
struct weir__host {
        uint32_t text, len; /* len 0: an empty slot                                               */
        uint32_t root;      /* a node                                                             */
        uint32_t next;      /* slot of the next best pattern for the same hosts, or WEIR__NO_HOST */
};

#define WEIR__NO_HOST UINT32_MAX

/* The arena starts with this. */
struct weir__router {
        _Alignas(64) const struct weir__node *quick; /* root, or dead when there are hosts */
        const struct weir__node *root; /* of routes without a host             */
        const struct weir__node *node;
        const char              *leaves;
        const struct weir__up   *up;                /* by node                              */
        const uint32_t          *aux;
        const uint32_t          *names;             /* by route, in aux: text and length of each */
        const struct weir__host *host;
        const char              *text;
        uint32_t                 host_mask;         /* slots of host[] - 1                  */
        uint32_t                 n_hosts, n_routes, n_nodes, route_end;
        size_t                   bytes;
};

_Static_assert(sizeof(struct weir__node) == 1 << WEIR__LINE_SHIFT, "a node is a cache line");
_Static_assert(sizeof(struct weir__leaf) == 32, "a leaf and 8 routes are a cache line");
_Static_assert(WEIR__MAX_PATH < WEIR__HOLE, "a tag holds any length");

static inline const struct weir__extra *weir__extra_of(const struct weir__router *router,
                                                       const struct weir__node *node)
{
        return (const struct weir__extra *)(const void *)(router->aux + node->extra);
}

static inline const struct weir__leaf *weir__leaf_at(const struct weir__router *router,
                                                     uint32_t leaf)
{
        return (const void *)(router->leaves + leaf);
}

/* ---- Segments as numbers. ---- */

/* What literals and segments are compared by, besides their length. */
struct weir__key {
        uint64_t first, last;
};

/*
 * The key of the first segment, text[0, end) with its slash: the first and the last 8 bytes, zeros
 * before them if there are less. Reads nothing behind `end`: `head` is the beginning of the text.
 */
static inline struct weir__key weir__first_key(const char head[8], const char *text, size_t end)
{
        const char *last = end > 8 ? text + end - 8 : head;
        unsigned shift = end > 8 ? 0 : 64 - 8 * (unsigned)end;

        return (struct weir__key){ weir__load8(head) << shift, weir__load8(last) << shift };
}

/*
 * The key of any other: of text[at, end), without the slash: the first and the last 8 bytes, zeros
 * behind them if there are less. Reads from text[end - 8] on. Of an empty segment it is one that no
 * literal has.
 */
static inline struct weir__key weir__key(const char *text, size_t at, size_t end)
{
        size_t last = end - 8, first = at < last ? at : last;
        unsigned shift = (unsigned)(at - first) * 8 & 63;

        return (struct weir__key){ weir__load8(text + first) >> shift,
                                   weir__load8(text + last) >> shift };
}

static inline struct weir__key weir__path_key(const struct weir__path *path)
{
        return weir__first_key(path->head, path->text, path->cut[1]);
}

/* Longer literals have bytes that their key leaves out. */
#define WEIR__KEY_BYTES 16

static inline uint64_t weir__key_hash(struct weir__key key)
{
        return key.first + key.last;
}

/* The upper bits of the product depend on all bits of the hash. */
static inline uint64_t weir__slot(uint64_t hash, uint64_t mul, unsigned shift)
{
        return hash * mul >> shift;
}

static inline uint64_t weir__wide_slot(uint64_t hash, uint64_t mul, unsigned shift,
                                       uint32_t displacement)
{
        return (weir__slot(hash, mul, shift) + displacement) & UINT64_MAX >> shift;
}

static inline uint32_t weir__bucket(uint64_t hash, unsigned bucket_shift)
{
        return (uint32_t)(hash * UINT64_C(0xd6e8feb86659fd93) >> bucket_shift);
}

/* The slots for a hash: the child, or what is not like it. */
static inline const struct weir__node *weir__child(const struct weir__node *node, uint64_t hash)
{
        return node->table + weir__slot(hash, node->mul, node->shift);
}

static inline const struct weir__node *weir__wide_child(const struct weir__router *router,
                                                        const struct weir__node *node,
                                                        uint64_t hash)
{
        const struct weir__extra *extra = weir__extra_of(router, node);
        const uint32_t *displacement = router->aux + extra->buckets;
        uint32_t bucket = weir__bucket(hash, node->bucket_shift);

        return router->node + extra->wide +
               weir__wide_slot(hash, node->mul, node->wide_shift, displacement[bucket]);
}

static inline uint32_t weir__host_hash(uint32_t hash, char c)
{
        return (hash ^ (uint8_t)c) * 16777619;
}

#endif
