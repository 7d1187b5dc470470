/* router_table.h - perfect hash tables: a place of its own for each of a set of numbers. */
#ifndef WEIR_CORE_ROUTER_TABLE_H
#define WEIR_CORE_ROUTER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct weir__table {
        uint64_t  mul;
        uint32_t  size;         /* slots: a power of two                               */
        uint8_t   shift;
        uint8_t   bucket_shift;
        uint32_t  n_buckets;    /* 0: no displacements                                 */
        uint32_t *displacement; /* by bucket; for free()                               */
};

/* Finds a table for `n` (> 0) different hashes. False: no memory. */
bool weir__table_make(struct weir__table *table, const uint64_t *hash, uint32_t n);

/* The slot of a hash. */
uint32_t weir__table_slot(const struct weir__table *table, uint64_t hash);

#endif
