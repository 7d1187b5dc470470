/*
 * body.c - the body of an answer: bytes, a file, a stream, or a stream around another body.
 *
 * Whoever drops a body frees what it owns: the buffer, the descriptor, and free_fn, once.
 */
#include "cell.h"

#include <errno.h>
#include <unistd.h>

void weir__body_drop(struct weir__cell *cell, struct weir__body *body)
{
        struct weir__body old;

        if (body->kind == WEIR__EMPTY || body->kind == WEIR__FIXED) {
                body->kind = WEIR__EMPTY; /* a fixed body owns nothing */
                return;
        }
        old = *body;
        *body = (struct weir__body){ 0 };
        if (old.free_fn)
                old.free_fn(old.arg);
        if (old.kind == WEIR__FD && old.fd >= 0)
                close(old.fd);
        weir__buf_release(weir__ctx_pool(&cell->ctx), &old.buf);
        if (old.inner)
                weir__body_drop(cell, old.inner);
}

static struct weir_str bytes_of(const struct weir__body *body)
{
        if (body->kind == WEIR__FIXED)
                return body->fixed->body;
        return body->bytes;
}

uint64_t weir__body_length(const struct weir__body *body)
{
        switch (body->kind) {
        case WEIR__EMPTY:
                return 0;
        case WEIR__BYTES:
        case WEIR__FIXED:
                return bytes_of(body).len;
        case WEIR__FD:
        case WEIR__PULL:
                break;
        }
        return body->length;
}

static ssize_t pull_bytes(struct weir__body *body, char *buf, size_t size)
{
        struct weir_str bytes = bytes_of(body);
        size_t left = bytes.len - (size_t)body->offset;

        if (size > left)
                size = left;
        if (size)
                memcpy(buf, bytes.ptr + body->offset, size);
        body->offset += size;
        return (ssize_t)size;
}

static ssize_t pull_file(struct weir__body *body, char *buf, size_t size)
{
        ssize_t n;

        if (size > body->length)
                size = (size_t)body->length;
        if (!size)
                return 0;
        do
                n = pread(body->fd, buf, size, (off_t)body->offset);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                return -1; /* also when the file shrank: its length was promised */
        body->offset += (uint64_t)n;
        body->length -= (uint64_t)n;
        return n;
}

ssize_t weir__body_pull(struct weir__cell *cell, struct weir__body *body, char *buf, size_t size)
{
        const struct weir__body *outer = cell->answer.pulling;
        ssize_t n = 0;

        switch (body->kind) {
        case WEIR__EMPTY:
                return 0;
        case WEIR__BYTES:
        case WEIR__FIXED:
                return pull_bytes(body, buf, size);
        case WEIR__FD:
                return pull_file(body, buf, size);
        case WEIR__PULL:
                cell->answer.pulling = body;
                n = body->pull(body->arg, buf, size);
                cell->answer.pulling = outer;
                break;
        }
        return n > (ssize_t)size ? -1 : n;
}

ssize_t weir_pull_inner(struct weir_ctx *ctx, char *buf, size_t size)
{
        struct weir__cell *cell = weir__cell_of(ctx);

        if (!cell->answer.pulling || !cell->answer.pulling->inner)
                return -1;
        return weir__body_pull(cell, cell->answer.pulling->inner, buf, size);
}

bool weir_wrap_body(struct weir_ctx *ctx, uint64_t length, weir_pull_fn *pull,
                    void (*free_fn)(void *arg), void *arg)
{
        struct weir__body *body = &weir__cell_of(ctx)->answer.body;
        struct weir__body *inner;

        if (body->kind == WEIR__EMPTY)
                return false;
        inner = weir_alloc(ctx, sizeof(*inner));
        if (!inner) {
                weir__answer_oom(ctx);
                return false;
        }
        *inner = *body;
        *body = (struct weir__body){ .kind = WEIR__PULL,
                                     .length = length,
                                     .pull = pull,
                                     .free_fn = free_fn,
                                     .arg = arg,
                                     .inner = inner };
        return true;
}

void weir_replace_body(struct weir_ctx *ctx, struct weir_str bytes, void (*free_fn)(void *arg),
                       void *arg)
{
        struct weir__cell *cell = weir__cell_of(ctx);
        struct weir__body old = cell->answer.body;

        cell->answer.body = (struct weir__body){
                .kind = WEIR__BYTES, .bytes = bytes, .free_fn = free_fn, .arg = arg
        };
        weir__body_drop(cell, &old);
}

struct weir_str weir_answer_body(const struct weir_ctx *ctx)
{
        const struct weir__body *body = &weir__cell_of(ctx)->answer.body;

        if (body->kind != WEIR__BYTES && body->kind != WEIR__FIXED)
                return (struct weir_str){ 0 };
        return bytes_of(body);
}

uint64_t weir_answer_length(const struct weir_ctx *ctx)
{
        return weir__body_length(&weir__cell_of(ctx)->answer.body);
}
