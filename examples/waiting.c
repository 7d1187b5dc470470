/*
 * waiting.c - slow answers that hold up nobody: waiting [ADDRESS]
 *
 * GET /later answers after a second, by the clock alone. GET /work is answered by a thread of the
 * app's own, which takes one request after the other from a queue. A full queue is 503.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <weir/weir.h>

#define SECOND_NS 1000000000ull
#define QUEUE_MAX 16

struct queue {
        pthread_mutex_t    lock;
        pthread_cond_t     cond;
        struct weir_ticket ticket[QUEUE_MAX];
        unsigned           first, n;
        bool               over;
};

/* ---- By the clock. ---- */

static enum weir_flow later(struct weir_ctx *ctx, void *self)
{
        uint64_t *until_ns = weir_own(ctx); /* 0 in the first call */

        (void)self;
        if (*until_ns)
                return weir_text(ctx, 200, "a second later\n");
        *until_ns = weir_now(ctx) + SECOND_NS;
        return weir_wait_until(ctx, *until_ns);
}

/* ---- By a worker. ---- */

static enum weir_flow work(struct weir_ctx *ctx, void *self)
{
        struct queue *queue = self;
        bool full;

        weir_deadline(ctx, weir_now(ctx) + 5 * SECOND_NS);
        pthread_mutex_lock(&queue->lock);
        full = queue->n == QUEUE_MAX;
        if (!full) {
                queue->ticket[(queue->first + queue->n++) % QUEUE_MAX] = weir_suspend(ctx);
                pthread_cond_signal(&queue->cond);
        }
        pthread_mutex_unlock(&queue->lock);
        if (!full)
                return WEIR_WAIT; /* ctx may be in other hands already */
        weir_set_header(ctx, "Retry-After", "1");
        return weir_refuse(ctx, 503, "%d requests are queued", QUEUE_MAX);
}

/* Turns a word around, and takes its time. */
static enum weir_flow compute(struct weir_ctx *ctx)
{
        static const struct timespec time = { .tv_nsec = 100000000 };
        struct weir_str word = weir_param(ctx, "word");
        char *turned = weir_cstr(ctx, word);

        nanosleep(&time, NULL);
        if (!turned)
                return weir_fail(ctx, 500, NULL);
        for (size_t i = 0; i < word.len; i++)
                turned[i] = word.ptr[word.len - 1 - i];
        return weir_textf(ctx, 200, "%s\n", turned);
}

static bool next_ticket(struct queue *queue, struct weir_ticket *ticket)
{
        bool over;

        pthread_mutex_lock(&queue->lock);
        while (!queue->n && !queue->over)
                pthread_cond_wait(&queue->cond, &queue->lock);
        over = queue->over;
        if (!over) {
                *ticket = queue->ticket[queue->first];
                queue->first = (queue->first + 1) % QUEUE_MAX;
                queue->n--;
        }
        pthread_mutex_unlock(&queue->lock);
        return !over;
}

static void *run_worker(void *arg)
{
        struct weir_ticket ticket;

        while (next_ticket(arg, &ticket)) {
                struct weir_ctx *ctx = weir_claim(ticket);

                if (ctx) /* else its client has left, or it was too late */
                        weir_resume(ctx, compute(ctx));
        }
        return NULL;
}

/* With all signals blocked: weir_run() reads those that stop the server. */
static bool start_worker(struct queue *queue, pthread_t *worker)
{
        sigset_t all, before;
        int error;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(worker, NULL, run_worker, queue);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return error == 0;
}

static void end_worker(struct queue *queue, pthread_t worker)
{
        pthread_mutex_lock(&queue->lock);
        queue->over = true;
        pthread_cond_signal(&queue->cond);
        pthread_mutex_unlock(&queue->lock);
        pthread_join(worker, NULL);
}

/* ---- The app. ---- */

int main(int argc, char **argv)
{
        static const struct weir_route_options waits = { .waits = true };
        static struct queue queue = {
                PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { { 0 } }, 0, 0, false
        };
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });
        pthread_t worker;
        int result;

        weir_listen(app, argc > 1 ? argv[1] : "127.0.0.1:8080", NULL);
        weir_route(app, WEIR_GET, "/later", later, NULL, &waits);
        weir_route(app, WEIR_GET, "/work/{word}", work, &queue, &waits);
        if (!start_worker(&queue, &worker))
                return 1;
        result = weir_run(app);
        if (result < 0)
                fprintf(stderr, "waiting: %s\n", weir_error(app));
        end_worker(&queue, worker); /* before the app goes: it may still hold a ticket */
        weir_free(app);
        return result < 0;
}
