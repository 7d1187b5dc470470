/* peers.h - what the servers under measurement share: routes, a body, numbers as arguments. */
#ifndef WEIR_BENCH_PEERS_H
#define WEIR_BENCH_PEERS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PEER_ROUTES  200
#define PEER_PATTERN "/repos/{owner}/{repo}" /* of the route that load.c asks for */
#define PEER_MESSAGE \
        "The Analytical Engine weaves algebraical patterns, just as the Jacquard loom weaves " \
        "flowers and leaves."

/* Pattern `n`, of 0 to PEER_ROUTES - 1, as weir writes it. The last is what load.c asks for. */
static inline void peer_pattern(char *pattern, size_t size, int n)
{
        static const char *const shape[] = {
                "", "/{id}", "/{id}/comments", "/{id}/comments/{comment}", "/{id}/history",
        };

        if (n == PEER_ROUTES - 1)
                snprintf(pattern, size, "%s", PEER_PATTERN);
        else
                snprintf(pattern, size, "/resource%02d%s", n / 5, shape[n % 5]);
}

/* Argument `i` as a number up to `max`, or `otherwise` without one. Nonsense ends the program. */
static inline unsigned long peer_number(char **argv, int argc, int i, unsigned long max,
                                        unsigned long otherwise)
{
        unsigned long value;
        char *end;

        if (i >= argc)
                return otherwise;
        errno = 0;
        value = strtoul(argv[i], &end, 10);
        if (errno || *end || end == argv[i] || value > max) {
                fprintf(stderr, "%s: \"%s\" is not a number from 0 to %lu\n", argv[0], argv[i],
                        max);
                exit(2);
        }
        return value;
}

#endif
