/* program.cc - a program outside the tree, in C++: builds an app, asks it, prints the version. */
#include <cstdio>
#include <weir/json.h>
#include <weir/test.h>
#include <weir/weir.h>

static enum weir_flow greet(struct weir_ctx *ctx, void *)
{
        weir_set_header(ctx, "X-Language", "C++");
        return weir_textf(ctx, 200, "hello %.*s", WEIR_FMT(weir_param(ctx, "name")));
}

static enum weir_flow pass(struct weir_ctx *ctx, void *)
{
        *weir_own(ctx) = 7;
        return WEIR_NEXT;
}

static bool answers(struct weir *app)
{
        struct weir_reply *reply = weir_ask(app, "GET /hello/ada");
        bool right = reply && reply->status == 200 &&
                     weir_str_eq(reply->body, WEIR_STR("hello ada")) &&
                     weir_str_is(weir_reply_header(reply, "X-Language"), "C++");

        weir_reply_free(reply);
        return right;
}

int main()
{
        struct weir_options options = {};
        struct weir_middleware mw = {};
        struct weir *app = weir_new(&options);
        bool right;

        mw.name = "pass";
        mw.on_request = pass;
        weir_use(app, &mw, nullptr);
        weir_get(app, "/hello/{name}", greet, nullptr);
        right = answers(app);
        weir_free(app);
        if (right)
                std::puts(weir_version());
        return right ? 0 : 1;
}
