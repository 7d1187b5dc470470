/*
 * json_bind.c - a JSON body into a struct, by a table.
 *
 * One function per type checks a value and stores it; `kinds` lists them, and a new type is a line
 * there and its function. All faults are collected; what is stored when there is one is not used.
 * Strings are views of the document, arrays lie in blocks of the loop's pool; both live until the
 * request is over. So a client takes nothing from the arena, whatever it sends.
 */
#include "json_fault.h"

#include "cell.h"
#include "number.h"
#include <math.h>
#include <stdio.h>

/* What a bound struct points into. */
struct store {
        struct weir__pool *pool;
        json_t            *document;
        struct weir__buf   block; /* the newest; its first bytes hold the one before */
};

struct bind {
        struct weir__json_faults faults;
        struct store            *store;
        const char              *mistake;   /* in the table */
        bool                     no_memory;
};

/* A value, by which field to check it, and where to store it. */
struct spot {
        const struct weir_json_field  *field;
        json_t                        *value;
        void                          *to;
        const struct weir__json_place *place;
};

typedef void take_fn(struct bind *bind, const struct spot *spot);

static take_fn take_str, take_int, take_num, take_bool, take_object, take_array, take_any;

static const struct kind {
        const char *what;
        size_t      size; /* of the C type; 0: the table says */
        take_fn    *take;
} kinds[] = {
        [WEIR_JSON_STR] = { "a string", sizeof(struct weir_str), take_str },
        [WEIR_JSON_INT] = { "an integer", sizeof(int64_t), take_int },
        [WEIR_JSON_NUM] = { "a number", sizeof(double), take_num },
        [WEIR_JSON_BOOL] = { "true or false", sizeof(bool), take_bool },
        [WEIR_JSON_OBJECT] = { "an object", 0, take_object },
        [WEIR_JSON_ARRAY] = { "an array", sizeof(struct weir_json_items), take_array },
        [WEIR_JSON_ANY] = { "a value", sizeof(json_t *), take_any },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Is there nothing more to look for? */
static bool is_over(const struct bind *bind)
{
        return bind->mistake || bind->no_memory || bind->faults.n == WEIR__JSON_MAX_FAULTS;
}

/* ---- The store. ---- */

#define BLOCK_HEAD 32 /* room for a struct weir__buf, and keeps what follows aligned to 16 */
_Static_assert(sizeof(struct weir__buf) <= BLOCK_HEAD, "a block holds the one before");

static void free_store(void *arg)
{
        struct store *store = arg;

        while (store->block.ptr) {
                struct weir__buf before;

                memcpy(&before, store->block.ptr, sizeof(before));
                weir__buf_release(store->pool, &store->block);
                store->block = before;
        }
        json_decref(store->document);
}

/* Zeroed memory until the request is over, or NULL. */
static void *take_memory(struct store *store, size_t size)
{
        struct weir__buf fresh = { 0 };
        char *at;

        size = (size + 15) & ~(size_t)15;
        if (size > store->block.cap - store->block.len) {
                size_t least = store->block.cap; /* a block as large as all before: few of them */

                if (!weir__buf_reserve(store->pool, &fresh,
                                       BLOCK_HEAD + (size > least ? size : least)))
                        return NULL;
                memcpy(fresh.ptr, &store->block, sizeof(store->block));
                fresh.len = BLOCK_HEAD;
                store->block = fresh;
        }
        at = store->block.ptr + store->block.len;
        store->block.len += size;
        return memset(at, 0, size);
}

/* ---- Limits. ---- */

/* "3", "0.5": without the ".0" of whole numbers. */
static void print_limit(char *out, double limit)
{
        char *end = isfinite(limit) ? weir__put_double(out, limit) : out;

        *end = 0;
        if (end - out > 2 && strcmp(end - 2, ".0") == 0)
                end[-2] = 0;
}

/* `n` counts `unit`s, or is the value itself when that is NULL. */
static bool is_within(struct bind *bind, const struct spot *spot, double n, const char *unit)
{
        const double min = spot->field->min, max = spot->field->max;
        bool too_small = n < min, too_large = max >= min && n > max;
        char limit[WEIR__DOUBLE_TEXT + 1];

        if ((min == 0 && max == 0) || !(too_small || too_large))
                return true;
        print_limit(limit, too_small ? min : max);
        weir__json_fault(&bind->faults, spot->place, "must %s at %s %s%s%s%s", unit ? "have" : "be",
                         too_small ? "least" : "most", limit, unit ? " " : "", unit ? unit : "",
                         unit && strcmp(limit, "1") != 0 ? "s" : "");
        return false;
}

/* ---- Plain types. ---- */

static void wrong_type(struct bind *bind, const struct spot *spot)
{
        weir__json_fault(&bind->faults, spot->place, "must be %s", kinds[spot->field->type].what);
}

static void take_str(struct bind *bind, const struct spot *spot)
{
        struct weir_str text = { json_string_value(spot->value), json_string_length(spot->value) };

        if (!json_is_string(spot->value))
                wrong_type(bind, spot);
        else if (is_within(bind, spot, (double)text.len, "byte"))
                *(struct weir_str *)spot->to = text;
}

/* 5.0 and 5e0 are integers as well, as far as a double is exact. */
static bool is_int(const json_t *value, int64_t *n)
{
        const double exact = 9007199254740992.0;
        double real = json_real_value(value);

        if (json_is_integer(value)) {
                *n = json_integer_value(value);
                return true;
        }
        if (!json_is_real(value) || fabs(real) > exact)
                return false;
        *n = (int64_t)real;
        return (double)*n == real;
}

static void take_int(struct bind *bind, const struct spot *spot)
{
        int64_t n;

        if (!is_int(spot->value, &n))
                wrong_type(bind, spot);
        else if (is_within(bind, spot, (double)n, NULL))
                *(int64_t *)spot->to = n;
}

static void take_num(struct bind *bind, const struct spot *spot)
{
        double n = json_number_value(spot->value);

        if (!json_is_number(spot->value))
                wrong_type(bind, spot);
        else if (is_within(bind, spot, n, NULL))
                *(double *)spot->to = n;
}

static void take_bool(struct bind *bind, const struct spot *spot)
{
        if (!json_is_boolean(spot->value))
                wrong_type(bind, spot);
        else
                *(bool *)spot->to = json_is_true(spot->value);
}

static void take_any(struct bind *bind, const struct spot *spot)
{
        (void)bind;
        *(json_t **)spot->to = spot->value;
}

/* ---- Arrays. ---- */

/* What the elements of an array are, as a field. False: the table is wrong. */
static bool element_of(const struct weir_json_field *array, struct weir_json_field *element)
{
        bool plain = array->item > WEIR_JSON_END && array->item < KINDS &&
                     array->item != WEIR_JSON_OBJECT && array->item != WEIR_JSON_ARRAY;

        *element = (struct weir_json_field){ .type = plain ? array->item : WEIR_JSON_OBJECT,
                                             .min = array->item_min,
                                             .max = array->item_max,
                                             .fields = array->fields,
                                             .size = array->size };
        if (array->fields)
                return array->item == WEIR_JSON_END && array->size;
        if (!plain || (array->size && array->size != kinds[array->item].size))
                return false;
        element->size = kinds[array->item].size;
        return true;
}

static void take_elements(struct bind *bind, const struct weir_json_field *element,
                          const struct spot *array, char *to)
{
        struct weir__json_place place = { .up = array->place };

        for (; place.index < json_array_size(array->value) && !is_over(bind); place.index++) {
                struct spot spot = { element, json_array_get(array->value, place.index), to,
                                     &place };

                kinds[element->type].take(bind, &spot);
                to += element->size;
        }
}

static void take_array(struct bind *bind, const struct spot *spot)
{
        struct weir_json_items *items = spot->to;
        struct weir_json_field element;
        size_t n = json_array_size(spot->value), size;

        if (!json_is_array(spot->value)) {
                wrong_type(bind, spot);
                return;
        }
        *items = (struct weir_json_items){ NULL, 0 };
        if (!is_within(bind, spot, (double)n, "element") || n == 0 ||
            !element_of(spot->field, &element))
                return;
        if (!__builtin_mul_overflow(n, element.size, &size))
                items->items = take_memory(bind->store, size);
        if (!items->items) {
                bind->no_memory = true;
                return;
        }
        items->n = n;
        take_elements(bind, &element, spot, items->items);
}

/* ---- Objects. ---- */

/* Why `field` is not one, or NULL. */
static const char *mistake_in(const struct weir_json_field *field)
{
        struct weir_json_field element;

        if (!field->name)
                return "a field without a name";
        if (field->type >= KINDS)
                return "an unknown type";
        if (field->type == WEIR_JSON_OBJECT && !field->fields)
                return "an object without fields";
        if (field->type == WEIR_JSON_ARRAY && !element_of(field, &element))
                return "an array needs fields and size, or an item type that is plain";
        return NULL;
}

/* Takes one member of an object. Was it there? */
static bool take_field(struct bind *bind, const struct weir_json_field *field,
                       const struct spot *object)
{
        struct weir__json_place place = { object->place, field->name, strlen(field->name), 0 };
        json_t *value = json_object_get(object->value, field->name);
        char *to = object->to;
        struct spot spot = { field, value, to + field->offset, &place };

        if (!value || (json_is_null(value) && field->type != WEIR_JSON_ANY)) {
                if (field->required)
                        weir__json_fault(&bind->faults, &place,
                                         value ? "must not be null" : "is required");
                return value;
        }
        if (field->present)
                *(bool *)(to + field->present) = true;
        kinds[field->type].take(bind, &spot);
        return true;
}

static bool is_known(const struct weir_json_field *field, const char *name, size_t len)
{
        for (; field->type != WEIR_JSON_END; field++) {
                if (strlen(field->name) == len && memcmp(field->name, name, len) == 0)
                        return true;
        }
        return false;
}

static void find_unknown(struct bind *bind, const struct spot *object)
{
        for (void *it = json_object_iter(object->value); it && !is_over(bind);
             it = json_object_iter_next(object->value, it)) {
                struct weir__json_place place = { object->place, json_object_iter_key(it),
                                                  json_object_iter_key_len(it), 0 };

                if (!is_known(object->field->fields, place.name, place.len))
                        weir__json_fault(&bind->faults, &place, "is unknown");
        }
}

static void take_object(struct bind *bind, const struct spot *spot)
{
        size_t n_known = 0;

        if (!json_is_object(spot->value)) {
                wrong_type(bind, spot);
                return;
        }
        for (const struct weir_json_field *field = spot->field->fields;
             field->type != WEIR_JSON_END && !is_over(bind); field++) {
                bind->mistake = mistake_in(field);
                if (!bind->mistake)
                        n_known += take_field(bind, field, spot);
        }
        if (n_known < json_object_size(spot->value))
                find_unknown(bind, spot);
}

/* ---- The whole. ---- */

static enum weir_flow answer(struct weir_ctx *ctx, struct bind *bind)
{
        if (bind->mistake) {
                weir_log(weir_app(ctx), WEIR_LOG_ERROR, "%s: weir_json_bind: %s", ctx->pattern,
                         bind->mistake);
                WEIR__CTX_COUNT(ctx, bad_answers);
                return weir_fail(ctx, 500, NULL);
        }
        return bind->no_memory ? weir__answer_oom(ctx)
                               : weir__json_faults_answer(ctx, &bind->faults);
}

enum weir_flow weir_json_bind(struct weir_ctx *ctx, const struct weir_json_field *fields, void *out)
{
        struct weir_json_field root = { "", WEIR_JSON_OBJECT, .fields = fields };
        struct weir__json_place nowhere = { 0 };
        struct store *store = weir_alloc(ctx, sizeof(*store));
        struct bind bind = { .store = store };
        enum weir_flow flow = WEIR_NEXT;

        if (!store)
                return weir__answer_oom(ctx);
        *store = (struct store){ .pool = weir__ctx_pool(ctx) };
        if (!weir_defer(ctx, free_store, store))
                return weir__answer_oom(ctx);
        store->document = weir_json_body(ctx);
        if (!store->document)
                return WEIR_DONE;
        weir__json_faults_init(&bind.faults, store->pool);
        bind.mistake = mistake_in(&root);
        if (!bind.mistake)
                take_object(&bind, &(struct spot){ &root, store->document, out, &nowhere });
        if (bind.mistake || bind.no_memory || bind.faults.n)
                flow = answer(ctx, &bind);
        weir__json_faults_release(&bind.faults);
        return flow;
}
