/* http_sse.c - server-sent events over sockets: broadcasts, clients that leave, stops. */
#include "http.h"
#include "sse_kit.h"

#include <pthread.h>
#include <stdatomic.h>

#define H           "Host: x\r\n"
#define MAX_MEMBERS 256
#define GET_EVENTS  "GET /events HTTP/1.1\r\n" H "\r\n"

/* ---- The room: handles of all who listen, as an app keeps them. ---- */

static struct room {
        pthread_mutex_t  lock;
        struct weir_sse *member[MAX_MEMBERS];
        unsigned         n;
} room = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_uint n_opened, n_closed;
static struct weir *app;

static void go_out(void *arg, struct weir_sse *sse)
{
        struct room *from = arg;

        pthread_mutex_lock(&from->lock);
        for (unsigned i = 0; i < from->n; i++) {
                if (from->member[i] == sse)
                        from->member[i--] = from->member[--from->n];
        }
        pthread_mutex_unlock(&from->lock);
        weir_sse_release(sse);
        atomic_fetch_add(&n_closed, 1);
}

static enum weir_flow come_in(struct weir_ctx *ctx, void *self)
{
        struct weir_sse *sse = weir_sse_open(
                ctx, &(struct weir_sse_options){ .on_close = go_out, .arg = &room });

        (void)self;
        cr_assert_not_null(sse);
        pthread_mutex_lock(&room.lock);
        room.member[room.n++] = sse;
        pthread_mutex_unlock(&room.lock);
        atomic_fetch_add(&n_opened, 1);
        return WEIR_DONE;
}

/* Of a request that is over its deadline, which does not apply to the stream. */
static enum weir_flow come_in_late(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, 1);
        return come_in(ctx, self);
}

static unsigned broadcast(const struct weir_event *event)
{
        unsigned n = 0;

        pthread_mutex_lock(&room.lock);
        for (unsigned i = 0; i < room.n; i++)
                n += weir_sse_send(room.member[i], event);
        pthread_mutex_unlock(&room.lock);
        return n;
}

static enum weir_flow say_to_all(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%u", broadcast(&(struct weir_event){ .data = ctx->body }));
}

/* ---- The app. ---- */

static void start_app(void)
{
        app = http_app(2);
        room.n = 0;
        n_opened = 0;
        n_closed = 0;
        weir_get(app, "/", say, "ok");
        weir_route(app, WEIR_GET, "/events", come_in, NULL,
                   &(struct weir_route_options){ .waits = true });
        weir_route(app, WEIR_GET, "/job", come_in, NULL,
                   &(struct weir_route_options){ .waits = true, .blocking = true });
        weir_route(app, WEIR_GET, "/late", come_in_late, NULL,
                   &(struct weir_route_options){ .waits = true });
        weir_route(app, WEIR_GET, "/late/job", come_in_late, NULL,
                   &(struct weir_route_options){ .waits = true, .blocking = true });
        weir_post(app, "/events", say_to_all, NULL);
        http_start(app);
}

static void stop_app(void)
{
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(room.n, 0);
        cr_assert_eq(n_closed, n_opened);
        http_end(app);
}

TestSuite(http_sse, .init = start_app, .fini = stop_app);

static void wait_for_members(unsigned n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (n_opened - n_closed != n) {
                cr_assert_lt(time(NULL), end, "%u came and %u went", n_opened, n_closed);
                sched_yield();
        }
}

static void enter(struct client *clients, unsigned n)
{
        for (unsigned i = 0; i < n; i++) {
                clients[i] = client_to(app);
                client_send(&clients[i], GET_EVENTS);
        }
        wait_for_members(n);
}

/* Reads a stream to its end: `n` events with `data`, and no other. */
static void expect_events(struct client *client, unsigned n, const char *data)
{
        static struct sse_event event;
        struct answer answer = client_read(client, 200);
        struct sse_reader reader = sse_read(answer.body);

        for (unsigned i = 0; i < n; i++) {
                cr_assert(sse_next(&reader, &event), "%u of %u events", i, n);
                cr_assert_str_eq(event.data, data);
        }
        cr_assert_not(sse_next(&reader, &event));
        client_expect_end(client);
        client_close(client);
}

static void close_all(void);

Test(http_sse, a_deadline_does_not_apply_to_the_stream_wherever_it_was_opened)
{
        struct client late = client_to(app), job = client_to(app);

        client_send(&late, "GET /late HTTP/1.1\r\n" H "\r\n");
        client_send(&job, "GET /late/job HTTP/1.1\r\n" H "\r\n");
        wait_for_members(2);
        cr_assert_eq(broadcast(&(struct weir_event){ .data = WEIR_STR("on time") }), 2);
        close_all();
        expect_events(&late, 1, "on time");
        expect_events(&job, 1, "on time");
}

static void close_all(void)
{
        pthread_mutex_lock(&room.lock);
        for (unsigned i = 0; i < room.n; i++)
                weir_sse_close(room.member[i]);
        pthread_mutex_unlock(&room.lock);
}

/* ---- Claims. ---- */

#define MANY 200

Test(http_sse, an_event_goes_out_at_once)
{
        struct client client = client_to(app);
        struct answer head;

        client_send(&client, GET_EVENTS);
        head = client_next(&client, true); /* before there is any event */
        cr_assert_eq(head.status, 200);
        wait_for_members(1);
        cr_assert_eq(broadcast(&(struct weir_event){ .data = WEIR_STR("now") }), 1);
        cr_assert(client_need(&client, 16));
        cr_assert(!strncasecmp(client.buf + client.taken, "b\r\ndata: now\n\n\r\n", 16), "%s",
                  shown(client.buf + client.taken, 16));
        client_close(&client);
}

Test(http_sse, a_request_is_told_to_all_who_listen)
{
        struct client clients[MANY], speaker;

        enter(clients, MANY);
        speaker = client_to(app);
        for (int i = 0; i < 3; i++) {
                client_send(&speaker,
                            "POST /events HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello");
                client_expect(&speaker, 200, "200");
        }
        close_all();
        for (int i = 0; i < MANY; i++)
                expect_events(&clients[i], 3, "hello");
        client_close(&speaker);
}

Test(http_sse, a_handler_that_blocks_may_open_one)
{
        struct client client = client_to(app);

        client_send(&client, "GET /job HTTP/1.1\r\n" H "\r\n");
        wait_for_members(1);
        cr_assert_eq(broadcast(&(struct weir_event){ .data = WEIR_STR("x") }), 1);
        close_all();
        expect_events(&client, 1, "x");
}

static void *speak(void *over)
{
        while (!atomic_load((atomic_bool *)over)) {
                broadcast(&(struct weir_event){ .event = WEIR_STR("talk"), .data = WEIR_STR("x") });
                sched_yield();
        }
        return NULL;
}

Test(http_sse, clients_may_leave_while_they_are_told)
{
        static atomic_bool over;
        struct client clients[20];
        pthread_t thread[2];

        for (int i = 0; i < 2; i++)
                pthread_create(&thread[i], NULL, speak, &over);
        for (int round = 0; round < 10; round++) {
                enter(clients, 20);
                for (int i = 0; i < 20; i++) {
                        if (i % 2)
                                client_need(&clients[i], 300);
                        client_close(&clients[i]);
                }
                wait_for_members(0);
        }
        atomic_store(&over, true);
        for (int i = 0; i < 2; i++)
                pthread_join(thread[i], NULL);
}

Test(http_sse, when_the_server_stops_streams_end_behind_what_was_sent)
{
        struct client clients[20];

        enter(clients, 20);
        broadcast(&(struct weir_event){ .data = WEIR_STR("last") });
        cr_assert_eq(weir_stop(app), 0);
        for (int i = 0; i < 20; i++)
                expect_events(&clients[i], 1, "last");
}

Test(http_sse, a_client_that_does_not_read_misses_events_and_the_others_do_not)
{
        static char page[16001];
        struct client reader, sleeper;
        unsigned n = 0;

        memset(page, 'x', sizeof(page) - 1);
        enter(&sleeper, 1);
        while (broadcast(&(struct weir_event){ .data = { page, sizeof(page) - 1 } })) {
                cr_assert_lt(++n, 10000, "the buffer has no end");
                sched_yield();
        }
        reader = client_to(app);
        client_send(&reader, GET_EVENTS);
        wait_for_members(2);

        /* For one or for both: the kernel may have taken some of the sleeper's by now. */
        broadcast(&(struct weir_event){ .data = { page, sizeof(page) - 1 } });
        client_close(&sleeper);
        wait_for_members(1);
        close_all();
        expect_events(&reader, 1, page);
}
