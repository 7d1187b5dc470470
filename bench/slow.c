/*
 * slow.c - a server under slow clients, by slowhttptest: what a healthy client notices, and what a
 * turn of a loop costs.
 *
 * 1,000 connections each, for heads that drip in, bodies that drip in, and answers that are read by
 * drops. Beside them one client asks a thousand times a second at most, every tenth time on a
 * new connection. How long a turn keeps the processor is measured where it starts and ends: in
 * epoll_wait(), which this program puts its own in place of.
 */
#include "median.h"

#include <weir/weir.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BASELINE_S 4
#define ATTACK_S   25
#define MAX_ASKS   60000
#define MHD_EVENTS 128 /* with so many at once MHD asks again in the same turn */

static void invalid(const char *what)
{
        fprintf(stderr, "INVALID: %s\n", what);
        exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
        struct timespec time;

        clock_gettime(clock, &time);
        return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- Turns. ---- */

static _Atomic uint64_t longest_turn_ns;

static void end_turn(uint64_t cpu_ns)
{
        uint64_t longest = atomic_load(&longest_turn_ns);

        while (cpu_ns > longest &&
               !atomic_compare_exchange_weak(&longest_turn_ns, &longest, cpu_ns))
                ;
}

__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int most,
                                                      int wait_ms)
{
        static int (*real)(int, struct epoll_event *, int, int);
        static _Thread_local uint64_t began_ns;
        static _Thread_local bool goes_on;
        int n;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
        if (most != MHD_EVENTS) /* in the middle of a turn, or not of a loop */
                return real(fd, events, most, wait_ms);
        if (began_ns && !goes_on)
                end_turn(now_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
        n = real(fd, events, most, wait_ms);
        if (!goes_on)
                began_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
        goes_on = n == MHD_EVENTS;
        return n;
}

/* ---- The server. ---- */

static char big[10 << 20];

static enum weir_flow answer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "ok");
}

static enum weir_flow answer_big(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_send(ctx, 200, "text/plain", (struct weir_str){ big, sizeof(big) }, NULL, NULL);
}

static struct weir *serve(void)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1, .log_level = WEIR_LOG_ERROR });

        memset(big, 'x', sizeof(big));
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", answer, NULL);
        weir_post(app, "/", answer, NULL);
        weir_get(app, "/big", answer_big, NULL);
        if (weir_start(app) < 0)
                invalid(weir_error(app));
        return app;
}

static uint64_t connections_open(const struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        return stats.connections_open;
}

/* ---- The healthy client. ---- */

struct client {
        uint16_t port;
        int      fd;
        unsigned asks, failed;
        double   took_us[MAX_ASKS];
};

static void reconnect(struct client *client)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(client->port),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        struct timeval limit = { .tv_sec = 5 };

        if (client->fd >= 0)
                close(client->fd);
        client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                client->failed++;
}

static void ask(struct client *client)
{
        static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        uint64_t start = now_ns(CLOCK_MONOTONIC);
        char buf[1024];
        ssize_t n;

        if (client->asks % 10 == 0)
                reconnect(client);
        n = send(client->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0
                    ? -1
                    : recv(client->fd, buf, sizeof(buf), 0);
        if (n < 12 || memcmp(buf, "HTTP/1.1 200", 12) != 0) {
                client->failed++;
                reconnect(client);
        }
        client->took_us[client->asks++] = (double)(now_ns(CLOCK_MONOTONIC) - start) / 1e3;
}

/* Asks for `seconds`, or until `*pid` has ended, which is 0 then; the median. */
static double median_us(struct client *client, unsigned seconds, pid_t *pid)
{
        uint64_t end = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull;
        struct timespec pause = { .tv_nsec = 1000000 };

        client->asks = 0;
        while (now_ns(CLOCK_MONOTONIC) < end && client->asks < MAX_ASKS) {
                ask(client);
                nanosleep(&pause, NULL);
                if (pid && waitpid(*pid, NULL, WNOHANG) == *pid) {
                        *pid = 0;
                        break;
                }
        }
        return median(client->took_us, client->asks);
}

/* ---- The attacks. ---- */

static pid_t attack(const char *mode, const char *path, uint16_t port)
{
        char url[64];
        pid_t pid;

        snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, path);
        fflush(stdout);
        pid = fork();
        if (pid)
                return pid;
        if (!freopen("/dev/null", "w", stdout))
                _exit(126);
        execlp("slowhttptest", "slowhttptest", mode, "-c", "1000", "-r", "500", "-i", "1", "-l",
               "20", "-p", "5", "-n", "5", "-z", "32", "-w", "256", "-y", "512", "-u", url,
               (char *)NULL);
        _exit(127);
}

static void wait_gone(const struct weir *app, uint64_t but)
{
        uint64_t end = now_ns(CLOCK_MONOTONIC) + 30000000000ull;
        struct timespec pause = { .tv_nsec = 10000000 };

        while (connections_open(app) > but && now_ns(CLOCK_MONOTONIC) < end)
                nanosleep(&pause, NULL);
}

static void measure(const struct weir *app, struct client *client, const char *name,
                    const char *mode, const char *path)
{
        double alone, beside, turn_alone_us;
        uint64_t before, most = 0;
        struct weir_stats stats;
        pid_t pid;

        fprintf(stderr, "slow: %s ...\n", name);
        atomic_store(&longest_turn_ns, 0);
        alone = median_us(client, BASELINE_S, NULL);
        turn_alone_us = (double)atomic_load(&longest_turn_ns) / 1000;
        weir_stats(app, &stats);
        before = stats.connections;
        atomic_store(&longest_turn_ns, 0);
        client->failed = 0;
        pid = attack(mode, path, client->port);
        beside = median_us(client, ATTACK_S, &pid);
        most = connections_open(app);
        if (pid) {
                kill(pid, SIGTERM);
                waitpid(pid, NULL, 0);
        }
        wait_gone(app, 1); /* the healthy one */
        weir_stats(app, &stats);
        if (stats.connections - before < 1000)
                invalid("slowhttptest did not open 1000 connections: is it installed?");
        printf("slow_%s_failed %u requests\n", name, client->failed);
        printf("slow_%s_median_ratio %.2f ratio\n", name, beside / alone);
        printf("slow_%s_turn_cpu_us %.0f us\n", name, (double)atomic_load(&longest_turn_ns) / 1000);
        printf("slow_%s_turn_alone_us %.0f us\n", name, turn_alone_us); /* what the machine adds */
        printf("slow_%s_left %llu connections\n", name,
               (unsigned long long)(connections_open(app) - 1));
        fprintf(stderr,
                "slow: %.0f us alone, %.0f us beside; %llu open at the end, cut: %llu heads, "
                        "%llu bodies, %llu answers\n",
                alone, beside, (unsigned long long)most, (unsigned long long)stats.header_timeouts,
                (unsigned long long)stats.body_timeouts, (unsigned long long)stats.write_timeouts);
}

int main(void)
{
        static struct client client = { .fd = -1 };
        struct rlimit limit;
        struct weir *app;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        app = serve();
        client.port = weir_port(app, 0);
        measure(app, &client, "header", "-H", "/");
        measure(app, &client, "body", "-B", "/");
        measure(app, &client, "read", "-X", "/big");
        close(client.fd);
        wait_gone(app, 0);
        weir_free(app);
        return 0;
}
