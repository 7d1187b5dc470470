/* test_chain.c - the contract of the hooks: each entered middleware gets exactly its calls. */
#include "kit.h"

#include <string.h>

/* What happened, in order: "+a" on_request, "-a" on_response, ".a" on_done, "!a" on_free. */
static char trace[1024];

static void note(char kind, const char *name)
{
        size_t len = strlen(trace);

        cr_assert_lt(len + strlen(name) + 2, sizeof(trace));
        trace[len] = kind;
        strcpy(trace + len + 1, name);
}

struct tracer {
        const char *name;
        int         status; /* not 0: answers with it; -1: WEIR_DONE without an answer */
};

static enum weir_flow enter(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        note('+', t->name);
        if (t->status < 0)
                return t->status == -1 ? WEIR_DONE : WEIR_WAIT;
        if (t->status)
                return weir_fail(ctx, t->status, "%s", t->name);
        return WEIR_NEXT;
}

static void leave(struct weir_ctx *ctx, void *self)
{
        (void)ctx;
        note('-', ((const struct tracer *)self)->name);
}

static void done(struct weir_ctx *ctx, void *self)
{
        (void)ctx;
        note('.', ((const struct tracer *)self)->name);
}

static void freed(void *self)
{
        note('!', ((const struct tracer *)self)->name);
}

#define TRACER(the_name, the_phase, the_at)                                                        \
        (struct weir_middleware)                                                                   \
        {                                                                                          \
                .name = the_name, .self_size = sizeof(struct tracer), .phase = the_phase,          \
                .at = the_at, .on_request = enter, .on_response = leave, .on_done = done           \
        }

static const struct weir_middleware tracer = {
        .name = "tracer",
        .self_size = sizeof(struct tracer),
        .on_request = enter,
        .on_response = leave,
        .on_done = done,
};

static const struct weir_middleware at_body = {
        .name = "at_body",
        .self_size = sizeof(struct tracer),
        .at = WEIR_AT_BODY,
        .on_request = enter,
        .on_response = leave,
        .on_done = done,
};

static enum weir_flow handle(struct weir_ctx *ctx, void *self)
{
        (void)self;
        note('h', "");
        return weir_text(ctx, 200, "ok");
}

static void use(struct weir *scope, const char *name, int status)
{
        weir_use(scope, &tracer, &(struct tracer){ name, status });
}

static void use_in(struct weir *scope, const struct weir_middleware *mw, const char *name)
{
        weir_use(scope, mw, &(struct tracer){ name, 0 });
}

static void trace_of(struct weir *app, const char *request, int status, const char *want)
{
        trace[0] = '\0';
        weir_reply_free(ask(app, request, status));
        cr_assert_str_eq(trace, want, "%s: %s, not %s", request, trace, want);
}

Test(chain, runs_requests_outside_in_and_responses_inside_out)
{
        struct weir *app = quiet_app();

        use(app, "a", 0);
        use(app, "b", 0);
        weir_get(app, "/", handle, NULL);
        trace_of(app, "GET /", 200, "+a+bh-b-a.b.a");
        weir_free(app);
}

Test(chain, a_refusal_is_seen_by_those_before_it_only)
{
        struct weir *app = quiet_app();

        use(app, "a", 0);
        use(app, "b", 429);
        use(app, "c", 0);
        weir_get(app, "/", handle, NULL);
        trace_of(app, "GET /", 429, "+a+b-a.a");
        weir_free(app);
}

Test(chain, a_refusal_at_each_phase_is_paid_back_by_the_phases_before_it)
{
        static const enum weir_phase order[] = {
                WEIR_OBSERVE, WEIR_EARLY,    WEIR_DEADLINE, WEIR_RATE, WEIR_CONCURRENCY,
                WEIR_AUTH,    WEIR_IDENTITY, WEIR_BREAKER,  WEIR_APP,  WEIR_TRANSFORM,
        };
        static const char *const names[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
        enum { N = sizeof(order) / sizeof(order[0]) };

        for (int refusing = 0; refusing <= N; refusing++) {
                struct weir_middleware mw[N];
                struct weir *app = quiet_app();
                char want[128] = "";

                for (int i = N - 1; i >= 0; i--) { /* written in the wrong order, on purpose */
                        mw[i] = TRACER("t", order[i], WEIR_AT_HEADERS);
                        weir_use(app, &mw[i],
                                 &(struct tracer){ names[i], i == refusing ? 503 : 0 });
                }
                weir_get(app, "/", handle, NULL);
                for (int i = 0; i < N && i <= refusing; i++)
                        strcat(strcat(want, "+"), names[i]);
                if (refusing == N)
                        strcat(want, "h");
                for (int i = refusing - 1; i >= 0; i--)
                        strcat(strcat(want, "-"), names[i]);
                for (int i = refusing - 1; i >= 0; i--)
                        strcat(strcat(want, "."), names[i]);
                trace_of(app, "GET /", refusing == N ? 200 : 503, want);
                weir_free(app);
        }
}

Test(chain, within_a_phase_root_comes_before_leaf_and_then_the_order_of_use)
{
        struct weir *app = quiet_app();
        struct weir *api = weir_group(app, "/api", NULL);
        struct weir *books = weir_group(api, "/books", NULL);

        use(books, "e", 0);
        weir_get(books, "/x", handle, NULL);
        use(api, "c", 0);
        use(app, "a", 0);
        use(app, "b", 0);
        use(api, "d", 0);
        trace_of(app, "GET /api/books/x", 200, "+a+b+c+d+eh-e-d-c-b-a.e.d.c.b.a");
        weir_free(app);
}

Test(chain, middleware_used_after_a_route_still_guards_it)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", handle, NULL);
        use(app, "a", 401);
        trace_of(app, "GET /", 401, "+a");
        weir_free(app);
}

Test(chain, a_group_does_not_touch_its_siblings)
{
        struct weir *app = quiet_app();
        struct weir *left = weir_group(app, "/left", NULL);
        struct weir *right = weir_group(app, "/right", NULL);

        use(left, "l", 0);
        use(right, "r", 0);
        weir_get(left, "/", handle, NULL);
        weir_get(right, "/", handle, NULL);
        trace_of(app, "GET /left/", 200, "+lh-l.l");
        trace_of(app, "GET /right/", 200, "+rh-r.r");
        weir_free(app);
}

Test(chain, a_miss_runs_the_chain_of_the_deepest_scope_above_the_path)
{
        struct weir *app = quiet_app();
        struct weir *api = weir_group(app, "/api", NULL);

        use(app, "a", 0);
        use(api, "b", 0);
        weir_get(api, "/x", handle, NULL);
        trace_of(app, "GET /nope", 404, "+a-a.a");
        trace_of(app, "GET /api/nope", 404, "+a+b-b-a.b.a");
        trace_of(app, "GET /api", 404, "+a+b-b-a.b.a");
        trace_of(app, "GET /apinope", 404, "+a-a.a");
        trace_of(app, "GET /api/%zz", 400, "+a+b-b-a.b.a");
        trace_of(app, "BREW /api/x", 501, "+a+b-b-a.b.a");
        weir_free(app);
}

Test(chain, wrong_methods_and_options_run_what_all_matching_routes_share)
{
        struct weir *app = quiet_app();
        struct weir *left = weir_group(app, "", NULL);
        struct weir *right = weir_group(app, "", NULL);

        use(app, "a", 0);
        use(left, "l", 0);
        use(right, "r", 0);
        weir_get(left, "/x", handle, NULL);
        weir_put(right, "/x", handle, NULL);
        weir_get(left, "/only", handle, NULL);
        trace_of(app, "DELETE /x", 405, "+a-a.a");
        trace_of(app, "OPTIONS /x", 204, "+a-a.a");
        trace_of(app, "DELETE /only", 405, "+a+l-l-a.l.a");
        weir_free(app);
}

Test(chain, a_preflight_runs_the_chain_of_the_route_it_asks_about)
{
        struct weir *app = quiet_app();
        struct weir *left = weir_group(app, "", NULL);
        struct weir *right = weir_group(app, "", NULL);

        use(left, "l", 0);
        use(right, "r", 0);
        weir_get(left, "/x", handle, NULL);
        weir_put(right, "/x", handle, NULL);
        trace_of(app, "OPTIONS /x\nOrigin: http://a\nAccess-Control-Request-Method: PUT", 204,
                 "+r-r.r");
        trace_of(app, "OPTIONS /x\nOrigin: http://a\nAccess-Control-Request-Method: GET", 204,
                 "+l-l.l");
        trace_of(app, "OPTIONS /x\nOrigin: http://a\nAccess-Control-Request-Method: PATCH", 204,
                 "");
        weir_free(app);
}

Test(chain, a_guard_refusal_runs_the_observers_of_the_root_only)
{
        struct weir_middleware observe = TRACER("o", WEIR_OBSERVE, WEIR_AT_HEADERS);
        struct weir *app = quiet_app();

        use_in(app, &observe, "o");
        use(app, "a", 0);
        weir_get(app, "/", handle, NULL);
        trace_of(app, "GET /\nHost: a\nHost: b", 400, "+o-o.o");
        weir_free(app);
}

Test(chain, links_behind_one_that_waits_for_the_body_wait_too)
{
        struct weir *app = quiet_app();
        char *dump;

        weir_use(app, &at_body, &(struct tracer){ "a", 0 });
        use(app, "b", 0);
        weir_post(app, "/", handle, NULL);
        trace_of(app, "POST /\n\nxyz", 200, "+a+bh-b-a.b.a");
        dump = weir_dump(app);
        cr_assert_str_eq(dump, "POST    /  app:at_body(body) app:tracer(raised to body)"
                               "  -> handler\n");
        free(dump);
        weir_free(app);
}

Test(chain, a_body_that_is_too_large_is_refused_behind_the_header_links)
{
        struct weir *app = weir_new(&(struct weir_options){ .scope.max_body = 4 });

        use(app, "a", 0);
        weir_use(app, &at_body, &(struct tracer){ "b", 0 });
        weir_post(app, "/", handle, NULL);
        trace_of(app, "POST /\n\nabcd", 200, "+a+bh-b-a.b.a");
        trace_of(app, "POST /\n\nabcde", 413, "+a-a.a");
        trace_of(app, "POST /\nTransfer-Encoding: chunked\n\nabcde", 413, "+a-a.a");
        weir_free(app);
}

Test(chain, a_hook_that_ends_the_walk_without_an_answer_gives_500)
{
        struct weir *app = quiet_app();
        struct weir_stats stats;

        use(app, "a", 0);
        use(app, "b", -1);
        weir_get(app, "/", handle, NULL);
        trace_of(app, "GET /", 500, "+a+b-a.a");
        weir_stats(app, &stats);
        cr_assert_eq(stats.bad_answers, 1);
        weir_free(app);
}

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx, (void)self;
        return WEIR_NEXT;
}

Test(chain, a_handler_that_passes_on_gives_500)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", pass, NULL);
        cr_assert_eq(status_of(app, "GET /"), 500);
        weir_free(app);
}

Test(chain, waiting_without_a_suspension_gives_500)
{
        struct weir *app = quiet_app();

        use(app, "a", -2);
        weir_get(app, "/", handle, NULL);
        trace_of(app, "GET /", 500, "+a");
        weir_free(app);
}

static void rewrite(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert_eq(ctx->status, 200);
        weir_text(ctx, 418, "teapot");
}

Test(chain, on_response_may_replace_the_answer)
{
        static const struct weir_middleware mw = { .name = "rewrite", .on_response = rewrite };
        struct weir *app = quiet_app();

        weir_use(app, &mw, NULL);
        weir_get(app, "/", handle, NULL);
        expect(app, "GET /", 418, "teapot");
        weir_free(app);
}

static enum weir_flow take_own(struct weir_ctx *ctx, void *self)
{
        uint64_t *own = weir_own(ctx);

        cr_assert_eq(*own, 0, "a word starts as zero");
        *own = *(uint64_t *)self;
        return WEIR_NEXT;
}

static void check_own(struct weir_ctx *ctx, void *self)
{
        cr_assert_eq(*weir_own(ctx), *(uint64_t *)self);
}

Test(chain, each_link_has_a_word_of_its_own_from_request_to_done)
{
        static const struct weir_middleware mw = {
                .name = "own",
                .self_size = sizeof(uint64_t),
                .on_request = take_own,
                .on_response = check_own,
                .on_done = check_own,
        };
        struct weir *app = quiet_app();

        for (uint64_t i = 1; i <= 5; i++)
                weir_use(app, &mw, &i);
        weir_get(app, "/", handle, NULL);
        for (int i = 0; i < 3; i++)
                cr_assert_eq(status_of(app, "GET /"), 200);
        weir_free(app);
}

static void note_deferred(void *arg)
{
        note('d', arg);
}

static enum weir_flow defer(struct weir_ctx *ctx, void *self)
{
        (void)self;
        cr_assert(weir_defer(ctx, note_deferred, "1"));
        cr_assert(weir_defer(ctx, note_deferred, "2"));
        return weir_text(ctx, 200, "ok");
}

Test(chain, what_was_deferred_runs_last_in_first_out_behind_on_done)
{
        struct weir *app = quiet_app();

        use(app, "a", 0);
        weir_get(app, "/", defer, NULL);
        trace_of(app, "GET /", 200, "+a-a.ad2d1");
        weir_free(app);
}

Test(chain, a_copy_of_self_is_freed_once_with_the_app)
{
        static const struct weir_middleware mw = {
                .name = "freed",
                .self_size = sizeof(struct tracer),
                .on_free = freed,
        };
        struct weir *app = quiet_app();

        weir_use(app, &mw, &(struct tracer){ "a", 0 });
        weir_use(app, &mw, &(struct tracer){ "b", 0 });
        trace[0] = '\0';
        weir_free(app);
        cr_assert_str_eq(trace, "!a!b");
}

static enum weir_flow set_caller(struct weir_ctx *ctx, void *self)
{
        weir_slot_set(ctx, *(struct weir_slot *)self, "ada");
        return WEIR_NEXT;
}

static enum weir_flow greet(struct weir_ctx *ctx, void *self)
{
        return weir_text(ctx, 200, weir_slot_get(ctx, *(struct weir_slot *)self));
}

Test(chain, a_slot_carries_a_value_from_middleware_to_handler)
{
        static const struct weir_middleware mw = {
                .name = "caller",
                .self_size = sizeof(struct weir_slot),
                .on_request = set_caller,
        };
        struct weir *app = quiet_app();
        struct weir_slot slot = weir_slot(app, "caller");

        cr_assert_neq(slot.index, 0, "slot 0 is never valid");
        cr_assert_eq(weir_slot(app, "caller").index, slot.index, "one name is one slot");
        weir_use(app, &mw, &slot);
        weir_get(app, "/", greet, &slot);
        expect(app, "GET /", 200, "ada");
        weir_free(app);
}

static void check_outcome(struct weir_ctx *ctx, void *self)
{
        cr_assert_eq(ctx->outcome, *(enum weir_outcome *)self);
}

static enum weir_flow refuse(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_refuse(ctx, 503, "full");
}

static enum weir_flow fail(struct weir_ctx *ctx, void *self)
{
        return weir_fail(ctx, *(int *)self, "no");
}

Test(chain, the_outcome_tells_a_refusal_of_the_server_from_a_failure_of_the_handler)
{
        static const struct weir_middleware mw = {
                .name = "outcome",
                .self_size = sizeof(enum weir_outcome),
                .on_response = check_outcome,
                .on_done = check_outcome,
        };
        static const struct {
                enum weir_outcome outcome;
                weir_request_fn  *fn;
                int               status;
        } cases[] = {
                { WEIR_OK, handle, 200 },
                { WEIR_CLIENT_ERROR, fail, 404 },
                { WEIR_SERVER_ERROR, fail, 503 },
                { WEIR_SHED, refuse, 503 },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct weir *app = quiet_app();
                int status = cases[i].status;

                weir_use(app, &mw, &cases[i].outcome);
                weir_get(app, "/", cases[i].fn, &status);
                cr_assert_eq(status_of(app, "GET /"), status);
                weir_free(app);
        }
}
