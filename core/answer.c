/*
 * answer.c - the functions that answer: each puts status, type and body into the cell's answer.
 *
 * Small bodies are copied into the arena, larger ones into a buffer of the loop. Nothing is sent
 * here: the transport takes the answer when the chain has unwound.
 */
#include "bytes.h"
#include "cell.h"
#include "hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TEXT "text/plain; charset=utf-8"

static struct weir_str str_of(const char *text)
{
        return (struct weir_str){ text, text ? strlen(text) : 0 };
}

static enum weir_outcome outcome_of(int status)
{
        return status < 400 ? WEIR_OK : status < 500 ? WEIR_CLIENT_ERROR : WEIR_SERVER_ERROR;
}

static enum weir_flow bad_status(struct weir_ctx *ctx, int status)
{
        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s: status %d is not 200 to 599", ctx->pattern,
                 status);
        WEIR__CTX_COUNT(ctx, bad_answers);
        return weir__answer_fixed(ctx, WEIR__STATIC_500);
}

/* A type with a control byte could split the answer. */
static enum weir_flow bad_type(struct weir_ctx *ctx)
{
        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s: the type is not a field value", ctx->pattern);
        WEIR__CTX_COUNT(ctx, bad_answers);
        return weir__answer_fixed(ctx, WEIR__STATIC_500);
}

/* Puts a new body in place of the one before. */
static enum weir_flow answer(struct weir_ctx *ctx, int status, struct weir_str type,
                             const struct weir__body *body)
{
        struct weir__cell *cell = weir__cell_of(ctx);
        struct weir__body old = cell->answer.body;

        cell->answer.body = *body;
        cell->answer.type = type;
        weir__body_drop(cell, &old); /* its free_fn may answer too */
        if (!weir__all_value(type.ptr, type.len))
                return bad_type(ctx);
        if (status < 200 || status > 599)
                return bad_status(ctx, status);
        ctx->status = (uint16_t)status;
        ctx->outcome = outcome_of(status);
        return WEIR_DONE;
}

struct weir__pool *weir__ctx_pool(struct weir_ctx *ctx)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        return cell->away ? &cell->loop->app->heap : &cell->loop->pool;
}

void weir__ctx_count(struct weir_ctx *ctx, size_t stat)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        if (cell->away)
                weir__count_shared(&cell->loop->app->elsewhere, stat);
        else
                weir__count_by(&cell->loop->counters, stat, 1);
}

enum weir_flow weir__answer_fixed(struct weir_ctx *ctx, int number)
{
        const struct weir_static *fixed = weir__cell_of(ctx)->loop->app->fixed[number];

        return weir_send_static(ctx, fixed);
}

enum weir_flow weir__answer_oom(struct weir_ctx *ctx)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        if (!(ctx->flags & WEIR__OVERFLOW)) {
                WEIR__CTX_COUNT(ctx, arena_full);
                weir_log(weir_app(ctx), WEIR_LOG_ERROR,
                         "%.*s %s: the answer does not fit: %u of "
                         "%d header fields, %zu bytes left of the arena (see .arena)",
                         WEIR_FMT(ctx->method_name), ctx->pattern, cell->answer.n_fields,
                         WEIR__MAX_FIELDS, (size_t)(ctx->end - ctx->brk));
        }
        ctx->flags |= WEIR__OVERFLOW;
        return weir__answer_fixed(ctx, WEIR__STATIC_500);
}

enum weir_flow weir__answer_buf(struct weir_ctx *ctx, int status, const char *type,
                                struct weir__buf *buf)
{
        struct weir__body body = {
                .kind = WEIR__BYTES,
                .bytes = { buf->ptr, buf->len },
                .buf = *buf,
        };

        *buf = (struct weir__buf){ 0 };
        return answer(ctx, status, str_of(type), &body);
}

/* A body gets half of what is left of the arena: headers are still to come. */
static size_t room_for_body(const struct weir_ctx *ctx)
{
        return (size_t)(ctx->end - ctx->brk) / 2;
}

enum weir_flow weir_bytes(struct weir_ctx *ctx, int status, const char *type, struct weir_str bytes)
{
        struct weir__body body = { .kind = WEIR__BYTES };
        struct weir__buf buf = { 0 };

        if (bytes.len <= room_for_body(ctx)) {
                if (bytes.len)
                        memcpy(ctx->brk, bytes.ptr, bytes.len);
                body.bytes = (struct weir_str){ ctx->brk, bytes.len };
                ctx->brk += bytes.len;
                return answer(ctx, status, str_of(type), &body);
        }
        if (!weir__buf_reserve(weir__ctx_pool(ctx), &buf, bytes.len))
                return weir__answer_oom(ctx);
        memcpy(buf.ptr, bytes.ptr, bytes.len);
        buf.len = bytes.len;
        return weir__answer_buf(ctx, status, type, &buf);
}

enum weir_flow weir_text(struct weir_ctx *ctx, int status, const char *text)
{
        return weir_bytes(ctx, status, TEXT, str_of(text));
}

/* Formats into the rest of the arena when it fits there, else into a buffer. */
static WEIR_PRINTF(4, 0) enum weir_flow
        format(struct weir_ctx *ctx, int status, const char *type, const char *fmt, va_list args)
{
        size_t room = room_for_body(ctx);
        struct weir__body body = { .kind = WEIR__BYTES };
        struct weir__buf buf = { 0 };
        va_list again;
        int len;

        va_copy(again, args);
        len = vsnprintf(ctx->brk, room, fmt, args);
        if (len >= 0 && (size_t)len < room) {
                body.bytes = (struct weir_str){ ctx->brk, (size_t)len };
                ctx->brk += len;
        } else if (len >= 0 && weir__buf_reserve(weir__ctx_pool(ctx), &buf, (size_t)len + 1)) {
                vsnprintf(buf.ptr, buf.cap, fmt, again);
                body.bytes = (struct weir_str){ buf.ptr, (size_t)len };
                body.buf = buf;
        }
        va_end(again);
        if (!body.bytes.ptr)
                return weir__answer_oom(ctx);
        return answer(ctx, status, str_of(type), &body);
}

enum weir_flow weir_textf(struct weir_ctx *ctx, int status, const char *fmt, ...)
{
        enum weir_flow flow;
        va_list args;

        va_start(args, fmt);
        flow = format(ctx, status, TEXT, fmt, args);
        va_end(args);
        return flow;
}

enum weir_flow weir_jsonf(struct weir_ctx *ctx, int status, const char *fmt, ...)
{
        enum weir_flow flow;
        va_list args;

        va_start(args, fmt);
        flow = format(ctx, status, "application/json", fmt, args);
        va_end(args);
        return flow;
}

enum weir_flow weir_send(struct weir_ctx *ctx, int status, const char *type, struct weir_str bytes,
                         void (*free_fn)(void *arg), void *arg)
{
        return answer(
                ctx, status, str_of(type),
                &(struct weir__body){
                        .kind = WEIR__BYTES, .bytes = bytes, .free_fn = free_fn, .arg = arg });
}

enum weir_flow weir_status(struct weir_ctx *ctx, int status)
{
        return answer(ctx, status, (struct weir_str){ 0 }, &(struct weir__body){ 0 });
}

/* Does a regular file end before `end`? Sending would wait for what never comes. */
static bool is_beyond(int fd, uint64_t end)
{
        struct stat st;

        return fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && (uint64_t)st.st_size < end);
}

enum weir_flow weir_file(struct weir_ctx *ctx, int status, const char *type, int fd,
                         uint64_t offset, uint64_t size)
{
        if (fd < 0 || offset > INT64_MAX || size > INT64_MAX - offset ||
            is_beyond(fd, offset + size)) {
                weir_log(weir_app(ctx), WEIR_LOG_ERROR,
                         "%s: weir_file() of descriptor %d, "
                         "offset %llu, size %llu",
                         ctx->pattern, fd, (unsigned long long)offset, (unsigned long long)size);
                WEIR__CTX_COUNT(ctx, bad_answers);
                answer(ctx, 500, (struct weir_str){ 0 },
                       &(struct weir__body){ .kind = WEIR__FD, .fd = fd });
                return weir__answer_fixed(ctx, WEIR__STATIC_500);
        }
        return answer(ctx, status, str_of(type),
                      &(struct weir__body){
                              .kind = WEIR__FD, .fd = fd, .offset = offset, .length = size });
}

enum weir_flow weir_stream(struct weir_ctx *ctx, int status, const char *type, uint64_t length,
                           weir_pull_fn *pull, void (*free_fn)(void *arg), void *arg)
{
        return answer(ctx, status, str_of(type),
                      &(struct weir__body){ .kind = WEIR__PULL,
                                            .length = length,
                                            .pull = pull,
                                            .free_fn = free_fn,
                                            .arg = arg });
}

static WEIR__INLINE enum weir_flow put_static(struct weir__cell *cell,
                                              const struct weir_static *fixed)
{
        cell->answer.body.kind = WEIR__FIXED;
        cell->answer.body.fixed = fixed;
        cell->answer.body.offset = 0;
        cell->answer.type = fixed->type;
        cell->ctx.status = (uint16_t)fixed->status;
        cell->ctx.outcome = outcome_of(fixed->status);
        return WEIR_DONE;
}

static WEIR__APART enum weir_flow replace_by_static(struct weir__cell        *cell,
                                                    const struct weir_static *fixed)
{
        if (!fixed) /* its setup failed, so this app never started */
                return weir__answer_fixed(&cell->ctx, WEIR__STATIC_500);
        while (cell->answer.body.kind != WEIR__EMPTY)
                weir__body_drop(cell, &cell->answer.body);
        return put_static(cell, fixed);
}

/* The hottest answer: no body is copied, and a fixed one has nothing but its offset. */
enum weir_flow weir_send_static(struct weir_ctx *ctx, const struct weir_static *fixed)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        if (!fixed || cell->answer.body.kind != WEIR__EMPTY)
                return replace_by_static(cell, fixed);
        return put_static(cell, fixed);
}

enum weir_flow weir_redirect(struct weir_ctx *ctx, int status, const char *location)
{
        bool known = status == 301 || status == 302 || status == 303 || status == 307 ||
                     status == 308;

        if (!known || !weir_set_header(ctx, "Location", location)) {
                weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s: weir_redirect(): %d %s", ctx->pattern,
                         status, known ? "to what is no field value" : "is no redirect");
                WEIR__CTX_COUNT(ctx, bad_answers);
                return weir__answer_fixed(ctx, WEIR__STATIC_500);
        }
        return weir_status(ctx, status);
}

void weir_close(struct weir_ctx *ctx)
{
        weir__cell_of(ctx)->answer.close = true;
}

/*
 * An overflow wins over what was answered after it. 204 has no body, 205 an empty one (RFC 9110
 * 6.4.1, 15.3.6). That of a 304 is not sent, but its length is that of the 200 (8.6).
 */
void weir__answer_settle(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;

        if (ctx->flags & WEIR__OVERFLOW)
                weir__answer_oom(ctx);
        if (ctx->status != 204 && ctx->status != 205)
                return;
        weir__body_drop(cell, &cell->answer.body);
        cell->answer.type = (struct weir_str){ 0 };
}
