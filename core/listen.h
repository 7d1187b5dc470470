/* listen.h - listening sockets, from addresses as text. */
#ifndef WEIR_CORE_LISTEN_H
#define WEIR_CORE_LISTEN_H

#include "app.h"
#include "timer.h"
#include <sys/stat.h>

/* An open listening socket. */
struct weir__socket {
        int         fd;      /* does not block                                        */
        uint16_t    port;    /* 0 for a unix socket                                   */
        bool        is_unix;
        const char *path;    /* of its file, part of the address; NULL once that is gone */
        dev_t       dev;     /* the file that bind() made: only that one is removed   */
        ino_t       ino;
        bool        shared;  /* somebody else has opened it: inherit.c                */
        bool        proxy_protocol;
        bool        half_close; /* the end of what a client sends is not its leaving          */
        const struct weir__networks *trusted; /* where its header may come from; NULL: anywhere */
        struct weir__timers          callers; /* connections that owe one: door_proxy.c         */
};

/*
 * Opens a socket, or makes one of the descriptor `inherited` unless that is -1. 0, or -1 with a
 * sentence in `error` that names the address.
 */
int weir__listen_open(struct weir__socket *sock, int inherited, const char *address,
                      const struct weir_listen_options *options, char *error, size_t size);

/* Sets what connections through a TCP socket inherit. */
void weir__listen_tune(int fd);

/*
 * No new client comes in, but those that did are there to be accepted. A socket that others hold
 * open too is theirs, and is left as it is.
 */
void weir__listen_end(struct weir__socket *sock);

/* Closes it and removes its file, if that is still the same. */
void weir__listen_close(struct weir__socket *sock);

#endif
