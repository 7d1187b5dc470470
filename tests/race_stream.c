/*
 * race_stream.c - streams that wait, against claims, moments, times that are over, clients that
 * leave and stops, for ThreadSanitizer.
 *
 * Threads claim every ticket that they see and add to what the stream has to give, which is
 * nobody else's then. In memory the main thread asks meanwhile, moves time, and leaves; over
 * sockets client threads do, until the server stops. Each stream must be freed once, each request
 * be told its end once, each byte that was added be pulled or dropped, and nothing be left.
 *
 * WEIR_SOAK=1 makes ten times as many.
 */
#include "race_kit.h"

#define AT_ONCE 4

/* ---- The app: streams that wait in every way. ---- */

static atomic_long opened, freed, done, claims, added, pulled, dropped;
static atomic_long outcomes[WEIR_SHUTDOWN + 1];
static struct weir_slot feed_slot;

/* Belongs to who has the request, without a lock. */
struct feed {
        struct weir_ctx *ctx;
        long             bytes; /* to give                  */
        unsigned         left;  /* waits until its end      */
        bool             free;
};

static void suspend(struct feed *feed)
{
        if (below(16) == 0)
                (void)!weir_suspend(feed->ctx).request; /* nobody comes */
        else if (below(4) == 0)
                pin_up(weir_suspend_until(feed->ctx, weir_now(feed->ctx) + below(2) * MS));
        else
                pin_up(weir_suspend(feed->ctx));
}

static ssize_t give(struct feed *feed, char *buf, size_t size)
{
        size_t n = (size_t)feed->bytes < size ? (size_t)feed->bytes : size;

        memset(buf, 'x', n);
        feed->bytes -= (long)n;
        atomic_fetch_add(&pulled, (long)n);
        return (ssize_t)n;
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        struct feed *feed = arg;
        ssize_t n = 0;

        check(!feed->free, "a stream is pulled behind its end");
        if (feed->bytes) {
                n = give(feed, buf, size);
                if (feed->bytes || below(4))
                        return n;
        }
        if (!feed->left || (weir_stopping(feed->ctx) && below(2))) {
                feed->left = 0;
                return n ? n : below(8) ? 0 : -1;
        }
        feed->left--;
        suspend(feed);
        return n ? n : WEIR_PULL_WAIT;
}

static void free_feed(void *arg)
{
        struct feed *feed = arg;

        check(!feed->free, "a stream is freed twice");
        feed->free = true;
        atomic_fetch_add(&dropped, feed->bytes);
        atomic_fetch_add(&freed, 1);
        free(feed);
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        struct feed *feed = calloc(1, sizeof(*feed));

        (void)self;
        *feed = (struct feed){ .ctx = ctx, .left = below(8), .bytes = below(2) * 10 };
        atomic_fetch_add(&opened, 1);
        atomic_fetch_add(&added, feed->bytes);
        weir_slot_set(ctx, feed_slot, feed);
        weir_deadline(ctx, weir_now(ctx) + (below(8) ? 100 : 1 + below(4)) * MS);
        if (below(4) == 0)
                weir_idle_timeout(ctx, (1 + below(10)) * MS);
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, pull, free_feed, feed);
}

static void see_done(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&outcomes[ctx->outcome], 1);
        atomic_fetch_add(&done, 1);
}

/* What a claimer does: gives it more. */
static enum weir_flow feed_it(struct weir_ctx *ctx)
{
        struct feed *feed = weir_slot_get(ctx, feed_slot);
        long more = below(50) ? (long)below(100) : 100000;

        check(weir_str_is(weir_header(ctx, "Host"), "a") && ctx->peer.len,
              "the request is not to be read");
        feed->bytes += more;
        atomic_fetch_add(&added, more);
        atomic_fetch_add(&claims, 1);
        if (below(8) == 0)
                weir_idle_timeout(ctx, 50 * MS);
        return WEIR_NEXT;
}

static struct weir *make_app(unsigned loops)
{
        static const struct weir_middleware seer = { .name = "seer", .on_done = see_done };
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = loops, .log = drop_log, .drain_timeout_ms = 20 });

        weir_listen(app, "127.0.0.1:0", NULL);
        feed_slot = weir_slot(app, "feed");
        weir_use(app, &seer, NULL);
        weir_route(app, WEIR_GET, "/", stream, NULL, &(struct weir_route_options){ .waits = true });
        return app;
}

static void expect_nothing_left(struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        check(stats.requests_in_flight == 0, "requests are in flight");
        check(stats.requests_waiting == 0, "requests wait");
        check(stats.connections_open == 0, "connections are open");
        check(stats.streams_open == 0, "streams are open");
        check(stats.bad_answers == 0, "a stream was misunderstood");
        check(atomic_load(&opened) == atomic_load(&freed), "not every stream was freed once");
        check(atomic_load(&opened) == atomic_load(&done), "not every request ended once");
        check(atomic_load(&added) == atomic_load(&pulled) + atomic_load(&dropped),
              "bytes were lost or made up");
}

/* What was raced, and that it was. */
static void report(const char *where)
{
        printf("race_stream: %ld streams %s: %ld claims, %ld whole, %ld late, %ld left, %ld cut\n",
               atomic_load(&opened), where, atomic_load(&claims), atomic_load(&outcomes[WEIR_OK]),
               atomic_load(&outcomes[WEIR_TIMEOUT]), atomic_load(&outcomes[WEIR_ABORT]),
               atomic_load(&outcomes[WEIR_SHUTDOWN]));
        check(atomic_load(&claims) && atomic_load(&outcomes[WEIR_OK]) &&
                      atomic_load(&outcomes[WEIR_TIMEOUT]) && atomic_load(&outcomes[WEIR_ABORT]),
              "a kind of end never came");
        atomic_store(&opened, 0);
        atomic_store(&freed, 0);
        atomic_store(&done, 0);
        atomic_store(&claims, 0);
        for (int i = 0; i <= WEIR_SHUTDOWN; i++)
                atomic_store(&outcomes[i], 0);
}

/* ---- In memory. ---- */

/* Looks at one that is open; true while it is. */
static bool look(struct weir *app, struct weir_asked *asked)
{
        struct weir_reply *reply;

        if (below(32) == 0) {
                weir_ask_leave(asked);
                return false;
        }
        if (!weir_ask_waits(asked)) {
                reply = weir_ask_finish(asked);
                check(reply && reply->status == 200, "no reply");
                weir_reply_free(reply);
                return false;
        }
        check(weir_ask_body(asked).len < 10000000, "too long");
        if (below(8) == 0)
                weir_tick(app, 1);
        else if (below(4) == 0)
                sched_yield();
        return true;
}

static void race_in_memory(unsigned long wanted)
{
        struct weir *app = make_app(1);
        struct weir_asked *asked[AT_ONCE] = { 0 };
        unsigned long started = 0;
        bool open = true;

        start_claimers(feed_it);
        while (started < wanted || open) {
                open = false;
                for (int i = 0; i < AT_ONCE; i++) {
                        if (!asked[i] && started < wanted) {
                                asked[i] = weir_ask_start(app, "GET /\nHost: a");
                                started++;
                        }
                        if (asked[i] && !look(app, asked[i]))
                                asked[i] = NULL;
                        open |= asked[i] != NULL;
                }
        }
        end_claimers();
        expect_nothing_left(app);
        weir_free(app);
        report("in memory");
}

/* ---- Over sockets. ---- */

static bool visit(uint16_t port)
{
        static const char *const requests[] = {
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        };
        struct linger none = { .l_onoff = 1 };
        const char *request = requests[below(3)];
        int fd = net_connect(port);
        static _Thread_local char buf[1 << 20];

        if (fd < 0)
                return false;
        net_send(fd, request, strlen(request));
        switch (below(8)) {
        case 0:
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
                break;
        case 1:
                shutdown(fd, SHUT_WR);
                net_read_all(fd, buf, sizeof(buf));
                break;
        case 2:
                break;
        case 3:
                net_read_all(fd, buf, 100);
                break;
        default:
                net_read_all(fd, buf, sizeof(buf));
        }
        close(fd);
        return true;
}

static unsigned long race_round(unsigned number, unsigned long visits)
{
        struct weir *app = make_app(2);

        start_claimers(feed_it);
        visits = race_clients(app, number, visits, visit);
        end_claimers();
        expect_nothing_left(app);
        weir_free(app);
        return visits;
}

int main(void)
{
        bool soak = getenv("WEIR_SOAK");
        unsigned long visits = 0, wanted = soak ? 30000 : 3000;

        race_in_memory(soak ? 300000 : 30000);
        for (unsigned i = 1; visits < wanted; i++)
                visits += race_round(i, 100 + i % 7 * 100);
        report("over sockets");
        return 0;
}
