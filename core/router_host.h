/* router_host.h - which tree is for the host of a request. */
#ifndef WEIR_CORE_ROUTER_HOST_H
#define WEIR_CORE_ROUTER_HOST_H

#include "router_tree.h"

/*
 * The slot of the best pattern for a host, WEIR__NO_HOST for none. The others that match it follow
 * by way of `next`: first the exact one, then suffixes, the longest first.
 */
uint32_t weir__host_find(const struct weir__router *router, struct weir_str host);

/* The slot of the longest suffix that is shorter than `host`. */
uint32_t weir__host_suffix(const struct weir__router *router, struct weir_str host);

#endif
