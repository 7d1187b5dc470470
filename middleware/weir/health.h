/*
 * health.h - what is asked of a process: does it live, may it have requests, has it started?
 *
 *      struct weir_health *health = weir_use_health(app, NULL);
 *
 *      weir_health_check(health, "db", db_answers, db, NULL);
 */
#ifndef WEIR_HEALTH_H
#define WEIR_HEALTH_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are copied. */
struct weir_health_options {
        const char *livez;    /* the path, in full; NULL: "/livez"; "": none                  */
        const char *readyz;   /* NULL: "/readyz"; "": none                                    */
        const char *startupz; /* NULL: "/startupz"; "": none                                  */
        const char *trusted;  /* networks of those who are told why a check failed: network.h */
        int64_t max_lag_ms;   /* that a loop may be held up by one that lives; 0: 5 s         */
        bool    manual_start; /* weir_mark_started() says when it has; default: once it serves */
        uint64_t reserved[4];
};

/*
 * Answers GET and HEAD at these paths, 200 or 503, before limits, authentication and CORS:
 *
 *      livez     no loop is held up for longer than max_lag_ms. Nothing else counts
 *      readyz    started, not about to stop (weir_state()), and each critical check is good
 *      startupz  started
 *
 * The body is "ok" or "failed"; with ?verbose a line for each thing looked at, and JSON where
 * Accept names application/json. Belongs to the root, or to a group above its paths. The handle
 * lives as long as the app. NULL after a setup error; all calls below take that.
 */
WEIR_API struct weir_health *weir_use_health(struct weir *scope,
                                             const struct weir_health_options *options);

/* The app has started, for good. Any thread. */
WEIR_API void weir_mark_started(struct weir_health *health);

/* ---- Checks of what the app needs. ---- */

/*
 * Is it there? false may say why, in a text of at most `size` bytes, NUL included. Called from a
 * thread that this check has for itself, so it may block; never while it runs already.
 */
typedef bool weir_check_fn(void *arg, char *why, size_t size);

struct weir_check_options {
        int64_t  interval_ms; /* between two runs; 0: 5 s                                         */
        int64_t  timeout_ms;  /* of a run, which has failed then; 0: 1 s, at most interval_ms     */
        unsigned fail_after;  /* failed runs in a row that make it fail; 0: 2                     */
        unsigned ok_after;    /* good runs in a row that make it good; 0: 1                       */
        bool     optional;    /* is shown, but makes readyz fail never; default: it is critical   */
        uint64_t reserved[4];
};

/*
 * Adds a check, before the start: at most 32, each with a name of its own, 1 to 32 letters, digits,
 * '-', '_' or '.'. It runs at once when the app starts, and has failed until a run was good. A
 * result that is older than three intervals counts as failed. `arg` must stay good until the last
 * run has returned: one that hangs when the app stops is waited for at most 1 s, then the log names
 * it, and its thread ends when it returns.
 *
 * For tests: in memory (test.h) there are no threads. The request for /readyz runs what is due by
 * the clock of the asks.
 */
WEIR_API void weir_health_check(struct weir_health *health, const char *name, weir_check_fn *fn,
                                void *arg, const struct weir_check_options *options);

#ifdef __cplusplus
}
#endif

#endif
