/*
 * streams.c - what an event to one of many open streams costs the server.
 *
 * usage: streams [STREAMS [FEW]]              default: 5000 100
 *
 * Two servers, each a process with one loop and that many open streams of events (weir/sse.h),
 * without heartbeats. A thread of theirs reads from a pipe which stream is to get the next event.
 * This process has all clients: it names a stream at random, waits for the event on the socket of
 * that one, and goes on. Both servers are asked in turn, in blocks of ABBA or BAAB. Prints a line
 * for each block, "block A B": nanoseconds of processor time of either server for an event, the
 * reading thread included. Then "bytes N": what one more stream holds in user space.
 */
#include "peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/sse.h>
#include <weir/weir.h>

#define BLOCKS      40
#define SLICE       400   /* events                     */
#define WARM_UP     2000  /* events                     */
#define SPARE_FDS   64
#define PATIENCE_MS 10000 /* without the event          */

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        fprintf(stderr, "streams: ");
        vfprintf(stderr, fmt, args);
        fprintf(stderr, "\n");
        va_end(args);
        exit(1);
}

/* On the nth of the processors that there are, when there are two. */
static void pin(unsigned nth)
{
        cpu_set_t all, one;

        if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < 2)
                return;
        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
                if (CPU_ISSET(cpu, &all) && nth-- == 0)
                        CPU_SET(cpu, &one);
        }
        sched_setaffinity(0, sizeof(one), &one);
}

/* ---- The server. ---- */

static struct weir_sse **streams; /* by number; each is written before it is named */
static unsigned          n_streams;

static enum weir_flow subscribe(struct weir_ctx *ctx, void *self)
{
        int64_t number;

        (void)self;
        if (weir_query_int(ctx, "n", 0, n_streams - 1, &number) != WEIR_FIELD_OK)
                return weir_fail(ctx, 400, "n is the number of the stream");
        streams[number] = weir_sse_open(ctx,
                                        &(struct weir_sse_options){ .heartbeat_ms = WEIR_NONE });
        return WEIR_DONE;
}

static void *produce(void *fd)
{
        static const struct weir_event event = { .data = { "tick", 4 } };
        uint32_t number;

        while (read(*(int *)fd, &number, sizeof(number)) == sizeof(number)) {
                if (!weir_sse_send(streams[number], &event))
                        fail("an event was not taken");
        }
        return NULL;
}

/* Ends when the pipe does. */
__attribute__((noreturn)) static void serve(int in, int out)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1 });
        pthread_t producer;
        uint16_t port;

        pin(1);
        streams = calloc(n_streams, sizeof(struct weir_sse *));
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_route(app, WEIR_GET, "/events", subscribe, NULL,
                   &(struct weir_route_options){ .waits = true });
        if (!streams || weir_start(app) < 0)
                fail("%s", app ? weir_error(app) : "out of memory");
        port = weir_port(app, 0);
        if (write(out, &port, sizeof(port)) != sizeof(port) ||
            pthread_create(&producer, NULL, produce, &in) != 0)
                fail("cannot serve");
        pthread_join(producer, NULL);
        weir_stop(app);
        for (unsigned i = 0; i < n_streams; i++)
                weir_sse_release(streams[i]);
        weir_free(app);
        free(streams);
        exit(0);
}

/* ---- Its clients: on the other side. ---- */

struct side {
        unsigned  n;
        pid_t     pid;
        int       names_fd; /* takes the numbers of streams */
        int       epoll_fd;
        int      *fds;      /* by number                    */
        clockid_t cpu;
};

static void start_server(struct side *side)
{
        int names[2], ready[2];
        uint16_t port;

        if (pipe2(names, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
                fail("no pipe");
        n_streams = side->n;
        fflush(NULL);
        side->pid = fork();
        if (side->pid < 0)
                fail("no process");
        if (side->pid == 0) {
                close(names[1]);
                close(ready[0]);
                serve(names[0], ready[1]);
        }
        close(names[0]);
        close(ready[1]);
        if (read(ready[0], &port, sizeof(port)) != sizeof(port))
                fail("the server did not start");
        close(ready[0]);
        side->names_fd = names[1];
        side->fds[0] = port; /* until it has clients */
        if (clock_getcpuclockid(side->pid, &side->cpu) != 0)
                fail("no clock");
}

static int open_stream(uint16_t port, unsigned number)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char text[4096];
        int len = snprintf(text, sizeof(text), "GET /events?n=%u HTTP/1.1\r\nHost: x\r\n\r\n",
                           number);
        ssize_t n;

        if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
                fail("cannot ask for stream %u", number);
        n = recv(fd, text, sizeof(text) - 1, 0); /* the head, which comes before any event */
        text[n > 0 ? n : 0] = '\0';
        if (strncmp(text, "HTTP/1.1 200", 12) != 0 || !strstr(text, "\r\n\r\n"))
                fail("stream %u: %s", number, text);
        return fd;
}

static void open_side(struct side *side, unsigned n)
{
        uint16_t port;

        side->n = n;
        side->fds = calloc(n, sizeof(int));
        side->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (!side->fds || side->epoll_fd < 0)
                fail("no memory or descriptor");
        start_server(side);
        port = (uint16_t)side->fds[0];
        for (unsigned i = 0; i < n; i++) {
                struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

                side->fds[i] = open_stream(port, i);
                if (epoll_ctl(side->epoll_fd, EPOLL_CTL_ADD, side->fds[i], &event) < 0)
                        fail("cannot watch stream %u", i);
        }
}

static void close_side(struct side *side)
{
        int status;

        close(side->names_fd);
        if (waitpid(side->pid, &status, 0) < 0 || status != 0)
                fail("the server did not end well");
        for (unsigned i = 0; i < side->n; i++)
                close(side->fds[i]);
        close(side->epoll_fd);
        free(side->fds);
}

/* ---- Measuring. ---- */

static void tell(struct side *side, uint32_t number)
{
        struct epoll_event event;
        char text[256];
        ssize_t len;

        if (write(side->names_fd, &number, sizeof(number)) != sizeof(number))
                fail("the server has gone");
        if (epoll_wait(side->epoll_fd, &event, 1, PATIENCE_MS) != 1)
                fail("no event came to stream %u of %u", number, side->n);
        if (event.data.u32 != number)
                fail("stream %u got the event of stream %u", event.data.u32, number);
        len = recv(side->fds[number], text, sizeof(text) - 1, 0);
        text[len > 0 ? len : 0] = '\0';
        if (!strstr(text, "data: tick\n\n"))
                fail("stream %u got \"%s\"", number, text);
}

static double cpu_ns(const struct side *side)
{
        struct timespec ts;

        clock_gettime(side->cpu, &ts);
        return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double slice(struct side *side)
{
        double before = cpu_ns(side);

        for (int i = 0; i < SLICE; i++)
                tell(side, (uint32_t)((unsigned long)random() % side->n));
        return (cpu_ns(side) - before) / SLICE;
}

static void block(struct side *many, struct side *few)
{
        bool first = random() % 2;
        double sum[2] = { 0 };

        for (int i = 0; i < 4; i++) {
                bool is_few = (i == 1 || i == 2) == first;

                sum[is_few] += slice(is_few ? few : many);
        }
        printf("block %.0f %.0f\n", sum[0] / 2, sum[1] / 2);
}

static double anonymous_bytes(pid_t pid)
{
        char path[64], line[256];
        double kib = -1;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
        file = fopen(path, "r");
        while (file && kib < 0 && fgets(line, sizeof(line), file)) {
                if (!strncmp(line, "Anonymous:", 10))
                        kib = strtod(line + 10, NULL);
        }
        if (file)
                fclose(file);
        return kib * 1024;
}

/* Clients here, and as many sockets there. */
static void check_descriptors(unsigned n)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < n + 2 * SPARE_FDS)
                fail("%u streams need %u descriptors, and \"ulimit -H -n\" is %lu", n,
                     n + 2 * SPARE_FDS, (unsigned long)limit.rlim_cur);
}

int main(int argc, char **argv)
{
        struct side many = { 0 }, few = { 0 };
        unsigned n_many = (unsigned)peer_number(argv, argc, 1, 1000000, 5000);
        unsigned n_few = (unsigned)peer_number(argv, argc, 2, 1000000, 100);

        if (n_few < 1 || n_many <= n_few)
                fail("more streams than %u are to be compared with them", n_few);
        check_descriptors(n_many + n_few);
        pin(0);
        open_side(&many, n_many);
        open_side(&few, n_few);
        for (int i = 0; i < WARM_UP; i++) {
                tell(&many, (uint32_t)((unsigned long)random() % many.n));
                tell(&few, (uint32_t)((unsigned long)random() % few.n));
        }
        for (int i = 0; i < BLOCKS; i++)
                block(&many, &few);
        printf("bytes %.0f\n",
               (anonymous_bytes(many.pid) - anonymous_bytes(few.pid)) / (n_many - n_few));
        close_side(&few);
        close_side(&many);
        return 0;
}
