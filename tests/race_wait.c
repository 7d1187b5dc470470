/*
 * race_wait.c - claims against deadlines, clients that leave and stops, for ThreadSanitizer.
 *
 * Threads claim every ticket that they see, several the same one. In memory the main thread sends
 * requests and lets their deadlines pass or their clients leave meanwhile; over sockets client
 * threads do, until the server stops. Each request must be answered once, each hook be called back
 * once, each claim be one of those that were good, and nothing be left.
 *
 * WEIR_SOAK=1 makes a million schedules in memory and 100,000 over sockets.
 */
#include "race_kit.h"

#define AT_ONCE 4

/* ---- The app: a permit, a gate that waits, a handler that waits. ---- */

static atomic_long permits, responses, entered, deferred, borrowed, claims;
static atomic_long outcomes[WEIR_SHUTDOWN + 1];

static enum weir_flow take_permit(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&entered, 1);
        atomic_fetch_add(&permits, 1);
        return WEIR_NEXT;
}

static void see_response(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        atomic_fetch_add(&responses, 1);
}

static void give_permit(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&outcomes[ctx->outcome], 1);
        atomic_fetch_sub(&permits, 1);
}

static enum weir_flow hold(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_deadline(ctx, weir_now(ctx) + (below(8) ? 1 + below(4) : 100) * MS);
        switch (below(8)) {
        case 0:
                return *weir_own(ctx) ? WEIR_NEXT : weir_wait_until(ctx, weir_now(ctx));
        case 1:
                ++*weir_own(ctx);
                return weir_wait_until(ctx, weir_now(ctx) + MS);
        default:
                pin_up(weir_suspend(ctx));
                return WEIR_WAIT;
        }
}

/* With a piece of an upload; resumed with WEIR_NEXT at the last, it has no answer: 500. */
static enum weir_flow hold_piece(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)piece;
        if (below(3) == 0)
                return last ? weir_text(ctx, 200, "ok") : WEIR_NEXT;
        return hold(ctx, self);
}

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

static void count_down(void *counter)
{
        atomic_fetch_sub((atomic_long *)counter, 1);
}

/* What a claimer answers: each kind holds something else. */
static enum weir_flow answer(struct weir_ctx *ctx)
{
        static char big[20000];

        atomic_fetch_add(&claims, 1);
        if (below(2)) {
                atomic_fetch_add(&deferred, 1);
                weir_defer(ctx, count_down, &deferred);
        }
        weir_set_header(ctx, "X-Claimed", "1");
        switch (below(6)) {
        case 0:
                return WEIR_NEXT;
        case 1:
                return weir_bytes(ctx, 200, "text/plain", (struct weir_str){ big, sizeof(big) });
        case 2:
                atomic_fetch_add(&borrowed, 1);
                return weir_send(ctx, 200, "text/plain", WEIR_STR("x"), count_down, &borrowed);
        case 3:
                return weir_fail(ctx, 409, "claimed");
        case 4:
                weir_deadline(ctx, weir_now(ctx) + below(2) * MS);
                return WEIR_NEXT;
        default:
                return weir_text(ctx, 200, "ok");
        }
}

static struct weir *make_app(unsigned loops)
{
        static const struct weir_middleware permit = { .name = "permit",
                                                       .on_request = take_permit,
                                                       .on_response = see_response,
                                                       .on_done = give_permit };
        static const struct weir_middleware gate = { .name = "gate",
                                                     .waits = true,
                                                     .on_request = hold };
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = loops, .log = drop_log, .drain_timeout_ms = 20 });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &permit, NULL);
        weir_use(app, &gate, NULL);
        weir_route(app, WEIR_ANY, "/", hold, NULL, &(struct weir_route_options){ .waits = true });
        weir_route(app, WEIR_POST, "/up", pass, NULL,
                   &(struct weir_route_options){ .waits = true, .on_body = hold_piece });
        return app;
}

static void expect_nothing_left(struct weir *app)
{
        struct weir_stats stats;
        uint64_t answered = 0;

        weir_stats(app, &stats);
        check(stats.requests_in_flight == 0, "requests are in flight");
        check(stats.requests_waiting == 0, "requests wait");
        check(stats.connections_open == 0, "connections are open");
        for (int i = 0; i < 6; i++)
                answered += stats.status[i];
        check(stats.requests == answered, "not every request had one verdict");
        check(atomic_load(&permits) == 0, "a permit is lost");
        check(atomic_load(&entered) == atomic_load(&responses), "not every entry had one response");
        check(atomic_load(&deferred) == 0, "a deferred call is lost");
        check(atomic_load(&borrowed) == 0, "borrowed bytes are lost");
}

/* What was raced, and that it was. */
static void report(const char *where, unsigned long schedules)
{
        printf("race_wait: %lu schedules %s: %ld claims, %ld deadlines, %ld left, %ld stopped\n",
               schedules, where, atomic_load(&claims), atomic_load(&outcomes[WEIR_TIMEOUT]),
               atomic_load(&outcomes[WEIR_ABORT]), atomic_load(&outcomes[WEIR_SHUTDOWN]));
        check(atomic_load(&claims) && atomic_load(&outcomes[WEIR_TIMEOUT]) &&
                      atomic_load(&outcomes[WEIR_ABORT]),
              "a kind of end never came");
        atomic_store(&claims, 0);
        for (int i = 0; i <= WEIR_SHUTDOWN; i++)
                atomic_store(&outcomes[i], 0);
}

/* ---- In memory. ---- */

struct asks {
        struct weir       *app;
        struct weir_asked *asked[AT_ONCE];
        unsigned long      started, answered, left;
};

static char upload[10000]; /* more than one piece of an ask */

static void start_one(struct asks *asks, int i)
{
        static const char *const requests[] = { "GET /", "POST /\n\nbody", "POST /up\n\nbody",
                                                upload };

        asks->asked[i] = weir_ask_start(asks->app, requests[below(4)]);
        asks->started++;
}

static void end_one(struct asks *asks, int i)
{
        struct weir_reply *reply;

        if (below(32) == 0) {
                weir_ask_leave(asks->asked[i]);
                asks->left++;
        } else if (weir_ask_waits(asks->asked[i])) {
                if (below(8) == 0)
                        weir_tick(asks->app, 1);
                else if (below(4) == 0)
                        sched_yield();
                return;
        } else {
                reply = weir_ask_finish(asks->asked[i]);
                check(reply && reply->status >= 200, "no reply");
                weir_reply_free(reply);
                asks->answered++;
        }
        asks->asked[i] = NULL;
}

static void race_in_memory(unsigned long schedules)
{
        struct asks asks = { .app = make_app(1) };
        bool open = true;

        start_claimers(answer);
        while (asks.started < schedules || open) {
                open = false;
                for (int i = 0; i < AT_ONCE; i++) {
                        if (!asks.asked[i] && asks.started < schedules)
                                start_one(&asks, i);
                        if (asks.asked[i])
                                end_one(&asks, i);
                        open |= asks.asked[i] != NULL;
                }
        }
        check(asks.answered + asks.left == asks.started, "not every request was answered once");
        end_claimers();
        expect_nothing_left(asks.app);
        weir_free(asks.app);
        report("in memory", asks.started);
}

/* ---- Over sockets. ---- */

#define CHUNKS "1\r\nb\r\n1\r\no\r\n2\r\ndy\r\n0\r\n\r\n"

static bool visit(uint16_t port)
{
        static const char *const requests[] = {
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
                "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
                ("POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS),
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo",
                "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbo",
        };
        static const unsigned n = sizeof(requests) / sizeof(requests[0]);
        struct linger none = { .l_onoff = 1 };
        unsigned which = below(n);
        const char *request = requests[which];
        int fd = net_connect(port);
        char buf[32768];

        if (fd < 0)
                return false;
        net_send(fd, request, strlen(request));
        switch (below(which >= n - 2 ? 2 : 4)) { /* half a body: it can only leave */
        case 0:
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
                break;
        case 1:
                shutdown(fd, SHUT_WR);
                net_read_all(fd, buf, sizeof(buf));
                break;
        case 2:
                break;
        default:
                net_read_answer(fd, buf, sizeof(buf));
        }
        close(fd);
        return true;
}

static unsigned long race_round(unsigned number, unsigned long visits)
{
        struct weir *app = make_app(2);

        start_claimers(answer);
        visits = race_clients(app, number, visits, visit);
        end_claimers();
        expect_nothing_left(app);
        weir_free(app);
        return visits;
}

int main(void)
{
        static const char head[] = "POST /up\n\n";
        bool soak = getenv("WEIR_SOAK");
        unsigned long visits = 0, wanted = soak ? 100000 : 10000;

        memset(upload, 'x', sizeof(upload) - 1);
        memcpy(upload, head, sizeof(head) - 1);
        race_in_memory(soak ? 1000000 : 100000);
        for (unsigned i = 1; visits < wanted; i++)
                visits += race_round(i, 100 + i % 7 * 100);
        report("over sockets", visits);
        return 0;
}
