/*
 * http_job.c - hooks that block, over sockets: each is held at a gate, so that the test says when
 * what happens.
 */
#include "http.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: Example.org\r\n\r\n"

static struct weir *app;
static sem_t entered, gate;
static atomic_int ran, deferred, done_status, done_own;

static void count(void *counter)
{
        atomic_fetch_add((atomic_int *)counter, 1);
}

static enum weir_flow pass_gate(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_defer(ctx, count, &deferred);
        sem_post(&entered);
        sem_wait(&gate);
        atomic_fetch_add(&ran, 1);
        return weir_textf(ctx, 200, "%.*s %.*s %.*s %.*s %.*s", WEIR_FMT(weir_param(ctx, "id")),
                          WEIR_FMT(ctx->host), WEIR_FMT(weir_header(ctx, "X-Long")),
                          WEIR_FMT(ctx->body), WEIR_FMT(ctx->client));
}

static enum weir_flow set_own(struct weir_ctx *ctx, void *self)
{
        (void)self;
        *weir_own(ctx) = 7;
        weir_set_header(ctx, "X-Before", "yes");
        return WEIR_NEXT;
}

static void look_back(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_store(&done_status, ctx->status);
        atomic_store(&done_own, (int)*weir_own(ctx));
}

static _Atomic uint64_t deadline_ns = 1000000;

static enum weir_flow soon(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_deadline(ctx, weir_now(ctx) + deadline_ns);
        return WEIR_NEXT;
}

static enum weir_flow check_key(struct weir_ctx *ctx, void *self)
{
        (void)self;
        if (!weir_str_is(weir_header(ctx, "X-Key"), "good"))
                return weir_fail(ctx, 401, NULL);
        *weir_own(ctx) = 9;
        return WEIR_NEXT;
}

static const struct weir_middleware own_mw = { .name = "own",
                                               .on_request = set_own,
                                               .on_done = look_back };
static const struct weir_middleware soon_mw = { .name = "soon",
                                                .phase = WEIR_DEADLINE,
                                                .on_request = soon };
static const struct weir_middleware key_mw = { .name = "key",
                                               .phase = WEIR_AUTH,
                                               .blocking = true,
                                               .on_request = check_key,
                                               .on_done = look_back };

/* ---- Clients. ---- */

static char *client_take_body(struct client *client)
{
        struct answer answer = client_read(client, 200);

        return strndup(answer.body.ptr, answer.body.len);
}

/* ---- A value per thread. ---- */

static atomic_int opened, closed;

static void *open_value(void *arg, const char **why)
{
        (void)arg, (void)why;
        atomic_fetch_add(&opened, 1);
        return malloc(1);
}

static void close_value(void *value, void *arg)
{
        (void)arg;
        free(value);
        atomic_fetch_add(&closed, 1);
}

static struct weir_local local;

static enum weir_flow give_value(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%p", weir_local_get(ctx, local));
}

/* ---- The app: one loop, one worker, a queue for one. ---- */

static const struct weir_route_options blocking = { .blocking = true };

static void start_app(void)
{
        static const struct weir_local_type type = { .name = "value",
                                                     .open = open_value,
                                                     .close = close_value };
        struct weir *hasty;

        sem_init(&entered, 0, 0);
        sem_init(&gate, 0, 0);
        app = weir_new(&(struct weir_options){ .loops = 1,
                                               .workers = 1,
                                               .worker_queue = 1,
                                               .worker_queue_ms = WEIR_INF,
                                               .log = drop_log });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &own_mw, NULL);
        local = weir_local(app, &type, NULL);
        weir_route(app, WEIR_GET, "/held/{id}", pass_gate, NULL, &blocking);
        weir_route(app, WEIR_POST, "/held/{id}", pass_gate, NULL, &blocking);
        weir_route(app, WEIR_GET, "/worker", give_value, NULL, &blocking);
        weir_get(app, "/loop", give_value, NULL);
        hasty = weir_group(app, "/hasty", NULL);
        weir_use(hasty, &soon_mw, NULL);
        weir_route(hasty, WEIR_GET, "/{id}", pass_gate, NULL, &blocking);
        weir_use(weir_group(app, "/key", NULL), &key_mw, NULL);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
        cr_assert_eq(opened, closed);
        sem_destroy(&entered);
        sem_destroy(&gate);
}

TestSuite(http_job, .init = start_app, .fini = stop_app);

/* ---- What a worker gets and gives. ---- */

Test(http_job, a_worker_answers_and_the_connection_is_kept)
{
        struct client client = client_to(app);

        sem_post(&gate);
        sem_post(&gate);
        client_send(&client, GET("/held/a%20b"));
        client_expect(&client, 200, "a b example.org   127.0.0.1");
        client_send(&client, GET("/held/2"));
        client_expect(&client, 200, "2 example.org   127.0.0.1");
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(done_status, 200);
        cr_assert_eq(done_own, 7);
        cr_assert_eq(deferred, 2);
        cr_assert_eq(stats_of(app).jobs, 2);
}

Test(http_job, a_worker_reads_the_body_and_the_fields_after_the_loop_went_on)
{
        struct client client = client_to(app);
        char request[4096], value[2001], wanted[2100];

        memset(value, 'v', 2000);
        value[2000] = '\0';
        snprintf(request, sizeof(request),
                 "POST /held/1 HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\nContent-Length: 4\r\n\r\nbody",
                 value);
        snprintf(wanted, sizeof(wanted), "1 x %s body 127.0.0.1", value);
        client_send(&client, request);
        sem_wait(&entered);
        sem_post(&gate);
        client_expect(&client, 200, wanted);
        client_close(&client);
}

Test(http_job, a_request_behind_one_that_blocks_is_answered_after_it)
{
        struct client client = client_to(app);

        client_send(&client, GET("/held/1") GET("/loop"));
        sem_wait(&entered);
        sem_post(&gate);
        client_expect(&client, 200, "1 example.org   127.0.0.1");
        client_read(&client, 200);
        client_close(&client);
}

Test(http_job, others_are_served_while_all_workers_block)
{
        struct client slow = client_to(app), fast = client_to(app);

        client_send(&slow, GET("/held/1"));
        sem_wait(&entered);
        client_send(&fast, GET("/loop"));
        client_read(&fast, 200);
        sem_post(&gate);
        client_read(&slow, 200);
        client_close(&slow);
        client_close(&fast);
}

Test(http_job, each_worker_has_a_value_of_its_own)
{
        struct client client = client_to(app);
        char *of_loop, *of_worker;

        cr_assert_eq(opened, 2);
        client_send(&client, GET("/loop"));
        of_loop = client_take_body(&client);
        client_send(&client, GET("/worker"));
        of_worker = client_take_body(&client);
        cr_assert_str_neq(of_loop, of_worker);
        free(of_loop);
        free(of_worker);
        client_close(&client);
}

Test(http_job, middleware_that_blocks_passes_on_or_answers)
{
        struct client client = client_to(app);

        client_send(&client, GET("/key/none"));
        client_read(&client, 401);
        client_send(&client, "GET /key/none HTTP/1.1\r\nHost: x\r\nX-Key: good\r\n\r\n");
        client_read(&client, 404);
        client_close(&client);
}

/* ---- Limits. ---- */

Test(http_job, what_does_not_fit_the_queue_is_refused_at_once)
{
        struct client running = client_to(app), queued = client_to(app), more = client_to(app);

        client_send(&running, GET("/held/1"));
        sem_wait(&entered);
        client_send(&queued, GET("/held/2"));
        while (stats_of(app).jobs < 2)
                sched_yield();
        client_send(&more, GET("/held/3"));
        client_read(&more, 503);
        cr_assert_eq(stats_of(app).jobs_refused, 1);
        sem_post(&gate);
        sem_post(&gate);
        client_read(&running, 200);
        client_read(&queued, 200);
        client_send(&more, GET("/loop")); /* its connection was kept */
        client_read(&more, 200);
        client_close(&running);
        client_close(&queued);
        client_close(&more);
}

Test(http_job, the_deadline_is_answered_while_the_handler_still_runs)
{
        struct client client = client_to(app);

        do { /* until the worker was there before the deadline */
                client_send(&client, GET("/hasty/1"));
                client_read(&client, 504);
                deadline_ns *= 2;
        } while (sem_trywait(&entered) != 0);
        wait_idle(app);
        cr_assert_eq(ran, 0);
        cr_assert_eq(deferred, 0, "what was deferred waits for the handler");
        cr_assert_eq(done_status, 504);
        cr_assert_eq(done_own, 7);
        client_send(&client, GET("/loop"));
        client_read(&client, 200);
        sem_post(&gate);
        sem_post(&gate); /* perhaps there was another, just in time */
        while (stats_of(app).jobs_discarded < stats_of(app).jobs)
                sched_yield();
        cr_assert_geq(ran, 1);
        cr_assert_eq(deferred, ran);
        client_close(&client);
}

Test(http_job, what_is_queued_past_its_deadline_never_runs)
{
        struct client running = client_to(app), queued = client_to(app);

        client_send(&running, GET("/held/1"));
        sem_wait(&entered);
        client_send(&queued, GET("/hasty/2"));
        client_read(&queued, 504);
        sem_post(&gate);
        client_read(&running, 200);
        while (stats_of(app).jobs_discarded < 1)
                sched_yield();
        cr_assert_eq(ran, 1);
        client_close(&running);
        client_close(&queued);
}

Test(http_job, a_client_that_leaves_does_not_wait_for_the_handler)
{
        struct client client = client_to(app);

        client_send(&client, GET("/held/1"));
        sem_wait(&entered);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(done_status, 499);
        cr_assert_eq(ran, 0);
        sem_post(&gate);
        while (stats_of(app).jobs_discarded < 1)
                sched_yield();
        cr_assert_eq(deferred, 1);
}

/* ---- The end. ---- */

static void *stop_it(void *arg)
{
        (void)arg;
        cr_assert_eq(weir_stop(app), 0);
        return NULL;
}

Test(http_job, a_stop_waits_for_the_handler)
{
        struct client client = client_to(app);
        pthread_t thread;
        int fd;

        client_send(&client, GET("/held/1"));
        sem_wait(&entered);
        pthread_create(&thread, NULL, stop_it, NULL);
        while ((fd = net_connect(weir_port(app, 0))) >= 0) /* until nobody listens */
                close(fd);
        sem_post(&gate);
        client_read(&client, 200);
        pthread_join(thread, NULL);
        client_close(&client);
}
