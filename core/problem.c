/* problem.c - failed requests: the nearest on_error, or problem details (RFC 9457). */
#include "cell.h"
#include "json_text.h"

#include <stdio.h>

/* The names of RFC 9110 15 and of the IANA registry of status codes. */
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

const char *weir__status_title(int status)
{
        for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
                if (titles[i].status == status)
                        return titles[i].title;
        }
        return "";
}

static enum weir_flow problem(struct weir_ctx *ctx, int status, struct weir_str detail)
{
        struct weir__json_home home = { .pool = weir__ctx_pool(ctx) };
        const char *title = weir__status_title(status);
        struct weir_json_writer w;

        weir__json_writer_init(&w, &home);
        weir_json_object(&w);
        weir_json_key(&w, "type");
        weir_json_cstr(&w, "about:blank");
        if (*title) {
                weir_json_key(&w, "title");
                weir_json_cstr(&w, title);
        }
        weir_json_key(&w, "status");
        weir_json_int(&w, status);
        if (detail.len) {
                weir_json_key(&w, "detail");
                weir_json_str(&w, detail);
        }
        weir_json_object_end(&w);
        if (weir__json_writer_finish(&w))
                return weir__answer_buf(ctx, status, "application/problem+json", &home.buf);
        weir__buf_release(home.pool, &home.buf);
        return weir__answer_oom(ctx);
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
                weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%.*s %.*s: on_error did not answer",
                         WEIR_FMT(ctx->method_name), WEIR_FMT(ctx->path));
                WEIR__CTX_COUNT(ctx, bad_answers);
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
        return render(ctx, status,
                      len > 0 ? (struct weir_str){ text, (size_t)len } : (struct weir_str){ 0 });
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
        ctx->outcome = status == 504 ? WEIR_TIMEOUT : WEIR_SHED;
        return flow;
}
