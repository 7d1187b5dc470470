/*
 * mallocs.c - how often a request takes memory from the heap, anywhere in the process.
 *
 * The app, its loop and libmicrohttpd run in this process, and each call of malloc() and its
 * relatives is counted, on all threads. The client is this thread: it keeps to one connection and
 * takes no memory itself.
 */
#include "subject.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weir/weir.h>

#define WARM_UP  8000 /* twice through all lengths of the answer "varying" */
#define REQUESTS 4000

/* ---- Counting. ---- */

static atomic_ulong calls;

#pragma GCC visibility push(default) /* what is hidden here takes no calls from libraries */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
        atomic_fetch_add(&calls, 1);
        return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
        atomic_fetch_add(&calls, 1);
        return __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
        atomic_fetch_add(&calls, 1);
        return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
        atomic_fetch_add(&calls, 1);
        return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
        atomic_fetch_add(&calls, 1);
        *memory = __libc_memalign(alignment, size);
        return *memory ? 0 : ENOMEM;
}

#pragma GCC visibility pop

/* Does what libraries call inside count too? */
static bool counts(void)
{
        const char *volatile text = "text"; /* else the copy is optimised away */
        unsigned long before = atomic_load(&calls);
        char *volatile copy = strdup(text);

        free(copy);
        return atomic_load(&calls) == before + 1;
}

/* ---- Asking. ---- */

static const char request[] = "GET /repos/ada/engine HTTP/1.1\r\n"
                              "Host: localhost:8080\r\n"
                              "User-Agent: bench/1.0\r\n"
                              "Accept: */*\r\n"
                              "X-Api-Key: 0123456789abcdef\r\n"
                              "\r\n";

static int connect_to(uint16_t port)
{
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons(port),
                .sin_addr = { htonl(INADDR_LOOPBACK) },
        };
        struct timeval patience = { .tv_sec = 10 };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 &&
            (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
             setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)) {
                close(fd);
                return -1;
        }
        return fd;
}

/* One request, its answer read to the end; false unless it is a 200. */
static bool ask(int fd)
{
        static char answer[16384];
        size_t len = 0, wanted = 0;

        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
                return false;
        while (!wanted || len < wanted) {
                ssize_t got = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
                char *end, *field;

                if (got <= 0)
                        return false;
                len += (size_t)got;
                answer[len] = '\0';
                end = wanted ? NULL : strstr(answer, "\r\n\r\n");
                field = end ? strstr(answer, "\r\nContent-Length: ") : NULL;
                if (field)
                        wanted = (size_t)(end + 4 - answer) + strtoul(field + 18, NULL, 10);
        }
        return len == wanted && memcmp(answer, "HTTP/1.1 200", 12) == 0;
}

static bool ask_all(int fd, int n)
{
        for (int i = 0; i < n; i++) {
                if (!ask(fd))
                        return false;
        }
        return true;
}

/* Calls per request, on average; below 0 when it could not be measured. */
static double measure(const char *answer)
{
        struct weir *app = subject_new(answer, 0, "127.0.0.1:0");
        unsigned long before = 0, after = 0;
        bool ok = false;
        int fd = -1;

        if (app && weir_start(app) == 0)
                fd = connect_to(weir_port(app, 0));
        if (fd >= 0 && ask_all(fd, WARM_UP)) {
                before = atomic_load(&calls);
                ok = ask_all(fd, REQUESTS);
                after = atomic_load(&calls);
        }
        if (!ok)
                fprintf(stderr, "mallocs: no answers \"%s\"\n", answer);
        if (fd >= 0)
                close(fd);
        weir_free(app);
        return ok ? (double)(after - before) / REQUESTS : -1;
}

int main(void)
{
        double fixed, dynamic, large, varying;

        if (!counts()) {
                fprintf(stderr, "mallocs: calls of malloc() within libraries are not counted\n");
                return 1;
        }
        fixed = measure("static");
        dynamic = measure("dynamic");
        large = measure("large");
        varying = measure("varying");
        if (fixed < 0 || dynamic < 0 || large < 0 || varying < 0)
                return 1;
        printf("mallocs_static %g calls\n", fixed);
        printf("mallocs_dynamic %g calls\n", dynamic);
        printf("mallocs_large %g calls\n", large);
        printf("mallocs_varying %g calls\n", varying);
        printf("mallocs_fallback %g calls\n", large > varying ? large : varying);
        return 0;
}
