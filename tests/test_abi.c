/* test_abi.c - where the fields of the context stand: what plugins compile against. */
#include "kit.h"

#include <stddef.h>
#include <weir/sse.h>
#include <weir/timeout.h>

#define AT(field, offset) cr_assert_eq(offsetof(struct weir_ctx, field), offset, #field)

Test(abi, the_fields_of_the_context_are_where_they_were)
{
        AT(links, 0);
        AT(at, 8);
        AT(status, 10);
        AT(method, 12);
        AT(outcome, 13);
        AT(n_params, 14);
        AT(flags, 15);
        AT(own, 16);
        AT(started_ns, 24);
        AT(verdict_ns, 32);
        AT(deadline_ns, 40);
        AT(brk, 48);
        AT(end, 56);
        AT(target, 64);
        AT(path, 80);
        AT(query, 96);
        AT(body, 112);
        AT(host, 128);
        AT(peer, 144);
        AT(client, 160);
        AT(method_name, 176);
        AT(param, 192);
        AT(slot, 448);
        AT(pattern, 576);
        AT(local, 584);
        AT(bytes, 592);
        AT(route_id, 600);
        AT(loop, 604);
        cr_assert_eq(sizeof(struct weir_ctx), 640);
        cr_assert_eq(_Alignof(struct weir_ctx), 64);
}

Test(abi, a_ctx_is_made_of_whole_cache_lines)
{
        cr_assert_eq(sizeof(struct weir_ctx) % 64, 0);
}

Test(abi, the_structs_that_callers_fill_have_the_sizes_they_had)
{
        cr_assert_eq(sizeof(struct weir_str), 16);
        cr_assert_eq(sizeof(struct weir_middleware), 104);
        cr_assert_eq(sizeof(struct weir_scope_options), 72);
        cr_assert_eq(sizeof(struct weir_route_options), 72);
        cr_assert_eq(sizeof(struct weir_listen_options), 64);
        cr_assert_eq(sizeof(struct weir_timeout), 80);
        cr_assert_eq(sizeof(struct weir_event), 64);
        cr_assert_eq(sizeof(struct weir_sse_options), 80);
}
