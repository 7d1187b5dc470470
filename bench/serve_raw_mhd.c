/*
 * serve_raw_mhd.c - libmicrohttpd alone, as one would use it first: no routes, one answer.
 *
 * usage: serve_raw_mhd PORT [created|shared] [CONNECTION_MEMORY]
 *
 *      created  a response with one header field is created for each request. As many bytes in all
 *               as the answer "dynamic" of subject.h, but the body is there already.
 *      shared   one response, created once, serves all requests: the least that libmicrohttpd can
 *               do. The answer "static" of subject.h.
 */
#include "peers.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <signal.h>
#include <string.h>

#define CREATED_BYTES 695

static struct MHD_Response *shared;
static char body[CREATED_BYTES];

static enum MHD_Result answer(struct MHD_Connection *connection)
{
        struct MHD_Response *response;
        enum MHD_Result queued;

        if (shared)
                return MHD_queue_response(connection, MHD_HTTP_OK, shared);
        response = MHD_create_response_from_buffer(sizeof(body), body, MHD_RESPMEM_PERSISTENT);
        if (!response)
                return MHD_NO;
        MHD_add_response_header(response, "Content-Type", "application/json");
        queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
        MHD_destroy_response(response);
        return queued;
}

/* An answer to the first of the two calls of a request would close the connection. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **request)
{
        (void)self;
        (void)url;
        (void)method;
        (void)version;
        (void)upload;
        (void)upload_size;
        if (!*request) {
                *request = body;
                return MHD_YES;
        }
        return answer(connection);
}

static struct MHD_Daemon *start(unsigned long port, unsigned long memory)
{
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons((uint16_t)port),
                .sin_addr = { htonl(INADDR_LOOPBACK) },
        };
        struct MHD_OptionItem pool[] = {
                { MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)memory, NULL },
                { MHD_OPTION_END, 0, NULL },
        };

        if (!memory)
                pool[0] = pool[1];
        return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
                                MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_ARRAY, pool,
                                MHD_OPTION_END);
}

int main(int argc, char **argv)
{
        unsigned long port = peer_number(argv, argc, 1, UINT16_MAX, 8080);
        unsigned long memory = peer_number(argv, argc, 3, 1 << 20, 0);
        struct MHD_Daemon *daemon;
        sigset_t ends;
        int got;

        memset(body, '7', sizeof(body));
        if (argc > 2 && strcmp(argv[2], "shared") == 0) {
                shared = MHD_create_response_from_buffer(sizeof(PEER_MESSAGE) - 1,
                                                         (void *)(uintptr_t)PEER_MESSAGE,
                                                         MHD_RESPMEM_PERSISTENT);
                if (shared)
                        MHD_add_response_header(shared, "Content-Type", "text/plain");
        }
        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ends, NULL);
        daemon = start(port, memory);
        if (!daemon) {
                fprintf(stderr, "cannot serve on port %lu\n", port);
                return 1;
        }
        fprintf(stderr, "listening on 127.0.0.1, port %u\n",
                MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
        sigwait(&ends, &got);
        MHD_stop_daemon(daemon);
        if (shared)
                MHD_destroy_response(shared);
        return 0;
}
