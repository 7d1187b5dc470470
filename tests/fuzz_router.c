/*
 * fuzz_router.c - any patterns make a router that finds what comparing them one by one finds.
 *
 * Input: lines. A route is a method (one character), "@host " or nothing, and a pattern; a request
 * is '?' and the same with a path.
 */
#include "fuzz_kit.h"
#include "router.h"
#include "router_pattern.h"

#define MAX_ROUTES 200
#define MAX_LINE   600

struct route {
        struct weir__pattern *pattern;
        char                  host[WEIR__HOST_SIZE]; /* "" for none */
        int                   method;
        uint32_t              leaf;
};

struct world {
        struct weir__routes *routes;
        struct weir__router *router;
        struct route         route[MAX_ROUTES];
        uint32_t             n;
};

struct line {
        int  method;
        char host[MAX_LINE], text[MAX_LINE]; /* host "": none */
};

/* ---- Reading the input. ---- */

static int method_of(char c)
{
        static const int methods[] = {
                WEIR_GET,    WEIR_HEAD,        WEIR_POST,           WEIR_PUT,
                WEIR_PATCH,  WEIR_DELETE,      WEIR_OPTIONS,        WEIR_ANY,
                WEIR_CUSTOM, WEIR_CUSTOM + 15, WEIR_UNKNOWN_METHOD, WEIR__NO_METHOD
        };

        return methods[(unsigned char)c % (sizeof(methods) / sizeof(methods[0]))];
}

static bool read_line(const char *at, size_t len, struct line *line)
{
        const char *space;

        if (len == 0 || len >= MAX_LINE || memchr(at, '\0', len))
                return false;
        line->method = method_of(*at++);
        len--;
        line->host[0] = '\0';
        if (len && *at == '@' && (space = memchr(at, ' ', len))) {
                memcpy(line->host, at + 1, (size_t)(space - at - 1));
                line->host[space - at - 1] = '\0';
                len -= (size_t)(space + 1 - at);
                at = space + 1;
        }
        memcpy(line->text, at, len);
        line->text[len] = '\0';
        return true;
}

static void add(struct world *world, const struct line *line)
{
        struct route *route = &world->route[world->n];
        char error[300];
        struct weir__fault fault = { error, sizeof(error) };
        int result;

        if (world->n == MAX_ROUTES)
                return;
        result = weir__routes_add(world->routes, line->host[0] ? line->host : NULL, line->method,
                                  line->text, world->n, &route->leaf, error, sizeof(error));
        require((result == 0) == (error[0] == '\0'));
        if (result)
                return;
        *route = (struct route){ .method = line->method, .leaf = route->leaf };
        require(weir__pattern_parse(line->text, &route->pattern, &fault) == 0);
        if (line->host[0])
                require(weir__host_parse(line->host, route->host, &fault) == 0);
        world->n++;
}

/* ---- Comparing one by one. ---- */

static bool takes_host(const struct route *route, const char *host)
{
        size_t len = strlen(host), suffix = strlen(route->host);

        if (route->host[0] != '*')
                return !route->host[0] ||
                       (strlen(host) < WEIR__HOST_SIZE && !strcmp(route->host, host));
        return len > suffix - 1 && len < WEIR__HOST_SIZE && host[0] != '.' &&
               !strcmp(host + len - (suffix - 1), route->host + 1);
}

static bool takes_segment(const struct weir__piece *piece, struct weir_str seg)
{
        size_t prefix = piece->prefix.len, suffix = piece->suffix.len;

        if (piece->kind == WEIR__LITERAL)
                return weir_str_eq(piece->prefix, seg);
        if (piece->kind == WEIR__REST)
                return true;
        if (seg.len <= prefix + suffix)
                return false;
        return (!prefix || !memcmp(seg.ptr, piece->prefix.ptr, prefix)) &&
               (!suffix || !memcmp(seg.ptr + seg.len - suffix, piece->suffix.ptr, suffix));
}

static bool takes_path(const struct weir__pattern *pattern, const struct weir__path *path)
{
        for (uint32_t i = 0; i < pattern->n; i++) {
                if (i >= path->n || !takes_segment(&pattern->piece[i], weir__path_segment(path, i)))
                        return false;
                if (pattern->piece[i].kind == WEIR__REST)
                        return true;
        }
        return pattern->n == path->n;
}

static int serves(int has, int asked)
{
        if (asked == WEIR__NO_METHOD)
                return 0;
        if (has == asked)
                return 3;
        return has == WEIR_GET && asked == WEIR_HEAD ? 2 : has == WEIR_ANY;
}

static size_t host_rank(const struct route *route)
{
        return route->host[0] == '*' ? strlen(route->host) : route->host[0] ? 1000 : 0;
}

/* Is `a` preferred to `b`? Both take the request. */
static bool is_better(const struct route *a, const struct route *b, int method)
{
        if (host_rank(a) != host_rank(b))
                return host_rank(a) > host_rank(b);
        for (uint32_t i = 0; i < a->pattern->n && i < b->pattern->n; i++) {
                int order = weir__piece_compare(&a->pattern->piece[i], &b->pattern->piece[i]);

                if (order)
                        return order < 0;
        }
        return serves(a->method, method) > serves(b->method, method);
}

static uint32_t find_slowly(const struct world *world, const struct weir__path *path,
                            const struct line *line, uint32_t *allow)
{
        uint32_t found = WEIR__NO_ROUTE;

        *allow = 0;
        for (uint32_t i = 0; i < world->n && !path->has_gap; i++) {
                const struct route *route = &world->route[i];

                if (!takes_host(route, line->host) || !takes_path(route->pattern, path))
                        continue;
                *allow |= UINT32_C(1) << route->method;
                if (serves(route->method, line->method) &&
                    (found == WEIR__NO_ROUTE ||
                     is_better(route, &world->route[found], line->method)))
                        found = i;
        }
        return found;
}

/* ---- Asking. ---- */

static void check_params(const struct world *world, const struct weir__path *path,
                         const struct weir__match *match, const struct weir_str *param)
{
        const struct weir__pattern *pattern = world->route[match->route].pattern;
        uint32_t n = 0;

        for (uint32_t i = 0; i < pattern->n; i++) {
                const struct weir__piece *piece = &pattern->piece[i];
                struct weir_str seg = weir__path_segment(path, i), raw;

                if (piece->kind == WEIR__LITERAL)
                        continue;
                require(match->param_seg[n] == i);
                require(param[n].ptr == seg.ptr + piece->prefix.len);
                if (piece->kind != WEIR__REST)
                        require(param[n].len == seg.len - piece->prefix.len - piece->suffix.len);
                raw = weir__router_raw_param(path, match, param, n);
                require(raw.ptr >= path->raw.ptr &&
                        raw.ptr + raw.len <= path->raw.ptr + path->raw.len);
                require(weir_str_eq(weir__router_param_name(world->router, match->route, n),
                                    piece->name));
                n++;
        }
        require(n == match->n_params);
}

static void ask(const struct world *world, const struct line *line)
{
        static const struct weir__path_rules rules;
        size_t len = strlen(line->text);
        char *raw = malloc(len), *shadow = malloc(len);
        struct weir_str host = { line->host, strlen(line->host) }, param[WEIR_MAX_PARAMS];
        struct weir__router_facts facts;
        struct weir__match match;
        struct weir__path path;
        uint32_t allow;

        memcpy(raw, line->text, len);
        weir__path_split(&path, (struct weir_str){ raw, len }, &rules);
        if (path.needs_shadow)
                weir__path_decode(&path, shadow, &rules);
        for (int slash = 0; slash < 2; slash++) {
                uint32_t wanted = find_slowly(world, &path, line, &allow);
                bool found = weir__router_find(world->router, &path, &host, line->method, param,
                                               &match);

                require(match.route == wanted && found == (wanted != WEIR__NO_ROUTE));
                if (found)
                        check_params(world, &path, &match, param);
                else
                        require(match.allow == allow && (allow != 0) == (match.n_missed != 0));
                weir__router_facts(world->router, &facts);
                require(weir__router_visits(world->router, &path, host, line->method) <=
                        facts.nodes);
                if (!weir__path_toggle_slash(&path))
                        break;
        }
        free(shadow);
        free(raw);
}

/* Calls add() for the routes, or ask() for the requests. */
static void each_line(struct world *world, const char *at, size_t size, bool requests)
{
        const char *end = at + size;

        while (at < end) {
                const char *next = memchr(at, '\n', (size_t)(end - at));
                bool request = *at == '?';
                struct line line;

                if (!next)
                        next = end;
                if (request == requests &&
                    read_line(at + request, (size_t)(next - at) - request, &line)) {
                        if (request)
                                ask(world, &line);
                        else
                                add(world, &line);
                }
                at = next + 1;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct world world;

        world = (struct world){ .routes = weir__routes_new() };
        each_line(&world, (const char *)data, size, false);
        world.router = weir__router_new(world.routes);
        require(world.router != NULL);
        weir__routes_free(world.routes);
        each_line(&world, (const char *)data, size, true);
        weir__router_free(world.router);
        for (uint32_t i = 0; i < world.n; i++)
                free(world.route[i].pattern);
        return 0;
}
