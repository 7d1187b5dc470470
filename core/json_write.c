/*
 * json_write.c - JSON straight into the answer.
 *
 * A value writes a comma behind itself, which the end of its object or array overwrites: so no call
 * asks whether it is the first. `now` is what may come next, `then` what may come after the value
 * that is due; one comparison per call finds every mistake of order.
 */
#include "json_text.h"

#include "cell.h"
#include "number.h"

#include <math.h>

#define MAX_DEPTH 64

static const char *const faults[] = {
        [WEIR__JSON_NO_KEY] = "a value in an object needs weir_json_key() before it",
        [WEIR__JSON_NO_VALUE] = "a key stands where a value is due",
        [WEIR__JSON_WRONG_END] = "this end does not match what was begun, or a key has no value",
        [WEIR__JSON_UNFINISHED] = "the text ends before all is closed",
        [WEIR__JSON_FINISHED] = "the text was whole before",
        [WEIR__JSON_NESTING] = "more than 64 levels",
        [WEIR__JSON_NO_DOCUMENT] = "the document is NULL",
        [WEIR__JSON_CYCLE] = "the document contains itself, or has more than 2048 levels",
        [WEIR__JSON_NOT_UTF8] = "the document has a string that is not UTF-8",
};

void weir__json_break(struct weir_json_writer *w, enum weir__json_fault fault)
{
        if (w->now == WEIR__JSON_BROKEN)
                return;
        w->now = WEIR__JSON_BROKEN;
        w->fault = fault;
        if (w->ctx && faults[fault])
                weir_log(weir_app(w->ctx), WEIR_LOG_ERROR, "%s: JSON answer: %s", w->ctx->pattern,
                         faults[fault]);
}

enum weir_flow weir__json_answer_fault(struct weir_json_writer *w)
{
        if (w->fault == WEIR__JSON_MEMORY)
                return weir__answer_oom(w->ctx);
        WEIR__CTX_COUNT(w->ctx, bad_answers);
        return weir_fail(w->ctx, 500, NULL);
}

/* ---- Begin and end. ---- */

void weir__json_writer_init(struct weir_json_writer *w, struct weir__json_home *home)
{
        *w = (struct weir_json_writer){ .home = home,
                                        .now = WEIR__JSON_VALUE,
                                        .then = WEIR__JSON_DONE };
        weir__json_grow(w, NULL, WEIR__JSON_ROOM);
}

static void release(void *arg)
{
        struct weir__json_home *home = arg;

        weir__buf_release(home->pool, &home->buf);
}

/* The buffer belongs to the request, so a handler may drop its writer without a word. */
struct weir_json_writer weir_json_begin(struct weir_ctx *ctx)
{
        struct weir_json_writer w = { .ctx = ctx, .fault = WEIR__JSON_MEMORY };
        struct weir__json_home *home = weir_alloc(ctx, sizeof(*home));

        if (!home)
                return w;
        *home = (struct weir__json_home){ .pool = weir__ctx_pool(ctx) };
        if (weir_defer(ctx, release, home))
                weir__json_writer_init(&w, home);
        w.ctx = ctx;
        return w;
}

bool weir__json_writer_finish(struct weir_json_writer *w)
{
        if (w->now != WEIR__JSON_DONE) {
                weir__json_break(w, WEIR__JSON_UNFINISHED);
                return false;
        }
        w->home->buf.len = (size_t)(w->at - 1 - w->home->buf.ptr);
        w->now = WEIR__JSON_BROKEN;
        w->fault = WEIR__JSON_FINISHED;
        return true;
}

enum weir_flow weir_json_end(struct weir_json_writer *w, int status)
{
        if (!weir__json_writer_finish(w))
                return weir__json_answer_fault(w);
        return weir__answer_buf(w->ctx, status, "application/json", &w->home->buf);
}

/*
 * ---- Values. ----
 *
 * Each looks whether it may begin at once. If not, it makes ready and begins again, or gives up:
 * that way the usual case calls nothing.
 */

static inline bool is_ready(const struct weir_json_writer *w)
{
        return w->now == WEIR__JSON_VALUE && w->end - w->at >= WEIR__JSON_ROOM;
}

/* Makes room, unless no value may come. */
static __attribute__((cold)) bool make_ready(struct weir_json_writer *w)
{
        if (w->now == WEIR__JSON_VALUE)
                return weir__json_grow(w, w->at, WEIR__JSON_ROOM);
        weir__json_break(w, w->now == WEIR__JSON_KEY ? WEIR__JSON_NO_KEY : WEIR__JSON_FINISHED);
        return false;
}

static inline void value_ends(struct weir_json_writer *w, char *at)
{
        *at++ = ',';
        w->at = at;
        w->now = w->then;
}

static __attribute__((noinline)) void quote_any(struct weir_json_writer *w, struct weir_str value)
{
        char *at = weir__json_quote_any(w, w->at, value.ptr, value.len, false);

        if (at)
                value_ends(w, at);
}

void weir_json_str(struct weir_json_writer *w, struct weir_str value)
{
        char *at;

        if (!value.ptr) {
                weir_json_null(w);
                return;
        }
        if (!is_ready(w)) {
                if (make_ready(w))
                        weir_json_str(w, value);
                return;
        }
        at = weir__json_quote_plain(w->at, value.ptr, value.len);
        if (at)
                value_ends(w, at);
        else
                quote_any(w, value);
}

static __attribute__((noinline)) void put_large(struct weir_json_writer *w, int64_t value)
{
        value_ends(w, weir__put_int(w->at, value));
}

void weir_json_int(struct weir_json_writer *w, int64_t value)
{
        if (!is_ready(w)) {
                if (make_ready(w))
                        weir_json_int(w, value);
        } else if (value >= 0 && value < 10000) {
                value_ends(w, weir__put_small(w->at, (unsigned)value));
        } else {
                put_large(w, value);
        }
}

void weir_json_num(struct weir_json_writer *w, double value)
{
        if (!isfinite(value))
                weir_json_null(w);
        else if (is_ready(w) || make_ready(w))
                value_ends(w, weir__put_double(w->at, value));
}

static inline __attribute__((always_inline)) void word(struct weir_json_writer *w, const char *text,
                                                       size_t len)
{
        char *at = w->at;

        memcpy(at, text, len);
        value_ends(w, at + len);
}

void weir_json_bool(struct weir_json_writer *w, bool value)
{
        if (!is_ready(w)) {
                if (make_ready(w))
                        weir_json_bool(w, value);
        } else if (value) {
                word(w, "true", 4);
        } else {
                word(w, "false", 5);
        }
}

void weir_json_null(struct weir_json_writer *w)
{
        if (is_ready(w))
                word(w, "null", 4);
        else if (make_ready(w))
                weir_json_null(w);
}

void weir_json_value(struct weir_json_writer *w, const json_t *value)
{
        char *at;

        if (!is_ready(w) && !make_ready(w))
                return;
        at = weir__json_dump(w, w->at, value);
        if (at)
                value_ends(w, at);
}

/* ---- Objects and arrays. ---- */

static inline void begin(struct weir_json_writer *w, char bracket, bool is_object)
{
        if (w->depth == MAX_DEPTH) {
                weir__json_break(w, WEIR__JSON_NESTING);
                return;
        }
        *w->at++ = bracket;
        w->depth++;
        w->nesting = w->nesting << 1 | is_object;
        w->now = w->then = is_object ? WEIR__JSON_KEY : WEIR__JSON_VALUE;
}

void weir_json_object(struct weir_json_writer *w)
{
        if (is_ready(w))
                begin(w, '{', true);
        else if (make_ready(w))
                weir_json_object(w);
}

void weir_json_array(struct weir_json_writer *w)
{
        if (is_ready(w))
                begin(w, '[', false);
        else if (make_ready(w))
                weir_json_array(w);
}

/* `then` tells what the innermost open thing is, `now` whether it may end here. */
static inline void end(struct weir_json_writer *w, char bracket, enum weir__json_state inside)
{
        char *at = w->at;

        if (w->then != inside || w->now != inside) {
                weir__json_break(w, WEIR__JSON_WRONG_END);
                return;
        }
        if (w->end - at < 2) {
                at = weir__json_grow(w, at, WEIR__JSON_ROOM);
                if (!at)
                        return;
        }
        at -= at[-1] == ',';
        *at++ = bracket;
        w->nesting >>= 1;
        w->depth--;
        w->then = !w->depth ? WEIR__JSON_DONE : w->nesting & 1 ? WEIR__JSON_KEY : WEIR__JSON_VALUE;
        value_ends(w, at);
}

void weir_json_object_end(struct weir_json_writer *w)
{
        end(w, '}', WEIR__JSON_KEY);
}

void weir_json_array_end(struct weir_json_writer *w)
{
        end(w, ']', WEIR__JSON_VALUE);
}

static inline void key_ends(struct weir_json_writer *w, char *at)
{
        *at++ = ':';
        w->at = at;
        w->now = WEIR__JSON_VALUE;
}

/* A key that is long or has special bytes, or no room, or comes where none may. */
static __attribute__((noinline)) void any_key(struct weir_json_writer *w, const char *name,
                                              size_t len)
{
        char *at;

        if (w->now != WEIR__JSON_KEY) {
                weir__json_break(w, w->now == WEIR__JSON_DONE ? WEIR__JSON_FINISHED
                                                              : WEIR__JSON_NO_VALUE);
                return;
        }
        at = weir__json_quote_any(w, w->at, name, len, false);
        if (at)
                key_ends(w, at);
}

void weir_json_keyn(struct weir_json_writer *w, const char *name, size_t len)
{
        char *at = NULL;

        if (w->now == WEIR__JSON_KEY && w->end - w->at >= WEIR__JSON_ROOM)
                at = weir__json_quote_plain(w->at, name, len);
        if (at)
                key_ends(w, at);
        else
                any_key(w, name, len);
}
