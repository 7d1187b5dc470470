/*
 * fuzz_json_bind.c - any body bound by a table with every type.
 *
 * What is bound keeps the limits of the table; what is refused is refused at places that are there.
 */
#include "fuzz_kit.h"

#include <weir/json.h>

struct node {
        struct weir_str        s;
        int64_t                i;
        double                 n;
        bool                   b, has_b;
        struct weir_json_items list, strings, numbers;
        json_t                *any;
};

static const struct weir_json_field fields[] = {
        { "s", WEIR_JSON_STR, offsetof(struct node, s), .required = true, .min = 1, .max = 8 },
        { "i", WEIR_JSON_INT, offsetof(struct node, i), .min = -5, .max = 5 },
        { "n", WEIR_JSON_NUM, offsetof(struct node, n), .min = 0.5 },
        { "b", WEIR_JSON_BOOL, offsetof(struct node, b), .present = offsetof(struct node, has_b) },
        { "l", WEIR_JSON_ARRAY, offsetof(struct node, list), .fields = fields,
          .size = sizeof(struct node), .max = 4 },
        { "t", WEIR_JSON_ARRAY, offsetof(struct node, strings), .item = WEIR_JSON_STR,
          .item_min = 1 },
        { "f", WEIR_JSON_ARRAY, offsetof(struct node, numbers), .item = WEIR_JSON_NUM,
          .item_max = 9 },
        { "a", WEIR_JSON_ANY, offsetof(struct node, any), .required = false },
        { 0 },
};

static void check_node(const struct node *node, bool is_element)
{
        const struct weir_str *strings = node->strings.items;
        const double *numbers = node->numbers.items;
        const struct node *list = node->list.items;

        require(node->s.len >= 1 && node->s.len <= 8);
        require(node->i >= -5 && node->i <= 5);
        require(node->n >= 0.5 || (is_element && node->n == 0));
        require(!node->b || node->has_b);
        require(node->list.n <= 4);
        for (size_t i = 0; i < node->list.n; i++)
                check_node(&list[i], true);
        for (size_t i = 0; i < node->strings.n; i++)
                require(strings[i].len >= 1);
        for (size_t i = 0; i < node->numbers.n; i++)
                require(numbers[i] >= 0 && numbers[i] <= 9);
        require(!node->any || json_typeof(node->any) <= JSON_NULL);
}

static enum weir_flow bind(struct weir_ctx *ctx, void *self)
{
        struct node node = { .n = 1 };
        enum weir_flow flow = weir_json_bind(ctx, fields, &node);

        (void)self;
        if (flow == WEIR_NEXT)
                check_node(&node, false);
        return flow == WEIR_NEXT ? weir_status(ctx, 204) : flow;
}

/* One token of a pointer, unescaped (RFC 6901 4); moves on. */
static char *token(const char **at, char *out)
{
        char *start = out;

        for (++*at; **at && **at != '/'; ++*at) {
                *out = **at;
                if (**at == '~')
                        *out = *++*at == '0' ? '~' : '/';
                out++;
        }
        *out = 0;
        return start;
}

/* Is there a value at `pointer`? One that is missed is not, but what should hold it is. */
static void check_pointer(const json_t *document, const char *pointer)
{
        char *text = malloc(strlen(pointer) + 1);

        while (*pointer) {
                require(*pointer == '/' && document);
                token(&pointer, text);
                document = json_is_array(document)
                                   ? json_array_get(document, strtoul(text, NULL, 10))
                                   : json_object_get(document, text);
                require(document || !*pointer);
        }
        free(text);
}

static void check_problem(const struct weir_reply *reply, struct weir_str body)
{
        json_t *problem = json_loadb(reply->body.ptr, reply->body.len, 0, NULL), *error;
        json_t *document = json_loadb(body.ptr, body.len, JSON_DECODE_ANY, NULL);
        const json_t *errors = json_object_get(problem, "errors");
        size_t i;

        require(problem && document);
        require(json_array_size(errors) >= 1 && json_array_size(errors) <= 32);
        json_array_foreach(errors, i, error)
                check_pointer(document, json_string_value(json_object_get(error, "pointer")));
        json_decref(document);
        json_decref(problem);
}

static struct weir *make_app(void)
{
        struct weir *app = weir_new(NULL);

        weir_post(app, "/", bind, NULL);
        return app;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct weir *app;
        struct weir_reply *reply;

        if (!app)
                app = make_app();
        reply = post(app, "application/json", data, size);
        require(reply->status == 204 || reply->status == 400 || reply->status == 422);
        if (reply->status == 422)
                check_problem(reply, (struct weir_str){ (const char *)data, size });
        weir_reply_free(reply);
        return 0;
}
