/*
 * network.c - internet addresses as numbers, and sets of the networks that they are in.
 *
 * Two networks are disjoint, or one holds the other. So a set keeps the outer ones alone, in the
 * order of their first addresses: only the last that starts at or before an address can have it.
 */
#include "network.h"
#include "text.h"
#include <weir/network.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

struct network {
        struct weir__address first;
        uint64_t             mask_hi, mask_lo;
};

struct weir__networks {
        size_t         n;
        struct network at[];
};

/* ---- Addresses. ---- */

static uint64_t load64(const uint8_t *bytes)
{
        uint64_t value = 0;

        for (int i = 0; i < 8; i++)
                value = value << 8 | bytes[i];
        return value;
}

static struct weir__address from_v4(uint32_t value)
{
        return (struct weir__address){ .family = AF_INET, .hi = (uint64_t)value << 32 };
}

static struct weir__address from_v6(const struct in6_addr *in6)
{
        uint64_t hi = load64(in6->s6_addr), lo = load64(in6->s6_addr + 8);

        if (IN6_IS_ADDR_V4MAPPED(in6))
                return from_v4((uint32_t)lo);
        return (struct weir__address){ .family = AF_INET6, .hi = hi, .lo = lo };
}

struct weir__address weir__address_of(const struct sockaddr_storage *from)
{
        const void *any = from;
        const struct sockaddr_in *in = any;
        const struct sockaddr_in6 *in6 = any;

        if (from->ss_family == AF_INET)
                return from_v4(ntohl(in->sin_addr.s_addr));
        if (from->ss_family == AF_INET6)
                return from_v6(&in6->sin6_addr);
        return (struct weir__address){ .family = AF_UNIX };
}

/* Cuts a number of at most `max` off the front; no leading zeros. */
static bool take_number(struct weir_str *text, unsigned max, unsigned *value)
{
        size_t len = 0;

        *value = 0;
        while (len < text->len && text->ptr[len] >= '0' && text->ptr[len] <= '9' && *value <= max)
                *value = *value * 10 + (unsigned)(text->ptr[len++] - '0');
        if (len == 0 || *value > max || (len > 1 && text->ptr[0] == '0'))
                return false;
        text->ptr += len;
        text->len -= len;
        return true;
}

static bool parse_v4(struct weir_str text, struct weir__address *address)
{
        uint32_t value = 0;
        unsigned byte;

        for (int i = 0; i < 4; i++) {
                if (i && (!text.len || *text.ptr != '.'))
                        return false;
                text.ptr += i ? 1 : 0;
                text.len -= i ? 1 : 0;
                if (!take_number(&text, 255, &byte))
                        return false;
                value = value << 8 | byte;
        }
        *address = from_v4(value);
        return text.len == 0;
}

static bool parse_v6(struct weir_str text, struct weir__address *address)
{
        char copy[INET6_ADDRSTRLEN];
        struct in6_addr in6;

        if (text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
                return false;
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = '\0';
        if (inet_pton(AF_INET6, copy, &in6) != 1)
                return false;
        *address = from_v6(&in6);
        return true;
}

bool weir__address_parse(struct weir_str text, struct weir__address *address)
{
        if (!text.len)
                return false;
        return memchr(text.ptr, ':', text.len) ? parse_v6(text, address) : parse_v4(text, address);
}

bool weir__peer_parse(struct weir_str text, struct weir__address *address)
{
        *address = (struct weir__address){ .family = AF_UNIX };
        return weir_str_is(text, "unix") || weir__address_parse(text, address);
}

size_t weir__address_print(const struct weir__address *address, char out[WEIR__ADDRESS_TEXT])
{
        uint8_t bytes[16];

        for (unsigned i = 0; i < 16; i++)
                bytes[i] = (uint8_t)((i < 8 ? address->hi : address->lo) >> (56 - 8 * (i & 7)));
        inet_ntop(address->family, bytes, out, WEIR__ADDRESS_TEXT);
        return strlen(out);
}

/* ---- Networks. ---- */

static uint64_t left_bits(unsigned n)
{
        return n == 0 ? 0 : UINT64_MAX << (64 - n);
}

static void set_mask(struct network *network, unsigned bits)
{
        network->mask_hi = left_bits(bits < 64 ? bits : 64);
        network->mask_lo = left_bits(bits < 64 ? 0 : bits - 64);
}

static bool has(const struct network *network, const struct weir__address *address)
{
        return network->first.family == address->family &&
               network->first.hi == (address->hi & network->mask_hi) &&
               network->first.lo == (address->lo & network->mask_lo);
}

/* What is wrong with a network, or NULL. */
static const char *parse_network(struct weir_str text, struct network *out)
{
        static const char not_one[] = "is not a network: write \"10.0.0.0/8\", \"2001:db8::/32\", "
                                      "\"192.0.2.7\" or \"unix\"";
        const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
        struct weir_str host = { text.ptr, slash ? (size_t)(slash - text.ptr) : text.len };
        struct weir_str length = { text.ptr + host.len + 1, slash ? text.len - host.len - 1 : 0 };
        bool mapped, is_v6 = host.len && memchr(host.ptr, ':', host.len);
        unsigned bits, max = is_v6 ? 128 : 32;

        if (!weir__peer_parse(host, &out->first))
                return not_one;
        bits = max;
        if (slash &&
            (out->first.family == AF_UNIX || !take_number(&length, max, &bits) || length.len))
                return not_one;
        mapped = is_v6 && out->first.family == AF_INET;
        if (mapped && bits < 96)
                return "has bits of \"::ffff:0:0/96\" behind its length: write an IPv4 network";
        set_mask(out, out->first.family == AF_UNIX ? 0 : mapped ? bits - 96 : bits);
        if (!has(out, &out->first))
                return "has bits set behind its length: a network starts where they are 0";
        return NULL;
}

static int order(const struct weir__address *a, const struct weir__address *b)
{
        if (a->family != b->family)
                return a->family < b->family ? -1 : 1;
        if (a->hi != b->hi)
                return a->hi < b->hi ? -1 : 1;
        return a->lo == b->lo ? 0 : a->lo < b->lo ? -1 : 1;
}

/* By first address; of those that start together, the largest first. */
static int by_start(const void *left, const void *right)
{
        const struct network *a = left, *b = right;
        int at = order(&a->first, &b->first);

        if (at)
                return at;
        if (a->mask_hi != b->mask_hi)
                return a->mask_hi < b->mask_hi ? -1 : 1;
        return a->mask_lo == b->mask_lo ? 0 : a->mask_lo < b->mask_lo ? -1 : 1;
}

static void keep_outer(struct weir__networks *networks)
{
        size_t kept = 0;

        qsort(networks->at, networks->n, sizeof(networks->at[0]), by_start);
        for (size_t i = 0; i < networks->n; i++) {
                if (!kept || !has(&networks->at[kept - 1], &networks->at[i].first))
                        networks->at[kept++] = networks->at[i];
        }
        networks->n = kept;
}

struct weir__networks *weir__networks_new(const char *text, char *why, size_t size)
{
        size_t most = 1;
        struct weir__networks *networks;
        const char *end, *fault;

        for (const char *at = text; *at; at++)
                most += *at == ',';
        networks = calloc(1, sizeof(*networks) + most * sizeof(networks->at[0]));
        snprintf(why, size, "out of memory");
        for (; networks; text = end + 1) {
                struct weir_str one;

                end = strchrnul(text, ',');
                one = weir__trim((struct weir_str){ text, (size_t)(end - text) });
                fault = parse_network(one, &networks->at[networks->n++]);
                if (fault) {
                        snprintf(why, size, "\"%.*s\" %s", WEIR_FMT(one), fault);
                        free(networks);
                        return NULL;
                }
                if (!*end)
                        break;
        }
        if (networks)
                keep_outer(networks);
        return networks;
}

bool weir__networks_have(const struct weir__networks *networks, const struct weir__address *address)
{
        size_t low = 0, high = networks->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (order(&networks->at[middle].first, address) <= 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low && has(&networks->at[low - 1], address);
}

/* ---- For everybody. ---- */

struct weir_networks *weir_networks(struct weir *scope, const char *what, const char *text)
{
        struct weir__networks *networks;
        char why[256];

        if (!scope)
                return NULL;
        networks = weir__networks_new(text ? text : "", why, sizeof(why));
        if (!networks)
                weir_setup_error(scope, "%s: %s", what, why);
        return (struct weir_networks *)networks;
}

bool weir_networks_have(const struct weir_networks *networks, struct weir_str address)
{
        struct weir__address at;

        return networks && weir__peer_parse(address, &at) &&
               weir__networks_have((const struct weir__networks *)networks, &at);
}

void weir_networks_free(struct weir_networks *networks)
{
        free(networks);
}
