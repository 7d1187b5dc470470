/*
 * server.c - starting, serving, stopping.
 *
 * A server is made by weir_start() and lives until the next start or weir_free(), so that anyone
 * may still ask it to stop. Its door thread walks it through its states; `asked` says how far
 * others want it to go, and `stopped` is told under `lock`.
 */
#include "server.h"
#include "crew.h"
#include "door.h"
#include "loop.h"
#include "notify.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHECK_MS        10  /* between looks at loops that drain      */

struct weir__server {
        struct weir__app    *app;
        struct weir__door    door;
        struct weir__notify  notify;
        pthread_t            thread;
        int                  wake_fd;    /* for the door                     */
        int                  stopped_fd; /* readable once stopped: weir_run() */
        _Atomic int          asked;
        pthread_mutex_t      lock;       /* guards stopped and joined        */
        pthread_cond_t       cond;
        bool                 stopped, joined;
        unsigned             lost;  /* requests that were claimed and did not come back    */
        unsigned             users; /* calls of weir_stop() in here; guarded by app->lock */
        pthread_cond_t       unused; /* told when users falls to 0; with app->lock         */
};

/* ---- How many of what. ---- */

unsigned weir__connection_limit(const struct weir_options *options)
{
        struct rlimit limit = { .rlim_cur = 1024 };

        if (options->max_connections > UINT32_MAX / 2)
                return UINT32_MAX / 2;
        if (options->max_connections)
                return (unsigned)options->max_connections;
        getrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur > UINT32_MAX / 2)
                return UINT32_MAX / 2;
        return limit.rlim_cur > 2 * WEIR__SPARE_FDS ? (unsigned)limit.rlim_cur - WEIR__SPARE_FDS
                                              : (unsigned)limit.rlim_cur / 2;
}

/* ---- Stopping: the door thread. ---- */

/* Who sees the state knows that all have been told. */
static void enter(struct weir__server *server, enum weir_state state, enum weir__mode mode)
{
        for (unsigned i = 0; i < server->door.n_workers; i++)
                weir__worker_tell(server->door.workers[i], mode);
        atomic_store(&server->app->state, (int)state);
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

/* Waits until who has come in but owes a PROXY header is with a loop, or gone. */
static void wait_callers(struct weir__server *server, uint64_t end_ms)
{
        weir__callers_turn(&server->door);
        while (server->door.n_callers && atomic_load(&server->asked) != WEIR__HURRY &&
               now_ms() < end_ms) {
                weir__door_run(&server->door, CHECK_MS);
                clear_wake(server);
        }
        weir__callers_finish(&server->door);
}

/* Waits until the loops and those refused are done, the time is up, or somebody is in a hurry. */
static void wait_drained(struct weir__server *server, uint64_t end_ms)
{
        while ((!all_done(server) || server->door.refused.n) &&
               atomic_load(&server->asked) != WEIR__HURRY && now_ms() < end_ms) {
                struct pollfd wake = { .fd = server->wake_fd, .events = POLLIN };

                poll(&wake, 1, CHECK_MS);
                clear_wake(server);
                weir__refused_turn(&server->door);
        }
        weir__refused_finish(&server->door);
}

/* Serves on for a while, whoever asks again; only a hurry ends it early. */
static void stay_lame(struct weir__server *server, int64_t delay_ms)
{
        uint64_t end = now_ms() + (uint64_t)(delay_ms == WEIR_NONE ? 0 : delay_ms), now;

        while ((now = now_ms()) < end && atomic_load(&server->asked) != WEIR__HURRY) {
                weir__door_run(&server->door, end - now < 60000 ? (int)(end - now) : 60000);
                clear_wake(server);
        }
}

/* With a hook that did not return, its thread and all that it may use stay. */
static void stop_crew(struct weir__app *app, unsigned lost)
{
        if (!lost)
                weir__crew_stop(app->crew);
        app->crew = NULL;
}

/* Whoever has just resumed a request is about to let go of its loop. */
static void wait_for_wakers(struct weir__app *app)
{
        while (atomic_load(&app->waking))
                sched_yield();
}

/* A loop with a request that is claimed and did not come back stays, since that one may still. */
static void end_workers(struct weir__server *server)
{
        struct weir__door *door = &server->door;

        for (unsigned i = 0; i < door->n_workers; i++) {
                weir__worker_join(door->workers[i]);
                server->lost += weir__worker_lost(door->workers[i]);
        }
        wait_for_wakers(server->app);
        for (unsigned i = 0; i < door->n_workers; i++) {
                struct weir__worker *worker = door->workers[i];

                pthread_mutex_lock(&server->app->lock);
                weir__counters_add(&server->app->past, weir__worker_counters(worker));
                door->workers[i] = NULL;
                pthread_mutex_unlock(&server->app->lock);
                if (!weir__worker_lost(worker))
                        weir__worker_free(worker);
        }
        stop_crew(server->app, server->lost);
}

/* Lets clients in until somebody asks for a stop. */
static void serve(struct weir__server *server)
{
        struct weir__notify *notify = &server->notify;
        uint64_t now = weir__now(&weir__system_clock);

        weir__notify_ready(notify, now);
        while (atomic_load(&server->asked) == WEIR__KEEP_ON) {
                weir__door_run(&server->door, weir__notify_wait_ms(notify, now));
                now = notify->every_ns ? weir__now(&weir__system_clock) : 0;
                if (weir__notify_is_due(notify, now))
                        weir__notify_alive(notify, weir__door_lag_ns(&server->door), now);
        }
}

static void *run_door(void *arg)
{
        struct weir__server *server = arg;
        const struct weir_options *options = &server->app->options;
        uint64_t one = 1, end_ms;

        weir__set_own_thread();
        serve(server);
        clear_wake(server);
        enter(server, WEIR_LAME, WEIR__LAME);
        weir__notify_stopping(&server->notify);
        stay_lame(server, options->drain_delay_ms);
        end_ms = now_ms() + (uint64_t)options->drain_timeout_ms;
        weir__door_close(&server->door);
        wait_callers(server, end_ms);
        enter(server, WEIR_DRAIN, WEIR__DRAIN);
        wait_drained(server, end_ms);
        enter(server, WEIR_CANCEL, WEIR__CANCEL);
        end_workers(server);
        atomic_store(&server->app->state, WEIR_STOPPED);
        pthread_mutex_lock(&server->lock);
        server->stopped = true;
        pthread_cond_broadcast(&server->cond);
        pthread_mutex_unlock(&server->lock);
        if (write(server->stopped_fd, &one, sizeof(one)) < 0)
                return NULL; /* weir_run() asks for `stopped` too */
        return NULL;
}

void weir__server_ask(struct weir__server *server, int what)
{
        uint64_t one = 1;

        int asked = atomic_load(&server->asked);

        while (asked < what && !atomic_compare_exchange_weak(&server->asked, &asked, what))
                ;
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
        stop_crew(server->app, 0);
        weir__door_finish(&server->door);
        if (server->wake_fd >= 0)
                close(server->wake_fd);
        if (server->stopped_fd >= 0)
                close(server->stopped_fd);
        pthread_cond_destroy(&server->cond);
        pthread_cond_destroy(&server->unused);
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
        server->notify.on = app->notifies;
        pthread_mutex_init(&server->lock, NULL);
        pthread_cond_init(&server->cond, NULL);
        pthread_cond_init(&server->unused, NULL);
        server->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        server->stopped_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        server->door.max_connections = weir__connection_limit(&app->options);
        return server;
}

static bool start_workers(struct weir__server *server)
{
        struct weir__door *door = &server->door;
        unsigned n = weir__loops(server->app);
        const char *why;

        door->workers = calloc(n, sizeof(struct weir__worker *));
        if (!door->workers)
                return false;
        for (; door->n_workers < n; door->n_workers++) {
                door->workers[door->n_workers] = weir__worker_start(server->app, door->n_workers,
                                                                    &door->room, &why);
                if (!door->workers[door->n_workers]) {
                        weir__error(server->app, "loop %u: %s", door->n_workers, why);
                        return false;
                }
        }
        return true;
}

static bool start_crew(struct weir__app *app)
{
        if (app->tree->blocks)
                app->crew = weir__crew_start(app);
        return app->crew || !app->tree->blocks;
}

static bool start_door(struct weir__server *server)
{
        if (server->wake_fd < 0 || server->stopped_fd < 0)
                return false;
        if (weir__door_init(&server->door, server->wake_fd) < 0)
                return false;
        return weir__thread_create(&server->thread, run_door, server) == 0;
}

bool weir__server_runs(struct weir__server *server)
{
        bool running;

        if (!server)
                return false;
        pthread_mutex_lock(&server->lock);
        running = !server->stopped;
        pthread_mutex_unlock(&server->lock);
        return running;
}

/* The door opens with app->lock held: whoever is served can already ask for a stop. */
static bool open_door(struct weir__app *app, struct weir__server *server)
{
        bool ok;

        pthread_mutex_lock(&app->lock);
        ok = start_door(server);
        if (ok)
                app->server = server;
        pthread_mutex_unlock(&app->lock);
        return ok;
}

static int start(struct weir__app *app)
{
        struct weir__server *server = make(app);

        if (server && weir__sockets_open(app, &server->door) && start_crew(app) &&
            start_workers(server) && open_door(app, server))
                return 0;
        weir__error(app, "weir_start(): no memory, descriptor or thread left");
        if (server)
                destroy(server);
        return -1;
}

int weir_start(struct weir *root)
{
        struct weir__app *app = root ? root->app : NULL;
        int result;

        if (!app)
                return -1;
        if (weir__server_runs(app->server)) {
                weir_log(root, WEIR_LOG_ERROR, "weir_start(): the app runs already");
                return -1;
        }
        weir__server_free(app);
        weir__forget_start_error(app);
        if (weir__freeze(app) < 0 || app->error)
                return -1;
        app->starting = true; /* errors from here on are of this start, and do not stick */
        atomic_store(&app->state, WEIR_RUNNING);
        result = start(app);
        app->starting = false;
        if (result == 0) {
                weir__sockets_announce(app);
                weir__machine_tell(app);
        } else {
                atomic_store(&app->state, WEIR_STOPPED);
        }
        return result;
}

int weir_stop(struct weir *root)
{
        struct weir__server *server;
        int result = 0;

        if (!root)
                return 0;
        pthread_mutex_lock(&root->app->lock);
        server = root->app->server;
        if (server)
                server->users++;
        pthread_mutex_unlock(&root->app->lock);
        if (!server)
                return 0;
        weir__server_ask(server, WEIR__STOP);
        if (!weir__is_own_thread()) {
                wait_stopped(server);
                result = server->lost ? -1 : 0;
        }
        pthread_mutex_lock(&root->app->lock);
        if (--server->users == 0)
                pthread_cond_signal(&server->unused);
        pthread_mutex_unlock(&root->app->lock);
        return result;
}

void weir__server_free(struct weir__app *app)
{
        struct weir__server *server = app->server;

        if (!server)
                return;
        weir__server_ask(server, WEIR__STOP);
        wait_stopped(server);
        pthread_mutex_lock(&app->lock);
        weir__counters_add(&app->past, &server->door.counters);
        app->server = NULL;
        while (server->users)
                pthread_cond_wait(&server->unused, &app->lock);
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

uint64_t weir__server_lag_ns(const struct weir__server *server)
{
        return server ? weir__door_lag_ns(&server->door) : 0;
}

uint16_t weir_port(const struct weir *root, unsigned nth)
{
        const struct weir__listen *listen = root ? root->app->listens : NULL;

        while (listen && nth--)
                listen = listen->next;
        return listen ? listen->port : 0;
}

int weir__server_stopped_fd(const struct weir__server *server)
{
        return server->stopped_fd;
}
