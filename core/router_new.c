/* router_new.c - compiles routes into a router: one arena, in which nothing changes any more. */
#include "router_compile.h"

#include "router_host.h"
#include <stdlib.h>

/* ---- The order of shapes. ---- */

static int compare_patterns(const struct weir__pattern *a, const struct weir__pattern *b)
{
        for (uint32_t i = 0; i < a->n && i < b->n; i++) {
                int order = weir__piece_compare(&a->piece[i], &b->piece[i]);

                if (order)
                        return order;
        }
        return a->n < b->n ? -1 : a->n > b->n;
}

static int compare_shapes(const void *a, const void *b)
{
        const struct weir__shape *x = ((const struct weir__sorted *)a)->shape;
        const struct weir__shape *y = ((const struct weir__sorted *)b)->shape;

        if (x->host != y->host)
                return x->host < y->host ? -1 : 1;
        return compare_patterns(x->entries->pattern, y->entries->pattern);
}

/* ---- Trees. ---- */

/* The root of a host's tree. The shapes of the host are at the front of *all, and cut off. */
static uint32_t build_tree(struct weir__compiler *c, uint32_t host, struct weir__range *all)
{
        struct weir__range own = { all->from, all->from, 0 };
        uint32_t root = weir__add_node(c, 0, 0);

        while (own.to < all->to && c->order[own.to].shape->host == host)
                own.to++;
        all->from = own.to;
        weir__build(c, root, own);
        return root;
}

/* Files a host under its name, a suffix without its '*'. */
static void add_host(struct weir__compiler *c, const char *name, uint32_t root)
{
        struct weir_str text = { name + (*name == '*'), strlen(name) - (*name == '*') };
        uint32_t at = 0;

        for (size_t i = text.len; i-- > 0;)
                at = weir__host_hash(at, text.ptr[i]);
        while (c->host[at & c->host_mask].len)
                at++;
        c->host[at & c->host_mask] = (struct weir__host){ .text = weir__add_text(c, text),
                                                          .len = (uint32_t)text.len,
                                                          .root = root };
}

static void compile(struct weir__compiler *c)
{
        struct weir__range all = { 0, c->routes->n_shapes, 0 };

        c->root = build_tree(c, 0, &all);
        for (uint32_t host = 1; host < c->routes->n_hosts && !c->no_memory; host++)
                add_host(c, c->routes->host[host], build_tree(c, host, &all));
}

/* ---- The arena. ---- */

static size_t vec_bytes(const struct weir__vec *vec)
{
        return vec->n * vec->size;
}

static size_t arena_bytes(const struct weir__compiler *c)
{
        return sizeof(struct weir__router) + vec_bytes(&c->nodes) + vec_bytes(&c->leaves) +
               vec_bytes(&c->ups) + vec_bytes(&c->aux) + vec_bytes(&c->text) +
               c->routes->route_end * sizeof(*c->names) +
               (c->host_mask + (size_t)1) * sizeof(*c->host);
}

/* Copies to the arena, behind what is there. */
static void *pack(struct weir__router *router, const void *from, size_t size)
{
        char *to = (char *)router + router->bytes;

        if (size)
                memcpy(to, from, size);
        router->bytes += size;
        return to;
}

/* Makes addresses of the numbers of tables. */
static void place_tables(const struct weir__router *router, struct weir__node *node, size_t n)
{
        for (size_t i = 0; i < n; i++)
                node[i].table = router->node + (uintptr_t)node[i].table;
}

static void link_hosts(const struct weir__router *router, struct weir__host *host)
{
        for (uint32_t i = 0; i <= router->host_mask; i++) {
                struct weir_str name = { router->text + host[i].text, host[i].len };

                if (host[i].len)
                        host[i].next = weir__host_suffix(router, name);
        }
}

/* Lines first: they are aligned. */
static void pack_all(struct weir__router *router, const struct weir__compiler *c)
{
        struct weir__node *node = pack(router, c->nodes.at, vec_bytes(&c->nodes));
        struct weir__host *host;

        router->node = node;
        router->root = node + c->root;
        router->quick = router->n_hosts ? node : router->root;
        router->leaves = pack(router, c->leaves.at, vec_bytes(&c->leaves));
        router->up = pack(router, c->ups.at, vec_bytes(&c->ups));
        router->aux = pack(router, c->aux.at, vec_bytes(&c->aux));
        router->names = pack(router, c->names, router->route_end * sizeof(*c->names));
        host = pack(router, c->host, (c->host_mask + (size_t)1) * sizeof(*c->host));
        router->host = host;
        router->text = pack(router, c->text.at, vec_bytes(&c->text));
        place_tables(router, node, c->nodes.n);
        link_hosts(router, host);
}

static struct weir__router *make_arena(const struct weir__compiler *c)
{
        struct weir__router *router = aligned_alloc(64, (arena_bytes(c) + 63) & ~(size_t)63);

        if (!router)
                return NULL;
        *router = (struct weir__router){
                .host_mask = c->host_mask,
                .n_hosts = c->routes->n_hosts - 1,
                .n_routes = c->routes->n_routes,
                .n_nodes = c->n_nodes,
                .route_end = c->routes->route_end,
                .bytes = sizeof(*router),
        };
        pack_all(router, c);
        return router;
}

/* ---- The whole. ---- */

/* Index 0 of everything is nothing, and so is node 1. */
static void reserve_nothing(struct weir__compiler *c)
{
        weir__add_nodes(c, 2);
        weir__add_leaves(c, 1);
        weir__add_aux(c, sizeof(struct weir__extra) / sizeof(uint32_t));
}

static bool compiler_init(struct weir__compiler *c, const struct weir__routes *routes)
{
        *c = (struct weir__compiler){
                .routes = routes,
                .nodes.size = sizeof(struct weir__node),
                .ups.size = sizeof(struct weir__up),
                .leaves.size = 1 << WEIR__LINE_SHIFT,
                .aux.size = sizeof(uint32_t),
                .text.size = 1,
                .order = malloc((routes->n_shapes + (size_t)1) * sizeof(*c->order)),
                .names = calloc(routes->route_end + (size_t)1, sizeof(*c->names)),
        };
        while (c->host_mask + 1 < 2 * routes->n_hosts)
                c->host_mask = 2 * c->host_mask + 1;
        c->host = calloc(c->host_mask + (size_t)1, sizeof(*c->host));
        if (!c->order || !c->names || !c->host)
                return false;
        for (uint32_t i = 0; i < routes->n_shapes; i++)
                c->order[i].shape = &routes->shape[i];
        qsort(c->order, routes->n_shapes, sizeof(*c->order), compare_shapes);
        reserve_nothing(c);
        return !c->no_memory;
}

static void compiler_finish(struct weir__compiler *c)
{
        free(c->nodes.at);
        free(c->ups.at);
        free(c->leaves.at);
        free(c->aux.at);
        free(c->text.at);
        free(c->order);
        free(c->names);
        free(c->host);
}

struct weir__router *weir__router_new(const struct weir__routes *routes)
{
        struct weir__router *router = NULL;
        struct weir__compiler c;

        if (compiler_init(&c, routes)) {
                compile(&c);
                if (!c.no_memory)
                        router = make_arena(&c);
        }
        compiler_finish(&c);
        return router;
}

void weir__router_free(struct weir__router *router)
{
        free(router);
}
