/*
 * setup.c - what is put into scopes: routes, middleware, values, fixed answers, listeners.
 *
 * Each call takes down what it is told and checks what can be checked at once; freeze.c compiles
 * it. The first mistake is kept as a sentence and fails the start, so no call returns an error.
 */
#include "app.h"
#include "bytes.h"
#include "network.h"

#include <stdlib.h>

/* ---- Routes. ---- */

static const char *const standard_methods[WEIR_CUSTOM] = {
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
};

static int standard_method(struct weir_str token)
{
        switch (token.len) {
        case 3:
                return !memcmp(token.ptr, "GET", 3)   ? WEIR_GET
                       : !memcmp(token.ptr, "PUT", 3) ? WEIR_PUT
                                                      : WEIR_UNKNOWN_METHOD;
        case 4:
                return !memcmp(token.ptr, "POST", 4)   ? WEIR_POST
                       : !memcmp(token.ptr, "HEAD", 4) ? WEIR_HEAD
                                                       : WEIR_UNKNOWN_METHOD;
        case 5:
                return !memcmp(token.ptr, "PATCH", 5) ? WEIR_PATCH : WEIR_UNKNOWN_METHOD;
        case 6:
                return !memcmp(token.ptr, "DELETE", 6) ? WEIR_DELETE : WEIR_UNKNOWN_METHOD;
        case 7:
                return !memcmp(token.ptr, "OPTIONS", 7) ? WEIR_OPTIONS : WEIR_UNKNOWN_METHOD;
        default:
                return WEIR_UNKNOWN_METHOD;
        }
}

int weir__method_number(const struct weir__app *app, struct weir_str token)
{
        int method = standard_method(token);

        if (method != WEIR_UNKNOWN_METHOD)
                return method;
        for (int i = WEIR_CUSTOM; i < WEIR__MAX_METHODS && app->methods[i]; i++) {
                if (weir_str_is(token, app->methods[i]))
                        return i;
        }
        return WEIR_UNKNOWN_METHOD;
}

const char *weir__method_token(const struct weir__app *app, int method)
{
        if (method >= 0 && method < WEIR_CUSTOM)
                return standard_methods[method];
        if (method >= WEIR_CUSTOM && method < WEIR__MAX_METHODS && app->methods[method])
                return app->methods[method];
        return "*";
}

int weir_method(struct weir *scope, const char *name)
{
        size_t len;
        int number;

        if (!weir__is_open(scope, "weir_method()"))
                return WEIR_UNKNOWN_METHOD;
        if (!name)
                name = "";
        len = strlen(name);
        if (len > 32 || !weir__is_token(name, len) || !strcmp(name, "CONNECT") ||
            !strcmp(name, "TRACE")) {
                weir__error(scope->app,
                            "weir_method(): \"%s\" is not a token of at most 32 bytes "
                            "other than CONNECT and TRACE",
                            name);
                return WEIR_UNKNOWN_METHOD;
        }
        number = weir__method_number(scope->app, (struct weir_str){ name, len });
        if (number != WEIR_UNKNOWN_METHOD)
                return number;
        for (number = WEIR_CUSTOM; number < WEIR__MAX_METHODS; number++) {
                if (!scope->app->methods[number]) {
                        scope->app->methods[number] = weir__keep(scope, strdup(name));
                        return number;
                }
        }
        weir__error(scope->app,
                    "weir_method(): \"%s\" is one method too many: an app has at most "
                    "%d of its own",
                    name, WEIR__MAX_METHODS - WEIR_CUSTOM);
        return WEIR_UNKNOWN_METHOD;
}

void weir_route(struct weir *scope, int method, const char *pattern, weir_request_fn *fn,
                void *self, const struct weir_route_options *options)
{
        struct weir__route *route;

        if (!weir__is_open(scope, "weir_route()"))
                return;
        if (!pattern || !fn) {
                weir__error(scope->app, "route %s \"%s%s\": %s is NULL",
                            weir__method_token(scope->app, method), scope->prefix,
                            pattern ? pattern : "", pattern ? "the handler" : "the pattern");
                return;
        }
        if (method != WEIR_ANY && !strcmp(weir__method_token(scope->app, method), "*")) {
                weir__error(scope->app,
                            "route \"%s%s\": %d is not a method: use enum weir_method "
                            "or weir_method()",
                            scope->prefix, pattern, method);
                return;
        }
        route = weir__keep(scope, calloc(1, sizeof(*route)));
        if (!route)
                return;
        if (options)
                route->options = *options;
        route->scope = scope;
        route->method = method;
        route->fn = fn;
        route->self = self;
        route->pattern = weir__keep(scope, weir__concat(scope->prefix, pattern));
        scope->app->n_routes++;
        *scope->app->last_route = route;
        scope->app->last_route = &route->next;
}

/* ---- Middleware and its values. ---- */

void *weir_use(struct weir *scope, const struct weir_middleware *mw, const void *self)
{
        struct weir__use *use;
        size_t size;

        if (!weir__is_open(scope, "weir_use()"))
                return NULL;
        if (!mw || !mw->name || (unsigned)mw->phase > WEIR_SERVE ||
            (unsigned)mw->at > WEIR_AT_BODY) {
                weir__error(scope->app,
                            "weir_use(): the descriptor%s%s is NULL, has no name, or has "
                            "a phase or `at` that does not exist",
                            mw && mw->name ? " of " : "", mw && mw->name ? mw->name : "");
                return NULL;
        }
        if ((mw->waits || mw->blocking) && mw->phase == WEIR_OBSERVE) {
                weir__error(scope->app,
                            "weir_use(): %s waits in phase OBSERVE, which also sees "
                            "requests that are refused at once: give it another phase",
                            mw->name);
                return NULL;
        }
        if (mw->on_body && mw->at == WEIR_AT_BODY) {
                weir__error(scope->app,
                            "weir_use(): %s has on_body, which gets a body as it comes in, and is "
                            "to run when it is in: take one of them",
                            mw->name);
                return NULL;
        }
        if (mw->self_size > 1 << 30) {
                weir__error(scope->app, "weir_use(): self_size of %s is %zu: at most 1 GiB",
                            mw->name, mw->self_size);
                return NULL;
        }
        size = (mw->self_size + 63) & ~(size_t)63;
        use = weir__keep(scope, calloc(1, sizeof(*use)));
        if (!use)
                return NULL;
        use->mw = mw;
        use->self = weir__keep(scope, aligned_alloc(64, size ? size : 64));
        if (!use->self) {
                free(use);
                return NULL;
        }
        memset(use->self, 0, size);
        if (self && mw->self_size)
                memcpy(use->self, self, mw->self_size);
        scope->app->n_uses++;
        *scope->last_use = use;
        scope->last_use = &use->next;
        return use->self;
}

struct weir_slot weir_slot(struct weir *scope, const char *name)
{
        if (!weir__is_open(scope, "weir_slot()"))
                return (struct weir_slot){ 0 };
        if (!name || !*name) {
                weir__error(scope->app, "weir_slot(): a slot needs a name");
                return (struct weir_slot){ 0 };
        }
        for (uint8_t i = 1; i < WEIR_MAX_SLOTS; i++) {
                char **slot = &scope->app->slots[i];

                if (!*slot)
                        *slot = weir__keep(scope, strdup(name));
                if (*slot && !strcmp(*slot, name))
                        return (struct weir_slot){ i };
        }
        weir__error(scope->app, "weir_slot(): \"%s\" is one slot too many: an app has at most %d",
                    name, WEIR_MAX_SLOTS - 1);
        return (struct weir_slot){ 0 };
}

struct weir_local weir_local(struct weir *scope, const struct weir_local_type *type, void *arg)
{
        if (!weir__is_open(scope, "weir_local()"))
                return (struct weir_local){ 0 };
        if (!type || !type->open || !type->name)
                weir__error(scope->app, "weir_local(): the type is NULL or has no name or no open");
        else if (scope->app->n_locals == WEIR__MAX_LOCALS)
                weir__error(scope->app,
                            "weir_local(): \"%s\" is one value per loop too many: an app "
                            "has at most %d",
                            type->name, WEIR__MAX_LOCALS);
        else {
                scope->app->locals[scope->app->n_locals++] = (struct weir__local_def){ *type, arg };
                return (struct weir_local){ (uint8_t)scope->app->n_locals };
        }
        return (struct weir_local){ 0 };
}

struct weir_static *weir_static(struct weir *scope, int status, const char *type,
                                      struct weir_str body)
{
        size_t type_len = type ? strlen(type) : 0;
        struct weir_static *fixed;
        char *text;

        if (!weir__is_open(scope, "weir_static()"))
                return NULL;
        if (body.len && (status == 204 || status == 205)) {
                weir__error(scope->app, "weir_static(): a %d has no body", status);
                return NULL;
        }
        if (status < 200 || status > 599 || !weir__all_value(type, type_len)) {
                weir__error(scope->app,
                            "weir_static(): status %d is not 200 to 599, or the type "
                            "\"%s\" is not a field value",
                            status, type ? type : "");
                return NULL;
        }
        fixed = weir__keep(scope, calloc(1, sizeof(*fixed) + type_len + body.len));
        if (!fixed)
                return NULL;
        text = (char *)(fixed + 1);
        if (type_len)
                memcpy(text, type, type_len);
        if (body.len)
                memcpy(text + type_len, body.ptr, body.len);
        fixed->number = scope->app->n_statics++;
        fixed->status = status;
        fixed->type = (struct weir_str){ type ? text : NULL, type_len };
        fixed->body = (struct weir_str){ text + type_len, body.len };
        *scope->app->last_static = fixed;
        scope->app->last_static = &fixed->next;
        return fixed;
}

/* What only a listener behind a proxy has. */
static void check_proxy(struct weir__app *app, struct weir__listen *listen)
{
        struct weir_listen_options *options = &listen->options;
        const char *networks = options->trusted_proxies;
        char why[256];

        options->trusted_proxies = NULL; /* the caller's */
        if (!options->proxy_protocol && (networks || options->proxy_timeout_ms))
                weir__error(app,
                            "listen \"%s\": trusted_proxies and proxy_timeout_ms are about "
                            "proxy_protocol: set that too",
                            listen->address);
        if (options->proxy_timeout_ms < 0 || options->proxy_timeout_ms > 60000)
                weir__error(app, "listen \"%s\": proxy_timeout_ms must be 1 to 60000, not %lld",
                            listen->address, (long long)options->proxy_timeout_ms);
        if (!options->proxy_timeout_ms)
                options->proxy_timeout_ms = 3000;
        if (!networks)
                return;
        listen->trusted = weir__networks_new(networks, why, sizeof(why));
        if (!listen->trusted)
                weir__error(app, "listen \"%s\": trusted_proxies: %s", listen->address, why);
}

void weir_listen(struct weir *scope, const char *address, const struct weir_listen_options *options)
{
        struct weir__listen *listen;

        if (!weir__is_open(scope, "weir_listen()"))
                return;
        if (scope->parent || !address) {
                weir__error(scope->app, "weir_listen(): %s",
                            address ? "only the root listens, not a group" : "the address is NULL");
                return;
        }
        listen = weir__keep(scope, calloc(1, sizeof(*listen)));
        if (!listen)
                return;
        if (options)
                listen->options = *options;
        listen->address = weir__keep(scope, strdup(address));
        *scope->app->last_listen = listen;
        scope->app->last_listen = &listen->next;
        if (listen->address)
                check_proxy(scope->app, listen);
}
