/*
 * race_kit.h - what the races share: checks, chance, tickets on a board, rounds of clients.
 *
 * For a program of one file with a main() of its own.
 */
#ifndef WEIR_TESTS_RACE_KIT_H
#define WEIR_TESTS_RACE_KIT_H

#include "net.h"
#include <weir/test.h>
#include <weir/weir.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CLAIMERS 2
#define CLIENTS  4
#define SLOTS    8
#define MS       1000000ull

static inline void check(bool ok, const char *what)
{
        if (ok)
                return;
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
        exit(1);
}

/* Of one thread. */
static _Thread_local unsigned seed = 1;

static inline unsigned below(unsigned n)
{
        return (unsigned)rand_r(&seed) % n;
}

static inline void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

/* ---- Tickets: a board that any thread writes to and reads from. ---- */

/* The halves of two tickets make one that is out of date, or as good as another. */
static struct slot {
        void *_Atomic    request;
        _Atomic uint64_t turn;
} board[SLOTS];

static atomic_uint next_slot;
static atomic_bool claimers_over;

static inline void pin_up(struct weir_ticket ticket)
{
        struct slot *slot = &board[atomic_fetch_add(&next_slot, 1) % SLOTS];

        atomic_store_explicit(&slot->turn, ticket.turn, memory_order_relaxed);
        atomic_store_explicit(&slot->request, ticket.request, memory_order_release);
}

/* Claims one of the board; NULL: somebody was first, or there is none. */
static inline struct weir_ctx *claim_any(void)
{
        const struct slot *slot = &board[below(SLOTS)];
        void *request = atomic_load_explicit(&slot->request, memory_order_acquire);

        return weir_claim((struct weir_ticket){
                request, atomic_load_explicit(&slot->turn, memory_order_relaxed) });
}

/* What a claimer does with a request: the flow that it is resumed with. */
typedef enum weir_flow answer_fn(struct weir_ctx *ctx);

static pthread_t claimers[CLAIMERS];

struct claimer {
        unsigned   number;
        answer_fn *answer;
};
static struct claimer claimer_args[CLAIMERS];

static inline void *claim_all(void *arg)
{
        const struct claimer *claimer = arg;

        seed = 1000 + claimer->number;
        while (!atomic_load_explicit(&claimers_over, memory_order_relaxed)) {
                struct weir_ctx *ctx = claim_any();

                if (ctx)
                        weir_resume(ctx, claimer->answer(ctx));
                else
                        sched_yield();
        }
        return NULL;
}

static inline void start_claimers(answer_fn *answer)
{
        atomic_store(&claimers_over, false);
        for (unsigned i = 0; i < CLAIMERS; i++) {
                claimer_args[i] = (struct claimer){ i, answer };
                pthread_create(&claimers[i], NULL, claim_all, &claimer_args[i]);
        }
}

/* Before the app goes: a ticket that is out of date is harmless only as long as it lives. */
static inline void end_claimers(void)
{
        atomic_store(&claimers_over, true);
        for (int i = 0; i < CLAIMERS; i++)
                pthread_join(claimers[i], NULL);
        for (int i = 0; i < SLOTS; i++)
                atomic_store(&board[i].request, NULL);
}

/* ---- Rounds: clients visit until enough have; then the server stops in the middle. ---- */

struct round {
        uint16_t     port;
        unsigned     number;
        bool       (*visit)(uint16_t port); /* false: there was none */
        atomic_uint  clients; /* numbers given out */
        atomic_ulong visits;
        atomic_bool  over;
};

static inline void *run_client(void *arg)
{
        struct round *round = arg;

        seed = round->number * 100 + atomic_fetch_add(&round->clients, 1);
        while (!atomic_load(&round->over))
                atomic_fetch_add(&round->visits, round->visit(round->port));
        return NULL;
}

/* How many visits there were; the app is stopped. */
static inline unsigned long race_clients(struct weir *app, unsigned number, unsigned long visits,
                                         bool (*visit)(uint16_t port))
{
        struct round round = { .number = number, .visit = visit };
        pthread_t threads[CLIENTS];

        check(weir_start(app) == 0, "cannot start");
        round.port = weir_port(app, 0);
        for (int i = 0; i < CLIENTS; i++)
                pthread_create(&threads[i], NULL, run_client, &round);
        while (atomic_load(&round.visits) < visits)
                sched_yield();
        check(weir_stop(app) == 0, "a claim is lost");
        atomic_store(&round.over, true);
        for (int i = 0; i < CLIENTS; i++)
                pthread_join(threads[i], NULL);
        return atomic_load(&round.visits);
}

#endif
