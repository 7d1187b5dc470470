/*
 * http_drain.c - how a server stops: who is let in, who is told to go; and that nobody who was let
 * in goes without an answer.
 */
#include "http.h"
#include "server.h"

#include <pthread.h>
#include <stdatomic.h>

#define H         "Host: x\r\n"
#define GET       "GET / HTTP/1.1\r\n" H "\r\n"
#define GET_GATE  "GET /gate HTTP/1.1\r\n" H "\r\n"
#define GET_CLOSE "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n"

/* ---- An app, one loop of which a request can hold up; and its stop. ---- */

static struct weir *app;
static atomic_bool entered, open_gate;
static pthread_t   stopper;

static enum weir_flow pass_gate(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_store(&entered, true);
        while (!atomic_load(&open_gate))
                sched_yield();
        return weir_text(ctx, 200, "through");
}

static void start_app(const struct weir_options *options)
{
        app = weir_new(options);
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "ok");
        weir_get(app, "/gate", pass_gate, NULL);
        atomic_store(&entered, false);
        atomic_store(&open_gate, false);
        http_start(app);
}

static void wait_state(enum weir_state state)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (weir_state(app) != state) {
                cr_assert_lt(time(NULL), end, "state is %d, not %d", weir_state(app), state);
                sched_yield();
        }
}

static void *stop(void *arg)
{
        (void)arg;
        weir_stop(app);
        return NULL;
}

static void begin_stop(enum weir_state until)
{
        pthread_create(&stopper, NULL, stop, NULL);
        wait_state(until);
}

static void end_stop(void)
{
        pthread_join(stopper, NULL);
        cr_assert_eq(weir_state(app), WEIR_STOPPED);
        http_end(app);
}

/* A client whose request holds up the loop. */
static struct client client_in_gate(void)
{
        struct client client = client_to(app);

        client_send(&client, GET_GATE);
        while (!atomic_load(&entered))
                sched_yield();
        return client;
}

/* The next answer: that status, and the end of the connection, both said and done. */
static void expect_last(struct client *client, int status)
{
        cr_assert(client_read(client, status).closes, "it does not say close");
        client_expect_end(client);
        client_close(client);
}

/* ---- States. ---- */

Test(http_drain, the_state_tells_how_far_a_server_is)
{
        app = http_app(1);
        cr_assert_eq(weir_state(app), WEIR_STOPPED);
        cr_assert_eq(weir_state(NULL), WEIR_STOPPED);
        weir_listen(app, "unix:/nowhere/at/all", NULL);
        cr_assert_eq(weir_start(app), -1);
        cr_assert_eq(weir_state(app), WEIR_STOPPED);
        weir_free(app);
        start_app(&(struct weir_options){ .loops = 2, .log = drop_log });
        cr_assert_eq(weir_state(app), WEIR_RUNNING);
        weir_stop(app);
        cr_assert_eq(weir_state(app), WEIR_STOPPED);
        http_start(app);
        cr_assert_eq(weir_state(app), WEIR_RUNNING);
        http_end(app);
}

Test(http_drain, a_lame_server_lets_clients_in_serves_them_and_tells_each_to_close)
{
        struct client kept;

        start_app(&(struct weir_options){ .loops = 2,
                                          .log = drop_log,
                                          .drain_delay_ms = 600000,
                                          .drain_timeout_ms = 600000 });
        kept = client_to(app);
        client_expect_alive(&kept);
        begin_stop(WEIR_LAME);
        for (int i = 0; i < 20; i++) {
                struct client client = client_to(app);

                client_send(&client, GET);
                expect_last(&client, 200);
        }
        client_send(&kept, GET);
        expect_last(&kept, 200);
        cr_assert_eq(weir_state(app), WEIR_LAME);
        weir__server_ask(app->app->server, WEIR__HURRY); /* as a second signal does */
        end_stop();
}

/* ---- Drain. ---- */

Test(http_drain, a_request_that_waits_in_its_socket_when_the_drain_begins_is_served)
{
        struct client gate, kept, fresh;

        start_app(&(struct weir_options){ .loops = 1, .log = drop_log });
        kept = client_to(app);
        client_expect_alive(&kept);
        gate = client_in_gate();
        client_send(&kept, GET);
        fresh = client_to(app); /* in the backlog, or with the loop that is held up */
        client_send(&fresh, GET);
        begin_stop(WEIR_DRAIN);
        atomic_store(&open_gate, true);
        expect_last(&gate, 200);
        expect_last(&kept, 200);
        expect_last(&fresh, 200);
        end_stop();
}

Test(http_drain, a_kept_connection_that_is_not_quiet_is_told_to_close_not_closed)
{
        struct client gate, kept;

        start_app(&(struct weir_options){ .loops = 2, .log = drop_log });
        gate = client_in_gate(); /* so that the drain does not end */
        kept = client_to(app);
        client_expect_alive(&kept);
        begin_stop(WEIR_DRAIN);
        client_send(&kept, GET);
        expect_last(&kept, 200);
        atomic_store(&open_gate, true);
        expect_last(&gate, 200);
        end_stop();
}

Test(http_drain, a_quiet_connection_is_closed_over_unix_sockets_too)
{
        char path[] = "/tmp/weir-test-XXXXXX", address[64];
        struct client tcp, local;

        cr_assert(mkdtemp(path));
        snprintf(address, sizeof(address), "unix:%s/sock", path);
        app = http_app(1);
        weir_listen(app, address, NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
        tcp = client_to(app);
        client_expect_alive(&tcp);
        local = client_on(net_connect_unix(address + 5));
        client_expect_alive(&local);
        pthread_create(&stopper, NULL, stop, NULL);
        client_expect_end(&tcp);
        client_expect_end(&local);
        client_close(&tcp);
        client_close(&local);
        end_stop();
        rmdir(path);
}

Test(http_drain, what_a_client_sends_behind_its_last_request_does_not_reset_the_connection)
{
        static char more[100000];
        struct client client, gate;

        for (size_t at = 0; at + strlen(GET) < sizeof(more); at += strlen(GET))
                memcpy(more + at, GET, strlen(GET) + 1);
        start_app(&(struct weir_options){ .loops = 1, .log = drop_log });
        client = client_to(app);
        gate = client_in_gate();
        client_send(&client, more);
        begin_stop(WEIR_DRAIN);
        atomic_store(&open_gate, true);
        expect_last(&gate, 200);
        expect_last(&client, 200);
        end_stop();
}

Test(http_drain, a_connection_that_owes_a_proxy_header_may_still_send_it)
{
        struct client client, late;
        int probe;

        app = http_app(1);
        weir_free(app);
        app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
        weir_listen(
                app, "127.0.0.1:0",
                &(struct weir_listen_options){ .proxy_protocol = true, .proxy_timeout_ms = 60000 });
        weir_get(app, "/", say, "ok");
        http_start(app);
        client = client_to(app);
        late = client_to(app);
        begin_stop(WEIR_LAME);
        while ((probe = net_connect(weir_port(app, 0))) >= 0)
                close(probe); /* until the door is closed */
        client_send(&client, "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n" GET);
        expect_last(&client, 200);
        client_close(&late);
        end_stop();
}

/* ---- Cancel. ---- */

static atomic_int turned_away;

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

static void count_shutdowns(struct weir_ctx *ctx, void *self)
{
        (void)self;
        if (ctx->status == 503 && ctx->outcome == WEIR_SHUTDOWN)
                atomic_fetch_add(&turned_away, 1);
}

Test(http_drain, a_request_that_comes_when_all_is_cancelled_is_answered_503)
{
        static const struct weir_middleware observer = {
                .name = "observer",
                .phase = WEIR_OBSERVE,
                .on_request = pass,
                .on_done = count_shutdowns,
        };
        struct client gate, kept, upload;
        struct weir_stats stats;

        app = weir_new(&(struct weir_options){
                .loops = 1, .log = drop_log, .drain_timeout_ms = WEIR_NONE });
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use(app, &observer, NULL);
        weir_any(app, "/", say, "ok");
        weir_get(app, "/gate", pass_gate, NULL);
        http_start(app);
        kept = client_to(app);
        client_expect_alive(&kept);
        upload = client_to(app);
        client_expect_alive(&upload);
        gate = client_in_gate();
        client_send(&kept, GET);
        client_send(&upload, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc");
        begin_stop(WEIR_CANCEL);
        atomic_store(&open_gate, true);
        expect_last(&gate, 200);
        expect_last(&kept, 503);
        expect_last(&upload, 503);
        pthread_join(stopper, NULL);
        stats = stats_of(app);
        cr_assert_eq(stats.status[5], 2);
        cr_assert_eq(atomic_load(&turned_away), 2);
        for (int i = 0; i < WEIR_GUARD_REASONS; i++)
                cr_assert_eq(stats.guard[i], 0);
        http_end(app);
}

/* ---- Nothing is lost. ---- */

#define CLIENTS 4

/* A client whose connection came too late for a TCP socket asks once more, a second later. */
#define TCP_ROUNDS  5
#define UNIX_ROUNDS 20

static uint16_t    port;
static const char *socket_path; /* NULL: TCP */
static atomic_uint asked, answered, lost;

static struct client try_client(void)
{
        int fd = socket_path ? net_connect_unix(socket_path) : net_connect(port);

        return fd < 0 ? (struct client){ .fd = -1 } : client_on(fd);
}

/* Has the server's end of the connection come? Then what is sent now is too late. */
static bool has_ended(const struct client *client)
{
        char byte;

        return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Asks as fast as it can on one connection, and when it is told to close, on another. */
static void *ask_on_kept(void *arg)
{
        struct client client = try_client();

        (void)arg;
        while (client.fd >= 0) {
                struct answer answer;

                if (has_ended(&client)) {
                        client_close(&client);
                        break;
                }
                atomic_fetch_add(&asked, 1);
                answer = client_try_send(&client, GET, strlen(GET)) ? client_next(&client, false)
                                                                    : (struct answer){ 0 };
                atomic_fetch_add(answer.status == 200 ? &answered : &lost, 1);
                if (answer.status != 200 || answer.closes) {
                        client_close(&client);
                        client = try_client();
                }
        }
        return NULL;
}

/* The same with a connection for each. */
static void *ask_on_new(void *arg)
{
        struct client client;

        (void)arg;
        while ((client = try_client()).fd >= 0) {
                struct answer answer = { 0 };

                atomic_fetch_add(&asked, 1);
                if (client_try_send(&client, GET_CLOSE, strlen(GET_CLOSE)))
                        answer = client_next(&client, false);
                atomic_fetch_add(answer.status == 200 ? &answered : &lost, 1);
                client_close(&client);
        }
        return NULL;
}

static void stop_under_load(void *(*run)(void *arg), const char *path)
{
        char address[64];

        snprintf(address, sizeof(address), "unix:%s", path ? path : "");
        socket_path = path;
        for (int round = 0; round < (path ? UNIX_ROUNDS : TCP_ROUNDS); round++) {
                pthread_t threads[CLIENTS];

                app = http_app(2);
                if (path)
                        weir_listen(app, address, NULL);
                weir_get(app, "/", say, "ok");
                http_start(app);
                port = weir_port(app, 0);
                atomic_store(&asked, 0);
                atomic_store(&answered, 0);
                for (int i = 0; i < CLIENTS; i++)
                        pthread_create(&threads[i], NULL, run, NULL);
                while (atomic_load(&answered) < 100)
                        sched_yield();
                weir_stop(app);
                for (int i = 0; i < CLIENTS; i++)
                        pthread_join(threads[i], NULL);
                cr_assert_eq(atomic_load(&answered), atomic_load(&asked), "round %d: %u lost",
                             round, atomic_load(&lost));
                http_end(app);
        }
}

Test(http_drain, clients_that_keep_asking_on_their_connections_lose_nothing_to_a_stop)
{
        stop_under_load(ask_on_kept, NULL);
}

Test(http_drain, whoever_could_connect_gets_an_answer)
{
        stop_under_load(ask_on_new, NULL);
}

Test(http_drain, whoever_could_connect_to_a_unix_socket_gets_an_answer)
{
        char folder[] = "/tmp/weir-test-XXXXXX", path[64];

        cr_assert(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/sock", folder);
        stop_under_load(ask_on_new, path);
        stop_under_load(ask_on_kept, path);
        rmdir(folder);
}
