/* test_run.c - weir_run() and weir_main(): until a signal, or a stop from another thread. */
#include "kit.h"
#include "net.h"

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
