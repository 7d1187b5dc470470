/*
 * http.h - what the socket tests share: apps that serve, clients that take answers apart.
 *
 * A client reads as RFC 9112 says and takes nothing else: what an answer may not be fails the test.
 */
#ifndef WEIR_TESTS_HTTP_H
#define WEIR_TESTS_HTTP_H

#include "kit.h"
#include "net.h"

#include <errno.h>
#include <linux/sockios.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <time.h>

/* ---- Apps. ---- */

/* Before 1.0 libmicrohttpd is laxer, and weir closes what it cannot check. */
static inline bool mhd_is_old(void)
{
        return MHD_get_version()[0] == '0';
}

/* An app that logs nowhere and listens on a port that the kernel chooses. */
static inline struct weir *http_app(unsigned loops)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = loops, .log = drop_log });

        weir_listen(app, "127.0.0.1:0", NULL);
        return app;
}

static inline void http_start(struct weir *app)
{
        cr_assert_eq(weir_start(app), 0, "%s", weir_error(app));
}

static inline struct weir_stats stats_of(const struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        return stats;
}

/* Stops and frees: then nothing may be left. */
static inline void http_end(struct weir *app)
{
        struct weir_stats stats;

        cr_assert_eq(weir_stop(app), 0);
        stats = stats_of(app);
        cr_assert_eq(stats.connections_open, 0, "%lu connections left",
                     (unsigned long)stats.connections_open);
        cr_assert_eq(stats.requests_in_flight, 0, "%lu requests left",
                     (unsigned long)stats.requests_in_flight);
        weir_free(app);
}

/* Waits until `n` connections have come, in all, and gone. */
static inline void wait_gone(struct weir *app, uint64_t n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (stats_of(app).connections < n || stats_of(app).connections_open) {
                cr_assert_lt(time(NULL), end, "%lu of %lu connections came, %lu are open",
                             (unsigned long)stats_of(app).connections, (unsigned long)n,
                             (unsigned long)stats_of(app).connections_open);
                sched_yield();
        }
        cr_assert_eq(stats_of(app).connections, n);
        cr_assert_eq(stats_of(app).requests_in_flight, 0);
}

/* Waits until no request is in flight. */
static inline void wait_idle(struct weir *app)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (stats_of(app).requests_in_flight) {
                cr_assert_lt(time(NULL), end, "%lu requests are in flight",
                             (unsigned long)stats_of(app).requests_in_flight);
                sched_yield();
        }
}

/* ---- Clients. ---- */

struct client {
        int    fd;
        char  *buf;
        size_t len, cap;
        size_t taken; /* bytes of buf that belong to answers already given */
};

static inline struct client client_on(int fd)
{
        int on = 1;

        cr_assert_geq(fd, 0, "cannot connect: %s", strerror(errno));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on a unix socket */
        return (struct client){ .fd = fd };
}

static inline struct client client_to(const struct weir *app)
{
        return client_on(net_connect(weir_port(app, 0)));
}

static inline void client_close(struct client *client)
{
        if (client->fd >= 0)
                close(client->fd);
        free(client->buf);
        *client = (struct client){ .fd = -1 };
}

/* Leaves by a reset. */
static inline void client_reset(struct client *client)
{
        const struct linger none = { .l_onoff = 1 };

        setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        client_close(client);
}

static inline void client_send_bytes(struct client *client, const char *data, size_t size)
{
        cr_assert(net_send(client->fd, data, size), "cannot send: %s", strerror(errno));
}

static inline void client_send(struct client *client, const char *text)
{
        client_send_bytes(client, text, strlen(text));
}

/* Sends what may come too late, because the server has closed: false then. */
static inline bool client_try_send(struct client *client, const char *data, size_t size)
{
        return net_send(client->fd, data, size);
}

/* POSTs the first `size` bytes of `data` in chunks of `chunk`, in one go; did all of it go? */
static inline bool client_try_chunks(struct client *client, const char *data, const char *path,
                                     size_t size, size_t chunk)
{
        char *wire = malloc(128 + size + (size / chunk + 2) * 12);
        size_t len = (size_t)sprintf(wire,
                                     "POST %s HTTP/1.1\r\nHost: x\r\n"
                                     "Transfer-Encoding: chunked\r\n\r\n",
                                     path);
        bool ok;

        for (size_t at = 0; at < size; at += chunk) {
                size_t n = size - at < chunk ? size - at : chunk;

                len += (size_t)sprintf(wire + len, "%zx\r\n", n);
                memcpy(wire + len, data + at, n);
                len += n;
                len += (size_t)sprintf(wire + len, "\r\n");
        }
        len += (size_t)sprintf(wire + len, "0\r\n\r\n");
        ok = client_try_send(client, wire, len);
        free(wire);
        return ok;
}

/*
 * Waits until the server has read all that was sent. Only a unix socket tells: over TCP the
 * kernel of the other side is enough to empty the queue.
 */
static inline void client_wait_taken(const struct client *client)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        int queued = 1;

        while (ioctl(client->fd, SIOCOUTQ, &queued) == 0 && queued) {
                cr_assert_lt(time(NULL), end, "the server does not read");
                sched_yield();
        }
}

/* Reads more; 0 at the end, -1 after a reset. A time-out fails. */
static inline ssize_t client_fill(struct client *client)
{
        ssize_t n;

        if (client->cap - client->len < 65536) {
                client->cap = 2 * client->cap + 131072;
                client->buf = realloc(client->buf, client->cap);
        }
        n = recv(client->fd, client->buf + client->len, client->cap - client->len - 1, 0);
        if (n < 0)
                cr_assert_eq(errno, ECONNRESET, "no answer: %s", strerror(errno));
        if (n > 0)
                client->len += (size_t)n;
        client->buf[client->len] = '\0';
        return n;
}

/* Reads until the server closes, by FIN or reset; what came is in buf, NUL-terminated. */
static inline struct weir_str client_read_all(struct client *client, bool *clean)
{
        ssize_t n;

        while ((n = client_fill(client)) > 0)
                ;
        if (clean)
                *clean = n == 0;
        return (struct weir_str){ client->buf + client->taken, client->len - client->taken };
}

/* Nothing more may come but the end of the connection. */
static inline void client_expect_end(struct client *client)
{
        bool clean;
        struct weir_str rest = client_read_all(client, &clean);

        cr_assert_eq(rest.len, 0, "more came: %.200s", rest.ptr);
        cr_assert(clean, "reset, not closed");
}

/* Bytes as the source text of a string, for messages; at most 250 of them, until the next call. */
static inline const char *shown(const char *bytes, size_t len)
{
        static char text[1024];
        char *at = text;

        for (size_t i = 0; i < len && i < 250; i++) {
                unsigned char c = (unsigned char)bytes[i];

                if (c == '\r' || c == '\n')
                        at += sprintf(at, "\\%c", c == '\r' ? 'r' : 'n');
                else
                        at += sprintf(at, c < ' ' || c >= 0x7f ? "\\x%02x" : "%c", c);
        }
        *at = '\0';
        return text;
}

/* ---- Answers. ---- */

/* Views live until the client reads again. */
struct answer {
        int             status;
        struct weir_str head;   /* the field lines                   */
        struct weir_str body;   /* without chunk sizes               */
        int64_t         length; /* what Content-Length says; -1: none */
        bool            chunked, until_close, broken;
        bool            closes; /* says Connection: close            */
};

/* The next field line of a head, taken apart; false at the end. What is none fails. */
static inline bool next_field(struct weir_str *head, struct weir_str *name, struct weir_str *value)
{
        const char *end = head->len ? memmem(head->ptr, head->len, "\r\n", 2) : NULL;
        const char *colon;

        if (!end)
                return false;
        colon = memchr(head->ptr, ':', (size_t)(end - head->ptr));
        cr_assert(colon && colon > head->ptr, "not a field: %.*s", (int)(end - head->ptr),
                  head->ptr);
        *name = (struct weir_str){ head->ptr, (size_t)(colon - head->ptr) };
        *value = (struct weir_str){ colon + 1, (size_t)(end - colon - 1) };
        for (size_t i = 0; i < value->len; i++)
                cr_assert((unsigned char)value->ptr[i] >= ' ' || value->ptr[i] == '\t');
        while (value->len && (*value->ptr == ' ' || *value->ptr == '\t'))
                value->ptr++, value->len--;
        while (value->len && strchr(" \t", value->ptr[value->len - 1]))
                value->len--;
        *head = (struct weir_str){ end + 2, head->len - (size_t)(end + 2 - head->ptr) };
        return true;
}

static inline bool name_is(struct weir_str name, const char *text)
{
        return name.len == strlen(text) && !strncasecmp(name.ptr, text, name.len);
}

/* The first field `name`; absent without one. How many there are. */
static inline unsigned find_fields(const struct answer *answer, const char *name,
                                   struct weir_str *first)
{
        struct weir_str head = answer->head, at, value;
        unsigned n = 0;

        *first = (struct weir_str){ 0 };
        while (next_field(&head, &at, &value)) {
                if (name_is(at, name) && n++ == 0)
                        *first = value;
        }
        return n;
}

static inline struct weir_str header_of(const struct answer *answer, const char *name)
{
        struct weir_str value;

        find_fields(answer, name, &value);
        return value;
}

/* What the fields say about the message, each at most once. */
static inline void judge_head(struct answer *answer)
{
        struct weir_str value;

        answer->length = -1;
        cr_assert_leq(find_fields(answer, "Content-Length", &value), 1);
        if (value.ptr) {
                char *end;

                answer->length = (int64_t)strtoll(value.ptr, &end, 10);
                cr_assert(value.len && end == value.ptr + value.len && answer->length >= 0);
        }
        cr_assert_leq(find_fields(answer, "Transfer-Encoding", &value), 1);
        answer->chunked = value.ptr;
        cr_assert(!value.ptr || weir_str_is(value, "chunked"));
        cr_assert(!value.ptr || answer->length < 0, "Content-Length beside Transfer-Encoding");
        cr_assert_leq(find_fields(answer, "Connection", &value), 1);
        answer->closes = value.ptr && name_is(value, "close");
        if (answer->status < 200 || answer->status == 204) /* RFC 9110 8.6, RFC 9112 6.1 */
                cr_assert(answer->length < 0 && !answer->chunked);
        cr_assert_eq(find_fields(answer, "Date", &value), answer->status >= 200);
        cr_assert_eq(value.len, answer->status >= 200 ? 29 : 0);
}

/* Makes `size` bytes from `taken` on be there; false when the connection ends before. */
static inline bool client_need(struct client *client, size_t size)
{
        while (client->len - client->taken < size) {
                if (client_fill(client) <= 0)
                        return false;
        }
        return true;
}

/* The next line, without its end; absent when the connection ends before. */
static inline struct weir_str client_line(struct client *client)
{
        size_t from = client->taken;
        const char *end;

        while (!client->buf || !(end = memmem(client->buf + from, client->len - from, "\r\n", 2))) {
                if (client_fill(client) <= 0)
                        return (struct weir_str){ 0 };
        }
        client->taken = (size_t)(end + 2 - client->buf);
        return (struct weir_str){ client->buf + from, client->taken - 2 - from };
}

/* Puts the chunks one behind the other; positions, since the buffer moves. */
static inline void read_chunks(struct client *client, struct answer *answer)
{
        size_t start = client->taken, len = 0, size = 1;

        while (size && !answer->broken) {
                struct weir_str line = client_line(client);
                char *end = NULL;

                size = line.ptr ? strtoul(line.ptr, &end, 16) : 0;
                cr_assert(!line.ptr || (line.len && end == line.ptr + line.len), "chunk size %.*s",
                          WEIR_FMT(line));
                answer->broken = !line.ptr || !client_need(client, size + 2);
                if (answer->broken)
                        size = client->len - client->taken; /* what came of it */
                else
                        cr_assert(!memcmp(client->buf + client->taken + size, "\r\n", 2));
                memmove(client->buf + start + len, client->buf + client->taken, size);
                len += size;
                client->taken += answer->broken ? size : size + 2;
        }
        answer->body = (struct weir_str){ client->buf + start, len };
}

static inline void read_body(struct client *client, struct answer *answer, bool head)
{
        size_t from = client->taken, size;

        if (head || answer->status < 200 || answer->status == 204 || answer->status == 304)
                return;
        if (answer->chunked) {
                read_chunks(client, answer);
                return;
        }
        answer->until_close = answer->length < 0;
        size = answer->until_close ? SIZE_MAX / 2 : (size_t)answer->length;
        answer->broken = !client_need(client, size) && !answer->until_close;
        if (answer->until_close || answer->broken)
                size = client->len - from;
        client->taken = from + size;
        answer->body = (struct weir_str){ client->buf + from, size };
}

/* Makes room for what is to come, once it is worth it. */
static inline void client_forget(struct client *client)
{
        if (client->taken < client->len && client->taken < client->cap / 2)
                return;
        if (client->taken < client->len)
                memmove(client->buf, client->buf + client->taken, client->len - client->taken);
        client->len -= client->taken;
        client->taken = 0;
}

/* The next answer; status 0 when the connection has ended instead. */
static inline struct answer client_next(struct client *client, bool head)
{
        struct answer answer = { 0 };
        struct weir_str line;
        size_t start, from;

        client_forget(client);
        line = client_line(client);
        if (!line.ptr) {
                cr_assert_eq(client->len, client->taken, "half a line: %s",
                             client->buf + client->taken);
                return answer;
        }
        cr_assert(line.len >= 13 && !strncmp(line.ptr, "HTTP/1.1 ", 9), "%.*s", WEIR_FMT(line));
        answer.status = (int)strtol(line.ptr + 9, NULL, 10);
        cr_assert(answer.status >= 100 && answer.status <= 599 && line.ptr[12] == ' ');
        from = client->taken;
        do {
                start = client->taken;
                line = client_line(client);
                cr_assert_not_null(line.ptr, "half a head");
        } while (line.len);
        answer.head = (struct weir_str){ client->buf + from, start - from };
        judge_head(&answer);
        start = client->taken;
        read_body(client, &answer, head);
        answer.head.ptr = client->buf + from;
        return answer;
}

/* The next answer, which must come and have that status. */
static inline struct answer client_read(struct client *client, int status)
{
        struct answer answer = client_next(client, false);

        cr_assert_eq(answer.status, status, "%d, not %d: %.300s", answer.status, status,
                     client->buf ? client->buf : "");
        cr_assert(!answer.broken, "cut off");
        return answer;
}

static inline void client_expect(struct client *client, int status, const char *body)
{
        struct answer answer = client_read(client, status);

        cr_assert(weir_str_is(answer.body, body), "\"%.*s\", not \"%s\"", WEIR_FMT(answer.body),
                  body);
}

/* Is the connection alive? Asks GET / of it, which must be answered 200. */
static inline void client_expect_alive(struct client *client)
{
        client_send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client_read(client, 200);
}

/* A client that was served; whoever finds no room comes again, since the door hears of it late. */
static inline struct client client_admitted(const struct weir *app)
{
        for (int tries = 0;; tries++) {
                struct client client = client_to(app);

                cr_assert_lt(tries, 10000, "there is no room");
                client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
                if (client_next(&client, false).status == 200)
                        return client;
                client_close(&client);
        }
}

#endif
