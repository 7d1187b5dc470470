/* http_wait.c - requests that wait (core/weir/wait.h) over sockets, and go on. */
#include "http_wait.h"

static void start_app(void)
{
        app = make_app(0, drop_log);
        http_start(app);
}

static void stop_app(void)
{
        cr_assert_eq(stats_of(app).requests_waiting, 0);
        http_end(app);
}

TestSuite(http_wait, .init = start_app, .fini = stop_app);

/* ---- Every kind of request, waiting in every place. ---- */

#define LARGE 300000

struct kind {
        const char *method, *fields;
        size_t      body;   /* bytes, of which there are as many chunks as fit into 10000 */
        bool        chunked, expects;
};

static const struct kind kinds[] = {
        { "GET", "", 0, false, false },
        { "HEAD", "", 0, false, false },
        { "POST", "Content-Length: 0\r\n", 0, false, false },
        { "POST", "Content-Length: 5\r\n", 5, false, false },
        { "POST", "Content-Length: 300000\r\n", LARGE, false, false },
        { "POST", "Transfer-Encoding: chunked\r\n", 5, true, false },
        { "POST", "Transfer-Encoding: chunked\r\n", LARGE, true, false },
        { "POST", "Content-Length: 5\r\nExpect: 100-continue\r\n", 5, false, true },
        { "POST", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", 5, true, true },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static char body[LARGE + 1];

static void fill_body(size_t size)
{
        for (size_t i = 0; i < size; i++)
                body[i] = (char)('a' + i % 23);
        body[size] = '\0';
}

static void send_head(struct client *client, const struct kind *kind, const char *path)
{
        char head[512];

        snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\n" H "%s\r\n", kind->method, path,
                 kind->fields);
        client_send(client, head);
}

static void send_body(struct client *client, const struct kind *kind)
{
        char line[32];

        if (!kind->chunked) {
                client_send_bytes(client, body, kind->body);
                return;
        }
        for (size_t at = 0; at < kind->body; at += 10000) {
                size_t size = kind->body - at < 10000 ? kind->body - at : 10000;

                snprintf(line, sizeof(line), "%zx\r\n", size);
                client_send(client, line);
                client_send_bytes(client, body + at, size);
                client_send(client, "\r\n");
        }
        client_send(client, "0\r\n\r\n");
}

/* The answer has the body that was sent; then the connection goes on, where that can be. */
static void expect_echo(struct client *client, const struct kind *kind)
{
        bool is_head = !strcmp(kind->method, "HEAD");
        struct answer answer = client_next(client, is_head);

        cr_assert_eq(answer.status, 200, "%s %s: %d", kind->method, kind->fields, answer.status);
        cr_assert_eq(answer.body.len, is_head ? 0 : kind->body);
        cr_assert_eq(memcmp(answer.body.ptr ? answer.body.ptr : "", body, answer.body.len), 0);
        if (kind->chunked && mhd_is_old())
                client_expect_end(client);
        else
                client_expect_alive(client);
}

/* The head waits at `path` where headers are enough: the body is still to come. */
static void visit_gate(const struct kind *kind)
{
        struct client client = client_to(app);

        fill_body(kind->body);
        send_head(&client, kind, "/gate/echo");
        pass_next();
        if (kind->expects)
                client_read(&client, 100);
        send_body(&client, kind);
        expect_echo(&client, kind);
        client_close(&client);
}

static void visit_late(const struct kind *kind)
{
        struct client client = client_to(app);

        fill_body(kind->body);
        send_head(&client, kind, "/late/echo");
        if (kind->expects)
                client_read(&client, 100);
        send_body(&client, kind);
        pass_next();
        expect_echo(&client, kind);
        client_close(&client);
}

static void visit_doze(const struct kind *kind)
{
        struct client client = client_to(app);

        fill_body(kind->body);
        send_head(&client, kind, "/doze");
        if (kind->expects)
                client_read(&client, 100);
        send_body(&client, kind);
        expect_echo(&client, kind);
        client_close(&client);
}

Test(http_wait, every_kind_of_request_waits_before_its_body)
{
        for (size_t i = 0; i < N_KINDS; i++)
                visit_gate(&kinds[i]);
}

Test(http_wait, every_kind_of_request_waits_behind_its_body)
{
        for (size_t i = 0; i < N_KINDS; i++)
                visit_late(&kinds[i]);
}

Test(http_wait, every_kind_of_request_waits_for_a_moment)
{
        for (size_t i = 0; i < N_KINDS; i++)
                visit_doze(&kinds[i]);
}

Test(http_wait, a_body_that_is_sent_with_its_head_waits_with_it)
{
        struct client client = client_to(app);

        for (int i = 0; i < 50; i++) {
                client_send(&client,
                            "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello");
                pass_next();
                client_expect(&client, 200, "hello");
        }
        client_close(&client);
}

/* ---- Refusals behind a wait. ---- */

static void refuse_next(void)
{
        struct weir_ctx *ctx = claimed(next_ticket());

        weir_resume(ctx, weir_fail(ctx, 403, NULL));
}

Test(http_wait, a_refusal_before_a_small_body_keeps_the_connection)
{
        struct client client = client_to(app);

        client_send(&client, "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhe");
        refuse_next();
        client_send(&client, "llo");
        client_read(&client, 403);
        client_expect_alive(&client);
        client_close(&client);
}

Test(http_wait, a_refusal_reaches_a_client_that_sends_no_body)
{
        static const char *const fields[] = { "Content-Length: 5\r\n", "Content-Length: 500000\r\n",
                                              "Transfer-Encoding: chunked\r\n",
                                              "Content-Length: 5\r\nExpect: 100-continue\r\n" };

        for (size_t i = 0; i < 4; i++) {
                struct client client = client_to(app);
                char head[256];

                snprintf(head, sizeof(head), "POST /gate/echo HTTP/1.1\r\n" H "%s\r\n", fields[i]);
                client_send(&client, head);
                refuse_next();
                cr_assert(client_read(&client, 403).closes, "%s", fields[i]);
                client_expect_end(&client);
                client_close(&client);
        }
}

Test(http_wait, a_deadline_is_504_and_the_connection_goes_on)
{
        struct client client = client_to(app);

        for (uint64_t i = 1; i <= 5; i++) {
                client_send(&client, i % 2 ? "GET /short HTTP/1.1\r\n" H "\r\n"
                                           : "POST /short HTTP/1.1\r\n" H
                                             "Content-Length: 3\r\n\r\nabc");
                client_read(&client, 504);
                cr_assert_null(weir_claim(next_ticket()));
                cr_assert_eq(stats_of(app).deadlines_missed, i);
        }
        client_expect_alive(&client);
        client_close(&client);
}

/* ---- Several at once. ---- */

Test(http_wait, requests_behind_one_that_waits_are_answered_in_order)
{
        struct client client = client_to(app);

        for (int i = 0; i < 20; i++) {
                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\nGET / HTTP/1.1\r\n" H "\r\n"
                                     "GET /gate/echo HTTP/1.1\r\n" H "\r\n"
                                     "GET /doze HTTP/1.1\r\n" H "\r\nGET / HTTP/1.1\r\n" H "\r\n");
                answer_next("first");
                client_expect(&client, 200, "first");
                client_expect(&client, 200, "ok");
                pass_next();
                client_expect(&client, 200, "");
                client_expect(&client, 200, "");
                client_expect(&client, 200, "ok");
        }
        client_close(&client);
}

Test(http_wait, one_that_waits_does_not_hold_up_the_others)
{
        struct client waiting = client_to(app), other = client_to(app);
        struct weir_ticket ticket;

        client_send(&waiting, "GET /hold HTTP/1.1\r\n" H "\r\n");
        ticket = next_ticket();
        for (int i = 0; i < 100; i++)
                client_expect_alive(&other);
        cr_assert_eq(stats_of(app).requests_waiting, 1);
        weir_resume(claimed(ticket), WEIR_DONE); /* without an answer */
        client_read(&waiting, 500);
        client_close(&waiting);
        client_close(&other);
}

Test(http_wait, five_hundred_wait_at_once)
{
        hold_many();
        for (int i = 0; i < MANY; i++) {
                struct weir_ctx *ctx = claimed(next_ticket());

                weir_resume(ctx, weir_text(ctx, 200, "ok"));
        }
        for (int i = 0; i < MANY; i++) {
                client_expect(&many[i], 200, "ok");
                client_close(&many[i]);
        }
        cr_assert_eq(stats_of(app).requests_waiting, 0);
}

Test(http_wait, requests_go_on_while_five_hundred_others_wait)
{
        struct weir_ticket held[MANY];
        struct client client = client_to(app);

        hold_many();
        for (int i = 0; i < MANY; i++)
                held[i] = next_ticket();
        for (int i = 0; i < 200; i++) {
                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
                answer_next("held");
                client_expect(&client, 200, "held");
        }
        client_close(&client);
        for (int i = 0; i < MANY; i++)
                weir_resume(claimed(held[i]), WEIR_DONE); /* without an answer */
        for (int i = 0; i < MANY; i++) {
                client_read(&many[i], 500);
                client_close(&many[i]);
        }
}

Test(http_wait, of_five_hundred_that_wait_each_one_that_leaves_is_noticed)
{
        hold_many();
        for (int i = 0; i < MANY; i++) {
                client_close(&many[i]);
                while (stats_of(app).status[0] < (uint64_t)i + 1)
                        sched_yield();
        }
        cr_assert_eq(stats_of(app).requests_waiting, 0);
        while (n_taken < MANY)
                cr_assert_null(weir_claim(next_ticket()));
}

/* ---- Cut up at every byte. ---- */

static void split(const char *request, const char *want, bool closes)
{
        size_t len = strlen(request);

        for (size_t at = 1; at < len; at++) {
                struct client client = client_to(app);

                client_send_bytes(&client, request, at);
                client_send_bytes(&client, request + at, len - at);
                pass_next();
                client_expect(&client, 200, want);
                if (!closes)
                        client_expect_alive(&client);
                client_close(&client);
        }
}

Test(http_wait, requests_may_be_cut_up_anywhere)
{
        split("GET /gate/echo HTTP/1.1\r\n" H "\r\n", "", false);
        split("POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", "abc", false);
        split("POST /late/echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc", "abc", false);
        split("POST /gate/echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n0\r\n\r\n",
              "abc", mhd_is_old());
}

/* The rest of the request comes once it waits: to what MHD has put aside. */
Test(http_wait, more_may_come_while_a_request_waits)
{
        static const char rest[] = "abcGET / HTTP/1.1\r\n" H "\r\n";

        for (size_t at = 1; at < sizeof(rest) - 1; at++) {
                struct client client = client_to(app);
                struct weir_ticket ticket;

                client_send(&client, "POST /gate/echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n");
                ticket = next_ticket();
                client_send_bytes(&client, rest, at);
                weir_resume(claimed(ticket), WEIR_NEXT);
                client_send(&client, rest + at);
                client_expect(&client, 200, "abc");
                client_expect(&client, 200, "ok");
                client_close(&client);
        }
}

/* ---- What no route takes. ---- */

Test(http_wait, what_no_route_takes_waits_with_its_scope)
{
        struct client client = client_to(app);

        client_send(&client, "GET /gate/nowhere HTTP/1.1\r\n" H "\r\n");
        pass_next();
        client_read(&client, 404);
        client_send(&client, "POST /gate/nowhere HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc");
        pass_next();
        client_read(&client, 404);
        client_send(&client, "GET /late/%zz HTTP/1.1\r\n" H "\r\n");
        pass_next();
        client_read(&client, 400);
        client_expect_alive(&client);
        client_close(&client);
}

/* libmicrohttpd does not say that it has something to do for a request that goes on. */
Test(http_wait, requests_go_on_however_many_connections_there_are)
{
        struct client idle[200];

        for (int i = 0; i < 200; i++)
                idle[i] = client_to(app);
        for (int i = 0; i < 500; i++) {
                struct client client = client_to(app);

                client_send(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
                answer_next("held");
                client_expect(&client, 200, "held");
                client_close(&client);
        }
        for (int i = 0; i < 200; i++)
                client_close(&idle[i]);
}
