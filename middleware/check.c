/*
 * check.c - checks that run now and then, each on a thread of its own.
 *
 * A check may hang, so nobody waits for one: who looks sees its last results under `lock`, which is
 * never held while one runs. A thread cannot be taken back from a check that hangs when all is to
 * stop. It is left alone then, holds the set in memory, and ends when the check returns; if the set
 * has been started again by then, it goes on as the thread of its check.
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define STOP_S   1 /* for checks that run when all is to stop */
#define MAX_NAME 32

struct check {
        struct weir__checks     *checks;
        char                     name[MAX_NAME + 1];
        weir_check_fn           *fn;
        void                    *arg;
        struct weir__check_rule  rule;
        struct weir__check_state state;                /* with checks->lock */
        char                     why[WEIR__CHECK_WHY]; /* of the last failure; the same */
        bool                     has_thread;           /* the same */
};

struct weir__checks {
        pthread_mutex_t lock;
        pthread_cond_t  cond; /* it is to stop, or a thread has ended */
        unsigned        refs; /* this and all below with lock, but for `check` as it is set up */
        unsigned        starts;
        unsigned        n_threads;
        unsigned        n;
        struct check    check[WEIR__MAX_CHECKS];
};

/* ---- Numbers. ---- */

void weir__check_begin(struct weir__check_state *state, const struct weir__check_rule *rule,
                       uint64_t now_ns)
{
        state->runs = true;
        state->timed_out = false;
        state->fails_ns = now_ns + rule->timeout_ns;
}

static void count(struct weir__check_state *state, const struct weir__check_rule *rule, bool ok,
                  uint64_t at_ns)
{
        state->last_ns = at_ns;
        state->against = ok == state->ok ? 0 : state->against + 1;
        if (state->against < (ok ? rule->ok_after : rule->fail_after))
                return;
        state->ok = ok;
        state->against = 0;
}

/* Counts the failures of a run that takes too long, up to now. */
static void expire(struct weir__check_state *state, const struct weir__check_rule *rule,
                   uint64_t now_ns)
{
        while (state->runs && state->fails_ns <= now_ns && (state->ok || !state->timed_out)) {
                state->timed_out = true;
                count(state, rule, false, state->fails_ns);
                state->fails_ns += rule->interval_ns;
        }
}

bool weir__check_end(struct weir__check_state *state, const struct weir__check_rule *rule, bool ok,
                     uint64_t now_ns)
{
        expire(state, rule, now_ns);
        state->runs = false;
        state->next_ns = now_ns + rule->interval_ns;
        if (!state->timed_out)
                count(state, rule, ok, now_ns);
        return !state->timed_out;
}

static bool is_stale(const struct weir__check_state *state, const struct weir__check_rule *rule,
                     uint64_t now_ns)
{
        return state->last_ns && now_ns > state->last_ns &&
               now_ns - state->last_ns > 3 * rule->interval_ns;
}

bool weir__check_judge(struct weir__check_state *state, const struct weir__check_rule *rule,
                       uint64_t now_ns)
{
        expire(state, rule, now_ns);
        return state->ok && !is_stale(state, rule, now_ns);
}

/* ---- Running one. ---- */

static uint64_t system_ns(const void *arg)
{
        struct timespec now;

        (void)arg;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What the app says goes to others as it is, but for control bytes. */
static void keep_why(struct check *check, const char *why)
{
        size_t len = 0;

        for (; len < sizeof(check->why) - 1 && why[len]; len++)
                check->why[len] = (unsigned char)why[len] < ' ' || why[len] == 127 ? ' ' : why[len];
        check->why[len] = '\0';
}

/* Another clock, or another start. With the lock. */
static void forget(struct check *check)
{
        if (check->has_thread)
                return;
        check->state = (struct weir__check_state){ 0 };
        keep_why(check, "did not run yet");
}

/* With the lock, which is not held while the check runs. */
static void run_once(struct check *check, uint64_t (*now)(const void *arg), const void *arg)
{
        pthread_mutex_t *lock = &check->checks->lock;
        char why[WEIR__CHECK_WHY] = "";
        bool ok;

        weir__check_begin(&check->state, &check->rule, now(arg));
        pthread_mutex_unlock(lock);
        ok = check->fn(check->arg, why, sizeof(why));
        why[sizeof(why) - 1] = '\0';
        pthread_mutex_lock(lock);
        if (!weir__check_end(&check->state, &check->rule, ok, now(arg)))
                keep_why(check, "took too long");
        else if (!ok)
                keep_why(check, why);
}

/* Until the next run is due or all is to stop. With the lock. */
static void wait_due(struct check *check)
{
        struct weir__checks *checks = check->checks;
        struct timespec at = { .tv_sec = (time_t)(check->state.next_ns / 1000000000),
                               .tv_nsec = (long)(check->state.next_ns % 1000000000) };

        while (checks->starts && system_ns(NULL) < check->state.next_ns)
                pthread_cond_timedwait(&checks->cond, &checks->lock, &at);
}

/* With the lock, which is gone then. */
static void let_go(struct weir__checks *checks)
{
        bool last = --checks->refs == 0;

        pthread_mutex_unlock(&checks->lock);
        if (!last)
                return;
        pthread_cond_destroy(&checks->cond);
        pthread_mutex_destroy(&checks->lock);
        free(checks);
}

static void *run(void *arg)
{
        struct check *check = arg;
        struct weir__checks *checks = check->checks;

        pthread_mutex_lock(&checks->lock);
        while (checks->starts) {
                run_once(check, system_ns, NULL);
                wait_due(check);
        }
        check->has_thread = false;
        checks->n_threads--;
        pthread_cond_broadcast(&checks->cond);
        let_go(checks);
        return NULL;
}

/* Detached, since nobody can wait for one that hangs; without signals, which are the host's. */
static bool start_thread(struct check *check)
{
        pthread_attr_t attributes;
        sigset_t all, before;
        pthread_t thread;
        bool ok;

        if (pthread_attr_init(&attributes))
                return false;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        ok = pthread_create(&thread, &attributes, run, check) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        if (!ok)
                return false;
        check->has_thread = true;
        check->checks->n_threads++;
        check->checks->refs++;
        return true;
}

/* ---- All of them. ---- */

struct weir__checks *weir__checks_new(void)
{
        struct weir__checks *checks = calloc(1, sizeof(*checks));
        pthread_condattr_t monotonic;

        if (!checks)
                return NULL;
        checks->refs = 1;
        pthread_mutex_init(&checks->lock, NULL);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&checks->cond, &monotonic);
        pthread_condattr_destroy(&monotonic);
        return checks;
}

void weir__checks_put(struct weir__checks *checks)
{
        if (!checks)
                return;
        pthread_mutex_lock(&checks->lock);
        let_go(checks);
}

static bool is_name(const char *name)
{
        size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-_.")
                          : 0;

        return len && len <= MAX_NAME && !name[len];
}

const char *weir__checks_add(struct weir__checks *checks, const char *name, weir_check_fn *fn,
                             void *arg, const struct weir__check_rule *rule)
{
        struct check *check = &checks->check[checks->n];

        if (!is_name(name))
                return "the name must have 1 to 32 letters, digits, '-', '_' or '.'";
        if (!fn)
                return "the function is NULL";
        for (unsigned i = 0; i < checks->n; i++) {
                if (!strcmp(checks->check[i].name, name))
                        return "there is one of that name";
        }
        if (checks->n == WEIR__MAX_CHECKS)
                return "an app has at most 32 checks";
        checks->n++;
        *check = (struct check){ .checks = checks, .fn = fn, .arg = arg, .rule = *rule };
        memcpy(check->name, name, strlen(name) + 1);
        forget(check);
        return NULL;
}

/* With the lock: nobody has started the checks any more. Those that hang are not waited for. */
static void wait_ended(struct weir__checks *checks)
{
        struct timespec end;

        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += STOP_S;
        pthread_cond_broadcast(&checks->cond);
        while (checks->n_threads &&
               pthread_cond_timedwait(&checks->cond, &checks->lock, &end) != ETIMEDOUT)
                ;
}

bool weir__checks_start(struct weir__checks *checks)
{
        bool ok = true;

        pthread_mutex_lock(&checks->lock);
        if (checks->starts++ == 0) {
                for (unsigned i = 0; i < checks->n && ok; i++) {
                        forget(&checks->check[i]);
                        ok = checks->check[i].has_thread || start_thread(&checks->check[i]);
                }
        }
        if (!ok && --checks->starts == 0)
                wait_ended(checks); /* those that were started may use what the caller frees */
        pthread_mutex_unlock(&checks->lock);
        return ok;
}

unsigned weir__checks_stop(struct weir__checks *checks, const char **name)
{
        unsigned hang = 0;

        pthread_mutex_lock(&checks->lock);
        if (--checks->starts == 0) {
                wait_ended(checks);
                hang = checks->n_threads;
        }
        for (unsigned i = 0; !checks->starts && i < checks->n; i++) {
                if (checks->check[i].has_thread)
                        *name = checks->check[i].name;
                forget(&checks->check[i]);
        }
        pthread_mutex_unlock(&checks->lock);
        return hang;
}

void weir__checks_run(struct weir__checks *checks, uint64_t (*now)(const void *arg),
                      const void *arg)
{
        pthread_mutex_lock(&checks->lock);
        for (unsigned i = 0; i < checks->n && !checks->n_threads; i++) {
                struct check *check = &checks->check[i];

                if (!check->state.runs && check->state.next_ns <= now(arg))
                        run_once(check, now, arg);
        }
        pthread_mutex_unlock(&checks->lock);
}

unsigned weir__checks_view(struct weir__checks *checks, uint64_t now_ns,
                           struct weir__check_view *views)
{
        pthread_mutex_lock(&checks->lock);
        for (unsigned i = 0; i < checks->n; i++) {
                struct check *check = &checks->check[i];
                bool ok = weir__check_judge(&check->state, &check->rule, now_ns);
                const char *why = check->state.runs && check->state.timed_out ? "takes too long"
                                  : is_stale(&check->state, &check->rule, now_ns)
                                          ? "has not run for too long"
                                          : check->why;

                views[i] = (struct weir__check_view){ check->name, ok, check->rule.optional, "" };
                memcpy(views[i].why, why, strlen(why) + 1);
        }
        pthread_mutex_unlock(&checks->lock);
        return checks->n;
}
