/*
 * http_inherit.c - listening sockets that somebody else has opened, from one server to the next;
 * and what systemd passes and is told.
 */
#include "http.h"
#include "notify.h"
#include "systemd.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define GET       "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_CLOSE "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* ---- Sockets. ---- */

static int listening_tcp(uint16_t *port)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
        cr_assert_eq(listen(fd, 128), 0);
        getsockname(fd, (struct sockaddr *)&address, &len);
        *port = ntohs(address.sin_port);
        return fd;
}

static int bound_unix(int type, const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, type, 0);

        strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
        cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

/* A path in a folder of its own. */
static char *new_path(const char *name)
{
        static char path[64];
        char folder[] = "/tmp/weir-test-XXXXXX";

        cr_assert(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return path;
}

static void remove_path(char *path)
{
        unlink(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
}

static struct weir *app_on(int fd, const char *text)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 2, .log = drop_log });
        char address[32];

        snprintf(address, sizeof(address), "fd:%d", fd);
        weir_listen(app, address, NULL);
        weir_get(app, "/", say, (void *)(uintptr_t)text);
        return app;
}

/* ---- Descriptors by number. ---- */

Test(http_inherit, a_tcp_socket_is_served_and_its_port_known)
{
        uint16_t port;
        int fd = listening_tcp(&port);
        struct weir *app = app_on(fd, "inherited");
        struct client client;

        http_start(app);
        cr_assert_eq(weir_port(app, 0), port);
        cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        client = client_to(app);
        client_send(&client, GET_CLOSE);
        client_expect(&client, 200, "inherited");
        client_expect_end(&client);
        client_close(&client);
        http_end(app);
        close(fd);
}

static atomic_uint n_shut;

static void count_shut(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level;
        atomic_fetch_add(&n_shut, strstr(line, "was shut down") != NULL);
}

Test(http_inherit, one_that_somebody_shuts_down_is_given_up_once_and_the_others_are_served)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = count_shut });
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct client client;
        uint16_t port;
        char address[32];
        int fd = listening_tcp(&port);

        snprintf(address, sizeof(address), "fd:%d", fd);
        weir_listen(app, "127.0.0.1:0", NULL);
        weir_listen(app, address, NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
        shutdown(fd, SHUT_RDWR);
        while (!atomic_load(&n_shut)) {
                cr_assert_lt(time(NULL), end, "nobody has noticed");
                sched_yield();
        }
        for (int i = 0; i < 50; i++) { /* each wakes the door */
                client = client_to(app);
                client_expect_alive(&client);
                client_close(&client);
        }
        http_end(app);
        cr_assert_eq(n_shut, 1);
        close(fd);
}

Test(http_inherit, a_unix_socket_is_served_and_its_file_stays)
{
        char *path = new_path("sock");
        int fd = bound_unix(SOCK_STREAM, path);
        struct weir *app = app_on(fd, "inherited");
        struct client client;

        cr_assert_eq(listen(fd, 8), 0);
        http_start(app);
        cr_assert_eq(weir_port(app, 0), 0);
        client = client_on(net_connect_unix(path));
        client_send(&client, GET_CLOSE);
        client_expect(&client, 200, "inherited");
        client_close(&client);
        http_end(app);
        cr_assert_eq(access(path, F_OK), 0);
        close(fd);
        remove_path(path);
}

Test(http_inherit, who_connects_between_two_servers_is_served_by_the_second)
{
        uint16_t port;
        int fd = listening_tcp(&port);
        struct weir *app = app_on(fd, "first");
        struct client client;

        http_start(app);
        cr_assert_eq(weir_stop(app), 0);
        client = client_on(net_connect(port));
        client_send(&client, GET);
        weir_free(app);
        app = app_on(fd, "second");
        http_start(app);
        client_expect(&client, 200, "second");
        client_close(&client);
        http_end(app);
        close(fd);
}

Test(http_inherit, an_app_that_stopped_may_start_again)
{
        uint16_t port;
        int fd = listening_tcp(&port);
        struct weir *app = app_on(fd, "again");

        for (int i = 0; i < 10; i++) {
                struct client client;

                http_start(app);
                client = client_to(app);
                client_send(&client, GET_CLOSE);
                client_expect(&client, 200, "again");
                client_close(&client);
                weir_stop(app);
        }
        http_end(app);
        close(fd);
}

static void expect_mistake(const char *address, const struct weir_listen_options *options,
                           const char *sentence)
{
        struct weir *app = http_app(1);

        weir_listen(app, address, options);
        weir_get(app, "/", say, "x");
        cr_assert_eq(weir_start(app), -1, "%s", address);
        cr_assert(strstr(weir_error(app), sentence), "%s", weir_error(app));
        weir_free(app);
}

static void expect_mistake_of(int fd, const char *sentence)
{
        char address[32];

        snprintf(address, sizeof(address), "fd:%d", fd);
        expect_mistake(address, NULL, sentence);
        close(fd);
}

Test(http_inherit, what_is_no_listening_stream_socket_fails_the_start_with_the_reason)
{
        char *path = new_path("sock");
        uint16_t port;
        int fd;

        expect_mistake("fd:", NULL, "listen \"fd:\": write the number of a descriptor");
        expect_mistake("fd:-1", NULL, "write the number");
        expect_mistake("fd: 3", NULL, "write the number");
        expect_mistake("fd:3x", NULL, "write the number");
        expect_mistake("fd:99999999999999999999", NULL, "write the number");
        expect_mistake("fd:1000000", NULL, "descriptor 1000000 is not open in this process");
        expect_mistake_of(open("/dev/null", O_RDWR | O_CLOEXEC), "is not a TCP socket");
        expect_mistake_of(socket(AF_INET, SOCK_DGRAM, 0), "is not a TCP socket");
        expect_mistake_of(socket(AF_INET, SOCK_STREAM, 0), "does not listen");
        expect_mistake_of(bound_unix(SOCK_SEQPACKET, path), "is not a TCP socket");
        remove_path(path);
        fd = listening_tcp(&port);
        {
                char address[32];

                snprintf(address, sizeof(address), "fd:%d", fd);
                expect_mistake(address, &(struct weir_listen_options){ .unix_mode = 0600 },
                               "whoever opens it chooses its mode");
        }
        close(fd);
}

/* ---- Restarts under load. ---- */

#define CLIENTS  4
#define RESTARTS 5

static uint16_t    load_port;
static atomic_bool load_over;
static atomic_uint answered, lost;

/* Has the server's end of the connection come? What is sent then is too late. */
static bool has_ended(const struct client *client)
{
        char byte;

        return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void *ask_on_and_on(void *arg)
{
        struct client client = client_on(net_connect(load_port));

        (void)arg;
        while (!atomic_load(&load_over)) {
                struct answer answer = { 0 };

                if (has_ended(&client)) {
                        client_close(&client);
                        client = client_on(net_connect(load_port));
                }
                if (client_try_send(&client, GET, strlen(GET)))
                        answer = client_next(&client, false);
                atomic_fetch_add(answer.status == 200 ? &answered : &lost, 1);
                if (answer.status != 200 || answer.closes) {
                        client_close(&client);
                        client = client_on(net_connect(load_port));
                }
        }
        client_close(&client);
        return NULL;
}

static void wait_answers(unsigned more)
{
        unsigned from = atomic_load(&answered);
        time_t end = time(NULL) + NET_TIMEOUT_S;

        while (atomic_load(&answered) < from + more) {
                cr_assert_lt(time(NULL), end);
                sched_yield();
        }
}

Test(http_inherit, restarts_under_load_lose_nothing)
{
        int fd = listening_tcp(&load_port);
        struct weir *app = app_on(fd, "ok"), *next;
        pthread_t threads[CLIENTS];

        http_start(app);
        for (int i = 0; i < CLIENTS; i++)
                pthread_create(&threads[i], NULL, ask_on_and_on, NULL);
        for (int i = 0; i < RESTARTS; i++) {
                wait_answers(100);
                next = app_on(fd, "ok");
                http_start(next);
                http_end(app);
                app = next;
        }
        wait_answers(100);
        atomic_store(&load_over, true);
        for (int i = 0; i < CLIENTS; i++)
                pthread_join(threads[i], NULL);
        http_end(app);
        close(fd);
        cr_assert_eq(atomic_load(&lost), 0);
}

/* ---- systemd. ---- */

/* A process as systemd starts it: sockets from 3 on, their names, whom to notify. */
static pid_t start_service(const int *fds, int n, const char *names, const char *notify,
                           const char *const *addresses)
{
        pid_t child = fork();
        struct weir *app;
        char text[32];

        if (child)
                return child;
        for (int i = 0; i < n; i++) /* first out of the way of each other */
                cr_assert_neq(fcntl(fds[i], F_DUPFD, 100 + i), -1);
        for (int i = 0; i < n; i++)
                dup2(100 + i, 3 + i);
        snprintf(text, sizeof(text), "%d", (int)getpid());
        setenv("LISTEN_PID", text, 1);
        setenv("WATCHDOG_PID", text, 1);
        snprintf(text, sizeof(text), "%d", n);
        setenv("LISTEN_FDS", text, 1);
        setenv("LISTEN_FDNAMES", names, 1);
        setenv("WATCHDOG_USEC", "20000", 1);
        setenv("NOTIFY_SOCKET", notify, 1);
        app = weir_new(&(struct weir_options){ .loops = 2, .log = drop_log });
        for (; *addresses; addresses++)
                weir_listen(app, *addresses, NULL);
        weir_get(app, "/", say, "service");
        if (weir_run(app) < 0)
                _exit(2);
        weir_free(app);
        _exit(0);
}

static int end_of(pid_t child)
{
        int status;

        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What it tells until it tells that; other states than `between` must not come before. */
static void expect_told(int fd, const char *state, const char *between)
{
        char told[256];
        ssize_t n;

        for (;;) {
                n = recv(fd, told, sizeof(told) - 1, 0);
                cr_assert_gt(n, 0, "%s is not told", state);
                told[n] = '\0';
                if (!strcmp(told, state))
                        return;
                cr_assert(between && !strcmp(told, between), "%s, before %s", told, state);
        }
}

static bool is_refused(uint16_t port)
{
        int fd = net_connect(port);
        char buf[1024];
        bool refused;

        if (fd < 0)
                return true;
        refused = !net_send(fd, GET_CLOSE, strlen(GET_CLOSE)) || net_read_all(fd, buf, 1024) <= 0;
        close(fd);
        return refused;
}

Test(http_inherit, sockets_come_from_systemd_by_name_and_it_is_told_what_goes_on)
{
        struct timeval timeout = { .tv_sec = NET_TIMEOUT_S };
        char *path = new_path("notify"), buf[4096];
        uint16_t web[2], other;
        int fds[3] = { listening_tcp(&web[0]), listening_tcp(&other), listening_tcp(&web[1]) };
        int notify = bound_unix(SOCK_DGRAM, path);
        static const char *const addresses[] = { "systemd:web", NULL };
        pid_t child;

        setsockopt(notify, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        child = start_service(fds, 3, "web:other:web", path, addresses);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        if (weir__systemd_listeners(NULL, fds, 3) < 0) { /* built without */
                cr_assert_eq(end_of(child), 2);
        } else {
                expect_told(notify, "READY=1", NULL);
                for (int i = 0; i < 2; i++) {
                        cr_assert_eq(net_once(web[i], GET_CLOSE, buf, sizeof(buf)), 200);
                        cr_assert(strstr(buf, "\r\n\r\nservice"));
                }
                for (int i = 0; i < 5; i++)
                        expect_told(notify, "WATCHDOG=1", NULL);
                kill(child, SIGTERM);
                expect_told(notify, "STOPPING=1", "WATCHDOG=1");
                cr_assert_eq(end_of(child), 0);
                cr_assert(is_refused(other));
        }
        close(notify);
        remove_path(path);
}

Test(http_inherit, a_socket_that_systemd_did_not_pass_fails_the_start)
{
        bool built = weir__systemd_listeners(NULL, NULL, 0) >= 0;

        expect_mistake("systemd", NULL,
                       built ? "systemd has passed no such socket: start the process by a .socket"
                             : "this weir was built without libsystemd");
        expect_mistake("systemd:web", NULL,
                       built ? "FileDescriptorName=" : "this weir was built without libsystemd");
}

Test(http_inherit, an_app_that_is_not_run_by_itself_tells_nobody)
{
        char *path = new_path("notify"), told[64];
        int notify = bound_unix(SOCK_DGRAM, path);
        struct weir *app = http_app(1);

        setenv("NOTIFY_SOCKET", path, 1);
        weir_get(app, "/", say, "ok");
        http_start(app);
        http_end(app);
        cr_assert_lt(recv(notify, told, sizeof(told), MSG_DONTWAIT), 0);
        close(notify);
        remove_path(path);
}

Test(http_inherit, there_is_no_sign_of_life_while_a_loop_owes_one_for_too_long)
{
        char *path = new_path("notify"), told[64];
        int notify = bound_unix(SOCK_DGRAM, path);
        struct weir__notify state = { .on = true, .every_ns = 1000, .due_ns = 5000 };

        setenv("NOTIFY_SOCKET", path, 1);
        cr_assert(!weir__notify_is_due(&state, 4999));
        cr_assert(weir__notify_is_due(&state, 5000));
        weir__notify_alive(&state, 1000, 5000);
        cr_assert_lt(recv(notify, told, sizeof(told), MSG_DONTWAIT), 0);
        cr_assert(!weir__notify_is_due(&state, 5999));
        cr_assert(weir__notify_is_due(&state, 6000));
        weir__notify_alive(&state, 999, 6000);
        cr_assert_eq(recv(notify, told, sizeof(told), MSG_DONTWAIT) > 0,
                     weir__systemd_listeners(NULL, NULL, 0) >= 0);
        close(notify);
        remove_path(path);
}
