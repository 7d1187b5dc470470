/*
 * fuzz_guard.c - any bytes as a request, asked in memory: one answer, a known status, nothing lost.
 *
 * The app has a route for each kind of reading (path, query, form, JSON, cookies), so that what
 * passes the guard is read as handlers do.
 */
#include "fuzz_kit.h"

#include <weir/json.h>

static struct weir *app;

static void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

/* Reads everything there is. */
static enum weir_flow read_all(struct weir_ctx *ctx, void *self)
{
        struct weir_str name, value;
        size_t cursor = 0, seen = 0;

        (void)self;
        while (weir_query_next(ctx, &cursor, &name, &value) != WEIR_FIELD_ABSENT)
                seen++;
        for (cursor = 0; weir_form_next(ctx, &cursor, &name, &value) != WEIR_FIELD_ABSENT;)
                seen++;
        for (cursor = 0; (value = weir_header_next(ctx, NULL, &cursor)).ptr;)
                seen += value.len;
        seen += weir_cookie(ctx, "id").len + weir_param(ctx, "id").len +
                weir_param_raw(ctx, "id").len + weir_path_decoded(ctx).len;
        return weir_textf(ctx, 200, "%zu", seen);
}

static enum weir_flow read_json(struct weir_ctx *ctx, void *self)
{
        json_t *body = weir_json_body(ctx);

        (void)self;
        if (!body)
                return WEIR_DONE;
        return weir_json_new(ctx, 200, body);
}

static void make_app(void)
{
        struct weir *host;

        app = weir_new(&(struct weir_options){
                .log = drop_log,
                .max_headers = 20,
                .scope = { .max_body = 4096, .slash = WEIR_SLASH_REDIRECT } });
        host = weir_group(app, "", &(struct weir_scope_options){ .host = "*.example.org" });
        weir_any(app, "/any/{id}", read_all, NULL);
        weir_get(app, "/get/{id}.json", read_all, NULL);
        weir_get(app, "/rest/{id...}", read_all, NULL);
        weir_post(app, "/json", read_json, NULL);
        weir_get(host, "/host/", read_all, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct weir_reply *reply;

        if (!app)
                make_app();
        reply = weir_ask_bytes(app, (struct weir_str){ (const char *)data, size });
        if (!reply || reply->status < 200 || reply->status > 599 ||
            (reply->status == 505 && !reply->closes)) {
                fprintf(stderr, "status %d\n", reply ? reply->status : -1);
                abort();
        }
        weir_reply_free(reply);
        return 0;
}
