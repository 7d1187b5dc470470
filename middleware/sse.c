/*
 * sse.c - server-sent events: a stream that any thread adds to.
 *
 * A handle has two owners, the stream and whoever opened it, and goes with the second. Senders add
 * to a buffer under the lock, and wake the stream when it waits: who claims its ticket resumes it,
 * the others need not. The loop takes what is in the buffer, and gives it back once it is empty.
 * Nothing is called with the lock held.
 */
#include <weir/sse.h>
#include <weir/wait.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define HEARTBEAT_MS 15000
#define BUFFER       65536
#define FIRST        256  /* bytes that are allocated at first */
#define KEPT         1024 /* of a buffer that is empty         */

/* The first lines are what each event touches: it may be for one of many. */
struct weir_sse {
        pthread_mutex_t    lock;         /* guards all up to `missed`  */
        struct weir_ticket ticket;
        char              *buf;
        size_t             at, len, cap; /* [at, len) is to be sent    */
        bool               waits;        /* `ticket` may be claimed    */
        bool               closing;      /* it ends behind the buffer  */
        bool               ended;        /* it has                     */
        unsigned           owners;       /* the stream, the app        */
        size_t             most;         /* bytes to be sent; constant */
        uint64_t           missed;

        /* Of the loop. */
        uint64_t           moved_ns;     /* when the last bytes left   */

        /* Constant from weir_sse_open() on. */
        struct weir_ctx   *ctx;
        uint64_t           heartbeat_ns; /* UINT64_MAX: none           */
        bool               close_when_full;
        void             (*on_close)(void *arg, struct weir_sse *sse);
        void              *arg;
};

/* ---- Owners. ---- */

/* With the lock, which it gives up. */
static void leave(struct weir_sse *sse)
{
        bool last = --sse->owners == 0;

        pthread_mutex_unlock(&sse->lock);
        if (!last)
                return;
        pthread_mutex_destroy(&sse->lock);
        free(sse->buf);
        free(sse);
}

/* With the lock. The caller resumes what it gets, without the lock. */
static struct weir_ctx *wake(struct weir_sse *sse)
{
        if (!sse->waits)
                return NULL;
        sse->waits = false;
        return weir_claim(sse->ticket); /* NULL: it is being called anyway, or ends */
}

static void resume(struct weir_ctx *ctx)
{
        if (ctx)
                weir_resume(ctx, WEIR_NEXT);
}

/* ---- What is to be sent: with the lock. ---- */

static bool grow(struct weir_sse *sse, size_t size)
{
        size_t cap = sse->cap ? 2 * sse->cap : FIRST;
        char *buf;

        if (cap < size)
                cap = size;
        buf = realloc(sse->buf, cap);
        if (!buf)
                return false;
        sse->buf = buf;
        sse->cap = cap;
        return true;
}

/* Room for `more` bytes behind len, in at most .buffer. */
static bool reserve(struct weir_sse *sse, size_t more)
{
        size_t left = sse->len - sse->at;

        if (sse->closing || sse->ended)
                return false;
        if (left > sse->most || more > sse->most - left) {
                sse->missed++;
                sse->closing = sse->close_when_full;
                return false;
        }
        if (sse->at) {
                memmove(sse->buf, sse->buf + sse->at, left);
                sse->at = 0;
                sse->len = left;
        }
        return left + more <= sse->cap || grow(sse, left + more);
}

static void put(struct weir_sse *sse, struct weir_str text)
{
        if (text.len)
                memcpy(sse->buf + sse->len, text.ptr, text.len);
        sse->len += text.len;
}

/* ---- Lines. ---- */

/* Cuts the next line off; false behind the last. Text that ends in a line end has one more. */
static bool next_line(struct weir_str *text, struct weir_str *line)
{
        size_t len = 0, end;

        if (!text->ptr)
                return false;
        while (len < text->len && text->ptr[len] != '\n' && text->ptr[len] != '\r')
                len++;
        *line = (struct weir_str){ text->ptr, len };
        if (len == text->len) {
                *text = (struct weir_str){ 0 };
                return true;
        }
        end = len + 1;
        if (text->ptr[len] == '\r' && end < text->len && text->ptr[end] == '\n')
                end++;
        *text = (struct weir_str){ text->ptr + end, text->len - end };
        return true;
}

/* `name`, then the line, for each line of `text`. */
static size_t size_of(size_t name_len, struct weir_str text)
{
        struct weir_str line;
        size_t size = 0;

        while (next_line(&text, &line))
                size += name_len + line.len + 1;
        return size;
}

static void put_lines(struct weir_sse *sse, struct weir_str name, struct weir_str text)
{
        struct weir_str line;

        while (next_line(&text, &line)) {
                put(sse, name);
                put(sse, line);
                put(sse, WEIR_STR("\n"));
        }
}

static bool has(struct weir_str text, char c)
{
        return text.len && memchr(text.ptr, c, text.len);
}

/* A field is a line: what ends it early would begin another. */
static bool is_line(struct weir_str text)
{
        return !has(text, '\n') && !has(text, '\r');
}

/* One name with its text, each line of which has the name in front. */
struct part {
        struct weir_str name, text;
};

/* Adds what makes one block, with a blank line behind it. */
static bool add(struct weir_sse *sse, const struct part *parts, size_t n)
{
        struct weir_ctx *ctx = NULL;
        size_t size = 1;
        bool fits;

        for (size_t i = 0; i < n; i++)
                size += size_of(parts[i].name.len, parts[i].text);
        pthread_mutex_lock(&sse->lock);
        fits = reserve(sse, size);
        for (size_t i = 0; fits && i < n; i++)
                put_lines(sse, parts[i].name, parts[i].text);
        if (fits)
                put(sse, WEIR_STR("\n"));
        if (fits || sse->closing)
                ctx = wake(sse);
        pthread_mutex_unlock(&sse->lock);
        resume(ctx);
        return fits;
}

bool weir_sse_send(struct weir_sse *sse, const struct weir_event *event)
{
        const struct part parts[] = {
                { WEIR_STR("event: "), event->event },
                { WEIR_STR("id: "), event->id },
                { WEIR_STR("data: "), event->data },
        };

        if (!sse || !is_line(event->event) || !is_line(event->id) || has(event->id, '\0'))
                return false;
        return add(sse, parts, 3);
}

bool weir_sse_comment(struct weir_sse *sse, struct weir_str text)
{
        const struct part part = { WEIR_STR(": "), text.ptr ? text : WEIR_STR("") };

        return sse && add(sse, &part, 1);
}

bool weir_sse_retry(struct weir_sse *sse, int64_t ms)
{
        char text[24];
        struct part part = { WEIR_STR("retry: "), { text, 0 } };

        if (!sse || ms < 0)
                return false;
        part.text.len = (size_t)snprintf(text, sizeof(text), "%lld", (long long)ms);
        return add(sse, &part, 1);
}

/* ---- The stream: on the loop, with the lock. ---- */

static ssize_t take(struct weir_sse *sse, char *buf, size_t size)
{
        size_t n = sse->len - sse->at;

        if (n > size)
                n = size;
        memcpy(buf, sse->buf + sse->at, n);
        sse->at += n;
        if (sse->at == sse->len) {
                sse->at = sse->len = 0;
                if (sse->cap > KEPT) {
                        free(sse->buf);
                        sse->buf = NULL;
                        sse->cap = 0;
                }
        }
        return (ssize_t)n;
}

static ssize_t wait_for_more(struct weir_sse *sse)
{
        uint64_t until_ns = sse->moved_ns + sse->heartbeat_ns;

        if (until_ns < sse->moved_ns)
                until_ns = UINT64_MAX;
        sse->ticket = weir_suspend_until(sse->ctx, until_ns);
        sse->waits = true;
        return WEIR_PULL_WAIT;
}

/* Into the empty buffer; without memory the next one may come. */
static void put_heartbeat(struct weir_sse *sse)
{
        if (sse->cap || grow(sse, FIRST))
                put(sse, WEIR_STR(":\n\n"));
}

static ssize_t pull_bytes(struct weir_sse *sse, char *buf, size_t size, uint64_t now_ns)
{
        bool idle = now_ns - sse->moved_ns >= sse->heartbeat_ns;

        sse->waits = false;
        if (sse->len == sse->at && (sse->closing || weir_stopping(sse->ctx)))
                return 0;
        if (sse->len == sse->at && idle) {
                put_heartbeat(sse);
                sse->moved_ns = now_ns;
        }
        return sse->len > sse->at ? take(sse, buf, size) : wait_for_more(sse);
}

static ssize_t pull(void *arg, char *buf, size_t size)
{
        struct weir_sse *sse = arg;
        uint64_t now_ns = weir_now(sse->ctx);
        ssize_t n;

        pthread_mutex_lock(&sse->lock);
        n = pull_bytes(sse, buf, size, now_ns);
        if (n > 0)
                sse->moved_ns = now_ns;
        pthread_mutex_unlock(&sse->lock);
        return n;
}

static void end(void *arg)
{
        struct weir_sse *sse = arg;

        pthread_mutex_lock(&sse->lock);
        sse->ended = true;
        sse->waits = false;
        free(sse->buf);
        sse->buf = NULL;
        sse->at = sse->len = sse->cap = 0;
        pthread_mutex_unlock(&sse->lock);
        if (sse->on_close)
                sse->on_close(sse->arg, sse);
        pthread_mutex_lock(&sse->lock);
        leave(sse);
}

/* ---- Open and closed. ---- */

static uint64_t heartbeat_of(int64_t ms)
{
        if (ms < 0 || ms > INT64_MAX / 1000000)
                return UINT64_MAX;
        return (uint64_t)(ms ? ms : HEARTBEAT_MS) * 1000000;
}

static struct weir_sse *make(struct weir_ctx *ctx, const struct weir_sse_options *options)
{
        struct weir_sse *sse = calloc(1, sizeof(*sse));

        if (!sse)
                return NULL;
        pthread_mutex_init(&sse->lock, NULL);
        sse->owners = 2;
        sse->most = options->buffer > 0 ? (size_t)options->buffer : BUFFER;
        sse->heartbeat_ns = heartbeat_of(options->heartbeat_ms);
        sse->close_when_full = options->close_when_full;
        sse->on_close = options->on_close;
        sse->arg = options->arg;
        sse->ctx = ctx;
        sse->moved_ns = weir_now(ctx);
        return sse;
}

struct weir_sse *weir_sse_open(struct weir_ctx *ctx, const struct weir_sse_options *options)
{
        static const struct weir_sse_options defaults;
        struct weir_sse *sse = make(ctx, options ? options : &defaults);

        if (!sse) {
                weir_fail(ctx, 503, "out of memory");
                return NULL;
        }
        if (options && options->retry_ms > 0)
                weir_sse_retry(sse, options->retry_ms);
        weir_set_header(ctx, "Cache-Control", "no-store");
        weir_set_header(ctx, "X-Accel-Buffering", "no"); /* nginx would hold events back */
        weir_idle_timeout(ctx, UINT64_MAX);              /* in place of a deadline       */
        weir_stream(ctx, 200, "text/event-stream", WEIR_UNKNOWN_LENGTH, pull, end, sse);
        return sse;
}

struct weir_str weir_sse_last_id(const struct weir_ctx *ctx)
{
        return weir_header(ctx, "Last-Event-ID");
}

void weir_sse_close(struct weir_sse *sse)
{
        struct weir_ctx *ctx;

        if (!sse)
                return;
        pthread_mutex_lock(&sse->lock);
        sse->closing = true;
        ctx = wake(sse);
        pthread_mutex_unlock(&sse->lock);
        resume(ctx);
}

void weir_sse_release(struct weir_sse *sse)
{
        if (!sse)
                return;
        weir_sse_close(sse);
        pthread_mutex_lock(&sse->lock);
        leave(sse);
}

uint64_t weir_sse_missed(struct weir_sse *sse)
{
        uint64_t missed = 0;

        if (!sse)
                return 0;
        pthread_mutex_lock(&sse->lock);
        missed = sse->missed;
        pthread_mutex_unlock(&sse->lock);
        return missed;
}
