/* peer.c - the address of a client as text: "127.0.0.1:80", "[::1]:80", "unix". */
#include "mhd_private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static void print(struct weir__conn *conn, const char *before, const char *host, const char *behind,
                  const char *port)
{
        int len = snprintf(conn->address, sizeof(conn->address), "%s%s%s%s", before, host, behind,
                           port);

        conn->peer = (struct weir_str){ conn->address, (size_t)len };
        conn->client = (struct weir_str){ conn->address + strlen(before), strlen(host) };
}

void weir__peer_name(struct weir__conn *conn, const struct sockaddr *address)
{
        char text[INET6_ADDRSTRLEN], port[8];
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

        if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) {
                print(conn, "", "unix", "", "");
                return;
        }
        snprintf(port, sizeof(port), ":%u", ntohs(in->sin_port)); /* where in6 has its own */
        if (address->sa_family == AF_INET) {
                inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
                print(conn, "", text, "", port);
        } else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
                inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, sizeof(text));
                print(conn, "", text, "", port);
        } else {
                inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
                print(conn, "[", text, "]", port);
        }
}
