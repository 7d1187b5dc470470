/* test_json_fault.c - claims about faults that an app finds in a body itself. */
#include "kit.h"

#include <stdio.h>
#include <weir/json.h>

struct stay {
        int64_t start, end;
};

static const struct weir_json_field fields[] = {
        { "start", WEIR_JSON_INT, offsetof(struct stay, start), .required = true },
        { "end", WEIR_JSON_INT, offsetof(struct stay, end), .required = true },
        { 0 },
};

/* What the app has to say of any body. */
struct fault {
        const char *pointer, *detail;
};

static enum weir_flow find_fault(struct weir_ctx *ctx, void *self)
{
        const struct fault *fault = self;
        struct stay stay;

        if (weir_json_bind(ctx, fields, &stay) != WEIR_NEXT)
                return WEIR_DONE;
        return weir_json_fault(ctx, fault->pointer, "%s", fault->detail);
}

static enum weir_flow never(struct weir_ctx *ctx, void *self, int status, struct weir_str detail)
{
        (void)self, (void)detail;
        return weir_text(ctx, status, "on_error");
}

/* The 422 for `body`, in which the app finds `fault` when the table finds none. */
static struct weir_reply *refusal(const char *body, struct fault fault)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .log = drop_log, .scope.on_error = never });
        struct weir_reply *reply;
        char request[256];

        weir_post(app, "/", find_fault, &fault);
        snprintf(request, sizeof(request), "POST /\nContent-Type: application/json\n\n%s", body);
        reply = ask(app, request, 422);
        weir_free(app);
        return reply;
}

/* The one fault of an answer. */
static json_t *fault_of(const struct weir_reply *reply)
{
        json_t *problem = json_loads(reply->body.ptr, 0, NULL);
        json_t *fault = json_array_get(json_object_get(problem, "errors"), 0);

        cr_assert_eq(json_array_size(json_object_get(problem, "errors")), 1);
        json_incref(fault);
        json_decref(problem);
        return fault;
}

Test(json_fault, is_answered_as_one_that_the_table_finds)
{
        static const struct fault fault = { "/end", "is required" };
        struct weir_reply *own = refusal("{\"start\":2,\"end\":1}", fault);
        struct weir_reply *bound = refusal("{\"start\":2}", fault);

        cr_assert(weir_str_eq(own->body, bound->body), "%s", own->body.ptr);
        cr_assert(weir_str_eq(own->head, bound->head), "%s", own->head.ptr);
        weir_reply_free(own);
        weir_reply_free(bound);
}

Test(json_fault, has_its_pointer_and_its_detail_escaped)
{
        struct weir_reply *reply = refusal("{\"start\":2,\"end\":1}",
                                           (struct fault){ "/a~1b/\"", "\"\n\xff" });
        json_t *fault = fault_of(reply);

        cr_assert_str_eq(json_string_value(json_object_get(fault, "pointer")), "/a~1b/\"");
        cr_assert_str_eq(json_string_value(json_object_get(fault, "detail")), "\"\n\xef\xbf\xbd");
        json_decref(fault);
        weir_reply_free(reply);
}

Test(json_fault, of_the_whole_has_an_empty_pointer)
{
        struct weir_reply *reply = refusal("{\"start\":2,\"end\":1}",
                                           (struct fault){ "", "is odd" });
        json_t *fault = fault_of(reply);

        cr_assert_str_eq(json_string_value(json_object_get(fault, "pointer")), "");
        json_decref(fault);
        weir_reply_free(reply);
}

Test(json_fault, is_cut_behind_1023_bytes)
{
        char detail[2000];
        struct weir_reply *reply;
        json_t *fault;

        memset(detail, 'x', sizeof(detail) - 1);
        detail[sizeof(detail) - 1] = 0;
        reply = refusal("{\"start\":2,\"end\":1}", (struct fault){ "/end", detail });
        fault = fault_of(reply);
        cr_assert_eq(json_string_length(json_object_get(fault, "detail")), 1023);
        json_decref(fault);
        weir_reply_free(reply);
}
