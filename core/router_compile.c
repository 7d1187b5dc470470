/*
 * router_compile.c - makes the tree of router_tree.h from patterns.
 *
 * The shapes are sorted by host and then segment by segment, the preferred segment first, which is
 * also why the order in which they were added never counts. So all shapes below one node are a
 * range, and its children are the runs in that range with the same next segment.
 */
#include "router_compile.h"

#include "router_table.h"
#include <stdlib.h>

/* A literal child to be. */
struct child {
        struct weir__range range;
        struct weir__key   key;
        uint64_t           hash;
        uint32_t           node;
};

static void build(struct weir__compiler *c, uint32_t node, struct weir__range range);

static const struct weir__pattern *pattern_at(const struct weir__compiler *c, uint32_t i)
{
        return c->order[i].shape->entries->pattern;
}

/* The next segment of the first of the shapes. */
static const struct weir__piece *next_piece(const struct weir__compiler *c,
                                            struct weir__range range)
{
        return &pattern_at(c, range.from)->piece[range.depth];
}

/* What led to the range. */
static const struct weir__piece *last_piece(const struct weir__compiler *c,
                                            struct weir__range range)
{
        return &pattern_at(c, range.from)->piece[range.depth - 1];
}

static bool is_next(const struct weir__compiler *c, struct weir__range range, enum weir__kind kind)
{
        return range.from < range.to && next_piece(c, range)->kind == kind;
}

/* Cuts the run of shapes with the same next segment off the front of *range. */
static struct weir__range next_run(const struct weir__compiler *c, struct weir__range *range)
{
        struct weir__range run = { range->from, range->from + 1, range->depth + 1 };
        struct weir__range rest = { run.to, range->to, range->depth };

        while (rest.from < rest.to &&
               weir__piece_compare(last_piece(c, run), next_piece(c, rest)) == 0)
                rest.from++;
        run.to = range->from = rest.from;
        return run;
}

/* ---- Literals. ---- */

/*
 * The key of the literal that leads to the range. Of a long one it tells the first and the last 8
 * bytes, so it is also the key of these alone.
 */
static struct weir__key literal_key(const struct weir__compiler *c, struct weir__range range)
{
        struct weir_str literal = last_piece(c, range)->prefix;
        char padded[8 + WEIR__KEY_BYTES] = { 0 }, *text = padded + 8;
        size_t slash = range.depth == 1, len = literal.len + slash;

        text[0] = '/'; /* stays if there is a slash */
        if (len > WEIR__KEY_BYTES) {
                memcpy(text + slash, literal.ptr, 8 - slash);
                memcpy(text + 8, literal.ptr + literal.len - 8, 8);
                len = WEIR__KEY_BYTES;
        } else if (literal.len) {
                memcpy(text + slash, literal.ptr, literal.len);
        }
        if (slash)
                return weir__first_key(text, text, len);
        return len ? weir__key(padded, 8, 8 + len) : (struct weir__key){ 0, 0 };
}

/* Makes the node what the literal finds that leads to the range. */
static void set_literal(struct weir__compiler *c, const struct child *child)
{
        struct weir_str literal = last_piece(c, child->range)->prefix;
        struct weir__node *node;

        if (c->no_memory)
                return;
        node = weir__new_node(c, child->node);
        node->first = child->key.first;
        node->last = child->key.last;
        node->tag = (uint16_t)literal.len;
        if (literal.len >= WEIR__KEY_BYTES && weir__need_extra(c, child->node)) {
                uint32_t text = weir__add_text(c, literal);

                weir__new_node(c, child->node)->tag |= WEIR__CAREFUL;
                weir__new_extra(c, child->node)->literal = text;
        }
}

/* `other` has the same hash as the child in the table. */
static void chain(struct weir__compiler *c, const struct child *child, const struct child *other)
{
        if (!weir__need_extra(c, child->node))
                return;
        weir__new_node(c, child->node)->tag |= WEIR__CAREFUL;
        weir__new_extra(c, child->node)->next = other->node;
}

static int compare_children(const void *a, const void *b)
{
        const struct child *x = a, *y = b;

        if (x->hash != y->hash)
                return x->hash < y->hash ? -1 : 1;
        return x->range.from < y->range.from ? -1 : 1;
}

/* Cuts the literals off the front of *range, sorted by hash; how many. */
static uint32_t find_children(const struct weir__compiler *c, struct weir__range *range,
                              struct child *child)
{
        uint32_t n = 0;

        while (is_next(c, *range, WEIR__LITERAL)) {
                child[n].range = next_run(c, range);
                child[n].key = literal_key(c, child[n].range);
                child[n].hash = weir__key_hash(child[n].key);
                n++;
        }
        qsort(child, n, sizeof(*child), compare_children);
        return n;
}

/* Tells the node where its table is. */
static void set_table(struct weir__compiler *c, uint32_t node, const struct weir__table *table,
                      uint32_t first)
{
        uint32_t buckets = weir__add_aux(c, table->n_buckets);

        if (c->no_memory)
                return;
        weir__new_node(c, node)->mul = table->mul;
        if (!table->n_buckets) {
                weir__new_node(c, node)->table = weir__number(first);
                weir__new_node(c, node)->shift = table->shift;
                return;
        }
        memcpy(weir__new_aux(c, buckets), table->displacement,
               table->n_buckets * sizeof(*table->displacement));
        if (!weir__need_extra(c, node))
                return;
        weir__new_node(c, node)->flags |= WEIR__WIDE;
        weir__new_node(c, node)->wide_shift = table->shift;
        weir__new_node(c, node)->bucket_shift = table->bucket_shift;
        weir__new_extra(c, node)->wide = first;
        weir__new_extra(c, node)->buckets = buckets;
}

/* Gives each child a node: its slot of the table; one whose hash was there before, any. */
static void place_children(struct weir__compiler *c, uint32_t node, const struct weir__table *table,
                           struct child *child, uint32_t n)
{
        uint32_t first = weir__add_nodes(c, table->size);

        set_table(c, node, table, first);
        for (uint32_t i = 0; i < n && !c->no_memory; i++) {
                if (i && child[i].hash == child[i - 1].hash) {
                        child[i].node = weir__add_node(c, node, 0);
                        chain(c, &child[i - 1], &child[i]);
                } else {
                        child[i].node = first + weir__table_slot(table, child[i].hash);
                        weir__set_up(c, child[i].node, node, 0);
                }
                set_literal(c, &child[i]);
        }
}

/* A table for the hashes of children, which are sorted. */
static bool make_table(struct weir__table *table, const struct child *child, uint32_t n)
{
        uint64_t *hash = malloc((n + (size_t)1) * sizeof(*hash));
        uint32_t n_hashes = 0;
        bool made;

        if (!hash)
                return false;
        for (uint32_t i = 0; i < n; i++) {
                if (i == 0 || child[i].hash != child[i - 1].hash)
                        hash[n_hashes++] = child[i].hash;
        }
        made = weir__table_make(table, hash, n_hashes);
        free(hash);
        return made;
}

static void add_literals(struct weir__compiler *c, uint32_t node, struct weir__range *range)
{
        struct child *child = malloc((range->to - range->from) * sizeof(*child));
        struct weir__table table = { 0 };
        uint32_t n = child ? find_children(c, range, child) : 0;

        if (!child || !make_table(&table, child, n)) {
                c->no_memory = true;
        } else {
                place_children(c, node, &table, child, n);
                for (uint32_t i = 0; i < n && !c->no_memory; i++)
                        build(c, child[i].node, child[i].range);
        }
        free(table.displacement);
        free(child);
}

/* ---- Parameters. ---- */

/* The nth way in which a segment can be affixed, whose record goes to aux[at]. */
static void add_affix(struct weir__compiler *c, uint32_t node, uint32_t n, uint32_t at,
                      struct weir__range range)
{
        const struct weir__piece *piece = last_piece(c, range);
        struct weir__affix affix = { .prefix_len = (uint16_t)piece->prefix.len,
                                     .suffix_len = (uint16_t)piece->suffix.len,
                                     .text = weir__add_text(c, piece->prefix),
                                     .node = weir__add_node(c, node, n + 1) };

        weir__add_text(c, piece->suffix);
        if (c->no_memory)
                return;
        memcpy(weir__new_aux(c, at), &affix, sizeof(affix));
        build(c, affix.node, range);
}

static void add_affixes(struct weir__compiler *c, uint32_t node, struct weir__range *range)
{
        const uint32_t words = sizeof(struct weir__affix) / sizeof(uint32_t);
        struct weir__range ahead = *range;
        uint32_t n = 0, affix;

        for (; is_next(c, ahead, WEIR__AFFIXED); n++)
                next_run(c, &ahead);
        affix = weir__add_aux(c, (size_t)n * words);
        if (!weir__need_extra(c, node))
                return;
        weir__new_node(c, node)->flags |= WEIR__HAS_MORE;
        weir__new_extra(c, node)->affix = affix;
        weir__new_extra(c, node)->n_affixes = n;
        for (uint32_t i = 0; i < n && !c->no_memory; i++)
                add_affix(c, node, i, affix + i * words, next_run(c, range));
}

/* How many alternatives come before the bare parameter. */
static uint32_t n_affixes(struct weir__compiler *c, uint32_t node)
{
        return weir__new_node(c, node)->extra ? weir__new_extra(c, node)->n_affixes : 0;
}

static void add_bare(struct weir__compiler *c, uint32_t node, struct weir__range *range)
{
        struct weir__range run = next_run(c, range);
        uint32_t param = weir__add_node(c, node, n_affixes(c, node) + 1);

        if (c->no_memory)
                return;
        weir__new_node(c, node)->param = param;
        weir__new_node(c, node)->flags |= WEIR__HAS_PARAM;
        build(c, param, run);
}

static void add_rest(struct weir__compiler *c, uint32_t node, struct weir__range *range)
{
        uint32_t rest = weir__add_node(c, node, 0);

        if (!weir__need_extra(c, node))
                return;
        weir__new_node(c, node)->flags |= WEIR__HAS_MORE;
        weir__new_extra(c, node)->rest = rest;
        weir__add_leaf(c, rest, 0, c->order[range->from++].shape);
}

/* ---- Nodes. ---- */

static bool ends_here(const struct weir__compiler *c, struct weir__range range)
{
        return range.from < range.to && pattern_at(c, range.from)->n == range.depth;
}

/* Is a bare parameter the only way on? They are sorted by kind. */
static bool only_bare(const struct weir__compiler *c, struct weir__range range)
{
        struct weir__range last = { range.to - 1, range.to, range.depth };

        return is_next(c, range, WEIR__BARE) && is_next(c, last, WEIR__BARE);
}

/* Parameters that there is no choice about belong to the node itself, up to the first leaf. */
static void skip_params(struct weir__compiler *c, uint32_t node, struct weir__range *range)
{
        while (only_bare(c, *range)) {
                weir__new_node(c, node)->skip++;
                range->depth++;
                if (ends_here(c, *range)) {
                        weir__add_leaf(c, node, 1, c->order[range->from++].shape);
                        return;
                }
        }
}

static void build(struct weir__compiler *c, uint32_t node, struct weir__range range)
{
        bool is_root = range.depth == 0;

        if (ends_here(c, range))
                weir__add_leaf(c, node, 0, c->order[range.from++].shape);
        if (!is_root && !c->no_memory)
                skip_params(c, node,
                            &range); /* the first key is always that of the first segment */
        if (c->no_memory)
                return;
        if (weir__new_node(c, node)->skip == 0) {
                weir__new_node(c, node)->rank[1] = weir__new_node(c, node)->rank[0];
                weir__new_node(c, node)->leaf[1] = weir__new_node(c, node)->leaf[0];
        }
        if (is_next(c, range, WEIR__LITERAL))
                add_literals(c, node, &range);
        if (is_next(c, range, WEIR__AFFIXED) && !c->no_memory)
                add_affixes(c, node, &range);
        if (is_next(c, range, WEIR__BARE) && !c->no_memory)
                add_bare(c, node, &range);
        if (is_next(c, range, WEIR__REST) && !c->no_memory)
                add_rest(c, node, &range);
}

void weir__build(struct weir__compiler *c, uint32_t root, struct weir__range range)
{
        build(c, root, range);
}
