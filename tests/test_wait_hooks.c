/*
 * test_wait_hooks.c - the contract of the hooks (core/weir/app.h) for requests that wait.
 *
 * A trace reads "+a" for on_request, "-a200" for on_response, ".a200" for on_done, "h" for the
 * handler, "d" for what was deferred; the outcome follows the status when the status does not tell
 * it: "t" the deadline, "!" the client has gone, "~" the server stopped.
 */
#include "wait_kit.h"

#include <stdio.h>

#define MS 1000000ull

static char trace[1024];

static void note(const char *text)
{
        cr_assert_lt(strlen(trace) + strlen(text), sizeof(trace));
        strcat(trace, text);
}

static void expect_trace(const char *want)
{
        cr_assert_str_eq(trace, want, "%s, not %s", trace, want);
        trace[0] = '\0';
}

/* ---- Middleware. ---- */

struct tracer {
        char name;
        bool waits;
};

static void note_end(char kind, const struct weir_ctx *ctx, char name)
{
        static const char marks[] = { '\0', '\0', '\0', 's', 't', '!', '~' };
        char text[16];

        snprintf(text, sizeof(text), "%c%c%u%c", kind, name, ctx->status, marks[ctx->outcome]);
        note(text);
}

static enum weir_flow enter(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        note((char[]){ '+', t->name, '\0' });
        cr_assert_eq(*weir_own(ctx), 0);
        *weir_own(ctx) = (uint64_t)t->name;
        return t->waits ? hold(ctx, NULL) : WEIR_NEXT;
}

static void leave(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        cr_assert_eq(*weir_own(ctx), (uint64_t)t->name);
        cr_assert_null(weir_claim(weir_suspend(ctx)), "on_response cannot wait");
        note_end('-', ctx, t->name);
}

static void finish(struct weir_ctx *ctx, void *self)
{
        const struct tracer *t = self;

        cr_assert_eq(*weir_own(ctx), (uint64_t)t->name);
        cr_assert_null(weir_claim(weir_suspend(ctx)), "on_done cannot wait");
        note_end('.', ctx, t->name);
}

#define TRACER(may_wait, when)                                                                     \
        {                                                                                          \
                .name = "tracer", .self_size = sizeof(struct tracer), .at = when,                  \
                .waits = may_wait, .on_request = enter, .on_response = leave, .on_done = finish    \
        }

static const struct weir_middleware passes = TRACER(false, WEIR_AT_HEADERS);
static const struct weir_middleware waits = TRACER(true, WEIR_AT_HEADERS);
static const struct weir_middleware waits_at_body = TRACER(true, WEIR_AT_BODY);

static enum weir_flow handle(struct weir_ctx *ctx, void *self)
{
        (void)self;
        note("h");
        return weir_bytes(ctx, 200, "text/plain", ctx->body);
}

/* a passes, w waits, b passes, x waits for the body and then waits, h handles. */
static struct weir *traced_app(void)
{
        struct weir *app = logging_app();

        trace[0] = '\0';
        weir_use(app, &passes, &(struct tracer){ 'a', false });
        weir_use(app, &waits, &(struct tracer){ 'w', true });
        weir_use(app, &passes, &(struct tracer){ 'b', false });
        weir_use(app, &waits_at_body, &(struct tracer){ 'x', true });
        weir_any(app, "/", handle, NULL);
        return app;
}

/* ---- Waiting and going on. ---- */

Test(wait_hooks, those_who_waited_and_passed_on_are_called_back_once)
{
        static const char *const requests[] = { "GET /", "POST /\n\nbody",
                                                "POST /\nTransfer-Encoding: chunked\n\nbody",
                                                "HEAD /" };
        struct weir *app = traced_app();

        for (size_t i = 0; i < 4; i++) {
                struct weir_asked *asked = held(app, requests[i]);

                expect_trace("+a+w");
                weir_resume(claimed(ticket), WEIR_NEXT);
                cr_assert(weir_ask_waits(asked));
                expect_trace("+b+x");
                weir_resume(claimed(ticket), WEIR_NEXT);
                expect_end(asked, 200, i == 1 || i == 2 ? "body" : "");
                expect_trace("h-x200-b200-w200-a200.x200.b200.w200.a200");
        }
        end_app(app);
}

Test(wait_hooks, one_that_waited_and_refuses_is_told_the_end_only)
{
        struct weir *app = traced_app();
        struct weir_asked *asked = held(app, "POST /\n\nbody");
        struct weir_ctx *ctx = claimed(ticket);

        weir_resume(ctx, weir_fail(ctx, 403, NULL));
        expect_end(asked, 403, NULL);
        expect_trace("+a+w-a403.w403.a403");
        asked = held(app, "POST /\n\nbody");
        weir_resume(claimed(ticket), WEIR_NEXT);
        cr_assert(weir_ask_waits(asked));
        ctx = claimed(ticket);
        weir_resume(ctx, weir_fail(ctx, 403, NULL));
        expect_end(asked, 403, NULL);
        expect_trace("+a+w+b+x-b403-w403-a403.x403.b403.w403.a403");
        end_app(app);
}

Test(wait_hooks, a_body_that_is_too_large_is_refused_behind_the_wait)
{
        struct weir *app = weir_new(&(struct weir_options){ .log = keep_log, .scope.max_body = 4 });
        struct weir_asked *asked;

        trace[0] = '\0';
        weir_use(app, &waits, &(struct tracer){ 'w', true });
        weir_use(app, &waits_at_body, &(struct tracer){ 'x', true });
        weir_any(app, "/", handle, NULL);
        asked = held(app, "POST /\n\n12345");
        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 413, NULL);
        expect_trace("+w-w413.w413");
        asked = held(app, "POST /\nTransfer-Encoding: chunked\n\n12345");
        weir_resume(claimed(ticket), WEIR_NEXT);
        expect_end(asked, 413, NULL);
        expect_trace("+w-w413.w413");
        end_app(app);
}

/* ---- Ends from outside. ---- */

Test(wait_hooks, at_the_deadline_those_before_see_504_and_the_one_that_waited_its_end)
{
        struct weir *app = traced_app();
        struct weir_asked *asked = held(app, "POST /\n\nbody");
        struct weir_ctx *ctx = claimed(ticket);

        weir_deadline(ctx, weir_now(ctx) + 5 * MS);
        weir_resume(ctx, WEIR_NEXT);
        cr_assert(weir_ask_waits(asked));
        weir_tick(app, 5);
        expect_end(asked, 504, NULL);
        expect_trace("+a+w+b+x-b504t-w504t-a504t.x504t.b504t.w504t.a504t");
        cr_assert_eq(stats_now(app).deadlines_missed, 1);
        end_app(app);
}

Test(wait_hooks, when_the_client_leaves_those_before_see_499_and_the_one_that_waited_its_end)
{
        struct weir *app = traced_app();

        weir_ask_leave(held(app, "POST /\n\nbody"));
        expect_trace("+a+w-a499!.w499!.a499!");
        end_app(app);
}

static void resume_leaving(struct weir *app, enum weir_flow flow)
{
        struct weir_asked *asked = held(app, "GET /");
        struct weir_ctx *ctx = claimed(ticket);

        weir_text(ctx, 200, "for nobody");
        weir_resume(ctx, flow);
        weir_ask_leave(asked); /* before anybody has looked at what was resumed */
        expect_trace("+a+w-a499!.w499!.a499!");
}

Test(wait_hooks, a_client_that_leaves_while_its_request_is_claimed_is_499_once_it_is_back)
{
        struct weir *app = traced_app();

        resume_leaving(app, WEIR_DONE);
        resume_leaving(app, WEIR_NEXT);
        end_app(app);
}

/* ---- Misses. ---- */

Test(wait_hooks, what_no_route_takes_waits_with_its_scope)
{
        static const struct {
                const char *request;
                int         status;
        } misses[] = {
                { "GET /nowhere", 404 },
                { "GET /%zz", 400 },
        };
        struct weir *app = traced_app();

        for (size_t i = 0; i < 2; i++) {
                struct weir_asked *asked = held(app, misses[i].request);

                weir_resume(claimed(ticket), WEIR_NEXT);
                cr_assert(weir_ask_waits(asked));
                weir_resume(claimed(ticket), WEIR_NEXT);
                expect_end(asked, misses[i].status, NULL);
                cr_assert(!strncmp(trace, "+a+w+b+x-x", 10), "%s", trace);
                trace[0] = '\0';
        }
        end_app(app);
}

/* ---- Misuse: the log names the culprit, and nothing is left. ---- */

static enum weir_flow suspend_and_answer(struct weir_ctx *ctx, void *self)
{
        ticket = weir_suspend(ctx);
        (void)self;
        return weir_text(ctx, 200, "both");
}

static enum weir_flow suspend_and_pass(struct weir_ctx *ctx, void *self)
{
        ticket = weir_suspend(ctx);
        (void)self;
        return WEIR_NEXT;
}

static enum weir_flow suspend_and_say_done(struct weir_ctx *ctx, void *self)
{
        ticket = weir_suspend(ctx);
        (void)self;
        return WEIR_DONE;
}

static enum weir_flow doze_and_pass(struct weir_ctx *ctx, void *self)
{
        cr_assert_eq(weir_wait_until(ctx, weir_now(ctx) + 5 * MS), WEIR_WAIT);
        (void)self;
        ticket = (struct weir_ticket){ 0 };
        return WEIR_NEXT;
}

/* As a middleware before a handler, and as a handler. */
static void expect_misuse(weir_request_fn *fn, const char *said)
{
        struct weir_middleware culprit = { .name = "culprit", .waits = true, .on_request = fn };

        for (int as_handler = 0; as_handler < 2; as_handler++) {
                struct weir *app = logging_app();

                trace[0] = '\0';
                weir_use(app, &passes, &(struct tracer){ 'a', false });
                if (!as_handler)
                        weir_use(app, &culprit, NULL);
                wait_route(app, WEIR_GET, "/", as_handler ? fn : handle, NULL);
                for (int i = 0; i < 3; i++) {
                        expect_end(weir_ask_start(app, "GET /"), 500, NULL);
                        cr_assert_null(weir_claim(ticket), "it does not wait");
                        expect_trace("+a-a500.a500");
                        weir_tick(app, 10);
                }
                expect_logged(as_handler ? "/ GET: the handler suspended the request and returned "
                                         : "/ GET: culprit suspended the request and returned ");
                expect_logged(said);
                cr_assert_eq(stats_now(app).bad_answers, 3);
                end_app(app);
        }
}

Test(wait_hooks, a_hook_that_suspends_and_does_not_wait_gives_500)
{
        expect_misuse(suspend_and_answer, "WEIR_DONE, not WEIR_WAIT");
        expect_misuse(suspend_and_say_done, "WEIR_DONE, not WEIR_WAIT");
        expect_misuse(suspend_and_pass, "WEIR_NEXT, not WEIR_WAIT");
        expect_misuse(doze_and_pass, "WEIR_NEXT, not WEIR_WAIT");
}

static struct weir_ctx *taken; /* by another thread, which was quicker than the hook */

static enum weir_flow suspend_claimed_and_pass(struct weir_ctx *ctx, void *self)
{
        (void)self;
        taken = weir_claim(weir_suspend(ctx));
        return WEIR_NEXT;
}

Test(wait_hooks, what_is_claimed_before_its_hook_returns_belongs_to_the_claimer_whatever_it_returns)
{
        struct weir *app = logging_app();
        struct weir_asked *asked;

        wait_route(app, WEIR_GET, "/", suspend_claimed_and_pass, NULL);
        asked = held(app, "GET /");
        expect_logged("the handler suspended the request and returned WEIR_NEXT");
        weir_resume(taken, weir_text(taken, 200, "by the claimer"));
        expect_end(asked, 200, "by the claimer");
        end_app(app);
}

static enum weir_flow suspend_and_resume(struct weir_ctx *ctx, void *self)
{
        struct weir_ctx *own = weir_claim(weir_suspend(ctx));

        (void)self;
        weir_resume(own, weir_text(own, 200, "at once"));
        return WEIR_WAIT;
}

Test(wait_hooks, a_request_may_be_resumed_before_its_hook_returns)
{
        struct weir *app = logging_app();

        wait_route(app, WEIR_GET, "/", suspend_and_resume, NULL);
        expect(app, "GET /", 200, "at once");
        end_app(app);
}

/* ---- Nobody but on_request waits. ---- */

static enum weir_flow waiting_error(struct weir_ctx *ctx, void *self, int status,
                                    struct weir_str detail)
{
        (void)self, (void)detail;
        cr_assert_null(weir_claim(weir_suspend(ctx)), "on_error cannot wait");
        return weir_textf(ctx, status, "rendered");
}

static enum weir_flow fail(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_fail(ctx, 418, NULL);
}

Test(wait_hooks, on_error_cannot_wait)
{
        struct weir *app = weir_new(&(struct weir_options){
                .log = keep_log, .scope = { .max_body = 4, .on_error = waiting_error } });
        struct weir_asked *asked;
        struct weir_ctx *ctx;

        wait_route(app, WEIR_ANY, "/", hold, NULL);
        wait_route(app, WEIR_ANY, "/fail", fail, NULL);
        expect(app, "POST /\n\n12345", 413, "rendered");
        expect(app, "GET /fail", 418, "rendered");
        asked = held(app, "GET /");
        ctx = claimed(ticket);
        weir_resume(ctx, weir_fail(ctx, 409, NULL));
        expect_end(asked, 409, "rendered");
        end_app(app);
}

Test(wait_hooks, a_hook_that_blocks_cannot_wait)
{
        struct weir *app = logging_app();

        weir_route(app, WEIR_GET, "/", suspend_and_answer, NULL,
                   &(struct weir_route_options){ .blocking = true });
        expect(app, "GET /", 200, "both");
        cr_assert_null(weir_claim(ticket));
        end_app(app);
}

static void suspend_again(void *ctx)
{
        cr_assert_null(weir_claim(weir_suspend(ctx)), "what is called back cannot wait");
}

/* Its answer is dropped at the deadline. */
static enum weir_flow answer_and_hold(struct weir_ctx *ctx, void *self)
{
        weir_send(ctx, 200, "text/plain", WEIR_STR("x"), suspend_again, ctx);
        weir_deadline(ctx, weir_now(ctx) + 5 * MS);
        return hold(ctx, self);
}

Test(wait_hooks, an_answer_that_is_dropped_at_the_deadline_cannot_wait)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .log = keep_log, .scope = { .on_error = waiting_error } });
        struct weir_asked *asked;

        wait_route(app, WEIR_ANY, "/", answer_and_hold, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 5);
        expect_end(asked, 504, "rendered");
        end_app(app);
}
