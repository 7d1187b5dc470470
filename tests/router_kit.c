/* router_kit.c - what tests of the router are written with. */
#include "router_kit.h"

#include <criterion/criterion.h>

void kit_init(struct kit *kit)
{
        *kit = (struct kit){ .routes = weir__routes_new() };
        cr_assert(kit->routes);
}

void kit_finish(struct kit *kit)
{
        weir__routes_free(kit->routes);
        weir__router_free(kit->router);
}

int kit_add(struct kit *kit, const char *host, int method, const char *pattern)
{
        uint32_t route = kit->n++;

        cr_assert_lt(route, KIT_ROUTES);
        kit->pattern[route] = pattern;
        return weir__routes_add(kit->routes, host, method, pattern, route, &kit->leaf[route],
                                kit->error, sizeof(kit->error));
}

void kit_get(struct kit *kit, const char *pattern)
{
        cr_assert_eq(kit_add(kit, NULL, WEIR_GET, pattern), 0, "%s", kit->error);
}

static enum weir__path_status read_path(struct kit *kit, const char *text)
{
        static const struct weir__path_rules rules;
        struct weir_str raw = { text, strlen(text) };
        enum weir__path_status status = weir__path_split(&kit->path, raw, &rules);

        if (status == WEIR__PATH_OK && kit->path.needs_shadow)
                status = weir__path_decode(&kit->path, kit->shadow, &rules);
        return status;
}

const char *kit_ask_host(struct kit *kit, const char *host, int method, const char *path)
{
        struct weir_str name = { host, host ? strlen(host) : 0 };

        if (!kit->router)
                kit->router = weir__router_new(kit->routes);
        cr_assert(kit->router);
        switch (read_path(kit, path)) {
        case WEIR__PATH_BAD:
                return "400";
        case WEIR__PATH_LONG:
                return "414";
        case WEIR__PATH_DEEP:
                return "404";
        case WEIR__PATH_OK:
                break;
        }
        if (!weir__router_find(kit->router, &kit->path, &name, method, kit->param, &kit->match)) {
                cr_assert_eq(kit->match.route, WEIR__NO_ROUTE);
                return "none";
        }
        return kit->pattern[kit->match.route];
}

const char *kit_ask(struct kit *kit, int method, const char *path)
{
        return kit_ask_host(kit, NULL, method, path);
}
