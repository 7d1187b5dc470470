/*
 * http_body.c - bodies of requests: read in full, or refused so that the client can tell why.
 */
#include "http.h"

#include <stdatomic.h>

#define MIB  (1 << 20)
#define H    "Host: x\r\n"
#define POST "POST / HTTP/1.1\r\n" H
#define TE   "Transfer-Encoding: chunked\r\n"

static struct weir *app;
static atomic_int handled, done_499, done;
static char *data; /* of what bodies are made: no two windows of it are equal */

/* FNV-1a. */
static uint32_t sum_of(const char *bytes, size_t len)
{
        uint32_t sum = 2166136261;

        for (size_t i = 0; i < len; i++)
                sum = (sum ^ (uint8_t)bytes[i]) * 16777619;
        return sum;
}

static enum weir_flow tell(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&handled, 1);
        return weir_textf(ctx, 200, "%zu %08x", ctx->body.len,
                          sum_of(ctx->body.ptr, ctx->body.len));
}

static void count_done(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&done, 1);
        if (ctx->status == 499 && ctx->outcome == WEIR_ABORT)
                atomic_fetch_add(&done_499, 1);
}

static enum weir_flow stop_them(struct weir_ctx *ctx, void *self)
{
        (void)self;
        weir_set_header(ctx, "WWW-Authenticate", "Basic");
        return weir_fail(ctx, 401, "who are you?");
}

static void start_app(void)
{
        static const struct weir_middleware watch = { .name = "watch",
                                                      .phase = WEIR_OBSERVE,
                                                      .on_done = count_done };
        static const struct weir_middleware door = { .name = "door",
                                                     .phase = WEIR_AUTH,
                                                     .on_request = stop_them };
        struct weir *closed;
        uint64_t random = 1;

        data = malloc(11 * MIB);
        for (size_t i = 0; i + 8 <= 11 * MIB; i += 8) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                memcpy(data + i, &random, 8);
        }
        app = http_app(1);
        weir_use(app, &watch, NULL);
        weir_any(app, "/", tell, NULL);
        weir_route(app, WEIR_POST, "/small", tell, NULL,
                   &(struct weir_route_options){ .max_body = 1000 });
        weir_route(app, WEIR_POST, "/none", tell, NULL,
                   &(struct weir_route_options){ .max_body = WEIR_NONE });
        weir_route(app, WEIR_POST, "/any", tell, NULL,
                   &(struct weir_route_options){ .max_body = WEIR_INF });
        closed = weir_group(app, "/closed", NULL);
        weir_use(closed, &door, NULL);
        weir_post(closed, "/", tell, NULL);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
        free(data);
}

TestSuite(http_body, .init = start_app, .fini = stop_app);

/* ---- Bodies that are taken. ---- */

static void expect_body(struct client *client, size_t size)
{
        char want[64];

        sprintf(want, "%zu %08x", size, sum_of(data, size));
        client_expect(client, 200, want);
}

static void send_with_length(struct client *client, const char *path, size_t size)
{
        char head[128];

        sprintf(head, "POST %s HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n", path, size);
        client_send(client, head);
        client_send_bytes(client, data, size);
}

static const size_t sizes[] = { 0,     1,     2,     999,   1000,    4095,    4096,
                                4097,  8191,  8193,  16383, 16384,   16385,   32768,
                                65535, 65536, 65537, 99999, 1 << 18, MIB - 1, MIB };

#define EACH_SIZE(i) for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)

Test(http_body, a_body_with_a_length_arrives_as_it_was_sent)
{
        struct client client = client_to(app);

        EACH_SIZE(i)
        {
                send_with_length(&client, "/", sizes[i]);
                expect_body(&client, sizes[i]);
        }
        client_close(&client);
        cr_assert_eq(stats_of(app).connections, 1);
}

Test(http_body, a_body_in_chunks_arrives_as_it_was_sent)
{
        static const size_t chunks[] = { 1, 7, 1000, 4096, 16384, 65536, MIB };

        for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
                EACH_SIZE(i)
                {
                        struct client client = client_to(app);

                        if (sizes[i] / chunks[k] > 20000)
                                continue;
                        cr_assert(client_try_chunks(&client, data, "/", sizes[i], chunks[k]));
                        expect_body(&client, sizes[i]);
                        client_close(&client);
                }
        }
}

Test(http_body, ten_megabytes_arrive_where_there_is_no_limit)
{
        struct client client = client_to(app);

        send_with_length(&client, "/any", 10 * MIB + 1);
        expect_body(&client, 10 * MIB + 1);
        cr_assert(client_try_chunks(&client, data, "/any", 10 * MIB + 3, 99999));
        expect_body(&client, 10 * MIB + 3);
        client_close(&client);
}

Test(http_body, buffers_are_used_again)
{
        struct client client = client_to(app);
        uint64_t before;

        send_with_length(&client, "/", 300000);
        expect_body(&client, 300000);
        before = stats_of(app).buffers_heap;
        for (int i = 0; i < 20; i++) {
                send_with_length(&client, "/", 300000);
                expect_body(&client, 300000);
        }
        cr_assert_eq(stats_of(app).buffers_heap, before);
        client_close(&client);
}

/* ---- 413. ---- */

static void expect_413(struct client *client)
{
        struct answer answer = client_read(client, 413);

        cr_assert(weir_str_is(header_of(&answer, "Content-Type"), "application/problem+json"));
}

/* Refused, and the connection serves on, or is closed where it has to be. */
static void expect_refused(struct client *client, bool closed)
{
        expect_413(client);
        if (closed)
                client_expect_end(client);
        else
                client_expect_alive(client);
}

Test(http_body, one_byte_too_many_is_refused_and_the_connection_kept)
{
        struct client client = client_to(app);

        send_with_length(&client, "/", MIB);
        expect_body(&client, MIB);
        send_with_length(&client, "/small", 1001);
        expect_refused(&client, false);
        send_with_length(&client, "/none", 1);
        expect_refused(&client, false);
        send_with_length(&client, "/none", 0);
        expect_body(&client, 0);
        send_with_length(&client, "/small", 65536);
        expect_refused(&client, false);
        client_close(&client);
        cr_assert_eq(stats_of(app).bodies_too_large, 3);
        cr_assert_eq(stats_of(app).connections, 1);
}

Test(http_body, the_413_of_a_large_body_is_read_by_a_client_that_sends_on)
{
        static const size_t large[] = { MIB + 1, 10 * MIB };

        for (int i = 0; i < 2; i++) {
                struct client client = client_to(app);
                char head[128];

                sprintf(head, POST "Content-Length: %zu\r\n\r\n", large[i]);
                client_send(&client, head);
                client_try_send(&client, data, large[i]); /* all of it, before it reads */
                expect_413(&client);
                client_close(&client);
        }
        cr_assert_eq(atomic_load(&handled), 0);
}

Test(http_body, a_large_body_that_is_not_sent_yet_is_refused_and_the_connection_closed)
{
        struct client client = client_to(app);

        client_send(&client, "POST /small HTTP/1.1\r\n" H "Content-Length: 65537\r\n\r\n");
        expect_413(&client);
        client_expect_end(&client);
        client_close(&client);
}

Test(http_body, chunks_beyond_the_limit_are_refused_and_swallowed_while_they_are_few)
{
        static const size_t beyond[] = { 1001, 1500, 16384, 60000 };

        for (int i = 0; i < 4; i++) {
                struct client client = client_to(app);

                cr_assert(client_try_chunks(&client, data, "/small", beyond[i], 777));
                expect_refused(&client, mhd_is_old());
                client_close(&client);
        }
        cr_assert_eq(atomic_load(&handled), mhd_is_old() ? 0 : 4);
}

Test(http_body, chunks_far_beyond_the_limit_are_refused_at_once_and_the_client_reads_why)
{
        struct client client = client_to(app);

        client_try_chunks(&client, data, "/small", 10 * MIB, 65536);
        expect_413(&client);
        client_close(&client);
        cr_assert_eq(atomic_load(&handled), 0);
        wait_gone(app, 1);
        cr_assert_eq(atomic_load(&done), 1);
}

/* ---- Expect: 100-continue (RFC 9110 10.1.1). ---- */

#define EXPECT "Expect: 100-continue\r\n"

Test(http_body, a_client_that_asks_first_is_told_to_go_on)
{
        struct client client = client_to(app);

        client_send(&client, POST EXPECT "Content-Length: 5\r\n\r\n");
        client_read(&client, 100);
        client_send_bytes(&client, data, 5);
        expect_body(&client, 5);
        client_send(&client, POST EXPECT TE "\r\n");
        client_read(&client, 100);
        client_send(&client, "0\r\n\r\n");
        expect_body(&client, 0);
        client_close(&client);
}

Test(http_body, a_client_that_asks_first_is_refused_at_once)
{
        struct client client = client_to(app);

        client_send(&client, POST EXPECT "Content-Length: 1048577\r\n\r\n");
        expect_413(&client);
        client_expect_end(&client);
        client_close(&client);
        client = client_to(app);
        client_send(&client, "POST /closed/ HTTP/1.1\r\n" H EXPECT "Content-Length: 5\r\n\r\n");
        client_read(&client, 401);
        client_expect_end(&client);
        client_close(&client);
        cr_assert_eq(atomic_load(&handled), 0);
}

Test(http_body, a_client_of_http_1_0_is_not_told_to_go_on)
{
        struct client client = client_to(app);

        client_send(&client, "POST / HTTP/1.0\r\n" EXPECT "Content-Length: 5\r\n\r\n");
        client_send_bytes(&client, data, 5);
        expect_body(&client, 5);
        client_close(&client);
}

/* ---- Refused at headers by a middleware. ---- */

Test(http_body, a_refusal_at_headers_swallows_a_small_body_and_keeps_the_connection)
{
        struct client client = client_to(app);
        struct answer answer;

        for (size_t size = 0; size <= 65536; size += 16384) {
                send_with_length(&client, "/closed/", size);
                answer = client_read(&client, 401);
                cr_assert(weir_str_is(header_of(&answer, "WWW-Authenticate"), "Basic"));
                client_expect_alive(&client);
        }
        client_close(&client);
        client = client_to(app);
        cr_assert(client_try_chunks(&client, data, "/closed/", 65536, 5000));
        answer = client_read(&client, 401);
        cr_assert(weir_str_is(header_of(&answer, "WWW-Authenticate"), "Basic"));
        cr_assert_eq(answer.closes, mhd_is_old());
        client_close(&client);
}

Test(http_body, a_refusal_at_headers_does_not_wait_for_a_large_body)
{
        struct client client = client_to(app);

        client_send(&client, "POST /closed/ HTTP/1.1\r\n" H "Content-Length: 900000\r\n\r\n");
        client_read(&client, 401);
        client_expect_end(&client);
        client_close(&client);
        client = client_to(app);
        client_try_chunks(&client, data, "/closed/", 10 * MIB, 65536);
        client_read(&client, 401);
        client_close(&client);
        cr_assert_eq(atomic_load(&handled), 0);
}

Test(http_body, what_still_comes_of_a_refused_body_is_read_so_that_nothing_is_reset)
{
        struct client client = client_to(app);

        client_send(&client, "POST /closed/ HTTP/1.1\r\n" H "Content-Length: 900000\r\n\r\n");
        client_read(&client, 401);
        client_send_bytes(&client, data, 900000);
        shutdown(client.fd, SHUT_WR);
        client_expect_end(&client);
        client_close(&client);
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).linger_cut, 0);
}

Test(http_body, a_client_that_sends_on_for_ever_is_cut_off)
{
        struct client client = client_to(app);

        client_send(&client, "POST /closed/ HTTP/1.1\r\n" H "Content-Length: 900000\r\n\r\n");
        client_read(&client, 401);
        while (client_try_send(&client, data, 100000))
                ; /* until it is */
        client_close(&client);
        wait_gone(app, 1);
        cr_assert_eq(stats_of(app).linger_cut, 1);
}

static void expect_answer_after_silence(const char *request, int status)
{
        struct client client = client_to(app);
        struct timespec start, end;

        client_send(&client, request);
        clock_gettime(CLOCK_MONOTONIC, &start);
        client_read(&client, status);
        client_expect_end(&client);
        clock_gettime(CLOCK_MONOTONIC, &end);
        cr_assert_lt(end.tv_sec - start.tv_sec, 10);
        client_close(&client);
}

Test(http_body, a_client_that_stops_in_a_refused_body_is_answered_and_closed_after_a_while)
{
        expect_answer_after_silence("POST /small HTTP/1.1\r\n" H "Content-Length: 5000\r\n\r\nabc",
                                    413);
        cr_assert_eq(stats_of(app).linger_cut, 1);
}

Test(http_body, a_client_that_stops_in_refused_chunks_is_answered_and_closed_after_a_while)
{
        expect_answer_after_silence("POST /closed/ HTTP/1.1\r\n" H TE "\r\n5\r\nabc", 401);
        cr_assert_eq(stats_of(app).linger_cut, 1);
}

/* ---- Bodies that break off. ---- */

Test(http_body, a_body_that_breaks_off_reaches_no_handler_and_ends_once)
{
        static const char *const broken[] = {
                POST "Content-Length: 10\r\n\r\n",
                POST "Content-Length: 10\r\n\r\n012345678",
                POST "Content-Length: 99999\r\n\r\n0",
                POST TE "\r\n",
                POST TE "\r\n5\r\n0123",
                POST TE "\r\n5\r\n01234\r\n0\r\n",
        };

        for (int i = 0; i < 6; i++) {
                for (int how = 0; how < 2; how++) {
                        struct linger reset = { .l_onoff = 1 };
                        struct client client = client_to(app);

                        client_send(&client, broken[i]);
                        if (how)
                                setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
                        client_close(&client);
                }
        }
        wait_gone(app, 12);
        cr_assert_eq(atomic_load(&handled), 0);
        cr_assert_eq(atomic_load(&done_499), (int)stats_of(app).requests);
        cr_assert_eq(atomic_load(&done), (int)stats_of(app).requests);
        cr_assert_eq(stats_of(app).status[0], stats_of(app).requests);
}
