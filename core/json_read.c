/*
 * json_read.c - the body of a request as a Jansson document.
 *
 * What Jansson says of a fault goes to the client, but for the words that only its caller knows.
 */
#include "json_text.h"

#include "cell.h"
#include "text.h"

#include <inttypes.h>

/* application/json, or a type such as application/merge-patch+json (RFC 6839 3.1). */
static bool is_json(const struct weir_ctx *ctx)
{
        struct weir_str type = weir__without_parameters(weir__cell_of(ctx)->content_type);

        if (weir_is_type(ctx, "application/json"))
                return true;
        return type.len > 5 && memchr(type.ptr, '/', type.len) &&
               weir__same_token(type.ptr + type.len - 5, "+json", 5);
}

/* Jansson passes over a NUL byte behind a number or a word, so that is found here. */
static void fail_at_nul(struct weir_ctx *ctx, const char *text, const char *nul, uint64_t line)
{
        int column = 1;

        for (const char *at = text; at < nul; at++) {
                column += (*at & 0xc0) != 0x80;
                if (*at == '\n') {
                        line++;
                        column = 1;
                }
        }
        weir_fail(ctx, 400, "line %" PRIu64 ", column %d: a NUL byte", line, column);
}

static const char *words(const json_error_t *error)
{
        switch (json_error_code(error)) {
        case json_error_null_character:
                return "a string with \\u0000";
        case json_error_null_byte_in_key:
                return "a name with \\u0000";
        case json_error_stack_overflow:
                return "more than 2048 levels";
        default:
                return error->text;
        }
}

static void fail(struct weir_ctx *ctx, const json_error_t *error, uint64_t line)
{
        char text[JSON_ERROR_TEXT_LENGTH];
        int len;

        if (error->line < 0) { /* no fault was set: memory is out */
                weir__answer_oom(ctx);
                return;
        }
        len = snprintf(text, sizeof(text), "%s", words(error));
        for (int i = 0; i < len; i++) {
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        text[i] = '?';
        }
        weir_fail(ctx, 400, "line %" PRIu64 ", column %d: %s", line + (uint64_t)error->line - 1,
                  error->column > 0 ? error->column : 1, text);
}

json_t *weir__json_parse(struct weir_ctx *ctx, struct weir_str text, uint64_t line)
{
        const char *nul = memchr(text.ptr, 0, text.len);
        json_error_t error;
        json_t *value;

        if (nul) {
                fail_at_nul(ctx, text.ptr, nul, line);
                return NULL;
        }
        value = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        if (!value)
                fail(ctx, &error, line);
        return value;
}

json_t *weir_json_body(struct weir_ctx *ctx)
{
        if (!is_json(ctx)) {
                weir_fail(ctx, 415, "the body must be application/json");
                weir_set_header(ctx, "Accept", "application/json");
                return NULL;
        }
        if (!ctx->body.len) {
                weir_fail(ctx, 400, "line 1, column 1: the body is empty");
                return NULL;
        }
        return weir__json_parse(ctx, ctx->body, 1);
}
