/*
 * network.h - internet addresses as numbers, and sets of the networks that they are in.
 *
 *      text                family      128 bits, from the left
 *      10.1.2.3            AF_INET     0a010203 00000000 00000000 00000000
 *      ::ffff:10.1.2.3     AF_INET     the same: it is the same host
 *      2001:db8::17        AF_INET6    20010db8 00000000 00000000 00000017
 *      unix                AF_UNIX     0: all unix sockets are one
 */
#ifndef WEIR_CORE_NETWORK_H
#define WEIR_CORE_NETWORK_H

#include <stdint.h>
#include <sys/socket.h>
#include <weir/str.h>

struct weir__address {
        int      family;
        uint64_t hi, lo;
};

/* An IPv4 address in four decimal numbers without leading zeros, or an IPv6 one; nothing else. */
bool weir__address_parse(struct weir_str text, struct weir__address *address);

/* The same, or "unix": what ctx->client can be. */
bool weir__peer_parse(struct weir_str text, struct weir__address *address);

/* What accept() gave; a family that is not IP counts as AF_UNIX. */
struct weir__address weir__address_of(const struct sockaddr_storage *from);

/* Writes an IPv4 or IPv6 address in its one usual form (RFC 5952), and gives its length. */
#define WEIR__ADDRESS_TEXT 48
size_t weir__address_print(const struct weir__address *address, char out[WEIR__ADDRESS_TEXT]);

/*
 * Networks between commas: "10.0.0.0/8, 2001:db8::/32, 192.0.2.7, unix". Free it with free(). NULL:
 * `why` says why, naming the one that is wrong.
 */
struct weir__networks *weir__networks_new(const char *text, char *why, size_t size);

/* Is the address in one of them? Takes log2 of their number steps. */
bool weir__networks_have(const struct weir__networks *networks,
                         const struct weir__address *address);

#endif
