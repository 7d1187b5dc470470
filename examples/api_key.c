/* api_key.c - a middleware: admits known callers only, and tells handlers who is calling. */
#include <weir/weir.h>

/* One caller, and the key that proves it. */
struct api_caller {
        const char *name, *key; /* the key: at least 16 bytes */
};

struct api_key {
        struct api_caller *callers; /* ends with { 0 }; outlives the app */
        const char        *header;  /* NULL: "X-Api-Key"                 */
};

/* Requests that get through have their `struct api_caller` in the slot "caller". */
void use_api_key(struct weir *scope, const struct api_key *options);

/* ---- The middleware. ---- */

struct state {
        struct api_key   options;
        struct weir_slot caller;
};

/* Takes as long as the text is, wherever it differs: so timing tells nothing of the key. */
static bool is_key(struct weir_str text, const char *key)
{
        size_t len = strlen(key);
        volatile unsigned char differ = text.len != len;

        for (size_t i = 0; i < text.len; i++)
                differ |= (unsigned char)(text.ptr[i] ^ key[i % len]);
        return !differ;
}

/* Compares with all keys, so that timing does not tell which one it was either. */
static struct api_caller *find_caller(const struct state *mw, struct weir_str key)
{
        struct api_caller *found = NULL;

        for (struct api_caller *caller = mw->options.callers; caller->name; caller++) {
                if (is_key(key, caller->key))
                        found = caller;
        }
        return found;
}

static enum weir_flow check_key(struct weir_ctx *ctx, void *self)
{
        const struct state *mw = self;
        struct weir_str key = weir_header(ctx, mw->options.header);
        struct api_caller *caller = find_caller(mw, key);

        if (!caller) {
                weir_set_header(ctx, "WWW-Authenticate", "ApiKey"); /* RFC 9110 11.6.1 */
                return weir_fail(ctx, 401, "a known %s is needed", mw->options.header);
        }
        weir_slot_set(ctx, mw->caller, caller);
        return WEIR_NEXT;
}

static const struct weir_middleware api_key = {
        .name = "api_key",
        .self_size = sizeof(struct state),
        .phase = WEIR_AUTH,
        .on_request = check_key,
};

void use_api_key(struct weir *scope, const struct api_key *options)
{
        struct state mw = { .caller = weir_slot(scope, "caller") };

        if (!options || !options->callers) {
                weir_setup_error(scope, "api_key: without callers nobody gets in: set .callers");
                return;
        }
        mw.options = *options;
        if (!mw.options.header)
                mw.options.header = "X-Api-Key";
        for (const struct api_caller *caller = mw.options.callers; caller->name; caller++) {
                if (!caller->key || strlen(caller->key) < 16)
                        weir_setup_error(scope, "api_key: the key of %s is shorter than 16 bytes",
                                         caller->name);
        }
        weir_use(scope, &api_key, &mw);
}

/* ---- An app with one public route and a group that needs a key. ---- */

static enum weir_flow say_hello(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_text(ctx, 200, "Hello, whoever you are!\n");
}

static enum weir_flow say_who(struct weir_ctx *ctx, void *self)
{
        const struct weir_slot *slot = self;
        const struct api_caller *caller = weir_slot_get(ctx, *slot);

        return weir_textf(ctx, 200, "Hello, %s!\n", caller->name);
}

int main(int argc, char **argv)
{
        /* For show. Real keys come from a file that only the server may read. */
        struct api_caller callers[] = {
                { "Ada", "ada-4f1d0c27b9e855a3" },
                { "Grace", "grace-91c6ae02d47f3b58" },
                { 0 },
        };
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });
        struct weir *members = weir_group(app, "/members", NULL);
        struct weir_slot caller = weir_slot(app, "caller");

        weir_listen(app, argc > 1 ? argv[1] : "127.0.0.1:8080", NULL);
        use_api_key(members, &(struct api_key){ .callers = callers });
        weir_get(app, "/", say_hello, NULL);
        weir_get(members, "/me", say_who, &caller);
        return weir_main(app);
}
