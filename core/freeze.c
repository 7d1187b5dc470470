/*
 * freeze.c - compiling an application: from scopes, middleware and routes to flat plans.
 *
 * The chain of a scope is its own middleware and that of all scopes above, sorted by phase, then
 * root before leaf, then by order of use. The chain of a route is that of its scope and the
 * handler; each scope also has one of its own, with a handler that answers for what has no route.
 */
#include "app.h"
#include "exchange.h"
#include "job.h"
#include "wait.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_MAX_BODY (1 << 20)
#define REST             "/{weir__rest...}"

/* Where phases stand; WEIR_APP is 0 and comes late. */
static int rank(enum weir_phase phase)
{
        return phase == WEIR_APP ? 2 * WEIR_BREAKER + 1 : 2 * (int)phase;
}

/* A link while it is being sorted. */
struct hop {
        const struct weir__use *use;
        size_t                  order; /* root before leaf, first used first */
};

static int compare_hops(const void *a, const void *b)
{
        const struct hop *x = a, *y = b;
        int by_phase = rank(x->use->mw->phase) - rank(y->use->mw->phase);

        return by_phase ? by_phase : x->order < y->order ? -1 : 1;
}

/* All middleware from the root down to `scope`, each scope's in order of use; how many. It costs
 * what the way is long, however many scopes there are beside it. */
static size_t gather(const struct weir *scope, struct hop *hops)
{
        size_t n = scope->parent ? gather(scope->parent, hops) : 0;

        for (const struct weir__use *use = scope->uses; use; use = use->next, n++)
                hops[n] = (struct hop){ use, n };
        return n;
}

/* The same in the order of the chain. */
static size_t collect(const struct weir *scope, struct hop *hops)
{
        size_t n = gather(scope, hops);

        qsort(hops, n, sizeof(*hops), compare_hops);
        return n;
}

/* What a middleware without on_request does. */
static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

static void add_link(struct weir__plan *plan, const struct weir__link *link)
{
        uint16_t i = plan->n_links++;

        plan->links[i] = *link;
        plan->waits |= link->waits;
        if ((link->waits || link->blocks) && !link->inner) { /* else it is from another plan */
                plan->links[i].inner = link->on_request;
                plan->links[i].on_request = link->blocks ? weir__job_run : weir__wait_call;
        }
        if (plan->streams)
                plan->links[i].at = WEIR_AT_HEADERS;
        else if (i && plan->links[i - 1].at == WEIR_AT_BODY)
                plan->links[i].at = WEIR_AT_BODY;
        if (plan->links[i].at == WEIR_AT_HEADERS)
                plan->n_at_headers = plan->n_links;
}

/* Room for `n` links, the one behind them, and their hooks, in one block that links starts. */
static bool plan_init(struct weir__plan *plan, size_t n)
{
        size_t links = (n + 1) * sizeof(struct weir__link);
        size_t hooks = (n + 1) * sizeof(struct weir__hook);
        char *block = calloc(1, links + 2 * hooks + (n + 1) * sizeof(struct weir__body_hook));

        if (!block)
                return false;
        plan->links = (struct weir__link *)(void *)block;
        plan->on_response = (struct weir__hook *)(void *)(block + links);
        plan->on_done = plan->on_response + n + 1;
        plan->on_body = (struct weir__body_hook *)(void *)(plan->on_done + n + 1);
        return true;
}

/* When all links are there: the lists of their hooks, and where each link finds those before it. */
static void list_hooks(struct weir__plan *plan)
{
        struct weir__hook *response = plan->on_response, *done = plan->on_done;

        for (uint16_t i = plan->n_links; i--;) {
                const struct weir__link *link = &plan->links[i];

                if (link->on_response)
                        *response++ = (struct weir__hook){ link->on_response, link->self, i };
                if (link->on_done)
                        *done++ = (struct weir__hook){ link->on_done, link->self, i };
                plan->links[i].response = (uint16_t)(response - plan->on_response);
                plan->links[i].done = (uint16_t)(done - plan->on_done);
        }
}

/* The hooks for pieces, first to last; `handler` is that of the route, or NULL. */
static void list_body_hooks(struct weir__plan *plan, weir_body_fn *handler)
{
        struct weir__body_hook *hook = plan->on_body;

        for (uint16_t i = 0; i < plan->n_links; i++) {
                const struct weir__link *link = &plan->links[i];
                weir_body_fn *fn = link->mw ? link->mw->on_body : handler;

                if (!fn)
                        continue;
                *hook++ = (struct weir__body_hook){ fn, link->self, i };
                plan->holds |= link->waits || link->blocks;
        }
        if (hook == plan->on_body)
                plan->on_body = NULL;
}

/* The links in `hops`, then `last` when it is given. */
static bool make_plan(struct weir__plan *plan, const struct hop *hops, size_t n,
                      const struct weir__link *last)
{
        if (!plan_init(plan, n + 1))
                return false;
        for (size_t i = 0; i < n; i++) {
                const struct weir_middleware *mw = hops[i].use->mw;

                add_link(plan, &(struct weir__link){
                                       .on_request = mw->on_request ? mw->on_request : pass,
                                       .self = hops[i].use->self,
                                       .on_response = mw->on_response,
                                       .on_done = mw->on_done,
                                       .mw = mw,
                                       .at = mw->at,
                                       .phase = mw->phase,
                                       .waits = mw->waits,
                                       .blocks = mw->blocking,
                                       .passes = true,
                               });
        }
        if (last)
                add_link(plan, last);
        list_hooks(plan);
        list_body_hooks(plan, NULL);
        return true;
}

/* ---- Options that a scope or route takes from above. ---- */

static uint64_t body_limit(int64_t own, uint64_t above)
{
        return own == 0 ? above : own == WEIR_NONE ? 0 : (uint64_t)own;
}

static void inherit(struct weir__place *place, const struct weir__place *above, int64_t max_body,
                    enum weir_slash slash, weir_error_fn *on_error, void *on_error_self)
{
        place->max_body = body_limit(max_body, above->max_body);
        place->slash = slash ? slash : above->slash;
        place->on_error = on_error ? on_error : above->on_error;
        place->on_error_self = on_error ? on_error_self : above->on_error_self;
}

static bool check_place(struct weir__app *app, const char *what, int64_t max_body,
                        enum weir_slash slash)
{
        if (max_body >= WEIR_NONE && (unsigned)slash <= WEIR_SLASH_IGNORE)
                return true;
        weir__error(app,
                    "%s: max_body %lld or slash %d does not exist: use bytes, WEIR_NONE or "
                    "WEIR_INF, and enum weir_slash",
                    what, (long long)max_body, (int)slash);
        return false;
}

/* ---- Scopes. ---- */

/* A middleware that the request reaches when its body is in has missed the pieces. */
static bool check_pieces(struct weir__tree *tree, const struct weir__plan *plan)
{
        const struct weir_middleware *waits = NULL;

        for (uint16_t i = 0; i + 1 < plan->n_links; i++) {
                const struct weir_middleware *mw = plan->links[i].mw;

                if (mw->at == WEIR_AT_BODY && !waits)
                        waits = mw;
                if (!mw->on_body || !waits)
                        continue;
                weir__error(tree->app,
                            "%s gets bodies in pieces, but stands behind %s, which runs when they "
                            "are in: give it an earlier phase",
                            mw->name, waits->name);
                return false;
        }
        return true;
}

static bool compile_scope(struct weir__tree *tree, struct weir *scope, struct hop *hops)
{
        static const struct weir__link answer_miss = { .on_request = weir__serve_miss,
                                                       .at = WEIR_AT_BODY,
                                                       .phase = WEIR_SERVE };
        static const struct weir__place top = { .max_body = DEFAULT_MAX_BODY,
                                                .slash = WEIR_SLASH_STRICT };
        struct weir__place *place = &tree->scope[scope->number];
        const struct weir_scope_options *o = &scope->options;
        size_t n = collect(scope, hops);

        if (n >= WEIR_MAX_LINKS) {
                weir__error(tree->app,
                            "scope \"%s\": %zu middleware are too many: a chain has at "
                            "most %d",
                            scope->prefix, n, WEIR_MAX_LINKS - 1);
                return false;
        }
        if (!check_place(tree->app, *scope->prefix ? scope->prefix : "the root", o->max_body,
                         o->slash))
                return false;
        place->pattern = "";
        place->id = UINT32_MAX;
        place->scope = scope->number;
        tree->parent[scope->number] = scope->parent ? scope->parent->number : 0;
        inherit(place, scope->parent ? &tree->scope[scope->parent->number] : &top, o->max_body,
                o->slash, o->on_error, o->on_error_self);
        for (size_t i = 0; i < n; i++) {
                const struct weir_middleware *mw = hops[i].use->mw;

                tree->blocks |= mw->blocking;
                tree->waits |= mw->waits || mw->blocking;
        }
        return make_plan(&place->plan, hops, n, &answer_miss) && check_pieces(tree, &place->plan);
}

static bool compile_observe(struct weir__tree *tree, struct hop *hops)
{
        size_t n = collect(&tree->app->root, hops), observe = 0;

        while (observe < n && hops[observe].use->mw->phase == WEIR_OBSERVE)
                observe++;
        return make_plan(&tree->observe, hops, observe, NULL);
}

static bool compile_scopes(struct weir__tree *tree)
{
        struct hop *hops = calloc(tree->app->n_uses + 1, sizeof(*hops));
        bool ok = hops && compile_observe(tree, hops);

        for (struct weir *scope = &tree->app->root; ok && scope; scope = scope->next)
                ok = compile_scope(tree, scope, hops);
        free(hops);
        return ok;
}

/* A router from prefixes to scopes. Of several scopes with one prefix the first answers misses. */
static bool compile_prefixes(struct weir__tree *tree)
{
        struct weir__routes *routes = weir__routes_new();
        char pattern[WEIR__MAX_PATH], error[512];
        uint32_t leaf;
        bool ok = routes;

        for (struct weir *scope = tree->app->root.next; ok && scope; scope = scope->next) {
                size_t len = strlen(scope->prefix);
                int added;

                if (len + sizeof(REST) > sizeof(pattern))
                        continue; /* then its routes are refused for their length */
                memcpy(pattern, scope->prefix, len + 1);
                added = len ? weir__routes_add(routes, scope->host, WEIR_GET, pattern,
                                               scope->number, &leaf, error, sizeof(error))
                            : 0;
                memcpy(pattern + len, REST, sizeof(REST));
                if (added == 0 || added == -EEXIST)
                        added = weir__routes_add(routes, scope->host, WEIR_GET, pattern,
                                                 scope->number, &leaf, error, sizeof(error));
                if (added && added != -EEXIST) {
                        weir__error(tree->app, "weir_group(): %s", error);
                        ok = false;
                }
        }
        if (ok)
                tree->prefixes = weir__router_new(routes);
        weir__routes_free(routes);
        return tree->prefixes;
}

/* ---- Routes. ---- */

static bool compile_route(struct weir__tree *tree, const struct weir__route *route, uint32_t id)
{
        struct weir__link handler = { .on_request = route->fn,
                                      .self = route->self,
                                      .at = WEIR_AT_BODY,
                                      .phase = WEIR_SERVE,
                                      .waits = route->options.waits,
                                      .blocks = route->options.blocking,
                                      .passes = route->options.on_body };
        struct weir__place *place = &tree->route[id], *scope = &tree->scope[route->scope->number];
        const struct weir_route_options *o = &route->options;
        struct weir__plan *plan = &place->plan;

        if (!check_place(tree->app, route->pattern, o->max_body, o->slash))
                return false;
        *place = (struct weir__place){ .pattern = route->pattern,
                                       .name = o->name,
                                       .id = id,
                                       .scope = route->scope->number,
                                       .method = route->method };
        inherit(place, scope, o->max_body, o->slash, o->on_error, o->on_error_self);
        tree->has_slash_rules |= place->slash != WEIR_SLASH_STRICT;
        tree->methods |= (uint32_t)1 << route->method;
        tree->blocks |= route->options.blocking;
        tree->waits |= route->options.waits || route->options.blocking;
        if (!plan_init(plan, scope->plan.n_links))
                return false;
        plan->streams = o->on_body;
        for (uint16_t i = 0; i + 1 < scope->plan.n_links; i++)
                add_link(plan, &scope->plan.links[i]);
        add_link(plan, &handler);
        list_hooks(plan);
        list_body_hooks(plan, o->on_body);
        return true;
}

static bool add_routes(struct weir__tree *tree, struct weir__routes *routes)
{
        uint32_t id = 0, leaf;
        char error[1024];

        for (const struct weir__route *route = tree->app->routes; route; route = route->next) {
                uint32_t scope = route->scope->number;
                int added = weir__routes_add(routes, route->scope->host, route->method,
                                             route->pattern, id, &leaf, error, sizeof(error));

                if (added) {
                        weir__error(tree->app, "%s", added == -ENOMEM ? "out of memory" : error);
                        return false;
                }
                if (leaf == tree->n_leaves) {
                        tree->leaf_scope[leaf] = scope;
                        tree->n_leaves++;
                } else {
                        tree->leaf_scope[leaf] = weir__tree_common_scope(
                                tree, tree->leaf_scope[leaf], scope);
                }
                if (!compile_route(tree, route, id++))
                        return false;
        }
        return true;
}

static bool compile_routes(struct weir__tree *tree)
{
        struct weir__routes *routes = weir__routes_new();
        bool ok = routes && add_routes(tree, routes);

        if (ok)
                tree->router = weir__router_new(routes);
        weir__routes_free(routes);
        return tree->router;
}

/* ---- The tree. ---- */

uint32_t weir__tree_common_scope(const struct weir__tree *tree, uint32_t a, uint32_t b)
{
        while (a != b) { /* a scope has a higher number than the one above it */
                if (a > b)
                        a = tree->parent[a];
                else
                        b = tree->parent[b];
        }
        return a;
}

void weir__tree_free(struct weir__tree *tree)
{
        if (!tree)
                return;
        for (uint32_t i = 0; tree->route && i < tree->n_routes; i++)
                free(tree->route[i].plan.links);
        for (uint32_t i = 0; tree->scope && i < tree->n_scopes; i++)
                free(tree->scope[i].plan.links);
        free(tree->observe.links);
        weir__router_free(tree->router);
        weir__router_free(tree->prefixes);
        free(tree->route);
        free(tree->scope);
        free(tree->leaf_scope);
        free(tree->parent);
        free(tree);
}

struct weir__tree *weir__tree_new(struct weir__app *app)
{
        struct weir__tree *tree = calloc(1, sizeof(*tree));

        if (!tree)
                return NULL;
        tree->app = app;
        tree->n_routes = app->n_routes;
        tree->n_scopes = app->n_scopes;
        tree->path_rules.normalize_dots = app->options.dot_segments == WEIR_DOTS_NORMALIZE;
        tree->path_rules.merge_slashes = app->options.merge_slashes;
        tree->route = calloc(app->n_routes + 1, sizeof(*tree->route));
        tree->scope = calloc(app->n_scopes, sizeof(*tree->scope));
        tree->leaf_scope = calloc(app->n_routes + 1, sizeof(*tree->leaf_scope));
        tree->parent = calloc(app->n_scopes, sizeof(*tree->parent));
        if (tree->route && tree->scope && tree->leaf_scope && tree->parent &&
            compile_scopes(tree) && compile_prefixes(tree) && compile_routes(tree))
                return tree;
        weir__tree_free(tree);
        return NULL;
}

int weir__freeze(struct weir__app *app)
{
        if (app->tree)
                return 0;
        if (app->error)
                return -1;
        app->frozen = true;
        app->tree = weir__tree_new(app);
        if (!app->tree) {
                weir__error(app, "out of memory while compiling the app");
                return -1;
        }
        return 0;
}
