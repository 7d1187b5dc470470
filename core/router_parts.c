/* router_parts.c - makes the parts of a compiled router: lines, texts, leaves. */
#include "router_compile.h"

#include <stdlib.h>

/* ---- Growing. ---- */

/* The index of `n` new things, all zero. */
static uint32_t extend(struct weir__compiler *c, struct weir__vec *vec, size_t n)
{
        size_t at = vec->n;

        if (at + n > vec->cap || !vec->at) {
                size_t cap = 2 * (at + n) + 32;
                char *grown = c->no_memory ? NULL : realloc(vec->at, cap * vec->size);

                if (!grown) {
                        c->no_memory = true;
                        return 0;
                }
                vec->at = grown;
                vec->cap = cap;
        }
        memset(vec->at + at * vec->size, 0, n * vec->size);
        vec->n += n;
        return (uint32_t)at;
}

struct weir__node *weir__new_node(struct weir__compiler *c, uint32_t node)
{
        return (struct weir__node *)(void *)c->nodes.at + node;
}

uint32_t *weir__new_aux(struct weir__compiler *c, uint32_t at)
{
        return (uint32_t *)(void *)c->aux.at + at;
}

struct weir__extra *weir__new_extra(struct weir__compiler *c, uint32_t node)
{
        return (struct weir__extra *)(void *)weir__new_aux(c, weir__new_node(c, node)->extra);
}

uint32_t weir__add_text(struct weir__compiler *c, struct weir_str text)
{
        uint32_t at = extend(c, &c->text, text.len);

        if (!c->no_memory && text.len)
                memcpy(c->text.at + at, text.ptr, text.len);
        return at;
}

uint32_t weir__add_leaves(struct weir__compiler *c, size_t lines)
{
        return extend(c, &c->leaves, lines);
}

uint32_t weir__add_aux(struct weir__compiler *c, size_t words)
{
        return extend(c, &c->aux, words);
}

uint32_t weir__add_nodes(struct weir__compiler *c, size_t n)
{
        uint32_t at = extend(c, &c->nodes, n);

        extend(c, &c->ups, n);
        for (uint32_t i = 0; i < n && !c->no_memory; i++) {
                *weir__new_node(c, at + i) = (struct weir__node){
                        .tag = WEIR__HOLE,
                        .shift = 63,
                        .rank = { UINT32_MAX, UINT32_MAX },
                };
        }
        return at;
}

uint32_t weir__add_node(struct weir__compiler *c, uint32_t parent, uint32_t stage)
{
        uint32_t node = weir__add_nodes(c, 1);

        weir__set_up(c, node, parent, stage);
        return node;
}

void weir__set_up(struct weir__compiler *c, uint32_t node, uint32_t parent, uint32_t stage)
{
        struct weir__up up = { parent, stage };

        c->n_nodes++;
        if (!c->no_memory)
                memcpy(c->ups.at + node * sizeof(up), &up, sizeof(up));
}

bool weir__need_extra(struct weir__compiler *c, uint32_t node)
{
        if (!c->no_memory && weir__new_node(c, node)->extra == 0) {
                uint32_t extra = weir__add_aux(c, sizeof(struct weir__extra) / sizeof(uint32_t));

                weir__new_node(c, node)->extra = extra;
        }
        return !c->no_memory;
}

/* ---- Leaves. ---- */

#define MAX_ENTRIES (WEIR_CUSTOM + 17) /* a method each, and WEIR_ANY */

/* The entries of a shape in the order of leaf->route. */
struct methods {
        const struct weir__entry *entry[MAX_ENTRIES];
        uint32_t                  n;
};

static int method_order(int method)
{
        if (method < WEIR_CUSTOM)
                return method;
        return method == WEIR_ANY ? WEIR_CUSTOM : method + 1;
}

static struct methods sort_methods(const struct weir__shape *shape)
{
        struct methods m = { .n = 0 };

        for (const struct weir__entry *entry = shape->entries; entry; entry = entry->next) {
                int order = method_order(entry->method);
                uint32_t at = m.n++;

                for (; at && method_order(m.entry[at - 1]->method) > order; at--)
                        m.entry[at] = m.entry[at - 1];
                m.entry[at] = entry;
        }
        return m;
}

/* The place of the route that serves `method`: HEAD is served by GET, all by any. */
static uint32_t rank_of(const struct methods *m, int method)
{
        for (uint32_t i = 0; i < m->n; i++) {
                if (m->entry[i]->method == method)
                        return i;
        }
        if (method == WEIR_HEAD)
                return rank_of(m, WEIR_GET);
        return method == WEIR_ANY ? WEIR__NO_RANK : rank_of(m, WEIR_ANY);
}

static uint32_t all_ranks(const struct methods *m)
{
        uint32_t ranks = rank_of(m, WEIR_ANY) << 4 * WEIR_CUSTOM;

        for (int method = 0; method < WEIR_CUSTOM; method++)
                ranks |= rank_of(m, method) << 4 * method;
        return ranks;
}

static uint32_t trim_of(const struct weir__piece *piece)
{
        if (piece->kind == WEIR__REST)
                return WEIR__TRIM_REST;
        return (uint32_t)(piece->prefix.len | piece->suffix.len << 16);
}

/* Where the parameters are. */
static void place_params(struct weir__compiler *c, struct weir__leaf *leaf,
                         const struct weir__pattern *pattern)
{
        leaf->trim = weir__add_aux(c, pattern->n_params);
        leaf->simple = pattern->n_params <= WEIR__FEW_PARAMS;
        for (uint32_t i = 0; i < pattern->n && !c->no_memory; i++) {
                const struct weir__piece *piece = &pattern->piece[i];

                if (piece->kind == WEIR__LITERAL)
                        continue;
                weir__new_aux(c, leaf->trim)[leaf->n_params] = trim_of(piece);
                leaf->seg[leaf->n_params++] = (uint8_t)i;
                leaf->simple &= piece->kind == WEIR__BARE;
        }
}

static void name_params(struct weir__compiler *c, const struct weir__entry *entry)
{
        const struct weir__pattern *pattern = entry->pattern;
        uint32_t names = weir__add_aux(c, 2 * (size_t)pattern->n_params), n = names;

        for (uint32_t i = 0; i < pattern->n; i++) {
                struct weir_str name = pattern->piece[i].name;
                uint32_t text = weir__add_text(c, name);

                if (!name.len || c->no_memory)
                        continue;
                *weir__new_aux(c, n++) = text;
                *weir__new_aux(c, n++) = (uint32_t)name.len;
        }
        c->names[entry->route] = names;
}

void weir__add_leaf(struct weir__compiler *c, uint32_t node, unsigned side,
                    const struct weir__shape *shape)
{
        const size_t line = c->leaves.size, head = sizeof(struct weir__leaf);
        struct weir__leaf leaf = { .number = (uint32_t)(shape - c->routes->shape) };
        struct methods m = sort_methods(shape);
        uint32_t at = weir__add_leaves(c, (head + m.n * sizeof(uint32_t) + line - 1) / line);

        place_params(c, &leaf, shape->entries->pattern);
        for (uint32_t i = 0; i < m.n; i++) {
                leaf.methods |= UINT32_C(1) << (m.entry[i]->method & 31);
                name_params(c, m.entry[i]);
        }
        if (c->no_memory)
                return;
        memcpy(c->leaves.at + at * line, &leaf, head);
        for (uint32_t i = 0; i < m.n; i++) {
                memcpy(c->leaves.at + at * line + head + i * sizeof(uint32_t), &m.entry[i]->route,
                       sizeof(uint32_t));
        }
        weir__new_node(c, node)->rank[side] = all_ranks(&m);
        weir__new_node(c, node)->leaf[side] = at << WEIR__LINE_SHIFT;
}
