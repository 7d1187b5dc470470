/*
 * check.h - checks that run now and then, each on a thread of its own.
 *
 *      begin ------ end          good or failed, counted when it ends
 *      begin ----|---------|---  failed, counted at its timeout, and again for each interval since
 *
 * What a check says turns around when enough results in a row are different. All times are of one
 * clock: that of the system, or in memory that of the asks.
 */
#ifndef WEIR_MIDDLEWARE_CHECK_H
#define WEIR_MIDDLEWARE_CHECK_H

#include <weir/health.h>

#define WEIR__MAX_CHECKS 32
#define WEIR__CHECK_WHY  128

/* ---- One check as numbers: set up once, changed by runs. ---- */

struct weir__check_rule {
        uint64_t interval_ns, timeout_ns;
        unsigned fail_after, ok_after;
        bool     optional;
};

struct weir__check_state {
        bool     ok;         /* what it says                                    */
        bool     runs;
        bool     timed_out;  /* the run that is out has been counted as failed  */
        unsigned against;    /* results in a row that are not what it says      */
        uint64_t fails_ns;   /* the run that is out fails then, or fails again  */
        uint64_t next_ns;    /* the next run is due                             */
        uint64_t last_ns;    /* the last result                                 */
};

void weir__check_begin(struct weir__check_state *state, const struct weir__check_rule *rule,
                       uint64_t now_ns);

/* True: that result counts. False: the run had failed before it ended. */
bool weir__check_end(struct weir__check_state *state, const struct weir__check_rule *rule, bool ok,
                     uint64_t now_ns);

/* What it says at `now_ns`. */
bool weir__check_judge(struct weir__check_state *state, const struct weir__check_rule *rule,
                       uint64_t now_ns);

/* ---- A set of checks. ---- */

/* Counted: its owner and each of its threads hold it. */
struct weir__checks;

/* What one says now. */
struct weir__check_view {
        const char *name;
        bool        ok, optional;
        char        why[WEIR__CHECK_WHY]; /* when it is not ok */
};

struct weir__checks *weir__checks_new(void);

/* Lets go of it; its memory goes with its last thread. */
void weir__checks_put(struct weir__checks *checks);

/* NULL, or what is wrong. Before the first start. */
const char *weir__checks_add(struct weir__checks *checks, const char *name, weir_check_fn *fn,
                             void *arg, const struct weir__check_rule *rule);

/* Counted too: the first starts the threads; false when there is none left. */
bool weir__checks_start(struct weir__checks *checks);

/* The last stops them: how many hang, of which *name is one, which lives as long as the app. */
unsigned weir__checks_stop(struct weir__checks *checks, const char **name);

/* Runs what is due at *now, without threads; `now` is asked again after each. */
void weir__checks_run(struct weir__checks *checks, uint64_t (*now)(const void *arg),
                      const void *arg);

/* Fills `views`, at most WEIR__MAX_CHECKS; how many. Any thread. */
unsigned weir__checks_view(struct weir__checks *checks, uint64_t now_ns,
                           struct weir__check_view *views);

#endif
