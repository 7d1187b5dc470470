/*
 * mhd_probe.c - does this libmicrohttpd send a response whose contents were changed in place?
 *
 * Writing into the value that MHD_get_response_header() returns is outside MHD's contract, so it is
 * tried at every start: a daemon of its own answers two requests over a socket pair, from one
 * response that changes between them, and the bytes are compared.
 */
#include <microhttpd.h>

#include "mhd_private.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BLOCK "Thu, 01 Jan 1970 00:00:00 GMT\r\nX-Probe: %c      "

struct probe {
        struct MHD_Response *response;
        char                *block;
        char                 body[1];
        bool                 closes;
};

/* The answer is queued in the second callback: see mhd.c. */
static enum MHD_Result answer(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
        struct probe *probe = self;

        (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
        if (!*request) {
                *request = probe;
                return MHD_YES;
        }
        return MHD_queue_response(connection, 200, probe->response);
}

/* One request and what comes back, NUL-terminated. */
static bool ask(struct MHD_Daemon *daemon, int fd, char *reply, size_t size)
{
        static const char request[] = "GET / HTTP/1.1\r\nHost: probe\r\n\r\n";
        ssize_t n = -1;

        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(request) - 1)
                return false;
        for (int turns = 0; turns < 10 && n <= 0; turns++) {
                MHD_run_wait(daemon, 0);
                n = recv(fd, reply, size - 1, MSG_DONTWAIT);
        }
        reply[n > 0 ? n : 0] = '\0';
        return n > 0;
}

static bool try_once(struct MHD_Daemon *daemon, struct probe *probe, int fd, char mark, bool close)
{
        char reply[1024], field[64], body[8];
        char *head_end;

        snprintf(field, sizeof(field), BLOCK, mark);
        memcpy(probe->block, field, strlen(field));
        probe->body[0] = mark;
        if (close)
                MHD_set_response_options(probe->response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                         MHD_RO_END);
        if (!ask(daemon, fd, reply, sizeof(reply)))
                return false;
        snprintf(field, sizeof(field), "\r\nX-Probe: %c      \r\n", mark);
        snprintf(body, sizeof(body), "\r\n\r\n%c", mark);
        head_end = strstr(reply, "\r\n\r\n");
        return head_end && !strcmp(head_end, body) && strstr(reply, field) &&
               strstr(reply, "\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n") &&
               !strstr(strstr(reply, "\r\nDate:") + 1, "\r\nDate:") &&
               !strstr(reply, "\r\nConnection: close\r\n") == !close;
}

static bool run(struct MHD_Daemon *daemon, struct probe *probe, int fds[2])
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (MHD_add_connection(daemon, fds[0], (const struct sockaddr *)&address,
                               sizeof(address)) != MHD_YES)
                return false;
        return try_once(daemon, probe, fds[1], 'a', false) &&
               try_once(daemon, probe, fds[1], 'b', true);
}

static bool prepare(struct probe *probe)
{
        char field[64];

        snprintf(field, sizeof(field), BLOCK, '.');
        for (char *c = field; *c; c++) {
                if (*c == '\r' || *c == '\n')
                        *c = '.';
        }
        probe->response = MHD_create_response_from_buffer(1, probe->body, MHD_RESPMEM_PERSISTENT);
        if (!probe->response || MHD_add_response_header(probe->response, "Date", field) != MHD_YES)
                return false;
        probe->block = (char *)(uintptr_t)MHD_get_response_header(probe->response, "Date");
        return probe->block;
}

static void drop_log(void *self, const char *format, va_list args)
{
        (void)self, (void)format, (void)args;
}

bool weir__mhd_probe(void)
{
        struct probe probe = { 0 };
        struct MHD_Daemon *daemon;
        int fds[2];
        bool works;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
                return false;
        daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0,
                                  NULL, NULL, answer, &probe, MHD_OPTION_EXTERNAL_LOGGER, drop_log,
                                  NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)4096,
                                  MHD_OPTION_END);
        works = daemon && prepare(&probe);
        if (works)
                works = run(daemon, &probe, fds);
        else
                close(fds[0]);
        close(fds[1]);
        if (daemon)
                MHD_stop_daemon(daemon);
        if (probe.response)
                MHD_destroy_response(probe.response);
        return works;
}
