/*
 * json_fault.c - what is wrong with a document, collected into problem details (RFC 9457).
 *
 *      {"type":"about:blank","title":"Unprocessable Content","status":422,"detail":"...",
 *       "errors":[{"pointer":"/items/3/price","detail":"must be at least 0"}]}
 *
 * The text is written as faults come. Pointers are those of RFC 6901.
 */
#include "json_fault.h"

#include "cell.h"
#include "number.h"
#include <stdarg.h>
#include <stdio.h>

void weir__json_faults_init(struct weir__json_faults *faults, struct weir__pool *pool)
{
        *faults = (struct weir__json_faults){ .text = { .pool = pool },
                                              .pointer = { .pool = pool } };
}

/* ---- Pointers. ---- */

static bool put_name(struct weir__json_home *pointer, const char *name, size_t len)
{
        struct weir__buf *buf = &pointer->buf;

        if (!weir__buf_reserve(pointer->pool, buf, 1 + 2 * len))
                return false;
        buf->ptr[buf->len++] = '/';
        for (size_t i = 0; i < len; i++) {
                bool special = name[i] == '~' || name[i] == '/';

                buf->ptr[buf->len++] = special ? '~' : name[i];
                if (special)
                        buf->ptr[buf->len++] = name[i] == '~' ? '0' : '1';
        }
        return true;
}

static bool put_place(struct weir__json_home *pointer, const struct weir__json_place *place)
{
        char index[WEIR__INT_TEXT];

        if (!place->up)
                return true;
        if (!put_place(pointer, place->up))
                return false;
        if (place->name)
                return put_name(pointer, place->name, place->len);
        return put_name(pointer, index, (size_t)(weir__put_uint(index, place->index) - index));
}

/* ---- Faults. ---- */

static void begin(struct weir__json_faults *faults)
{
        struct weir_json_writer *w = &faults->w;

        weir__json_writer_init(w, &faults->text);
        weir_json_object(w);
        weir_json_key(w, "type");
        weir_json_cstr(w, "about:blank");
        weir_json_key(w, "title");
        weir_json_cstr(w, "Unprocessable Content");
        weir_json_key(w, "status");
        weir_json_int(w, 422);
        weir_json_key(w, "detail");
        weir_json_cstr(w, "the body is not what this resource takes: see errors");
        weir_json_key(w, "errors");
        weir_json_array(w);
}

static WEIR_PRINTF(3, 0) void add(struct weir_json_writer *w, struct weir_str pointer,
                                  const char *fmt, va_list args)
{
        char detail[1024];

        vsnprintf(detail, sizeof(detail), fmt, args);
        weir_json_object(w);
        weir_json_key(w, "pointer");
        weir_json_str(w, pointer);
        weir_json_key(w, "detail");
        weir_json_cstr(w, detail);
        weir_json_object_end(w);
}

void weir__json_fault(struct weir__json_faults *faults, const struct weir__json_place *place,
                      const char *fmt, ...)
{
        struct weir__buf *pointer = &faults->pointer.buf;
        va_list args;

        if (faults->n == WEIR__JSON_MAX_FAULTS)
                return;
        if (faults->n++ == 0)
                begin(faults);
        pointer->len = 0;
        if (!weir__buf_reserve(faults->pointer.pool, pointer, 1) ||
            !put_place(&faults->pointer, place)) {
                weir__json_break(&faults->w, WEIR__JSON_MEMORY);
                return;
        }
        va_start(args, fmt);
        add(&faults->w, (struct weir_str){ pointer->ptr, pointer->len }, fmt, args);
        va_end(args);
}

enum weir_flow weir__json_faults_answer(struct weir_ctx *ctx, struct weir__json_faults *faults)
{
        weir_json_array_end(&faults->w);
        weir_json_object_end(&faults->w);
        if (!weir__json_writer_finish(&faults->w))
                return weir__answer_oom(ctx);
        return weir__answer_buf(ctx, 422, "application/problem+json", &faults->text.buf);
}

enum weir_flow weir_json_fault(struct weir_ctx *ctx, const char *pointer, const char *fmt, ...)
{
        struct weir__json_faults faults;
        enum weir_flow flow;
        va_list args;

        weir__json_faults_init(&faults, weir__ctx_pool(ctx));
        begin(&faults);
        va_start(args, fmt);
        add(&faults.w, (struct weir_str){ pointer, strlen(pointer) }, fmt, args);
        va_end(args);
        flow = weir__json_faults_answer(ctx, &faults);
        weir__json_faults_release(&faults);
        return flow;
}

void weir__json_faults_release(struct weir__json_faults *faults)
{
        weir__buf_release(faults->text.pool, &faults->text.buf);
        weir__buf_release(faults->pointer.pool, &faults->pointer.buf);
}
