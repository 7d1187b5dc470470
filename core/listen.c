/* listen.c - listening sockets, from addresses as text. */
#include "inherit.h"

#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Bytes of a connection that the kernel takes before it has sent them, as accepted sockets inherit
 * it: beyond, it only costs the kernel memory, and a turn of a loop the time to copy.
 */
#define UNSENT_MAX (128 << 10)

/* "host:port" taken apart. */
struct endpoint {
        char host[256];
        char port[8];
};

static int fail(char *error, size_t size, const char *address, const char *why)
{
        snprintf(error, size, "listen \"%s\": %s", address, why);
        return -1;
}

/* What went wrong, and what mends it. */
static int fail_errno(char *error, size_t size, const char *address, int code)
{
        const char *mend = code == EADDRINUSE ? ": another process has it; choose another port or "
                                                "stop that one"
                           : code == EACCES ? ": ports below 1024 need CAP_NET_BIND_SERVICE, and a "
                                              "unix socket a folder that can be written"
                           : code == EADDRNOTAVAIL ? ": this machine does not have the address"
                           : code == EMFILE        ? ": raise the limit of open files"
                                                   : "";

        snprintf(error, size, "listen \"%s\": %s%s", address, strerror(code), mend);
        return -1;
}

/* ---- TCP. ---- */

static bool parse(const char *address, struct endpoint *out)
{
        const char *colon = strrchr(address, ':');
        const char *host = address;
        size_t len;
        long port;
        char *end;

        if (!colon)
                return false;
        len = (size_t)(colon - address);
        if (address[0] == '[') {
                if (len < 4 || address[len - 1] != ']')
                        return false;
                host++;
                len -= 2;
        } else if (memchr(address, ':', len)) {
                return false;
        }
        if (len == 0 || len >= sizeof(out->host) || colon[1] < '0' || colon[1] > '9' ||
            strlen(colon + 1) > 5)
                return false;
        port = strtol(colon + 1, &end, 10);
        if (*end || port > 65535)
                return false;
        memcpy(out->host, host, len);
        out->host[len] = '\0';
        snprintf(out->port, sizeof(out->port), "%u", (unsigned)port & 65535);
        return true;
}

void weir__listen_tune(int fd)
{
        int unsent = UNSENT_MAX;

        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static int bind_tcp(const struct addrinfo *info, bool dual)
{
        int on = 1, off = 0, code;
        int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        weir__listen_tune(fd);
        if (info->ai_family == AF_INET6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &off : &on, sizeof(on));
        if (bind(fd, info->ai_addr, info->ai_addrlen) == 0)
                return fd;
        code = errno;
        close(fd);
        return -code;
}

/* The first address that `host` means and that can be bound. */
static int bind_first(const struct endpoint *endpoint, const char **why)
{
        bool any = !strcmp(endpoint->host, "*");
        struct addrinfo hints = { .ai_family = any ? AF_INET6 : AF_UNSPEC,
                                  .ai_socktype = SOCK_STREAM,
                                  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
        struct addrinfo *list = NULL;
        int code = getaddrinfo(any ? "::" : endpoint->host, endpoint->port, &hints, &list);
        int fd = -EADDRNOTAVAIL;

        if (code) {
                *why = gai_strerror(code);
                return -1;
        }
        for (const struct addrinfo *info = list; info && fd < 0; info = info->ai_next)
                fd = bind_tcp(info, any);
        freeaddrinfo(list);
        if (fd == -EAFNOSUPPORT && any) { /* a machine without IPv6 */
                struct endpoint v4 = *endpoint;

                memcpy(v4.host, "0.0.0.0", 8);
                return bind_first(&v4, why);
        }
        return fd;
}

static uint16_t port_of(int fd)
{
        union {
                struct sockaddr     any;
                struct sockaddr_in  in;
                struct sockaddr_in6 in6;
        } address;
        socklen_t len = sizeof(address);

        memset(&address, 0, sizeof(address));
        if (getsockname(fd, &address.any, &len) < 0)
                return 0;
        return ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port
                                                       : address.in.sin_port);
}

static int open_tcp(struct weir__socket *sock, const char *address, char *error, size_t size)
{
        const char *why = NULL;
        struct endpoint endpoint;

        if (!parse(address, &endpoint))
                return fail(error, size, address,
                            "not an address: write \"127.0.0.1:8080\", "
                            "\"[::1]:8080\", \"*:8080\", \"unix:/path\", \"fd:3\" or "
                            "\"systemd\"");
        sock->fd = bind_first(&endpoint, &why);
        if (why)
                return fail(error, size, address, why);
        if (sock->fd < 0)
                return fail_errno(error, size, address, -sock->fd);
        return 0;
}

/* ---- Unix sockets. ---- */

/* Is there a socket file that nobody listens on? */
static bool is_stale(const struct sockaddr_un *address)
{
        struct stat st;
        bool stale;
        int fd;

        if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
                return false;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return false;
        stale = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
                errno == ECONNREFUSED;
        close(fd);
        return stale;
}

static int bind_unix(int fd, const struct sockaddr_un *address)
{
        if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
                return 0;
        if (errno != EADDRINUSE)
                return -errno;
        if (!is_stale(address) || unlink(address->sun_path) < 0)
                return -EADDRINUSE;
        return bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
}

static int open_unix(struct weir__socket *sock, const char *address,
                     const struct weir_listen_options *options, char *error, size_t size)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        unsigned mode = options->unix_mode ? options->unix_mode : 0660;
        const char *path = address + 5;
        struct stat st;
        bool bound;
        int code;

        if (!*path || strlen(path) >= sizeof(un.sun_path))
                return fail(error, size, address, "the path must have 1 to 107 bytes");
        memcpy(un.sun_path, path, strlen(path));
        sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (sock->fd < 0)
                return fail_errno(error, size, address, errno);
        fchmod(sock->fd, mode); /* what the file gets at bind(), less the umask */
        code = bind_unix(sock->fd, &un);
        bound = code == 0;
        if (code == 0 && chmod(path, mode) == 0 && lstat(path, &st) == 0) {
                sock->is_unix = true;
                sock->path = path;
                sock->dev = st.st_dev;
                sock->ino = st.st_ino;
                return 0;
        }
        if (code == 0)
                code = -errno;
        if (code == -EADDRINUSE)
                fail(error, size, address,
                     "the path exists and is not a stale socket: remove it, "
                     "or stop the process that listens there");
        else
                fail_errno(error, size, address, -code);
        if (bound)
                unlink(path);
        close(sock->fd);
        sock->fd = -1;
        return -1;
}

/* ---- Both. ---- */

static int open_own(struct weir__socket *sock, const char *address,
                    const struct weir_listen_options *options, char *error, size_t size)
{
        if ((!strncmp(address, "unix:", 5) ? open_unix(sock, address, options, error, size)
                                           : open_tcp(sock, address, error, size)) < 0)
                return -1;
        if (listen(sock->fd, options->backlog ? options->backlog : WEIR__BACKLOG) == 0)
                return 0;
        fail_errno(error, size, address, errno);
        weir__listen_close(sock);
        return -1;
}

int weir__listen_open(struct weir__socket *sock, int inherited, const char *address,
                      const struct weir_listen_options *options, char *error, size_t size)
{
        int code;

        *sock = (struct weir__socket){ .fd = -1,
                                        .proxy_protocol = options->proxy_protocol,
                                        .half_close = options->half_close };
        sock->callers.after_ns = (uint64_t)options->proxy_timeout_ms * 1000000;
        if (options->backlog < 0 || options->unix_mode > 0777)
                return fail(error, size, address,
                            "backlog must not be negative, unix_mode at most "
                            "0777");
        code = inherited < 0 ? open_own(sock, address, options, error, size)
                       : weir__inherit_open(sock, inherited, address, options, error, size);
        if (code == 0 && !sock->is_unix)
                sock->port = port_of(sock->fd);
        return code;
}

static void remove_file(struct weir__socket *sock)
{
        struct stat st;

        if (sock->path && lstat(sock->path, &st) == 0 && st.st_dev == sock->dev &&
            st.st_ino == sock->ino)
                unlink(sock->path);
        sock->path = NULL;
}

/* Drops each segment that would begin a connection; those that have begun complete. */
static void drop_syns(int fd)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), /* the flags: RFC 9293 3.1 */
                BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12), /* SYN, ACK */
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
                BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        };
        struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)); /* or it may not */
}

void weir__listen_end(struct weir__socket *sock)
{
        if (sock->shared)
                return;
        remove_file(sock);
        if (!sock->is_unix)
                drop_syns(sock->fd);
}

void weir__listen_close(struct weir__socket *sock)
{
        if (sock->fd < 0)
                return;
        close(sock->fd);
        sock->fd = -1;
        remove_file(sock);
}
