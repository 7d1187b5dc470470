/* router_routes.h - the patterns of a router as they are added. */
#ifndef WEIR_CORE_ROUTER_ROUTES_H
#define WEIR_CORE_ROUTER_ROUTES_H

#include "router.h"
#include "router_pattern.h"

/* One weir__routes_add(). */
struct weir__entry {
        struct weir__entry   *next; /* another method of the same place */
        struct weir__pattern *pattern;
        int                   method;
        uint32_t              route;
};

/* A host and a shape. Its number is its index. */
struct weir__shape {
        struct weir__entry *entries; /* at least one */
        uint32_t            host;    /* 0: none      */
        uint64_t            hash;
};

struct weir__routes {
        struct weir__shape *shape;
        uint32_t           *bucket;    /* open table: index of a shape + 1, or 0   */
        char              **host;      /* [0] is NULL                              */
        uint32_t            n_shapes, shapes_cap, n_buckets, n_hosts, hosts_cap;
        uint32_t            n_routes;  /* entries                                  */
        uint32_t            route_end; /* the highest route number + 1             */
};

#endif
