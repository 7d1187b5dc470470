/*
 * http_files.c - files over sockets: whole, in ranges, and what keeps the connection open.
 *
 * curl, where it is there, is the client that knows best what its ranges mean.
 */
#include "files_kit.h"
#include "http.h"

#define MIB (1u << 20)

static struct weir *app;
static char *bytes; /* of big.bin, which nothing compresses and no part of which repeats */

static void start(void)
{
        folder_new();
        bytes = malloc(MIB);
        srand(1);
        for (size_t i = 0; i < MIB; i++)
                bytes[i] = (char)(rand() >> 7);
        put_bytes("big.bin", bytes, MIB);
        put("index.html", "top");
        app = http_app(2);
        weir_use_files(app, &(struct weir_files){ .root = folder });
        http_start(app);
}

static void stop(void)
{
        http_end(app);
        free(bytes);
        folder_free();
}

TestSuite(http_files, .init = start, .fini = stop, .timeout = 120);

static void ask_big(struct client *client, const char *method, const char *fields)
{
        char request[512];

        snprintf(request, sizeof(request), "%s /big.bin HTTP/1.1\r\nHost: x\r\n%s\r\n", method,
                 fields);
        client_send(client, request);
}

static void expect_bytes(struct weir_str got, size_t from, size_t size)
{
        cr_assert_eq(got.len, size, "%zu bytes, not %zu", got.len, size);
        cr_assert_eq(memcmp(got.ptr, bytes + from, size), 0);
}

Test(http_files, a_mebibyte_arrives_as_it_is)
{
        struct client client = client_to(app);

        for (int i = 0; i < 3; i++) {
                ask_big(&client, "GET", "");
                expect_bytes(client_read(&client, 200).body, 0, MIB);
        }
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_files, a_range_arrives_and_the_connection_lives)
{
        static const struct {
                const char *field;
                size_t      from, size;
        } cases[] = {
                { "Range: bytes=0-0\r\n", 0, 1 },
                { "Range: bytes=1-131072\r\n", 1, 131072 },
                { "Range: bytes=500000-\r\n", 500000, MIB - 500000 },
                { "Range: bytes=-1\r\n", MIB - 1, 1 },
                { "Range: bytes=-2000000\r\n", 0, MIB },
        };
        struct client client = client_to(app);

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                ask_big(&client, "GET", cases[i].field);
                expect_bytes(client_read(&client, 206).body, cases[i].from, cases[i].size);
        }
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_files, parts_arrive_with_the_length_that_was_said)
{
        struct client client = client_to(app);
        struct answer answer;
        const char *at;

        ask_big(&client, "GET", "Range: bytes=7-300006,-400000,5-6\r\n");
        answer = client_read(&client, 206);
        cr_assert_eq(answer.length, (int64_t)answer.body.len);
        at = memmem(answer.body.ptr, answer.body.len, "\r\n\r\n", 4);
        cr_assert_eq(memcmp(at + 4, bytes + 7, 300000), 0);
        at = memmem(at + 300000, 1000, "\r\n\r\n", 4);
        cr_assert_eq(memcmp(at + 4, bytes + MIB - 400000, 400000), 0);
        at = memmem(at + 400000, 1000, "\r\n\r\n", 4);
        cr_assert_eq(memcmp(at + 4, bytes + 5, 2), 0);
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_files, answers_without_a_body_keep_the_connection)
{
        struct client client = client_to(app);
        struct answer answer;
        char field[256];

        ask_big(&client, "HEAD", "");
        answer = client_next(&client, true);
        cr_assert_eq(answer.status, 200);
        cr_assert_eq(answer.length, MIB);
        snprintf(field, sizeof(field), "If-None-Match: %.*s\r\n",
                 WEIR_FMT(header_of(&answer, "ETag")));
        ask_big(&client, "GET", field);
        answer = client_read(&client, 304);
        cr_assert(!answer.closes);
        ask_big(&client, "HEAD", field);
        cr_assert_eq(client_next(&client, true).status, 304);
        ask_big(&client, "GET", "If-Modified-Since: " OLD_DATE "\r\n");
        client_read(&client, 304);
        ask_big(&client, "GET", "If-Match: \"x\"\r\n");
        client_read(&client, 412);
        ask_big(&client, "GET", "Range: bytes=1048576-\r\n");
        answer = client_read(&client, 416);
        cr_assert(weir_str_is(header_of(&answer, "Content-Range"), "bytes */1048576"));
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_files, a_file_that_shrinks_breaks_its_parts_off)
{
        struct client client = client_to(app);
        struct answer answer;

        put_bytes("shrinks", bytes, MIB);
        cr_assert_eq(truncate(in_folder("shrinks"), 64 * (off_t)MIB), 0);
        client_send(&client, "GET /shrinks HTTP/1.1\r\nHost: x\r\n"
                             "Range: bytes=0-50000000,60000000-\r\n\r\n");
        cr_assert(client_need(&client, 100000)); /* 64 MiB do not fit what the kernel buffers */
        cr_assert_eq(truncate(in_folder("shrinks"), 1), 0);
        answer = client_next(&client, false);
        cr_assert_eq(answer.status, 206);
        cr_assert(answer.broken);
        client_close(&client);
}

Test(http_files, a_fifo_holds_up_no_loop)
{
        struct client client = client_to(app);

        cr_assert_eq(mkfifo(in_folder("fifo"), 0644), 0);
        for (int i = 0; i < 10; i++) {
                client_send(&client, "GET /fifo HTTP/1.1\r\nHost: x\r\n\r\n");
                client_read(&client, 404);
        }
        client_expect_alive(&client);
        client_close(&client);
}

/* What curl makes of a range is what lies there in the file. */
static void curl_range(const char *range, size_t from, size_t size)
{
        char command[512], *got = malloc(MIB + 1);
        size_t len;
        FILE *curl;

        snprintf(command, sizeof(command),
                 "exec curl -q -sS --noproxy '*' --max-time 30 -r %s http://127.0.0.1:%u/big.bin",
                 range, weir_port(app, 0));
        curl = popen(command, "re");
        cr_assert_not_null(curl);
        len = fread(got, 1, MIB + 1, curl);
        cr_assert_eq(pclose(curl), 0);
        expect_bytes((struct weir_str){ got, len }, from, size);
        free(got);
}

Test(http_files, curl_gets_the_ranges_it_asks_for)
{
        curl_range("0-99", 0, 100);
        curl_range("100000-900000", 100000, 800001);
        curl_range("1048575-", MIB - 1, 1);
        curl_range("-4096", MIB - 4096, 4096);
        curl_range("0-", 0, MIB);
}
