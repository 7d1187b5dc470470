/*
 * http_guard.c - requests that are malformed or ambiguous: refused once, and nothing after them.
 *
 * Behind each stands a second request that is well-formed. Were it served, the first would have
 * smuggled it in.
 */
#include "http.h"
#include "http_attacks.h"

#include <stdatomic.h>

#define SECOND "GET /second HTTP/1.1\r\nHost: x\r\n\r\n"

static atomic_int seconds, firsts;

static enum weir_flow second(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&seconds, 1);
        return weir_text(ctx, 200, "second");
}

static enum weir_flow first(struct weir_ctx *ctx, void *self)
{
        (void)self;
        atomic_fetch_add(&firsts, 1);
        return weir_textf(ctx, 200, "%zu bytes", ctx->body.len);
}

static enum weir_flow fine(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "fine");
}

/* A server whose every path but two is served by first(). */
struct victim {
        struct weir *app;
        char         dir[32], path[48];
};

static struct victim start_victim(size_t connection_memory)
{
        struct victim victim = { .dir = "/tmp/weir-test-XXXXXX" };
        char address[64];

        victim.app = weir_new(&(struct weir_options){
                .loops = 1, .log = drop_log, .connection_memory = connection_memory });
        cr_assert(mkdtemp(victim.dir));
        snprintf(victim.path, sizeof(victim.path), "%s/sock", victim.dir);
        snprintf(address, sizeof(address), "unix:%s", victim.path);
        weir_listen(victim.app, "127.0.0.1:0", NULL);
        weir_listen(victim.app, address, NULL);
        weir_get(victim.app, "/second", second, NULL);
        weir_get(victim.app, "/fine", fine, NULL);
        weir_any(victim.app, "/{rest...}", first, NULL);
        http_start(victim.app);
        return victim;
}

static void end_victim(struct victim *victim)
{
        http_end(victim->app);
        rmdir(victim->dir);
}

/* ---- What happened. ---- */

/* How many status lines there are. */
static unsigned count_answers(struct weir_str text)
{
        const char *at = text.ptr, *end = text.ptr + text.len;
        unsigned n = 0;

        while (at && (at = memmem(at, (size_t)(end - at), "HTTP/1.1 ", 9))) {
                at += 9;
                n += *at >= '1' && *at <= '5';
        }
        return n;
}

/* How much each counter of refusals went up: [0] is libmicrohttpd's. */
static unsigned count_refusals(const struct weir_stats *before, const struct weir_stats *after,
                               unsigned by[WEIR_GUARD_REASONS])
{
        unsigned sum = by[0] = (unsigned)(after->transport_answers - before->transport_answers);

        for (int i = 1; i < WEIR_GUARD_REASONS; i++)
                sum += by[i] = (unsigned)(after->guard[i] - before->guard[i]);
        return sum;
}

/* What went out and what was counted must be what the verdict says. */
static void judge(const char *what, const struct verdict *want, struct weir_str sent,
                  const struct weir_stats *before, const struct weir_stats *after)
{
        unsigned by[WEIR_GUARD_REASONS], n = count_refusals(before, after, by);
        unsigned answers = count_answers(sent);
        int status = sent.len > 12 ? net_status(sent.ptr) : 0;

        if (want->by == SILENT) {
                cr_assert_eq(sent.len, 0, "%s: %.200s", what, sent.ptr);
                cr_assert_eq(n, 0, "%s: counted", what);
                return;
        }
        cr_assert_eq(n, 1, "%s: counted %u times: %.200s", what, n, sent.ptr);
        cr_assert(answers == 1 || (answers == 2 && want->twice && mhd_is_old() && by[0]),
                  "%s: %u answers: %.400s", what, answers, sent.ptr);
        if (want->status)
                cr_assert_eq(status, want->status, "%s: %d, not %d", what, status, want->status);
        cr_assert(status >= 400 && status <= 599, "%s: %d", what, status);
        if (want->by == MHDS)
                cr_assert_eq(by[0], 1, "%s: by weir", what);
        else if (want->by > 0)
                cr_assert_eq(by[want->by], 1, "%s: not counted as %s", what,
                             weir_guard_name((enum weir_guard)want->by));
        cr_assert(strstr(sent.ptr, "\r\nConnection: close\r\n"), "%s", what);
        if (by[0])
                cr_assert_eq(after->transport_status[status / 100],
                             before->transport_status[status / 100] + 1);
}

/* Sends an attack, whole or in two, and looks at all that comes of it. */
static void attack_in_two(struct victim *victim, const struct attack *attack, size_t split)
{
        struct verdict want = mhd_is_old() ? attack->old : attack->now;
        struct weir_stats before = stats_of(victim->app), after;
        int served = atomic_load(&firsts), more = atomic_load(&seconds);
        struct client client = split ? client_on(net_connect_unix(victim->path))
                                     : client_to(victim->app);
        char *all = malloc(attack->len + sizeof(SECOND));
        const char *what = shown(attack->bytes, attack->len);
        struct weir_str sent;
        bool clean;

        memcpy(all, attack->bytes, attack->len);
        memcpy(all + attack->len, SECOND, sizeof(SECOND));
        if (split) {
                client_send_bytes(&client, all, split);
                client_wait_taken(&client);
        }
        client_try_send(&client, all + split, attack->len - split + strlen(SECOND));
        if (want.by == SILENT)
                shutdown(client.fd, SHUT_WR);
        sent = client_read_all(&client, &clean);
        after = stats_of(victim->app);
        cr_assert_eq(atomic_load(&seconds), more, "the second was served: %s", what);
        if (want.by == LATE && atomic_load(&firsts) == served + 1) {
                cr_assert_eq(net_status(sent.ptr), 200, "%s", what);
        } else {
                cr_assert_eq(atomic_load(&firsts), served, "it was served: %s", what);
                judge(what, &want, sent, &before, &after);
                if (want.by != SILENT && after.transport_answers == before.transport_answers)
                        cr_assert(clean, "reset, not closed: %s", what);
        }
        free(all);
        client_close(&client);
}

static void expect_fine(struct victim *victim)
{
        struct client client = client_to(victim->app);

        client_send(&client, "GET /fine HTTP/1.1\r\nHost: x\r\n\r\n");
        client_expect(&client, 200, "fine");
        client_close(&client);
}

static void attack_with(const struct attack *attacks, size_t n)
{
        struct victim victim = start_victim(0);

        for (size_t i = 0; i < n; i++) {
                attack_in_two(&victim, &attacks[i], 0);
                expect_fine(&victim);
        }
        end_victim(&victim);
}

static void attack_in_pieces(const struct attack *attacks, size_t n)
{
        struct victim victim = start_victim(0);

        for (size_t i = 0; i < n; i++) {
                for (size_t split = 1; split < attacks[i].len; split++)
                        attack_in_two(&victim, &attacks[i], split);
                expect_fine(&victim);
        }
        end_victim(&victim);
}

/* Bytes that never get as far as an answer, and a client that then leaves. */
static void expect_silence(struct victim *victim, const char *bytes, size_t len)
{
        struct weir_stats before = stats_of(victim->app), after;
        struct client client = client_to(victim->app);
        unsigned by[WEIR_GUARD_REASONS];

        client_send_bytes(&client, bytes, len);
        shutdown(client.fd, SHUT_WR);
        client_expect_end(&client);
        after = stats_of(victim->app);
        cr_assert_eq(count_refusals(&before, &after, by), 0, "%s", shown(bytes, len));
        cr_assert_eq(after.requests, before.requests);
        client_close(&client);
}

Test(http_guard, what_never_becomes_a_request_gets_no_answer_and_is_closed_when_the_client_leaves)
{
        struct victim victim = start_victim(0);

        expect_silence(&victim, BYTES(""));
        expect_silence(&victim, BYTES("GET / HT"));
        expect_silence(&victim, BYTES(GET));
        expect_silence(&victim, BYTES("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"));
        expect_fine(&victim);
        end_victim(&victim);
}

Test(http_guard, an_empty_line_before_a_request_is_skipped) /* RFC 9112 2.2 */
{
        struct victim victim = start_victim(0);
        struct client client = client_to(victim.app);

        client_send(&client, "\r\n" SECOND "\r\n" SECOND);
        client_expect(&client, 200, "second");
        client_expect(&client, 200, "second");
        client_close(&client);
        end_victim(&victim);
}

#define ALL(attacks) attacks, sizeof(attacks) / sizeof((attacks)[0])

Test(http_guard, a_bad_request_line_is_refused_once_and_nothing_behind_it_is_served)
{
        attack_with(ALL(attacks_on_the_line));
}

Test(http_guard, a_bad_header_field_is_refused_once_and_nothing_behind_it_is_served)
{
        attack_with(ALL(attacks_on_fields));
}

Test(http_guard, ambiguous_framing_is_refused_once_and_nothing_behind_it_is_served)
{
        attack_with(ALL(attacks_on_framing));
}

Test(http_guard, bad_chunks_are_refused_once_or_end_the_connection)
{
        attack_with(ALL(attacks_on_chunks));
}

Test(http_guard, a_bad_request_line_is_refused_the_same_wherever_it_is_split)
{
        attack_in_pieces(ALL(attacks_on_the_line));
}

Test(http_guard, a_bad_header_field_is_refused_the_same_wherever_it_is_split)
{
        attack_in_pieces(ALL(attacks_on_fields));
}

Test(http_guard, ambiguous_framing_is_refused_the_same_wherever_it_is_split)
{
        attack_in_pieces(ALL(attacks_on_framing));
}

Test(http_guard, bad_chunks_are_refused_the_same_wherever_they_are_split)
{
        attack_in_pieces(ALL(attacks_on_chunks));
}

/* ---- Sizes. ---- */

/* `before`, `n` times `fill`, `after`. */
static struct attack padded(const char *before, char fill, size_t n, const char *after)
{
        size_t head = strlen(before), tail = strlen(after);
        char *bytes = malloc(head + n + tail + 1);

        memcpy(bytes, before, head);
        memset(bytes + head, fill, n);
        memcpy(bytes + head + n, after, tail + 1);
        return (struct attack){ .bytes = bytes, .len = head + n + tail };
}

static void attack_padded(struct victim *victim, struct attack attack, struct verdict want)
{
        attack.old = attack.now = want;
        attack_in_two(victim, &attack, 0);
        expect_fine(victim);
        free((char *)(uintptr_t)attack.bytes);
}

Test(http_guard, what_does_not_fit_the_memory_of_a_connection_is_refused_once)
{
        struct victim victim = start_victim(0);

        attack_padded(&victim, padded("GET /", 'a', 20000, " HTTP/1.1\r\n" H "\r\n"),
                      (struct verdict)MHD(414));
        attack_padded(&victim, padded("GET /?", 'a', 20000, " HTTP/1.1\r\n" H "\r\n"),
                      (struct verdict)MHD(414));
        attack_padded(&victim, padded(GET "A: ", 'b', 20000, "\r\n\r\n"), (struct verdict)MHD(431));
        attack_padded(&victim, padded(GET, 'b', 20000, ": a\r\n\r\n"), (struct verdict)MHD(431));
        attack_padded(&victim, padded(POST TE "\r\n3\r\nabc\r\n0\r\nA: ", 'b', 20000, "\r\n\r\n"),
                      (struct verdict)MHD(431));
        end_victim(&victim);
}

Test(http_guard, a_host_of_more_than_255_bytes_is_refused)
{
        struct victim victim = start_victim(0);

        attack_padded(&victim, padded("GET / HTTP/1.1\r\nHost: ", 'a', 256, "\r\n\r\n"),
                      (struct verdict)BY(HOST));
        end_victim(&victim);
}

Test(http_guard, the_hundred_and_first_field_is_refused)
{
        struct victim victim = start_victim(0);
        char head[2048] = GET;

        for (int i = 2; i <= 100; i++)
                strcat(head, "A: b\r\n");
        attack_padded(&victim, padded(head, 'A', 1, ": b\r\n\r\n"),
                      (struct verdict){ 431, WEIR_GUARD_TOO_MANY_HEADERS, false });
        end_victim(&victim);
}

Test(http_guard, a_length_of_nineteen_digits_is_answered_413_and_nothing_behind_it_is_served)
{
        struct victim victim = start_victim(0);
        struct client client = client_to(victim.app);

        client_send(&client, POST "Content-Length: 9999999999999999999\r\n\r\nabc" SECOND);
        client_read(&client, 413);
        client_expect_end(&client);
        client_close(&client);
        cr_assert_eq(atomic_load(&seconds) + atomic_load(&firsts), 0);
        cr_assert_eq(stats_of(victim.app).bodies_too_large, 1);
        expect_fine(&victim);
        end_victim(&victim);
}

/* ---- The query that crashed libmicrohttpd 1.0.0 to 1.0.6. ---- */

/* A query without '=' of `n` bytes, no header field; its last line end sent alone when `split`. */
static void query_of(struct victim *victim, size_t n, const char *version, bool split)
{
        struct attack attack = padded("GET /?", 'a', n, version);
        struct client client = split ? client_on(net_connect_unix(victim->path))
                                     : client_to(victim->app);
        int served = atomic_load(&firsts), more = atomic_load(&seconds), status;
        struct weir_str sent;

        if (split) {
                client_send_bytes(&client, attack.bytes, attack.len - 2);
                client_wait_taken(&client);
        }
        client_try_send(&client, attack.bytes + (split ? attack.len - 2 : 0),
                        split ? 2 : attack.len);
        sent = client_read_all(&client, NULL);
        status = sent.len ? net_status(sent.ptr) : 0;
        cr_assert(status == 200 || status == 400 || status == 414 || status == 431, "%zu bytes: %d",
                  n, status);
        cr_assert_eq(count_answers(sent), 1, "%zu bytes", n);
        cr_assert_eq(atomic_load(&firsts), served + (status == 200));
        cr_assert_eq(atomic_load(&seconds), more);
        free((char *)(uintptr_t)attack.bytes);
        client_close(&client);
}

static void queries_around(size_t pool)
{
        struct victim victim = start_victim(pool);
        size_t from = pool / 2 - 600, step = pool / 256;

        for (size_t n = from; n < pool + 200; n += n < pool - 1200 ? 8 * step : step) {
                query_of(&victim, n, " HTTP/1.0\r\n\r\n", false);
                query_of(&victim, n, " HTTP/1.0\r\n\r\n", true);
                query_of(&victim, n, " HTTP/1.1\r\n\r\n", false);
        }
        expect_fine(&victim);
        end_victim(&victim);
}

Test(http_guard, a_query_without_a_name_does_not_crash_in_pools_of_2_and_4_kib)
{
        queries_around(2048);
        queries_around(4096);
}

Test(http_guard, a_query_without_a_name_does_not_crash_in_a_pool_of_8_kib)
{
        queries_around(8192);
}

Test(http_guard, a_query_without_a_name_does_not_crash_in_a_pool_of_16_kib)
{
        queries_around(16384);
}

Test(http_guard, a_query_without_a_name_does_not_crash_in_a_pool_of_32_kib)
{
        queries_around(32768);
}
