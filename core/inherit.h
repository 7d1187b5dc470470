/* inherit.h - listening sockets that another process has opened. */
#ifndef WEIR_CORE_INHERIT_H
#define WEIR_CORE_INHERIT_H

#include "listen.h"

#define WEIR__MAX_INHERITED 64 /* by one address */

/*
 * The descriptors that "fd:N", "systemd" or "systemd:NAME" mean. How many; 0: the address is of
 * another kind; -1 with a sentence in `error`.
 */
int weir__inherit_find(const char *address, int fds[WEIR__MAX_INHERITED], char *error, size_t size);

/*
 * Makes a socket of a copy of `fd`, which stays open, so that the app may start again. 0, or -1
 * with a sentence in `error`.
 */
int weir__inherit_open(struct weir__socket *sock, int fd, const char *address,
                       const struct weir_listen_options *options, char *error, size_t size);

#endif
