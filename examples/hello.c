/* hello.c - the smallest app. Try: curl http://127.0.0.1:8080/hello/world */
#include <weir/weir.h>

static enum weir_flow hello(struct weir_ctx *ctx, void *self)
{
        struct weir_str name = weir_param(ctx, "name");

        (void)self;
        return weir_textf(ctx, 200, "Hello, %.*s!\n", WEIR_FMT(name));
}

int main(int argc, char **argv)
{
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });

        weir_listen(app, argc > 1 ? argv[1] : "127.0.0.1:8080", NULL);
        weir_get(app, "/hello/{name}", hello, NULL);
        return weir_main(app);
}
