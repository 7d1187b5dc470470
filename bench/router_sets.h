/* router_sets.h - sets of routes to measure a router with. */
#ifndef WEIR_BENCH_ROUTER_SETS_H
#define WEIR_BENCH_ROUTER_SETS_H

#include <stddef.h>

struct bench_route {
        int   method;
        char *pattern;
};

struct bench_set {
        struct bench_route *route;
        size_t              n;
};

/*
 * All exit on any fault. From a file: lines of set, method and path, with tabs between; a parameter
 * is ":name", a rest "*name". Only the set `name` is taken.
 */
struct bench_set bench_set_load(const char *file, const char *name);

/* 203 routes of one API, in shape like those of GitHub's. */
struct bench_set bench_set_fleet(void);

/* 10,000 routes of 100 services. */
struct bench_set bench_set_services(void);

void bench_set_free(struct bench_set *set);

#endif
