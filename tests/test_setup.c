/* test_setup.c - mistakes in the setup: one sentence each, that names the culprit. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The app must not start, and say all of `words`. Frees it. */
static void refused(struct weir *app, const char *words)
{
        const char *error;
        char copy[256], *rest, *word;

        cr_assert_eq(weir_start(app), -1);
        error = weir_error(app);
        cr_assert_not_null(error);
        snprintf(copy, sizeof(copy), "%s", words);
        for (word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
                cr_assert(strstr(error, word), "\"%s\" does not say \"%s\"", error, word);
        cr_assert_null(strchr(error, '\n'), "one sentence is one line: %s", error);
        weir_free(app);
}

static struct weir *app_with_route(const char *pattern)
{
        struct weir *app = quiet_app();

        weir_get(app, pattern, say, "x");
        return app;
}

Test(setup, a_bad_pattern_is_quoted)
{
        refused(app_with_route("books"), "\"books\"");
        refused(app_with_route("/{a}/{a}"), "/{a}/{a}|a");
        refused(app_with_route("/{rest...}/x"), "/{rest...}/x");
        refused(app_with_route("/{a"), "/{a");
        refused(app_with_route("/a//b"), "/a//b");
}

Test(setup, too_many_parameters_are_refused)
{
        refused(app_with_route(
                        "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}/{q}"),
                "16");
}

Test(setup, the_same_route_twice_names_both)
{
        struct weir *app = quiet_app();

        weir_get(app, "/books/{id}", say, "x");
        weir_get(app, "/books/{isbn}", say, "x");
        refused(app, "/books/{id}|/books/{isbn}");
}

Test(setup, a_null_handler_or_pattern_is_refused)
{
        struct weir *app = quiet_app();

        weir_get(app, "/x", NULL, NULL);
        refused(app, "/x|NULL");
        app = quiet_app();
        weir_get(app, NULL, say, NULL);
        refused(app, "NULL");
}

Test(setup, the_first_error_sticks)
{
        struct weir *app = quiet_app();

        weir_setup_error(app, "first: %d", 1);
        weir_setup_error(app, "second");
        weir_get(app, "/x", NULL, NULL);
        refused(app, "first: 1");
}

Test(setup, every_call_takes_a_null_scope)
{
        weir_get(NULL, "/", say, NULL);
        cr_assert_null(weir_group(NULL, "/x", NULL));
        cr_assert_null(weir_use(NULL, NULL, NULL));
        cr_assert_null(weir_static(NULL, 200, NULL, WEIR_STR("")));
        cr_assert_eq(weir_slot(NULL, "x").index, 0);
        weir_local(NULL, NULL, NULL);
        weir_method(NULL, "X");
        weir_listen(NULL, "x", NULL);
        weir_setup_error(NULL, "x");
        cr_assert_eq(weir_start(NULL), -1);
        cr_assert_eq(weir_stop(NULL), 0);
        cr_assert_not_null(weir_error(NULL));
        weir_free(NULL);
}

Test(setup, an_address_that_is_none_is_quoted)
{
        static const char *const bad[] = {
                "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ":8080",
                "::1:80", "[::1]", "[::1]:", "unix:", "127.0.0.1:80 ",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct weir *app = app_with_route("/");

                weir_listen(app, bad[i], NULL);
                refused(app, bad[i]);
        }
}

/* An app whose one listener has these options. */
static struct weir *app_behind(const struct weir_listen_options *options)
{
        struct weir *app = quiet_app();

        weir_listen(app, "127.0.0.1:0", options);
        return app;
}

Test(setup, a_wrong_listener_behind_a_proxy_is_named)
{
        refused(app_behind(&(struct weir_listen_options){ .proxy_protocol = true,
                                                          .trusted_proxies = "::1, 10.0.0.0/33" }),
                "127.0.0.1:0|\"10.0.0.0/33\"");
        refused(app_behind(&(struct weir_listen_options){ .proxy_protocol = true,
                                                          .proxy_timeout_ms = 60001 }),
                "127.0.0.1:0|proxy_timeout_ms|60000|60001");
        refused(app_behind(&(struct weir_listen_options){ .proxy_protocol = true,
                                                          .proxy_timeout_ms = -1 }),
                "127.0.0.1:0|proxy_timeout_ms|-1");
        refused(app_behind(&(struct weir_listen_options){ .trusted_proxies = "::1" }),
                "127.0.0.1:0|proxy_protocol");
        refused(app_behind(&(struct weir_listen_options){ .proxy_timeout_ms = 1000 }),
                "127.0.0.1:0|proxy_protocol");
}

Test(setup, only_the_root_listens)
{
        struct weir *app = quiet_app();

        weir_listen(weir_group(app, "/x", NULL), "127.0.0.1:0", NULL);
        refused(app, "root");
}

Test(setup, a_prefix_starts_with_a_slash_and_does_not_end_with_one)
{
        struct weir *app = quiet_app();

        weir_group(app, "api", NULL);
        refused(app, "\"api\"");
        app = quiet_app();
        weir_group(app, "/api/", NULL);
        refused(app, "\"/api/\"");
}

Test(setup, options_out_of_range_are_named)
{
        refused(weir_new(&(struct weir_options){ .arena = 1 }), "arena");
        refused(weir_new(&(struct weir_options){ .connection_memory = 1 }), "connection_memory");
        refused(weir_new(&(struct weir_options){ .loops = 100000 }), "loops");
        refused(weir_new(&(struct weir_options){ .max_headers = 1000000 }), "max_headers");
        refused(weir_new(&(struct weir_options){ .over_connections = (enum weir_over)3 }),
                "over_connections");
        refused(weir_new(&(struct weir_options){ .max_header_bytes = 127 }), "max_header_bytes");
        refused(weir_new(&(struct weir_options){ .max_header_bytes = 16385 }), "connection_memory");
        refused(weir_new(&(struct weir_options){ .scope.max_body = -7 }), "max_body");
        refused(weir_new(&(struct weir_options){ .scope.slash = (enum weir_slash)9 }), "slash");
}

Test(setup, limits_that_are_negative_are_named)
{
        refused(weir_new(&(struct weir_options){ .idle_timeout_ms = -1 }), "idle_timeout_ms");
        refused(weir_new(&(struct weir_options){ .header_timeout_ms = -1 }), "header_timeout_ms");
        refused(weir_new(&(struct weir_options){ .body_timeout_ms = -1 }), "body_timeout_ms");
        refused(weir_new(&(struct weir_options){ .write_timeout_ms = -1 }), "write_timeout_ms");
        refused(weir_new(&(struct weir_options){ .min_body_rate = -2 }), "min_body_rate");
        refused(weir_new(&(struct weir_options){ .min_write_rate = -2 }), "min_write_rate");
        refused(weir_new(&(struct weir_options){ .rate_window_ms = -1 }), "rate_window_ms");
        refused(weir_new(&(struct weir_options){ .max_requests = -1 }), "max_requests");
        refused(weir_new(&(struct weir_options){ .max_age_ms = -1 }), "max_age_ms");
        refused(weir_new(&(struct weir_options){ .worker_queue_ms = -1 }), "worker_queue_ms");
        refused(weir_new(&(struct weir_options){ .max_connections_per_client = -1 }),
                "max_connections_per_client");
        refused(weir_new(&(struct weir_options){ .workers = 1025 }), "workers");
}

Test(setup, a_middleware_needs_a_name_and_a_phase_that_exists)
{
        static const struct weir_middleware nameless = { .self_size = 1 };
        static const struct weir_middleware lost = { .name = "lost", .phase = (enum weir_phase)77 };
        struct weir *app = quiet_app();

        cr_assert_null(weir_use(app, &nameless, NULL));
        refused(app, "name");
        app = quiet_app();
        cr_assert_null(weir_use(app, &lost, NULL));
        refused(app, "lost");
}

Test(setup, a_chain_has_at_most_63_middleware)
{
        static const struct weir_middleware mw = { .name = "one" };
        struct weir *app = app_with_route("/");

        for (int i = 0; i < WEIR_MAX_LINKS - 1; i++)
                weir_use(app, &mw, NULL);
        expect(app, "GET /", 200, "x");
        weir_free(app);
        app = app_with_route("/");
        for (int i = 0; i < WEIR_MAX_LINKS; i++)
                weir_use(app, &mw, NULL);
        refused(app, "64|63");
}

Test(setup, slots_methods_and_locals_are_bounded)
{
        static const struct weir_local_type type = { .name = "db", .open = NULL };
        struct weir *app = quiet_app();
        char name[16];

        for (int i = 0; i < WEIR_MAX_SLOTS; i++) {
                snprintf(name, sizeof(name), "s%d", i);
                weir_slot(app, name);
        }
        refused(app, "\"s15\"");
        app = quiet_app();
        for (int i = 0; i <= 16; i++) {
                snprintf(name, sizeof(name), "M%d", i);
                weir_method(app, name);
        }
        refused(app, "\"M16\"");
        app = quiet_app();
        weir_local(app, &type, NULL);
        refused(app, "open");
        app = quiet_app();
        weir_method(app, "NOT A TOKEN");
        refused(app, "NOT A TOKEN");
}

static void *cannot_open(void *arg, const char **why)
{
        (void)arg;
        *why = "the disk is full";
        return NULL;
}

Test(setup, a_value_per_loop_that_does_not_open_fails_the_start_with_its_reason)
{
        static const struct weir_local_type type = { .name = "db", .open = cannot_open };
        struct weir *app = app_with_route("/");

        weir_local(app, &type, NULL);
        weir_listen(app, "127.0.0.1:0", NULL);
        refused(app, "\"db\"|the disk is full");
}

/* What `open` knows of its app. */
struct opener {
        struct weir *scope;
        int          tries;
};

static void *open_at_the_second_try(void *arg, const char **why)
{
        struct opener *opener = arg;

        (void)why;
        if (++opener->tries > 1)
                return opener;
        weir_setup_error(opener->scope, "cannot open %s: error %d", "books.db", 14);
        return NULL;
}

Test(setup, a_value_per_loop_may_format_its_reason_and_be_tried_again)
{
        static const struct weir_local_type type = { .name = "db", .open = open_at_the_second_try };
        struct weir *app = app_with_route("/");
        struct opener opener = { .scope = app };

        weir_local(app, &type, &opener);
        weir_listen(app, "127.0.0.1:0", NULL);
        cr_assert_eq(weir_start(app), -1);
        cr_assert_str_eq(weir_error(app), "cannot open books.db: error 14");
        cr_assert_eq(weir_start(app), 0);
        cr_assert_null(weir_error(app));
        weir_free(app);
}

Test(setup, setting_up_after_the_start_is_an_error)
{
        struct weir *app = app_with_route("/");

        expect(app, "GET /", 200, "x");
        weir_get(app, "/late", say, "x");
        expect(app, "GET /", 200, "x");
        refused(app, "weir_route()");
}

Test(setup, asking_an_app_with_an_error_answers_with_its_sentence)
{
        struct weir *app = app_with_route("books");
        struct weir_reply *reply = ask(app, "GET /", 500);

        cr_assert_str_eq(reply->body.ptr, weir_error(app));
        weir_reply_free(reply);
        weir_free(app);
}

Test(setup, what_comes_after_a_dump_is_an_error_and_not_lost)
{
        struct weir *app = app_with_route("/");

        free(weir_dump(app));
        weir_listen(app, "127.0.0.1:0", NULL);
        refused(app, "weir_listen()");
}

Test(setup, a_prefix_that_is_too_long_is_refused)
{
        static char prefix[8200];

        for (size_t len = 8150; len < sizeof(prefix); len++) {
                struct weir *app = quiet_app();

                memset(prefix, 'a', len);
                prefix[0] = '/';
                prefix[len] = '\0';
                weir_get(weir_group(app, prefix, NULL), "/x", say, "x");
                cr_assert(weir_start(app) < 0 || len + 2 <= 8192);
                weir_free(app);
        }
}

Test(setup, a_slot_needs_a_name_and_a_204_no_body)
{
        struct weir *app = quiet_app();

        weir_slot(app, NULL);
        refused(app, "weir_slot()");
        app = quiet_app();
        weir_static(app, 204, "a/b", WEIR_STR("x"));
        refused(app, "204");
}
