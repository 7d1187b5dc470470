/* test_json_bind.c - claims about JSON bodies bound to structs by a table. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/json.h>
#include <weir/test.h>

struct item {
        struct weir_str name;
        double          price;
        bool            has_price;
};

struct order {
        struct weir_str        title;
        int64_t                count;
        double                 ratio;
        bool                   urgent, has_count;
        struct weir_json_items tags, items, numbers;
        json_t                *extra;
        struct {
                int64_t x, y;
        } at;
};

static const struct weir_json_field point_fields[] = {
        { "x", WEIR_JSON_INT, .required = true },
        { "y", WEIR_JSON_INT, offsetof(struct order, at.y) - offsetof(struct order, at.x),
 .required = true },
        { 0 },
};

static const struct weir_json_field item_fields[] = {
        { "name", WEIR_JSON_STR, offsetof(struct item, name), .required = true, .min = 1 },
        { "price", WEIR_JSON_NUM, offsetof(struct item, price), .max = 99.5,
          .present = offsetof(struct item, has_price) },
        { 0 },
};

static const struct weir_json_field order_fields[] = {
        { "title", WEIR_JSON_STR, offsetof(struct order, title), .required = true, .min = 2,
          .max = 5 },
        { "count", WEIR_JSON_INT, offsetof(struct order, count), .min = 1,
          .present = offsetof(struct order, has_count) },
        { "ratio", WEIR_JSON_NUM, offsetof(struct order, ratio), .min = -1, .max = 0 },
        { "urgent", WEIR_JSON_BOOL, offsetof(struct order, urgent), .required = false },
        { "tags", WEIR_JSON_ARRAY, offsetof(struct order, tags), .item = WEIR_JSON_STR, .max = 3,
          .item_max = 4 },
        { "items", WEIR_JSON_ARRAY, offsetof(struct order, items), .fields = item_fields,
          .size = sizeof(struct item) },
        { "numbers", WEIR_JSON_ARRAY, offsetof(struct order, numbers), .item = WEIR_JSON_INT },
        { "extra", WEIR_JSON_ANY, offsetof(struct order, extra), .required = false },
        { "at", WEIR_JSON_OBJECT, offsetof(struct order, at), .fields = point_fields },
        { 0 },
};

/* A handler gets this: the table, what to do with what was bound, and how often it was called. */
struct probe {
        const struct weir_json_field *fields;
        void                        (*look)(const struct order *order);
        int                           calls;
        size_t                        left; /* leave so much of the arena; 0: all */
};

static enum weir_flow take_order(struct weir_ctx *ctx, void *self)
{
        struct probe *probe = self;
        struct order order = { .count = 77, .ratio = -0.5 };
        enum weir_flow flow;

        if (probe->left)
                ctx->brk = ctx->end - probe->left;
        flow = weir_json_bind(ctx, probe->fields, &order);
        if (flow != WEIR_NEXT)
                return flow;
        probe->calls++;
        if (probe->look)
                probe->look(&order);
        return weir_status(ctx, 204);
}

static void no_log(void *arg, enum weir_level level, const char *line)
{
        (void)level;
        (void)line;
        ++*(int *)arg;
}

static int               n_lines;
static struct weir_stats stats;

static struct weir_reply *post(struct probe *probe, const char *body)
{
        struct weir *app = weir_new(&(struct weir_options){ .log = no_log, .log_arg = &n_lines });
        char *request = malloc(strlen(body) + 100);
        struct weir_reply *reply;

        n_lines = 0;
        weir_post(app, "/", take_order, probe);
        sprintf(request, "POST /\nContent-Type: application/json\n\n%s", body);
        reply = weir_ask(app, request);
        cr_assert_not_null(reply);
        weir_stats(app, &stats);
        weir_free(app);
        free(request);
        return reply;
}

/* Binds, and lets `look` see it. */
static void binds(const char *body, void (*look)(const struct order *order))
{
        struct probe probe = { order_fields, look, 0, 0 };
        struct weir_reply *reply = post(&probe, body);

        cr_assert_eq(reply->status, 204, "%s: %s", body, reply->body.ptr);
        cr_assert_eq(probe.calls, 1);
        weir_reply_free(reply);
}

/* Answers 422 with these faults, "pointer: detail" one a line. */
static void faults(const char *body, const char *wanted)
{
        struct probe probe = { order_fields, NULL, 0, 0 };
        struct weir_reply *reply = post(&probe, body);
        json_t *problem = json_loads(reply->body.ptr, 0, NULL), *fault;
        char got[4096] = "";
        size_t i;

        cr_assert_eq(reply->status, 422, "%s: %d", body, reply->status);
        cr_assert_eq(probe.calls, 0);
        json_array_foreach(json_object_get(problem, "errors"), i, fault) sprintf(
                got + strlen(got), "%s: %s\n", json_string_value(json_object_get(fault, "pointer")),
                        json_string_value(json_object_get(fault, "detail")));
        cr_assert_str_eq(got, wanted);
        json_decref(problem);
        weir_reply_free(reply);
}

/* ---- What is stored. ---- */

static void look_at_all(const struct order *order)
{
        const struct weir_str *tags = order->tags.items;
        const struct item *items = order->items.items;

        cr_assert(weir_str_is(order->title, "Dune"));
        cr_assert_eq(order->count, 3);
        cr_assert(order->has_count);
        cr_assert_eq(order->ratio, -0.25);
        cr_assert(order->urgent);
        cr_assert_eq(order->tags.n, 2);
        cr_assert(weir_str_is(tags[0], "a") && weir_str_is(tags[1], "\xc3\xa9"));
        cr_assert_eq(order->items.n, 2);
        cr_assert(weir_str_is(items[0].name, "x"));
        cr_assert(items[0].price == 9.5 && items[0].has_price);
        cr_assert(items[1].price == 0 && !items[1].has_price);
        cr_assert_eq(json_integer_value(json_object_get(order->extra, "k")), 1);
        cr_assert(order->at.x == -1 && order->at.y == 2);
}

Test(json_bind, stores_every_type)
{
        binds("{\"title\":\"Dune\",\"count\":3,\"ratio\":-0.25,\"urgent\":true,"
              "\"tags\":[\"a\",\"\\u00e9\"],\"items\":[{\"name\":\"x\",\"price\":9.5},"
              "{\"name\":\"y\"}],\"extra\":{\"k\":1},\"at\":{\"x\":-1,\"y\":2}}",
              look_at_all);
}

static void look_at_defaults(const struct order *order)
{
        cr_assert_eq(order->count, 77);
        cr_assert_eq(order->ratio, -0.5);
        cr_assert_not(order->has_count);
        cr_assert_null(order->tags.items);
}

Test(json_bind, leaves_alone_what_is_absent_or_null)
{
        binds("{\"title\":\"Dune\"}", look_at_defaults);
        binds("{\"title\":\"Dune\",\"count\":null,\"ratio\":null,\"tags\":null,\"at\":null}",
              look_at_defaults);
}

static void look_at_null(const struct order *order)
{
        cr_assert(json_is_null(order->extra));
}

Test(json_bind, gives_null_to_a_field_of_any_type)
{
        binds("{\"title\":\"Dune\",\"extra\":null}", look_at_null);
}

static void look_at_whole(const struct order *order)
{
        cr_assert_eq(order->count, 9007199254740992);
}

Test(json_bind, takes_reals_that_are_whole_as_integers)
{
        binds("{\"title\":\"Dune\",\"count\":9007199254740992.0}", look_at_whole);
        faults("{\"title\":\"Dune\",\"count\":1.5}", "/count: must be an integer\n");
        faults("{\"title\":\"Dune\",\"count\":1e300}", "/count: must be an integer\n");
        faults("{\"title\":\"Dune\",\"count\":9007199254740994.0}", "/count: must be an integer\n");
}

static void look_at_numbers(const struct order *order)
{
        const int64_t *numbers = order->numbers.items;

        cr_assert_eq(order->numbers.n, 20000);
        for (int i = 0; i < 20000; i++)
                cr_assert_eq(numbers[i], i);
}

Test(json_bind, has_room_for_arrays_that_the_arena_has_not)
{
        char *body = malloc(200000);
        int len = sprintf(body, "{\"title\":\"Dune\",\"numbers\":[0");

        for (int i = 1; i < 20000; i++)
                len += sprintf(body + len, ",%d", i);
        strcpy(body + len, "]}");
        binds(body, look_at_numbers);
        free(body);
}

static void look_at_empty(const struct order *order)
{
        cr_assert_eq(order->items.n, 0);
        cr_assert_null(order->items.items);
}

Test(json_bind, takes_empty_arrays)
{
        binds("{\"title\":\"Dune\",\"items\":[],\"tags\":[]}", look_at_empty);
}

/* ---- Faults. ---- */

Test(json_bind, names_each_fault_by_its_pointer)
{
        faults("{\"count\":0,\"ratio\":0.5,\"urgent\":1,\"tags\":[\"a\",\"abcde\",7],"
               "\"items\":[{\"name\":\"x\"},{\"name\":\"\",\"price\":100},{\"price\":\"1\"},[]],"
               "\"at\":{\"x\":1,\"y\":null}}",
               "/title: is required\n"
               "/count: must be at least 1\n"
               "/ratio: must be at most 0\n"
               "/urgent: must be true or false\n"
               "/tags/1: must have at most 4 bytes\n"
               "/tags/2: must be a string\n"
               "/items/1/name: must have at least 1 byte\n"
               "/items/1/price: must be at most 99.5\n"
               "/items/2/name: is required\n"
               "/items/2/price: must be a number\n"
               "/items/3: must be an object\n"
               "/at/y: must not be null\n");
}

Test(json_bind, counts_lengths_in_bytes_and_elements)
{
        faults("{\"title\":\"x\"}", "/title: must have at least 2 bytes\n");
        faults("{\"title\":\"\\u00e9\\u00e9\\u00e9\"}", "/title: must have at most 5 bytes\n");
        faults("{\"title\":\"Dune\",\"tags\":[1,2,3,4]}", "/tags: must have at most 3 elements\n");
}

Test(json_bind, calls_types_by_their_names)
{
        faults("{\"title\":1,\"count\":\"1\",\"ratio\":true,\"urgent\":\"yes\",\"tags\":{},"
               "\"items\":\"\",\"at\":[]}",
               "/title: must be a string\n/count: must be an integer\n/ratio: must be a number\n"
               "/urgent: must be true or false\n/tags: must be an array\n/items: must be an array\n"
               "/at: must be an object\n");
}

Test(json_bind, refuses_members_that_it_does_not_know)
{
        faults("{\"title\":\"Dune\",\"Title\":1,\"at\":{\"x\":1,\"y\":2,\"z\":3}}",
               "/at/z: is unknown\n/Title: is unknown\n");
}

Test(json_bind, escapes_pointers)
{
        faults("{\"title\":\"Dune\",\"a/b~c\":1,\"\":2,\"~1\":3,\"\\u00e9\\\"\":4}",
               "/a~1b~0c: is unknown\n/: is unknown\n/~01: is unknown\n/\xc3\xa9\": is unknown\n");
}

Test(json_bind, refuses_a_whole_that_is_no_object)
{
        faults("[]", ": must be an object\n");
        faults("null", ": must be an object\n");
        faults("7", ": must be an object\n");
}

Test(json_bind, tells_32_faults_and_stops)
{
        char body[4096] = "{\"title\":\"Dune\"", wanted[2048] = "";

        for (int i = 0; i < 100; i++)
                sprintf(body + strlen(body), ",\"k%d\":%d", i, i);
        strcat(body, "}");
        for (int i = 0; i < 32; i++)
                sprintf(wanted + strlen(wanted), "/k%d: is unknown\n", i);
        faults(body, wanted);
}

Test(json_bind, answers_problem_details)
{
        struct probe probe = { order_fields, NULL, 0, 0 };
        struct weir_reply *reply = post(&probe, "{}");
        json_t *problem = json_loads(reply->body.ptr, 0, NULL);

        cr_assert(
                weir_str_is(weir_reply_header(reply, "Content-Type"), "application/problem+json"));
        cr_assert_str_eq(json_string_value(json_object_get(problem, "type")), "about:blank");
        cr_assert_str_eq(json_string_value(json_object_get(problem, "title")),
                         "Unprocessable Content");
        cr_assert_eq(json_integer_value(json_object_get(problem, "status")), 422);
        json_decref(problem);
        weir_reply_free(reply);
}

Test(json_bind, answers_400_to_what_is_no_json)
{
        struct probe probe = { order_fields, NULL, 0, 0 };
        struct weir_reply *reply = post(&probe, "{\"title\":");

        cr_assert_eq(reply->status, 400);
        cr_assert_not_null(strstr(reply->body.ptr, "line 1, column "));
        weir_reply_free(reply);
}

/* ---- Limits that only one side has. ---- */

Test(json_bind, takes_a_maximum_below_the_minimum_as_none)
{
        static const struct weir_json_field fields[] = {
                { "count", WEIR_JSON_INT, offsetof(struct order, count), .min = 5 },
                { "ratio", WEIR_JSON_NUM, offsetof(struct order, ratio), .max = 5 },
                { "numbers", WEIR_JSON_ARRAY, offsetof(struct order, numbers),
                  .item = WEIR_JSON_INT, .min = 1, .item_min = -3, .item_max = INFINITY },
                { 0 },
        };
        static const struct {
                const char *body;
                int         status;
        } rows[] = {
                { "{\"count\":5}", 204 },
                { "{\"count\":9223372036854775807}", 204 },
                { "{\"count\":4}", 422 },
                { "{\"ratio\":0}", 204 },
                { "{\"ratio\":-0.1}", 422 },
                { "{\"numbers\":[]}", 422 },
                { "{\"numbers\":[-3,9000000000000000000]}", 204 },
                { "{\"numbers\":[-4]}", 422 },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct probe probe = { fields, NULL, 0, 0 };
                struct weir_reply *reply = post(&probe, rows[i].body);

                cr_assert_eq(reply->status, rows[i].status, "%s", rows[i].body);
                weir_reply_free(reply);
        }
}

/* ---- A table may hold itself. ---- */

static const struct weir_json_field tree_fields[] = {
        { "title", WEIR_JSON_STR, offsetof(struct order, title), .required = false },
        { "items", WEIR_JSON_ARRAY, offsetof(struct order, items), .fields = tree_fields,
          .size = sizeof(struct order) },
        { 0 },
};

static int depth_of(const struct order *order)
{
        return order->items.n ? 1 + depth_of(order->items.items) : 0;
}

static void look_at_tree(const struct order *order)
{
        cr_assert_eq(depth_of(order), 1000);
}

Test(json_bind, follows_a_table_that_holds_itself)
{
        struct probe probe = { tree_fields, look_at_tree, 0, 0 };
        char *body = calloc(1, 20000);
        struct weir_reply *reply;

        for (int i = 0; i < 1000; i++)
                strcat(body, "{\"items\":[");
        strcat(body, "{}");
        for (int i = 0; i < 1000; i++)
                strcat(body, "]}");
        reply = post(&probe, body);
        cr_assert_eq(reply->status, 204, "%s", reply->body.ptr);
        cr_assert_eq(probe.calls, 1);
        weir_reply_free(reply);
        free(body);
}

/* ---- Mistakes in the table. ---- */

static void is_a_mistake(struct weir_json_field field)
{
        struct weir_json_field fields[] = { field, { 0 } };
        struct probe probe = { fields, NULL, 0, 0 };
        struct weir_reply *reply = post(&probe, "{}");

        cr_assert_eq(reply->status, 500);
        cr_assert_eq(n_lines, 1);
        cr_assert_eq(stats.bad_answers, 1);
        cr_assert_eq(probe.calls, 0);
        weir_reply_free(reply);
}

Test(json_bind, answers_500_to_a_table_that_makes_no_sense)
{
        struct probe probe = { NULL, NULL, 0, 0 };
        struct weir_reply *reply = post(&probe, "{}");

        cr_assert_eq(reply->status, 500);
        weir_reply_free(reply);
        is_a_mistake((struct weir_json_field){ NULL, .type = WEIR_JSON_INT });
        is_a_mistake((struct weir_json_field){ "a", .type = 99 });
        is_a_mistake((struct weir_json_field){ "a", .type = WEIR_JSON_OBJECT });
        is_a_mistake((struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY });
        is_a_mistake(
                (struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY, .fields = item_fields });
        is_a_mistake(
                (struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY, .item = WEIR_JSON_ARRAY });
        is_a_mistake(
                (struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY, .item = WEIR_JSON_OBJECT });
        is_a_mistake((struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY, .item = WEIR_JSON_INT,
                                               .size = 4 });
        is_a_mistake((struct weir_json_field){ "a", .type = WEIR_JSON_ARRAY, .item = WEIR_JSON_INT,
                                               .fields = item_fields, .size = 8 });
}

Test(json_bind, answers_500_when_the_arena_is_full)
{
        for (size_t left = 1; left < 200; left++) {
                struct probe probe = { order_fields, NULL, 0, left };
                struct weir_reply *reply = post(&probe, "{\"title\":\"Dune\",\"tags\":[\"a\"]}");

                cr_assert_eq(reply->status, probe.calls ? 204 : 500, "%zu left", left);
                weir_reply_free(reply);
        }
}
