/* sse_ask.h - what the tests of server-sent events in memory share: an app that opens a stream. */
#ifndef WEIR_TESTS_SSE_ASK_H
#define WEIR_TESTS_SSE_ASK_H

#include "sse_kit.h"
#include "wait_kit.h"

#include <stdio.h>

static struct weir *app;
static struct weir_sse *sse;        /* the last one that was opened */
static struct weir_sse_options options;
static unsigned n_closed;
static char last_id[64];

static inline void see_close(void *arg, struct weir_sse *closed)
{
        cr_assert_eq(arg, &n_closed);
        cr_assert_eq(closed, sse);
        cr_assert_not(send_event(closed, NULL, NULL, "too late"));
        n_closed++;
}

static inline enum weir_flow subscribe(struct weir_ctx *ctx, void *self)
{
        struct weir_str id = weir_sse_last_id(ctx);

        (void)self;
        snprintf(last_id, sizeof(last_id), "%.*s", id.ptr ? (int)id.len : 4,
                 id.ptr ? id.ptr : "none");
        sse = weir_sse_open(ctx, &options);
        return WEIR_DONE;
}

static inline void start_app(void)
{
        app = logging_app();
        n_closed = 0;
        options = (struct weir_sse_options){ .on_close = see_close, .arg = &n_closed };
        wait_route(app, WEIR_GET, "/", subscribe, NULL);
}

/* The handle, which is still good, goes last. */
static inline void stop_app(void)
{
        end_app(app);
        cr_assert_eq(n_closed, 1);
        cr_assert_not(send_event(sse, NULL, NULL, "to nobody"));
        weir_sse_release(sse);
}

static inline struct sse_reader read_so_far(struct weir_asked *asked)
{
        cr_assert(weir_ask_waits(asked), "it is over");
        return sse_read(weir_ask_body(asked));
}

static inline void expect_event(struct sse_reader *reader, const char *type, const char *id,
                         const char *data)
{
        static struct sse_event event;

        cr_assert(sse_next(reader, &event), "no event");
        cr_assert_str_eq(event.type, type);
        cr_assert_str_eq(event.id, id);
        cr_assert_str_eq(event.data, data);
}

static inline void expect_no_event(struct sse_reader *reader)
{
        static struct sse_event event;

        cr_assert_not(sse_next(reader, &event), "%s: %s", event.type, event.data);
}

static inline void expect_text(struct weir_asked *asked, const char *text)
{
        struct weir_str body;

        cr_assert(weir_ask_waits(asked));
        body = weir_ask_body(asked);
        cr_assert(weir_str_is(body, text), "\"%.*s\", not \"%s\"", WEIR_FMT(body), text);
}

#endif
