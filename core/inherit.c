/*
 * inherit.c - listening sockets that another process has opened.
 *
 * Such a socket has one queue of clients, whoever holds it. So nothing is lost between the process
 * that stops and the one that comes after it: what the first did not accept, the second does.
 */
#include "inherit.h"
#include "systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Which. ---- */

static int parse_number(const char *text)
{
        char *end;
        long n = strtol(text, &end, 10);

        return *text >= '0' && *text <= '9' && !*end && n <= 1 << 30 ? (int)n : -1;
}

static int find_systemd(const char *address, const char *name, int *fds, char *error, size_t size)
{
        int n = weir__systemd_listeners(name, fds, WEIR__MAX_INHERITED);

        if (n < 0)
                snprintf(error, size,
                         "listen \"%s\": this weir was built without libsystemd: configure it "
                         "--with-systemd, or pass the socket as \"fd:3\"",
                         address);
        else if (n == 0)
                snprintf(error, size,
                         "listen \"%s\": systemd has passed no such socket: start the process by a "
                         ".socket unit%s",
                         address, name ? " that names it so by FileDescriptorName=" : "");
        return n > 0 ? n : -1;
}

int weir__inherit_find(const char *address, int fds[WEIR__MAX_INHERITED], char *error, size_t size)
{
        if (!strcmp(address, "systemd"))
                return find_systemd(address, NULL, fds, error, size);
        if (!strncmp(address, "systemd:", 8))
                return find_systemd(address, address + 8, fds, error, size);
        if (strncmp(address, "fd:", 3) != 0)
                return 0;
        fds[0] = parse_number(address + 3);
        if (fds[0] >= 0)
                return 1;
        snprintf(error, size, "listen \"%s\": write the number of a descriptor, as in \"fd:3\"",
                 address);
        return -1;
}

/* ---- Is it one? ---- */

static int option_of(int fd, int option)
{
        int value = -1;
        socklen_t len = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* What is wrong with a descriptor, or NULL. */
static const char *fault_of(int fd)
{
        int domain = option_of(fd, SO_DOMAIN);

        if (fcntl(fd, F_GETFD) < 0)
                return "is not open in this process: pass it without close-on-exec";
        if (option_of(fd, SO_TYPE) != SOCK_STREAM ||
            (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX))
                return "is not a TCP socket, nor a unix stream socket";
        if (option_of(fd, SO_ACCEPTCONN) != 1)
                return "does not listen: whoever opens it must bind() it and listen()";
        return NULL;
}

/* Nobody else than this process may use the copy, and accept() must not block anybody. */
static int copy(int fd)
{
        int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

        if (own < 0 || flags < 0)
                return -errno;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(own, F_SETFL, flags | O_NONBLOCK);
        return own;
}

int weir__inherit_open(struct weir__socket *sock, int fd, const char *address,
                       const struct weir_listen_options *options, char *error, size_t size)
{
        const char *fault = fault_of(fd);

        if (!fault && options->unix_mode)
                fault = "is open: whoever opens it chooses its mode, not unix_mode";
        if (fault) {
                snprintf(error, size, "listen \"%s\": descriptor %d %s", address, fd, fault);
                return -1;
        }
        sock->fd = copy(fd);
        if (sock->fd < 0 || (options->backlog && listen(sock->fd, options->backlog) < 0)) {
                snprintf(error, size, "listen \"%s\": descriptor %d: %s", address, fd,
                         strerror(errno));
                weir__listen_close(sock);
                return -1;
        }
        sock->is_unix = option_of(fd, SO_DOMAIN) == AF_UNIX;
        if (!sock->is_unix)
                weir__listen_tune(sock->fd);
        sock->shared = true;
        return 0;
}
