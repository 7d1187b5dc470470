/*
 * restart.c - restarts under load: what is lost when one server takes over from another?
 *
 * This process opens a listening socket and starts servers on it, one after the other, each a
 * process of its own: the next serves before the last is told to stop. Meanwhile clients, in a
 * process of their own, ask on kept connections as fast as they are answered.
 *
 * A request is lost when it was sent, and no whole answer comes. It does not count when the end of
 * the connection, a FIN, was there before it was sent: the client's kernel knows that, and each
 * client looks right before it sends (MSG_PEEK). A FIN that arrives between that look and the
 * request counts as lost all the same.
 *
 * usage: restart [RESTARTS]     default: 50
 *        restart serve          on descriptor 3; writes a byte to descriptor 4 when it serves
 */
#include <weir/weir.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 8
#define GET         "GET / HTTP/1.1\r\nHost: bench\r\n\r\n"

static uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void fail(const char *what)
{
        perror(what);
        exit(1);
}

/* ---- A server. ---- */

static enum weir_flow greet(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "Hello, world!");
}

static int serve(void)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 2, .log_level = WEIR_LOG_WARNING });
        sigset_t term;
        int number;

        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(SIG_BLOCK, &term, NULL);
        weir_listen(app, "fd:3", NULL);
        weir_get(app, "/", greet, NULL);
        if (weir_start(app) < 0 || write(4, "", 1) != 1) {
                fprintf(stderr, "%s\n", weir_error(app));
                return 1;
        }
        sigwait(&term, &number);
        weir_stop(app);
        weir_free(app);
        return 0;
}

/* A server that serves. */
static pid_t start_server(int listener)
{
        int ready[2];
        char byte;
        pid_t pid;

        if (pipe(ready) < 0)
                fail("pipe");
        pid = fork();
        if (pid == 0) {
                if (dup2(ready[1], 5) < 0 || dup2(listener, 3) < 0 || dup2(5, 4) < 0)
                        fail("dup2");
                for (int fd = 5; fd < 20; fd++)
                        close(fd);
                execl("/proc/self/exe", "restart", "serve", (char *)NULL);
                fail("exec");
        }
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
                fail("the server did not start");
        close(ready[0]);
        return pid;
}

static void stop_server(pid_t pid)
{
        int status;

        kill(pid, SIGTERM);
        if (waitpid(pid, &status, 0) < 0 || status != 0)
                fail("the server did not end well");
}

/* ---- Clients. ---- */

/* In memory that the processes share. */
struct counts {
        atomic_bool      over;
        atomic_uint      answered, lost, refused, moves;
        _Atomic uint64_t longest_us; /* that a request took */
};

static struct counts     *counts;
static struct sockaddr_in address;

static int try_connect(void)
{
        struct timeval timeout = { .tv_sec = 10 };
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0)
                fail("socket");
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
                return fd;
        close(fd);
        atomic_fetch_add(&counts->refused, 1);
        return -1;
}

/* Reads a whole answer: 1, or 2 when it says close, or 0 when it does not come. */
static int read_answer(int fd)
{
        char text[2048];
        size_t len = 0, want = 0;

        while (!want || len < want) {
                ssize_t n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
                const char *end, *length;

                if (n <= 0)
                        return 0;
                len += (size_t)n;
                text[len] = '\0';
                end = strstr(text, "\r\n\r\n");
                length = strcasestr(text, "\r\nContent-Length: ");
                if (end && length)
                        want = (size_t)(end + 4 - text) + strtoul(length + 18, NULL, 10);
        }
        if (strncmp(text, "HTTP/1.1 200 ", 13) != 0 || len != want)
                return 0;
        return strcasestr(text, "\r\nConnection: close\r\n") ? 2 : 1;
}

static bool has_ended(int fd)
{
        char byte;

        return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* One request on `fd`; false when the connection is not good for another. */
static bool ask(int fd)
{
        uint64_t start = now_us(), took;
        int answer = 0;

        if (has_ended(fd))
                return false;
        if (send(fd, GET, strlen(GET), MSG_NOSIGNAL) == (ssize_t)strlen(GET))
                answer = read_answer(fd);
        atomic_fetch_add(answer ? &counts->answered : &counts->lost, 1);
        took = now_us() - start;
        for (uint64_t longest = atomic_load(&counts->longest_us);
             took > longest && !atomic_compare_exchange_weak(&counts->longest_us, &longest, took);)
                ;
        return answer == 1;
}

static void *be_client(void *arg)
{
        (void)arg;
        while (!atomic_load(&counts->over)) {
                int fd = try_connect();

                while (fd >= 0 && !atomic_load(&counts->over) && ask(fd))
                        ;
                if (fd >= 0)
                        close(fd);
                atomic_fetch_add(&counts->moves, 1);
        }
        return NULL;
}

static pid_t start_clients(void)
{
        pthread_t threads[CONNECTIONS];
        pid_t pid = fork();

        if (pid)
                return pid;
        for (int i = 0; i < CONNECTIONS; i++) {
                if (pthread_create(&threads[i], NULL, be_client, NULL))
                        fail("thread");
        }
        for (int i = 0; i < CONNECTIONS; i++)
                pthread_join(threads[i], NULL);
        _exit(0);
}

/* ---- All together. ---- */

static int open_listener(void)
{
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        socklen_t len = sizeof(address);

        address = (struct sockaddr_in){ .sin_family = AF_INET,
                                        .sin_addr = { htonl(INADDR_LOOPBACK) } };
        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, 128) < 0 ||
            getsockname(fd, (struct sockaddr *)&address, &len) < 0)
                fail("listen");
        return fd;
}

static void wait_answers(unsigned more)
{
        unsigned from = atomic_load(&counts->answered);
        uint64_t end = now_us() + 20000000;

        while (atomic_load(&counts->answered) - from < more) {
                if (now_us() > end)
                        fail("the clients get no answers");
                usleep(1000);
        }
}

static void print(unsigned restarts, uint64_t took_us)
{
        printf("restart_restarts %u restarts\n", restarts);
        printf("restart_answered %u requests\n", atomic_load(&counts->answered));
        printf("restart_moves %u connections\n", atomic_load(&counts->moves));
        printf("restart_lost %u requests\n", atomic_load(&counts->lost));
        printf("restart_refused %u connections\n", atomic_load(&counts->refused));
        printf("restart_longest_ms %.1f ms\n", (double)atomic_load(&counts->longest_us) / 1000);
        printf("restart_takes_ms %.1f ms\n", (double)took_us / 1000 / restarts);
}

int main(int argc, char **argv)
{
        unsigned restarts = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 50;
        uint64_t took_us = 0;
        pid_t server, clients;
        int listener;

        if (argc > 1 && !strcmp(argv[1], "serve"))
                return serve();
        if (!restarts)
                return 2;
        counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (counts == MAP_FAILED)
                fail("mmap");
        listener = open_listener();
        server = start_server(listener);
        clients = start_clients();
        for (unsigned i = 0; i < restarts; i++) {
                pid_t next;
                uint64_t start;

                wait_answers(200);
                start = now_us();
                next = start_server(listener);
                stop_server(server);
                took_us += now_us() - start;
                server = next;
        }
        wait_answers(200);
        atomic_store(&counts->over, true);
        if (waitpid(clients, NULL, 0) < 0)
                fail("clients");
        stop_server(server);
        print(restarts, took_us);
        return 0;
}
