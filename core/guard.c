/*
 * guard.c - what a request must be before weir looks at it.
 *
 * MHD's parser is lax, and what it lets pass can smuggle a second request through a proxy in front.
 * So each field is judged as it is taken into the index, and the rest when the head is complete. A
 * refused request is answered once and its connection closed.
 */
#include "guard.h"
#include "bytes.h"

#include <stdlib.h>

/* Fields that may stand only once, as bits of cell->guard.seen. */
enum {
        CONTENT_LENGTH = 1 << 0,
        TRANSFER_ENCODING = 1 << 1,
        CONTENT_TYPE = 1 << 2,
        AUTHORIZATION = 1 << 3,
        ORIGIN = 1 << 4,
        IF_MODIFIED_SINCE = 1 << 5,
        IF_UNMODIFIED_SINCE = 1 << 6,
        IF_RANGE = 1 << 7,
};

static void refuse(struct weir__guard *guard, enum weir_guard reason)
{
        if (!guard->refused)
                guard->refused = reason;
}

/* Marks a field as seen; a second one is refused. */
static WEIR__APART bool once(struct weir__guard *guard, uint32_t field)
{
        bool again = guard->seen & field;

        guard->seen |= field;
        if (again)
                refuse(guard, field == CONTENT_LENGTH      ? WEIR_GUARD_CONTENT_LENGTH
                              : field == TRANSFER_ENCODING ? WEIR_GUARD_TRANSFER_ENCODING
                                                           : WEIR_GUARD_DUPLICATE_HEADER);
        return !again;
}

static WEIR__APART void content_length(struct weir__cell *cell, struct weir_str v)
{
        uint64_t length = 0;

        if (v.len == 0 || v.len > 19)
                refuse(&cell->guard, WEIR_GUARD_CONTENT_LENGTH);
        for (size_t i = 0; i < v.len; i++) {
                unsigned digit = (unsigned)(v.ptr[i] - '0');

                if (digit > 9) {
                        refuse(&cell->guard, WEIR_GUARD_CONTENT_LENGTH);
                        return;
                }
                length = length * 10 + digit;
        }
        cell->content_length = length;
}

/* Exactly one coding, chunked: what else there may be is not implemented (RFC 9112 6.1). */
static WEIR__APART void transfer_encoding(struct weir__cell *cell, struct weir_str v)
{
        cell->chunked = v.len == 7 && weir__same_token(v.ptr, "chunked", 7);
        if (!cell->loop->transport->checks_chunks)
                cell->answer.close = true;
        if (v.ptr[v.len] == ' ' || v.ptr[v.len] == '\t') /* MHD 0.9.75 compares with them */
                refuse(&cell->guard, WEIR_GUARD_TRANSFER_ENCODING);
        if (!cell->chunked) {
                cell->guard.not_implemented = true;
                refuse(&cell->guard, WEIR_GUARD_TRANSFER_ENCODING);
        }
}

static bool is(struct weir_str name, const char *lower)
{
        return weir__same_token(name.ptr, lower, name.len);
}

/* The one field that every request has: its name in one compare. */
static bool is_host(const char *name)
{
        uint32_t text, host;

        memcpy(&text, name, 4);
        memcpy(&host, "host", 4);
        return (text | 0x20202020) == host; /* of all token bytes only letters fold to these */
}

#define START(letter) (1u << ((letter) - 'a' + 1))

/* Of the names below; any start of one without bytes, which is refused. */
const uint32_t weir__known_starts[32] = {
        [0] = UINT32_MAX,
        [4] = START('h'),
        [6] = START('o') | START('e'),
        [8] = START('i'),
        [12] = START('c'),
        [13] = START('a'),
        [14] = START('c'),
        [17] = START('t') | START('i'),
        [19] = START('i'),
};

/* Takes note of the fields that say what the message is. */
static void classify(struct weir__cell *cell, const struct weir__header *field)
{
        struct weir__guard *guard = &cell->guard;
        struct weir_str name = { field->name, field->name_len };
        struct weir_str value = { field->value, field->value_len };

        switch (name.len) {
        case 0:
                refuse(guard, WEIR_GUARD_HEADER_NAME);
                break;
        case 4:
                if (is_host(name.ptr) && guard->n_hosts++ == 0)
                        cell->host_header = value;
                break;
        case 6:
                if (is(name, "origin"))
                        once(guard, ORIGIN);
                else if (is(name, "expect"))
                        cell->expects_continue = value.len == 12 &&
                                                 weir__same_token(value.ptr, "100-continue", 12);
                break;
        case 8:
                if (is(name, "if-range"))
                        once(guard, IF_RANGE);
                break;
        case 12:
                if (is(name, "content-type") && once(guard, CONTENT_TYPE))
                        cell->content_type = value;
                break;
        case 13:
                if (is(name, "authorization"))
                        once(guard, AUTHORIZATION);
                break;
        case 14:
                if (is(name, "content-length") && once(guard, CONTENT_LENGTH))
                        content_length(cell, value);
                break;
        case 17:
                if (is(name, "transfer-encoding") && once(guard, TRANSFER_ENCODING))
                        transfer_encoding(cell, value);
                else if (is(name, "if-modified-since"))
                        once(guard, IF_MODIFIED_SINCE);
                break;
        case 19:
                if (is(name, "if-unmodified-since"))
                        once(guard, IF_UNMODIFIED_SINCE);
                break;
        default:
                break;
        }
}

/* MHD 0.9.75 leaves blanks behind values. */
static uint32_t without_blanks(const char *value, uint32_t len)
{
        while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
                len--;
        return len;
}

static WEIR__COLD void judge(struct weir__guard *guard, struct weir__header *field)
{
        field->value_len = without_blanks(field->value, field->value_len);
        if (!weir__is_token(field->name, field->name_len))
                refuse(guard, WEIR_GUARD_HEADER_NAME);
        if (!weir__all_value(field->value, field->value_len))
                refuse(guard, WEIR_GUARD_HEADER_VALUE);
}

static WEIR__COLD void look_closely(struct weir__cell *cell, struct weir__header *field)
{
        judge(&cell->guard, field);
        classify(cell, field);
}

void weir__guard_look(struct weir__cell *cell, struct weir__header *field, bool usual)
{
        if (usual)
                classify(cell, field);
        else
                look_closely(cell, field);
}

/* "HTTP/1.1" is 11. A higher 1.x is served as 1.1 (RFC 9110 2.5); 0 for all else. */
static uint16_t version_of(struct weir_str version)
{
        if (version.len != 8)
                return 0;
        if (memcmp(version.ptr, "HTTP/1.1", 8) == 0)
                return 11;
        if (memcmp(version.ptr, "HTTP/1.", 7) != 0)
                return 0;
        if (version.ptr[7] < '0' || version.ptr[7] > '9')
                return 0;
        return version.ptr[7] == '0' ? 10 : 11;
}

/* The authority of an absolute-form target counts as Host (RFC 9112 3.2.2). */
static bool absolute_form(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;
        struct weir_str rest = ctx->target;
        size_t scheme = rest.len > 7 && weir__same_token(rest.ptr, "http://", 7)    ? 7
                        : rest.len > 8 && weir__same_token(rest.ptr, "https://", 8) ? 8
                                                                                    : 0;
        size_t end = scheme;

        if (!scheme)
                return false;
        while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
                end++;
        cell->host_header = (struct weir_str){ rest.ptr + scheme, end - scheme };
        if (end == scheme)
                return false;
        if (end < rest.len && rest.ptr[end] == '/')
                ctx->path = (struct weir_str){ rest.ptr + end, ctx->path.len - end };
        else
                ctx->path = WEIR_STR("/");
        return true;
}

static bool target(struct weir__cell *cell)
{
        const struct weir_ctx *ctx = &cell->ctx;

        if (!ctx->target.len || !weir__all_visible(ctx->target.ptr, ctx->target.len))
                return false;
        if (ctx->target.ptr[0] == '/')
                return true;
        if (ctx->target.len == 1 && ctx->target.ptr[0] == '*')
                return ctx->method == WEIR_OPTIONS;
        return absolute_form(cell);
}

/* The length of the host in host[:port], or -1. */
static ptrdiff_t host_length(struct weir_str text)
{
        const char *end = text.ptr + text.len;
        const char *colon;

        if (text.len && text.ptr[0] == '[') { /* an IPv6 literal stays in its brackets */
                colon = memchr(text.ptr, ']', text.len);
                if (!colon || colon - text.ptr < 3)
                        return -1;
                for (const char *c = text.ptr + 1; c < colon; c++) {
                        if (!strchr("0123456789abcdefABCDEF:.", *c))
                                return -1;
                }
                colon++;
                if (colon < end && *colon != ':')
                        return -1;
        } else {
                colon = memchr(text.ptr, ':', text.len);
                if (!colon)
                        colon = end;
                if (!weir__all_class(text.ptr, (size_t)(colon - text.ptr), WEIR__REGNAME))
                        return -1;
        }
        if (end - colon > 6)
                return -1;
        for (const char *c = colon + 1; c < end; c++) {
                if (*c < '0' || *c > '9')
                        return -1;
        }
        return colon - text.ptr;
}

/* Checks `text` as a Host and keeps it, and what is its name: most requests name the same. */
static bool learn_host(struct weir__loop *loop, struct weir_str text)
{
        ptrdiff_t len = text.len <= WEIR__HOST_MAX ? host_length(text) : -1;

        if (len < 0)
                return false;
        if (len && text.ptr[len - 1] == '.')
                len--;
        if (text.len)
                memcpy(loop->last_host, text.ptr, text.len);
        loop->last_host_len = text.len;
        loop->last_name_len = (size_t)len;
        loop->last_is_lower = true;
        for (ptrdiff_t i = 0; i < len; i++)
                loop->last_is_lower &= weir__lower(text.ptr[i]) == text.ptr[i];
        return true;
}

static bool host(struct weir__cell *cell)
{
        struct weir__loop *loop = cell->loop;
        struct weir_str text = cell->host_header;
        bool again = text.len == loop->last_host_len &&
                     weir__peek_same(text.ptr, loop->last_host, text.len);

        if (!again && !learn_host(loop, text))
                return false;
        if (!loop->last_is_lower) {
                for (size_t i = 0; i < loop->last_name_len; i++)
                        cell->host_text[i] = weir__lower(text.ptr[i]);
                text.ptr = cell->host_text;
        }
        cell->ctx.host = (struct weir_str){ text.ptr, loop->last_name_len };
        return true;
}

/* What is wrong with the request line. */
static enum weir_guard request_line(struct weir__cell *cell, struct weir_str version)
{
        struct weir_ctx *ctx = &cell->ctx;

        cell->version = version_of(version);
        if (ctx->method_name.len == 3 && !memcmp(ctx->method_name.ptr, "GET", 3))
                ctx->method = WEIR_GET;
        else
                ctx->method = (uint8_t)weir__method_number(cell->loop->app, ctx->method_name);
        if (ctx->method == WEIR_UNKNOWN_METHOD &&
            !weir__is_token(ctx->method_name.ptr, ctx->method_name.len))
                return WEIR_GUARD_METHOD;
        if (!cell->version)
                return WEIR_GUARD_VERSION;
        if (ctx->method != WEIR_UNKNOWN_METHOD || !weir_str_is(ctx->method_name, "CONNECT"))
                return WEIR_GUARD_OK;
        cell->guard.not_implemented = true;
        return WEIR_GUARD_METHOD;
}

static enum weir_guard fields(const struct weir__cell *cell)
{
        const struct weir__guard *guard = &cell->guard;

        if (guard->n_hosts > 1 || (guard->n_hosts == 0 && cell->version == 11))
                return WEIR_GUARD_HOST;
        if (!guard->refused && (guard->seen & TRANSFER_ENCODING) &&
            ((guard->seen & CONTENT_LENGTH) || cell->version == 10))
                return WEIR_GUARD_TRANSFER_ENCODING;
        return guard->refused;
}

enum weir_guard weir__guard_head(struct weir__cell *cell, struct weir_str version)
{
        enum weir_guard reason = request_line(cell, version);

        if (!reason)
                reason = (enum weir_guard)cell->excess;
        if (!reason)
                reason = fields(cell);
        if (!reason && cell->inexact)
                reason = WEIR_GUARD_FRAMING;
        if (!reason && !target(cell))
                reason = WEIR_GUARD_TARGET;
        if (!reason && cell->host_header.ptr && !host(cell))
                reason = WEIR_GUARD_HOST;
        return reason;
}

const char *weir_guard_name(enum weir_guard reason)
{
        static const char *const names[WEIR_GUARD_REASONS] = {
                "ok",
                "method",
                "version",
                "host",
                "content_length",
                "transfer_encoding",
                "target",
                "header_name",
                "header_value",
                "duplicate_header",
                "framing",
                "too_many_headers",
                "header_bytes",
        };

        return (unsigned)reason < WEIR_GUARD_REASONS ? names[reason] : "unknown";
}
