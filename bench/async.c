/*
 * async.c - what a request costs that is suspended, answered by another thread and resumed.
 *
 * A server with one loop, here, and two clients, processes of their own. Prints:
 *
 *      inline_cpu, async_cpu         processor time of loop and worker per request, one at a time
 *      pingpong_cpu                  the same of a round by eventfds between these threads alone
 *      async_vs_pingpong             what async adds to inline, over that
 *      async_vs_pingpong_apart       the same with the clients on a processor of their own
 *      async_64_cpu                  per request, with 64 under way
 *      async_64_parked_cpu           the same while 4,000 others wait
 *      async_parked_ratio            of these two
 *      blocking_isolation_p50_ratio  the median of a route that answers at once while all workers
 *                                    block, over that without
 *
 * Blocks of the sides take turns; a figure is the median of its blocks. The server's threads share
 * one processor, so that to wake each other costs both sides of a ratio the same: the scheduler
 * would put the two of a ping-pong on one processor, and those of a request on two. For the first
 * four figures the client is on that processor, too.
 */
#include "median.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/weir.h>

#define BLOCKS   15
#define ONE      2000 /* requests of a block, one at a time       */
#define MANY     6400 /* the same with 64 under way               */
#define ROUNDS   1000 /* of a ping-pong                           */
#define PARKED   4000
#define BLOCKERS 16 /* connections that keep 8 workers busy     */
#define MAX_OPEN 4096

static void fail(const char *what)
{
        fprintf(stderr, "async: %s: %s\n", what, strerror(errno));
        exit(1);
}

static double clock_ns(clockid_t clock)
{
        struct timespec ts;

        clock_gettime(clock, &ts);
        return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void say(int fd, const void *what, size_t size)
{
        if (write(fd, what, size) != (ssize_t)size)
                fail("write");
}

static void hear(int fd, void *what, size_t size)
{
        if (read(fd, what, size) != (ssize_t)size)
                exit(1); /* the other side has ended, and said why */
}

/* ---- The worker: answers what waits, and plays ping-pong. ---- */

static struct {
        pthread_mutex_t    lock; /* guards the queue */
        struct weir_ticket queue[MAX_OPEN];
        unsigned           n;
        int                wake, back; /* eventfds */
        atomic_bool        pings;
        clockid_t          clock;
} worker = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void answer(struct weir_ticket ticket)
{
        struct weir_ctx *ctx = weir_claim(ticket);

        if (ctx)
                weir_resume(ctx, weir_text(ctx, 200, "ok"));
}

static void answer_all(void)
{
        static struct weir_ticket taken[MAX_OPEN];
        unsigned n;

        pthread_mutex_lock(&worker.lock);
        n = worker.n;
        worker.n = 0;
        memcpy(taken, worker.queue, n * sizeof(*taken));
        pthread_mutex_unlock(&worker.lock);
        for (unsigned i = 0; i < n; i++)
                answer(taken[i]);
}

static void *work(void *arg)
{
        uint64_t count, one = 1;

        for (;;) {
                hear(worker.wake, &count, sizeof(count));
                if (atomic_load(&worker.pings))
                        say(worker.back, &one, sizeof(one));
                else
                        answer_all();
        }
        return arg;
}

/* ---- The server. ---- */

static clockid_t loop_clock;
static struct weir_ticket parked[PARKED];
static atomic_uint n_parked;

static enum weir_flow answer_inline(struct weir_ctx *ctx, void *self)
{
        (void)self;
        pthread_getcpuclockid(pthread_self(), &loop_clock);
        return weir_text(ctx, 200, "ok");
}

static enum weir_flow answer_async(struct weir_ctx *ctx, void *self)
{
        uint64_t one = 1;
        bool first;

        (void)self;
        pthread_mutex_lock(&worker.lock);
        first = worker.n == 0;
        worker.queue[worker.n++] = weir_suspend(ctx);
        pthread_mutex_unlock(&worker.lock);
        if (first)
                say(worker.wake, &one, sizeof(one));
        return WEIR_WAIT;
}

static enum weir_flow play(struct weir_ctx *ctx, void *self)
{
        uint64_t one = 1;

        (void)self;
        atomic_store(&worker.pings, true);
        for (int i = 0; i < ROUNDS; i++) {
                say(worker.wake, &one, sizeof(one));
                hear(worker.back, &one, sizeof(one));
        }
        atomic_store(&worker.pings, false);
        return weir_text(ctx, 200, "ok");
}

static enum weir_flow park(struct weir_ctx *ctx, void *self)
{
        unsigned n = atomic_load(&n_parked);

        (void)self;
        parked[n] = weir_suspend(ctx);
        atomic_store(&n_parked, n + 1);
        return WEIR_WAIT;
}

static enum weir_flow block(struct weir_ctx *ctx, void *self)
{
        struct timespec time = { .tv_nsec = 20000000 };

        (void)self;
        nanosleep(&time, NULL);
        return weir_text(ctx, 200, "ok");
}

static struct weir *make_app(void)
{
        static const struct weir_route_options waits = { .waits = true };
        static const struct weir_route_options blocks = { .blocking = true };
        struct weir *app = weir_new(&(struct weir_options){
                .loops = 1, .max_connections = 8192, .log_level = WEIR_LOG_ERROR });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/inline", answer_inline, NULL);
        weir_get(app, "/play", play, NULL);
        weir_route(app, WEIR_GET, "/async", answer_async, NULL, &waits);
        weir_route(app, WEIR_GET, "/park", park, NULL, &waits);
        weir_route(app, WEIR_GET, "/block", block, NULL, &blocks);
        return app;
}

/* ---- A client. ---- */

/*
 * What it is asked for. `n` 0: until it is told something else; `hold`: no answer is awaited;
 * `apart`: from another processor.
 */
struct command {
        char     path[16];
        unsigned connections, n;
        bool     hold, apart;
};

struct connections {
        int    fd[MAX_OPEN];
        double sent_ns[MAX_OPEN];
        int    n, epoll_fd;
};

static void open_all(struct connections *all, unsigned n, uint16_t port)
{
        struct sockaddr_in to = { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = { htonl(INADDR_LOOPBACK) } };

        all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        for (all->n = 0; all->n < (int)n; all->n++) {
                struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)all->n };
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

                if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
                    epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
                        fail("connect");
                all->fd[all->n] = fd;
        }
}

static void close_all(struct connections *all)
{
        for (int i = 0; i < all->n; i++)
                close(all->fd[i]);
        close(all->epoll_fd);
}

static void ask(struct connections *all, uint32_t i, const char *path)
{
        char request[64];
        int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);

        all->sent_ns[i] = clock_ns(CLOCK_MONOTONIC);
        if (send(all->fd[i], request, (size_t)len, MSG_NOSIGNAL) != len)
                fail("send");
}

static bool is_told(int control)
{
        char byte;

        return recv(control, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Keeps all connections asking; the median of the answers' times, in microseconds. */
static double load(struct connections *all, const struct command *command, int control)
{
        static double us[1 << 16];
        struct epoll_event events[64];
        unsigned to_send = command->n, n_us = 0, under_way = 0;
        char text[1024];

        for (int i = 0; i < all->n; i++) {
                ask(all, (uint32_t)i, command->path);
                under_way++;
        }
        to_send -= command->n ? (unsigned)all->n : 0;
        while (under_way) {
                int n = epoll_wait(all->epoll_fd, events, 64, 10000);
                bool over = command->n ? false : is_told(control);

                if (n == 0)
                        fail("no answer");
                for (int k = 0; k < n; k++) {
                        uint32_t i = events[k].data.u32;

                        if (recv(all->fd[i], text, sizeof(text), 0) < 12 ||
                            memcmp(text, "HTTP/1.1 200", 12) != 0)
                                fail("answer");
                        us[n_us++ & 0xffff] = (clock_ns(CLOCK_MONOTONIC) - all->sent_ns[i]) / 1e3;
                        under_way--;
                        if (command->n ? to_send == 0 : over)
                                continue;
                        to_send -= command->n ? 1 : 0;
                        ask(all, i, command->path);
                        under_way++;
                }
        }
        return median(us, n_us < 0xffff ? n_us : 0xffff);
}

/* The answers to what was parked, which may have come. */
static void collect(struct connections *all)
{
        char text[1024];

        for (int i = 0; i < all->n; i++) {
                if (recv(all->fd[i], text, sizeof(text), 0) < 12)
                        fail("parked answer");
        }
}

static cpu_set_t processors; /* that this program may use */

/* The first of them, or the last. */
static void use_processor(bool first)
{
        cpu_set_t one;
        int found = -1;

        for (int i = 0; i < CPU_SETSIZE && !(first && found >= 0); i++)
                found = CPU_ISSET(i, &processors) ? i : found;
        CPU_ZERO(&one);
        CPU_SET(found, &one);
        if (sched_setaffinity(0, sizeof(one), &one) < 0)
                fail("sched_setaffinity");
}

static void run_client(int control)
{
        static struct connections all, held;
        struct command command;
        uint16_t port;

        hear(control, &port, sizeof(port));
        for (;;) {
                double us = 0;

                hear(control, &command, sizeof(command));
                use_processor(!command.apart);
                if (command.hold && command.connections) {
                        open_all(&held, command.connections, port);
                        for (int i = 0; i < held.n; i++)
                                ask(&held, (uint32_t)i, command.path);
                } else if (command.hold) {
                        collect(&held);
                        close_all(&held);
                } else if (command.connections) {
                        open_all(&all, command.connections, port);
                        us = load(&all, &command, control);
                        close_all(&all);
                }
                say(control, &us, sizeof(us));
        }
}

static int fork_client(void)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                fail("socketpair");
        if (fork() == 0) {
                close(pair[0]);
                run_client(pair[1]);
        }
        close(pair[1]);
        return pair[0];
}

static bool apart;

static double tell(int client, const char *path, unsigned connections, unsigned n, bool hold)
{
        struct command command = { .connections = connections, .n = n, .hold = hold };
        double us;

        command.apart = apart;
        snprintf(command.path, sizeof(command.path), "%s", path);
        say(client, &command, sizeof(command));
        hear(client, &us, sizeof(us));
        return us;
}

/* ---- Measuring. ---- */

/* Processor time of loop and worker for each of `n`. */
static double cpu_of(int client, const char *path, unsigned connections, unsigned n, unsigned each)
{
        double before = clock_ns(loop_clock) + clock_ns(worker.clock);

        tell(client, path, connections, n, false);
        return (clock_ns(loop_clock) + clock_ns(worker.clock) - before) / (n * each);
}

static void compare_pingpong(int client)
{
        double inlined[BLOCKS], async[BLOCKS], pingpong[BLOCKS], a, b, c;

        tell(client, "/inline", 1, ONE, false);
        for (int i = 0; i < BLOCKS; i++) {
                inlined[i] = cpu_of(client, "/inline", 1, ONE, 1);
                async[i] = cpu_of(client, "/async", 1, ONE, 1);
                pingpong[i] = cpu_of(client, "/play", 1, 2, ROUNDS);
        }
        a = median(inlined, BLOCKS);
        b = median(async, BLOCKS);
        c = median(pingpong, BLOCKS);
        if (!apart)
                printf("inline_cpu %.0f ns\nasync_cpu %.0f ns\npingpong_cpu %.0f ns\n", a, b, c);
        printf("async_vs_pingpong%s %.3f ratio\n", apart ? "_apart" : "", (b - a) / c);
}

static void park_all(int parker)
{
        atomic_store(&n_parked, 0);
        tell(parker, "/park", PARKED, 0, true);
        while (atomic_load(&n_parked) < PARKED)
                usleep(1000);
}

static void free_all(int parker)
{
        for (int i = 0; i < PARKED; i++)
                answer(parked[i]);
        tell(parker, "", 0, 0, true);
}

static void compare_parked(int client, int parker)
{
        enum { PHASES = 4, EACH = 8 };
        double alone[PHASES * EACH], among[PHASES * EACH], a, b;

        for (int phase = 0; phase < PHASES; phase++) {
                for (int i = 0; i < EACH; i++)
                        alone[phase * EACH + i] = cpu_of(client, "/async", 64, MANY, 1);
                park_all(parker);
                for (int i = 0; i < EACH; i++)
                        among[phase * EACH + i] = cpu_of(client, "/async", 64, MANY, 1);
                free_all(parker);
        }
        a = median(alone, PHASES * EACH);
        b = median(among, PHASES * EACH);
        printf("async_64_cpu %.0f ns\nasync_64_parked_cpu %.0f ns\n", a, b);
        printf("async_parked_ratio %.3f ratio\n", b / a);
}

static void compare_blocking(int client, int blocker)
{
        struct command none = { .apart = apart };
        struct command block = { .path = "/block", .connections = BLOCKERS, .apart = apart };
        double alone[BLOCKS], among[BLOCKS], us;

        for (int i = 0; i < BLOCKS; i++) {
                alone[i] = tell(client, "/inline", 1, ONE, false);
                say(blocker, &block, sizeof(block));
                usleep(30000);
                among[i] = tell(client, "/inline", 1, ONE, false);
                say(blocker, &none, sizeof(none));
                hear(blocker, &us, sizeof(us));
                hear(blocker, &us, sizeof(us));
        }
        printf("blocking_isolation_p50_ratio %.3f ratio\n",
               median(among, BLOCKS) / median(alone, BLOCKS));
}

int main(void)
{
        struct rlimit limit;
        pthread_t thread;
        struct weir *app;
        uint16_t port;
        int client, other;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (sched_getaffinity(0, sizeof(processors), &processors) < 0)
                fail("sched_getaffinity");
        client = fork_client();
        other = fork_client();
        use_processor(true);
        worker.wake = eventfd(0, EFD_CLOEXEC);
        worker.back = eventfd(0, EFD_CLOEXEC);
        if (pthread_create(&thread, NULL, work, NULL) != 0 ||
            pthread_getcpuclockid(thread, &worker.clock) != 0)
                fail("thread");
        app = make_app();
        if (weir_start(app) < 0) {
                fprintf(stderr, "async: %s\n", weir_error(app));
                return 1;
        }
        port = weir_port(app, 0);
        say(client, &port, sizeof(port));
        say(other, &port, sizeof(port));
        compare_pingpong(client);
        apart = true;
        compare_pingpong(client);
        compare_parked(client, other);
        compare_blocking(client, other);
        close(client);
        close(other);
        weir_stop(app);
        return 0; /* the worker waits, so the app is not freed under it */
}
