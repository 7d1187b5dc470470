/* heap_net.h - what heap tests over sockets share: requests that must take nothing, visits. */
#ifndef WEIR_TESTS_HEAP_NET_H
#define WEIR_TESTS_HEAP_NET_H

#include "heap.h"
#include "net.h"
#include <weir/weir.h>

static inline void check(bool ok, const char *what, const char *detail)
{
        if (ok)
                return;
        atomic_store(&fail_at, 0);
        printf("%s: %s: %s\n", program_invocation_short_name, what, detail);
        exit(1);
}

static inline void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

/* A thousand of them, on a connection that is warm, are answered 200 without the heap. */
static inline void takes_nothing(uint16_t port, const char *request)
{
        int fd = net_connect(port);
        unsigned long before = 0;
        char buf[4096], text[64];

        for (int i = 0; i < 1100; i++) {
                if (i == 100)
                        before = atomic_load(&calls);
                check(net_send(fd, request, strlen(request)) &&
                              net_read_answer(fd, buf, sizeof(buf)) > 0 && net_status(buf) == 200,
                      request, buf);
        }
        snprintf(text, sizeof(text), "%lu calls in 1000 requests", atomic_load(&calls) - before);
        check(atomic_load(&calls) == before, request, text);
        close(fd);
}

/* A visit ends with an answer, or with a closed connection; never with nothing. 0: no answer. */
static inline int visit(uint16_t port, const char *request)
{
        static char buf[1 << 18];
        int fd = net_connect(port);
        ssize_t n;
        size_t len = 0;

        check(fd >= 0, "cannot connect", request);
        net_send(fd, request, strlen(request));
        while ((n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0)) > 0)
                len += (size_t)n;
        check(n == 0 || errno == ECONNRESET, "neither answer nor end", request);
        buf[len] = '\0';
        close(fd);
        return len ? net_status(buf) : 0;
}

/* It is stopped: then nothing may be left. */
static inline void expect_nothing_left(struct weir *app)
{
        struct weir_stats stats;

        weir_stats(app, &stats);
        check(!stats.requests_waiting && !stats.requests_in_flight && !stats.connections_open,
              "weir_stop()", "something is left");
}

/* Fails each call of the heap in a life of an app. */
static inline void test_failing(void (*live)(void), bool more)
{
        unsigned long n = fail_each(live, more);

        printf("%s: %lu calls failed, one a life%s\n", program_invocation_short_name, n,
               more ? ", and all behind it" : "");
        check(n >= 100, "too few calls", "is malloc() the one above?");
}

#endif
