/*
 * race_sse.c - server-sent events: threads that tell all, clients that leave, handles that are
 * closed and released, and stops, for ThreadSanitizer.
 *
 * The room is kept as an app would: handles in a list under a lock, which on_close() takes. Each
 * handle that was opened must be told its end once, and nothing be left.
 *
 * WEIR_SOAK=1 makes ten times as many.
 */
#include "race_kit.h"

#include <weir/sse.h>

#define SPEAKERS 2
#define MEMBERS  64

/* ---- The room. ---- */

static pthread_mutex_t  lock = PTHREAD_MUTEX_INITIALIZER;
static struct weir_sse *member[MEMBERS];
static unsigned         n_members;
static atomic_long      opened, closed, sent;
static atomic_bool      speakers_over;

static bool take_out(struct weir_sse *sse)
{
        bool found = false;

        for (unsigned i = 0; i < n_members && !found; i++) {
                found = member[i] == sse;
                if (found)
                        member[i] = member[--n_members];
        }
        return found;
}

/* Whoever takes a handle off the list releases it. */
static void go_out(void *arg, struct weir_sse *sse)
{
        bool found;

        (void)arg;
        pthread_mutex_lock(&lock);
        found = take_out(sse);
        pthread_mutex_unlock(&lock);
        if (found)
                weir_sse_release(sse);
        atomic_fetch_add(&closed, 1);
}

static enum weir_flow come_in(struct weir_ctx *ctx, void *self)
{
        struct weir_sse_options options = { .on_close = go_out, .buffer = 1000 };
        struct weir_sse *sse;

        (void)self;
        options.heartbeat_ms = below(2) ? 1 : WEIR_NONE;
        options.close_when_full = below(2);
        pthread_mutex_lock(&lock);
        sse = n_members < MEMBERS ? weir_sse_open(ctx, &options) : NULL;
        if (sse)
                member[n_members++] = sse;
        pthread_mutex_unlock(&lock);
        if (!sse)
                return weir_fail(ctx, 503, "the room is full");
        atomic_fetch_add(&opened, 1);
        return WEIR_DONE;
}

static void speak(void)
{
        static const struct weir_event event = { .event = { "e", 1 }, .data = { "a\nb", 3 } };
        struct weir_sse *sse = NULL;

        pthread_mutex_lock(&lock);
        for (unsigned i = 0; i < n_members; i++)
                atomic_fetch_add(&sent, weir_sse_send(member[i], &event));
        if (n_members && below(16) == 0)
                weir_sse_close(member[below(n_members)]);
        if (n_members && below(16) == 0)
                sse = member[below(n_members)];
        if (sse)
                take_out(sse);
        pthread_mutex_unlock(&lock);
        weir_sse_comment(sse, WEIR_STR("bye"));
        weir_sse_release(sse);
}

static void *run_speaker(void *number)
{
        seed = 1000 + *(unsigned *)number;
        while (!atomic_load(&speakers_over)) {
                speak();
                sched_yield();
        }
        return NULL;
}

/* ---- Clients. ---- */

static bool visit(uint16_t port)
{
        static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        struct linger none = { .l_onoff = 1 };
        int fd = net_connect(port);
        char buf[4096];

        if (fd < 0)
                return false;
        net_send(fd, request, sizeof(request) - 1);
        if (below(4))
                net_read_all(fd, buf, 1 + below(sizeof(buf)));
        if (below(4) == 0)
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        close(fd);
        return true;
}

static struct weir *make_app(void)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 2, .log = drop_log, .drain_timeout_ms = 20 });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_route(app, WEIR_GET, "/", come_in, NULL,
                   &(struct weir_route_options){ .waits = true });
        return app;
}

static void expect_nothing_left(struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        check(stats.requests_in_flight == 0, "requests are in flight");
        check(stats.connections_open == 0, "connections are open");
        check(stats.streams_open == 0, "streams are open");
        check(n_members == 0, "somebody is still in the room");
        check(atomic_load(&opened) == atomic_load(&closed), "not every end was told once");
}

static unsigned long race_round(unsigned number, unsigned long visits)
{
        struct weir *app = make_app();
        pthread_t speakers[SPEAKERS];
        unsigned numbers[SPEAKERS];

        atomic_store(&speakers_over, false);
        for (unsigned i = 0; i < SPEAKERS; i++) {
                numbers[i] = number * 100 + i;
                pthread_create(&speakers[i], NULL, run_speaker, &numbers[i]);
        }
        visits = race_clients(app, number, visits, visit);
        atomic_store(&speakers_over, true);
        for (int i = 0; i < SPEAKERS; i++)
                pthread_join(speakers[i], NULL);
        expect_nothing_left(app);
        weir_free(app);
        return visits;
}

int main(void)
{
        unsigned long visits = 0, wanted = getenv("WEIR_SOAK") ? 20000 : 2000;

        for (unsigned i = 1; visits < wanted; i++)
                visits += race_round(i, 100 + i % 7 * 100);
        printf("race_sse: %ld streams, %ld events\n", atomic_load(&opened), atomic_load(&sent));
        check(atomic_load(&sent), "nothing was sent");
        return 0;
}
