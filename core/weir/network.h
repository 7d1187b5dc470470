/* network.h - networks of internet addresses, and who is in them. */
#ifndef WEIR_NETWORK_H
#define WEIR_NETWORK_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_networks;

/*
 * Networks between commas: "10.0.0.0/8, 2001:db8::/32, 192.0.2.7, unix" (all unix sockets). `what`
 * begins the sentence of a setup error, "weir_use_x(): trusted". NULL after one. It is the
 * caller's, for weir_networks_free() in on_free.
 */
WEIR_API struct weir_networks *weir_networks(struct weir *scope, const char *what,
                                             const char *text) WEIR_MUST_USE;

/* Is `address`, such as ctx->client, in one of them? What is no address is in none. */
WEIR_API bool weir_networks_have(const struct weir_networks *networks, struct weir_str address);

/* NULL is fine. */
WEIR_API void weir_networks_free(struct weir_networks *networks);

#ifdef __cplusplus
}
#endif

#endif
