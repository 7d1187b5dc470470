/* test_guard.c - what a request must be (RFC 9110, RFC 9112), asked in memory. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weir *app;

static void setup(void)
{
        app = quiet_app();
        weir_get(app, "/", say, "ok");
        weir_post(app, "/", say, "ok");
        weir_route(app, WEIR_OPTIONS, "/", say, "ok", NULL);
}

static void teardown(void)
{
        weir_free(app);
}

TestSuite(guard, .init = setup, .fini = teardown);

/* Refused with `status`, for `reason`, and the connection closed. */
static void refused(const char *request, int status, enum weir_guard reason)
{
        struct weir_stats before, after;
        struct weir_reply *reply;

        weir_stats(app, &before);
        reply = ask(app, request, status);
        weir_stats(app, &after);
        cr_assert(reply->closes, "%s", request);
        cr_assert_eq(after.guard[reason], before.guard[reason] + 1, "%s: not for %s", request,
                     weir_guard_name(reason));
        weir_reply_free(reply);
}

static void passes(const char *request)
{
        struct weir_reply *reply = ask(app, request, 200);

        cr_assert_not(reply->closes, "%s", request);
        weir_reply_free(reply);
}

Test(guard, a_method_is_a_token)
{
        passes("GET /");
        refused("G@T / HTTP/1.1\nHost: a", 400, WEIR_GUARD_METHOD);
        refused("G\x01T / HTTP/1.1\nHost: a", 400, WEIR_GUARD_METHOD);
        refused(" / HTTP/1.1\nHost: a", 400, WEIR_GUARD_METHOD);
        refused("CONNECT a:443 HTTP/1.1\nHost: a", 501, WEIR_GUARD_METHOD);
}

Test(guard, versions_1_x_are_served_and_others_refused)
{
        passes("GET / HTTP/1.0\nHost: a\nConnection: keep-alive");
        passes("GET / HTTP/1.1\nHost: a");
        passes("GET / HTTP/1.2\nHost: a");
        refused("GET / HTTP/2.0\nHost: a", 505, WEIR_GUARD_VERSION);
        refused("GET / HTTP/0.9\nHost: a", 505, WEIR_GUARD_VERSION);
        refused("GET / HTTP/1.10\nHost: a", 505, WEIR_GUARD_VERSION);
        refused("GET / HTTP/1.\nHost: a", 505, WEIR_GUARD_VERSION);
}

Test(guard, there_is_one_host_and_it_is_one)
{
        static const char *const good[] = {
                "a",
                "EXAMPLE.org",
                "example.org:80",
                "example.org.",
                "127.0.0.1:8080",
                "[::1]",
                "[::1]:80",
                "a_b-c~d",
                "a:",
                "%61",
                "xn--bcher-kva.example",
        };
        static const char *const bad[] = {
                "a b", "a/b",      "a@b",     "[::1",   "::1", "[]",  "[::g]",
                "a:x", "a:123456", "a:80:80", "[::1]x", "a?b", "a#b", "a\\b",
        };
        char request[512];

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                snprintf(request, sizeof(request), "GET /\nHost: %s", good[i]);
                passes(request);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                snprintf(request, sizeof(request), "GET /\nHost: %s", bad[i]);
                refused(request, 400, WEIR_GUARD_HOST);
        }
        refused("GET /\nHost: a\nHost: a", 400, WEIR_GUARD_HOST);
        refused("GET /\nHost: a\nhost: b", 400, WEIR_GUARD_HOST);
}

Test(guard, a_host_name_has_at_most_255_bytes)
{
        char request[512] = "GET /\nHost: ";
        size_t len = strlen(request);

        memset(request + len, 'a', 255);
        passes(request);
        memset(request + len, 'a', 256);
        refused(request, 400, WEIR_GUARD_HOST);
}

Test(guard, a_length_is_one_number)
{
        static const char *const bad[] = { "+3",  "-3", "3, 3", "3 3",
                                           "0x3", "",   "3a",   "99999999999999999999" };
        char request[128];

        passes("POST /\nContent-Length: 3\n\nabc");
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                snprintf(request, sizeof(request), "POST /\nContent-Length: %s\n\nabc", bad[i]);
                refused(request, 400, WEIR_GUARD_CONTENT_LENGTH);
        }
        refused("POST /\nContent-Length: 3\nContent-Length: 3\n\nabc", 400,
                WEIR_GUARD_CONTENT_LENGTH);
        refused("POST /\nContent-Length: 3\nContent-Length: 4\n\nabc", 400,
                WEIR_GUARD_CONTENT_LENGTH);
}

Test(guard, the_only_transfer_coding_is_chunked_and_it_stands_alone)
{
        passes("POST /\nTransfer-Encoding: chunked\n\nabc");
        passes("POST /\nTransfer-Encoding: Chunked\n\nabc");
        refused("POST /\nTransfer-Encoding: gzip\n\nabc", 501, WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: gzip, chunked\n\nabc", 501,
                WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: xchunked\n\nabc", 501, WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: identity\n\nabc", 501, WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\nabc", 400,
                WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: chunked\nContent-Length: 3\n\nabc", 400,
                WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST / HTTP/1.0\nTransfer-Encoding: chunked\n\nabc", 400,
                WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: chunked \n\nabc", 400, WEIR_GUARD_TRANSFER_ENCODING);
        refused("POST /\nTransfer-Encoding: chunked\t\n\nabc", 400, WEIR_GUARD_TRANSFER_ENCODING);
}

Test(guard, an_unknown_coding_beside_another_fault_is_that_fault)
{
        refused("POST /\nHost: a\nHost: a\nTransfer-Encoding: gzip\n\nabc", 400, WEIR_GUARD_HOST);
        refused("POST /\nX: \x01\nTransfer-Encoding: gzip\n\nabc", 400, WEIR_GUARD_HEADER_VALUE);
}

Test(guard, a_target_is_visible_ascii_of_a_known_form)
{
        passes("GET /?a=b");
        passes("GET http://example.org/ HTTP/1.1\nHost: other");
        passes("GET HTTP://example.org HTTP/1.1\nHost: other");
        passes("GET http://example.org?x=1 HTTP/1.1\nHost: other");
        refused("GET a HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET * HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET /a b HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET /#x HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET /\xc3\xa9 HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET /\x7f HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET ftp://a/ HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET http:///x HTTP/1.1\nHost: a", 400, WEIR_GUARD_TARGET);
        refused("GET http://u@a/ HTTP/1.1\nHost: a", 400, WEIR_GUARD_HOST);
        cr_assert_eq(status_of(app, "OPTIONS * HTTP/1.1\nHost: a"), 204);
}

static enum weir_flow tell_host(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "text/plain", ctx->host);
}

Test(guard, an_absolute_target_names_the_host)
{
        struct weir *other = quiet_app();

        weir_get(other, "/", tell_host, NULL);
        expect(other, "GET http://Example.ORG:8080/ HTTP/1.1\nHost: ignored", 200, "example.org");
        expect(other, "GET /\nHost: A.b.:80", 200, "a.b");
        expect(other, "GET /\nHost: [::1]:80", 200, "[::1]");
        weir_free(other);
}

Test(guard, a_field_name_is_a_token)
{
        passes("GET /\nX-Any!#$%&'*+.^_`|~9: x");
        refused("GET /\nX A: x", 400, WEIR_GUARD_HEADER_NAME);
        refused("GET /\nX-A : x", 400, WEIR_GUARD_HEADER_NAME);
        refused("GET /\n: x", 400, WEIR_GUARD_HEADER_NAME);
        refused("GET /\nX(A): x", 400, WEIR_GUARD_HEADER_NAME);
        refused("GET /\nno colon", 400, WEIR_GUARD_HEADER_NAME);
}

Test(guard, a_field_value_has_no_control_bytes_but_tab)
{
        passes("GET /\nX: a\tb");
        passes("GET /\nX: caf\xc3\xa9 \xff");
        passes("GET /\nX:");
        refused("GET /\nX: a\rb", 400, WEIR_GUARD_HEADER_VALUE);
        refused("GET /\nX: a\x01", 400, WEIR_GUARD_HEADER_VALUE);
        refused("GET /\nX: \x7f", 400, WEIR_GUARD_HEADER_VALUE);
        refused("GET /\nX: a long value, and only its last byte is wrong\x1f", 400,
                WEIR_GUARD_HEADER_VALUE);
}

Test(guard, a_nul_in_a_head_is_refused)
{
        struct weir_reply *reply = weir_ask_bytes(app, WEIR_STR("GET /\nX: a\0b"));

        cr_assert_eq(reply->status, 400);
        weir_reply_free(reply);
}

Test(guard, fields_that_may_stand_once_do)
{
        static const char *const names[] = {
                "Content-Type",      "Authorization",       "Origin",
                "If-Modified-Since", "If-Unmodified-Since", "If-Range"
        };
        char request[256];

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                snprintf(request, sizeof(request), "GET /\n%s: a\n%s: a", names[i], names[i]);
                refused(request, 400, WEIR_GUARD_DUPLICATE_HEADER);
        }
        passes("GET /\nAccept: a\nAccept: b");
        passes("GET /\ntraceparent: a\ntraceparent: b");
}

Test(guard, there_are_at_most_max_headers_fields)
{
        struct weir *other = weir_new(&(struct weir_options){ .max_headers = 3 });

        weir_get(other, "/", say, "ok");
        cr_assert_eq(status_of(other, "GET /\nHost: a\nX: 1\nX: 2"), 200);
        cr_assert_eq(status_of(other, "GET /\nHost: a\nX: 1\nX: 2\nX: 3"), 431);
        weir_free(other);
}

/* "GET /" is sent as "GET / HTTP/1.1", with a Host. */
Test(guard, there_are_at_most_max_header_bytes)
{
        struct weir *other = weir_new(&(struct weir_options){ .max_header_bytes = 128 });
        size_t fixed = strlen("GET / HTTP/1.1\r\nHost: x\r\nA: \r\n\r\n");
        char request[200];

        weir_get(other, "/", say, "ok");
        for (size_t size = 127; size < 135; size++) {
                snprintf(request, sizeof(request), "GET /\nHost: x\nA: %0*d", (int)(size - fixed),
                         0);
                cr_assert_eq(status_of(other, request), size <= 128 ? 200 : 431, "%zu", size);
        }
        weir_free(other);
}
