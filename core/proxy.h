/*
 * proxy.h - the PROXY protocol, versions 1 and 2: what a proxy says of its client before the first
 * byte of that (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt).
 */
#ifndef WEIR_CORE_PROXY_H
#define WEIR_CORE_PROXY_H

#include <stddef.h>
#include <sys/socket.h>

#define WEIR__PROXY_MAX 4096 /* bytes of a header: weir's own limit, with room for TLVs */

/*
 * The length of the header at the front of what has come; 0: there must be more; -1: it is none.
 * *source and *source_len change when the header names another end of the connection.
 */
int weir__proxy_read(const void *bytes, size_t len, struct sockaddr_storage *source,
                     socklen_t *source_len);

#endif
