/* http_upload.h - what the socket tests of uploads share: an app that adds up what it gets. */
#ifndef WEIR_TESTS_HTTP_UPLOAD_H
#define WEIR_TESTS_HTTP_UPLOAD_H

#include "http_wait.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MIB (1 << 20)

/* ---- What comes in, as a sum. ---- */

struct sum {
        uint64_t bytes;
        uint32_t fnv;
};

static inline void add(struct sum *sum, const char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                sum->fnv = (sum->fnv ^ (uint8_t)bytes[i]) * 16777619;
        sum->bytes += len;
}

static char *data; /* of what bodies are made: no two windows of it are equal */

static inline void make_data(void)
{
        uint64_t random = 1;

        data = malloc(10 * MIB);
        for (size_t i = 0; i + 8 <= 10 * MIB; i += 8) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                memcpy(data + i, &random, 8);
        }
}

static inline enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        struct sum *sum = weir_alloc(ctx, sizeof(*sum));

        (void)self;
        *sum = (struct sum){ .fnv = 2166136261 };
        *weir_own(ctx) = (uint64_t)(uintptr_t)sum;
        return WEIR_NEXT;
}

static inline enum weir_flow take(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        struct sum *sum = (struct sum *)(uintptr_t)*weir_own(ctx);

        (void)self;
        add(sum, piece.ptr, piece.len);
        return last ? weir_textf(ctx, 200, "%llu %08x", (unsigned long long)sum->bytes, sum->fnv)
                    : WEIR_NEXT;
}

static atomic_ullong taken; /* bytes that hooks were given */

/* Waits with each piece. */
static inline enum weir_flow hold_piece(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                        bool last)
{
        enum weir_flow flow = take(ctx, self, piece, last);

        atomic_fetch_add(&taken, piece.len);
        return last ? flow : hold(ctx, NULL);
}

/* Waits for a moment with each piece, and takes it then. */
static inline enum weir_flow doze_piece(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                        bool last)
{
        bool *dozed = self;

        *dozed = !*dozed && !last;
        return *dozed ? weir_wait_until(ctx, weir_now(ctx) + 1000) : take(ctx, self, piece, last);
}

/* Refuses what comes behind the first 1000 bytes. */
static inline enum weir_flow refuse_more(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                  bool last)
{
        struct sum *sum = (struct sum *)(uintptr_t)*weir_own(ctx);

        if (sum->bytes + piece.len > 1000)
                return weir_fail(ctx, 422, "no more than 1000");
        return take(ctx, self, piece, last);
}

/* ---- The same on workers. ---- */

static sem_t entered, opened;

/* Stays inside until the gate is opened. */
static inline enum weir_flow block_at_gate(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                    bool last)
{
        if (!last) {
                sem_post(&entered);
                sem_wait(&opened);
        }
        return take(ctx, self, piece, last);
}

static inline void block_route(const char *pattern, weir_request_fn *fn, weir_body_fn *on_body)
{
        weir_route(app, WEIR_POST, pattern, fn, NULL,
                   &(struct weir_route_options){
                           .max_body = WEIR_INF, .blocking = true, .on_body = on_body });
}

static inline enum weir_flow begin_shortly(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, weir_now(ctx) + 1000000);
        return begin(ctx, self);
}

static bool dozed;

static inline void stream_route(const char *pattern, weir_request_fn *fn, weir_body_fn *on_body)
{
        weir_route(app, WEIR_POST, pattern, fn, &dozed,
                   &(struct weir_route_options){
                           .max_body = WEIR_INF, .waits = true, .on_body = on_body });
}

static inline void start_app(void)
{
        make_data();
        taken = 0;
        app = make_app(1, drop_log);
        stream_route("/sum", begin, take);
        stream_route("/held", begin, hold_piece);
        stream_route("/dozing", begin, doze_piece);
        stream_route("/little", begin, refuse_more);
        stream_route("/shortly", begin_shortly, hold_piece);
        sem_init(&entered, 0, 0);
        sem_init(&opened, 0, 0);
        block_route("/blocking", begin, take);
        block_route("/blocking/little", begin, refuse_more);
        block_route("/blocking/gate", begin, block_at_gate);
        block_route("/blocking/shortly", begin_shortly, block_at_gate);
        http_start(app);
}

static inline void stop_app(void)
{
        http_end(app);
        free(data);
}

/* ---- Sending. ---- */

static inline void send_head(struct client *client, const char *path, size_t size)
{
        char head[128];

        sprintf(head, "POST %s HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n", path, size);
        client_send(client, head);
}

static inline void expect_sum(struct client *client, size_t size)
{
        struct sum sum = { .fnv = 2166136261 };
        char want[64];

        add(&sum, data, size);
        sprintf(want, "%zu %08x", size, sum.fnv);
        client_expect(client, 200, want);
}

static inline void *resume_all(void *arg)
{
        const atomic_bool *over = arg;

        while (!atomic_load(over)) {
                struct weir_ctx *ctx = NULL;

                pthread_mutex_lock(&tickets_lock);
                if (n_taken < n_tickets)
                        ctx = weir_claim(tickets[n_taken++]);
                if (n_taken == n_tickets)
                        n_taken = n_tickets = 0;
                pthread_mutex_unlock(&tickets_lock);
                if (ctx)
                        weir_resume(ctx, WEIR_NEXT);
                else
                        sched_yield();
        }
        return NULL;
}

#endif
