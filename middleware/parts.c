/*
 * parts.c - several ranges of a file as one body, pulled piece by piece.
 *
 *      \r\n--BOUNDARY\r\n
 *      Content-Type: TYPE\r\n
 *      Content-Range: bytes 0-99/1000\r\n
 *      \r\n
 *      (100 bytes)           and so on for each; then
 *      \r\n--BOUNDARY--\r\n
 *
 * The boundary is random, so that no file can hold it. The length is known before.
 */
#include "parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define TYPE "multipart/byteranges; boundary="

struct parts {
        int                file;
        unsigned           n, at;     /* ranges, and which one is next                */
        struct weir__range now;       /* what is left of the one being sent           */
        uint64_t           size;      /* of the file                                  */
        const char        *type;      /* of the file                                  */
        const char        *boundary;  /* the end of the text below                    */
        char               content_type[sizeof(TYPE) + 32];
        char               head[320]; /* what stands between two ranges...            */
        size_t             head_len, head_at; /* ...and how much of it is sent        */
        struct weir__range range[];
};

/* What stands before the range `i`, or behind the last one. */
static size_t write_head(struct parts *p, unsigned i)
{
        const struct weir__range *range = &p->range[i];
        int len;

        if (i == p->n)
                len = snprintf(p->head, sizeof(p->head), "\r\n--%s--\r\n", p->boundary);
        else
                len = snprintf(p->head, sizeof(p->head),
                               "\r\n--%s\r\nContent-Type: %s\r\n"
                               "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
                               p->boundary, p->type, range->first, range->first + range->length - 1,
                               p->size);
        return (size_t)len;
}

static uint64_t length_of(struct parts *p)
{
        uint64_t length = write_head(p, p->n);

        for (unsigned i = 0; i < p->n; i++)
                length += write_head(p, i) + p->range[i].length;
        return length;
}

static size_t pull_head(struct parts *p, char *buf, size_t size)
{
        size_t left = p->head_len - p->head_at;

        if (size > left)
                size = left;
        memcpy(buf, p->head + p->head_at, size);
        p->head_at += size;
        return size;
}

/* -1 also when the file has shrunk: its length was promised. */
static ssize_t pull_range(struct parts *p, char *buf, size_t size)
{
        ssize_t n;

        if (size > p->now.length)
                size = (size_t)p->now.length;
        do
                n = pread(p->file, buf, size, (off_t)p->now.first);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                return -1;
        p->now.first += (uint64_t)n;
        p->now.length -= (uint64_t)n;
        return n;
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        struct parts *p = arg;
        size_t done = 0;

        while (done < size) {
                if (p->head_at < p->head_len) {
                        done += pull_head(p, buf + done, size - done);
                } else if (p->now.length) {
                        ssize_t n = pull_range(p, buf + done, size - done);

                        if (n < 0)
                                return done ? (ssize_t)done : -1;
                        done += (size_t)n;
                } else if (p->at <= p->n) {
                        p->head_len = write_head(p, p->at);
                        p->head_at = 0;
                        if (p->at < p->n)
                                p->now = p->range[p->at];
                        p->at++;
                } else {
                        break;
                }
        }
        return (ssize_t)done;
}

static void finish(void *arg)
{
        close(((struct parts *)arg)->file);
}

static bool make_boundary(struct parts *p)
{
        uint64_t random[2];

        if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
                return false;
        snprintf(p->content_type, sizeof(p->content_type), TYPE "%016" PRIx64 "%016" PRIx64,
                 random[0], random[1]);
        p->boundary = p->content_type + sizeof(TYPE) - 1;
        return true;
}

bool weir__parts_send(struct weir_ctx *ctx, int fd, uint64_t size, const char *type,
                      const struct weir__ranges *ranges)
{
        size_t bytes = ranges->n * sizeof(ranges->at[0]);
        struct parts *p = weir_alloc(ctx, sizeof(*p) + bytes);

        if (!p)
                return false;
        *p = (struct parts){ .file = fd, .n = ranges->n, .size = size, .type = type };
        memcpy(p->range, ranges->at, bytes);
        if (!make_boundary(p))
                return false;
        weir_stream(ctx, 206, p->content_type, length_of(p), pull, finish, p);
        return true;
}
