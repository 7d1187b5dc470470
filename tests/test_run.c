/* test_run.c - weir_run() and weir_main(): until a signal, or a stop from another thread. */
#include "kit.h"
#include "net.h"
#include "server.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define GET_CLOSE "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define GET_KEEP  "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

static void *main_of(void *app)
{
        return (void *)(intptr_t)weir_main(app);
}

Test(run, stopped_from_another_thread_main_frees_the_app_only_when_stop_is_through)
{
        struct weir *first = serving(say, "hello", 1);
        char address[32], buf[4096];

        started(first); /* finds a free port */
        snprintf(address, sizeof(address), "127.0.0.1:%u", weir_port(first, 0));
        weir_free(first);
        for (int round = 0; round < 50; round++) {
                struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
                uint16_t port = (uint16_t)strtoul(strchr(address, ':') + 1, NULL, 10);
                pthread_t runner;
                void *status;

                weir_listen(app, address, NULL);
                weir_get(app, "/", say, "hello");
                pthread_create(&runner, NULL, main_of, app);
                while (net_once(port, GET_CLOSE, buf, sizeof(buf)) != 200)
                        ; /* until it serves */
                weir_stop(app);
                pthread_join(runner, &status);
                cr_assert_eq((intptr_t)status, 0);
        }
}

/* weir_run() in a child: what it exits with after the signals. */
static int run_until(const int *signals, weir_request_fn *fn, void *self, bool connect_first)
{
        int ready[2], status, fd = -1;
        uint16_t port = 0;
        pid_t child;

        cr_assert_eq(pipe(ready), 0);
        child = fork();
        if (child == 0) {
                struct weir *app = serving(fn, self, 1);

                started(app);
                port = weir_port(app, 0);
                weir_stop(app);
                weir_free(app);
                app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
                weir_get(app, "/", fn, self);
                {
                        char address[32];

                        snprintf(address, sizeof(address), "127.0.0.1:%u", port);
                        weir_listen(app, address, NULL);
                }
                if (write(ready[1], &port, sizeof(port)) < 0)
                        _exit(99);
                _exit(weir_main(app));
        }
        cr_assert_eq(read(ready[0], &port, sizeof(port)), (ssize_t)sizeof(port));
        while ((fd = net_connect(port)) < 0)
                ; /* until it listens */
        if (connect_first)
                cr_assert(net_send(fd, GET_KEEP, strlen(GET_KEEP)));
        for (; *signals; signals++)
                kill(child, *signals);
        waitpid(child, &status, 0);
        close(fd);
        close(ready[0]);
        close(ready[1]);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Test(run, run_ends_cleanly_on_sigterm_and_on_sigint)
{
        cr_assert_eq(run_until((const int[]){ SIGTERM, 0 }, say, "x", false), 0);
        cr_assert_eq(run_until((const int[]){ SIGINT, 0 }, say, "x", false), 0);
}

/* ---- Signals, one by one. ---- */

/* A child that says each state it comes to, and has a request that never ends when told so. */
struct child {
        pid_t    pid;
        int      states;
        uint16_t port;
};

static enum weir_flow never_return(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        for (;;)
                pause();
        return WEIR_DONE;
}

static struct weir *child_app;
static int          child_out;

static void *tell_states(void *arg)
{
        char last = WEIR_STOPPED, state;

        (void)arg;
        for (;;) {
                state = (char)weir_state(child_app);
                if (state != last && write(child_out, &state, 1) < 0)
                        _exit(98);
                last = state;
                sched_yield();
        }
        return NULL;
}

static void be_child(int out, uint16_t port)
{
        char address[32];
        sigset_t ours;
        pthread_t teller;

        child_out = out;
        child_app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_delay_ms = 600000 });
        snprintf(address, sizeof(address), "127.0.0.1:%u", port);
        weir_listen(child_app, address, NULL);
        weir_get(child_app, "/", never_return, NULL);
        sigemptyset(&ours);
        sigaddset(&ours, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ours, NULL);
        pthread_create(&teller, NULL, tell_states, NULL);
        _exit(weir_run(child_app) < 0);
}

static struct child start_child(void)
{
        struct weir *app = serving(say, "x", 1); /* finds a free port */
        struct child child;
        int states[2];

        started(app);
        child.port = weir_port(app, 0);
        weir_free(app);
        cr_assert_eq(pipe(states), 0);
        child.pid = fork();
        if (child.pid == 0)
                be_child(states[1], child.port);
        close(states[1]);
        child.states = states[0];
        return child;
}

static void expect_state(const struct child *child, enum weir_state state)
{
        char told;

        do
                cr_assert_eq(read(child->states, &told, 1), 1, "the child ended before state %d",
                             state);
        while (told != (char)state);
}

static int status_of_child(struct child *child)
{
        int status;

        waitpid(child->pid, &status, 0);
        close(child->states);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Test(run, a_second_signal_ends_the_delay_before_the_drain)
{
        struct child child = start_child();

        expect_state(&child, WEIR_RUNNING);
        kill(child.pid, SIGTERM);
        expect_state(&child, WEIR_LAME);
        kill(child.pid, SIGTERM);
        cr_assert_eq(status_of_child(&child), 0);
}

Test(run, a_second_signal_cuts_off_what_is_in_flight_and_a_third_ends_the_process)
{
        struct child child = start_child();
        int fd;

        while ((fd = net_connect(child.port)) < 0)
                ; /* until it listens */
        cr_assert(net_send(fd, GET_KEEP, strlen(GET_KEEP)));
        kill(child.pid, SIGTERM);
        expect_state(&child, WEIR_LAME);
        kill(child.pid, SIGTERM);
        expect_state(&child, WEIR_CANCEL); /* and stays there: the handler does not return */
        kill(child.pid, SIGTERM);
        cr_assert_eq(status_of_child(&child), 1);
        close(fd);
}

Test(run, in_a_pod_of_kubernetes_the_delay_is_5_s_unless_the_options_say_otherwise)
{
        cr_assert_eq(weir__run_delay_ms(0, NULL), 0);
        cr_assert_eq(weir__run_delay_ms(0, "10.0.0.1"), 5000);
        cr_assert_eq(weir__run_delay_ms(WEIR_NONE, "10.0.0.1"), WEIR_NONE);
        cr_assert_eq(weir__run_delay_ms(7, "10.0.0.1"), 7);
}

Test(run, none_is_no_delay)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1, .log = drop_log, .drain_delay_ms = WEIR_NONE });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "x");
        started(app);
        cr_assert_eq(weir_stop(app), 0);
        weir_free(app);
}

/* ---- Without descriptors. ---- */

/* How many descriptors this process may have; how many it could before. */
static rlim_t allow_descriptors(rlim_t n)
{
        struct rlimit limit;
        rlim_t before;

        getrlimit(RLIMIT_NOFILE, &limit);
        before = limit.rlim_cur;
        limit.rlim_cur = n;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        return before;
}

/* weir_run() while no descriptor can be had: fails, for that reason. */
static void run_without_descriptors(struct weir *app)
{
        rlim_t before = allow_descriptors(0);

        cr_assert_eq(weir_run(app), -1);
        allow_descriptors(before);
        cr_assert(strstr(weir_error(app), "weir_run()"), "%s", weir_error(app));
}

Test(run, a_run_without_a_descriptor_for_signals_says_so_and_the_next_start_succeeds)
{
        struct weir *app = serving(say, "hello", 1);

        run_without_descriptors(app);
        started(app);
        cr_assert_null(weir_error(app));
        weir_free(app);
}

Test(run, a_run_without_a_descriptor_for_signals_may_be_tried_again)
{
        struct weir *app = serving(say, "hello", 1);
        sigset_t term;

        run_without_descriptors(app);
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &term, NULL);
        raise(SIGTERM); /* waits until somebody reads it */
        cr_assert_eq(weir_run(app), 0, "%s", weir_error(app));
        weir_free(app);
}

Test(run, each_failure_of_a_start_is_told_in_place_of_the_one_before)
{
        struct weir *app = serving(say, "hello", 1);

        weir_listen(app, "unix:/nowhere/at/all", NULL);
        cr_assert_eq(weir_run(app), -1);
        cr_assert(strstr(weir_error(app), "/nowhere/at/all"), "%s", weir_error(app));
        run_without_descriptors(app);
        cr_assert_eq(weir_run(app), -1);
        cr_assert(strstr(weir_error(app), "/nowhere/at/all"), "%s", weir_error(app));
        weir_free(app);
}

Test(run, an_error_of_the_setup_stays_the_first)
{
        struct weir *app = serving(say, "hello", 1);
        rlim_t before;

        weir_setup_error(app, "first");
        before = allow_descriptors(0);
        cr_assert_eq(weir_run(app), -1);
        allow_descriptors(before);
        cr_assert_str_eq(weir_error(app), "first");
        weir_free(app);
}
