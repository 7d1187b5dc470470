/*
 * load.c - asks a server on 127.0.0.1 the same thing again and again, and checks every answer.
 *
 * usage: load [-c CONNECTIONS] [-w WARM_UP] [-n REQUESTS] [-b] [-p PID]... PORT
 *        load -i [-c CONNECTIONS] [-p PID] PORT
 *        load -f
 *
 * A closed loop in one thread: each connection has one request under way, and sends the next when
 * the answer is in, until exactly REQUESTS are answered. All answers must have status 200 and the
 * length of the first. -b: the request of a browser, with 12 header fields and not 4. Prints, one
 * "name value unit" a line:
 *
 *      requests      answered, warm-up not counted
 *      seconds       from the first request to the last answer
 *      answer_bytes  of one answer, head included
 *      client_share  processor time of this program per second
 *      server_share  the same of the processes PID
 *      server_cpu    processor time of the processes PID per request; exact, from schedstat
 *
 * -i: opens connections, asks once on each, and prints what process PID holds for one of them.
 * -f: prints a port that was free a moment ago.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096
#define MAX_PIDS        8
#define EVENTS          256
#define PATIENCE_MS     10000 /* without any answer */
#define BUFFER_BYTES    65536

static const char plain[] = "GET /repos/ada/engine HTTP/1.1\r\n"
                            "Host: localhost:8080\r\n"
                            "User-Agent: bench/1.0\r\n"
                            "Accept: */*\r\n"
                            "X-Api-Key: 0123456789abcdef\r\n"
                            "\r\n";

static const char browser[] =
        "GET /repos/ada/engine HTTP/1.1\r\n"
        "Host: localhost:8080\r\n"
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/120.0.0.0 Safari/537.36\r\n"
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
        "*/*;q=0.8\r\n"
        "Accept-Language: en-US,en;q=0.5\r\n"
        "Accept-Encoding: gzip, deflate, br\r\n"
        "Connection: keep-alive\r\n"
        "Upgrade-Insecure-Requests: 1\r\n"
        "Sec-Fetch-Dest: document\r\n"
        "Sec-Fetch-Mode: navigate\r\n"
        "Sec-Fetch-Site: none\r\n"
        "Cache-Control: max-age=0\r\n"
        "X-Api-Key: 0123456789abcdef\r\n"
        "\r\n";

struct connection {
        int    fd;
        size_t got; /* bytes of the answer under way */
};

struct client {
        const char       *request;
        size_t            request_len;
        uint16_t          port;
        int               epoll_fd;
        struct connection connections[MAX_CONNECTIONS];
        unsigned          n;
        uint64_t          to_send, to_get; /* of this round                  */
        size_t            answer_len;      /* 0 until the first answer is in */
        char              buffer[BUFFER_BYTES];
};

static struct client client;
static long pids[MAX_PIDS];
static unsigned n_pids;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        fprintf(stderr, "load: ");
        vfprintf(stderr, fmt, args);
        fprintf(stderr, "\n");
        va_end(args);
        exit(1);
}

/* ---- The server, seen from outside. ---- */

static double thread_cpu_ns(long pid, const char *thread)
{
        char path[128];
        double ns = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/schedstat", pid, thread);
        file = fopen(path, "r");
        if (!file || fscanf(file, "%lf", &ns) != 1) // NOLINT(cert-err34-c): the kernel wrote it
                ns = 0; /* the thread has just ended */
        if (file)
                fclose(file);
        return ns;
}

/* Processor time of all threads. Exact only while they sleep: else up to the last tick. */
static double server_cpu_ns(void)
{
        double ns = 0;

        for (unsigned i = 0; i < n_pids; i++) {
                char path[64];
                struct dirent *entry;
                DIR *dir;

                snprintf(path, sizeof(path), "/proc/%ld/task", pids[i]);
                dir = opendir(path);
                if (!dir)
                        fail("process %ld has gone", pids[i]);
                while ((entry = readdir(dir))) {
                        if (entry->d_name[0] != '.')
                                ns += thread_cpu_ns(pids[i], entry->d_name);
                }
                closedir(dir);
        }
        return ns;
}

/* Anonymous memory in use, in bytes. */
static double server_memory(long pid)
{
        char path[64], line[256];
        double kib = -1;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", pid);
        file = fopen(path, "r");
        while (file && fgets(line, sizeof(line), file)) {
                if (strncmp(line, "Anonymous:", 10) == 0)
                        kib = strtod(line + 10, NULL);
        }
        if (file)
                fclose(file);
        if (kib < 0)
                fail("the kernel does not tell the memory of process %ld", pid);
        return kib * 1024;
}

static double clock_ns(clockid_t clock)
{
        struct timespec ts;

        clock_gettime(clock, &ts);
        return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void rest_ms(long ms)
{
        struct timespec ts = { .tv_nsec = ms * 1000000 };

        nanosleep(&ts, NULL);
}

/* ---- Connections. ---- */

static void open_one(void)
{
        struct connection *connection = &client.connections[client.n++];
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons(client.port),
                .sin_addr = { htonl(INADDR_LOOPBACK) },
        };
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = connection };

        connection->got = 0;
        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connection->fd < 0 ||
            connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
            fcntl(connection->fd, F_SETFL, O_NONBLOCK) != 0 ||
            epoll_ctl(client.epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0)
                fail("connection %u: %s", client.n, strerror(errno));
}

static void send_one(const struct connection *connection)
{
        client.to_send--;
        if (send(connection->fd, client.request, client.request_len, MSG_NOSIGNAL) !=
            (ssize_t)client.request_len)
                fail("cannot send: %s", strerror(errno));
}

/* The length of the answer of which `len` bytes are in; 0 while its head is not. */
static size_t measure(char *answer, size_t len)
{
        char *end, *field;

        answer[len] = '\0';
        end = strstr(answer, "\r\n\r\n");
        if (!end)
                return 0;
        field = strcasestr(answer, "\r\nContent-Length:");
        if (!field || field > end)
                fail("an answer without a length: %s", answer);
        return (size_t)(end + 4 - answer) + strtoul(field + 17, NULL, 10);
}

/* The first answer tells how long each must be. It is read alone. */
static void learn(void)
{
        struct connection *connection = &client.connections[0];
        size_t len = 0;

        client.to_send = 1;
        send_one(connection);
        while (!client.answer_len || len < client.answer_len) {
                struct epoll_event event;
                ssize_t got = recv(connection->fd, client.buffer + len, BUFFER_BYTES - 1 - len, 0);

                if (got < 0 && errno == EAGAIN) {
                        if (epoll_wait(client.epoll_fd, &event, 1, PATIENCE_MS) == 0)
                                fail("no answer");
                        continue;
                }
                if (got <= 0)
                        fail("closed after %zu bytes of the first answer", len);
                len += (size_t)got;
                client.answer_len = measure(client.buffer, len);
                if (client.answer_len >= BUFFER_BYTES)
                        fail("an answer of %zu bytes is too long", client.answer_len);
        }
        if (len > client.answer_len)
                fail("%zu bytes too many", len - client.answer_len);
}

/* All that is here of one answer; when it is complete, the next request. */
static void advance(struct connection *connection)
{
        while (connection->got < client.answer_len) {
                ssize_t got = recv(connection->fd, client.buffer, BUFFER_BYTES, 0);

                if (got < 0 && errno == EAGAIN)
                        return;
                if (got <= 0)
                        fail("closed within an answer, or before");
                if (connection->got == 0 &&
                    (got < 12 || memcmp(client.buffer, "HTTP/1.1 200", 12) != 0))
                        fail("answered: %.*s", (int)got, client.buffer);
                connection->got += (size_t)got;
        }
        if (connection->got != client.answer_len)
                fail("an answer of %zu bytes, and not %zu", connection->got, client.answer_len);
        connection->got = 0;
        client.to_get--;
        if (client.to_send)
                send_one(connection);
}

/* Exactly `requests` on the connections from `first` on. */
static void round_of(uint64_t requests, unsigned first)
{
        struct epoll_event events[EVENTS];

        client.to_send = client.to_get = requests;
        for (unsigned i = first; i < client.n && client.to_send; i++)
                send_one(&client.connections[i]);
        while (client.to_get) {
                int n = epoll_wait(client.epoll_fd, events, EVENTS, PATIENCE_MS);

                if (n == 0)
                        fail("no answer for %d ms, %lu to come", PATIENCE_MS,
                             (unsigned long)client.to_get);
                for (int i = 0; i < n; i++)
                        advance(events[i].data.ptr);
        }
}

/* Nothing may follow the last answers, and all connections must be there still. */
static void check_silence(void)
{
        char byte;

        for (unsigned i = 0; i < client.n; i++) {
                ssize_t got = recv(client.connections[i].fd, &byte, 1, MSG_PEEK);

                if (got >= 0 || errno != EAGAIN)
                        fail("connection %u: %s", i, got ? "more than one answer" : "closed");
        }
}

/* ---- What it is asked to do. ---- */

static void load(unsigned connections, uint64_t warm_up, uint64_t requests)
{
        double start, wall, mine, theirs;

        while (client.n < connections)
                open_one();
        learn();
        round_of(warm_up, 0);
        rest_ms(3);
        theirs = server_cpu_ns();
        mine = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        start = clock_ns(CLOCK_MONOTONIC);
        round_of(requests, 0);
        wall = clock_ns(CLOCK_MONOTONIC) - start;
        mine = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - mine;
        rest_ms(3);
        theirs = server_cpu_ns() - theirs;
        check_silence();
        printf("requests %lu requests\n", (unsigned long)requests);
        printf("seconds %.6f s\n", wall / 1e9);
        printf("answer_bytes %zu bytes\n", client.answer_len);
        printf("client_share %.3f ratio\n", mine / wall);
        if (n_pids) {
                printf("server_share %.3f ratio\n", theirs / wall);
                printf("server_cpu %.1f ns\n", theirs / (double)requests);
        }
}

/*
 * What the process has more of after `connections` were opened and used once than when it had one,
 * warmed up. Pages of the stack, tables that grow and what malloc wastes are all in it.
 */
static void idle(unsigned connections)
{
        double before;

        if (n_pids != 1)
                fail("-i needs one -p");
        open_one();
        learn();
        round_of(1000, 0);
        rest_ms(100);
        before = server_memory(pids[0]);
        while (client.n <= connections)
                open_one();
        round_of(connections, 1);
        rest_ms(100);
        check_silence();
        printf("idle_bytes %.0f bytes\n", (server_memory(pids[0]) - before) / connections);
}

static void print_free_port(void)
{
        struct sockaddr_in address = { .sin_family = AF_INET };
        socklen_t len = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &len) != 0)
                fail("no port: %s", strerror(errno));
        printf("%u\n", ntohs(address.sin_port));
}

static unsigned long number(const char *text, unsigned long least, unsigned long most)
{
        char *end;
        unsigned long value = strtoul(text, &end, 10);

        if (*end || end == text || value < least || value > most)
                fail("\"%s\" is not a number from %lu to %lu", text, least, most);
        return value;
}

static void add_pid(const char *text)
{
        if (n_pids == MAX_PIDS)
                fail("at most %d processes", MAX_PIDS);
        pids[n_pids++] = (long)number(text, 1, INT32_MAX);
}

struct settings {
        unsigned long connections, warm_up, requests;
        bool          idle;
};

static void read_options(int argc, char **argv, struct settings *settings)
{
        int option;

        while ((option = getopt(argc, argv, "bc:in:p:w:")) != -1) {
                if (option == 'b')
                        client.request = browser;
                else if (option == 'c')
                        settings->connections = number(optarg, 1, MAX_CONNECTIONS - 1);
                else if (option == 'i')
                        settings->idle = true;
                else if (option == 'n')
                        settings->requests = number(optarg, 1, UINT32_MAX);
                else if (option == 'p')
                        add_pid(optarg);
                else if (option == 'w')
                        settings->warm_up = number(optarg, 0, UINT32_MAX);
                else
                        exit(2);
        }
        if (optind + 1 != argc)
                fail("which port? See the top of bench/load.c");
}

int main(int argc, char **argv)
{
        struct settings settings = { .connections = 64, .warm_up = 1000, .requests = 10000 };

        if (argc == 2 && strcmp(argv[1], "-f") == 0) {
                print_free_port();
                return 0;
        }
        client.request = plain;
        read_options(argc, argv, &settings);
        client.request_len = strlen(client.request);
        client.port = (uint16_t)number(argv[optind], 1, UINT16_MAX);
        client.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (settings.idle)
                idle((unsigned)settings.connections);
        else
                load((unsigned)settings.connections, settings.warm_up, settings.requests);
        return 0;
}
