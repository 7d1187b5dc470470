/* kit.h - what the tests share: asking in memory and looking at the reply. */
#ifndef WEIR_TESTS_KIT_H
#define WEIR_TESTS_KIT_H

#include <criterion/criterion.h>
#include <weir/test.h>
#include <weir/weir.h>

/* Asks and checks the status; the reply is the caller's. */
static inline struct weir_reply *ask(struct weir *app, const char *request, int status)
{
        struct weir_reply *reply = weir_ask(app, request);

        cr_assert_not_null(reply);
        cr_assert_eq(reply->status, status, "%s: %d, not %d: %s", request, reply->status, status,
                     reply->body.ptr);
        return reply;
}

/* Asks for nothing but the status. */
static inline int status_of(struct weir *app, const char *request)
{
        struct weir_reply *reply = weir_ask(app, request);
        int status = reply ? reply->status : -1;

        weir_reply_free(reply);
        return status;
}

/* Asks and checks status and body. */
static inline void expect(struct weir *app, const char *request, int status, const char *body)
{
        struct weir_reply *reply = ask(app, request, status);

        cr_assert_str_eq(reply->body.ptr, body, "%s: \"%s\", not \"%s\"", request, reply->body.ptr,
                         body);
        weir_reply_free(reply);
}

/* Asks and checks a header field; NULL: it must not be there. */
static inline void expect_header(struct weir *app, const char *request, const char *name,
                                 const char *value)
{
        struct weir_reply *reply = weir_ask(app, request);
        struct weir_str got = weir_reply_header(reply, name);

        if (!value)
                cr_assert_null(got.ptr, "%s: %s is there: %.*s", request, name, WEIR_FMT(got));
        else
                cr_assert(got.ptr && weir_str_is(got, value), "%s: %s is \"%.*s\", not \"%s\"",
                          request, name, WEIR_FMT(got), value);
        weir_reply_free(reply);
}

/* A handler that answers with the C string that is its self. */
static inline enum weir_flow say(struct weir_ctx *ctx, void *text)
{
        return weir_text(ctx, 200, (const char *)text);
}

/* A log function that drops what it gets. */
static inline void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

/* An app that logs nowhere. */
static inline struct weir *quiet_app(void)
{
        return weir_new(&(struct weir_options){ .log = drop_log });
}

/* Serves `fn` at / in an app of its own. */
static inline struct weir *app_with(weir_request_fn *fn, void *self)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", fn, self);
        return app;
}

/* The same with loops, on a port that the kernel chooses; not started. */
static inline struct weir *serving(weir_request_fn *fn, void *self, unsigned loops)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = loops, .log = drop_log });

        weir_listen(app, "127.0.0.1:0", NULL);
        weir_get(app, "/", fn, self);
        return app;
}

static inline void started(struct weir *app)
{
        cr_assert_eq(weir_start(app), 0, "%s", weir_error(app));
}

#endif
