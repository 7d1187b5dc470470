/*
 * form_head.c - what the head of a part says.
 *
 * Browsers write '"' and line ends in names as %22, %0D and %0A, and nothing else of it escaped
 * (WHATWG HTML, "multipart form data"); other clients put a '\' before '"' and '\'. Both are undone
 * and no more, so that a name in which '%' stands for itself stays what it is.
 */
#include "form_head.h"
#include "form_scan.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static struct weir_str trim(struct weir_str s)
{
        while (s.len && is_blank(s.ptr[0]))
                s.ptr++, s.len--;
        while (s.len && is_blank(s.ptr[s.len - 1]))
                s.len--;
        return s;
}

static bool is(struct weir_str s, const char *lower)
{
        return s.len == strlen(lower) && strncasecmp(s.ptr, lower, s.len) == 0;
}

/* RFC 9110 5.6.2 */
static bool is_tchar(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* ---- Parameters: ; name=token ; name="quoted" ---- */

static struct weir_str take_token(struct weir_str *rest)
{
        struct weir_str token = { rest->ptr, 0 };

        while (token.len < rest->len && is_tchar(rest->ptr[token.len]))
                token.len++;
        rest->ptr += token.len;
        rest->len -= token.len;
        return token;
}

/* A value without quotes: some clients leave them off where there should be some. */
static struct weir_str take_bare(struct weir_str *rest)
{
        struct weir_str value = { rest->ptr, 0 };

        while (value.len < rest->len && !is_blank(rest->ptr[value.len]) &&
               !strchr(";\"", rest->ptr[value.len]))
                value.len++;
        rest->ptr += value.len;
        rest->len -= value.len;
        return value.len ? value : (struct weir_str){ 0 };
}

/* With its escapes, between the quotes; absent when it does not end. */
static struct weir_str take_quoted(struct weir_str *rest)
{
        struct weir_str text = { rest->ptr + 1, 0 };

        for (size_t i = 1; i < rest->len; i++) {
                if (rest->ptr[i] == '\\' && i + 1 < rest->len &&
                    (rest->ptr[i + 1] == '"' || rest->ptr[i + 1] == '\\')) {
                        i++;
                } else if (rest->ptr[i] == '"') {
                        text.len = i - 1;
                        rest->ptr += i + 1;
                        rest->len -= i + 1;
                        return text;
                }
        }
        return (struct weir_str){ 0 };
}

/* The next parameter; false when there is none. What is none makes `*bad`. */
static bool next_parameter(struct weir_str *rest, struct weir_str *name, struct weir_str *value,
                           bool *bad)
{
        *rest = trim(*rest);
        if (!rest->len)
                return false;
        *bad = true;
        if (*rest->ptr != ';')
                return false;
        rest->ptr++;
        *rest = trim((struct weir_str){ rest->ptr, rest->len - 1 });
        *name = take_token(rest);
        if (!name->len || !rest->len || *rest->ptr != '=')
                return false;
        rest->ptr++;
        rest->len--;
        *value = rest->len && *rest->ptr == '"' ? take_quoted(rest) : take_bare(rest);
        *bad = !value->ptr;
        return !*bad;
}

/* ---- Names. ---- */

/* The byte that an escape at `at` stands for, and how long that is; 0: none. */
static size_t escape_at(const char *at, const char *end, char *byte)
{
        if (end - at >= 2 && at[0] == '\\' && (at[1] == '"' || at[1] == '\\')) {
                *byte = at[1];
                return 2;
        }
        if (end - at < 3 || at[0] != '%')
                return 0;
        *byte = strncasecmp(at, "%22", 3) == 0   ? '"'
                : strncasecmp(at, "%0d", 3) == 0 ? '\r'
                : strncasecmp(at, "%0a", 3) == 0 ? '\n'
                                                 : '\0';
        return *byte ? 3 : 0;
}

/* Undoes escapes, in place. */
static struct weir_str decode(struct weir_str text)
{
        char *to = (char *)(uintptr_t)text.ptr;
        const char *at = text.ptr, *end = text.ptr + text.len;

        while (at < end) {
                char byte;
                size_t n = escape_at(at, end, &byte);

                *to++ = n ? byte : *at;
                at += n ? n : 1;
        }
        return (struct weir_str){ text.ptr, (size_t)(to - text.ptr) };
}

/* Some clients send where the file lies; that is nobody's business. */
static struct weir_str without_folders(struct weir_str name)
{
        for (size_t i = name.len; i--;) {
                if (name.ptr[i] == '/' || name.ptr[i] == '\\')
                        return (struct weir_str){ name.ptr + i + 1, name.len - i - 1 };
        }
        return name;
}

/* ---- Fields. ---- */

static const char *disposition(struct weir__form_head *head, struct weir_str value)
{
        struct weir_str kind = take_token(&value), name, text;
        bool bad = false;

        if (!is(kind, "form-data"))
                return "a part is not form-data";
        while (next_parameter(&value, &name, &text, &bad)) {
                struct weir_str *to = is(name, "name")       ? &head->name
                                      : is(name, "filename") ? &head->filename
                                                             : NULL;

                if (to && to->ptr)
                        return "a part says its name twice";
                if (to)
                        *to = decode(text);
        }
        if (bad || !head->name.ptr)
                return "a part has no name that can be read";
        if (head->filename.ptr)
                head->filename = without_folders(head->filename);
        return NULL;
}

static const char *take_field(struct weir__form_head *head, struct weir_str line)
{
        const char *colon = memchr(line.ptr, ':', line.len);
        struct weir_str name = line, value;

        if (!colon || is_blank(*line.ptr))
                return "the head of a part has a line that is no field";
        name.len = (size_t)(colon - line.ptr);
        value = trim((struct weir_str){ colon + 1, line.len - name.len - 1 });
        if (is(name, "content-disposition"))
                return head->name.ptr ? "a part says its name twice" : disposition(head, value);
        if (is(name, "content-type"))
                head->type = value;
        if (is(name, "content-transfer-encoding") && !is(value, "binary") && !is(value, "8bit") &&
            !is(value, "7bit"))
                return "a part has a transfer encoding";
        return NULL;
}

static bool has_control(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)text[i];

                if ((c < ' ' && c != '\t') || c == 0x7f)
                        return true;
        }
        return false;
}

const char *weir__form_head(struct weir__form_head *head, char *text, size_t len)
{
        const char *at = text, *end = text + len, *wrong = NULL;

        *head = (struct weir__form_head){ 0 };
        while (at < end && !wrong) { /* each line ends with CRLF: form_scan.c */
                const char *line_end = memchr(at, '\n', (size_t)(end - at));
                struct weir_str line = { at, (size_t)(line_end - 1 - at) };

                wrong = has_control(line.ptr, line.len) || !line.len
                                ? "the head of a part has a control byte"
                                : take_field(head, line);
                at = line_end + 1;
        }
        if (!wrong && !head->name.ptr)
                wrong = "a part has no name";
        return wrong;
}

/* RFC 2046 5.1.1: bchars, which do not end with a blank. */
static bool is_boundary(struct weir_str text)
{
        if (!text.len || text.len > WEIR__BOUNDARY_MAX || text.ptr[text.len - 1] == ' ')
                return false;
        for (size_t i = 0; i < text.len; i++) {
                char c = text.ptr[i];

                if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
                    (!c || !strchr("'()+_,-./:=? ", c)))
                        return false;
        }
        return true;
}

struct weir_str weir__form_boundary(struct weir_str type)
{
        const char *semicolon = memchr(type.ptr, ';', type.len);
        struct weir_str rest = { semicolon, 0 }, name, value, boundary = { 0 };
        bool bad = false, again = false;

        if (!semicolon)
                return boundary;
        rest.len = (size_t)(type.ptr + type.len - semicolon);
        while (next_parameter(&rest, &name, &value, &bad)) {
                if (!is(name, "boundary"))
                        continue;
                again = boundary.ptr;
                boundary = value;
                if (again)
                        break;
        }
        return bad || again || !is_boundary(boundary) ? (struct weir_str){ 0 } : boundary;
}
