/* test_timeout_header.c - how long a caller waits, as header fields say it (weir/timeout.h). */
#include "kit.h"
#include "timeout_header.h"

#include <weir/wait.h>

#define MS      1000000ull
#define MAX_NS  (600000 * MS)
#define NO_TIME UINT64_MAX

static uint64_t read_as(enum weir_timeout_header header, const char *text)
{
        uint64_t ns = 0;
        bool ok = weir__timeout_header_read(header, (struct weir_str){ text, strlen(text) }, MAX_NS,
                                            &ns);

        return ok ? ns : NO_TIME;
}

Test(timeout_header, milliseconds_are_digits_and_nothing_else)
{
        static const char *const none[] = { "",   "-1",  "+1",   " 1", "1 ",  "1.5",
                                            "1s", "0x1", "1e3",  "m",  "1,2", "9999999999999999" };

        cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, "0"), 0);
        cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, "0001500"), 1500 * MS);
        cr_assert_eq(read_as(WEIR_X_ENVOY_EXPECTED_RQ_TIMEOUT_MS, "15"), 15 * MS);
        cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, "600000"), MAX_NS);
        cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, "600001"), MAX_NS, "longer is as long");
        cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, "999999999999999"), MAX_NS);
        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
                cr_assert_eq(read_as(WEIR_X_REQUEST_TIMEOUT_MS, none[i]), NO_TIME, "%s", none[i]);
}

Test(timeout_header, grpc_has_at_most_8_digits_and_a_unit)
{
        static const char *const none[] = { "", "S", "1", "1s", "1M1", "123456789m", "-1S", "1 S" };

        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "1H"), MAX_NS);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "2M"), 120000 * MS);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "3S"), 3000 * MS);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "4m"), 4 * MS);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "5u"), 5000);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "99999999n"), 99999999);
        cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, "99999999H"), MAX_NS);
        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
                cr_assert_eq(read_as(WEIR_GRPC_TIMEOUT, none[i]), NO_TIME, "%s", none[i]);
}

/* ---- In. ---- */

static enum weir_flow tell(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%lld", (long long)weir_timeout_left_ms(ctx, 0));
}

static struct weir *timed_app(const char *trusted, int64_t timeout_ms)
{
        struct weir *app = app_with(tell, NULL);

        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = timeout_ms,
                                                      .header = WEIR_X_REQUEST_TIMEOUT_MS,
                                                      .trusted = trusted });
        return app;
}

Test(timeout_header, what_a_trusted_caller_says_shortens_the_time_and_never_lengthens_it)
{
        struct weir *app = timed_app("127.0.0.0/8", 2000);

        expect(app, "GET /\nX-Request-Timeout-Ms: 500", 200, "500");
        expect(app, "GET /\nX-Request-Timeout-Ms: 5000", 200, "2000");
        expect(app, "GET /", 200, "2000");
        expect(app, "GET /\nX-Request-Timeout-Ms: soon", 200, "2000");
        expect(app, "GET /\nX-Request-Timeout-Ms: 1\nX-Request-Timeout-Ms: 1", 200, "2000");
        weir_free(app);
}

Test(timeout_header, without_a_time_of_its_own_the_header_is_all_there_is)
{
        struct weir *app = timed_app("127.0.0.1", WEIR_INF);

        expect(app, "GET /\nX-Request-Timeout-Ms: 700", 200, "700");
        expect(app, "GET /\nX-Request-Timeout-Ms: 999999999", 200, "600000");
        weir_free(app);
}

Test(timeout_header, others_are_not_believed)
{
        struct weir *app = timed_app("10.0.0.0/8", 2000);

        expect(app, "GET /\nX-Request-Timeout-Ms: 500", 200, "2000");
        weir_free(app);
}

static enum weir_outcome outcome;

static void keep_outcome(struct weir_ctx *ctx, void *self)
{
        (void)self;
        outcome = ctx->outcome;
}

Test(timeout_header, a_caller_that_has_given_up_is_answered_504_without_the_handler)
{
        static const struct weir_middleware look = { .name = "look", .on_done = keep_outcome };
        struct weir *app = timed_app("127.0.0.1", 2000);

        weir_use(app,
                 &(struct weir_middleware){
                         .name = look.name, .phase = WEIR_OBSERVE, .on_done = look.on_done },
                 NULL);
        cr_assert_eq(status_of(app, "GET /\nX-Request-Timeout-Ms: 0"), 504);
        cr_assert_eq(outcome, WEIR_TIMEOUT);
        weir_free(app);
}

Test(timeout_header, mistakes_in_the_setup_are_named)
{
        static const struct weir_timeout wrong[] = {
                { .header = WEIR_GRPC_TIMEOUT },
                { .header = (enum weir_timeout_header)9, .trusted = "unix" },
                { .header = WEIR_GRPC_TIMEOUT, .trusted = "nonsense" },
                { .header = WEIR_GRPC_TIMEOUT, .trusted = "unix", .max_header_ms = 600001 },
                { .header = WEIR_GRPC_TIMEOUT, .trusted = "unix", .max_header_ms = -1 },
        };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct weir *app = quiet_app();

                weir_use_timeout(app, &wrong[i]);
                cr_assert(weir_error(app) && strstr(weir_error(app), "weir_use_timeout()"), "%zu",
                          i);
                weir_free(app);
        }
}

/* ---- Out. ---- */

static void expect_written(enum weir_timeout_header header, int64_t ms, const char *name,
                           const char *text)
{
        char value[24];
        const char *got = weir_timeout_write(header, ms, value);

        cr_assert_str_eq(got, name);
        cr_assert_str_eq(value, text);
        cr_assert_eq(read_as(header, value), (uint64_t)ms < 600000 ? (uint64_t)ms * MS : MAX_NS);
}

Test(timeout_header, what_is_written_is_read_again)
{
        char value[24];

        expect_written(WEIR_X_REQUEST_TIMEOUT_MS, 1500, "X-Request-Timeout-Ms", "1500");
        expect_written(WEIR_GRPC_TIMEOUT, 1500, "grpc-timeout", "1500m");
        expect_written(WEIR_GRPC_TIMEOUT, 99999999, "grpc-timeout", "99999999m");
        expect_written(WEIR_GRPC_TIMEOUT, 100000000, "grpc-timeout", "100000S");
        expect_written(WEIR_X_ENVOY_EXPECTED_RQ_TIMEOUT_MS, 1, "x-envoy-expected-rq-timeout-ms",
                       "1");
        cr_assert_null(weir_timeout_write(WEIR_GRPC_TIMEOUT, 0, value));
        cr_assert_null(weir_timeout_write(WEIR_GRPC_TIMEOUT, WEIR_INF, value));
        cr_assert_null(weir_timeout_write(WEIR_TIMEOUT_NO_HEADER, 5, value));
}

static enum weir_flow tell_margin(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_textf(ctx, 200, "%lld %lld", (long long)weir_timeout_left_ms(ctx, 10),
                          (long long)weir_timeout_left_ms(ctx, 3000));
}

Test(timeout_header, what_is_left_for_a_call_is_less_a_margin_and_never_below_0)
{
        struct weir *app = app_with(tell_margin, NULL);

        weir_use_timeout(app, &(struct weir_timeout){ .timeout_ms = 2000 });
        expect(app, "GET /", 200, "1990 0");
        weir_free(app);
        app = app_with(tell, NULL);
        expect(app, "GET /", 200, "9223372036854775807");
        weir_free(app);
}
