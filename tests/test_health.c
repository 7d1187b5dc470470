/* test_health.c - what /livez, /readyz and /startupz say, in memory (weir/health.h). */
#include "kit.h"

#include "check.h"

#include <stdio.h>
#include <weir/network.h>
#include <weir/wait.h>

static struct weir *app;

static void start_app(void)
{
        app = weir_new(&(struct weir_options){ .log = drop_log });
}

static void stop_app(void)
{
        weir_free(app);
}

TestSuite(health, .init = start_app, .fini = stop_app);

/* A check that the test turns on and off, which counts its runs. */
struct thing {
        bool        broken;
        const char *why;
        unsigned    runs;
        uint64_t    takes_ms; /* of the clock of the asks */
};

static bool look_at(void *arg, char *why, size_t size)
{
        struct thing *thing = arg;

        thing->runs++;
        weir_tick(app, thing->takes_ms);
        if (thing->broken && thing->why)
                snprintf(why, size, "%s", thing->why);
        return !thing->broken;
}

static enum weir_flow refuse(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_refuse(ctx, 429, NULL);
}

/* ---- Answers. ---- */

Test(health, an_app_with_nothing_to_check_lives_is_ready_and_has_started)
{
        weir_use_health(app, NULL);
        expect(app, "GET /livez", 200, "ok\n");
        expect(app, "GET /readyz", 200, "ok\n");
        expect(app, "GET /startupz", 200, "ok\n");
        expect_header(app, "GET /readyz", "Cache-Control", "no-store");
        expect_header(app, "GET /readyz", "Content-Type", "text/plain; charset=utf-8");
}

Test(health, head_is_answered_as_get_without_the_body)
{
        struct weir_reply *reply;

        weir_use_health(app, NULL);
        reply = ask(app, "HEAD /readyz", 200);
        cr_assert_eq(reply->length, 3);
        cr_assert_eq(reply->body.len, 0);
        weir_reply_free(reply);
}

Test(health, other_methods_are_answered_405_with_allow)
{
        static const char *const requests[] = { "POST /livez", "OPTIONS /readyz",
                                                "DELETE /startupz", "BREW /livez" };

        weir_use_health(app, NULL);
        for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
                cr_assert_eq(status_of(app, requests[i]), 405, "%s", requests[i]);
                expect_header(app, requests[i], "Allow", "GET, HEAD");
        }
}

Test(health, limits_and_authentication_do_not_see_the_probes)
{
        static const struct weir_middleware refuser = { .name = "refuser",
                                                        .phase = WEIR_RATE,
                                                        .on_request = refuse };

        weir_use(app, &refuser, NULL);
        weir_use_health(app, NULL);
        weir_get(app, "/", say, "x");
        cr_assert_eq(status_of(app, "GET /"), 429);
        cr_assert_eq(status_of(app, "GET /livez"), 200);
        cr_assert_eq(status_of(app, "GET /readyz?verbose"), 200);
}

Test(health, other_paths_go_on_to_the_app)
{
        weir_use_health(app, NULL);
        weir_any(app, "/{path...}", say, "app");
        expect(app, "GET /", 200, "app");
        expect(app, "GET /livez/", 200, "app");
        expect(app, "GET /Livez", 200, "app");
        expect(app, "GET /readyzz", 200, "app");
        expect(app, "GET /live%7a", 200, "app");
        expect(app, "OPTIONS *", 204, "");
}

Test(health, paths_can_be_set_and_left_out)
{
        weir_use_health(app,
                        &(struct weir_health_options){ .livez = "/health/live", .startupz = "" });
        cr_assert_eq(status_of(app, "GET /health/live"), 200);
        cr_assert_eq(status_of(app, "GET /readyz"), 200);
        cr_assert_eq(status_of(app, "GET /livez"), 404);
        cr_assert_eq(status_of(app, "GET /startupz"), 404);
}

Test(health, verbose_names_what_was_looked_at)
{
        struct thing db = { 0 }, cache = { .broken = true };
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "db", look_at, &db, NULL);
        weir_health_check(health, "cache", look_at, &cache,
                          &(struct weir_check_options){ .optional = true });
        expect(app, "GET /livez?verbose", 200, "[+]loops ok\nok\n");
        expect(app, "GET /startupz?verbose=1", 200, "[+]started ok\nok\n");
        expect(app, "GET /readyz?verbose", 200,
               "[+]started ok\n[+]serving ok\n[+]db ok\n[-]cache failed (optional)\nok\n");
        expect(app, "GET /readyz?verbose=no", 200, "ok\n");
}

Test(health, who_names_json_gets_json)
{
        struct thing db = { .broken = true };
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "db", look_at, &db, NULL);
        expect(app, "GET /livez\nAccept: application/json", 200,
               "{\"status\":\"ok\",\"checks\":["
               "{\"name\":\"loops\",\"ok\":true,\"optional\":false}]}");
        expect(app, "GET /readyz\nAccept: text/html, Application/JSON;q=0.5", 503,
               "{\"status\":\"failed\",\"checks\":["
               "{\"name\":\"started\",\"ok\":true,\"optional\":false},"
               "{\"name\":\"serving\",\"ok\":true,\"optional\":false},"
               "{\"name\":\"db\",\"ok\":false,\"optional\":false}]}");
        expect(app, "GET /livez\nAccept: */*", 200, "ok\n");
        expect(app, "GET /livez\nAccept: application/jso", 200, "ok\n");
}

/* ---- Started. ---- */

Test(health, an_app_that_says_when_it_has_started_is_not_ready_before)
{
        struct weir_health *health = weir_use_health(
                app, &(struct weir_health_options){ .manual_start = true });

        expect(app, "GET /startupz", 503, "failed\n");
        expect(app, "GET /readyz", 503, "failed\n");
        expect(app, "GET /livez", 200, "ok\n");
        weir_mark_started(health);
        expect(app, "GET /startupz", 200, "ok\n");
        expect(app, "GET /readyz", 200, "ok\n");
}

/* ---- Checks. ---- */

Test(health, a_check_runs_when_its_interval_has_passed)
{
        struct thing db = { 0 };
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "db", look_at, &db, NULL);
        expect(app, "GET /livez", 200, "ok\n");
        expect(app, "GET /startupz", 200, "ok\n");
        cr_assert_eq(db.runs, 0, "what is not ready can live");
        expect(app, "GET /readyz", 200, "ok\n");
        expect(app, "GET /readyz", 200, "ok\n");
        cr_assert_eq(db.runs, 1);
        weir_tick(app, 4999);
        expect(app, "GET /readyz", 200, "ok\n");
        cr_assert_eq(db.runs, 1);
        weir_tick(app, 1);
        expect(app, "GET /readyz", 200, "ok\n");
        cr_assert_eq(db.runs, 2);
}

Test(health, one_failed_run_is_not_enough_two_are_and_one_good_one_mends_it)
{
        struct thing db = { 0 };
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "db", look_at, &db, NULL);
        expect(app, "GET /readyz", 200, "ok\n");
        db.broken = true;
        weir_tick(app, 5000);
        expect(app, "GET /readyz", 200, "ok\n");
        weir_tick(app, 5000);
        expect(app, "GET /readyz", 503, "failed\n");
        db.broken = false;
        weir_tick(app, 5000);
        expect(app, "GET /readyz", 200, "ok\n");
}

Test(health, thresholds_can_be_set)
{
        struct thing db = { 0 };
        struct weir_health *health = weir_use_health(app, NULL);
        static const int expected[] = { 503, 200, 503, 503, 200 };
        static const bool broken[] = { false, false, true, false, false };

        weir_health_check(
                health, "db", look_at, &db,
                &(struct weir_check_options){ .interval_ms = 100, .fail_after = 1, .ok_after = 2 });
        for (int i = 0; i < 5; i++) {
                db.broken = broken[i];
                cr_assert_eq(status_of(app, "GET /readyz"), expected[i], "run %d", i);
                weir_tick(app, 100);
        }
}

Test(health, a_run_that_takes_longer_than_its_timeout_has_failed)
{
        struct thing db = { .takes_ms = 1000 };
        struct weir_health *health = weir_use_health(
                app, &(struct weir_health_options){ .trusted = "0.0.0.0/0, ::/0, unix" });

        weir_health_check(health, "db", look_at, &db,
                          &(struct weir_check_options){ .fail_after = 1 });
        cr_assert_eq(status_of(app, "GET /readyz"), 503); /* 1 s is too long */
        db.takes_ms = 999;
        weir_tick(app, 5000);
        cr_assert_eq(status_of(app, "GET /readyz"), 200);
}

Test(health, an_optional_check_never_makes_an_app_unready)
{
        struct thing cache = { .broken = true };
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "cache", look_at, &cache,
                          &(struct weir_check_options){ .optional = true });
        for (int i = 0; i < 5; i++) {
                expect(app, "GET /readyz", 200, "ok\n");
                weir_tick(app, 5000);
        }
        cr_assert_eq(cache.runs, 5);
}

Test(health, two_apps_have_checks_of_their_own)
{
        struct weir *other = quiet_app();
        struct thing broken = { .broken = true };

        weir_health_check(weir_use_health(app, NULL), "db", look_at, &broken, NULL);
        weir_use_health(other, NULL);
        cr_assert_eq(status_of(app, "GET /readyz"), 503);
        cr_assert_eq(status_of(other, "GET /readyz"), 200);
        weir_free(other);
}

/* ---- One check as numbers. ---- */

#define S 1000000000ull

static const struct weir__check_rule rule = { 5 * S, 1 * S, 2, 1, false };

static struct weir__check_state good_at(uint64_t now_ns)
{
        struct weir__check_state state = { 0 };

        weir__check_begin(&state, &rule, now_ns);
        cr_assert(weir__check_end(&state, &rule, true, now_ns));
        return state;
}

Test(check, what_has_not_run_has_failed)
{
        struct weir__check_state state = { 0 };

        cr_assert(!weir__check_judge(&state, &rule, 1 * S));
}

Test(check, a_result_that_is_older_than_three_intervals_has_failed)
{
        struct weir__check_state state = good_at(100 * S);

        cr_assert(weir__check_judge(&state, &rule, 100 * S));
        cr_assert(weir__check_judge(&state, &rule, 115 * S));
        cr_assert(!weir__check_judge(&state, &rule, 115 * S + 1));
}

Test(check, a_run_that_hangs_fails_at_its_timeout_and_again_for_each_interval)
{
        struct weir__check_state state = good_at(100 * S);

        weir__check_begin(&state, &rule, 105 * S);
        cr_assert(weir__check_judge(&state, &rule, 106 * S)); /* once */
        cr_assert(weir__check_judge(&state, &rule, 111 * S - 1));
        cr_assert(!weir__check_judge(&state, &rule, 111 * S)); /* twice */
        cr_assert(!weir__check_judge(&state, &rule, 1000000000 * S));
        cr_assert(!weir__check_end(&state, &rule, true, 1000000000 * S), "it had failed");
        cr_assert(!weir__check_judge(&state, &rule, 1000000000 * S));
        cr_assert_eq(state.next_ns, 1000000005 * S);
}

Test(check, a_run_that_hung_does_not_count_when_it_ends_whatever_it_says)
{
        struct weir__check_state state = good_at(100 * S);

        weir__check_begin(&state, &rule, 105 * S);
        cr_assert(!weir__check_end(&state, &rule, false, 106 * S));
        cr_assert_eq(state.against, 1, "one failure, not two");
        weir__check_begin(&state, &rule, 111 * S);
        cr_assert(weir__check_end(&state, &rule, false, 112 * S - 1));
        cr_assert(!weir__check_judge(&state, &rule, 112 * S));
}

Test(check, results_that_differ_must_come_in_a_row)
{
        static const struct weir__check_rule three = { 1 * S, 1 * S, 3, 1, false };
        static const char results[] = "+--+--+---";
        struct weir__check_state state = { 0 };

        for (size_t i = 0; results[i]; i++) {
                weir__check_begin(&state, &three, i * S + S);
                weir__check_end(&state, &three, results[i] == '+', i * S + S);
                cr_assert_eq(weir__check_judge(&state, &three, i * S + S), results[i + 1] != '\0',
                             "result %zu", i);
        }
}

/* ---- Who is told why. ---- */

Test(network, an_address_is_in_the_networks_that_have_it)
{
        struct weir *root = quiet_app();
        struct weir_networks *some = weir_networks(root, "test", "10.0.0.0/8, ::1, unix");

        cr_assert(weir_networks_have(some, WEIR_STR("10.2.3.4")));
        cr_assert(weir_networks_have(some, WEIR_STR("::1")));
        cr_assert(weir_networks_have(some, WEIR_STR("unix")));
        cr_assert(!weir_networks_have(some, WEIR_STR("11.2.3.4")));
        cr_assert(!weir_networks_have(some, WEIR_STR("10.2.3.4:80")));
        cr_assert(!weir_networks_have(some, (struct weir_str){ 0 }));
        cr_assert(!weir_networks_have(NULL, WEIR_STR("10.2.3.4")));
        weir_networks_free(some);
        weir_networks_free(NULL);
        cr_assert_null(weir_networks(root, "weir_use_x(): trusted", "10.0.0.300"));
        cr_assert(strstr(weir_error(root), "weir_use_x(): trusted: \"10.0.0.300\" is not"));
        weir_free(root);
}

/* ---- Mistakes. ---- */

static void expect_mistake(const char *sentence)
{
        cr_assert_str_eq(weir_error(app), sentence);
}

Test(health, a_path_that_is_none_is_a_setup_error)
{
        cr_assert_null(weir_use_health(app, &(struct weir_health_options){ .readyz = "readyz" }));
        expect_mistake("weir_use_health(): the path \"readyz\" must start with '/'");
}

Test(health, a_lag_that_is_none_is_a_setup_error)
{
        cr_assert_null(weir_use_health(app, &(struct weir_health_options){ .max_lag_ms = -1 }));
        expect_mistake("weir_use_health(): max_lag_ms is -1: no time");
}

Test(health, networks_that_are_none_are_a_setup_error)
{
        cr_assert_null(weir_use_health(app, &(struct weir_health_options){ .trusted = "me" }));
        cr_assert(strstr(weir_error(app), "weir_use_health(): trusted: \"me\" is not"));
}

Test(health, two_checks_of_one_name_are_a_setup_error)
{
        struct weir_health *health = weir_use_health(app, NULL);

        weir_health_check(health, "db", look_at, NULL, NULL);
        weir_health_check(health, "db", look_at, NULL, NULL);
        expect_mistake("weir_health_check(): \"db\": there is one of that name");
}

Test(health, a_name_that_could_forge_a_line_is_a_setup_error)
{
        weir_health_check(weir_use_health(app, NULL), "a\n[+]b", look_at, NULL, NULL);
        cr_assert(strstr(weir_error(app), "the name must have 1 to 32 letters"));
}

Test(health, a_check_without_a_function_is_a_setup_error)
{
        weir_health_check(weir_use_health(app, NULL), "db", NULL, NULL, NULL);
        expect_mistake("weir_health_check(): \"db\": the function is NULL");
}

Test(health, a_timeout_longer_than_the_interval_is_a_setup_error)
{
        weir_health_check(weir_use_health(app, NULL), "db", look_at, NULL,
                          &(struct weir_check_options){ .interval_ms = 10, .timeout_ms = 11 });
        expect_mistake("weir_health_check(): \"db\": interval_ms must be 1 to 86400000, "
                       "timeout_ms at most that");
}

Test(health, more_than_32_checks_are_a_setup_error)
{
        struct weir_health *health = weir_use_health(app, NULL);
        char name[16];

        for (int i = 0; i < 32; i++) {
                snprintf(name, sizeof(name), "c%d", i);
                weir_health_check(health, name, look_at, NULL, NULL);
        }
        cr_assert_null(weir_error(app));
        weir_health_check(health, "more", look_at, NULL, NULL);
        expect_mistake("weir_health_check(): \"more\": an app has at most 32 checks");
}

Test(health, calls_with_nothing_do_nothing)
{
        cr_assert_null(weir_use_health(NULL, NULL));
        weir_health_check(NULL, "db", look_at, NULL, NULL);
        weir_mark_started(NULL);
        cr_assert_eq(weir_lag_ns(NULL), 0);
        cr_assert_eq(weir_lag_ns(app), 0);
}
