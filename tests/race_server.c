/*
 * race_server.c - loops, clients, readers of counters and stops, all at once, for ThreadSanitizer.
 *
 * Rounds of a server with several loops and workers: client threads connect, ask, pipeline, send
 * bodies, and leave at random points, also while their requests are with a worker or run into their
 * deadline; others read counters and stop the server in the middle. At the end
 * of each round every request that was entered must have left, and every gauge must be zero.
 * WEIR_SOAK=1 runs 50 times as many rounds.
 */
#include "net.h"
#include <weir/weir.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CLIENTS 6
#define ROUNDS  6

static atomic_int entered, left, deferred;
static struct weir_slot named; /* the same in every round */

struct round {
        struct weir *app;
        uint16_t     port;
        atomic_bool  over;
};

struct client {
        struct round *round;
        unsigned      seed;
};

static void check(bool ok, const char *what)
{
        if (ok)
                return;
        fprintf(stderr, "race_server: %s\n", what);
        exit(1);
}

static enum weir_flow enter(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&entered, 1);
        return WEIR_NEXT;
}

static void leave(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&left, 1);
}

static void undefer(void *arg)
{
        (void)arg;
        atomic_fetch_sub(&deferred, 1);
}

static enum weir_flow echo(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&deferred, 1);
        weir_defer(ctx, undefer, NULL);
        weir_set_header(ctx, "X-Route", ctx->pattern);
        return weir_bytes(ctx, 200, "text/plain", ctx->body.len ? ctx->body : ctx->path);
}

/* On a worker: what it reads must stay, whatever becomes of the request meanwhile. */
static enum weir_flow work(struct weir_ctx *ctx, void *self)
{
        for (int i = 0; i < 20; i++)
                sched_yield();
        check(weir_slot_get(ctx, named) && !strcmp(weir_slot_get(ctx, named), "arena"),
              "what a slot points to has gone");
        return echo(ctx, self);
}

static enum weir_flow name_it(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_slot_set(ctx, named, weir_cstr(ctx, WEIR_STR("arena")));
        return WEIR_NEXT;
}

/* Now and then before the worker is through. */
static enum weir_flow soon(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_deadline(ctx, weir_now(ctx) + 20000);
        return WEIR_NEXT;
}

static enum weir_flow stop(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_stop(weir_app(ctx));
        return weir_text(ctx, 200, "stopping");
}

static void one_visit(struct client *client)
{
        static const char *const requests[] = {
                "GET /echo/a HTTP/1.1\r\nHost: a\r\n\r\n",
                ("GET /echo/%41b?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
                 "GET /echo/b HTTP/1.1\r\nHost: b\r\n\r\n"),
                "POST /echo/c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
                "POST /echo/c HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nhello",
                "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello",
                "GET /nope HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /work/a HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /work/b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
                "GET /hasty/work/c?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                "GET /echo/half HTTP/1.1\r\nHo",
        };
        const char *request = requests[rand_r(&client->seed) % 11];
        int fd = net_connect(client->round->port);
        char buf[4096];

        if (fd < 0)
                return;
        for (int n = rand_r(&client->seed) % 4; n >= 0; n--) {
                if (!net_send(fd, request, strlen(request)))
                        break;
                if (rand_r(&client->seed) % 3 && recv(fd, buf, sizeof(buf), MSG_DONTWAIT) == 0)
                        break;
        }
        if (rand_r(&client->seed) % 2) {
                shutdown(fd, SHUT_WR); /* then the server closes, whatever is still to come */
                net_read_all(fd, buf, sizeof(buf));
        }
        close(fd);
}

static void *run_client(void *arg)
{
        struct client *client = arg;

        while (!atomic_load(&client->round->over))
                one_visit(client);
        return NULL;
}

static void *read_stats(void *arg)
{
        struct round *round = arg;
        struct weir_stats stats;

        while (!atomic_load(&round->over))
                weir_stats(round->app, &stats);
        return NULL;
}

static void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

static struct weir *make_app(unsigned seed)
{
        static const struct weir_middleware mw = { .name = "count",
                                                   .on_request = enter,
                                                   .on_done = leave };
        static const struct weir_middleware hasty = { .name = "hasty", .on_request = soon };
        static const struct weir_middleware naming = { .name = "name",
                                                       .blocking = true,
                                                       .on_request = name_it };
        static const struct weir_route_options blocking = { .blocking = true };
        static const enum weir_over over[] = { WEIR_OVER_503, WEIR_OVER_REFUSE, WEIR_OVER_WAIT };
        struct weir *app = weir_new(&(struct weir_options){ .loops = 3,
                                                            .workers = 3,
                                                            .worker_queue = 4,
                                                            .log = drop_log,
                                                            .max_connections = 4,
                                                            .max_connections_per_client = 3,
                                                            .over_connections = over[seed % 3],
                                                            .drain_timeout_ms = 100 });
        struct weir *below;

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &mw, NULL);
        named = weir_slot(app, "named");
        weir_any(app, "/echo/{name}", echo, NULL);
        below = weir_group(app, "/work", NULL);
        weir_use(below, &naming, NULL);
        weir_route(below, WEIR_ANY, "/{name}", work, NULL, &blocking);
        below = weir_group(app, "/hasty", NULL);
        weir_use(below, &hasty, NULL);
        weir_use(below, &naming, NULL);
        weir_route(below, WEIR_GET, "/work/{name}", work, NULL, &blocking);
        weir_route(app, WEIR_POST, "/small", echo, NULL,
                   &(struct weir_route_options){ .max_body = 10 });
        weir_get(app, "/stop", stop, NULL);
        return app;
}

/* Serves until enough requests are through, then stops by a request or by a call. */
static void run_round(unsigned seed)
{
        struct round round = { .app = make_app(seed) };
        struct client clients[CLIENTS];
        pthread_t threads[CLIENTS], reader;
        struct weir_stats stats;
        char buf[1024];

        check(weir_start(round.app) == 0, "cannot start");
        round.port = weir_port(round.app, 0);
        pthread_create(&reader, NULL, read_stats, &round);
        for (unsigned i = 0; i < CLIENTS; i++) {
                clients[i] = (struct client){ &round, seed * 100 + i };
                pthread_create(&threads[i], NULL, run_client, &clients[i]);
        }
        do
                weir_stats(round.app, &stats);
        while (stats.requests < 300);
        if (seed % 2)
                net_once(round.port, "GET /stop HTTP/1.1\r\nHost: a\r\n\r\n", buf, sizeof(buf));
        weir_stop(round.app);
        atomic_store(&round.over, true);
        for (unsigned i = 0; i < CLIENTS; i++)
                pthread_join(threads[i], NULL);
        pthread_join(reader, NULL);
        weir_stats(round.app, &stats);
        check(stats.requests_in_flight == 0, "requests in flight after the stop");
        check(stats.connections_open == 0, "connections open after the stop");
        check(stats.clients == 0, "clients that are not there any more");
        check(atomic_load(&entered) == atomic_load(&left), "not every entry was paid back");
        check(atomic_load(&deferred) == 0, "not every deferred call ran");
        weir_free(round.app);
}

int main(void)
{
        int rounds = getenv("WEIR_SOAK") ? 50 * ROUNDS : ROUNDS;

        for (int i = 1; i <= rounds; i++)
                run_round((unsigned)i);
        printf("race_server: %d rounds, %d requests\n", rounds, atomic_load(&entered));
        return 0;
}
