/* test_request.c - what handlers read of a request. */
#include "kit.h"

#include <string.h>

static enum weir_flow path_of(struct weir_ctx *ctx, void *self)
{
        struct weir_str id = weir_param(ctx, "id"), raw = weir_param_raw(ctx, "id");
        struct weir_str path = weir_path_decoded(ctx);

        (void)self;
        return weir_textf(ctx, 200, "%.*s|%.*s|%.*s|%.*s|%.*s|%s|%u", WEIR_FMT(id), WEIR_FMT(raw),
                          WEIR_FMT(path), WEIR_FMT(ctx->path), WEIR_FMT(ctx->target), ctx->pattern,
                          ctx->route_id);
}

Test(request, parameters_and_paths_are_there_decoded_and_raw)
{
        struct weir *app = quiet_app();

        weir_get(app, "/first", say, "x");
        weir_get(app, "/books/{id}/pages", path_of, NULL);
        expect(app, "GET /books/a%2Fb%20c/pages?q=%41", 200,
               "a/b c|a%2Fb%20c|/books/a/b c/pages|/books/a%2Fb%20c/pages|"
               "/books/a%2Fb%20c/pages?q=%41|/books/{id}/pages|1");
        expect(app, "GET /books/7/pages", 200,
               "7|7|/books/7/pages|/books/7/pages|/books/7/pages|/books/{id}/pages|1");
        weir_free(app);
}

static enum weir_flow int_param(struct weir_ctx *ctx, void *self)
{
        int64_t id;

        (void)self;
        if (!weir_param_int(ctx, "id", 1, 1000, &id))
                return weir_fail(ctx, 404, "no such book");
        return weir_textf(ctx, 200, "%lld", (long long)id);
}

Test(request, a_parameter_is_read_as_a_number_in_a_range)
{
        static const char *const bad[] = { "GET /0",   "GET /1001", "GET /-1",
                                           "GET /7x",  "GET /+7",   "GET /99999999999999999999",
                                           "GET /%207" };
        struct weir *app = quiet_app();

        weir_get(app, "/{id}", int_param, NULL);
        expect(app, "GET /1", 200, "1");
        expect(app, "GET /1000", 200, "1000");
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_eq(status_of(app, bad[i]), 404, "%s", bad[i]);
        weir_free(app);
}

static enum weir_flow headers_of(struct weir_ctx *ctx, void *self)
{
        struct weir_str value;
        size_t cursor = 0;
        char text[256] = "";

        (void)self;
        while ((value = weir_header_next(ctx, "x-a", &cursor)).ptr)
                strncat(strncat(text, value.ptr, value.len), ";", 2);
        cr_assert_null(weir_header(ctx, "X-None").ptr);
        cr_assert_eq(weir_header(ctx, "X-Empty").len, 0);
        cr_assert_not_null(weir_header(ctx, "X-Empty").ptr);
        cursor = 0;
        while ((value = weir_header_next(ctx, NULL, &cursor)).ptr) {
                struct weir_str name = weir_header_name(ctx, cursor);

                strncat(strncat(text, name.ptr, name.len), ",", 2);
        }
        return weir_text(ctx, 200, text);
}

Test(request, header_fields_are_found_in_any_case_and_all_of_a_name_in_order)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", headers_of, NULL);
        expect(app, "GET /\nHost: a\nX-A:  1 \nX-Empty:\nX-B: 2\nx-A: 3", 200,
               "1;3;Host,X-A,X-Empty,X-B,x-A,");
        weir_free(app);
}

static enum weir_flow cookie_of(struct weir_ctx *ctx, void *self)
{
        return weir_bytes(ctx, 200, "text/plain", weir_cookie(ctx, self));
}

Test(request, a_cookie_is_found_in_any_of_the_cookie_fields)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", cookie_of, "id");
        expect(app, "GET /\nCookie: a=1; id=7; b=2", 200, "7");
        expect(app, "GET /\nCookie: a=1\nCookie: id=\"7\"", 200, "7");
        expect(app, "GET /\nCookie: xid=7", 200, "");
        weir_free(app);
}

static enum weir_flow query_of(struct weir_ctx *ctx, void *self)
{
        struct weir_str text = WEIR_STR("none");
        int64_t page = 1;
        bool all = false;

        (void)self;
        if (weir_query(ctx, "q", &text) == WEIR_FIELD_INVALID)
                return weir_fail(ctx, 400, "q");
        if (weir_query_int(ctx, "page", 1, 100, &page) == WEIR_FIELD_INVALID)
                return weir_fail(ctx, 400, "page");
        if (weir_query_bool(ctx, "all", &all) == WEIR_FIELD_INVALID)
                return weir_fail(ctx, 400, "all");
        return weir_textf(ctx, 200, "%.*s %lld %d", WEIR_FMT(text), (long long)page, all);
}

Test(request, query_fields_are_decoded_typed_and_default)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", query_of, NULL);
        expect(app, "GET /", 200, "none 1 0");
        expect(app, "GET /?", 200, "none 1 0");
        expect(app, "GET /?q=a+b%2Bc&page=7&all", 200, "a b+c 7 1");
        expect(app, "GET /?q=1&q=2", 200, "1 1 0");
        cr_assert_eq(status_of(app, "GET /?q=%zz"), 400);
        cr_assert_eq(status_of(app, "GET /?q=%4"), 400);
        cr_assert_eq(status_of(app, "GET /?page=0"), 400);
        cr_assert_eq(status_of(app, "GET /?page=101"), 400);
        cr_assert_eq(status_of(app, "GET /?page=1e1"), 400);
        cr_assert_eq(status_of(app, "GET /?all=maybe"), 400);
        weir_free(app);
}

static enum weir_flow form_of(struct weir_ctx *ctx, void *self)
{
        struct weir_str title = WEIR_STR("none");

        (void)self;
        if (weir_form(ctx, "title", &title) == WEIR_FIELD_INVALID)
                return weir_fail(ctx, 400, "title");
        return weir_bytes(ctx, 200, "text/plain", title);
}

Test(request, a_form_is_its_own_namespace_and_needs_its_type)
{
        static const char form[] = "POST /?title=query\nContent-Type: "
                                   "application/x-www-form-urlencoded; charset=utf-8\n\n";
        struct weir *app = quiet_app();
        char request[256];

        weir_post(app, "/", form_of, NULL);
        strcat(strcpy(request, form), "a=1&title=Dune+%26+more");
        expect(app, request, 200, "Dune & more");
        strcat(strcpy(request, form), "a=1");
        expect(app, request, 200, "none");
        strcat(strcpy(request, form), "title=%f");
        cr_assert_eq(status_of(app, request), 400);
        expect(app, "POST /?title=query\nContent-Type: text/plain\n\ntitle=Dune", 200, "none");
        weir_free(app);
}

static enum weir_flow fill_arena(struct weir_ctx *ctx, void *self)
{
        size_t got = 0;

        (void)self;
        while (weir_alloc(ctx, 16))
                got += 16;
        cr_assert_geq(got, 3500);
        cr_assert_leq(got, 4096);
        cr_assert_null(weir_cstr(ctx, WEIR_STR("this text is longer than what is left of it")));
        return weir_text(ctx, 200, "still fine");
}

Test(request, the_arena_is_bounded_and_full_is_full)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", fill_arena, NULL);
        for (int i = 0; i < 3; i++)
                expect(app, "GET /", 200, "still fine");
        weir_free(app);
}

Test(request, head_is_served_from_get_and_has_no_body)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", say, "body");
        expect(app, "HEAD /", 200, "");
        weir_free(app);
}

Test(request, any_route_serves_any_method_but_trace_and_connect)
{
        struct weir *app = quiet_app();

        weir_any(app, "/", say, "any");
        expect(app, "GET /", 200, "any");
        expect(app, "PATCH /", 200, "any");
        expect(app, "BREW /", 200, "any");
        cr_assert_eq(status_of(app, "TRACE /"), 501);
        cr_assert_eq(status_of(app, "CONNECT / HTTP/1.1"), 501);
        weir_free(app);
}

Test(request, a_method_of_the_apps_own_is_routed_and_allowed)
{
        struct weir *app = quiet_app();

        weir_route(app, weir_method(app, "PURGE"), "/x", say, "purged", NULL);
        weir_route(app, weir_method(app, "BREW"), "/x", say, "brewed", NULL);
        weir_get(app, "/x", say, "got");
        weir_get(app, "/y", say, "got");
        expect(app, "PURGE /x", 200, "purged");
        expect_header(app, "POST /x", "Allow", "GET, HEAD, OPTIONS, BREW, PURGE");
        cr_assert_eq(status_of(app, "PURGE /y"), 405, "a method that some route has");
        cr_assert_eq(status_of(app, "COPY /x"), 501, "a method that no route has");
        weir_free(app);
}

Test(request, a_slash_is_strict_redirected_or_ignored)
{
        struct weir *app = quiet_app();
        struct weir *redirect = weir_group(
                app, "/r", &(struct weir_scope_options){ .slash = WEIR_SLASH_REDIRECT });
        struct weir *ignore = weir_group(
                app, "/i", &(struct weir_scope_options){ .slash = WEIR_SLASH_IGNORE });

        weir_get(app, "/s", say, "x");
        weir_get(redirect, "/a", say, "x");
        weir_get(redirect, "/b/", say, "x");
        weir_post(redirect, "/a/", say, "posted");
        weir_get(ignore, "/{id}", say, "x");
        cr_assert_eq(status_of(app, "GET /s/"), 404);
        cr_assert_eq(status_of(app, "GET /r/a/?q=1"), 308);
        expect_header(app, "GET /r/a/?q=1", "Location", "/r/a?q=1");
        expect_header(app, "GET /r/b", "Location", "/r/b/");
        expect(app, "POST /r/a/", 200, "posted");
        cr_assert_eq(status_of(app, "OPTIONS /r/b"), 404);
        expect(app, "GET /i/7/", 200, "x");
        weir_free(app);
}

Test(request, a_slash_redirect_never_leads_to_another_host)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .scope.slash = WEIR_SLASH_REDIRECT, .log = drop_log });

        weir_get(app, "/{rest...}", say, "x");
        weir_get(app, "/{a}/{b}/c", say, "x");
        weir_get(app, "/{a}/{b}/", say, "x");
        expect_header(app, "GET /%5Cevil.com/x", "Location", NULL);
        weir_free(app);
        app = weir_new(&(struct weir_options){
                .scope.slash = WEIR_SLASH_REDIRECT, .merge_slashes = true, .log = drop_log });
        weir_get(app, "/{a}", say, "x");
        expect_header(app, "GET //evil.com/", "Location", "/evil.com");
        expect_header(app, "GET ///evil.com/", "Location", "/evil.com");
        weir_free(app);
}

Test(request, hosts_route_before_what_has_no_host)
{
        struct weir *app = quiet_app();
        struct weir *api = weir_group(app, "",
                                      &(struct weir_scope_options){ .host = "api.example.org" });
        struct weir *any = weir_group(app, "",
                                      &(struct weir_scope_options){ .host = "*.example.org" });

        weir_get(app, "/", say, "none");
        weir_get(app, "/only", say, "none");
        weir_get(api, "/", say, "api");
        weir_get(any, "/", say, "any");
        expect(app, "GET /\nHost: API.example.org:80", 200, "api");
        expect(app, "GET /\nHost: a.b.example.org", 200, "any");
        expect(app, "GET /\nHost: example.org", 200, "none");
        expect(app, "GET /only\nHost: api.example.org", 200, "none");
        weir_free(app);
}

static enum weir_flow values_of(struct weir_ctx *ctx, void *self)
{
        struct weir_str value;
        size_t cursor = 0;
        char text[128] = "";

        (void)self;
        while (weir_query_values(ctx, "tag", &cursor, &value) == WEIR_FIELD_OK)
                strncat(strncat(text, value.ptr, value.len), ";", 2);
        return weir_text(ctx, 200, text);
}

Test(request, all_values_of_a_repeated_field_are_there_in_order)
{
        struct weir *app = quiet_app();

        weir_get(app, "/", values_of, NULL);
        expect(app, "GET /?tag=a&x=1&tag=b%20c&t%61g=d&tags=e", 200, "a;b c;d;");
        expect(app, "GET /", 200, "");
        weir_free(app);
}

static enum weir_flow tell_path(struct weir_ctx *ctx, void *self)
{
        struct weir_str path = weir_path_decoded(ctx);

        cr_assert(path.ptr || !*(bool *)self);
        *(bool *)self = path.ptr != NULL;
        return WEIR_NEXT;
}

Test(request, a_refused_request_does_not_see_the_path_of_the_one_before)
{
        static const struct weir_middleware mw = {
                .name = "path",
                .self_size = sizeof(bool),
                .phase = WEIR_OBSERVE,
                .on_request = tell_path,
        };
        struct weir *app = quiet_app();
        bool *seen = weir_use(app, &mw, NULL);

        weir_get(app, "/secret", say, "x");
        expect(app, "GET /secret", 200, "x");
        cr_assert(*seen);
        *seen = false;
        cr_assert_eq(status_of(app, "GET /a b HTTP/1.1\nHost: a"), 400);
        cr_assert_not(*seen);
        weir_free(app);
}
