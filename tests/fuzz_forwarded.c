/* fuzz_forwarded.c - finds the client in any Forwarded and X-Forwarded-For field. */
#include "fuzz_kit.h"
#include "network.h"
#include <weir/weir.h>

static struct weir_str seen; /* the client of the last request, in `text` */
static char text[64];

static enum weir_flow see(struct weir_ctx *ctx, void *self)
{
        (void)self;
        require(ctx->client.len < sizeof(text));
        memcpy(text, ctx->client.ptr, ctx->client.len);
        seen = (struct weir_str){ text, ctx->client.len };
        return weir_status(ctx, 204);
}

static void drop(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

static struct weir *make_app(enum weir_forwarded field)
{
        struct weir *app = weir_new(&(struct weir_options){
                .log = drop, .trusted_proxies = "127.0.0.1, 10.0.0.0/8", .forwarded = field });

        weir_get(app, "/", see, NULL);
        return app;
}

/* Sends the field, with `more` behind the input; false when the request is refused. */
static bool ask(struct weir *app, const char *name, const uint8_t *data, size_t size,
                const char *more)
{
        char *request = malloc(size + 128);
        size_t len = (size_t)sprintf(request, "GET /\n%s: ", name);
        struct weir_reply *reply;
        bool ok;

        if (size)
                memcpy(request + len, data, size);
        len += size;
        len += (size_t)sprintf(request + len, "%s\n\n", more);
        reply = weir_ask_bytes(app, (struct weir_str){ request, len });
        require(reply);
        ok = reply->status == 204;
        weir_reply_free(reply);
        free(request);
        return ok;
}

/* Whatever the client sent before, it is an address in its usual form; what a proxy adds wins. */
static void check(struct weir *app, const char *name, const uint8_t *data, size_t size,
                  const char *added)
{
        struct weir__address address;
        char usual[WEIR__ADDRESS_TEXT];

        if (!ask(app, name, data, size, ""))
                return;
        require(weir__address_parse(seen, &address));
        require(weir__address_print(&address, usual) == seen.len);
        require(!memcmp(usual, seen.ptr, seen.len));
        require(ask(app, name, data, size, added) && weir_str_is(seen, "192.0.2.43"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct weir *x_app, *app;

        if (!app) {
                x_app = make_app(WEIR_X_FORWARDED_FOR);
                app = make_app(WEIR_FORWARDED);
        }
        if (memchr(data, '\n', size) || memchr(data, '\r', size)) /* more than one field */
                return 0;
        check(x_app, "X-Forwarded-For", data, size, ",192.0.2.43, 10.0.0.7");
        check(app, "Forwarded", data, size,
              ", for=192.0.2.43;host=\"a\\\"b, c\\\\\";proto=http,"
              "by=\"\\\"\";for=\"10.0.0.7:80\"");
        return 0;
}
