/*
 * http_upload.c - bodies in pieces over sockets: nothing is lost, kept, or taken before its time.
 */
#include "http_wait.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MIB (1 << 20)
#define TE  "Transfer-Encoding: chunked\r\n"

/* ---- What comes in, as a sum. ---- */

struct sum {
        uint64_t bytes;
        uint32_t fnv;
};

static void add(struct sum *sum, const char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                sum->fnv = (sum->fnv ^ (uint8_t)bytes[i]) * 16777619;
        sum->bytes += len;
}

static char *data; /* of what bodies are made: no two windows of it are equal */

static void make_data(void)
{
        uint64_t random = 1;

        data = malloc(10 * MIB);
        for (size_t i = 0; i + 8 <= 10 * MIB; i += 8) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                memcpy(data + i, &random, 8);
        }
}

static enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        struct sum *sum = weir_alloc(ctx, sizeof(*sum));

        (void)self;
        *sum = (struct sum){ .fnv = 2166136261 };
        *weir_own(ctx) = (uint64_t)(uintptr_t)sum;
        return WEIR_NEXT;
}

static enum weir_flow take(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        struct sum *sum = (struct sum *)(uintptr_t)*weir_own(ctx);

        (void)self;
        add(sum, piece.ptr, piece.len);
        return last ? weir_textf(ctx, 200, "%llu %08x", (unsigned long long)sum->bytes, sum->fnv)
                    : WEIR_NEXT;
}

static atomic_ullong taken; /* bytes that hooks were given */

/* Waits with each piece. */
static enum weir_flow hold_piece(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        enum weir_flow flow = take(ctx, self, piece, last);

        atomic_fetch_add(&taken, piece.len);
        return last ? flow : hold(ctx, NULL);
}

/* Waits for a moment with each piece, and takes it then. */
static enum weir_flow doze_piece(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        bool *dozed = self;

        *dozed = !*dozed && !last;
        return *dozed ? weir_wait_until(ctx, weir_now(ctx) + 1000) : take(ctx, self, piece, last);
}

/* Refuses what comes behind the first 1000 bytes. */
static enum weir_flow refuse_more(struct weir_ctx *ctx, void *self, struct weir_str piece,
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
static enum weir_flow block_at_gate(struct weir_ctx *ctx, void *self, struct weir_str piece,
                                    bool last)
{
        if (!last) {
                sem_post(&entered);
                sem_wait(&opened);
        }
        return take(ctx, self, piece, last);
}

static void block_route(const char *pattern, weir_request_fn *fn, weir_body_fn *on_body)
{
        weir_route(app, WEIR_POST, pattern, fn, NULL,
                   &(struct weir_route_options){
                           .max_body = WEIR_INF, .blocking = true, .on_body = on_body });
}

static enum weir_flow begin_shortly(struct weir_ctx *ctx, void *self)
{
        weir_deadline(ctx, weir_now(ctx) + 1000000);
        return begin(ctx, self);
}

static bool dozed;

static void stream_route(const char *pattern, weir_request_fn *fn, weir_body_fn *on_body)
{
        weir_route(app, WEIR_POST, pattern, fn, &dozed,
                   &(struct weir_route_options){
                           .max_body = WEIR_INF, .waits = true, .on_body = on_body });
}

static void start_app(void)
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

static void stop_app(void)
{
        http_end(app);
        free(data);
}

TestSuite(http_upload, .init = start_app, .fini = stop_app);

/* ---- Sending. ---- */

static void send_head(struct client *client, const char *path, size_t size)
{
        char head[128];

        sprintf(head, "POST %s HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n", path, size);
        client_send(client, head);
}

/* In chunks of `chunk` bytes, all in one go. */
static bool send_in_chunks(struct client *client, const char *path, size_t size, size_t chunk)
{
        char *wire = malloc(128 + size + (size / chunk + 2) * 12);
        size_t len = (size_t)sprintf(wire, "POST %s HTTP/1.1\r\n" H TE "\r\n", path);
        bool ok;

        for (size_t at = 0; at < size; at += chunk) {
                size_t n = size - at < chunk ? size - at : chunk;

                len += (size_t)sprintf(wire + len, "%zx\r\n", n);
                memcpy(wire + len, data + at, n);
                len += n;
                len += (size_t)sprintf(wire + len, "\r\n");
        }
        len += (size_t)sprintf(wire + len, "0\r\n\r\n");
        ok = client_try_send(client, wire, len);
        free(wire);
        return ok;
}

static void expect_sum(struct client *client, size_t size)
{
        struct sum sum = { .fnv = 2166136261 };
        char want[64];

        add(&sum, data, size);
        sprintf(want, "%zu %08x", size, sum.fnv);
        client_expect(client, 200, want);
}

static void *resume_all(void *arg)
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

/* ---- Whole bodies. ---- */

#define PATHS 4
static const char *const paths[PATHS] = { "/sum", "/dozing", "/held", "/blocking" };

Test(http_upload, bodies_of_all_sizes_arrive_as_they_were_sent_whether_hooks_wait_or_not)
{
        static const size_t sizes[] = { 0, 1, 999, 4096, 16383, 65537, MIB };
        atomic_bool over = false;
        pthread_t thread;

        pthread_create(&thread, NULL, resume_all, &over);
        for (size_t p = 0; p < PATHS; p++) {
                struct client client = client_to(app);

                for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                        send_head(&client, paths[p], sizes[i]);
                        client_send_bytes(&client, data, sizes[i]);
                        expect_sum(&client, sizes[i]);
                }
                client_expect_alive(&client);
                client_close(&client);
        }
        atomic_store(&over, true);
        pthread_join(thread, NULL);
}

Test(http_upload, chunks_of_all_sizes_arrive_as_they_were_sent_whether_hooks_wait_or_not)
{
        static const size_t chunks[] = { 1, 7, 1000, 16384, 65536 };
        atomic_bool over = false;
        pthread_t thread;

        pthread_create(&thread, NULL, resume_all, &over);
        for (size_t p = 0; p < PATHS; p++) {
                for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
                        size_t size = chunks[k] * 300 < MIB ? chunks[k] * 300 : MIB;
                        struct client client = client_to(app);

                        cr_assert(send_in_chunks(&client, paths[p], size, chunks[k]));
                        expect_sum(&client, size);
                        if (!mhd_is_old())
                                client_expect_alive(&client);
                        client_close(&client);
                }
        }
        atomic_store(&over, true);
        pthread_join(thread, NULL);
}

Test(http_upload, a_request_behind_an_upload_that_waits_is_answered_in_its_turn)
{
        struct client client = client_to(app);

        client_send(&client, "POST /held HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
                             "GET / HTTP/1.1\r\n" H "\r\n");
        pass_next();
        cr_assert_eq(client_read(&client, 200).length, 10);
        client_expect(&client, 200, "ok");
        client_close(&client);
}

/* ---- Back-pressure. ---- */

/* Sends until the other side takes no more; how much. Its buffers are small, so that is soon. */
static size_t send_what_goes(struct client *client, size_t most)
{
        size_t sent = 0;
        ssize_t n;

        fcntl(client->fd, F_SETFL, O_NONBLOCK);
        while (sent < most && (n = send(client->fd, data + sent % MIB,
                                        most - sent < MIB ? most - sent : MIB, MSG_NOSIGNAL)) > 0)
                sent += (size_t)n;
        fcntl(client->fd, F_SETFL, 0);
        return sent;
}

Test(http_upload, while_a_hook_waits_nothing_more_is_read)
{
        const struct linger reset = { .l_onoff = 1 };
        struct client client = client_to(app);
        struct weir_ticket first;
        uint64_t before;
        size_t sent;

        send_head(&client, "/held", 1000000000);
        sent = send_what_goes(&client, 1000000);
        first = next_ticket();
        before = atomic_load(&taken);
        for (int i = 0; i < 100; i++)
                sent += send_what_goes(&client, 50000000);
        cr_assert_lt(sent, 60000000, "the kernel's buffers are full");
        cr_assert_eq(atomic_load(&taken), before, "one piece is out");
        cr_assert_leq(before, 65536);
        weir_resume(claimed(first), WEIR_NEXT);
        next_ticket();
        cr_assert_gt(atomic_load(&taken), before);
        setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)); /* a FIN would queue */
        client_close(&client);
        wait_idle(app);
}

/* ---- Uploads that end before their end. ---- */

Test(http_upload, a_refused_piece_is_answered_and_what_is_left_swallowed_while_it_is_little)
{
        struct client client = client_to(app);

        send_head(&client, "/little", 60000);
        client_send_bytes(&client, data, 60000);
        client_read(&client, 422);
        client_expect_alive(&client);
        client_close(&client);
        cr_assert_eq(stats_of(app).connections, 1);
}

Test(http_upload, a_refused_piece_of_a_large_body_is_answered_at_once_and_the_client_reads_it)
{
        struct client client = client_to(app);

        send_head(&client, "/little", 10 * MIB);
        client_try_send(&client, data, 10 * MIB); /* all of it, before it reads */
        client_read(&client, 422);
        client_close(&client);
        client = client_to(app);
        send_in_chunks(&client, "/little", 10 * MIB, 65536);
        client_read(&client, 422);
        client_close(&client);
        wait_gone(app, 2);
}

/* Ends the upload that waits next. */
static void refuse_next(void)
{
        struct weir_ctx *ctx = claimed(next_ticket());

        weir_resume(ctx, weir_fail(ctx, 507, "the disk is full"));
}

Test(http_upload, an_upload_refused_after_a_wait_is_answered_whatever_is_still_to_come)
{
        struct client client = client_to(app);

        send_head(&client, "/held", 3);
        client_send(&client, "abc");
        refuse_next();
        client_read(&client, 507);
        client_expect_alive(&client);
        send_head(&client, "/held", 50000);
        client_send(&client, "abc");
        refuse_next();
        client_send_bytes(&client, data, 50000 - 3);
        client_read(&client, 507);
        client_expect_alive(&client);
        send_head(&client, "/held", 10 * MIB);
        client_send(&client, "abc");
        refuse_next();
        client_read(&client, 507); /* without another byte */
        client_try_send(&client, data, 10 * MIB);
        client_close(&client);
        wait_idle(app);
}

Test(http_upload, the_deadline_ends_an_upload_that_waits)
{
        struct client client = client_to(app);

        send_head(&client, "/shortly", 3);
        client_send(&client, "abc");
        client_read(&client, 504);
        cr_assert_null(weir_claim(next_ticket()));
        client_expect_alive(&client);
        send_head(&client, "/shortly", 10 * MIB);
        client_send(&client, "abc");
        client_read(&client, 504);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(stats_of(app).deadlines_missed, 2);
}

Test(http_upload, a_client_that_leaves_in_the_middle_ends_its_request)
{
        struct client client = client_to(app);
        struct weir_ctx *ctx;

        send_head(&client, "/sum", 1000);
        client_send(&client, "abc");
        client_close(&client);
        wait_gone(app, 1);
        client = client_to(app);
        send_head(&client, "/held", 1000);
        client_send(&client, "abc");
        next_ticket();
        client_close(&client);
        wait_gone(app, 2);
        client = client_to(app);
        send_head(&client, "/held", 1000);
        client_send(&client, "abc");
        ctx = claimed(next_ticket());
        client_close(&client);
        weir_resume(ctx, WEIR_NEXT);
        wait_gone(app, 3);
        cr_assert_eq(stats_of(app).status[0], 3);
}

Test(http_upload, a_stop_answers_uploads_that_wait)
{
        struct client all = client_to(app), some = client_to(app);

        send_head(&all, "/held", 3);
        client_send(&all, "abc");
        next_ticket();
        send_head(&some, "/held", 10 * MIB);
        client_send(&some, "abc");
        next_ticket();
        cr_assert_eq(weir_stop(app), 0);
        client_read(&all, 503);
        client_read(&some, 503);
        client_close(&all);
        client_close(&some);
}

/* ---- Hooks that block. ---- */

Test(http_upload, a_piece_refused_on_a_worker_ends_the_upload)
{
        struct client client = client_to(app);

        send_head(&client, "/blocking/little", 60000);
        client_send_bytes(&client, data, 60000);
        client_read(&client, 422);
        client_expect_alive(&client);
        send_head(&client, "/blocking/little", 10 * MIB);
        client_try_send(&client, data, 10 * MIB);
        client_read(&client, 422);
        client_close(&client);
        wait_idle(app);
}

Test(http_upload, the_deadline_answers_while_a_piece_is_still_being_worked_on)
{
        struct client client = client_to(app);

        send_head(&client, "/blocking/shortly", 3);
        client_send(&client, "abc");
        client_read(&client, 504);
        client_expect_alive(&client);
        sem_post(&opened);
        client_close(&client);
        wait_gone(app, 1);
}

Test(http_upload, a_client_that_leaves_while_a_worker_has_its_piece_ends_its_request)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct client client = client_to(app);

        send_head(&client, "/blocking/gate", 1000);
        client_send(&client, "abc");
        sem_wait(&entered);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(stats_of(app).status[0], 1);
        sem_post(&opened);
        while (!stats_of(app).jobs_discarded) {
                cr_assert_lt(time(NULL), end, "the job is not back");
                sched_yield();
        }
        wait_gone(app, 1);
}

/* ---- Memory. ---- */

static size_t resident(void)
{
        FILE *file = fopen("/proc/self/statm", "r");
        unsigned long size, pages;

        cr_assert_eq(fscanf(file, "%lu %lu", &size, &pages), 2);
        fclose(file);
        return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static enum weir_flow count(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        (void)self;
        *weir_own(ctx) += piece.len;
        return last ? weir_textf(ctx, 200, "%llu", (unsigned long long)*weir_own(ctx)) : WEIR_NEXT;
}

static enum weir_flow pass_on(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

Test(http_upload, a_gibibyte_takes_no_memory)
{
        struct weir *own = http_app(1);
        struct client client;
        size_t before;

        weir_route(own, WEIR_POST, "/", pass_on, NULL,
                   &(struct weir_route_options){ .max_body = WEIR_INF, .on_body = count });
        http_start(own);
        client = client_to(own);
        send_head(&client, "/", MIB);
        client_send_bytes(&client, data, MIB);
        client_expect(&client, 200, "1048576");
        before = resident();
        send_head(&client, "/", (size_t)1024 * MIB);
        for (int i = 0; i < 1024; i++)
                client_send_bytes(&client, data, MIB);
        client_expect(&client, 200, "1073741824");
        cr_assert_lt(resident(), before + 8 * MIB);
        client_close(&client);
        http_end(own);
}
