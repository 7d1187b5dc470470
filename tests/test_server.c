/* test_server.c - starting and stopping, as a part of somebody else's process. */
#include "kit.h"
#include "net.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GET_CLOSE "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define GET_KEEP  "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

static unsigned open_descriptors(void)
{
        DIR *dir = opendir("/proc/self/fd");
        unsigned n = 0;

        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

Test(server, serves_over_a_socket_and_stops)
{
        struct weir *app = serving(say, "hello", 1);
        char buf[4096];

        started(app);
        cr_assert_eq(net_once(weir_port(app, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        cr_assert(strstr(buf, "\r\n\r\nhello"));
        cr_assert_eq(weir_stop(app), 0);
        cr_assert_eq(net_connect(weir_port(app, 0)), -1);
        weir_free(app);
}

Test(server, starts_and_stops_a_hundred_times_without_losing_a_descriptor)
{
        struct weir *app = serving(say, "hello", 2);
        unsigned before;
        char buf[4096];

        started(app);
        weir_stop(app);
        weir_start(app);
        before = open_descriptors();
        for (int i = 0; i < 100; i++) {
                weir_stop(app);
                started(app);
                cr_assert_eq(net_once(weir_port(app, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        }
        cr_assert_eq(open_descriptors(), before);
        weir_free(app);
}

Test(server, two_apps_in_one_process_share_nothing)
{
        struct weir *a = serving(say, "a", 1), *b = serving(say, "b", 1);
        struct weir_stats stats;
        char buf[4096];

        started(a);
        started(b);
        cr_assert_eq(net_once(weir_port(a, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        cr_assert(strstr(buf, "\r\n\r\na"));
        cr_assert_eq(net_once(weir_port(b, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        cr_assert(strstr(buf, "\r\n\r\nb"));
        weir_stop(a);
        cr_assert_eq(net_once(weir_port(b, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        weir_stats(b, &stats);
        cr_assert_eq(stats.requests, 2);
        weir_free(a);
        weir_free(b);
}

Test(server, leaves_the_signals_of_its_host_alone)
{
        static const int signals[] = { SIGINT, SIGTERM, SIGPIPE, SIGHUP };
        struct weir *app = serving(say, "hello", 2);
        struct sigaction before[4], after;
        sigset_t mask_before, mask_after;
        char buf[4096];

        sigprocmask(SIG_SETMASK, NULL, &mask_before);
        for (int i = 0; i < 4; i++)
                sigaction(signals[i], NULL, &before[i]);
        started(app);
        net_once(weir_port(app, 0), GET_CLOSE, buf, sizeof(buf));
        weir_stop(app);
        weir_free(app);
        sigprocmask(SIG_SETMASK, NULL, &mask_after);
        for (int s = 1; s < 65; s++)
                cr_assert_eq(sigismember(&mask_before, s), sigismember(&mask_after, s));
        for (int i = 0; i < 4; i++) {
                sigaction(signals[i], NULL, &after);
                cr_assert_eq(after.sa_handler, before[i].sa_handler);
        }
}

static void *stop_it(void *app)
{
        weir_stop(app);
        return NULL;
}

Test(server, stops_once_however_many_ask)
{
        struct weir *app = serving(say, "hello", 2);
        pthread_t threads[8];

        started(app);
        for (int i = 0; i < 8; i++)
                pthread_create(&threads[i], NULL, stop_it, app);
        for (int i = 0; i < 8; i++)
                pthread_join(threads[i], NULL);
        cr_assert_eq(weir_stop(app), 0);
        weir_free(app);
}

static enum weir_flow stop_and_answer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_stop(weir_app(ctx));
        return weir_text(ctx, 200, "bye");
}

Test(server, a_handler_may_stop_the_server_and_its_answer_still_goes_out)
{
        struct weir *app = serving(stop_and_answer, NULL, 1);
        char buf[4096];

        started(app);
        cr_assert_eq(net_once(weir_port(app, 0), GET_KEEP, buf, sizeof(buf)), 200);
        cr_assert(strstr(buf, "bye"));
        weir_stop(app);
        weir_free(app);
}

Test(server, stop_closes_idle_connections_at_once)
{
        struct weir *app = serving(say, "hello", 1);
        char buf[4096];
        int fd;

        started(app);
        fd = net_connect(weir_port(app, 0));
        cr_assert(net_send(fd, GET_KEEP, strlen(GET_KEEP)));
        cr_assert_gt(net_read_answer(fd, buf, sizeof(buf)), 0);
        cr_assert_eq(net_status(buf), 200);
        weir_stop(app); /* must not wait for drain_timeout_ms, 20 s */
        cr_assert_eq(net_read_all(fd, buf, sizeof(buf)), 0, "closed, with nothing more sent");
        close(fd);
        weir_free(app);
}

/* A handler that waits until the test lets it go on. */
struct gate {
        pthread_mutex_t lock;
        pthread_cond_t  cond;
        int             entered, open;
};

static enum weir_flow pass_gate(struct weir_ctx *ctx, void *self)
{
        struct gate *gate = self;

        pthread_mutex_lock(&gate->lock);
        gate->entered++;
        pthread_cond_broadcast(&gate->cond);
        while (!gate->open)
                pthread_cond_wait(&gate->cond, &gate->lock);
        pthread_mutex_unlock(&gate->lock);
        return weir_text(ctx, 200, "through");
}

Test(server, requests_in_flight_finish_and_say_close)
{
        struct gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
        struct weir *app = serving(pass_gate, &gate, 1);
        pthread_t stopper;
        char buf[4096];
        int fd;

        started(app);
        fd = net_connect(weir_port(app, 0));
        cr_assert(net_send(fd, GET_KEEP, strlen(GET_KEEP)));
        pthread_mutex_lock(&gate.lock);
        while (!gate.entered)
                pthread_cond_wait(&gate.cond, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
        pthread_create(&stopper, NULL, stop_it, app);
        while (net_connect(weir_port(app, 0)) >= 0)
                ; /* until the door is closed */
        pthread_mutex_lock(&gate.lock);
        gate.open = 1;
        pthread_cond_broadcast(&gate.cond);
        pthread_mutex_unlock(&gate.lock);
        cr_assert_gt(net_read_all(fd, buf, sizeof(buf)), 0);
        cr_assert_eq(net_status(buf), 200);
        cr_assert(strstr(buf, "through"));
        cr_assert(strstr(buf, "\r\nConnection: close\r\n"));
        pthread_join(stopper, NULL);
        close(fd);
        weir_free(app);
}

Test(server, listens_on_v4_v6_and_unix_sockets_at_once)
{
        struct weir *app = serving(say, "hello", 2);
        char path[] = "/tmp/weir-test-XXXXXX", address[64], buf[4096];
        struct stat st;
        int fds[3];

        cr_assert(mkdtemp(path));
        snprintf(address, sizeof(address), "unix:%s/sock", path);
        weir_listen(app, "[::1]:0", NULL);
        weir_listen(app, address, &(struct weir_listen_options){ .unix_mode = 0600 });
        started(app);
        cr_assert_eq(weir_port(app, 2), 0);
        cr_assert_eq(stat(address + 5, &st), 0);
        cr_assert_eq(st.st_mode & 0777, 0600);
        fds[0] = net_connect(weir_port(app, 0));
        fds[1] = net_connect_v6(weir_port(app, 1));
        fds[2] = net_connect_unix(address + 5);
        for (int i = 0; i < 3; i++) {
                cr_assert_geq(fds[i], 0, "listener %d", i);
                cr_assert(net_send(fds[i], GET_CLOSE, strlen(GET_CLOSE)));
                cr_assert_gt(net_read_all(fds[i], buf, sizeof(buf)), 0);
                cr_assert_eq(net_status(buf), 200);
                close(fds[i]);
        }
        weir_free(app);
        cr_assert_eq(stat(address + 5, &st), -1, "the socket file is removed");
        rmdir(path);
}

Test(server, a_stale_socket_file_is_replaced_and_a_live_one_is_not)
{
        struct weir *first = serving(say, "1", 1), *second = serving(say, "2", 1);
        char path[] = "/tmp/weir-test-XXXXXX", address[64];
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        int stale;

        cr_assert(mkdtemp(path));
        snprintf(address, sizeof(address), "unix:%s/sock", path);
        strcpy(un.sun_path, address + 5);
        stale = socket(AF_UNIX, SOCK_STREAM, 0);
        cr_assert_eq(bind(stale, (struct sockaddr *)&un, sizeof(un)), 0);
        close(stale);
        weir_listen(first, address, NULL);
        weir_listen(second, address, NULL);
        started(first);
        cr_assert_eq(weir_start(second), -1);
        cr_assert(strstr(weir_error(second), address));
        weir_free(second);
        weir_free(first);
        rmdir(path);
}

Test(server, a_file_that_is_no_socket_is_not_touched)
{
        struct weir *app = serving(say, "1", 1);
        char path[] = "/tmp/weir-test-XXXXXX", address[64];
        struct stat st;

        close(mkstemp(path));
        snprintf(address, sizeof(address), "unix:%s", path);
        weir_listen(app, address, NULL);
        cr_assert_eq(weir_start(app), -1);
        cr_assert(strstr(weir_error(app), path));
        cr_assert_eq(stat(path, &st), 0);
        unlink(path);
        weir_free(app);
}

Test(server, a_port_that_is_taken_fails_the_start_and_leaves_nothing_behind)
{
        struct weir *first = serving(say, "1", 1), *second;
        char address[32];
        unsigned before;

        started(first);
        snprintf(address, sizeof(address), "127.0.0.1:%u", weir_port(first, 0));
        before = open_descriptors();
        second = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
        weir_listen(second, "127.0.0.1:0", NULL);
        weir_listen(second, address, NULL);
        weir_get(second, "/", say, "2");
        cr_assert_eq(weir_start(second), -1);
        cr_assert(strstr(weir_error(second), address));
        cr_assert_eq(open_descriptors(), before);
        weir_stop(first);
        started(second); /* an error of the start does not stick */
        weir_free(first);
        weir_free(second);
}

static atomic_int n_open, n_opened;

static void *open_local(void *arg, const char **why)
{
        (void)why;
        atomic_fetch_add(&n_open, 1);
        atomic_fetch_add(&n_opened, 1);
        return arg;
}

static void close_local(void *value, void *arg)
{
        cr_assert_eq(value, arg);
        atomic_fetch_sub(&n_open, 1);
}

static enum weir_flow use_local(struct weir_ctx *ctx, void *self)
{
        cr_assert_not_null(weir_local_get(ctx, *(struct weir_local *)self));
        return weir_text(ctx, 200, "ok");
}

Test(server, a_value_per_loop_is_opened_and_closed_once_by_each_loop)
{
        static const struct weir_local_type type = { "db", open_local, close_local, { 0 } };
        struct weir_local local;
        struct weir *app = serving(use_local, &local, 3);
        char buf[4096];

        local = weir_local(app, &type, &n_open);
        for (int round = 1; round <= 2; round++) {
                started(app);
                cr_assert_eq(atomic_load(&n_opened), 3 * round);
                cr_assert_eq(net_once(weir_port(app, 0), GET_CLOSE, buf, sizeof(buf)), 200);
                weir_stop(app);
                cr_assert_eq(atomic_load(&n_open), 0);
        }
        weir_free(app);
}

Test(server, connections_over_the_limit_are_closed_and_counted)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1,
                                                            .max_connections = 2,
                                                            .over_connections = WEIR_OVER_REFUSE,
                                                            .log = drop_log });
        struct weir_stats stats;
        char buf[4096];
        int fds[3];

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", say, "hello");
        started(app);
        for (int i = 0; i < 2; i++) {
                fds[i] = net_connect(weir_port(app, 0));
                cr_assert(net_send(fds[i], GET_KEEP, strlen(GET_KEEP)));
                cr_assert_gt(net_read_answer(fds[i], buf, sizeof(buf)), 0);
        }
        fds[2] = net_connect(weir_port(app, 0));
        cr_assert_leq(net_read_all(fds[2], buf, sizeof(buf)), 0);
        weir_stats(app, &stats);
        cr_assert_eq(stats.connections_refused, 1);
        cr_assert_eq(stats.connections_open, 2);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        weir_free(app);
}

Test(server, many_idle_connections_do_not_hide_a_new_one_or_a_stop)
{
        struct weir *app = serving(say, "hello", 1);
        char buf[4096];
        int fds[200];

        started(app);
        for (int i = 0; i < 200; i++) { /* more than libmicrohttpd asks epoll for at once */
                fds[i] = net_connect(weir_port(app, 0));
                cr_assert(net_send(fds[i], GET_KEEP, strlen(GET_KEEP)));
                cr_assert_gt(net_read_answer(fds[i], buf, sizeof(buf)), 0, "connection %d", i);
        }
        for (int i = 0; i < 200; i++)
                cr_assert_eq(net_once(weir_port(app, 0), GET_CLOSE, buf, sizeof(buf)), 200);
        weir_stop(app);
        for (int i = 0; i < 200; i++) {
                cr_assert_eq(net_read_all(fds[i], buf, sizeof(buf)), 0);
                close(fds[i]);
        }
        weir_free(app);
}

static ssize_t break_at_once(void *arg, char *buf, size_t size)
{
        (void)arg, (void)buf, (void)size;
        return -1;
}

static enum weir_flow broken(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_stream(ctx, 200, "text/plain", WEIR_UNKNOWN_LENGTH, break_at_once, NULL, NULL);
}

Test(server, a_stream_that_breaks_off_closes_its_connection_at_once)
{
        struct weir *app = serving(broken, NULL, 1);
        char buf[4096];
        int fd;

        started(app);
        fd = net_connect(weir_port(app, 0));
        cr_assert(net_send(fd, GET_KEEP, strlen(GET_KEEP)));
        errno = 0;
        net_read_all(fd, buf, sizeof(buf)); /* ends, and not by its time-out */
        cr_assert_null(strstr(buf, "\r\n0\r\n\r\n"), "no proper end: %s", buf);
        cr_assert_neq(errno, EAGAIN);
        close(fd);
        weir_free(app);
}
