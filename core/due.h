/*
 * due.h - things that are due at different times: a pairing heap.
 *
 * Adding is O(1), removing the first or any other O(log n), amortised. It allocates nothing: the
 * nodes are embedded in what they belong to. Owned by one thread.
 */
#ifndef WEIR_CORE_DUE_H
#define WEIR_CORE_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir__due {
        uint64_t          at_ns;
        struct weir__due *child; /* the first of those due later        */
        struct weir__due *next;  /* the next child of the same parent   */
        struct weir__due *prev;  /* the one before; of the first, the parent */
        bool              set;   /* is it in a heap?                    */
};

struct weir__dues {
        struct weir__due *first; /* the root */
};

void weir__due_set(struct weir__dues *dues, struct weir__due *due, uint64_t at_ns);

/* Nothing happens to one that is not set. */
void weir__due_cancel(struct weir__dues *dues, struct weir__due *due);

#endif
