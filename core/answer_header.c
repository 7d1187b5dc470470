/*
 * answer_header.c - header fields of the answer.
 *
 * A field lies in the arena as it goes out: "Name: value\r\n". Content-Type is kept apart, since
 * every function that answers sets it.
 */
#include "cell.h"
#include "cookie.h"
#include "text.h"

#include <stdio.h>

#define MAX_COOKIE 4200 /* RFC 6265 6.1 wants 4096 bytes of name, value and attributes to work */

static bool is(const char *name, size_t len, struct weir_str other)
{
        return len == other.len && weir__same_name(name, other.ptr, len);
}

/* Does weir write this field itself, from what the answer is? */
static bool is_reserved(const char *name, size_t len)
{
        switch (name[0] | 0x20) {
        case 'c':
                return is(name, len, WEIR_STR("Content-Length")) ||
                       is(name, len, WEIR_STR("Connection"));
        case 'd':
                return is(name, len, WEIR_STR("Date"));
        case 't':
                return is(name, len, WEIR_STR("Transfer-Encoding")) ||
                       is(name, len, WEIR_STR("Trailer"));
        case 'u':
                return is(name, len, WEIR_STR("Upgrade"));
        case 'k':
                return is(name, len, WEIR_STR("Keep-Alive"));
        default:
                return false;
        }
}

static bool is_content_type(const char *name, size_t len)
{
        return is(name, len, WEIR_STR("Content-Type"));
}

static bool refuse(struct weir_ctx *ctx, const char *name)
{
        WEIR__CTX_COUNT(ctx, bad_headers);
        weir_log(weir_app(ctx), WEIR_LOG_DEBUG, "%.*s %s: header field %s is refused",
                 WEIR_FMT(ctx->method_name), ctx->pattern, name ? name : "(NULL)");
        return false;
}

/* The length of `name` when the field may be set, else 0. */
static size_t allowed_name(const char *name, struct weir_str value)
{
        size_t len = strlen(name);

        if (!value.ptr || !weir__is_token(name, len) || !weir__all_value(value.ptr, value.len) ||
            is_reserved(name, len))
                return 0;
        return len;
}

static bool is_named(const struct weir__field *field, const char *name, size_t len)
{
        return field->name_len == len && weir__same_name(field->line, name, len);
}

void weir_remove_header(struct weir_ctx *ctx, const char *name)
{
        struct weir__answer *answer = &weir__cell_of(ctx)->answer;
        size_t len = strlen(name);
        uint16_t kept = 0;

        if (is_content_type(name, len))
                answer->type = (struct weir_str){ 0 };
        for (uint16_t i = 0; i < answer->n_fields; i++) {
                if (!is_named(&answer->field[i], name, len))
                        answer->field[kept++] = answer->field[i];
        }
        answer->n_fields = kept;
}

static bool append(struct weir_ctx *ctx, struct weir_str name, struct weir_str value)
{
        struct weir__answer *answer = &weir__cell_of(ctx)->answer;
        size_t len = name.len + 2 + value.len + 2;
        char *line = ctx->brk;

        if (len > (size_t)(ctx->end - ctx->brk) || answer->n_fields == WEIR__MAX_FIELDS) {
                weir__answer_oom(ctx);
                return false;
        }
        ctx->brk += len;
        memcpy(line, name.ptr, name.len);
        memcpy(line + name.len, ": ", 2);
        if (value.len)
                memcpy(line + name.len + 2, value.ptr, value.len);
        memcpy(line + len - 2, "\r\n", 2);
        if (is_content_type(name.ptr, name.len))
                answer->type = (struct weir_str){ line + name.len + 2, value.len };
        else
                answer->field[answer->n_fields++] = (struct weir__field){ line, (uint32_t)name.len,
                                                                          (uint32_t)len };
        return true;
}

static struct weir_str trimmed(const char *text)
{
        return weir__trim((struct weir_str){ text, text ? strlen(text) : 0 });
}

bool weir_set_header(struct weir_ctx *ctx, const char *name, const char *value)
{
        struct weir_str text = trimmed(value);
        size_t len = name ? allowed_name(name, text) : 0;

        if (!len)
                return refuse(ctx, name);
        weir_remove_header(ctx, name);
        return append(ctx, (struct weir_str){ name, len }, text);
}

bool weir_add_header(struct weir_ctx *ctx, const char *name, const char *value)
{
        struct weir_str text = trimmed(value);
        size_t len = name ? allowed_name(name, text) : 0;

        if (!len)
                return refuse(ctx, name);
        return append(ctx, (struct weir_str){ name, len }, text);
}

bool weir_set_default_header(struct weir_ctx *ctx, const char *name, const char *value)
{
        if (name && weir_answer_header(ctx, name).ptr)
                return true;
        return weir_add_header(ctx, name, value);
}

bool weir_set_headerf(struct weir_ctx *ctx, const char *name, const char *fmt, ...)
{
        char *text = ctx->brk;
        size_t room = (size_t)(ctx->end - ctx->brk);
        va_list args;
        int len;

        va_start(args, fmt);
        len = vsnprintf(text, room, fmt, args);
        va_end(args);
        if (len < 0 || (size_t)len >= room) {
                weir__answer_oom(ctx);
                return false;
        }
        ctx->brk += len + 1;
        return weir_set_header(ctx, name, text);
}

struct weir_str weir_answer_header(const struct weir_ctx *ctx, const char *name)
{
        const struct weir__answer *answer = &weir__cell_of(ctx)->answer;
        size_t len = strlen(name);

        if (is_content_type(name, len))
                return answer->type;
        for (uint16_t i = 0; i < answer->n_fields; i++) {
                const struct weir__field *field = &answer->field[i];

                if (is_named(field, name, len))
                        return (struct weir_str){ field->line + len + 2, field->len - len - 4 };
        }
        return (struct weir_str){ 0 };
}

bool weir_set_cookie(struct weir_ctx *ctx, const struct weir_cookie *cookie)
{
        char text[MAX_COOKIE];
        ptrdiff_t len = weir__cookie_format(text, sizeof(text), cookie);

        if (len < 0)
                return refuse(ctx, "Set-Cookie");
        return append(ctx, WEIR_STR("Set-Cookie"), (struct weir_str){ text, (size_t)len });
}
