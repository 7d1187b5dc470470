/*
 * loop.c - a serving thread.
 *
 * The thread owns everything in `loop` and `mhd`. Others hand in sockets through `queue`, under
 * `lock`, and modes through `mode`, and wake the thread when it may be asleep:
 *
 *      thread                                  others
 *      asleep = true   (seq_cst)               queue/mode  (then seq_cst)
 *      is there work?  (seq_cst)               asleep and not poked?  -> poked, write to wake_fd
 *
 * Either the thread sees the work, or they see that it sleeps. A write is an event of its own in
 * the set of MHD (EPOLLET), so wake_fd is never read; one that comes late ends a sleep for nothing.
 */
#include "loop.h"
#include "clients.h"
#include "hint.h"
#include "job.h"
#include "local.h"
#include "room.h"
#include "wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define CANCEL_NS       2000000000ull /* for connections that were cut to be noticed */
#define CANCEL_TURN_MS  10
#define ARRIVALS_A_TURN 16 /* that a turn takes: those who are in already want theirs */
#define TURNS_TO_ANSWER 4 /* for the requests that waited to get their 503, before all are cut */

struct weir__worker {
        struct weir__loop     loop;
        struct weir__mhd     *mhd;
        struct weir__room    *room;     /* of the door                                 */
        pthread_t             thread;
        int                   wake_fd;
        atomic_bool           asleep;
        atomic_bool           poked;    /* wake_fd was or is about to be written       */
        _Atomic int           mode;
        atomic_uint           load;     /* connections open or queued                  */
        unsigned              known;    /* those of them that MHD has had              */
        atomic_bool           has_work; /* the queue is not empty, or loop.resumed     */
        atomic_bool           done;
        _Atomic uint64_t      asked_ns; /* for a sign of life, which is still due; 0: none  */
        pthread_mutex_t       lock;     /* guards the queue, and ready                 */
        pthread_cond_t        ready_cond;
        unsigned              lost;     /* requests that are claimed when it is over   */
        bool                  ready;
        const char           *why;      /* what went wrong before it was ready         */
        struct weir__arrival *queue;    /* from first_queued on                        */
        unsigned              first_queued, n_queue, cap_queue;
};

static _Thread_local bool own_thread;

bool weir__is_own_thread(void)
{
        return own_thread;
}

void weir__set_own_thread(void)
{
        own_thread = true;
}

int weir__thread_create(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
        static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF };
        sigset_t all, before;
        int error;

        sigfillset(&all);
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
                sigdelset(&all, faults[i]);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, NULL, run, arg);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return error;
}

/* ---- From other threads. ---- */

static void wake(struct weir__worker *worker)
{
        uint64_t one = 1;

        if (!atomic_load(&worker->asleep) || atomic_exchange(&worker->poked, true))
                return;
        if (write(worker->wake_fd, &one, sizeof(one)) < 0)
                atomic_store(&worker->poked, false); /* cannot be: 2^64 of them fit */
}

/* loop->wake: a request was resumed. */
static void wake_for_resumed(struct weir__loop *loop)
{
        struct weir__worker *worker = (struct weir__worker *)loop; /* its first member */

        atomic_store(&worker->has_work, true);
        wake(worker);
}

/* Makes room at the end of the queue: by what was taken off its front, if that is much. */
static bool grow_queue(struct weir__worker *worker)
{
        unsigned gone = worker->first_queued;
        unsigned cap = worker->cap_queue ? 2 * worker->cap_queue : 64;
        struct weir__arrival *queue;

        if (gone && gone >= worker->n_queue / 2) {
                worker->n_queue -= gone;
                memmove(worker->queue, worker->queue + gone,
                        worker->n_queue * sizeof(*worker->queue));
                worker->first_queued = 0;
                return true;
        }
        queue = realloc(worker->queue, cap * sizeof(*queue));
        if (!queue)
                return false;
        worker->queue = queue;
        worker->cap_queue = cap;
        return true;
}

bool weir__worker_take(struct weir__worker *worker, const struct weir__arrival *arrival)
{
        bool ok;

        pthread_mutex_lock(&worker->lock);
        ok = worker->n_queue < worker->cap_queue || grow_queue(worker);
        if (ok) {
                worker->queue[worker->n_queue++] = *arrival;
                atomic_fetch_add(&worker->load, 1);
                atomic_store(&worker->has_work, true);
        }
        pthread_mutex_unlock(&worker->lock);
        if (ok)
                wake(worker);
        return ok;
}

unsigned weir__worker_load(const struct weir__worker *worker)
{
        return atomic_load(&worker->load); /* seq_cst: room.h */
}

void weir__worker_tell(struct weir__worker *worker, enum weir__mode mode)
{
        if (mode >= WEIR__LAME)
                atomic_store_explicit(&worker->loop.draining, true, memory_order_relaxed);
        if (atomic_load(&worker->mode) < (int)mode)
                atomic_store(&worker->mode, (int)mode);
        wake(worker);
}

bool weir__worker_is_done(const struct weir__worker *worker)
{
        return atomic_load(&worker->done);
}

uint64_t weir__worker_lag_ns(struct weir__worker *worker, uint64_t now_ns)
{
        uint64_t asked = 0;

        if (weir__worker_is_done(worker))
                return 0;
        if (!atomic_compare_exchange_strong(&worker->asked_ns, &asked, now_ns))
                return now_ns > asked ? now_ns - asked : 0;
        atomic_store(&worker->has_work, true);
        wake(worker);
        return 0;
}

const struct weir__counters *weir__worker_counters(const struct weir__worker *worker)
{
        return &worker->loop.counters;
}

/* ---- On its own thread. ---- */

/* Gives the sockets of the queue to MHD. The lock is never held over that. */
static void take_arrivals(struct weir__worker *worker)
{
        struct weir__arrival batch[ARRIVALS_A_TURN];
        unsigned n;

        pthread_mutex_lock(&worker->lock);
        n = worker->n_queue - worker->first_queued;
        atomic_store(&worker->has_work, n > ARRIVALS_A_TURN);
        if (n > ARRIVALS_A_TURN)
                n = ARRIVALS_A_TURN;
        if (n)
                memcpy(batch, worker->queue + worker->first_queued, n * sizeof(*batch));
        worker->first_queued += n;
        if (worker->first_queued == worker->n_queue) {
                free(worker->queue);
                worker->queue = NULL;
                worker->first_queued = worker->n_queue = worker->cap_queue = 0;
        }
        pthread_mutex_unlock(&worker->lock);
        worker->known += n;
        for (unsigned i = 0; i < n; i++)
                weir__mhd_add(worker->mhd, &batch[i]);
}

/* One look for both: they are rare. */
static bool is_called(const struct weir__worker *worker)
{
        return (int)atomic_load_explicit(&worker->has_work, memory_order_relaxed) |
               (int)atomic_load_explicit(&worker->poked, memory_order_relaxed);
}

/*
 * Whoever found `poked` set has left work that is seen here, for the exchange reads what theirs
 * wrote. The sign of life is given behind take_arrivals(): who asks from then on is seen next time.
 */
static WEIR__COLD void take_work(struct weir__worker *worker)
{
        atomic_exchange(&worker->poked, false);
        take_arrivals(worker);
        atomic_store(&worker->asked_ns, 0);
        weir__wait_turn(&worker->loop);
}

/* Takes the connections that have closed since the last turn off the load. */
static void update_load(struct weir__worker *worker)
{
        unsigned open = weir__mhd_connections(worker->mhd);

        if (open == worker->known)
                return;
        atomic_fetch_sub(&worker->load, worker->known - open);
        worker->known = open;
        weir__room_made(worker->room);
}

static void turn(struct weir__worker *worker, int wait_ms, int mode)
{
        atomic_store(&worker->asleep, true);
        if (atomic_load(&worker->has_work) || atomic_load(&worker->mode) != mode)
                wait_ms = 0;
        weir__mhd_turn(worker->mhd, wait_ms);
        atomic_store_explicit(&worker->asleep, false, memory_order_relaxed);
        if (is_called(worker))
                take_work(worker);
        update_load(worker);
}

static uint64_t now_ns(void)
{
        return weir__now(&weir__system_clock);
}

/* How long a turn may sleep. */
static int wait_ms_of(struct weir__worker *worker, int mode, int turns)
{
        if (mode == WEIR__DRAIN)
                return weir__mhd_drain_turn(worker->mhd, now_ns());
        if (mode == WEIR__CANCEL)
                return turns <= TURNS_TO_ANSWER ? 0 : CANCEL_TURN_MS;
        return -1;
}

static void serve(struct weir__worker *worker)
{
        uint64_t give_up_ns = UINT64_MAX;
        int mode = WEIR__RUN, turns = 0;

        for (;;) {
                int told = atomic_load(&worker->mode);

                if (told != mode) {
                        take_work(worker);
                        mode = told;
                        if (mode == WEIR__DRAIN) {
                                weir__mhd_drain(worker->mhd, now_ns());
                                weir__wait_drain(&worker->loop);
                        }
                        if (mode == WEIR__CANCEL) {
                                weir__mhd_turn_away(worker->mhd);
                                give_up_ns = now_ns() + CANCEL_NS;
                        }
                }
                if (mode == WEIR__CANCEL) /* some may have begun to since */
                        weir__wait_stop(&worker->loop);
                if (mode >= WEIR__DRAIN && weir__mhd_connections(worker->mhd) == 0 &&
                    !worker->loop.jobs && !atomic_load(&worker->has_work))
                        return;
                if (mode == WEIR__CANCEL && now_ns() > give_up_ns)
                        return;
                if (mode == WEIR__CANCEL && turns++ == TURNS_TO_ANSWER)
                        weir__mhd_close_all(worker->mhd);
                turn(worker, wait_ms_of(worker, mode, turns), mode);
        }
}

static void say_ready(struct weir__worker *worker)
{
        pthread_mutex_lock(&worker->lock);
        worker->ready = true;
        pthread_cond_signal(&worker->ready_cond);
        pthread_mutex_unlock(&worker->lock);
}

/* What came too late to be served. */
static void drop_queue(struct weir__worker *worker)
{
        for (unsigned i = worker->first_queued; i < worker->n_queue; i++) {
                close(worker->queue[i].fd);
                weir__client_leave(worker->queue[i].client, &worker->loop.counters);
        }
        worker->first_queued = worker->n_queue = 0;
}

static void *run(void *arg)
{
        struct weir__worker *worker = arg;
        char who[32];
        bool open;

        weir__set_own_thread();
        snprintf(who, sizeof(who), " of loop %u", worker->loop.number);
        open = weir__locals_open(worker->loop.app, who, worker->loop.local);
        worker->why = "a value of weir_local() is not there";
        if (open)
                worker->mhd = weir__mhd_new(&worker->loop, worker->wake_fd, &worker->why);
        if (worker->mhd) {
                worker->why = NULL;
                say_ready(worker);
                serve(worker);
                worker->lost = weir__wait_lost(&worker->loop);
                worker->lost += weir__jobs_lost(&worker->loop);
        }
        drop_queue(worker);
        if (!worker->lost)
                weir__mhd_free(worker->mhd);
        if (open)
                weir__locals_close(worker->loop.app, worker->loop.local);
        atomic_store(&worker->done, true);
        say_ready(worker);
        return NULL;
}

/* ---- Its life. ---- */

void weir__worker_free(struct weir__worker *worker)
{
        free(worker->queue);
        weir__loop_finish(&worker->loop);
        if (worker->wake_fd >= 0)
                close(worker->wake_fd);
        pthread_cond_destroy(&worker->ready_cond);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
}

struct weir__worker *weir__worker_start(struct weir__app *app, uint32_t number,
                                        struct weir__room *room, const char **why)
{
        struct weir__worker *worker = calloc(1, sizeof(*worker));

        *why = "out of memory";
        if (!worker)
                return NULL;
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->ready_cond, NULL);
        weir__loop_init(&worker->loop, app, number, weir__mhd_transport());
        worker->room = room;
        worker->loop.wake = wake_for_resumed;
        worker->loop.crew = app->crew;
        worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (worker->wake_fd < 0 || weir__thread_create(&worker->thread, run, worker) != 0) {
                *why = "no descriptor or thread left for a loop";
                weir__worker_free(worker);
                return NULL;
        }
        pthread_mutex_lock(&worker->lock);
        while (!worker->ready)
                pthread_cond_wait(&worker->ready_cond, &worker->lock);
        *why = worker->why;
        pthread_mutex_unlock(&worker->lock);
        if (*why) {
                weir__worker_join(worker);
                weir__worker_free(worker);
                return NULL;
        }
        return worker;
}

void weir__worker_join(struct weir__worker *worker)
{
        pthread_join(worker->thread, NULL);
}

unsigned weir__worker_lost(const struct weir__worker *worker)
{
        return worker->lost;
}
