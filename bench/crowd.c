/*
 * crowd.c - very many connections to a server on 127.0.0.1, from several processes, each from an
 * address of its own (127.0.0.2 and up), since ports and descriptors run out.
 *
 * usage: crowd storm N PORT     all at once, one request on each; open until the last is answered
 *        crowd hold N PORT      one after the other, one request on each, open until input ends
 *        crowd median A B       asks the servers on ports A and B in turn, on a connection each
 *        crowd up               brings up the loopback device, in a network namespace of its own
 *
 * storm prints: storm_seconds, from the first connect() to the last answer; storm_failed, those
 * without one. hold prints "held N". median prints median_a and median_b, in microseconds.
 */
#include "median.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES   4
#define PATIENCE_MS 30000
#define ROUNDS      60  /* of median... */
#define ROUND       100 /* ...requests to each server */
#define AT_ONCE     200 /* connections of a process that hold opens before it waits for answers */

static const char request[] = "GET /repos/ada/engine HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct connection {
        int  fd;
        bool asked, over;
};

/* Of one process. */
struct crowd {
        struct connection *at;
        unsigned           n, n_over, n_failed;
        int                epoll_fd;
        struct sockaddr_in from, to;
};

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        fprintf(stderr, "crowd: ");
        vfprintf(stderr, fmt, args);
        fprintf(stderr, "\n");
        va_end(args);
        exit(1);
}

static double now_s(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static unsigned long number(const char *text, unsigned long most)
{
        char *end;
        unsigned long value = strtoul(text, &end, 10);

        if (*end || end == text || value < 1 || value > most)
                fail("\"%s\" is not a number from 1 to %lu", text, most);
        return value;
}

static struct sockaddr_in loopback(unsigned host, unsigned long port)
{
        return (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)port),
                                     .sin_addr = { htonl(0x7f000000u + host) } };
}

static void raise_limit(void)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- One process: connections that each ask once. ---- */

static void prepare(struct crowd *crowd, struct connection *connection)
{
        int on = 1;

        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        setsockopt(connection->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
        if (connection->fd < 0 ||
            bind(connection->fd, (struct sockaddr *)&crowd->from, sizeof(crowd->from)) < 0)
                fail("no socket: %s", strerror(errno));
}

static void give_up(struct crowd *crowd, struct connection *connection)
{
        connection->over = true;
        crowd->n_over++;
        crowd->n_failed++;
}

static void start(struct crowd *crowd, struct connection *connection)
{
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
                                     .data.ptr = connection };

        if ((connect(connection->fd, (struct sockaddr *)&crowd->to, sizeof(crowd->to)) < 0 &&
             errno != EINPROGRESS) ||
            epoll_ctl(crowd->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0)
                give_up(crowd, connection);
}

/* A whole answer comes in one piece. */
static void take(struct crowd *crowd, struct connection *connection)
{
        char answer[4096];
        ssize_t n = recv(connection->fd, answer, sizeof(answer) - 1, 0);

        if (n < 0 && errno == EAGAIN)
                return;
        if (n < 12 || memcmp(answer, "HTTP/1.1 200", 12) != 0) {
                give_up(crowd, connection);
                return;
        }
        connection->over = true;
        crowd->n_over++;
}

static void advance(struct crowd *crowd, struct connection *connection, uint32_t events)
{
        if (connection->over)
                return;
        if (!connection->asked && (events & EPOLLOUT)) {
                connection->asked = true;
                if (send(connection->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) {
                        give_up(crowd, connection);
                        return;
                }
        }
        if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
                take(crowd, connection);
}

/* Until `n` are over, or time is up. */
static void serve(struct crowd *crowd, unsigned n, double until_s)
{
        struct epoll_event events[256];

        while (crowd->n_over < n && now_s() < until_s) {
                int ready = epoll_wait(crowd->epoll_fd, events, 256, 100);

                for (int i = 0; i < ready; i++)
                        advance(crowd, events[i].data.ptr, events[i].events);
        }
}

static void tell(int fd, unsigned value)
{
        if (write(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
                exit(1);
}

static unsigned hear(int fd)
{
        unsigned value;

        if (read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
                exit(1); /* the other one has gone */
        return value;
}

/* Says that it is ready, waits for the start, says how many failed, waits for the end. */
static void run(struct crowd *crowd, bool at_once, int in, int out)
{
        unsigned step = at_once ? crowd->n : AT_ONCE;

        crowd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        crowd->at = calloc(crowd->n, sizeof(*crowd->at));
        for (unsigned i = 0; i < crowd->n; i++)
                prepare(crowd, &crowd->at[i]);
        tell(out, 0);
        hear(in);
        for (unsigned i = 0; i < crowd->n; i += step) {
                unsigned end = i + step < crowd->n ? i + step : crowd->n;

                for (unsigned k = i; k < end; k++)
                        start(crowd, &crowd->at[k]);
                serve(crowd, end, now_s() + PATIENCE_MS / 1000.0);
        }
        tell(out, crowd->n_failed + crowd->n - crowd->n_over);
        hear(in);
        exit(0);
}

/* ---- All of them. ---- */

struct processes {
        int in[PROCESSES], out[PROCESSES]; /* to them, from them */
};

static void fork_all(struct processes *all, unsigned n, bool at_once, unsigned long port)
{
        for (unsigned i = 0; i < PROCESSES; i++) {
                struct crowd crowd = { .n = n / PROCESSES + (i < n % PROCESSES),
                                       .from = loopback(2 + i, 0),
                                       .to = loopback(1, port) };
                int in[2], out[2];

                if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
                        fail("no pipe: %s", strerror(errno));
                if (fork() == 0) {
                        close(in[1]);
                        for (unsigned k = 0; k < i; k++)
                                close(all->in[k]);
                        run(&crowd, at_once, in[0], out[1]);
                }
                close(in[0]);
                close(out[1]);
                all->in[i] = in[1];
                all->out[i] = out[0];
        }
}

static void tell_all(const struct processes *all)
{
        for (unsigned i = 0; i < PROCESSES; i++)
                tell(all->in[i], 0);
}

static unsigned hear_all(const struct processes *all)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < PROCESSES; i++)
                sum += hear(all->out[i]);
        return sum;
}

static void storm(unsigned n, unsigned long port)
{
        struct processes all;
        unsigned failed;
        double start_s;

        fork_all(&all, n, true, port);
        hear_all(&all);
        start_s = now_s();
        tell_all(&all);
        failed = hear_all(&all);
        printf("storm_seconds %.3f s\nstorm_failed %u connections\n", now_s() - start_s, failed);
        tell_all(&all);
}

static void hold(unsigned n, unsigned long port)
{
        struct processes all;
        unsigned failed;
        char byte;

        fork_all(&all, n, false, port);
        hear_all(&all);
        tell_all(&all);
        failed = hear_all(&all);
        if (failed)
                fail("%u of %u connections were not answered", failed, n);
        printf("held %u\n", n);
        fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
        tell_all(&all);
}

/* ---- A client that waits for each answer. ---- */

static double ask_us(int fd)
{
        char answer[4096];
        double start_s = now_s();

        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0 ||
            recv(fd, answer, sizeof(answer), 0) < 12 || memcmp(answer, "HTTP/1.1 200", 12) != 0)
                fail("not answered");
        return (now_s() - start_s) * 1e6;
}

static void compare(unsigned long port_a, unsigned long port_b)
{
        static double us[2][ROUNDS * ROUND];
        unsigned long ports[] = { port_a, port_b };
        int fds[2];

        for (int side = 0; side < 2; side++) {
                struct sockaddr_in to = loopback(1, ports[side]);

                fds[side] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                if (connect(fds[side], (struct sockaddr *)&to, sizeof(to)) < 0)
                        fail("cannot connect: %s", strerror(errno));
                for (int i = 0; i < ROUND; i++)
                        ask_us(fds[side]);
        }
        for (int round = 0; round < ROUNDS; round++) {
                for (int turn = 0; turn < 2; turn++) {
                        int side = (turn + round) & 1;

                        for (int i = 0; i < ROUND; i++)
                                us[side][round * ROUND + i] = ask_us(fds[side]);
                }
        }
        for (int side = 0; side < 2; side++)
                printf("median_%c %.2f us\n", 'a' + side, median(us[side], ROUNDS * ROUND));
}

static void bring_up(void)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
                fail("lo: %s", strerror(errno));
        close(fd);
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";

        raise_limit();
        if (argc == 4 && !strcmp(what, "storm"))
                storm((unsigned)number(argv[2], 1000000), number(argv[3], UINT16_MAX));
        else if (argc == 4 && !strcmp(what, "hold"))
                hold((unsigned)number(argv[2], 1000000), number(argv[3], UINT16_MAX));
        else if (argc == 4 && !strcmp(what, "median"))
                compare(number(argv[2], UINT16_MAX), number(argv[3], UINT16_MAX));
        else if (argc == 2 && !strcmp(what, "up"))
                bring_up();
        else
                fail("see the top of bench/crowd.c");
        return 0;
}
