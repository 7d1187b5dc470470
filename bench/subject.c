/* subject.c - the app under measurement. */
#include "subject.h"

#include "peers.h"

#include <weir/json.h>
#include <weir/weir.h>

#define MIDDLEWARE   4
#define LARGE_BYTES  5000
#define VARYING_MOST 3500

/* ---- Middleware that pass everything on. ---- */

static enum weir_flow pass(struct weir_ctx *ctx, void *self)
{
        (void)ctx;
        (void)self;
        return WEIR_NEXT;
}

static void look(struct weir_ctx *ctx, void *self)
{
        (void)ctx;
        (void)self;
}

static const struct weir_middleware pass_through = {
        .name = "pass_through",
        .on_request = pass,
        .on_response = look,
        .on_done = look,
};

/* ---- Handlers. ---- */

static enum weir_flow answer_static(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

static enum weir_flow answer_hello(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_json_object(&w);
        weir_json_key(&w, "message");
        weir_json_cstr(&w, PEER_MESSAGE);
        weir_json_object_end(&w);
        return weir_json_end(&w, 200);
}

struct release {
        int64_t     id;
        const char *tag, *title;
        int64_t     year;
        bool        stable;
};

static const struct release releases[] = {
        { 20174, "v1.4.0", "Engines of difference", 2019, true },
        { 20311, "v1.5.0", "Store and mill, in brass", 2020, true },
        { 21045, "v2.0.0-rc1", "Notes by a translator", 2021, false },
        { 21188, "v2.0.0", "Numbers of Bernoulli, again.", 2021, true },
        { 23402, "v2.1.0", "Punched cards and second readers", 2023, true },
};

static enum weir_flow answer_dynamic(struct weir_ctx *ctx, void *self)
{
        struct weir_json_writer w = weir_json_begin(ctx);

        (void)self;
        weir_set_header(ctx, "Cache-Control", "no-cache");
        weir_set_header(ctx, "Vary", "Accept");
        weir_set_header(ctx, "X-Request-Id", "5f2b9c1e8a7d4036");
        weir_json_object(&w);
        weir_json_key(&w, "owner");
        weir_json_str(&w, weir_param(ctx, "owner"));
        weir_json_key(&w, "repo");
        weir_json_str(&w, weir_param(ctx, "repo"));
        weir_json_key(&w, "releases");
        weir_json_array(&w);
        for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
                weir_json_object(&w);
                weir_json_key(&w, "id");
                weir_json_int(&w, releases[i].id);
                weir_json_key(&w, "tag");
                weir_json_cstr(&w, releases[i].tag);
                weir_json_key(&w, "title");
                weir_json_cstr(&w, releases[i].title);
                weir_json_key(&w, "year");
                weir_json_int(&w, releases[i].year);
                weir_json_key(&w, "stable");
                weir_json_bool(&w, releases[i].stable);
                weir_json_object_end(&w);
        }
        weir_json_array_end(&w);
        weir_json_object_end(&w);
        return weir_json_end(&w, 200);
}

static const char filler[LARGE_BYTES + 1];

static enum weir_flow answer_large(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_bytes(ctx, 200, "application/octet-stream",
                          (struct weir_str){ filler, LARGE_BYTES });
}

static enum weir_flow answer_varying(struct weir_ctx *ctx, void *self)
{
        static size_t turn; /* one loop: one thread */

        (void)self;
        turn = (turn + 1) % VARYING_MOST; /* more lengths than a loop keeps answers */
        return weir_bytes(ctx, 200, "application/octet-stream",
                          (struct weir_str){ filler, 1 + turn });
}

/* ---- The app. ---- */

static const struct {
        const char      *name;
        weir_request_fn *fn;
} answers[] = {
        { "static", answer_static },   /* 103 bytes      */
        { "hello", answer_hello },     /* 117 bytes      */
        { "dynamic", answer_dynamic }, /* 500 bytes      */
        { "large", answer_large },     /* 5,000 bytes    */
        { "varying", answer_varying }, /* 1 to 3,500     */
};

static weir_request_fn *find(const char *name)
{
        for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
                if (strcmp(answers[i].name, name) == 0)
                        return answers[i].fn;
        }
        return NULL;
}

struct weir *subject_new(const char *answer, size_t connection_memory, const char *address)
{
        struct weir_options options = { .loops = 1, .connection_memory = connection_memory };
        weir_request_fn *fn = find(answer);
        struct weir *app = fn ? weir_new(&options) : NULL;
        const struct weir_static *message;
        char pattern[64];

        if (!app)
                return NULL;
        weir_listen(app, address, NULL);
        for (int i = 0; i < MIDDLEWARE; i++)
                weir_use(app, &pass_through, NULL);
        message = weir_static(app, 200, "text/plain", WEIR_STR(PEER_MESSAGE));
        for (int i = 0; i < PEER_ROUTES; i++) {
                peer_pattern(pattern, sizeof(pattern), i);
                weir_get(app, pattern, fn, (void *)(uintptr_t)message);
        }
        return app;
}
