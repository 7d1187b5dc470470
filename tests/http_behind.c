/* http_behind.c - behind HAProxy and nginx: what they say of a client is what weir tells. */
#include "http.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GET "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

static atomic_int checks; /* requests that a proxy made on its own */

static enum weir_flow show_client(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%.*s", WEIR_FMT(ctx->client));
}

static enum weir_flow show_peer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%.*s", WEIR_FMT(ctx->peer));
}

static enum weir_flow take_check(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_expect(weir_str_is(ctx->client, "127.0.0.1"));
        atomic_fetch_add(&checks, 1);
        return weir_status(ctx, 204);
}

static struct weir *behind(const struct weir_listen_options *listen, enum weir_forwarded field)
{
        struct weir *app = weir_new(&(struct weir_options){
                .loops = 1,
                .log = drop_log,
                .trusted_proxies = field ? "127.0.0.1" : NULL,
                .forwarded = field,
        });

        weir_listen(app, "127.0.0.1:0", listen);
        weir_get(app, "/", show_client, NULL);
        weir_get(app, "/peer", show_peer, NULL);
        weir_get(app, "/check", take_check, NULL);
        http_start(app);
        return app;
}

static struct weir *behind_protocol(void)
{
        return behind(&(struct weir_listen_options){ .proxy_protocol = true,
                                                     .trusted_proxies = "127.0.0.1" },
                      WEIR_FORWARDED_NONE);
}

/* ---- Proxies. ---- */

/* A socket of a port that the kernel chose. */
static int take_port(uint16_t *port)
{
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(any);
        int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
        cr_assert_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
        getsockname(fd, (struct sockaddr *)&any, &len);
        *port = ntohs(any.sin_port);
        return fd;
}

static char folder[] = "/tmp/weir-behind-XXXXXX"; /* of the proxy that runs */
static char config_path[64];

static void write_config(const char *text)
{
        FILE *file;

        cr_assert_not_null(mkdtemp(folder));
        snprintf(config_path, sizeof(config_path), "%s/config", folder);
        file = fopen(config_path, "w");
        cr_assert_not_null(file);
        fputs(text, file);
        cr_assert_eq(fclose(file), 0);
}

static pid_t run(char *const argv[])
{
        pid_t pid = fork();

        if (pid)
                return pid;
        setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
        dup2(open("/dev/null", O_WRONLY), 2);
        execvp(argv[0], argv);
        _exit(127);
}

static void end(pid_t pid)
{
        char path[64];
        int status;

        kill(pid, SIGTERM);
        waitpid(pid, &status, 0);
        cr_assert_not(WIFEXITED(status) && WEXITSTATUS(status) == 127, "it did not run");
        unlink(config_path);
        snprintf(path, sizeof(path), "%s/tmp", folder);
        rmdir(path);
        cr_assert_eq(rmdir(folder), 0, "%s", strerror(errno));
}

/*
 * HAProxy in `mode`, with more lines in its section, and words behind the server. It inherits the
 * socket that it listens on, so clients need not wait for its start.
 */
static pid_t run_haproxy(const struct weir *app, const char *mode, const char *lines,
                         const char *server, uint16_t *port)
{
        int fd = take_port(port);
        char config[2048];
        pid_t pid;

        snprintf(config, sizeof(config),
                 "defaults\n"
                 "        mode %s\n"
                 "        timeout connect 30s\n"
                 "        timeout client 30s\n"
                 "        timeout server 30s\n"
                 "listen weir\n"
                 "        bind fd@%d\n"
                 "%s"
                 "        server weir 127.0.0.1:%u %s\n",
                 mode, fd, lines, weir_port(app, 0), server);
        write_config(config);
        cr_assert_eq(listen(fd, 16), 0);
        pid = run((char *[]){ "haproxy", "-db", "-q", "-f", config_path, NULL });
        close(fd);
        return pid;
}

/* A client to the proxy that is not at its address. */
static struct client client_from_elsewhere(uint16_t port)
{
        struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000002) } };
        struct sockaddr_in to = { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
        return client_on(net_ready(fd, (struct sockaddr *)&to, sizeof(to)));
}

/* "127.0.0.2:PORT" of such a client. */
static const char *name_of(const struct client *client)
{
        static char text[64];
        struct sockaddr_in own;
        socklen_t len = sizeof(own);

        getsockname(client->fd, (struct sockaddr *)&own, &len);
        snprintf(text, sizeof(text), "127.0.0.2:%u", ntohs(own.sin_port));
        return text;
}

/* HAProxy passes bytes on, and says for whom in a header: the peer is the client to its port. */
static void expect_the_clients_port(const char *server)
{
        struct weir *app = behind_protocol();
        uint16_t port;
        pid_t pid = run_haproxy(app, "tcp", "", server, &port);

        for (int i = 0; i < 3; i++) {
                struct client client = client_from_elsewhere(port);

                client_send(&client, "GET /peer HTTP/1.1\r\nHost: x\r\n\r\n");
                client_expect(&client, 200, name_of(&client));
                client_send(&client, GET);
                client_expect(&client, 200, "127.0.0.2");
                client_close(&client);
        }
        end(pid);
        cr_assert_eq(stats_of(app).proxy_refused, 0);
        http_end(app);
}

Test(http_behind, haproxys_version_1_is_understood)
{
        expect_the_clients_port("send-proxy");
}

Test(http_behind, haproxys_version_2_is_understood)
{
        expect_the_clients_port("send-proxy-v2");
}

Test(http_behind, haproxys_version_2_with_a_checksum_and_more_is_understood)
{
        expect_the_clients_port("send-proxy-v2 proxy-v2-options ssl,cert-cn,authority,crc32c");
}

Test(http_behind, haproxys_own_checks_come_as_itself)
{
        struct weir *app = behind_protocol();
        time_t until = time(NULL) + NET_TIMEOUT_S;
        uint16_t port;
        pid_t pid = run_haproxy(app, "tcp", "        option httpchk GET /check\n",
                                "check inter 20ms send-proxy-v2 check-send-proxy", &port);

        while (atomic_load(&checks) < 2) {
                cr_assert_lt(time(NULL), until);
                sched_yield();
        }
        end(pid);
        http_end(app);
}

/* ---- Fields. ---- */

/* What the client says of itself is in the list, and does not count. */
static void expect_by_field(pid_t pid, uint16_t port)
{
        struct client client = client_from_elsewhere(port);

        client_send(&client, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4\r\n"
                             "Forwarded: for=1.2.3.4\r\nConnection: close\r\n\r\n");
        client_expect(&client, 200, "127.0.0.2");
        client_close(&client);
        end(pid);
}

Test(http_behind, haproxys_forwarded_for_is_believed)
{
        struct weir *app = behind(NULL, WEIR_X_FORWARDED_FOR);
        uint16_t port;
        pid_t pid = run_haproxy(app, "http", "        option forwardfor\n", "", &port);

        expect_by_field(pid, port);
        http_end(app);
}

Test(http_behind, a_forwarded_field_that_haproxy_adds_is_believed)
{
        struct weir *app = behind(NULL, WEIR_FORWARDED);
        uint16_t port;
        pid_t pid = run_haproxy(
                app, "http", "        http-request add-header Forwarded for=%[src]\n", "", &port);

        expect_by_field(pid, port);
        http_end(app);
}

/* nginx on a port that is kept for it. */
static pid_t run_nginx(const struct weir *app, uint16_t port)
{
        char config[2048];

        snprintf(config, sizeof(config),
                 "daemon off;\n"
                 "master_process off;\n"
                 "pid pid;\n"
                 "error_log stderr;\n"
                 "events { }\n"
                 "http {\n"
                 "        access_log off;\n"
                 "        client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;\n"
                 "        uwsgi_temp_path tmp; scgi_temp_path tmp;\n"
                 "        server {\n"
                 "                listen 127.0.0.1:%u reuseport;\n"
                 "                location / {\n"
                 "                        proxy_pass http://127.0.0.1:%u;\n"
                 "                        proxy_set_header X-Forwarded-For "
                 "$proxy_add_x_forwarded_for;\n"
                 "                }\n"
                 "        }\n"
                 "}\n",
                 port, weir_port(app, 0));
        write_config(config);
        return run((char *[]){ "nginx", "-e", "stderr", "-p", folder, "-c", config_path, NULL });
}

/* Until somebody listens there. */
static void wait_for_port(uint16_t port)
{
        time_t until = time(NULL) + NET_TIMEOUT_S;
        int fd;

        while ((fd = net_connect(port)) < 0) {
                cr_assert_lt(time(NULL), until, "nginx does not listen");
                sched_yield();
        }
        close(fd);
}

Test(http_behind, the_forwarded_for_of_nginx_is_believed)
{
        struct weir *app = behind(NULL, WEIR_X_FORWARDED_FOR);
        uint16_t port;
        int fd = take_port(&port);
        pid_t pid = run_nginx(app, port);

        wait_for_port(port);
        expect_by_field(pid, port);
        close(fd);
        http_end(app);
}
