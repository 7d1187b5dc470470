/*
 * route.c - from the head of a request to its place: a route, or the scope that answers a miss.
 *
 * The place is known before any hook runs, also for what no route takes: so a 404 or 405 passes the
 * middleware of its scope, and its log, limits and CORS see it.
 */
#include "exchange.h"
#include "hint.h"

#include <stdlib.h>

static void miss(struct weir__cell *cell, enum weir__miss kind, uint32_t scope)
{
        cell->miss = kind;
        cell->place = &cell->loop->tree->scope[scope];
        cell->ctx.n_params = 0;
}

static void found(struct weir__cell *cell)
{
        cell->place = &cell->loop->tree->route[cell->match.route];
        cell->ctx.n_params = (uint8_t)cell->match.n_params;
}

static enum weir__path_status decode(struct weir__cell *cell, size_t size)
{
        struct weir__buf *shadow = &cell->path_shadow;

        if (weir__buf_reserve(&cell->loop->pool, shadow, size))
                return weir__path_decode(&cell->path, shadow->ptr, &cell->loop->tree->path_rules);
        WEIR__COUNT(cell->loop, out_of_memory);
        cell->no_memory = true;
        return WEIR__PATH_DEEP;
}

static inline enum weir__path_status read_path(struct weir__cell *cell, struct weir_str raw)
{
        enum weir__path_status status = weir__path_split(&cell->path, raw,
                                                         &cell->loop->tree->path_rules);

        return status || !cell->path.needs_shadow ? status : decode(cell, raw.len + 1);
}

static inline bool find(struct weir__cell *cell, const struct weir__router *router, int method)
{
        struct weir_ctx *ctx = &cell->ctx;

        return weir__router_find(router, &cell->path, &ctx->host, method, ctx->param, &cell->match);
}

/* The deepest scope whose prefix stands at the front of the path just read. */
static uint32_t scope_of_path(struct weir__cell *cell)
{
        struct weir__match routed = cell->match;
        struct weir__path whole = cell->path;
        uint32_t scope;

        if (cell->path.has_gap)
                weir__path_end_at_gap(&cell->path);
        scope = find(cell, cell->loop->tree->prefixes, WEIR_GET) ? cell->match.route : 0;
        cell->path = whole;
        cell->match = routed;
        return scope;
}

/* The same for a path with a bad segment: what stands before that one counts. */
static uint32_t scope_of_bad_path(struct weir__cell *cell)
{
        struct weir_str raw = cell->ctx.path;

        for (unsigned tries = 0; tries <= WEIR__MAX_SEGMENTS; tries++) {
                const char *slash = memrchr(raw.ptr, '/', raw.len);

                if (!slash || slash == raw.ptr)
                        return 0;
                raw.len = (size_t)(slash - raw.ptr);
                if (read_path(cell, raw) == WEIR__PATH_OK)
                        return scope_of_path(cell);
        }
        return 0;
}

/* Is there a route for the method at the path with or without its last slash? */
static bool try_other_slash(struct weir__cell *cell, int method)
{
        struct weir__match first = cell->match;
        enum weir_slash slash;

        if (!cell->loop->tree->has_slash_rules || method == WEIR_OPTIONS ||
            !weir__path_toggle_slash(&cell->path))
                return false;
        if (!find(cell, cell->loop->tree->router, method)) {
                weir__path_toggle_slash(&cell->path);
                cell->match = first;
                return false;
        }
        found(cell);
        slash = cell->place->slash;
        if (slash == WEIR_SLASH_IGNORE)
                return true;
        if (slash == WEIR_SLASH_REDIRECT) {
                miss(cell, WEIR__MISS_SLASH, cell->place->scope);
                return true;
        }
        weir__path_toggle_slash(&cell->path);
        cell->match = first;
        return false;
}

/* A CORS preflight runs the chain of the route that it asks about. */
static bool preflight(struct weir__cell *cell)
{
        struct weir_str wanted = weir_header(&cell->ctx, "Access-Control-Request-Method");
        struct weir__match options = cell->match;
        bool known;
        int method;

        if (!wanted.ptr || !weir_header(&cell->ctx, "Origin").ptr)
                return false;
        method = weir__method_number(cell->loop->app, wanted);
        known = find(cell, cell->loop->tree->router, method);
        if (known)
                miss(cell, WEIR__MISS_OPTIONS, cell->loop->tree->route[cell->match.route].scope);
        cell->match = options;
        return known;
}

/* The path is there, the method is not. */
static void wrong_method(struct weir__cell *cell)
{
        const struct weir__tree *tree = cell->loop->tree;
        const struct weir__match *match = &cell->match;
        bool options = cell->ctx.method == WEIR_OPTIONS;
        uint32_t scope = 0;

        if (options && preflight(cell))
                return;
        if (match->n_missed && match->n_missed <= WEIR__MAX_MISSED) {
                scope = tree->leaf_scope[match->missed[0]];
                for (uint32_t i = 1; i < match->n_missed; i++)
                        scope = weir__tree_common_scope(tree, scope,
                                                        tree->leaf_scope[match->missed[i]]);
        }
        miss(cell, options ? WEIR__MISS_OPTIONS : WEIR__MISS_405, scope);
}

/* There is no route for the request: why, and which scope says so. */
static WEIR__COLD void no_route(struct weir__cell *cell, enum weir__path_status status)
{
        const struct weir_ctx *ctx = &cell->ctx;

        if (ctx->path.ptr[0] == '*')
                miss(cell, WEIR__MISS_ASTERISK, 0);
        else if (status == WEIR__PATH_BAD)
                miss(cell, WEIR__MISS_400, scope_of_bad_path(cell));
        else if (status != WEIR__PATH_OK)
                miss(cell, status == WEIR__PATH_LONG ? WEIR__MISS_414 : WEIR__MISS_404, 0);
        else if (ctx->method == WEIR_UNKNOWN_METHOD)
                miss(cell, WEIR__MISS_501, scope_of_path(cell));
        else if (try_other_slash(cell, ctx->method))
                return;
        else if (cell->match.allow)
                wrong_method(cell);
        else
                miss(cell, WEIR__MISS_404, scope_of_path(cell));
}

/* TRACE is never echoed (RFC 9110 9.3.8), not even by "any". */
static inline int method_to_find(const struct weir_ctx *ctx)
{
        bool trace = ctx->method == WEIR_UNKNOWN_METHOD && weir_str_is(ctx->method_name, "TRACE");

        return trace ? WEIR__NO_METHOD : ctx->method;
}

void weir__route(struct weir__cell *cell)
{
        const struct weir_ctx *ctx = &cell->ctx;
        enum weir__path_status status = read_path(cell, ctx->path);

        if (status == WEIR__PATH_OK && find(cell, cell->loop->tree->router, method_to_find(ctx)))
                found(cell);
        else
                no_route(cell, status);
}

/* Does the bit of a method stand for itself in Allow? */
static uint32_t allowed(const struct weir__cell *cell)
{
        const struct weir__tree *tree = cell->loop->tree;
        uint32_t any = (uint32_t)1 << WEIR_ANY;
        uint32_t set = cell->miss == WEIR__MISS_ASTERISK ? tree->methods : cell->match.allow;

        if (set & any)
                set |= (1 << WEIR_CUSTOM) - 1;
        if (set & (1 << WEIR_GET))
                set |= 1 << WEIR_HEAD;
        return (set | 1 << WEIR_OPTIONS) & ~any;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Allow: the standard methods in one order, but OPTIONS before the app's own, which are sorted. */
static bool set_allow(struct weir__cell *cell)
{
        const char *names[WEIR__MAX_METHODS];
        uint32_t set = allowed(cell);
        char text[1024];
        size_t n = 0, custom, len = 0;

        for (int method = 0; method < WEIR_CUSTOM; method++) {
                if (set & (uint32_t)1 << method)
                        names[n++] = weir__method_token(cell->loop->app, method);
        }
        custom = n;
        for (int method = WEIR_CUSTOM; method < WEIR__MAX_METHODS; method++) {
                if (set & (uint32_t)1 << method)
                        names[n++] = weir__method_token(cell->loop->app, method);
        }
        qsort(names + custom, n - custom, sizeof(names[0]), compare_names);
        for (size_t i = 0; i < n; i++) { /* a token of the app has at most 32 bytes */
                size_t size = strlen(names[i]);

                memcpy(text + len, names[i], size);
                len += size;
                memcpy(text + len, ", ", 3);
                len += 2;
        }
        text[len - 2] = '\0';
        return weir_set_header(&cell->ctx, "Allow", text);
}

/* 308 to the other form: path only, so it cannot lead to another host. */
static enum weir_flow redirect_slash(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;
        struct weir_str path = ctx->path, query = ctx->query;
        char *to = weir_alloc(ctx, path.len + query.len + 4);
        size_t n = 0;

        if (!to)
                return weir__answer_oom(ctx);
        while (path.len && (path.ptr[0] == '/' || path.ptr[0] == '\\')) {
                path.ptr++;
                path.len--;
        }
        to[n++] = '/';
        if (path.len)
                memcpy(to + n, path.ptr, path.len);
        n += path.len;
        if (to[n - 1] != '/')
                to[n++] = '/';
        else if (n > 1)
                n--;
        if (query.ptr) {
                to[n++] = '?';
                if (query.len)
                        memcpy(to + n, query.ptr, query.len);
                n += query.len;
        }
        to[n] = '\0';
        return weir_redirect(ctx, 308, to);
}

enum weir_flow weir__serve_miss(struct weir_ctx *ctx, void *self)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        (void)self;
        if (cell->no_memory)
                return weir__answer_fixed(ctx, WEIR__STATIC_503);
        switch (cell->miss) {
        case WEIR__MISS_400:
                return weir_fail(ctx, 400, "the path is not well-formed");
        case WEIR__MISS_414:
                return weir_fail(ctx, 414, "the path is longer than %d bytes", WEIR__MAX_PATH);
        case WEIR__MISS_501:
                return weir_fail(ctx, 501, "no resource of this server has this method");
        case WEIR__MISS_405:
                set_allow(cell);
                return weir_fail(ctx, 405, "this resource does not have this method");
        case WEIR__MISS_OPTIONS:
        case WEIR__MISS_ASTERISK:
                set_allow(cell);
                return weir_status(ctx, 204);
        case WEIR__MISS_SLASH:
                return redirect_slash(cell);
        case WEIR__NO_MISS:
        case WEIR__MISS_404:
                break;
        }
        if (!cell->place->on_error)
                return weir__answer_fixed(ctx, WEIR__STATIC_404);
        return weir_fail(ctx, 404, NULL);
}
