/* net.h - small blocking sockets for the tests that need a real connection. */
#ifndef WEIR_TESTS_NET_H
#define WEIR_TESTS_NET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define NET_TIMEOUT_S 30 /* a peer that says nothing for so long fails the test */

static inline int net_ready(int fd, const struct sockaddr *address, socklen_t len)
{
        struct timeval timeout = { .tv_sec = NET_TIMEOUT_S };

        if (fd < 0 || connect(fd, address, len) < 0) {
                if (fd >= 0)
                        close(fd);
                return -1;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
        return fd;
}

/* A connection to 127.0.0.1, or -1. */
static inline int net_connect(uint16_t port)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };

        return net_ready(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         (const struct sockaddr *)&address, sizeof(address));
}

static inline int net_connect_v6(uint16_t port)
{
        struct sockaddr_in6 address = { .sin6_family = AF_INET6,
                                        .sin6_port = htons(port),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT };

        return net_ready(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         (const struct sockaddr *)&address, sizeof(address));
}

static inline int net_connect_unix(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
        return net_ready(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         (const struct sockaddr *)&address, sizeof(address));
}

static inline bool net_send(int fd, const char *data, size_t size)
{
        while (size) {
                ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

                if (n <= 0)
                        return false;
                data += n;
                size -= (size_t)n;
        }
        return true;
}

/* Reads until the end; NUL-terminated. The length, or -1 when the end did not come properly. */
static inline ssize_t net_read_all(int fd, char *buf, size_t size)
{
        size_t len = 0;
        ssize_t n = 1;

        while (len + 1 < size && (n = recv(fd, buf + len, size - 1 - len, 0)) > 0)
                len += (size_t)n;
        buf[len] = '\0';
        return n < 0 ? -1 : (ssize_t)len;
}

/* Reads one answer that has a Content-Length (or none: no body), and not a byte of the next. */
static inline ssize_t net_read_answer(int fd, char *buf, size_t size)
{
        size_t len = 0, body = 0;
        const char *field;

        while (len + 1 < size && recv(fd, buf + len, 1, 0) == 1) {
                buf[++len] = '\0';
                if (len >= 4 && !memcmp(buf + len - 4, "\r\n\r\n", 4))
                        break;
        }
        buf[len] = '\0';
        field = strcasestr(buf, "\r\nContent-Length:");
        if (field)
                body = (size_t)strtoul(field + 17, NULL, 10);
        while (body && len + 1 < size) {
                ssize_t n = recv(fd, buf + len, body < size - 1 - len ? body : size - 1 - len, 0);

                if (n <= 0)
                        return -1;
                len += (size_t)n;
                body -= (size_t)n;
        }
        buf[len] = '\0';
        return (ssize_t)len;
}

/* The status of an answer, or -1. */
static inline int net_status(const char *answer)
{
        return strncmp(answer, "HTTP/1.1 ", 9) ? -1 : (int)strtol(answer + 9, NULL, 10);
}

/* One request on a connection of its own, closed by the server; the status. */
static inline int net_once(uint16_t port, const char *request, char *buf, size_t size)
{
        int fd = net_connect(port);
        ssize_t len;

        if (fd < 0 || !net_send(fd, request, strlen(request)))
                return -1;
        len = net_read_all(fd, buf, size);
        close(fd);
        return len < 0 ? -1 : net_status(buf);
}

#endif
