/* http_wait_end.c - clients that leave while their requests wait, and servers that stop. */
#include "http_wait.h"

#include <stdatomic.h>

#define TIMES 50

/* ---- What the hooks see of an end: status and outcome, in on_response and in on_done. ---- */

struct seen {
        atomic_uint status[600][2];
        atomic_uint outcome[7][2];
};

static struct seen seen;

static void see(const struct weir_ctx *ctx, int where)
{
        atomic_fetch_add(&seen.status[ctx->status][where], 1);
        atomic_fetch_add(&seen.outcome[ctx->outcome][where], 1);
}

static void see_response(struct weir_ctx *ctx, void *self)
{
        (void)self;
        see(ctx, 0);
}

static void see_done(struct weir_ctx *ctx, void *self)
{
        (void)self;
        see(ctx, 1);
}

static const struct weir_middleware observer = {
        .name = "observer", .phase = WEIR_OBSERVE, .on_response = see_response, .on_done = see_done
};

/* `n` requests ended so, and each was told once to both hooks. */
static void expect_seen(unsigned n, int status, enum weir_outcome outcome)
{
        for (int where = 0; where < 2; where++) {
                cr_assert_eq(seen.status[status][where], n, "%u of %u saw %d in hook %d",
                             seen.status[status][where], n, status, where);
                cr_assert_eq(seen.outcome[outcome][where], n, "%u of %u saw outcome %d in hook %d",
                             seen.outcome[outcome][where], n, (int)outcome, where);
        }
}

static char logged[4096];

static void keep_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg;
        if (level == WEIR_LOG_ERROR && strlen(logged) + strlen(line) + 2 < sizeof(logged))
                strcat(strcat(logged, line), "\n");
}

static ssize_t pull_zeroes(void *arg, char *buf, size_t size)
{
        uint64_t *left = arg;
        size_t n = *left < size ? (size_t)*left : size;

        memset(buf, '0', n);
        *left -= n;
        return (ssize_t)n;
}

/* More than the buffers of a connection take. */
static enum weir_flow huge(struct weir_ctx *ctx, void *self)
{
        uint64_t *left = weir_alloc(ctx, sizeof(*left));

        (void)self;
        *left = 30000000;
        return weir_stream(ctx, 200, "text/plain", *left, pull_zeroes, NULL, left);
}

/* Waits for an hour. */
static enum weir_flow doze_long(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_wait_until(ctx, weir_now(ctx) + 3600 * 1000000000ull);
}

static void start_app(void)
{
        app = make_app(1, keep_log);
        memset(&seen, 0, sizeof(seen));
        weir_use(app, &observer, NULL);
        weir_get(app, "/huge", huge, NULL);
        wait_route(app, WEIR_ANY, "/long", doze_long);
        http_start(app);
}

static void stop_app(void)
{
        cr_assert_eq(stats_of(app).requests_waiting, 0);
        http_end(app);
}

TestSuite(http_wait_leave, .init = start_app, .fini = stop_app);
TestSuite(http_wait_stop, .init = start_app);

/* ---- Clients that leave. ---- */

/* Requests that wait, some of whose body has not come yet. */
static const char *const waiting[] = {
        "GET /hold HTTP/1.1\r\n" H "\r\n",
        "HEAD /hold HTTP/1.1\r\n" H "\r\n",
        "POST /hold HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
        "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
        "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\na",
        "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 300000\r\n\r\n",
        "POST /gate/echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n",
        "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n",
        "POST /late/echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "GET /hold HTTP/1.1\r\n" H "\r\nGET /hold HTTP/1.1\r\n" H "\r\n",
};

#define N_WAITING (sizeof(waiting) / sizeof(waiting[0]))

static void half_close_it(struct client *client)
{
        shutdown(client->fd, SHUT_WR);
        client_expect_end(client); /* without an answer */
        client_close(client);
}

/* All that waited must end as 499, and their tickets be good for nothing. */
static void expect_499(void (*leave)(struct client *client), bool at_once)
{
        unsigned n = 0;

        for (size_t i = 0; i < N_WAITING; i++) {
                for (int times = 0; times < TIMES; times++) {
                        struct client client = client_to(app);
                        struct weir_ticket ticket = { 0 };

                        client_send(&client, waiting[i]);
                        if (!at_once)
                                ticket = next_ticket();
                        leave(&client);
                        wait_gone(app, ++n);
                        if (at_once)
                                continue; /* perhaps before it came to wait */
                        cr_assert_null(weir_claim(ticket));
                        expect_seen(n, 499, WEIR_ABORT);
                }
        }
        cr_assert_eq(stats_of(app).requests_waiting, 0);
        cr_assert_eq(stats_of(app).status[0], seen.status[499][1]);
        while (n_taken < n_tickets)
                cr_assert_null(weir_claim(next_ticket()));
}

Test(http_wait_leave, a_client_that_closes_ends_its_request_as_499)
{
        expect_499(client_close, false);
}

Test(http_wait_leave, a_client_that_resets_ends_its_request_as_499)
{
        expect_499(client_reset, false);
}

Test(http_wait_leave, a_client_that_sends_no_more_ends_its_request_as_499)
{
        expect_499(half_close_it, false);
}

Test(http_wait_leave, a_client_may_leave_as_soon_as_it_has_sent)
{
        expect_499(client_close, true);
}

Test(http_wait_leave, a_client_may_reset_as_soon_as_it_has_sent)
{
        expect_499(client_reset, true);
}

/* So many requests on another connection that the loop has looked after those who leave. */
static void let_the_loop_look(void)
{
        struct client other = client_to(app);

        for (int i = 0; i < 200; i++)
                client_expect_alive(&other);
        client_close(&other);
}

static void leave_while_claimed(enum weir_flow flow)
{
        unsigned before = seen.status[499][1];
        struct client client = client_to(app);
        struct weir_ctx *ctx;

        client_send(&client, "GET /gate/echo HTTP/1.1\r\n" H "\r\n");
        ctx = claimed(next_ticket());
        client_close(&client);
        let_the_loop_look();
        cr_assert_eq(stats_of(app).requests_waiting, 1);
        weir_text(ctx, 200, "for nobody");
        weir_resume(ctx, flow);
        wait_idle(app);
        expect_seen(before + 1, 499, WEIR_ABORT);
}

Test(http_wait_leave, a_client_that_leaves_while_its_request_is_claimed_is_499_once_it_is_back)
{
        for (int i = 0; i < 10; i++) {
                leave_while_claimed(WEIR_DONE);
                leave_while_claimed(WEIR_NEXT);
        }
}

/* Its end was seen during the answer before, and will not be told again. */
Test(http_wait_leave, a_request_whose_client_has_left_before_it_waits_is_499_too)
{
        struct client client = client_to(app);

        client_send(&client, "GET /huge HTTP/1.1\r\n" H "\r\nGET /hold HTTP/1.1\r\n" H "\r\n");
        shutdown(client.fd, SHUT_WR);
        client_need(&client, 1);
        let_the_loop_look();
        client_read(&client, 200);
        client_expect_end(&client);
        client_close(&client);
        wait_idle(app);
        cr_assert_null(weir_claim(next_ticket()));
        cr_assert_eq(seen.status[499][1], 1);
}

/* ---- Servers that stop. ---- */

Test(http_wait_stop, requests_that_wait_are_answered_503_and_their_connections_close)
{
        struct client clients[N_WAITING + 1];

        for (size_t i = 0; i <= N_WAITING; i++) {
                clients[i] = client_to(app);
                client_send(&clients[i],
                            i < N_WAITING ? waiting[i] : "GET /long HTTP/1.1\r\n" H "\r\n");
        }
        while (stats_of(app).requests_waiting <= N_WAITING)
                sched_yield();
        cr_assert_eq(weir_stop(app), 0);
        for (size_t i = 0; i <= N_WAITING; i++) {
                struct answer answer = client_next(&clients[i], i == 1);

                cr_assert_eq(answer.status, 503, "%zu: %d", i, answer.status);
                cr_assert(answer.closes);
                client_close(&clients[i]);
        }
        expect_seen(N_WAITING + 1, 503, WEIR_SHUTDOWN);
        for (size_t i = 0; i < N_WAITING; i++)
                cr_assert_null(weir_claim(next_ticket()));
        stop_app();
}

static void stop_behind_many(int64_t drain_timeout_ms)
{
        app = make_app(drain_timeout_ms, keep_log);
        http_start(app);
        hold_many();
        for (int i = 0; i < MANY; i++) {
                struct weir_ctx *ctx = claimed(next_ticket());

                weir_resume(ctx, weir_text(ctx, 200, "ok"));
        }
        cr_assert_eq(weir_stop(app), 0);
        for (int i = 0; i < MANY; i++) {
                client_expect(&many[i], 200, "ok");
                client_close(&many[i]);
        }
        stop_app();
}

Test(http_wait_stop, who_was_resumed_before_it_gets_the_answer_however_many, .init = NULL)
{
        stop_behind_many(0);
        stop_behind_many(1);
}

static void *stop(void *arg)
{
        (void)arg;
        return weir_stop(app) == 0 ? app : NULL;
}

/* A request that waits tells that the stop is under way, by its end. */
static struct weir_ctx *_Atomic to_resume;

static void resume_it(struct weir_ctx *ctx, void *self)
{
        struct weir_ctx *other = atomic_exchange(&to_resume, NULL);

        (void)ctx, (void)self;
        if (other)
                weir_resume(other, weir_text(other, 200, "just in time"));
}

static const struct weir_middleware resumer = { .name = "resumer",
                                                .phase = WEIR_OBSERVE,
                                                .on_response = resume_it };

Test(http_wait_stop, a_request_that_is_claimed_may_come_back_until_the_end, .init = NULL)
{
        struct client held, sentinel;

        app = make_app(1, keep_log);
        wait_route(weir_group(app, "/sentinel", NULL), WEIR_GET, "", doze_long);
        weir_use(app, &resumer, NULL);
        http_start(app);
        held = client_to(app);
        client_send(&held, "GET /hold HTTP/1.1\r\n" H "\r\n");
        atomic_store(&to_resume, claimed(next_ticket()));
        sentinel = client_to(app);
        client_send(&sentinel, "GET /sentinel HTTP/1.1\r\n" H "\r\n");
        while (stats_of(app).requests_waiting < 2)
                sched_yield();
        cr_assert_eq(weir_stop(app), 0);
        client_expect(&held, 200, "just in time");
        client_read(&sentinel, 503);
        client_close(&held);
        client_close(&sentinel);
        stop_app();
}

/* ---- What is never resumed: it stays in memory, and its thread may still come back. ---- */

static struct weir_ctx *lost; /* so that the leak checker finds what belongs to it */

static void lose_one(void)
{
        struct client client = client_to(app);

        client_send(&client, "GET /gate/echo HTTP/1.1\r\n" H "\r\n");
        lost = claimed(next_ticket());
        cr_assert_eq(weir_stop(app), -1);
        cr_assert(strstr(logged, "GET: claimed by gate, never resumed"), "%s", logged);
        client_expect_end(&client);
        client_close(&client);
}

Test(http_wait_stop, a_request_that_is_never_resumed_fails_the_stop_and_names_its_holder)
{
        lose_one();
        weir_free(app);
}

Test(http_wait_stop, a_request_may_be_resumed_behind_the_stop)
{
        lose_one();
        cr_assert_eq(weir_stop(app), -1, "as often as it is asked");
        weir_resume(lost, weir_text(lost, 200, "late"));
        weir_free(app);
}

Test(http_wait_stop, a_request_may_be_resumed_behind_the_end_of_its_app)
{
        lose_one();
        weir_free(app);
        weir_resume(lost, weir_text(lost, 200, "later still"));
}

Test(http_wait_stop, an_app_that_has_lost_a_request_may_start_again)
{
        struct client client;

        lose_one();
        http_start(app);
        client = client_to(app);
        client_expect_alive(&client);
        client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
        answer_next("again");
        client_expect(&client, 200, "again");
        cr_assert_eq(weir_stop(app), 0);
        client_close(&client);
        weir_free(app);
}

/* ---- What has arrived when the server begins to stop. ---- */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool     is_busy;

static enum weir_flow block(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_store(&is_busy, true);
        pthread_mutex_lock(&busy);
        pthread_mutex_unlock(&busy);
        return weir_text(ctx, 200, "unblocked");
}

/* The loop finds out about the stop and about the request at once. */
Test(http_wait_stop, what_was_sent_before_may_still_wait_and_is_answered, .init = NULL)
{
        struct client blocked, late_one;
        pthread_t thread;
        void *stopped;
        int fd;

        app = make_app(0, keep_log);
        weir_get(app, "/block", block, NULL);
        http_start(app);
        late_one = client_to(app);
        client_expect_alive(&late_one);
        blocked = client_to(app);
        pthread_mutex_lock(&busy);
        client_send(&blocked, "GET /block HTTP/1.1\r\n" H "\r\n");
        while (!atomic_load(&is_busy))
                sched_yield();
        client_send(&late_one, "GET /doze HTTP/1.1\r\n" H "\r\n");
        pthread_create(&thread, NULL, stop, NULL);
        while ((fd = net_connect(weir_port(app, 0))) >= 0)
                close(fd); /* until the door is shut */
        pthread_mutex_unlock(&busy);
        client_expect(&blocked, 200, "unblocked");
        client_expect(&late_one, 200, "");
        client_expect_end(&late_one);
        pthread_join(thread, &stopped);
        cr_assert_not_null(stopped);
        client_close(&blocked);
        client_close(&late_one);
        stop_app();
}
