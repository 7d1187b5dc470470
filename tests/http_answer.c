/*
 * http_answer.c - every kind of answer, byte by byte as it arrives.
 */
#include "http.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <weir/json.h>

#define MIB   (1 << 20)
#define H     " HTTP/1.1\r\nHost: x\r\n\r\n"
#define LARGE (20u * MIB)

/* What a large body holds at `at`. */
static char byte_at(size_t at)
{
        return (char)(at ^ at >> 8 ^ at >> 16);
}

static bool is_right(struct weir_str body, size_t from)
{
        for (size_t i = 0; i < body.len; i++) {
                if (body.ptr[i] != byte_at(from + i))
                        return false;
        }
        return true;
}

/* ---- The app. ---- */

static atomic_int freed;

static void count_free(void *arg)
{
        (void)arg;
        atomic_fetch_add(&freed, 1);
}

static int64_t number(struct weir_ctx *ctx, const char *name)
{
        int64_t n = 0;

        weir_query_int(ctx, name, 0, INT64_MAX, &n);
        return n;
}

/* `len` letters that `salt` chooses, and `fields` header fields. */
static enum weir_flow letters(struct weir_ctx *ctx, void *self)
{
        size_t len = (size_t)number(ctx, "len");
        char *text = malloc(len + 1);

        (void)self;
        for (size_t i = 0; i < len; i++)
                text[i] = (char)('a' + (i + (size_t)number(ctx, "salt")) % 26);
        for (int64_t i = 0; i < number(ctx, "fields"); i++)
                weir_set_headerf(ctx, i % 2 ? "X-Odd" : "X-Even", "%lld-%lld", (long long)i,
                                 (long long)number(ctx, "salt"));
        weir_bytes(ctx, 200, "text/plain", (struct weir_str){ text, len });
        free(text);
        return WEIR_DONE;
}

static enum weir_flow file(struct weir_ctx *ctx, void *fd)
{
        return weir_file(ctx, 200, "application/octet-stream", dup(*(int *)fd),
                         (uint64_t)number(ctx, "from"), (uint64_t)number(ctx, "size"));
}

/* A stream of `size` bytes in pieces of up to `piece`; -1 after `breaks` of them. */
struct stream {
        size_t at, size, piece, breaks;
};

static ssize_t pull(void *arg, char *buf, size_t size)
{
        struct stream *s = arg;
        size_t n = s->size - s->at;

        if (s->breaks && s->at >= s->breaks)
                return -1;
        if (n > size)
                n = size;
        if (n > s->piece)
                n = s->piece;
        for (size_t i = 0; i < n; i++)
                buf[i] = byte_at(s->at + i);
        s->at += n;
        return (ssize_t)n;
}

static enum weir_flow stream(struct weir_ctx *ctx, void *known)
{
        struct stream *s = weir_alloc(ctx, sizeof(*s));

        *s = (struct stream){ .size = (size_t)number(ctx, "size"),
                              .piece = (size_t)number(ctx, "piece"),
                              .breaks = (size_t)number(ctx, "breaks") };
        return weir_stream(ctx, 200, "application/octet-stream",
                           known ? s->size : WEIR_UNKNOWN_LENGTH, pull, count_free, s);
}

static enum weir_flow borrowed(struct weir_ctx *ctx, void *large)
{
        return weir_send(ctx, 200, "application/octet-stream",
                         (struct weir_str){ large, (size_t)number(ctx, "size") }, count_free,
                         large);
}

static enum weir_flow json(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_object(&w);
        weir_json_key(&w, "n");
        weir_json_int(&w, number(ctx, "n"));
        weir_json_key(&w, "text");
        weir_json_cstr(&w, "\"\xc3\xa9\n");
        weir_json_object_end(&w);
        return weir_json_end(&w, 201);
}

static enum weir_flow moved(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_redirect(ctx, (int)number(ctx, "status"), "/there?a=b");
}

static enum weir_flow cookies(struct weir_ctx *ctx, void *self)
{
        (void)self;
        for (int i = 0; i < 30; i++)
                weir_add_header(ctx, "Set-Cookie", i % 2 ? "a=b" : "c=d; Path=/");
        weir_set_header(ctx, "X-Long",
                        "0123456789012345678901234567890123456789012345678901234567");
        return weir_text(ctx, 200, "many");
}

static struct weir *app;
static int large_fd;
static char *large;

static void start_app(void)
{
        large = malloc(LARGE);
        for (size_t i = 0; i < LARGE; i++)
                large[i] = byte_at(i);
        large_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        cr_assert_eq(write(large_fd, large, LARGE), LARGE);
        app = http_app(1);
        weir_get(app, "/letters", letters, NULL);
        weir_get(app, "/file", file, &large_fd);
        weir_get(app, "/stream", stream, NULL);
        weir_get(app, "/known", stream, app);
        weir_get(app, "/borrowed", borrowed, large);
        weir_get(app, "/json", json, NULL);
        weir_get(app, "/moved", moved, NULL);
        weir_get(app, "/cookies", cookies, NULL);
        weir_get(app, "/", say, "ok");
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
        close(large_fd);
        free(large);
}

TestSuite(http_answer, .init = start_app, .fini = stop_app);

/* ---- Small ones. ---- */

Test(http_answer, text_json_and_redirects_arrive_as_they_were_written)
{
        struct client client = client_to(app);
        struct answer answer;

        client_send(&client, "GET /" H);
        answer = client_read(&client, 200);
        cr_assert(weir_str_is(header_of(&answer, "Content-Type"), "text/plain; charset=utf-8"));
        cr_assert(weir_str_is(answer.body, "ok"));
        client_send(&client, "GET /json?n=7" H);
        answer = client_read(&client, 201);
        cr_assert(weir_str_is(header_of(&answer, "Content-Type"), "application/json"));
        cr_assert(weir_str_is(answer.body, "{\"n\":7,\"text\":\"\\\"\xc3\xa9\\n\"}"));
        client_send(&client, "GET /moved?status=308" H);
        answer = client_read(&client, 308);
        cr_assert(weir_str_is(header_of(&answer, "Location"), "/there?a=b"));
        cr_assert_eq(answer.length, 0);
        client_close(&client);
}

Test(http_answer, fields_of_one_name_all_arrive_in_their_order)
{
        struct client client = client_to(app);
        struct answer answer;
        struct weir_str head, name, value;
        int n = 0;

        for (int again = 0; again < 3; again++) {
                client_send(&client, "GET /cookies" H);
                answer = client_read(&client, 200);
                for (head = answer.head, n = 0; next_field(&head, &name, &value);) {
                        if (!name_is(name, "Set-Cookie"))
                                continue;
                        cr_assert(weir_str_is(value, n++ % 2 ? "a=b" : "c=d; Path=/"));
                }
                cr_assert_eq(n, 30);
                cr_assert_eq(header_of(&answer, "X-Long").len, 58);
        }
        client_close(&client);
}

/* Asks for letters and checks all of the answer. */
static void send_letters(struct client *client, unsigned len, unsigned salt, unsigned fields)
{
        char request[128];

        sprintf(request, "GET /letters?len=%u&salt=%u&fields=%u" H, len, salt, fields);
        client_send(client, request);
}

static void expect_field(const struct answer *answer, const char *name, unsigned i, unsigned salt)
{
        char want[32];

        sprintf(want, "%u-%u", i, salt);
        cr_assert(weir_str_is(header_of(answer, name), want), "%s: %.*s, not %s", name,
                  WEIR_FMT(header_of(answer, name)), want);
}

static void expect_letters(struct client *client, unsigned len, unsigned salt, unsigned fields)
{
        struct answer answer = client_read(client, 200);
        struct weir_str value;
        unsigned wrong = 0;

        cr_assert_eq(answer.body.len, len);
        for (unsigned i = 0; i < len; i++)
                wrong += answer.body.ptr[i] != (char)('a' + (i + salt) % 26);
        cr_assert_eq(wrong, 0, "%.*s", WEIR_FMT(answer.body));
        cr_assert_eq(find_fields(&answer, "X-Even", &value), fields > 0);
        cr_assert_eq(find_fields(&answer, "X-Odd", &value), fields > 1);
        if (fields > 0)
                expect_field(&answer, "X-Even", fields - 1 - (fields - 1) % 2, salt);
        if (fields > 1)
                expect_field(&answer, "X-Odd", fields - 1 - fields % 2, salt);
        cr_assert(weir_str_is(header_of(&answer, "Content-Type"), "text/plain"));
}

Test(http_answer, bodies_of_every_length_arrive_twice_with_other_fields)
{
        struct client client = client_to(app);

        for (unsigned len = 0; len <= 5000; len++) {
                for (unsigned again = 0; again < 2; again++) {
                        send_letters(&client, len, len + again, len % 7);
                        expect_letters(&client, len, len + again, len % 7);
                }
        }
        client_close(&client);
        cr_assert_gt(stats_of(app).answers_reused, 4000);
}

/* ---- Large ones. ---- */

static void expect_large(struct client *client, size_t from, size_t size)
{
        struct answer answer = client_read(client, 200);

        cr_assert_eq(answer.body.len, size, "%zu, not %zu", answer.body.len, size);
        cr_assert(is_right(answer.body, from));
}

Test(http_answer, twenty_megabytes_of_a_file_arrive_while_others_are_served)
{
        struct client client = client_to(app), other = client_to(app);
        char request[128];

        sprintf(request, "GET /file?size=%u" H, LARGE);
        for (int again = 0; again < 2; again++) {
                client_send(&client, request);
                cr_assert(client_need(&client, MIB));
                client_expect_alive(&other);
                cr_assert(client_need(&client, 2 * MIB));
                client_expect_alive(&other);
                expect_large(&client, 0, LARGE);
        }
        client_expect_alive(&client);
        client_close(&client);
        client_close(&other);
}

Test(http_answer, a_file_arrives_while_hundreds_of_connections_are_idle)
{
        static struct client idle[200];
        struct client client;
        char request[128];

        for (int i = 0; i < 200; i++) {
                idle[i] = client_to(app);
                client_expect_alive(&idle[i]);
        }
        client = client_to(app);
        sprintf(request, "GET /file?size=%u" H, LARGE);
        client_send(&client, request);
        expect_large(&client, 0, LARGE);
        client_close(&client);
        for (int i = 0; i < 200; i++)
                client_close(&idle[i]);
}

Test(http_answer, a_part_of_a_file_arrives_from_its_offset_on)
{
        static const size_t parts[][2] = {
                { 0, 0 },      { 0, 1 },         { 12345, 1 }, { 4096, 16384 },
                { 1, 131073 }, { LARGE - 1, 1 }, { LARGE, 0 },
        };
        struct client client = client_to(app);
        char request[128];

        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                sprintf(request, "GET /file?from=%zu&size=%zu" H, parts[i][0], parts[i][1]);
                client_send(&client, request);
                expect_large(&client, parts[i][0], parts[i][1]);
        }
        client_close(&client);
}

Test(http_answer, borrowed_bytes_arrive_and_are_given_back_once)
{
        static const unsigned sizes[] = { 0, 1, 4096, 4097, 100000, LARGE };
        struct client client = client_to(app);
        char request[128];

        for (int i = 0; i < 6; i++) {
                sprintf(request, "GET /borrowed?size=%u" H, sizes[i]);
                client_send(&client, request);
                expect_large(&client, 0, sizes[i]);
        }
        client_expect_alive(&client);
        cr_assert_eq(atomic_load(&freed), 6);
        client_close(&client);
}

/* ---- Streams. ---- */

static const unsigned pieces[][2] = {
        /* size, piece */
        { 0, 1 },       { 1, 1 },         { 1000, 1 },       { 4096, 100 },
        { 16384, 8192 }, { 100000, 99999 }, { 3 * MIB, 5000 }, { LARGE, LARGE },
};

#define EACH_PIECE(i) for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)

static void ask_for_stream(struct client *client, const char *path, size_t i, unsigned breaks)
{
        char request[128];

        sprintf(request, "GET %s?size=%u&piece=%u&breaks=%u" H, path, pieces[i][0], pieces[i][1],
                breaks);
        client_send(client, request);
}

Test(http_answer, a_stream_of_unknown_length_arrives_in_chunks)
{
        struct client client = client_to(app);
        int n = 0;

        EACH_PIECE(i)
        {
                ask_for_stream(&client, "/stream", i, 0);
                expect_large(&client, 0, pieces[i][0]);
                client_expect_alive(&client);
                cr_assert_eq(atomic_load(&freed), ++n);
        }
        client_close(&client);
}

Test(http_answer, a_stream_of_known_length_arrives_with_that_length)
{
        struct client client = client_to(app);

        EACH_PIECE(i)
        {
                struct answer answer;

                ask_for_stream(&client, "/known", i, 0);
                answer = client_read(&client, 200);
                cr_assert_eq(answer.length, pieces[i][0]);
                cr_assert(is_right(answer.body, 0));
                client_expect_alive(&client);
        }
        client_close(&client);
}

static void expect_broken(const char *path, size_t i, unsigned breaks)
{
        struct client client = client_to(app);
        struct answer answer;

        ask_for_stream(&client, path, i, breaks);
        answer = client_next(&client, false);
        cr_assert_eq(answer.status, 200);
        cr_assert(answer.broken, "%s ended as if it were whole", path);
        cr_assert(is_right(answer.body, 0));
        client_close(&client);
}

Test(http_answer, a_stream_that_breaks_off_does_not_look_complete)
{
        expect_broken("/stream", 2, 1);
        expect_broken("/stream", 6, 10000);
        expect_broken("/stream", 7, 1);
        expect_broken("/known", 2, 1);
        expect_broken("/known", 6, 10000);
        expect_broken("/known", 7, 1);
        wait_gone(app, 6);
        cr_assert_eq(atomic_load(&freed), 6);
}

Test(http_answer, what_a_client_does_not_wait_for_is_given_back_once)
{
        static const char *const paths[] = { "/stream", "/known", "/borrowed" };

        for (int i = 0; i < 3; i++) {
                struct client client = client_to(app);

                ask_for_stream(&client, paths[i], 7, 0);
                cr_assert(client_need(&client, 1000));
                client_close(&client);
        }
        wait_gone(app, 3);
        cr_assert_eq(atomic_load(&freed), 3);
        cr_assert_eq(stats_of(app).aborted, 3);
}

/* ---- Slow readers. ---- */

#define SLOW    3000 /* answers of LENGTH that a slow reader asks for: more than sockets hold */
#define LENGTH  4000

/*
 * Asks for many answers and reads none; returns when the server is stuck in one of them, `n` stuck
 * ones in all. What is not stuck goes on in every turn of the loop, and each answer to `other`
 * takes a turn.
 */
static struct client get_stuck(struct client *other, unsigned salt, unsigned n)
{
        struct client client = client_to(app);
        time_t end = time(NULL) + NET_TIMEOUT_S;
        uint64_t before, after = 0;
        unsigned still = 0;

        for (unsigned i = 0; i < SLOW; i++)
                send_letters(&client, LENGTH, salt + i, 3);
        while (still < 20 || stats_of(app).requests_in_flight != n) {
                cr_assert_lt(time(NULL), end, "not stuck");
                client_expect_alive(other);
                before = after;
                after = stats_of(app).requests;
                still = after == before + 1 ? still + 1 : 0;
        }
        return client;
}

Test(http_answer, an_answer_in_use_is_not_given_to_others)
{
        struct client other = client_to(app), slow[2];

        slow[0] = get_stuck(&other, 1000, 1);
        slow[1] = get_stuck(&other, 5000, 2);
        for (unsigned i = 0; i < 100; i++) {
                send_letters(&other, LENGTH, 9000 + i, 3);
                expect_letters(&other, LENGTH, 9000 + i, 3);
        }
        for (unsigned i = 0; i < SLOW; i++) {
                expect_letters(&slow[0], LENGTH, 1000 + i, 3);
                expect_letters(&slow[1], LENGTH, 5000 + i, 3);
        }
        for (int i = 0; i < 2; i++)
                client_close(&slow[i]);
        client_close(&other);
}
