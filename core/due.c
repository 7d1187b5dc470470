/* due.c - a pairing heap (Fredman, Sedgewick, Sleator, Tarjan: "The Pairing Heap", 1986). */
#include "due.h"

/* Two heaps in one: the root that is due later becomes the first child of the other. */
static struct weir__due *meld(struct weir__due *a, struct weir__due *b)
{
        struct weir__due *later = b;

        if (!a || !b)
                return a ? a : b;
        if (b->at_ns < a->at_ns) {
                later = a;
                a = b;
        }
        later->next = a->child;
        if (later->next)
                later->next->prev = later;
        later->prev = a;
        a->child = later;
        return a;
}

/* The children of one in a heap of their own: in pairs from the left, then all from the right. */
static struct weir__due *meld_all(struct weir__due *first)
{
        struct weir__due *pairs = NULL, *all = NULL;

        while (first) {
                struct weir__due *second = first->next, *rest = second ? second->next : NULL;
                struct weir__due *pair;

                first->next = NULL;
                if (second)
                        second->next = NULL;
                pair = meld(first, second);
                pair->next = pairs;
                pairs = pair;
                first = rest;
        }
        while (pairs) {
                struct weir__due *pair = pairs;

                pairs = pair->next;
                pair->next = NULL;
                all = meld(all, pair);
        }
        return all;
}

void weir__due_set(struct weir__dues *dues, struct weir__due *due, uint64_t at_ns)
{
        weir__due_cancel(dues, due);
        *due = (struct weir__due){ .at_ns = at_ns, .set = true };
        dues->first = meld(dues->first, due);
}

void weir__due_cancel(struct weir__dues *dues, struct weir__due *due)
{
        struct weir__due *below;

        if (!due->set)
                return;
        below = meld_all(due->child);
        if (due == dues->first) {
                dues->first = below;
        } else {
                *(due->prev->child == due ? &due->prev->child : &due->prev->next) = due->next;
                if (due->next)
                        due->next->prev = due->prev;
                dues->first = meld(dues->first, below);
        }
        due->set = false;
}
