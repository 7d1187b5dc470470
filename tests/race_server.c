/*
 * race_server.c - loops, clients, readers of counters and stops, all at once, for ThreadSanitizer.
 *
 * Rounds of a server with several loops: client threads connect, ask, pipeline, send bodies, and
 * leave at random points, while others read counters and stop the server in the middle. At the end
 * of each round every request that was entered must have left, and every gauge must be zero.
 * WEIR_SOAK=1 runs 50 times as many rounds.
 */
#include "net.h"
#include <weir/weir.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CLIENTS 6
#define ROUNDS  6

static atomic_int entered, left, deferred;

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
                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                "GET /echo/half HTTP/1.1\r\nHo",
        };
        const char *request = requests[rand_r(&client->seed) % 8];
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

static struct weir *make_app(void)
{
        static const struct weir_middleware mw = { .name = "count",
                                                   .on_request = enter,
                                                   .on_done = leave };
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 3, .log = drop_log, .drain_timeout_ms = 100 });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &mw, NULL);
        weir_any(app, "/echo/{name}", echo, NULL);
        weir_route(app, WEIR_POST, "/small", echo, NULL,
                   &(struct weir_route_options){ .max_body = 10 });
        weir_get(app, "/stop", stop, NULL);
        return app;
}

/* Serves until enough requests are through, then stops by a request or by a call. */
static void run_round(unsigned seed)
{
        struct round round = { .app = make_app() };
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
