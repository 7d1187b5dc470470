/*
 * http_load.c - hundreds of connections at once: nobody waits for ever, every answer is right.
 *
 * libmicrohttpd asks for 128 events at a time, and can go to sleep on a multiple of them (see
 * core/mhd.c). So there are twice and four times as many connections here, all of them busy.
 */
#include "http.h"

#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#define EACH 40 /* requests on a connection */

/* ---- The app. ---- */

static atomic_int entered, left;

static enum weir_flow enter(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&entered, 1);
        return WEIR_NEXT;
}

static void leave(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&left, 1);
}

/* Says what it was asked, once and again: as long as the number says. */
static enum weir_flow repeat(struct weir_ctx *ctx, void *self)
{
        struct weir_str word = weir_param(ctx, "word");
        char text[512];
        size_t len = 0;

        (void)self;
        while (len + word.len <= sizeof(text) && word.len) {
                memcpy(text + len, word.ptr, word.len);
                len += word.len;
        }
        weir_set_header(ctx, "X-Word", "set");
        return weir_bytes(ctx, 200, "text/plain", (struct weir_str){ text, len });
}

static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

static struct weir *start_server(unsigned loops)
{
        static const struct weir_middleware count = {
                .name = "count", .phase = WEIR_OBSERVE, .on_request = enter, .on_done = leave
        };
        struct rlimit limit;
        struct weir *app;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        cr_assert_geq(limit.rlim_cur, 2048, "this test needs 2048 descriptors");
        app = http_app(loops);
        weir_use(app, &count, NULL);
        weir_get(app, "/repeat/{word}", repeat, NULL);
        weir_post(app, "/echo", echo, NULL);
        http_start(app);
        return app;
}

/* ---- Clients, all on one thread. ---- */

struct peer {
        int    fd;
        int    asked, answered;
        size_t want, got; /* bytes of the answer that is due; 0: its head is still to come */
        char   buf[2048];
};

/* Each connection says another word each time; every third request has a body. */
static void ask_next(struct peer *peer, int number)
{
        char request[128];
        int len;

        if (peer->asked % 3 == 2)
                len = sprintf(request,
                              "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n%04d%04d",
                              number, peer->asked);
        else
                len = sprintf(request, "GET /repeat/%04d%04d HTTP/1.1\r\nHost: x\r\n\r\n", number,
                              peer->asked);
        cr_assert_eq(send(peer->fd, request, (size_t)len, MSG_NOSIGNAL), len);
        peer->asked++;
        peer->want = peer->got = 0;
}

static void check(const struct peer *peer, int number, const char *body, size_t len)
{
        char want[16];

        sprintf(want, "%04d%04d", number, peer->answered);
        cr_assert_eq(net_status(peer->buf), 200, "%.100s", peer->buf);
        cr_assert_eq(len, peer->answered % 3 == 2 ? 8 : 512);
        for (size_t i = 0; i < len; i++)
                cr_assert_eq(body[i], want[i % 8], "%d: %.*s", number, (int)len, body);
}

/* Reads what there is; true when that completed an answer. */
static bool read_some(struct peer *peer, int number)
{
        ssize_t n = recv(peer->fd, peer->buf + peer->got, sizeof(peer->buf) - 1 - peer->got, 0);
        const char *end, *field;

        cr_assert_gt(n, 0, "connection %d ended", number);
        peer->got += (size_t)n;
        peer->buf[peer->got] = '\0';
        end = strstr(peer->buf, "\r\n\r\n");
        if (!end)
                return false;
        field = strstr(peer->buf, "Content-Length: ");
        cr_assert_not_null(field);
        peer->want = (size_t)(end + 4 - peer->buf) + strtoul(field + 16, NULL, 10);
        cr_assert_leq(peer->got, peer->want, "more than was asked for");
        if (peer->got < peer->want)
                return false;
        check(peer, number, end + 4, peer->want - (size_t)(end + 4 - peer->buf));
        peer->answered++;
        return true;
}

static void connect_all(struct peer *peers, int n, int epoll_fd, uint16_t port)
{
        for (int i = 0; i < n; i++) {
                struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

                peers[i].fd = net_connect(port);
                cr_assert_geq(peers[i].fd, 0, "%d: %s", i, strerror(errno));
                epoll_ctl(epoll_fd, EPOLL_CTL_ADD, peers[i].fd, &event);
        }
}

/* Until each has all its answers; a time-out is a stall. */
static void serve_out(struct peer *peers, int n, int epoll_fd)
{
        struct epoll_event events[256];
        int open = n;

        while (open) {
                int ready = epoll_wait(epoll_fd, events, 256, NET_TIMEOUT_S * 1000);

                cr_assert_gt(ready, 0, "stalled: %d connections wait", open);
                for (int i = 0; i < ready; i++) {
                        int number = (int)events[i].data.u32;
                        struct peer *peer = &peers[number];

                        if (!read_some(peer, number))
                                continue;
                        if (peer->asked < EACH)
                                ask_next(peer, number);
                        else if (peer->answered == EACH)
                                open--;
                }
        }
}

static void keep_busy(int n, unsigned loops)
{
        struct weir *app = start_server(loops);
        struct peer *peers = calloc((size_t)n, sizeof(*peers));
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        struct weir_stats stats;

        connect_all(peers, n, epoll_fd, weir_port(app, 0));
        for (int i = 0; i < n; i++)
                ask_next(&peers[i], i);
        serve_out(peers, n, epoll_fd);
        wait_idle(app);
        stats = stats_of(app);
        cr_assert_eq(stats.connections, (uint64_t)n);
        cr_assert_eq(stats.connections_open, (uint64_t)n);
        cr_assert_eq(stats.requests, (uint64_t)n * EACH);
        cr_assert_eq(stats.status[2], (uint64_t)n * EACH);
        cr_assert_eq(stats.answers_reused + stats.answers_heap, (uint64_t)n * EACH);
        for (int i = 0; i < n; i++)
                close(peers[i].fd);
        wait_gone(app, (uint64_t)n);
        http_end(app);
        cr_assert_eq(atomic_load(&entered), n * EACH);
        cr_assert_eq(atomic_load(&left), n * EACH);
        close(epoll_fd);
        free(peers);
}

Test(http_load, connections_256_on_one_loop_are_all_served)
{
        keep_busy(256, 1);
}

Test(http_load, connections_512_on_one_loop_are_all_served)
{
        keep_busy(512, 1);
}

Test(http_load, connections_256_on_two_loops_are_all_served)
{
        keep_busy(256, 2);
}

Test(http_load, connections_512_on_two_loops_are_all_served)
{
        keep_busy(512, 2);
}

/* ---- Numbers around 128, in step. ---- */

Test(http_load, connections_that_ask_all_at_once_are_all_served_however_many_they_are)
{
        static const int counts[] = { 125, 126, 127, 128, 129, 255, 256, 257, 384 };
        struct weir *app = start_server(1);
        struct peer *peers = calloc(384, sizeof(*peers));
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

        connect_all(peers, 384, epoll_fd, weir_port(app, 0));
        for (int k = 0; k < 9; k++) {
                for (int round = 0; round < 4; round++) {
                        for (int i = 0; i < counts[k]; i++)
                                ask_next(&peers[i], i);
                        for (int i = 0; i < counts[k]; i++) {
                                while (!read_some(&peers[i], i))
                                        ;
                        }
                }
        }
        for (int i = 0; i < 384; i++)
                close(peers[i].fd);
        http_end(app);
        close(epoll_fd);
        free(peers);
}

/* ---- Clients that leave. ---- */

static const char *const visits[] = {
        "",
        "GET /rep",
        "GET /repeat/a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /repeat/a HTTP/1.1\r\nHost: x\r\n\r\nGET /repeat/b HTTP/1.1\r\nHost: x\r\n\r\nGE",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\nabc",
        "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /repeat/a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
};

/* Sends a part of a visit and leaves in one of four ways. */
static void visit(uint16_t port, unsigned *seed)
{
        const char *text = visits[(unsigned)rand_r(seed) % 10];
        size_t len = strlen(text);
        struct linger reset = { .l_onoff = 1 };
        int fd = net_connect(port);
        char buf[512];

        cr_assert_geq(fd, 0);
        if (rand_r(seed) % 2)
                len = len ? (unsigned)rand_r(seed) % len : 0;
        net_send(fd, text, len);
        switch (rand_r(seed) % 4) {
        case 0:
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
                break;
        case 1:
                shutdown(fd, SHUT_WR);
                while (recv(fd, buf, sizeof(buf), 0) > 0)
                        ;
                break;
        case 2:
                recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
                break;
        default:
                break;
        }
        close(fd);
}

static void leave_at_random(unsigned loops)
{
        struct weir *app = start_server(loops);
        struct weir_stats stats;
        unsigned seed = loops;

        for (int i = 0; i < 3000; i++)
                visit(weir_port(app, 0), &seed);
        wait_gone(app, 3000);
        stats = stats_of(app);
        cr_assert_eq((uint64_t)atomic_load(&entered), stats.requests);
        cr_assert_eq((uint64_t)atomic_load(&left), stats.requests);
        cr_assert_eq(stats.status[0] + stats.status[2] + stats.status[4], stats.requests);
        http_end(app);
}

Test(http_load, of_clients_that_leave_at_random_nothing_stays_on_one_loop)
{
        leave_at_random(1);
}

Test(http_load, of_clients_that_leave_at_random_nothing_stays_on_two_loops)
{
        leave_at_random(2);
}
