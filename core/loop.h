/* loop.h - a serving thread: its loop, its daemon, and how others hand it work. */
#ifndef WEIR_CORE_LOOP_H
#define WEIR_CORE_LOOP_H

#include "cell.h"
#include "mhd.h"

/* What a worker is told to do; it only ever goes up. */
enum weir__mode {
        WEIR__RUN,
        WEIR__LAME,   /* serve, but say close                              */
        WEIR__DRAIN,  /* and close idle connections, end when none is open */
        WEIR__CANCEL, /* cut all connections, end                          */
};

struct weir__room;
struct weir__worker;

/*
 * A worker with its thread, whose locals are open and whose daemon is ready; it tells `room` of
 * connections that have ended. NULL: *why says why, in a text that lives until the next call.
 */
struct weir__worker *weir__worker_start(struct weir__app *app, uint32_t number,
                                        struct weir__room *room, const char **why);

/* Hands over a socket; false without memory, then the socket is still the caller's. */
bool weir__worker_take(struct weir__worker *worker, const struct weir__arrival *arrival);

/* Connections that it has or is about to get. Any thread. */
unsigned weir__worker_load(const struct weir__worker *worker);

/* Any thread. */
void weir__worker_tell(struct weir__worker *worker, enum weir__mode mode);

/* Has its thread nothing left to do? After WEIR__DRAIN; any thread. */
bool weir__worker_is_done(const struct weir__worker *worker);

/*
 * How long its thread has owed a sign of life; asks for one if it owes none. It gives it when it
 * comes round, so that costs nothing but where somebody asks. Any thread.
 */
uint64_t weir__worker_lag_ns(struct weir__worker *worker, uint64_t now_ns);

/* Its counters are good until weir__worker_free(). */
const struct weir__counters *weir__worker_counters(const struct weir__worker *worker);

/* Waits for its thread, which was told to end. */
void weir__worker_join(struct weir__worker *worker);

/*
 * After the join: requests that are claimed and did not come back. They may still, so the worker
 * must stay.
 */
unsigned weir__worker_lost(const struct weir__worker *worker);

/* After the join, and when nobody is about to resume one of its requests (app->waking). */
void weir__worker_free(struct weir__worker *worker);

/* Is this thread one of weir's, of whatever app? It must not wait for a stop. */
bool weir__is_own_thread(void);
void weir__set_own_thread(void);

/*
 * pthread_create() with all signals blocked in the new thread, but those of faults and profilers.
 */
int weir__thread_create(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
