/* http_large.c - a gibibyte, up and down: it arrives as it was sent, and takes no memory. */
#include "http.h"

#include <fcntl.h>

#define MIB (1 << 20)
#define GIB ((size_t)1024 * MIB)

#define PERIOD 1000003 /* a prime: what is shifted by any power of 2 looks different */

static char pattern[PERIOD]; /* byte n of everything that goes up or down is n % PERIOD of it */

static void make_pattern(void)
{
        uint64_t random = 1;

        for (size_t i = 0; i < PERIOD; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                pattern[i] = (char)(random >> 56);
        }
}

/* How much of `size` bytes from `at` on lies in one piece of the pattern, at *from. */
static size_t run_at(uint64_t at, size_t size, const char **from)
{
        size_t offset = (size_t)(at % PERIOD), left = PERIOD - offset;

        *from = pattern + offset;
        return size < left ? size : left;
}

static void make(char *buf, size_t size, uint64_t at)
{
        const char *from;

        for (size_t n; size; size -= n, buf += n, at += n) {
                n = run_at(at, size, &from);
                memcpy(buf, from, n);
        }
}

static size_t resident(void)
{
        FILE *file = fopen("/proc/self/statm", "r");
        unsigned long size, pages;

        cr_assert_eq(fscanf(file, "%lu %lu", &size, &pages), 2);
        fclose(file);
        return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- Up. ---- */

struct check {
        uint64_t seen;
        bool     wrong;
};

static void look(struct check *check, const char *bytes, size_t len)
{
        const char *from;

        for (size_t n; len; len -= n, bytes += n, check->seen += n) {
                n = run_at(check->seen, len, &from);
                check->wrong |= memcmp(bytes, from, n) != 0;
        }
}

static struct check sent_up;

static enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        sent_up = (struct check){ 0 };
        return WEIR_NEXT;
}

static enum weir_flow take(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        look(&sent_up, piece.ptr, piece.len);
        return last ? weir_textf(ctx, 200, "%llu", (unsigned long long)sent_up.seen) : WEIR_NEXT;
}

/* ---- Down. ---- */

static ssize_t pull(void *arg, char *buf, size_t size)
{
        uint64_t *at = arg;

        if (*at == GIB)
                return 0;
        size = size < GIB - *at ? size : (size_t)(GIB - *at);
        make(buf, size, *at);
        *at += size;
        return (ssize_t)size;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *self)
{
        uint64_t *at = weir_alloc(ctx, sizeof(*at));

        (void)self;
        *at = 0;
        return weir_stream(ctx, 200, "text/plain", GIB, pull, NULL, at);
}

static int gib_fd; /* of a file without a name */

static enum weir_flow file(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_file(ctx, 200, "text/plain", fcntl(gib_fd, F_DUPFD_CLOEXEC, 0), 0, GIB);
}

static struct weir *app;

static void start_app(void)
{
        make_pattern();
        app = http_app(1);
        weir_route(app, WEIR_POST, "/", begin, NULL,
                   &(struct weir_route_options){ .max_body = WEIR_INF, .on_body = take });
        weir_get(app, "/stream", stream, NULL);
        weir_get(app, "/file", file, NULL);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_large, .init = start_app, .fini = stop_app);

static void send_up(struct client *client, size_t size)
{
        static char buf[MIB];
        char head[128];

        sprintf(head, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
        client_send(client, head);
        for (size_t at = 0; at < size; at += sizeof(buf)) {
                make(buf, sizeof(buf), at);
                client_send_bytes(client, buf, sizeof(buf));
        }
        sprintf(head, "%zu", size);
        client_expect(client, 200, head);
        cr_assert(!sent_up.wrong);
}

Test(http_large, a_gibibyte_of_upload)
{
        struct client client = client_to(app);
        size_t before;

        send_up(&client, MIB);
        before = resident();
        send_up(&client, GIB);
        cr_assert_lt(resident(), before + 8 * MIB);
        client_close(&client);
}

/* Reads a body as it comes, and keeps nothing of it. */
static void fetch(const char *path)
{
        static char buf[MIB];
        struct check check = { 0 };
        int fd = net_connect(weir_port(app, 0));
        size_t before, head;
        ssize_t n;
        char *end;

        sprintf(buf, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
        cr_assert(net_send(fd, buf, strlen(buf)));
        n = recv(fd, buf, sizeof(buf) - 1, 0);
        cr_assert_gt(n, 12);
        buf[n] = '\0';
        cr_assert(strstr(buf, "Content-Length: 1073741824\r\n"));
        end = strstr(buf, "\r\n\r\n");
        cr_assert_not_null(end);
        head = (size_t)(end + 4 - buf);
        look(&check, buf + head, (size_t)n - head);
        before = resident();
        while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
                look(&check, buf, (size_t)n);
        cr_assert_eq(n, 0);
        cr_assert_eq(check.seen, GIB);
        cr_assert(!check.wrong);
        cr_assert_lt(resident(), before + 8 * MIB);
        close(fd);
}

Test(http_large, a_gibibyte_of_stream)
{
        fetch("/stream");
}

Test(http_large, a_gibibyte_of_file)
{
        static char buf[MIB];

        gib_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        cr_assert_geq(gib_fd, 0);
        for (size_t at = 0; at < GIB; at += sizeof(buf)) {
                make(buf, sizeof(buf), at);
                cr_assert_eq(write(gib_fd, buf, sizeof(buf)), (ssize_t)sizeof(buf));
        }
        fetch("/file");
        close(gib_fd);
}
