/* test_due.c - the pairing heap against a list that is searched from end to end. */
#include "due.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define N          64
#define OPERATIONS 400000

static unsigned seed = 1;

static unsigned below(unsigned n)
{
        return (unsigned)rand_r(&seed) % n;
}

/* ---- The model: when each is due; UINT64_MAX: it is not. ---- */

static struct weir__dues dues;
static struct weir__due due[N];
static uint64_t model[N];

static void start(void)
{
        dues = (struct weir__dues){ NULL };
        for (int i = 0; i < N; i++) {
                due[i] = (struct weir__due){ 0 };
                model[i] = UINT64_MAX;
        }
}

static uint64_t earliest(void)
{
        uint64_t at = UINT64_MAX;

        for (int i = 0; i < N; i++)
                at = model[i] < at ? model[i] : at;
        return at;
}

static void expect_first(void)
{
        uint64_t at = earliest();

        if (at == UINT64_MAX)
                cr_assert_null(dues.first, "an empty heap has a first");
        else
                cr_assert(dues.first && dues.first->at_ns == at, "the first is not the earliest");
}

static void set(int i, uint64_t at)
{
        weir__due_set(&dues, &due[i], at);
        model[i] = at;
}

static void cancel(int i)
{
        weir__due_cancel(&dues, &due[i]);
        model[i] = UINT64_MAX;
}

static void pop(void)
{
        if (dues.first)
                cancel((int)(dues.first - due));
}

TestSuite(due, .init = start);

static void expect_like_model(unsigned times)
{
        unsigned n_set = 0, n_again = 0, n_cancel = 0, n_unset = 0, n_pop = 0;

        for (int n = 0; n < OPERATIONS; n++) {
                int i = (int)below(N);

                switch (below(4)) {
                case 0:
                case 1:
                        ++*(due[i].set ? &n_again : &n_set);
                        set(i, 1 + below(times));
                        break;
                case 2:
                        ++*(due[i].set ? &n_cancel : &n_unset);
                        cancel(i);
                        break;
                default:
                        n_pop += dues.first != NULL;
                        pop();
                }
                cr_assert_eq(due[i].set, model[i] != UINT64_MAX);
                expect_first();
        }
        cr_assert(n_set > 1000 && n_again > 1000 && n_cancel > 1000 && n_unset > 1000 &&
                  n_pop > 1000);
        for (uint64_t last = 0; dues.first; pop()) {
                cr_assert_geq(dues.first->at_ns, last);
                last = dues.first->at_ns;
                expect_first();
        }
        expect_first();
}

Test(due, is_like_a_list_that_is_searched)
{
        expect_like_model(1u << 30);
}

Test(due, is_like_a_list_that_is_searched_when_many_are_due_at_once)
{
        expect_like_model(4);
}

Test(due, holds_one)
{
        set(7, 5);
        expect_first();
        set(7, 9);
        expect_first();
        cancel(7);
        expect_first();
        cancel(7);
        expect_first();
        set(7, 0);
        expect_first();
        cancel(7);
        expect_first();
}

Test(due, keeps_all_that_are_due_at_the_same_time)
{
        for (int i = 0; i < N; i++)
                set(i, 42);
        for (int i = 0; i < N; i++) {
                cr_assert(dues.first && dues.first->at_ns == 42);
                pop();
                expect_first();
        }
        cr_assert_null(dues.first);
}

/* However one is asked for: from the first, from the last, from the middle. */
Test(due, gives_back_what_was_set_in_order_of_time)
{
        for (int order = 0; order < 3; order++) {
                for (int i = 0; i < N; i++)
                        set(i, (uint64_t)(order == 0 ? i : order == 1 ? N - i : (i * 37) % N));
                cancel(N / 2);
                for (int n = 0; n < N - 1; n++) {
                        expect_first();
                        pop();
                }
                cr_assert_null(dues.first);
        }
}
