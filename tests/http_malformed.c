/*
 * http_malformed.c - a request with one byte more, less or other, against the grammar.
 *
 * What the grammar of RFC 9112 takes is served, all else is not, and what stands behind it is
 * served only behind what was. The judge here is slow and plain, and knows nothing of weir.
 */
#include "http.h"

#include <ctype.h>
#include <stdatomic.h>

#define SECOND "GET /second HTTP/1.1\r\nHost: x\r\n\r\n"

static atomic_int firsts, seconds;

static enum weir_flow count(struct weir_ctx *ctx, void *counter)
{
        atomic_fetch_add((atomic_int *)counter, 1);
        return weir_text(ctx, 200, "ok");
}

/* ---- The judge. ---- */

static bool is_token(const char *at, const char *end)
{
        if (at == end)
                return false;
        for (; at < end; at++) {
                if (!*at || (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at)))
                        return false;
        }
        return true;
}

static bool is_visible(const char *at, const char *end)
{
        for (; at < end; at++) {
                if (*at <= ' ' || *at >= 0x7f || *at == '#')
                        return false;
        }
        return true;
}

/* method SP target SP HTTP/1.DIGIT, the target being a path. */
static bool is_request_line(const char *at, const char *end)
{
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *next = space ? memchr(space + 1, ' ', (size_t)(end - space - 1)) : NULL;

        return next && is_token(at, space) && space[1] == '/' && is_visible(space + 1, next) &&
               end - next == 9 && !memcmp(next, " HTTP/1.", 8) && isdigit((unsigned char)next[8]);
}

/* host[:port], the host being a name. */
static bool is_host(const char *at, const char *end)
{
        while (at < end && (*at == ' ' || *at == '\t'))
                at++;
        while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        while (at < end && isalnum((unsigned char)*at))
                at++;
        if (at < end && *at == ':')
                at++;
        while (at < end && isdigit((unsigned char)*at))
                at++;
        return at == end;
}

/* name ":" value, without control bytes but tab. */
static bool is_field(const char *at, const char *end, unsigned *hosts)
{
        const char *colon = memchr(at, ':', (size_t)(end - at));

        if (!colon || !is_token(at, colon))
                return false;
        for (const char *c = colon + 1; c < end; c++) {
                if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
                        return false;
        }
        if (colon - at != 4 || strncasecmp(at, "Host", 4))
                return true;
        ++*hosts;
        return is_host(colon + 1, end);
}

/* A whole head of HTTP/1.1, no body, and nothing behind it. */
static bool is_request(const char *at, size_t len)
{
        const char *end = at + len, *line_end = memmem(at, len, "\r\n", 2);
        unsigned hosts = 0;

        if (!line_end || !is_request_line(at, line_end))
                return false;
        for (;;) {
                at = line_end + 2;
                line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
                if (!line_end)
                        return false;
                if (line_end == at)
                        return hosts == 1 && at + 2 == end;
                if (!is_field(at, line_end, &hosts))
                        return false;
        }
}

/*
 * Before 1.0 libmicrohttpd takes NUL LF for CR LF, and a line of ':' LF for the empty one, and
 * leaves no trace of it: docs/limits.md.
 */
static bool is_beyond_judging(const char *request, size_t len)
{
        return mhd_is_old() &&
               (memmem(request, len, "\0\n", 2) || memmem(request, len, "\n:\n", 3));
}

/* ---- The accused. ---- */

static struct weir *app;

static void start_app(void)
{
        app = http_app(1);
        weir_get(app, "/second", count, &seconds);
        weir_any(app, "/{rest...}", count, &firsts);
        http_start(app);
}

static void stop_app(void)
{
        http_end(app);
}

TestSuite(http_malformed, .init = start_app, .fini = stop_app);

/* Sends it with the second behind it, and closes the sending side. */
static void judge(const char *request, size_t len)
{
        bool well_formed = is_request(request, len), is_found = true;
        int first = atomic_load(&firsts), second = atomic_load(&seconds);
        struct client client = client_to(app);
        const char *what = shown(request, len);
        struct weir_str sent;

        if (is_beyond_judging(request, len)) {
                client_close(&client);
                return;
        }
        client_send_bytes(&client, request, len);
        client_try_send(&client, SECOND, well_formed ? strlen(SECOND) : 0);
        if (well_formed) {
                is_found = client_next(&client, false).status != 404; /* "//" is no segment */
                cr_assert_eq(client_next(&client, false).status, 200, "behind %s", what);
        } else {
                client_try_send(&client, SECOND, strlen(SECOND));
                shutdown(client.fd, SHUT_WR);
                sent = client_read_all(&client, NULL);
                cr_assert(sent.len == 0 || net_status(sent.ptr) >= 400, "%s: %.200s", what,
                          sent.ptr);
        }
        cr_assert_eq(atomic_load(&firsts), first + (well_formed && is_found), "%s", what);
        cr_assert_eq(atomic_load(&seconds), second + well_formed, "%s", what);
        client_close(&client);
}

/* Every way to put one byte of the alphabet into, or in place of, one of the request. */
static void judge_all(const char *request)
{
        static const char alphabet[] = { '\0', '\t', '\n', '\r', ' ', ':', 'Z', '\x80', '/' };
        size_t len = strlen(request);
        char bytes[256];

        judge(request, len);
        for (size_t at = 0; at < len; at++) {
                memcpy(bytes, request, at);
                memcpy(bytes + at, request + at + 1, len - at - 1);
                judge(bytes, len - 1);
                for (size_t i = 0; i < sizeof(alphabet); i++) {
                        bool is_blank_line = at == 0 &&
                                             (alphabet[i] == '\r' || alphabet[i] == '\n');

                        if (is_blank_line) /* may be skipped: RFC 9112 2.2 */
                                continue;
                        bytes[at] = alphabet[i];
                        memcpy(bytes + at + 1, request + at + 1, len - at - 1);
                        judge(bytes, len);
                        memcpy(bytes + at + 1, request + at, len - at);
                        if (memcmp(bytes, request, len) != 0)
                                judge(bytes, len + 1);
                }
        }
}

Test(http_malformed, a_request_with_one_byte_wrong_is_served_only_if_the_grammar_takes_it)
{
        judge_all("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
        judge_all("PUT /a HTTP/1.1\r\nA: b\r\nHost: x:80\r\nC:\r\n\r\n");
}
