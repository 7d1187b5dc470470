/*
 * http_health.c - health over sockets: checks on their threads, loops that are held up, a stop.
 */
#include "http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <weir/health.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* ---- What the tests hold and let go. ---- */

struct gate {
        atomic_int  entered;
        atomic_bool open;
};

static void wait_entered(struct gate *gate, int n)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (atomic_load(&gate->entered) < n) {
                cr_assert_lt(time(NULL), end, "nobody came");
                sched_yield();
        }
}

static void pass(struct gate *gate)
{
        atomic_fetch_add(&gate->entered, 1);
        while (!atomic_load(&gate->open))
                sched_yield();
}

static enum weir_flow hold_loop(struct weir_ctx *ctx, void *gate)
{
        pass(gate);
        return weir_text(ctx, 200, "through");
}

static bool hold_check(void *gate, char *why, size_t size)
{
        (void)why, (void)size;
        pass(gate);
        return true;
}

static bool is_good(void *arg, char *why, size_t size)
{
        snprintf(why, size, "no\nroute");
        return atomic_load((atomic_bool *)arg);
}

static int get(const struct weir *app, const char *request, char *buf, size_t size)
{
        return net_once(weir_port(app, 0), request, buf, size);
}

/* Asks until the answer has that status and body. */
static void wait_answer(const struct weir *app, const char *request, int status, const char *body)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        char buf[4096];

        while (get(app, request, buf, sizeof(buf)) != status || !strstr(buf, body))
                cr_assert_lt(time(NULL), end, "still: %s", buf);
}

static const struct weir_check_options quick = { .interval_ms = 10, .fail_after = 1 };

/* ---- Claims. ---- */

Test(http_health, checks_run_by_themselves_and_turn_around_with_what_they_look_at)
{
        struct weir *app = http_app(1);
        struct weir_health *health = weir_use_health(app, NULL);
        atomic_bool good = true;

        weir_health_check(health, "db", is_good, &good, &quick);
        http_start(app);
        wait_answer(app, GET("/readyz"), 200, "\r\n\r\nok\n");
        atomic_store(&good, false);
        wait_answer(app, GET("/readyz?verbose"), 503, "[-]db failed\nfailed\n");
        atomic_store(&good, true);
        wait_answer(app, GET("/readyz"), 200, "\r\n\r\nok\n");
        http_end(app);
}

Test(http_health, only_who_is_trusted_is_told_why)
{
        struct weir *app = http_app(1);
        struct weir_health *health = weir_use_health(
                app, &(struct weir_health_options){ .trusted = "127.0.0.0/8" });
        atomic_bool good = false;

        weir_listen(app, "[::1]:0", NULL);
        weir_health_check(health, "db", is_good, &good, &quick);
        http_start(app);
        wait_answer(app, GET("/readyz?verbose"), 503, "[-]db failed: no route\n");
        wait_answer(app,
                    "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                         "Accept: application/json\r\n\r\n",
                    503, "\"why\":\"no route\"");
        {
                struct client client = client_on(net_connect_v6(weir_port(app, 1)));
                struct answer answer;

                client_send(&client, GET("/readyz?verbose"));
                answer = client_read(&client, 503);
                cr_assert_null(memmem(answer.body.ptr, answer.body.len, "route", 5));
                client_close(&client);
        }
        http_end(app);
}

Test(http_health, a_check_that_hangs_holds_up_neither_the_answer_nor_other_checks)
{
        struct weir *app = http_app(1);
        struct weir_health *health = weir_use_health(app, NULL);
        struct gate gate = { 0 };
        atomic_bool good = true;

        weir_health_check(health, "hangs", hold_check, &gate, &quick);
        weir_health_check(health, "other", is_good, &good, &quick);
        http_start(app);
        wait_entered(&gate, 1);
        wait_answer(app, GET("/readyz?verbose"), 503, "[-]hangs failed\n[+]other ok\nfailed\n");
        atomic_store(&good, false);
        wait_answer(app, GET("/readyz?verbose"), 503, "[-]other failed\n");
        cr_assert_eq(atomic_load(&gate.entered), 1, "one run at a time");
        atomic_store(&gate.open, true);
        wait_answer(app, GET("/readyz?verbose"), 503, "[+]hangs ok\n");
        http_end(app);
}

static atomic_int warned;

static void count_warnings(void *arg, enum weir_level level, const char *line)
{
        (void)arg;
        if (level == WEIR_LOG_WARNING && strstr(line, "\"hangs\""))
                atomic_fetch_add(&warned, 1);
}

Test(http_health, a_stop_does_not_wait_for_a_check_that_hangs_and_its_thread_outlives_the_app)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 2, .log = count_warnings });
        struct weir_health *health = weir_use_health(app, NULL);
        static struct gate gate;

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_health_check(health, "hangs", hold_check, &gate, &quick);
        http_start(app);
        wait_entered(&gate, 1);
        weir_stop(app);
        cr_assert_eq(atomic_load(&warned), 1);
        http_start(app); /* the same thread is that of the check again */
        wait_answer(app, GET("/readyz?verbose"), 503, "[-]hangs failed\n");
        cr_assert_eq(atomic_load(&gate.entered), 1);
        http_end(app);
        atomic_store(&gate.open, true);
}

Test(http_health, an_app_that_stops_and_starts_runs_its_checks_anew)
{
        struct weir *app = http_app(2);
        struct weir_health *health = weir_use_health(app, NULL);
        atomic_bool good = true;

        weir_health_check(health, "db", is_good, &good, &quick);
        for (int i = 0; i < 20; i++) {
                http_start(app);
                wait_answer(app, GET("/readyz"), 200, "ok");
                weir_stop(app);
        }
        http_end(app);
}

/* Asks on one connection until the answer has that status. */
static void wait_status(struct client *client, const char *request, int status)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;

        do {
                cr_assert_lt(time(NULL), end);
                client_send(client, request);
        } while (client_next(client, false).status != status);
}

Test(http_health, a_loop_that_is_held_up_makes_livez_fail_and_readyz_not)
{
        struct weir *app = http_app(2);
        struct gate gate = { 0 };
        struct client held, free_;

        weir_use_health(app, &(struct weir_health_options){ .max_lag_ms = 1 });
        weir_get(app, "/hold", hold_loop, &gate);
        http_start(app);
        held = client_to(app); /* the door shares out: each of both has a loop for itself */
        free_ = client_to(app);
        wait_status(&free_, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 200);
        client_send(&held, GET("/hold"));
        wait_entered(&gate, 1);
        wait_status(&free_, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 503);
        wait_status(&free_, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", 200);
        cr_assert_gt(weir_lag_ns(app), 1000000);
        atomic_store(&gate.open, true);
        client_read(&held, 200);
        client_close(&held);
        wait_status(&free_, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 200);
        client_close(&free_);
        http_end(app);
}

Test(http_health, loops_that_sleep_live)
{
        struct weir *app = http_app(4);

        weir_get(app, "/", say, "ok");
        http_start(app);
        for (int i = 0; i < 1000; i++) { /* each is asked again only when it has answered */
                time_t end = time(NULL) + NET_TIMEOUT_S;

                while (weir_lag_ns(app))
                        cr_assert_lt(time(NULL), end);
        }
        http_end(app);
        cr_assert_eq(weir_lag_ns(NULL), 0);
}

static void *stop(void *app)
{
        weir_stop(app);
        return NULL;
}

Test(http_health, a_server_that_is_about_to_stop_lives_but_is_not_ready)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_delay_ms = 300 });
        struct client ready, live;
        pthread_t stopper;

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_use_health(app, NULL);
        http_start(app);
        ready = client_to(app);
        live = client_to(app);
        client_send(&ready, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(!client_read(&ready, 200).closes);
        client_send(&live, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(!client_read(&live, 200).closes);
        pthread_create(&stopper, NULL, stop, app);
        while (weir_state(app) < WEIR_LAME)
                sched_yield();
        client_send(&ready, "GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(client_read(&ready, 503).closes);
        client_send(&live, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(client_read(&live, 200).closes);
        client_close(&ready);
        client_close(&live);
        pthread_join(stopper, NULL);
        http_end(app);
}
