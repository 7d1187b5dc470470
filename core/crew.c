/*
 * crew.c - the threads that run what blocks.
 *
 * The queue is a list under one lock: whoever blocks for milliseconds does not mind it. `quit` ends
 * a thread when it has nothing to do.
 */
#include "crew.h"
#include "job.h"
#include "local.h"
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>

struct hand {
        struct weir__crew *crew;
        pthread_t          thread;
        unsigned           number;
        void              *local[WEIR__MAX_LOCALS + 1]; /* from 1 */
};

struct weir__crew {
        struct weir__app   *app;
        pthread_mutex_t     lock;   /* guards all below */
        pthread_cond_t      cond;   /* there is a job, or it is over */
        pthread_cond_t      began;  /* one more hand is ready        */
        struct weir__cell  *first, *last;
        unsigned            n_queued;
        unsigned            n_ready, n_failed;
        bool                quit;
        unsigned            n_hands;
        struct hand         hand[];
};

/* The next job; NULL: it is over. */
static struct weir__cell *next_job(struct weir__crew *crew)
{
        struct weir__cell *job;

        while (!crew->first && !crew->quit)
                pthread_cond_wait(&crew->cond, &crew->lock);
        job = crew->first;
        if (!job)
                return NULL;
        crew->first = job->work.next;
        if (!crew->first)
                crew->last = NULL;
        crew->n_queued--;
        return job;
}

static void work(struct hand *hand)
{
        struct weir__crew *crew = hand->crew;
        struct weir__cell *job;

        pthread_mutex_lock(&crew->lock);
        while ((job = next_job(crew))) {
                pthread_mutex_unlock(&crew->lock);
                weir__job_work(job, hand->local);
                pthread_mutex_lock(&crew->lock);
        }
        pthread_mutex_unlock(&crew->lock);
}

static void *run(void *arg)
{
        struct hand *hand = arg;
        struct weir__crew *crew = hand->crew;
        char who[32];
        bool open;

        weir__set_own_thread();
        snprintf(who, sizeof(who), " of worker %u", hand->number);
        open = weir__locals_open(crew->app, who, hand->local);
        pthread_mutex_lock(&crew->lock);
        *(open ? &crew->n_ready : &crew->n_failed) += 1;
        pthread_cond_signal(&crew->began);
        pthread_mutex_unlock(&crew->lock);
        if (!open)
                return NULL;
        work(hand);
        weir__locals_close(crew->app, hand->local);
        return NULL;
}

/* One after the other, as loops do. */
static bool start_hand(struct weir__crew *crew)
{
        struct hand *hand = &crew->hand[crew->n_hands];
        bool ok;

        hand->crew = crew;
        hand->number = crew->n_hands;
        if (weir__thread_create(&hand->thread, run, hand) != 0) {
                weir__error(crew->app, "no thread left for worker %u", hand->number);
                return false;
        }
        pthread_mutex_lock(&crew->lock);
        crew->n_hands++;
        while (crew->n_ready + crew->n_failed < crew->n_hands)
                pthread_cond_wait(&crew->began, &crew->lock);
        ok = !crew->n_failed;
        pthread_mutex_unlock(&crew->lock);
        return ok;
}

struct weir__crew *weir__crew_start(struct weir__app *app)
{
        unsigned n = app->options.workers;
        struct weir__crew *crew = calloc(1, sizeof(*crew) + n * sizeof(crew->hand[0]));

        if (!crew)
                return NULL;
        crew->app = app;
        pthread_mutex_init(&crew->lock, NULL);
        pthread_cond_init(&crew->cond, NULL);
        pthread_cond_init(&crew->began, NULL);
        while (crew->n_hands < n) {
                if (!start_hand(crew)) {
                        weir__crew_stop(crew);
                        return NULL;
                }
        }
        return crew;
}

bool weir__crew_take(struct weir__crew *crew, struct weir__cell *job)
{
        bool room;

        pthread_mutex_lock(&crew->lock);
        room = crew->n_queued < crew->app->options.worker_queue;
        if (room) {
                job->work.next = NULL;
                *(crew->last ? &crew->last->work.next : &crew->first) = job;
                crew->last = job;
                crew->n_queued++;
                pthread_cond_signal(&crew->cond);
        }
        pthread_mutex_unlock(&crew->lock);
        return room;
}

void weir__crew_stop(struct weir__crew *crew)
{
        if (!crew)
                return;
        pthread_mutex_lock(&crew->lock);
        crew->quit = true;
        pthread_cond_broadcast(&crew->cond);
        pthread_mutex_unlock(&crew->lock);
        for (unsigned i = 0; i < crew->n_hands; i++)
                pthread_join(crew->hand[i].thread, NULL);
        pthread_cond_destroy(&crew->began);
        pthread_cond_destroy(&crew->cond);
        pthread_mutex_destroy(&crew->lock);
        free(crew);
}
