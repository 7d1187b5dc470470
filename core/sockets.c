/* sockets.c - opening the listening sockets of an app, one or several for each weir_listen(). */
#include "sockets.h"
#include "inherit.h"

#include <stdlib.h>

#define DEFAULT_ADDRESS "127.0.0.1:8080"

static bool grow(struct weir__door *door, unsigned by)
{
        struct weir__socket *sockets = realloc(door->sockets,
                                               (door->n_sockets + by) * sizeof(*sockets));

        if (!sockets)
                return false;
        door->sockets = sockets;
        for (unsigned i = 0; i < by; i++)
                sockets[door->n_sockets + i] = (struct weir__socket){ .fd = -1 };
        return true;
}

/* 0, or -1 with a sentence in `error`; "" is for want of memory. */
static int open_one(struct weir__door *door, struct weir__listen *listen, char *error, size_t size)
{
        int fds[WEIR__MAX_INHERITED], n;

        *error = '\0';
        n = weir__inherit_find(listen->address, fds, error, size);
        if (n < 0 || !grow(door, n ? (unsigned)n : 1))
                return -1;
        for (int i = 0; i < (n ? n : 1); i++) {
                struct weir__socket *sock = &door->sockets[door->n_sockets++];

                if (weir__listen_open(sock, n ? fds[i] : -1, listen->address, &listen->options,
                                      error, size) < 0)
                        return -1;
                sock->trusted = listen->trusted;
                if (i == 0)
                        listen->port = sock->port;
        }
        return 0;
}

bool weir__sockets_open(struct weir__app *app, struct weir__door *door)
{
        static char usual[] = DEFAULT_ADDRESS;
        struct weir__listen fallback = { .address = usual };
        char error[512];

        for (struct weir__listen *listen = app->listens ? app->listens : &fallback; listen;
             listen = listen->next) {
                if (open_one(door, listen, error, sizeof(error)) == 0)
                        continue;
                if (*error)
                        weir__error(app, "%s", error);
                return false;
        }
        return true;
}

void weir__sockets_announce(const struct weir__app *app)
{
        if (!app->listens)
                weir_log(&app->root, WEIR_LOG_INFO, "listening on " DEFAULT_ADDRESS);
        for (const struct weir__listen *listen = app->listens; listen; listen = listen->next) {
                const char *colon = strrchr(listen->address, ':');

                if (listen->port &&
                    (!colon || !strcmp(colon, ":0") || !strncmp(listen->address, "fd:", 3) ||
                                     !strncmp(listen->address, "systemd:", 8)))
                        weir_log(&app->root, WEIR_LOG_INFO, "listening on %s, port %u",
                                 listen->address, listen->port);
                else
                        weir_log(&app->root, WEIR_LOG_INFO, "listening on %s", listen->address);
        }
}
