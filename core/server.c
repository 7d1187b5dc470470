/*
 * server.c - starting, serving, stopping.
 *
 * A server is made by weir_start() and lives until the next start or weir_free(), so that anyone
 * may still ask it to stop. Its door thread walks it through its states; `asked` says how far
 * others want it to go, and `stopped` is told under `lock`.
 */
#include "server.h"
#include "door.h"
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_ADDRESS "127.0.0.1:8080"
#define SPARE_FDS       64  /* for the process beside its connections */
#define CHECK_MS        10  /* between looks at loops that drain      */

/* What others ask for. */
enum { KEEP_ON, STOP, HURRY };

struct weir__server {
        struct weir__app    *app;
        struct weir__door    door;
        pthread_t            thread;
        int                  wake_fd;    /* for the door                     */
        int                  stopped_fd; /* readable once stopped: weir_run() */
        _Atomic int          asked;
        pthread_mutex_t      lock;       /* guards stopped and joined        */
        pthread_cond_t       cond;
        bool                 has_thread, stopped, joined;
};

/* ---- How many of what. ---- */

/* The CPUs that the control group allows, rounded up; `most` without a quota. */
static unsigned quota_cpus(unsigned most)
{
        FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
        unsigned long quota = 0, period = 0, cpus;
        char line[64], *end;

        if (!file)
                return most;
        if (fgets(line, sizeof(line), file)) { /* "max 100000" or "50000 100000" */
                quota = strtoul(line, &end, 10);
                period = strtoul(end, NULL, 10);
        }
        fclose(file);
        if (!quota || !period)
                return most;
        cpus = (quota + period - 1) / period;
        return cpus < most ? (unsigned)cpus : most;
}

static unsigned default_loops(void)
{
        cpu_set_t set;
        int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

        return quota_cpus(cpus > 0 ? (unsigned)cpus : 1);
}

static unsigned connection_limit(const struct weir_options *options)
{
        struct rlimit limit = { .rlim_cur = 1024 };

        if (options->max_connections > UINT32_MAX / 2)
                return UINT32_MAX / 2;
        if (options->max_connections)
                return (unsigned)options->max_connections;
        getrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur > UINT32_MAX / 2)
                return UINT32_MAX / 2;
        return limit.rlim_cur > 2 * SPARE_FDS ? (unsigned)limit.rlim_cur - SPARE_FDS
                                              : (unsigned)limit.rlim_cur / 2;
}

/* ---- Stopping: the door thread. ---- */

static void tell_all(struct weir__server *server, enum weir__mode mode)
{
        for (unsigned i = 0; i < server->door.n_workers; i++)
                weir__worker_tell(server->door.workers[i], mode);
}

static bool all_done(const struct weir__server *server)
{
        for (unsigned i = 0; i < server->door.n_workers; i++) {
                if (!weir__worker_is_done(server->door.workers[i]))
                        return false;
        }
        return true;
}

static void clear_wake(struct weir__server *server)
{
        uint64_t count;

        if (read(server->wake_fd, &count, sizeof(count)) < 0)
                return; /* nobody has asked since */
}

static uint64_t now_ms(void)
{
        return weir__now(&weir__system_clock) / 1000000;
}

/* Waits until the loops are done, the time is up, or somebody is in a hurry. */
static void wait_drained(struct weir__server *server, int64_t timeout_ms)
{
        uint64_t start = now_ms();

        while (!all_done(server) && atomic_load(&server->asked) != HURRY &&
               now_ms() - start < (uint64_t)timeout_ms) {
                struct pollfd wake = { .fd = server->wake_fd, .events = POLLIN };

                poll(&wake, 1, CHECK_MS);
                clear_wake(server);
        }
}

static void *run_door(void *arg)
{
        struct weir__server *server = arg;
        const struct weir_options *options = &server->app->options;
        uint64_t one = 1;

        weir__set_own_thread(server->app);
        while (atomic_load(&server->asked) == KEEP_ON)
                weir__door_run(&server->door, -1);
        clear_wake(server);
        tell_all(server, WEIR__LAME);
        if (options->drain_delay_ms && atomic_load(&server->asked) != HURRY)
                weir__door_run(&server->door, (int)(options->drain_delay_ms & INT32_MAX));
        weir__door_close(&server->door);
        tell_all(server, WEIR__DRAIN);
        wait_drained(server, options->drain_timeout_ms);
        tell_all(server, WEIR__CANCEL);
        for (unsigned i = 0; i < server->door.n_workers; i++) {
                struct weir__worker *worker = server->door.workers[i];

                weir__worker_join(worker);
                pthread_mutex_lock(&server->app->lock);
                weir__counters_add(&server->app->past, weir__worker_counters(worker));
                server->door.workers[i] = NULL;
                pthread_mutex_unlock(&server->app->lock);
                weir__worker_free(worker);
        }
        pthread_mutex_lock(&server->lock);
        server->stopped = true;
        pthread_cond_broadcast(&server->cond);
        pthread_mutex_unlock(&server->lock);
        if (write(server->stopped_fd, &one, sizeof(one)) < 0)
                return NULL; /* weir_run() asks for `stopped` too */
        return NULL;
}

static void ask(struct weir__server *server, int what)
{
        uint64_t one = 1;

        if (atomic_load(&server->asked) < what)
                atomic_store(&server->asked, what);
        if (write(server->wake_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full: the door is being woken */
}

/* Waits for the end, and joins the door once. */
static void wait_stopped(struct weir__server *server)
{
        bool join;

        pthread_mutex_lock(&server->lock);
        while (!server->stopped)
                pthread_cond_wait(&server->cond, &server->lock);
        join = !server->joined;
        server->joined = true;
        pthread_mutex_unlock(&server->lock);
        if (join)
                pthread_join(server->thread, NULL);
}

/* ---- Starting. ---- */

static void destroy(struct weir__server *server)
{
        for (unsigned i = 0; i < server->door.n_workers; i++) {
                if (server->door.workers[i]) {
                        weir__worker_tell(server->door.workers[i], WEIR__CANCEL);
                        weir__worker_join(server->door.workers[i]);
                        weir__worker_free(server->door.workers[i]);
                }
        }
        weir__door_finish(&server->door);
        if (server->wake_fd >= 0)
                close(server->wake_fd);
        if (server->stopped_fd >= 0)
                close(server->stopped_fd);
        pthread_cond_destroy(&server->cond);
        pthread_mutex_destroy(&server->lock);
        free(server->door.sockets);
        free(server->door.workers);
        free(server);
}

static struct weir__server *make(struct weir__app *app)
{
        struct weir__server *server = calloc(1, sizeof(*server));

        if (!server)
                return NULL;
        server->app = server->door.app = app;
        server->door.epoll_fd = -1;
        pthread_mutex_init(&server->lock, NULL);
        pthread_cond_init(&server->cond, NULL);
        server->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        server->stopped_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        server->door.max_connections = connection_limit(&app->options);
        return server;
}

static bool open_sockets(struct weir__server *server)
{
        static const struct weir_listen_options defaults;
        struct weir__app *app = server->app;
        struct weir__door *door = &server->door;
        unsigned n = app->listens ? 0 : 1;
        char error[512];

        for (const struct weir__listen *listen = app->listens; listen; listen = listen->next)
                n++;
        door->sockets = calloc(n, sizeof(*door->sockets));
        if (!door->sockets)
                return false;
        if (!app->listens) {
                door->n_sockets = 1;
                if (weir__listen_open(door->sockets, DEFAULT_ADDRESS, &defaults, error,
                                      sizeof(error)) == 0)
                        return true;
                weir__error(app, "%s", error);
                return false;
        }
        for (struct weir__listen *listen = app->listens; listen; listen = listen->next) {
                struct weir__socket *sock = &door->sockets[door->n_sockets++];

                if (weir__listen_open(sock, listen->address, &listen->options, error,
                                      sizeof(error)) < 0) {
                        weir__error(app, "%s", error);
                        return false;
                }
                listen->port = sock->port;
        }
        return true;
}

static bool start_workers(struct weir__server *server)
{
        struct weir__door *door = &server->door;
        unsigned n = server->app->options.loops ? server->app->options.loops : default_loops();
        const char *why;

        door->workers = calloc(n, sizeof(struct weir__worker *));
        if (!door->workers)
                return false;
        for (; door->n_workers < n; door->n_workers++) {
                door->workers[door->n_workers] = weir__worker_start(server->app, door->n_workers,
                                                                    &why);
                if (!door->workers[door->n_workers]) {
                        weir__error(server->app, "loop %u: %s", door->n_workers, why);
                        return false;
                }
        }
        return true;
}

static bool start_door(struct weir__server *server)
{
        if (server->wake_fd < 0 || server->stopped_fd < 0)
                return false;
        if (weir__door_init(&server->door, server->wake_fd) < 0)
                return false;
        return weir__thread_create(&server->thread, run_door, server) == 0;
}

/* Tells where it listens, and which port the kernel chose. */
static void announce(const struct weir__app *app)
{
        if (!app->listens)
                weir_log(&app->root, WEIR_LOG_INFO, "listening on " DEFAULT_ADDRESS);
        for (const struct weir__listen *listen = app->listens; listen; listen = listen->next) {
                size_t len = strlen(listen->address);

                if (listen->port && !strcmp(listen->address + len - 2, ":0"))
                        weir_log(&app->root, WEIR_LOG_INFO, "listening on %s, port %u",
                                 listen->address, listen->port);
                else
                        weir_log(&app->root, WEIR_LOG_INFO, "listening on %s", listen->address);
        }
}

static bool is_running(struct weir__server *server)
{
        bool running;

        if (!server)
                return false;
        pthread_mutex_lock(&server->lock);
        running = !server->stopped;
        pthread_mutex_unlock(&server->lock);
        return running;
}

int weir_start(struct weir *root)
{
        struct weir__app *app = root ? root->app : NULL;
        struct weir__server *server;

        if (!app)
                return -1;
        if (is_running(app->server)) {
                weir__error(app, "weir_start(): the app runs already");
                return -1;
        }
        weir__server_free(app);
        weir__forget_error(app);
        if (weir__freeze(app) < 0)
                return -1;
        server = make(app);
        if (!server || !open_sockets(server) || !start_workers(server) || !start_door(server)) {
                weir__error(app, "weir_start(): no memory, descriptor or thread left");
                if (server)
                        destroy(server);
                return -1;
        }
        pthread_mutex_lock(&app->lock);
        app->server = server;
        pthread_mutex_unlock(&app->lock);
        announce(app);
        return 0;
}

int weir_stop(struct weir *root)
{
        struct weir__server *server;

        if (!root)
                return 0;
        pthread_mutex_lock(&root->app->lock);
        server = root->app->server;
        pthread_mutex_unlock(&root->app->lock);
        if (!server)
                return 0;
        ask(server, STOP);
        if (!weir__is_own_thread(root->app))
                wait_stopped(server);
        return 0;
}

void weir__server_free(struct weir__app *app)
{
        struct weir__server *server = app->server;

        if (!server)
                return;
        ask(server, STOP);
        wait_stopped(server);
        pthread_mutex_lock(&app->lock);
        weir__counters_add(&app->past, &server->door.counters);
        app->server = NULL;
        pthread_mutex_unlock(&app->lock);
        destroy(server);
}

void weir__server_counters(const struct weir__server *server, struct weir__counters *sum)
{
        if (!server)
                return;
        weir__counters_add(sum, &server->door.counters);
        for (unsigned i = 0; i < server->door.n_workers; i++) {
                if (server->door.workers[i])
                        weir__counters_add(sum, weir__worker_counters(server->door.workers[i]));
        }
}

uint16_t weir_port(const struct weir *root, unsigned nth)
{
        const struct weir__listen *listen = root ? root->app->listens : NULL;

        while (listen && nth--)
                listen = listen->next;
        return listen ? listen->port : 0;
}

/* ---- weir_run() and weir_main(). ---- */

/* Until stopped; each signal asks for more. */
static void wait_signals(struct weir__server *server, int signal_fd)
{
        struct pollfd fds[2] = { { .fd = server->stopped_fd, .events = POLLIN },
                                 { .fd = signal_fd, .events = POLLIN } };
        static const char *const what[] = {
                "stopping: requests in flight finish; a second signal cuts them off",
                "cutting off what is still in flight; a third signal ends the process",
        };
        struct signalfd_siginfo info;
        int signals = 0;

        while (is_running(server)) {
                if (poll(fds, 2, -1) < 0 || !(fds[1].revents & POLLIN) ||
                    read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
                        continue;
                signals++;
                if (signals == 3)
                        _exit(1);
                weir_log(&server->app->root, WEIR_LOG_INFO, "%s", what[signals - 1]);
                ask(server, signals == 1 ? STOP : HURRY);
        }
}

int weir_run(struct weir *app)
{
        sigset_t ours, before;
        int signal_fd, result;

        sigemptyset(&ours);
        sigaddset(&ours, SIGINT);
        sigaddset(&ours, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ours, &before);
        signal_fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
        result = weir_start(app);
        if (result == 0) {
                wait_signals(app->app->server, signal_fd);
                weir_stop(app);
        }
        if (signal_fd >= 0)
                close(signal_fd);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return result;
}

int weir_main(struct weir *app)
{
        int result = weir_run(app);

        if (result < 0)
                fprintf(stderr, "%s: %s\n", app ? app->app->name : "weir", weir_error(app));
        weir_free(app);
        return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
