/* problem.c - failed requests: the nearest on_error, or problem details (RFC 9457). */
#include "cell.h"

#include <stdio.h>

/* The names of RFC 9110 15 and of the IANA registry of status codes. */
const char *weir__status_title(int status)
{
        static const struct {
                int         status;
                const char *title;
        } titles[] = {
                { 200, "OK" },
                { 201, "Created" },
                { 202, "Accepted" },
                { 203, "Non-Authoritative Information" },
                { 204, "No Content" },
                { 205, "Reset Content" },
                { 206, "Partial Content" },
                { 207, "Multi-Status" },
                { 208, "Already Reported" },
                { 226, "IM Used" },
                { 300, "Multiple Choices" },
                { 301, "Moved Permanently" },
                { 302, "Found" },
                { 303, "See Other" },
                { 304, "Not Modified" },
                { 307, "Temporary Redirect" },
                { 308, "Permanent Redirect" },
                { 400, "Bad Request" },
                { 401, "Unauthorized" },
                { 402, "Payment Required" },
                { 403, "Forbidden" },
                { 404, "Not Found" },
                { 405, "Method Not Allowed" },
                { 406, "Not Acceptable" },
                { 407, "Proxy Authentication Required" },
                { 408, "Request Timeout" },
                { 409, "Conflict" },
                { 410, "Gone" },
                { 411, "Length Required" },
                { 412, "Precondition Failed" },
                { 413, "Content Too Large" },
                { 414, "URI Too Long" },
                { 415, "Unsupported Media Type" },
                { 416, "Range Not Satisfiable" },
                { 417, "Expectation Failed" },
                { 421, "Misdirected Request" },
                { 422, "Unprocessable Content" },
                { 423, "Locked" },
                { 424, "Failed Dependency" },
                { 425, "Too Early" },
                { 426, "Upgrade Required" },
                { 428, "Precondition Required" },
                { 429, "Too Many Requests" },
                { 431, "Request Header Fields Too Large" },
                { 451, "Unavailable For Legal Reasons" },
                { 500, "Internal Server Error" },
                { 501, "Not Implemented" },
                { 502, "Bad Gateway" },
                { 503, "Service Unavailable" },
                { 504, "Gateway Timeout" },
                { 505, "HTTP Version Not Supported" },
                { 506, "Variant Also Negotiates" },
                { 507, "Insufficient Storage" },
                { 508, "Loop Detected" },
                { 511, "Network Authentication Required" },
        };

        for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
                if (titles[i].status == status)
                        return titles[i].title;
        }
        return "";
}

/* The length of the UTF-8 sequence at `s` (RFC 3629), or 0 when it is not one. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
        size_t len = s[0] < 0x80   ? 1
                     : s[0] < 0xc2 ? 0
                     : s[0] < 0xe0 ? 2
                     : s[0] < 0xf0 ? 3
                     : s[0] < 0xf5 ? 4
                                   : 0;

        if (len > left)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        }
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
            (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
                return 0;
        return len;
}

/* One byte or sequence of `text` as JSON has it, into out[6]. */
static size_t escape(char *out, const unsigned char *s, size_t len)
{
        static const char hex[] = "0123456789abcdef";

        if (len == 0) {
                memcpy(out, "\\ufffd", 6);
                return 6;
        }
        if (s[0] == '"' || s[0] == '\\') {
                out[0] = '\\';
                out[1] = (char)s[0];
                return 2;
        }
        if (s[0] < 0x20) {
                memcpy(out, "\\u00", 4);
                out[4] = hex[s[0] >> 4];
                out[5] = hex[s[0] & 15];
                return 6;
        }
        memcpy(out, s, len);
        return len;
}

/* `text` as the inside of a JSON string; `out` has room for 6 bytes per byte. */
static size_t escape_all(char *out, struct weir_str text)
{
        const unsigned char *s = (const unsigned char *)text.ptr;
        size_t n = 0;

        for (size_t i = 0; i < text.len;) {
                size_t len = utf8_length(s + i, text.len - i);

                n += escape(out + n, s + i, len);
                i += len ? len : 1;
        }
        return n;
}

static enum weir_flow problem(struct weir_ctx *ctx, int status, struct weir_str detail)
{
        const char *title = weir__status_title(status);
        struct weir__buf buf = { 0 };

        if (!weir__buf_reserve(weir__ctx_pool(ctx), &buf, 6 * detail.len + 160))
                return weir__answer_oom(ctx);
        buf.len = (size_t)sprintf(
                buf.ptr, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d", title, status);
        if (detail.len) {
                memcpy(buf.ptr + buf.len, ",\"detail\":\"", 11);
                buf.len += 11;
                buf.len += escape_all(buf.ptr + buf.len, detail);
                buf.ptr[buf.len++] = '"';
        }
        buf.ptr[buf.len++] = '}';
        return weir__answer_buf(ctx, status, "application/problem+json", &buf);
}

/* on_error of the place, but for failures of on_error itself. */
static enum weir_flow render(struct weir_ctx *ctx, int status, struct weir_str detail)
{
        const struct weir__place *place = weir__cell_of(ctx)->place;

        if (!place || !place->on_error || (ctx->flags & WEIR__FAILING))
                return problem(ctx, status, detail);
        ctx->flags |= WEIR__FAILING;
        ctx->status = 0;
        place->on_error(ctx, place->on_error_self, status, detail);
        ctx->flags &= (uint8_t)~WEIR__FAILING;
        if (!ctx->status) {
                weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s: on_error did not answer",
                         ctx->pattern);
                WEIR__COUNT(weir__cell_of(ctx)->loop, bad_answers);
                return problem(ctx, status, detail);
        }
        return WEIR_DONE;
}

static WEIR_PRINTF(3, 0) enum weir_flow
        fail(struct weir_ctx *ctx, int status, const char *fmt, va_list args)
{
        char text[1024];
        int len = fmt ? vsnprintf(text, sizeof(text), fmt, args) : 0;

        if (len >= (int)sizeof(text))
                len = sizeof(text) - 1;
        return render(ctx, status, (struct weir_str){ text, len > 0 ? (size_t)len : 0 });
}

enum weir_flow weir_fail(struct weir_ctx *ctx, int status, const char *fmt, ...)
{
        enum weir_flow flow;
        va_list args;

        va_start(args, fmt);
        flow = fail(ctx, status, fmt, args);
        va_end(args);
        return flow;
}

enum weir_flow weir_refuse(struct weir_ctx *ctx, int status, const char *fmt, ...)
{
        enum weir_flow flow;
        va_list args;

        va_start(args, fmt);
        flow = fail(ctx, status, fmt, args);
        va_end(args);
        ctx->outcome = WEIR_SHED;
        return flow;
}
