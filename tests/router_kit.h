/* router_kit.h - what tests of the router are written with. */
#ifndef WEIR_TESTS_ROUTER_KIT_H
#define WEIR_TESTS_ROUTER_KIT_H

#include "router.h"

#define KIT_ROUTES 64

/* A router being asked, and the answer to the last question. */
struct kit {
        struct weir__routes *routes;
        struct weir__router *router;
        const char          *pattern[KIT_ROUTES]; /* by route */
        uint32_t             leaf[KIT_ROUTES];
        uint32_t             n;
        char                 error[400]; /* of the last add */
        struct weir__path    path;
        char                 shadow[WEIR__MAX_PATH];
        struct weir__match   match;
        struct weir_str      param[WEIR_MAX_PARAMS];
};

void kit_init(struct kit *kit);
void kit_finish(struct kit *kit);

/* What weir__routes_add() returns. The route's number is that of the call, from 0. */
int kit_add(struct kit *kit, const char *host, int method, const char *pattern);

/* For GET, without a host, which must work. */
void kit_get(struct kit *kit, const char *pattern);

/* The pattern of the route for a request; "400" and the like, or "none". Freezes at the first. */
const char *kit_ask_host(struct kit *kit, const char *host, int method, const char *path);
const char *kit_ask(struct kit *kit, int method, const char *path);

#endif
