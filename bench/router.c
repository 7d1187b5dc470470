/*
 * router.c - how long a lookup takes: splitting, decoding where there is an escape, finding, with
 * method and parameters.
 *
 * Lookups are in random order, more than a branch predictor learns by heart, with values as clients
 * send them. They run in batches of some 10 us; what counts of each batch is its least time. All
 * lookups are checked before. usage: router [FILE], of which the set "github" is taken.
 */
#include "router.h"

#include "router_sets.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOKUPS 8192
#define BATCH   256
#define BATCHES (LOOKUPS / BATCH)
#define ROUNDS  1500

struct lookup {
        struct weir_str raw;
        int             method;
        uint32_t        route, n_params;
};

/* One set, compiled, and what is asked of it. */
struct subject {
        struct bench_set     set;
        struct weir__router *router;
        char                *text; /* of the paths */
        struct lookup        lookup[LOOKUPS];
        double               least[BATCHES];
};

static uint64_t seed = 1;

static uint32_t pick(uint32_t n)
{
        seed = seed * 6364136223846793005 + 1442695040888963407;
        return (uint32_t)((seed >> 33) % n);
}

static void fail(const char *what, struct weir_str path)
{
        fprintf(stderr, "%s: %.*s\n", what, WEIR_FMT(path));
        exit(1);
}

/* ---- Paths with realistic values. ---- */

static char *put_random(char *to, const char *alphabet, size_t n)
{
        while (n-- > 0)
                *to++ = alphabet[pick((uint32_t)strlen(alphabet))];
        return to;
}

/* A value for a parameter, by its name. */
static char *put_value(char *to, struct weir_str name)
{
        static const char *const words[] = {
                "octavia",     "mm",     "sea-lion",       "north_star",
                "harbour",     "j",      "blue-whale-42",  "tern",
                "albatross",   "gull",   "kingfisher-mk2", "o7",
                "dolphin",     "petrel", "skua",           "Grebe",
                "night-heron", "ada", "little-auk", "barnacle-goose-feeder",
        };

        if (memmem(name.ptr, name.len, "id", 2) || memmem(name.ptr, name.len, "number", 6))
                return to + sprintf(to, "%u", 1 + pick(pick(2) ? 1000 : 10000000));
        if (weir_str_is(name, "sha") || weir_str_is(name, "hash"))
                return put_random(to, "0123456789abcdef", 40);
        if (memmem(name.ptr, name.len, "token", 5))
                return put_random(to, "0123456789abcdef", 20);
        if (memmem(name.ptr, name.len, "word", 4) && pick(2))
                return to + sprintf(to, "night%%20heron");
        if (pick(50) == 0)
                return to + sprintf(to, "tern.js");
        return to + sprintf(to, "%s", words[pick(sizeof(words) / sizeof(words[0]))]);
}

/* The pattern with values in it; counts its parameters. */
static char *put_path(char *to, const char *pattern, uint32_t *n_params)
{
        *n_params = 0;
        while (*pattern) {
                size_t len = strcspn(pattern, "{");

                memcpy(to, pattern, len);
                to += len;
                pattern += len;
                if (*pattern == '{') {
                        len = strcspn(pattern, "}");
                        to = put_value(to, (struct weir_str){ pattern + 1, len - 1 });
                        pattern += len + 1;
                        ++*n_params;
                }
        }
        return to;
}

/* ---- What is measured. ---- */

static const struct weir__path_rules rules;
static char shadow[WEIR__MAX_PATH];

static bool look_up(const struct weir__router *router, const struct lookup *lookup,
                    struct weir__path *path, struct weir_str *param, struct weir__match *match)
{
        if (weir__path_split(path, lookup->raw, &rules) != WEIR__PATH_OK)
                return false;
        if (path->needs_shadow && weir__path_decode(path, shadow, &rules) != WEIR__PATH_OK)
                return false;
        return weir__router_find(router, path, NULL, lookup->method, param, match);
}

/* In ns per lookup. */
static double time_batch(const struct weir__router *router, const struct lookup *lookup)
{
        struct weir_str param[WEIR_MAX_PARAMS];
        struct weir__match match;
        struct weir__path path;
        struct timespec start, end;

        clock_gettime(CLOCK_MONOTONIC, &start);
        for (unsigned i = 0; i < BATCH; i++) {
                look_up(router, &lookup[i], &path, param, &match);
                __asm__ volatile("" : : "r"(param), "r"(&match) : "memory");
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
               BATCH;
}

/* ---- Around it. ---- */

static void check(const struct subject *subject)
{
        struct weir_str param[WEIR_MAX_PARAMS];
        struct weir__match match;
        struct weir__path path;

        for (unsigned i = 0; i < LOOKUPS; i++) {
                const struct lookup *lookup = &subject->lookup[i];

                if (!look_up(subject->router, lookup, &path, param, &match) ||
                    match.route != lookup->route || match.n_params != lookup->n_params)
                        fail("not found as it should be", lookup->raw);
        }
}

static void prepare(struct subject *subject, struct bench_set set)
{
        struct weir__routes *routes = weir__routes_new();
        char *at = malloc(LOOKUPS * 400), error[400];
        uint32_t leaf;

        if (set.n == 0 || !at)
                fail("nothing to measure", (struct weir_str){ 0 });
        *subject = (struct subject){ .set = set, .text = at };
        for (uint32_t i = 0; i < set.n; i++) {
                if (weir__routes_add(routes, NULL, set.route[i].method, set.route[i].pattern, i,
                                     &leaf, error, sizeof(error)))
                        fail(error, (struct weir_str){ 0 });
        }
        subject->router = weir__router_new(routes);
        weir__routes_free(routes);
        for (unsigned i = 0; i < LOOKUPS; i++) {
                struct lookup *lookup = &subject->lookup[i];

                lookup->route = pick((uint32_t)set.n);
                lookup->method = set.route[lookup->route].method;
                lookup->raw.ptr = at;
                at = put_path(at, set.route[lookup->route].pattern, &lookup->n_params);
                lookup->raw.len = (size_t)(at - lookup->raw.ptr);
        }
        for (unsigned i = 0; i < BATCHES; i++)
                subject->least[i] = 1e9;
        check(subject);
}

static void finish(struct subject *subject)
{
        weir__router_free(subject->router);
        bench_set_free(&subject->set);
        free(subject->text);
}

static void measure(struct subject *subject)
{
        for (unsigned i = 0; i < BATCHES; i++) {
                double ns = time_batch(subject->router, &subject->lookup[i * BATCH]);

                if (ns < subject->least[i])
                        subject->least[i] = ns;
        }
}

static double mean(const struct subject *subject)
{
        double sum = 0;

        for (unsigned i = 0; i < BATCHES; i++)
                sum += subject->least[i];
        return sum * BATCH / LOOKUPS;
}

int main(int argc, char **argv)
{
        static struct subject small, large;
        struct weir__router_facts facts;

        prepare(&small, argc > 1 ? bench_set_load(argv[1], "github") : bench_set_fleet());
        prepare(&large, bench_set_services());
        for (unsigned round = 0; round < ROUNDS; round++) {
                measure(&small);
                measure(&large);
        }
        weir__router_facts(large.router, &facts);
        printf("router_github203_random %.1f ns\n", mean(&small));
        printf("router_10k_vs_203 %.2f ratio\n", mean(&large) / mean(&small));
        printf("router_bytes_per_route %.0f bytes\n", (double)facts.bytes / (double)facts.routes);
        finish(&small);
        finish(&large);
        return 0;
}
