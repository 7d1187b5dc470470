/* router_routes.c - collects patterns, and refuses two for the same requests. */
#include "router_routes.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ROUTES (1 << 24) /* route numbers; keeps all indices of the compiled tree in 32 bits */

struct weir__routes *weir__routes_new(void)
{
        struct weir__routes *routes = calloc(1, sizeof(*routes));

        if (!routes)
                return NULL;
        routes->host = calloc(1, sizeof(*routes->host));
        routes->n_hosts = routes->hosts_cap = 1;
        if (!routes->host) {
                free(routes);
                return NULL;
        }
        return routes;
}

static void entry_free(struct weir__entry *entry)
{
        free(entry->pattern);
        free(entry);
}

void weir__routes_free(struct weir__routes *routes)
{
        if (!routes)
                return;
        for (uint32_t i = 0; i < routes->n_shapes; i++) {
                for (struct weir__entry *entry = routes->shape[i].entries, *next; entry;
                     entry = next) {
                        next = entry->next;
                        entry_free(entry);
                }
        }
        for (uint32_t i = 0; i < routes->n_hosts; i++)
                free(routes->host[i]);
        free(routes->host);
        free(routes->shape);
        free(routes->bucket);
        free(routes);
}

/* The array of `n` things with room for one more; NULL, and the array as it was, without memory. */
static void *make_room(void *array, uint32_t n, uint32_t *cap, size_t size)
{
        uint32_t wanted = n < 8 ? 16 : 2 * n;
        void *grown = n < *cap ? array : realloc(array, wanted * size);

        if (grown && n >= *cap)
                *cap = wanted;
        return grown;
}

/* ---- Hosts. ---- */

/* The number of a host, UINT32_MAX without memory. */
static uint32_t host_number(struct weir__routes *routes, const char *host)
{
        char *copy, **grown;

        for (uint32_t i = 1; i < routes->n_hosts; i++) {
                if (strcmp(routes->host[i], host) == 0)
                        return i;
        }
        grown = make_room(routes->host, routes->n_hosts, &routes->hosts_cap, sizeof(*grown));
        if (!grown)
                return UINT32_MAX;
        routes->host = grown;
        copy = strdup(host);
        if (!copy)
                return UINT32_MAX;
        routes->host[routes->n_hosts] = copy;
        return routes->n_hosts++;
}

/* ---- Shapes. ---- */

static uint64_t hash_bytes(uint64_t hash, struct weir_str text)
{
        for (size_t i = 0; i < text.len; i++)
                hash = (hash ^ (uint8_t)text.ptr[i]) * UINT64_C(0x100000001b3);
        return (hash ^ text.len) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_shape(uint32_t host, const struct weir__pattern *pattern)
{
        uint64_t hash = host;

        for (uint32_t i = 0; i < pattern->n; i++) {
                hash = hash_bytes(hash ^ (uint64_t)pattern->piece[i].kind,
                                  pattern->piece[i].prefix);
                hash = hash_bytes(hash, pattern->piece[i].suffix);
        }
        return hash ^ hash >> 32;
}

/* The bucket that has the shape, or the empty one where it belongs. */
static uint32_t *find_bucket(const struct weir__routes *routes, uint64_t hash, uint32_t host,
                             const struct weir__pattern *pattern)
{
        for (uint64_t at = hash;; at++) {
                uint32_t *bucket = &routes->bucket[at & (routes->n_buckets - 1)];
                const struct weir__shape *shape;

                if (*bucket == 0)
                        return bucket;
                shape = &routes->shape[*bucket - 1];
                if (shape->hash == hash && shape->host == host &&
                    weir__pattern_same(shape->entries->pattern, pattern))
                        return bucket;
        }
}

/* At most half of the buckets are in use. */
static bool grow_buckets(struct weir__routes *routes)
{
        uint32_t n = routes->n_buckets ? 2 * routes->n_buckets : 64;
        uint32_t *grown;

        if (2 * (routes->n_shapes + 1) <= routes->n_buckets)
                return true;
        grown = calloc(n, sizeof(*grown));
        if (!grown)
                return false;
        for (uint32_t i = 0; i < routes->n_shapes; i++) {
                uint64_t at = routes->shape[i].hash;

                while (grown[at & (n - 1)])
                        at++;
                grown[at & (n - 1)] = i + 1;
        }
        free(routes->bucket);
        routes->bucket = grown;
        routes->n_buckets = n;
        return true;
}

/* ---- Adding. ---- */

static int check_numbers(int method, uint32_t route, const char *quoted, struct weir__fault *fault)
{
        if ((method < 0 || method >= WEIR_CUSTOM + 16) && method != WEIR_ANY) {
                return weir__fault(fault, -EINVAL,
                                   "pattern %s is for method number %d, which there is none of: "
                                   "use enum weir_method or what weir_method() gave",
                                   quoted, method);
        }
        if (route >= MAX_ROUTES) {
                return weir__fault(fault, -E2BIG, "pattern %s is beyond the %d routes of a router",
                                   quoted, MAX_ROUTES);
        }
        return 0;
}

static const char *method_text(int method)
{
        static const char *const names[] = { "GET",   "HEAD",   "POST",   "PUT",
                                             "PATCH", "DELETE", "OPTIONS" };

        if (method == WEIR_ANY)
                return "any method";
        return method < WEIR_CUSTOM ? names[method] : "the same method of the app's own";
}

/* Is there an entry of the shape for the method? */
static int check_conflict(const struct weir__routes *routes, const struct weir__shape *shape,
                          int method, const char *quoted, struct weir__fault *fault)
{
        const struct weir__entry *entry = shape->entries;
        char other[WEIR__QUOTED];
        const char *host = routes->host[shape->host];

        while (entry && entry->method != method)
                entry = entry->next;
        if (!entry)
                return 0;
        return weir__fault(fault, -EEXIST,
                           "pattern %s matches the same requests as %s, both for %s%s%s: remove "
                           "one of them",
                           quoted, weir__quoted(other, entry->pattern->spelled),
                           method_text(method), host ? " on host " : "", host ? host : "");
}

/* Appends, so that the first pattern given for a shape stays the first. */
static void append(struct weir__shape *shape, struct weir__entry *entry)
{
        struct weir__entry **last = &shape->entries;

        while (*last)
                last = &(*last)->next;
        *last = entry;
}

/* Files the entry under its shape. */
static int file(struct weir__routes *routes, uint32_t host, struct weir__entry *entry,
                uint32_t *leaf, struct weir__fault *fault)
{
        uint64_t hash = hash_shape(host, entry->pattern);
        char quoted[WEIR__QUOTED];
        struct weir__shape *grown;
        uint32_t *bucket;
        int error;

        grown = make_room(routes->shape, routes->n_shapes, &routes->shapes_cap, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        routes->shape = grown;
        if (!grow_buckets(routes))
                return -ENOMEM;
        bucket = find_bucket(routes, hash, host, entry->pattern);
        if (*bucket == 0) {
                routes->shape[routes->n_shapes++] = (struct weir__shape){ .host = host,
                                                                          .hash = hash };
                *bucket = routes->n_shapes;
        }
        error = check_conflict(routes, &routes->shape[*bucket - 1], entry->method,
                               weir__quoted(quoted, entry->pattern->spelled), fault);
        if (error)
                return error;
        append(&routes->shape[*bucket - 1], entry);
        routes->n_routes++;
        if (routes->route_end <= entry->route)
                routes->route_end = entry->route + 1;
        *leaf = *bucket - 1;
        return 0;
}

static int add_parsed(struct weir__routes *routes, const char *host, struct weir__entry *entry,
                      uint32_t *leaf, struct weir__fault *fault)
{
        char name[WEIR__HOST_SIZE];
        uint32_t number = 0;

        if (host) {
                int error = weir__host_parse(host, name, fault);

                if (error)
                        return error;
                number = host_number(routes, name);
                if (number == UINT32_MAX)
                        return -ENOMEM;
        }
        return file(routes, number, entry, leaf, fault);
}

int weir__routes_add(struct weir__routes *routes, const char *host, int method, const char *pattern,
                     uint32_t route, uint32_t *leaf, char *error, size_t error_size)
{
        struct weir__fault fault = { error, error_size };
        char quoted[WEIR__QUOTED];
        struct weir__entry *entry;
        int result;

        weir__fault(&fault, 0, "no memory for pattern %s", weir__quoted(quoted, pattern));
        result = check_numbers(method, route, quoted, &fault);
        if (result)
                return result;
        entry = malloc(sizeof(*entry));
        if (!entry)
                return -ENOMEM;
        *entry = (struct weir__entry){ .method = method, .route = route };
        result = weir__pattern_parse(pattern, &entry->pattern, &fault);
        if (!result)
                result = add_parsed(routes, host, entry, leaf, &fault);
        if (result)
                entry_free(entry);
        else if (error_size)
                error[0] = '\0';
        return result;
}
