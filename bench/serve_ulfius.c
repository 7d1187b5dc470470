/*
 * serve_ulfius.c - the same 200 routes on Ulfius. Usage: serve_ulfius PORT [threads|epoll]
 *
 *      epoll    one thread serves all connections: the other servers do it so, and it is the faster
 *      threads  a thread per connection: what ulfius_start_framework() does
 */
#include "peers.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ulfius.h>

static int hello(const struct _u_request *request, struct _u_response *response, void *self)
{
        json_t *body = json_pack("{s:s}", "message", PEER_MESSAGE);

        (void)request;
        (void)self;
        ulfius_set_json_body_response(response, 200, body);
        json_decref(body);
        return U_CALLBACK_COMPLETE;
}

/* "/books/{id}" as "/books/:id", in place. */
static void rewrite(char *pattern)
{
        char *to = pattern;

        for (const char *from = pattern; *from; from++) {
                if (*from != '}')
                        *to++ = *from == '{' ? ':' : *from;
        }
        *to = '\0';
}

static int add_routes(struct _u_instance *instance)
{
        char pattern[64];

        for (int i = 0; i < PEER_ROUTES; i++) {
                peer_pattern(pattern, sizeof(pattern), i);
                rewrite(pattern);
                if (ulfius_add_endpoint_by_val(instance, "GET", NULL, pattern, 0, hello, NULL) !=
                    U_OK)
                        return U_ERROR;
        }
        return U_OK;
}

/* The options of ulfius_start_framework(), but for the log. */
static int start(struct _u_instance *instance, struct sockaddr_in *address)
{
        struct MHD_OptionItem options[] = {
                { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)mhd_request_completed, NULL },
                { MHD_OPTION_SOCK_ADDR, 0, address },
                { MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)ulfius_uri_logger, NULL },
                { MHD_OPTION_END, 0, NULL },
        };

        return ulfius_start_framework_with_mhd_options(instance, MHD_USE_EPOLL_INTERNAL_THREAD,
                                                       options);
}

int main(int argc, char **argv)
{
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons((uint16_t)peer_number(argv, argc, 1, UINT16_MAX, 8080)),
                .sin_addr = { htonl(INADDR_LOOPBACK) },
        };
        bool threads = argc > 2 && strcmp(argv[2], "threads") == 0;
        struct _u_instance instance;
        sigset_t ends;
        int got;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ends, NULL);
        if (ulfius_init_instance(&instance, ntohs(address.sin_port), &address, NULL) != U_OK ||
            add_routes(&instance) != U_OK ||
            (threads ? ulfius_start_framework(&instance) : start(&instance, &address)) != U_OK) {
                fprintf(stderr, "cannot serve on port %u\n", ntohs(address.sin_port));
                return 1;
        }
        fprintf(stderr, "listening on 127.0.0.1, port %u\n",
                MHD_get_daemon_info(instance.mhd_daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
        sigwait(&ends, &got);
        ulfius_stop_framework(&instance);
        ulfius_clean_instance(&instance);
        return 0;
}
