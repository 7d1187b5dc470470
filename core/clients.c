/*
 * clients.c - how many connections each client has open.
 *
 *      buckets     [ ] [*] [ ] [*]     by a hash whose key is drawn at start
 *                       |       |
 *      clients          A:3     C:1 -> B:0     those without connections go when they are met
 *
 * The door's thread adds clients, counts up and takes clients out; the loops, where connections
 * end, only count down. So a count that is 0 stays 0 until the door changes it, and nobody else
 * knows of that client any more: the door frees it. Every new connection looks through a bucket on
 * top of its own, so those without connections never outnumber the buckets. Nothing locks.
 */
#include "clients.h"
#include "sip.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define FIRST_BUCKETS 64

struct weir__client {
        struct weir__client *next; /* of its bucket                                             */
        uint64_t             network;
        int                  family;
        _Atomic uint64_t     open; /* connections. Down with release, which the door acquires   */
};

/* Whoever has a /64 has all of its addresses. */
static struct weir__client client_of(const struct weir__address *address)
{
        return (struct weir__client){ .network = address->hi, .family = address->family };
}

static struct weir__client **bucket_of(const struct weir__clients *clients,
                                       const struct weir__client *client)
{
        uint64_t hash = weir__sip(clients->key, client->network, (uint64_t)client->family);

        return &clients->buckets[hash & (clients->n_buckets - 1)];
}

/* Frees those of a bucket that have no connection. */
static void sweep(struct weir__clients *clients, struct weir__client **at)
{
        while (*at) {
                struct weir__client *client = *at;

                if (atomic_load_explicit(&client->open, memory_order_acquire)) {
                        at = &client->next;
                        continue;
                }
                *at = client->next;
                clients->n--;
                free(client);
        }
}

/* Twice the buckets once there are as many clients; without memory the old ones must do. */
static void grow(struct weir__clients *clients)
{
        struct weir__clients before = *clients;
        struct weir__client **buckets = calloc(2 * before.n_buckets, sizeof(struct weir__client *));

        if (!buckets)
                return;
        clients->buckets = buckets;
        clients->n_buckets = 2 * before.n_buckets;
        for (size_t i = 0; i < before.n_buckets; i++) {
                for (struct weir__client *client = before.buckets[i], *next; client;
                     client = next) {
                        struct weir__client **bucket = bucket_of(clients, client);

                        next = client->next;
                        client->next = *bucket;
                        *bucket = client;
                }
        }
        free(before.buckets);
}

static struct weir__client *add(struct weir__clients *clients, const struct weir__client *like)
{
        struct weir__client *client = malloc(sizeof(*client)), **bucket;

        if (!client)
                return NULL;
        if (clients->n >= clients->n_buckets)
                grow(clients);
        *client = *like;
        bucket = bucket_of(clients, client);
        client->next = *bucket;
        *bucket = client;
        clients->n++;
        return client;
}

/* ---- For the door. ---- */

bool weir__clients_init(struct weir__clients *clients, uint64_t limit,
                        struct weir__counters *counters)
{
        *clients = (struct weir__clients){ .limit = limit, .counters = counters };
        if (!limit)
                return true;
        if (getrandom(clients->key, sizeof(clients->key), 0) != (ssize_t)sizeof(clients->key))
                return false;
        clients->buckets = calloc(FIRST_BUCKETS, sizeof(struct weir__client *));
        clients->n_buckets = clients->buckets ? FIRST_BUCKETS : 0;
        return clients->buckets;
}

void weir__clients_finish(struct weir__clients *clients)
{
        for (size_t i = 0; i < clients->n_buckets; i++) {
                for (struct weir__client *client = clients->buckets[i], *next; client;
                     client = next) {
                        next = client->next;
                        free(client);
                }
        }
        free(clients->buckets);
        *clients = (struct weir__clients){ 0 };
}

enum weir__admission weir__client_enter(struct weir__clients *clients,
                                        const struct weir__address *address,
                                        struct weir__client **found)
{
        struct weir__client like = client_of(address), *client, **bucket;

        *found = NULL;
        if (!clients->limit || address->family == AF_UNIX)
                return WEIR__ADMITTED;
        sweep(clients, &clients->buckets[clients->swept++ & (clients->n_buckets - 1)]);
        bucket = bucket_of(clients, &like);
        sweep(clients, bucket);
        for (client = *bucket; client; client = client->next) {
                if (client->network == like.network && client->family == like.family)
                        break;
        }
        if (!client)
                client = add(clients, &like);
        if (!client)
                return WEIR__NO_MEMORY;
        if (atomic_load_explicit(&client->open, memory_order_relaxed) >= clients->limit)
                return WEIR__OVER_LIMIT;
        if (atomic_fetch_add_explicit(&client->open, 1, memory_order_relaxed) == 0)
                weir__count_by(clients->counters, WEIR__STAT(clients), 1);
        *found = client;
        return WEIR__ADMITTED;
}

/* The last thing that this thread does with the client. */
void weir__client_leave(struct weir__client *client, struct weir__counters *counters)
{
        if (client && atomic_fetch_sub_explicit(&client->open, 1, memory_order_release) == 1)
                weir__count_by(counters, WEIR__STAT(clients), (uint64_t)-1);
}
