/* peer.c - the address of a client as text: "127.0.0.1:80", "[::1]:80", "unix". */
#include "mhd_private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

void weir__peer_name(struct weir__conn *conn, const struct sockaddr *address)
{
        char text[INET6_ADDRSTRLEN];
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        int len = snprintf(conn->peer, sizeof(conn->peer), "unix");

        conn->client_len = (uint8_t)len;
        if (address && address->sa_family == AF_INET) {
                inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
                len = snprintf(conn->peer, sizeof(conn->peer), "%s:%u", text, ntohs(in->sin_port));
                conn->client_len = (uint8_t)strlen(text);
        } else if (address && address->sa_family == AF_INET6) {
                bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

                if (mapped)
                        inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, sizeof(text));
                else
                        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
                len = snprintf(conn->peer, sizeof(conn->peer), mapped ? "%s:%u" : "[%s]:%u", text,
                               ntohs(in6->sin6_port));
                conn->client_at = !mapped;
                conn->client_len = (uint8_t)strlen(text);
        }
        conn->peer_len = (uint8_t)len;
}
