/* clients.h - how many connections each client has open. */
#ifndef WEIR_CORE_CLIENTS_H
#define WEIR_CORE_CLIENTS_H

#include "app.h"
#include "network.h"

/* A client with connections: an IPv4 address, or a network of 64 bits of IPv6. */
struct weir__client;

/* Owned by the door's thread, all but the counts in it. All zero: nothing is counted. */
struct weir__clients {
        struct weir__client  **buckets;
        size_t                 n_buckets; /* a power of 2                                   */
        size_t                 n;         /* in there, those without connections included   */
        size_t                 swept;     /* the next bucket to look for those in           */
        uint64_t               limit;     /* connections of each                            */
        uint64_t               key[2];    /* of the hash                                    */
        struct weir__counters *counters;  /* the door's, for the gauge                      */
};

/* False without memory or random numbers. */
bool weir__clients_init(struct weir__clients *clients, uint64_t limit,
                        struct weir__counters *counters);

/* No connection may be open any more, or it must never be told of. */
void weir__clients_finish(struct weir__clients *clients);

enum weir__admission {
        WEIR__ADMITTED,
        WEIR__OVER_LIMIT,
        WEIR__NO_MEMORY,
};

/*
 * Counts one more connection of `address`. *client is whom to tell of its end; NULL: nobody. Door's
 * thread.
 */
enum weir__admission weir__client_enter(struct weir__clients *clients,
                                        const struct weir__address *address,
                                        struct weir__client **client);

/* One of its connections has ended. NULL is fine. Any thread, with counters of its own. */
void weir__client_leave(struct weir__client *client, struct weir__counters *counters);

#endif
