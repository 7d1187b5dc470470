/*
 * router_pattern.c - takes patterns apart, and says what is wrong with them.
 *
 * A pattern is '/' and segments between slashes. A segment is a literal, or has one parameter in
 * braces, with text around it or none. Patterns are written decoded: '%' is no escape in them.
 */
#include "router_pattern.h"

#include "path.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What parsing knows. */
struct parser {
        struct weir__fault   *fault;
        struct weir__pattern *pattern;
        char                 *out; /* where the next decoded byte goes */
        char                  quoted[WEIR__QUOTED];
};

int weir__fault(struct weir__fault *fault, int code, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(fault->text, fault->size, fmt, args);
        va_end(args);
        return code;
}

const char *weir__quoted(char out[WEIR__QUOTED], const char *text)
{
        size_t len = 0;

        out[len++] = '"';
        for (; *text && len < WEIR__QUOTED - 12; text++) {
                unsigned char c = (unsigned char)*text;

                if (c < 0x20 || c == 0x7f)
                        len += (size_t)sprintf(out + len, "\\x%02x", c);
                else
                        out[len++] = (char)c;
        }
        snprintf(out + len, WEIR__QUOTED - len, "%s\"", *text ? "..." : "");
        return out;
}

/* ---- One segment. ---- */

static bool is_name(struct weir_str name)
{
        for (size_t i = 0; i < name.len; i++) {
                char c = name.ptr[i];
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

                if (!letter && !(i > 0 && c >= '0' && c <= '9'))
                        return false;
        }
        return name.len > 0;
}

static int check_name(struct parser *parser, struct weir_str name)
{
        const struct weir__pattern *pattern = parser->pattern;

        if (!is_name(name)) {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s has a parameter named \"%.*s\": a name is made of "
                                   "letters, digits and '_' and does not start with a digit",
                                   parser->quoted, WEIR_FMT(name));
        }
        for (uint32_t i = 0; i < pattern->n; i++) {
                if (weir_str_eq(pattern->piece[i].name, name)) {
                        return weir__fault(parser->fault, -EINVAL,
                                           "pattern %s has two parameters named \"%.*s\": rename "
                                           "one of them",
                                           parser->quoted, WEIR_FMT(name));
                }
        }
        if (pattern->n_params == WEIR_MAX_PARAMS) {
                return weir__fault(parser->fault, -E2BIG,
                                   "pattern %s has more than %d parameters: merge some of them, "
                                   "or move them to the query",
                                   parser->quoted, WEIR_MAX_PARAMS);
        }
        return 0;
}

/* Reads text up to `end` or a parameter. Returns where it stopped; NULL for a fault. */
static const char *parse_text(struct parser *parser, const char *at, const char *end,
                              struct weir_str *text)
{
        text->ptr = parser->out;
        for (; at < end; at++) {
                bool brace = *at == '{' || *at == '}';
                bool twice = brace && at + 1 < end && at[1] == *at;

                if (*at == '{' && !twice)
                        break;
                if (*at == '}' && !twice) {
                        weir__fault(parser->fault, -EINVAL,
                                    "pattern %s has a '}' without a '{': remove it, or write "
                                    "\"}}\" for a brace",
                                    parser->quoted);
                        return NULL;
                }
                *parser->out++ = *at;
                at += twice;
        }
        text->len = (size_t)(parser->out - text->ptr);
        return at;
}

/* `at` is behind '{'. Returns what is behind '}'; NULL: a fault. */
static const char *parse_param(struct parser *parser, const char *at, const char *end,
                               struct weir__piece *piece, int *error)
{
        const char *close = memchr(at, '}', (size_t)(end - at));
        struct weir_str name = { at, 0 };

        if (!close) {
                *error = weir__fault(parser->fault, -EINVAL,
                                     "pattern %s has a '{' without a '}' in the same segment: "
                                     "close it, or write \"{{\" for a brace",
                                     parser->quoted);
                return NULL;
        }
        name.len = (size_t)(close - at);
        piece->kind = WEIR__AFFIXED;
        if (name.len > 3 && memcmp(close - 3, "...", 3) == 0) {
                name.len -= 3;
                piece->kind = WEIR__REST;
        }
        *error = check_name(parser, name);
        if (*error)
                return NULL;
        piece->name.ptr = memcpy(parser->out, name.ptr, name.len);
        piece->name.len = name.len;
        parser->out += name.len;
        return close + 1;
}

static int check_text(struct parser *parser, const struct weir__piece *piece)
{
        if (piece->kind == WEIR__LITERAL &&
            (weir_str_is(piece->prefix, ".") || weir_str_is(piece->prefix, ".."))) {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s has the segment \"%.*s\", which no request "
                                   "reaches: write the path without it",
                                   parser->quoted, WEIR_FMT(piece->prefix));
        }
        return 0;
}

/* What stands around a parameter. */
static int parse_affixes(struct parser *parser, const char *at, const char *end,
                         struct weir__piece *piece)
{
        at = parse_text(parser, at, end, &piece->suffix);
        if (!at)
                return -EINVAL;
        if (at < end) {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s has two parameters in one segment: put a '/' "
                                   "between them, or take one apart in the handler",
                                   parser->quoted);
        }
        if (piece->prefix.len + piece->suffix.len == 0) {
                if (piece->kind == WEIR__AFFIXED)
                        piece->kind = WEIR__BARE;
                return 0;
        }
        if (piece->kind == WEIR__REST) {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s has text around {%.*s...}: a rest is a whole "
                                   "segment",
                                   parser->quoted, WEIR_FMT(piece->name));
        }
        return 0;
}

static int parse_segment(struct parser *parser, const char *at, const char *end)
{
        struct weir__pattern *pattern = parser->pattern;
        struct weir__piece *piece = &pattern->piece[pattern->n];
        int error = -EINVAL;

        *piece = (struct weir__piece){ .kind = WEIR__LITERAL };
        at = parse_text(parser, at, end, &piece->prefix);
        if (!at)
                return error;
        if (at < end) {
                at = parse_param(parser, at + 1, end, piece, &error);
                if (!at)
                        return error;
                error = parse_affixes(parser, at, end, piece);
                if (error)
                        return error;
                pattern->n_params++;
        }
        pattern->n++;
        return check_text(parser, piece);
}

/* ---- The whole. ---- */

/* What can be said without taking it apart. */
static int check_whole(struct parser *parser, const char *text, size_t len)
{
        const char *quoted = parser->quoted;

        if (text[0] != '/') {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s does not start with '/': put one in front", quoted);
        }
        if (len > WEIR__MAX_PATH) {
                return weir__fault(parser->fault, -E2BIG,
                                   "pattern %s has %zu bytes: shorten it to %d", quoted, len,
                                   WEIR__MAX_PATH);
        }
        if (strstr(text, "//")) {
                return weir__fault(parser->fault, -EINVAL,
                                   "pattern %s has an empty segment, which matches nothing: write "
                                   "one '/' for \"//\"",
                                   quoted);
        }
        for (size_t i = 0; i < len; i++) {
                if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
                        return weir__fault(parser->fault, -EINVAL,
                                           "pattern %s has a control byte, which no request may "
                                           "contain: remove it",
                                           quoted);
                }
        }
        return 0;
}

static int parse_all(struct parser *parser, const char *text)
{
        const struct weir__pattern *pattern = parser->pattern;

        for (const char *at = text, *end; *at; at = end) {
                int error;

                if (pattern->n && pattern->piece[pattern->n - 1].kind == WEIR__REST) {
                        return weir__fault(parser->fault, -EINVAL,
                                           "pattern %s goes on behind {%.*s...}: a rest comes "
                                           "last",
                                           parser->quoted,
                                           WEIR_FMT(pattern->piece[pattern->n - 1].name));
                }
                if (pattern->n == WEIR__MAX_SEGMENTS) {
                        return weir__fault(parser->fault, -E2BIG,
                                           "pattern %s has more than %d segments: shorten it",
                                           parser->quoted, WEIR__MAX_SEGMENTS);
                }
                end = at + 1 + strcspn(at + 1, "/");
                error = parse_segment(parser, at + 1, end);
                if (error)
                        return error;
        }
        return 0;
}

/* The pieces, the decoded text and the spelling in one block. */
static bool prepare(struct parser *parser, const char *text, size_t len)
{
        struct weir__pattern *pattern;
        size_t n = 0;

        for (const char *at = text; (at = strchr(at, '/')); at++)
                n++;
        pattern = malloc(sizeof(*pattern) + n * sizeof(pattern->piece[0]) + 2 * len + 1);
        if (!pattern)
                return false;
        parser->pattern = pattern;
        parser->out = (char *)&pattern->piece[n];
        pattern->n = pattern->n_params = 0;
        pattern->spelled = memcpy(parser->out + len, text, len + 1);
        return true;
}

int weir__pattern_parse(const char *text, struct weir__pattern **pattern, struct weir__fault *fault)
{
        struct parser parser = { .fault = fault };
        size_t len = strlen(text);
        int error;

        weir__quoted(parser.quoted, text);
        error = check_whole(&parser, text, len);
        if (error)
                return error;
        if (!prepare(&parser, text, len))
                return -ENOMEM;
        error = parse_all(&parser, text);
        if (error) {
                free(parser.pattern);
                return error;
        }
        *pattern = parser.pattern;
        return 0;
}

/* ---- Comparing. ---- */

static int compare_text(struct weir_str a, struct weir_str b)
{
        if (a.len != b.len)
                return a.len > b.len ? -1 : 1;
        return a.len ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

int weir__piece_compare(const struct weir__piece *a, const struct weir__piece *b)
{
        int prefix;

        if (a->kind != b->kind)
                return a->kind < b->kind ? -1 : 1;
        prefix = compare_text(a->prefix, b->prefix);
        if (a->prefix.len != b->prefix.len || a->kind == WEIR__LITERAL)
                return prefix;
        if (a->suffix.len != b->suffix.len)
                return a->suffix.len > b->suffix.len ? -1 : 1;
        return prefix ? prefix : compare_text(a->suffix, b->suffix);
}

bool weir__pattern_same(const struct weir__pattern *a, const struct weir__pattern *b)
{
        for (uint32_t i = 0; i < a->n && i < b->n; i++) {
                if (weir__piece_compare(&a->piece[i], &b->piece[i]) != 0)
                        return false;
        }
        return a->n == b->n;
}
