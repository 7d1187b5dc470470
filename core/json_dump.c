/*
 * json_dump.c - a Jansson document as compact text, the same bytes that json_dumpb() gives.
 *
 * Jansson spends its time on a hash table of open containers, and on snprintf() for each number.
 * Here a cycle is found by the depth limit that Jansson's own parser has, mostly much earlier: an
 * ancestor at a depth that is a power of two is remembered and met again (Brent).
 */
#include "json_text.h"

#include "cell.h"
#include "number.h"

/* The way down to a value. */
struct way {
        unsigned      depth;
        const json_t *ancestor;
};

static char *dump(struct weir_json_writer *w, char *at, json_t *value, struct way way);

/*
 * Before 2.14.1 Jansson writes 17 digits, later mostly as few as read the same double. Up to 15
 * digits that is the same text; else a later Jansson is asked.
 */
static char *dump_real(char *at, const json_t *value)
{
        unsigned n_digits;
        char *end = weir__put_double17(at, json_real_value(value), &n_digits);

        if (n_digits <= 15 || jansson_version_cmp(2, 14, 1) < 0)
                return end;
        return at + json_dumpb(value, at, WEIR__JSON_SHORT, JSON_COMPACT | JSON_ENCODE_ANY);
}

static inline char *dump_string(struct weir_json_writer *w, char *at, const char *text, size_t len)
{
        char *end = weir__json_quote_plain(at, text, len);

        return end ? end : weir__json_quote_any(w, at, text, len, true);
}

static char *dump_array(struct weir_json_writer *w, char *at, const json_t *array, struct way way)
{
        size_t n = json_array_size(array);

        *at++ = '[';
        for (size_t i = 0; i < n; i++) {
                at = dump(w, at, json_array_get(array, i), way);
                if (!at)
                        return NULL;
                *at++ = ',';
        }
        at -= n != 0;
        *at++ = ']';
        return at;
}

static char *dump_object(struct weir_json_writer *w, char *at, json_t *object, struct way way)
{
        void *it = json_object_iter(object);

        *at++ = '{';
        at += it == NULL;
        for (; it; it = json_object_iter_next(object, it)) {
                at = weir__json_room(w, at, WEIR__JSON_ROOM);
                if (at)
                        at = dump_string(w, at, json_object_iter_key(it),
                                         json_object_iter_key_len(it));
                if (!at)
                        return NULL;
                *at++ = ':';
                at = dump(w, at, json_object_iter_value(it), way);
                if (!at)
                        return NULL;
                *at++ = ',';
        }
        at[-1] = '}';
        return at;
}

static char *dump_container(struct weir_json_writer *w, char *at, json_t *value, struct way way)
{
        if (value == way.ancestor || way.depth >= JSON_PARSER_MAX_DEPTH) {
                weir__json_break(w, WEIR__JSON_CYCLE);
                return NULL;
        }
        if ((way.depth & (way.depth - 1)) == 0)
                way.ancestor = value;
        way.depth++;
        at = json_is_object(value) ? dump_object(w, at, value, way) : dump_array(w, at, value, way);
        return at ? weir__json_room(w, at, WEIR__JSON_ROOM) : NULL;
}

static char *word(char *at, const char *text, size_t len)
{
        memcpy(at, text, len);
        return at + len;
}

/* Leaves room for two bytes behind the value: its comma becomes a bracket, with a comma behind. */
static char *dump(struct weir_json_writer *w, char *at, json_t *value, struct way way)
{
        at = weir__json_room(w, at, WEIR__JSON_ROOM);
        if (!at)
                return NULL;
        switch (json_typeof(value)) {
        case JSON_OBJECT:
        case JSON_ARRAY:
                return dump_container(w, at, value, way);
        case JSON_STRING:
                return dump_string(w, at, json_string_value(value), json_string_length(value));
        case JSON_INTEGER:
                return weir__put_int(at, json_integer_value(value));
        case JSON_REAL:
                return dump_real(at, value);
        case JSON_TRUE:
                return word(at, "true", 4);
        case JSON_FALSE:
                return word(at, "false", 5);
        default:
                return word(at, "null", 4);
        }
}

char *weir__json_dump(struct weir_json_writer *w, char *at, const json_t *value)
{
        if (!value) {
                weir__json_break(w, WEIR__JSON_NO_DOCUMENT);
                return NULL;
        }
        /* Jansson's iterators take an object that is not const. */
        return dump(w, at, (json_t *)(uintptr_t)value, (struct way){ 0 });
}

enum weir_flow weir_json(struct weir_ctx *ctx, int status, const json_t *body)
{
        struct weir__json_home home = { .pool = weir__ctx_pool(ctx) };
        struct weir_json_writer w;

        weir__json_writer_init(&w, &home);
        w.ctx = ctx;
        weir_json_value(&w, body);
        if (weir__json_writer_finish(&w))
                return weir__answer_buf(ctx, status, "application/json", &home.buf);
        weir__buf_release(home.pool, &home.buf);
        return weir__json_answer_fault(&w);
}

enum weir_flow weir_json_new(struct weir_ctx *ctx, int status, json_t *body)
{
        enum weir_flow flow = weir_json(ctx, status, body);

        json_decref(body);
        return flow;
}
