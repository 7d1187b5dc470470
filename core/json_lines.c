/*
 * json_lines.c - newline-delimited JSON: each line is a document, parsed when its end comes in.
 *
 * A line that lies in one piece is parsed where it lies; of one that is cut the front is kept, up
 * to max_line bytes. So memory is one line and one value, and the cost is one look at each byte.
 */
#include "cell.h"
#include "json_text.h"

#include <stdlib.h>

#define DEFAULT_MAX_LINE (64 << 10)

/* The route. Constant after the setup. */
struct lines {
        struct weir_json_lines_options options;
        weir_json_line_fn *on_line;
        weir_request_fn   *fn;
        void              *self;
        struct weir_slot   slot; /* of the reader: weir_own() is for the hooks of the app */
};

/* A request. */
struct reader {
        char    *front; /* of the line that is cut, or NULL */
        size_t   len, cap;
        uint64_t line;  /* lines so far                     */
};

static void free_reader(void *arg)
{
        struct reader *reader = arg;

        free(reader->front);
        free(reader);
}

static enum weir_flow too_large(struct weir_ctx *ctx, const char *what, int64_t limit)
{
        WEIR__CTX_COUNT(ctx, bodies_too_large);
        return weir_fail(ctx, 413, "%s %lld", what, (long long)limit);
}

static enum weir_flow no_memory(struct weir_ctx *ctx)
{
        WEIR__CTX_COUNT(ctx, out_of_memory);
        return weir__answer_fixed(ctx, WEIR__STATIC_503);
}

static bool is_blank(struct weir_str text)
{
        for (size_t i = 0; i < text.len; i++) {
                if (!strchr(" \t\r", text.ptr[i]) || !text.ptr[i])
                        return false;
        }
        return true;
}

static enum weir_flow take_line(struct weir_ctx *ctx, const struct lines *lines,
                                struct reader *reader, struct weir_str text)
{
        const struct weir_json_lines_options *o = &lines->options;
        enum weir_flow flow;
        json_t *value;

        reader->line++;
        if (o->max_lines && reader->line > (uint64_t)o->max_lines)
                return too_large(ctx, "the body must not have more lines than", o->max_lines);
        if (is_blank(text))
                return WEIR_NEXT;
        value = weir__json_parse(ctx, text, reader->line);
        if (!value)
                return WEIR_DONE;
        flow = lines->on_line(ctx, lines->self, value, reader->line);
        json_decref(value);
        return flow;
}

/* Keeps the front of a line; what is there already stays in front of it. */
static bool keep(struct reader *reader, struct weir_str text)
{
        size_t need = reader->len + text.len;

        if (need > reader->cap) {
                char *grown = realloc(reader->front, 2 * need);

                if (!grown)
                        return false;
                reader->front = grown;
                reader->cap = 2 * need;
        }
        if (text.len)
                memcpy(reader->front + reader->len, text.ptr, text.len);
        reader->len = need;
        return true;
}

/* A line, or its front, or what is behind a front that was kept. */
static enum weir_flow take_part(struct weir_ctx *ctx, const struct lines *lines,
                                struct reader *reader, struct weir_str text, bool ends)
{
        if (reader->len + text.len > (uint64_t)lines->options.max_line)
                return too_large(ctx, "a line must not have more bytes than",
                                 lines->options.max_line);
        if (ends && !reader->len)
                return take_line(ctx, lines, reader, text);
        if (!keep(reader, text))
                return no_memory(ctx);
        if (!ends)
                return WEIR_NEXT;
        text = (struct weir_str){ reader->front, reader->len };
        reader->len = 0;
        return take_line(ctx, lines, reader, text);
}

static enum weir_flow take_piece(struct weir_ctx *ctx, const struct lines *lines,
                                 struct reader *reader, struct weir_str piece)
{
        while (piece.len) {
                const char *end = memchr(piece.ptr, '\n', piece.len);
                struct weir_str text = { piece.ptr, end ? (size_t)(end - piece.ptr) : piece.len };
                enum weir_flow flow = take_part(ctx, lines, reader, text, end);

                if (flow != WEIR_NEXT)
                        return flow;
                piece.ptr += text.len + (end != NULL);
                piece.len -= text.len + (end != NULL);
        }
        return WEIR_NEXT;
}

static enum weir_flow on_body(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        const struct lines *lines = self;
        struct reader *reader = weir_slot_get(ctx, lines->slot);
        enum weir_flow flow;

        if (!last)
                return take_piece(ctx, lines, reader, piece);
        flow = reader->len ? take_part(ctx, lines, reader, WEIR_STR(""), true) : WEIR_NEXT;
        return flow == WEIR_NEXT ? lines->fn(ctx, lines->self) : flow;
}

static bool is_lines(const struct weir_ctx *ctx)
{
        static const char *const types[] = { "application/x-ndjson", "application/ndjson",
                                             "application/jsonl", "application/x-jsonlines" };

        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
                if (weir_is_type(ctx, types[i]))
                        return true;
        }
        return false;
}

static enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        const struct lines *lines = self;
        struct reader *reader;

        if (!is_lines(ctx)) {
                weir_set_header(ctx, "Accept", "application/x-ndjson");
                return weir_fail(ctx, 415, "the body must be application/x-ndjson");
        }
        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return no_memory(ctx);
        weir_slot_set(ctx, lines->slot, reader);
        return weir_defer(ctx, free_reader, reader) ? WEIR_NEXT : weir__answer_oom(ctx);
}

/* The route's own memory, which the app frees. */
static const struct weir_middleware owner = { .name = "json_lines",
                                              .self_size = sizeof(struct lines),
                                              .phase = WEIR_SERVE };

static bool check(struct weir *scope, const char *pattern, const struct lines *lines)
{
        const struct weir_json_lines_options *o = &lines->options;

        if (!pattern || !lines->on_line || !lines->fn)
                weir_setup_error(scope, "weir_json_lines(): pattern, on_line or fn is NULL");
        else if (o->max_line <= 0 || o->max_lines < 0)
                weir_setup_error(scope,
                                 "weir_json_lines(): \"%s\": max_line %lld or max_lines %lld does "
                                 "not exist: use more than 0, or WEIR_INF",
                                 pattern, (long long)o->max_line, (long long)o->max_lines);
        else if (o->route.on_body)
                weir_setup_error(scope, "weir_json_lines(): \"%s\": its on_body is its own",
                                 pattern);
        else
                return true;
        return false;
}

void weir_json_lines(struct weir *scope, const char *pattern, weir_json_line_fn *on_line,
                     weir_request_fn *fn, void *self, const struct weir_json_lines_options *options)
{
        struct lines lines = { .on_line = on_line, .fn = fn, .self = self };
        struct weir_route_options *route = &lines.options.route;
        struct weir *group;

        if (options)
                lines.options = *options;
        if (!lines.options.method)
                lines.options.method = WEIR_POST;
        if (!lines.options.max_line)
                lines.options.max_line = DEFAULT_MAX_LINE;
        if (!check(scope, pattern, &lines))
                return;
        route->on_body = on_body;
        lines.slot = weir_slot(scope, "weir_json_lines");
        group = weir_group(scope, "", NULL);
        weir_route(group, lines.options.method, pattern, begin, weir_use(group, &owner, &lines),
                   route);
}
