/*
 * app.h - the application as it is being set up: a tree of scopes under one root.
 *
 * Owned by the thread that sets up; constant from weir_start() on, but for `error`, the state of
 * the server, and the counters.
 */
#ifndef WEIR_CORE_APP_H
#define WEIR_CORE_APP_H

#include "buffer.h"
#include "clock.h"
#include "plan.h"
#include <pthread.h>
#include <stdatomic.h>
#include <weir/app.h>

#define WEIR__MAX_METHODS (WEIR_CUSTOM + 16)
#define WEIR__MAX_LOCALS  16

/* One weir_use(). `self` is a copy that this owns. */
struct weir__use {
        struct weir__use             *next; /* of its scope */
        const struct weir_middleware *mw;
        void                         *self;
};

/* One weir_route(). */
struct weir__route {
        struct weir__route       *next;
        struct weir              *scope;
        int                       method;
        char                     *pattern; /* in full, prefix included */
        weir_request_fn          *fn;
        void                     *self;
        struct weir_route_options options;
};

/* A scope. The root has number 0. */
struct weir {
        struct weir              *next; /* of all scopes, in order of their numbers */
        struct weir              *parent;
        struct weir__app         *app;
        uint32_t                  number;
        struct weir__use         *uses, **last_use;
        char                     *prefix; /* in full: the parents' and its own; "" for the root */
        char                     *host;   /* own or inherited; NULL: none                       */
        struct weir_scope_options options;
};

struct weir__networks;

#define WEIR__BACKLOG 65535 /* by default: what the kernel allows is less */

struct weir__listen {
        struct weir__listen       *next;
        char                      *address;
        struct weir_listen_options options; /* as checked, without trusted_proxies */
        struct weir__networks     *trusted; /* those, or NULL                      */
        uint16_t                   port;    /* once bound                          */
};

struct weir__local_def {
        struct weir_local_type type;
        void                  *arg;
};

/* A fixed answer; loops keep a response for each by its number. */
struct weir_static {
        struct weir_static *next;
        uint32_t            number;
        int                 status;
        struct weir_str     type, body;
};

/* Fixed answers of weir's own, by number. */
enum {
        WEIR__STATIC_404,
        WEIR__STATIC_GUARD_400,
        WEIR__STATIC_GUARD_431,
        WEIR__STATIC_GUARD_501,
        WEIR__STATIC_GUARD_505,
        WEIR__STATIC_500,
        WEIR__STATIC_503,
        WEIR__STATICS,
};

/* Counters: the fields of struct weir_stats, as an array. */
#define WEIR__N_STATS (offsetof(struct weir_stats, reserved) / sizeof(uint64_t))

struct weir__counters {
        _Atomic uint64_t at[WEIR__N_STATS];
};

struct weir__server;
struct weir__asker;

/* What the scopes of one app share. */
struct weir__app {
        struct weir             root;
        struct weir            *last_scope;
        struct weir_options     options;
        char                   *name;
        struct weir__clock      clock;
        struct weir__route     *routes, **last_route;
        struct weir__listen    *listens, **last_listen;
        struct weir__networks  *trusted; /* of trusted_proxies, or NULL */
        struct weir_static     *statics, **last_static;
        const struct weir_static *fixed[WEIR__STATICS];
        char                   *slots[WEIR_MAX_SLOTS];
        char                   *methods[WEIR__MAX_METHODS];
        struct weir__local_def  locals[WEIR__MAX_LOCALS];
        uint32_t                n_scopes, n_routes, n_uses, n_statics, n_locals;
        bool                    frozen;  /* setup is over                                  */
        bool                    notifies; /* weir_run() serves it: notify.h                */
        bool                    starting, error_of_start; /* is `error` one of weir_start()?  */
        char                   *error;   /* the first one                                  */
        struct weir__tree      *tree;
        struct weir__asker     *asker;
        pthread_mutex_t         lock;    /* guards server, past, and the error once running */
        struct weir__server    *server;
        _Atomic int             state;   /* enum weir_state: one thread at a time stores it */
        const char             *machine_root; /* before paths in /proc and /sys; "" but in tests */
        bool                    machine_told; /* what was found there: once                 */
        struct weir__counters   past;    /* of loops that have ended                        */

        /* For requests that another thread has claimed: wait.h. Any thread. */
        struct weir__pool       heap;      /* keeps nothing, so it needs no lock             */
        struct weir__counters   elsewhere; /* added to                                      */
        atomic_uint             claims;    /* requests that are claimed                     */
        atomic_uint             waking;    /* threads that touch a loop which is not theirs  */
        struct weir__crew      *crew;      /* while a server runs                            */
        struct weir__cell      *retired;   /* cells of ended loops: tickets may name them; lock */
};

/* Records a sticky error unless there is one. */
void weir__error(struct weir__app *app, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* May the app still be set up? Says so when not; `call` is what is being called. */
bool weir__is_open(struct weir *scope, const char *call);

/* `memory`, after recording an error when it is NULL. */
void *weir__keep(struct weir *scope, void *memory);

/* Both texts in one, or NULL. */
char *weir__concat(const char *a, const char *b);

/* Drops an error of an earlier start; one of the setup stays. */
void weir__forget_start_error(struct weir__app *app);

/* Records why a start failed, in place of an error of an earlier one. */
void weir__start_error(struct weir__app *app, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* Compiles the tree once. 0, or -1 with a sticky error. */
int weir__freeze(struct weir__app *app);

/* The number of a method token: enum weir_method, or WEIR_UNKNOWN_METHOD. */
int weir__method_number(const struct weir__app *app, struct weir_str token);

/* The method's token; "*" for WEIR_ANY. */
const char *weir__method_token(const struct weir__app *app, int method);

/* Frees the cells that outlived their loops: ctx.c. */
void weir__cells_free(struct weir__app *app);

/* Adds all counters of `from` to `to`. */
void weir__counters_add(struct weir__counters *to, const struct weir__counters *from);

#define WEIR__STAT(field) (offsetof(struct weir_stats, field) / sizeof(uint64_t))

/* Counts one; only the thread that owns `counters` writes, so a load and a store are enough. */
static inline void weir__count_by(struct weir__counters *counters, size_t stat, uint64_t by)
{
        atomic_store_explicit(&counters->at[stat],
                              atomic_load_explicit(&counters->at[stat], memory_order_relaxed) + by,
                              memory_order_relaxed);
}

/* The same for counters of several threads. */
static inline void weir__count_shared(struct weir__counters *counters, size_t stat)
{
        atomic_fetch_add_explicit(&counters->at[stat], 1, memory_order_relaxed);
}

#define WEIR__COUNT(loop, field) weir__count_by(&(loop)->counters, WEIR__STAT(field), 1)

#endif
