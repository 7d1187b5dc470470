/* request.c - what hooks and handlers read of the request. */
#include "cell.h"
#include "cookie.h"
#include "number.h"
#include "text.h"

static uint32_t param_number(const struct weir_ctx *ctx, const char *name)
{
        const struct weir__cell *cell = weir__cell_of(ctx);
        const struct weir__router *router = cell->loop->tree->router;

        for (uint32_t i = 0; i < ctx->n_params; i++) {
                if (weir_str_is(weir__router_param_name(router, ctx->route_id, i), name))
                        return i;
        }
        return UINT32_MAX;
}

struct weir_str weir_param(const struct weir_ctx *ctx, const char *name)
{
        uint32_t i = param_number(ctx, name);

        return i == UINT32_MAX ? (struct weir_str){ 0 } : ctx->param[i];
}

struct weir_str weir_param_raw(const struct weir_ctx *ctx, const char *name)
{
        const struct weir__cell *cell = weir__cell_of(ctx);
        uint32_t i = param_number(ctx, name);

        if (i == UINT32_MAX)
                return (struct weir_str){ 0 };
        return weir__router_raw_param(&cell->path, &cell->match, ctx->param, i);
}

static bool int_within(struct weir_str text, int64_t min, int64_t max, int64_t *value)
{
        int64_t n;

        if (!weir__parse_int(text, &n) || n < min || n > max)
                return false;
        *value = n;
        return true;
}

static bool double_within(struct weir_str text, double min, double max, double *value)
{
        double n;

        if (!weir__parse_double(text, &n) || n < min || n > max)
                return false;
        *value = n;
        return true;
}

bool weir_param_int(const struct weir_ctx *ctx, const char *name, int64_t min, int64_t max,
                    int64_t *value)
{
        return int_within(weir_param(ctx, name), min, max, value);
}

struct weir_str weir_path_decoded(struct weir_ctx *ctx)
{
        const struct weir__cell *cell = weir__cell_of(ctx);

        if (!cell->path.text || cell->miss == WEIR__MISS_400 || cell->miss == WEIR__MISS_414)
                return (struct weir_str){ 0 };
        return weir__path_decoded(&cell->path);
}

static bool is_named(const struct weir__header *header, const char *name, size_t len)
{
        return header->name_len == len && weir__same_name(header->name, name, len);
}

struct weir_str weir_header_next(const struct weir_ctx *ctx, const char *name, size_t *cursor)
{
        const struct weir__cell *cell = weir__cell_of(ctx);
        size_t len = name ? strlen(name) : 0;

        while (*cursor < cell->n_headers) {
                const struct weir__header *header = &cell->header[(*cursor)++];

                if (!name || is_named(header, name, len))
                        return (struct weir_str){ header->value, header->value_len };
        }
        return (struct weir_str){ 0 };
}

struct weir_str weir_header(const struct weir_ctx *ctx, const char *name)
{
        size_t cursor = 0;

        return weir_header_next(ctx, name, &cursor);
}

struct weir_str weir_header_name(const struct weir_ctx *ctx, size_t cursor)
{
        const struct weir__cell *cell = weir__cell_of(ctx);

        if (cursor == 0 || cursor > cell->n_headers)
                return (struct weir_str){ 0 };
        return (struct weir_str){ cell->header[cursor - 1].name,
                                  cell->header[cursor - 1].name_len };
}

struct weir_str weir_cookie(const struct weir_ctx *ctx, const char *name)
{
        struct weir_str field, value;
        size_t cursor = 0;

        while ((field = weir_header_next(ctx, "Cookie", &cursor)).ptr) {
                if (weir__cookie_find(field, name, &value))
                        return value;
        }
        return (struct weir_str){ 0 };
}

bool weir_is_type(const struct weir_ctx *ctx, const char *type)
{
        struct weir_str is = weir__without_parameters(weir__cell_of(ctx)->content_type);

        return is.len && is.len == strlen(type) && weir__same_name(is.ptr, type, is.len);
}

/* ---- Query and form: the same list of fields, from two places. ---- */

static struct weir__fields *query_of(struct weir_ctx *ctx)
{
        struct weir__fields *fields = &weir__cell_of(ctx)->query;

        fields->raw = ctx->query;
        fields->pool = weir__ctx_pool(ctx);
        return fields;
}

static struct weir__fields *form_of(struct weir_ctx *ctx)
{
        struct weir__fields *fields = &weir__cell_of(ctx)->form;

        fields->raw = weir_is_type(ctx, "application/x-www-form-urlencoded")
                              ? ctx->body
                              : (struct weir_str){ 0 };
        fields->pool = weir__ctx_pool(ctx);
        return fields;
}

static enum weir_field find_int(struct weir__fields *fields, const char *name, int64_t min,
                                int64_t max, int64_t *value)
{
        struct weir_str text;
        enum weir_field got = weir__fields_find(fields, name, &text);

        return got != WEIR_FIELD_OK || int_within(text, min, max, value) ? got : WEIR_FIELD_INVALID;
}

static enum weir_field find_double(struct weir__fields *fields, const char *name, double min,
                                   double max, double *value)
{
        struct weir_str text;
        enum weir_field got = weir__fields_find(fields, name, &text);

        return got != WEIR_FIELD_OK || double_within(text, min, max, value) ? got
                                                                            : WEIR_FIELD_INVALID;
}

static enum weir_field find_bool(struct weir__fields *fields, const char *name, bool *value)
{
        struct weir_str text;
        enum weir_field got = weir__fields_find(fields, name, &text);

        return got != WEIR_FIELD_OK || weir__parse_bool(text, value) ? got : WEIR_FIELD_INVALID;
}

/* The next field `name`, or one that is INVALID, whatever its name. */
static enum weir_field next_value(struct weir__fields *fields, const char *name, size_t *cursor,
                                  struct weir_str *value)
{
        struct weir_str found;
        enum weir_field got;

        do
                got = weir__fields_next(fields, cursor, &found, value);
        while (got == WEIR_FIELD_OK && !weir_str_is(found, name));
        return got;
}

enum weir_field weir_query(struct weir_ctx *ctx, const char *name, struct weir_str *value)
{
        return weir__fields_find(query_of(ctx), name, value);
}

enum weir_field weir_form(struct weir_ctx *ctx, const char *name, struct weir_str *value)
{
        return weir__fields_find(form_of(ctx), name, value);
}

enum weir_field weir_query_int(struct weir_ctx *ctx, const char *name, int64_t min, int64_t max,
                               int64_t *value)
{
        return find_int(query_of(ctx), name, min, max, value);
}

enum weir_field weir_form_int(struct weir_ctx *ctx, const char *name, int64_t min, int64_t max,
                              int64_t *value)
{
        return find_int(form_of(ctx), name, min, max, value);
}

enum weir_field weir_query_double(struct weir_ctx *ctx, const char *name, double min, double max,
                                  double *value)
{
        return find_double(query_of(ctx), name, min, max, value);
}

enum weir_field weir_form_double(struct weir_ctx *ctx, const char *name, double min, double max,
                                 double *value)
{
        return find_double(form_of(ctx), name, min, max, value);
}

enum weir_field weir_query_bool(struct weir_ctx *ctx, const char *name, bool *value)
{
        return find_bool(query_of(ctx), name, value);
}

enum weir_field weir_form_bool(struct weir_ctx *ctx, const char *name, bool *value)
{
        return find_bool(form_of(ctx), name, value);
}

enum weir_field weir_query_values(struct weir_ctx *ctx, const char *name, size_t *cursor,
                                  struct weir_str *value)
{
        return next_value(query_of(ctx), name, cursor, value);
}

enum weir_field weir_form_values(struct weir_ctx *ctx, const char *name, size_t *cursor,
                                 struct weir_str *value)
{
        return next_value(form_of(ctx), name, cursor, value);
}

enum weir_field weir_query_next(struct weir_ctx *ctx, size_t *cursor, struct weir_str *name,
                                struct weir_str *value)
{
        return weir__fields_next(query_of(ctx), cursor, name, value);
}

enum weir_field weir_form_next(struct weir_ctx *ctx, size_t *cursor, struct weir_str *name,
                               struct weir_str *value)
{
        return weir__fields_next(form_of(ctx), cursor, name, value);
}
