/*
 * router_table.c - searches perfect hash tables.
 *
 * slot = hash * mul >> shift. For a few hashes random odd multipliers are tried until no two meet,
 * in the smallest table that a bounded search finds. That hope fades with exp(-n * n / size), so
 * many hashes are cut into buckets of a few, and each bucket gets the first displacement at which
 * all its slots are free, the largest buckets first (hash and displace).
 */
#include "router_table.h"

#include "router_tree.h"
#include <stdlib.h>
#include <string.h>

#define FEW          128   /* hashes that one multiplier may serve  */
#define MAX_SLOTS    (8 * FEW)
#define TRIES        4000  /* multipliers per size                  */
#define WIDE_TRIES   16
#define BUCKET_MEAN  4

static uint64_t next_mul(uint64_t *seed)
{
        uint64_t z = *seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return (z ^ z >> 31) | 1;
}

static unsigned bits_for(uint32_t n)
{
        return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

static void set_size(struct weir__table *table, unsigned bits)
{
        table->size = UINT32_C(1) << bits;
        table->shift = (uint8_t)(64 - bits);
}

/* Do all hashes get slots of their own? */
static bool fits(const struct weir__table *table, const uint64_t *hash, uint32_t n)
{
        uint64_t taken[MAX_SLOTS / 64] = { 0 };

        for (uint32_t i = 0; i < n; i++) {
                uint64_t slot = weir__slot(hash[i], table->mul, table->shift);
                uint64_t bit = UINT64_C(1) << (slot & 63);

                if (taken[slot / 64] & bit)
                        return false;
                taken[slot / 64] |= bit;
        }
        return true;
}

static bool make_small(struct weir__table *table, const uint64_t *hash, uint32_t n)
{
        uint64_t seed = 0;

        for (unsigned bits = bits_for(n); bits <= bits_for(n) + 3; bits++) {
                set_size(table, bits);
                for (unsigned i = 0; i < TRIES; i++) {
                        table->mul = next_mul(&seed);
                        if (fits(table, hash, n))
                                return true;
                }
        }
        return false;
}

/* ---- Hash and displace. ---- */

/* Hashes sorted by bucket, and buckets by size. */
struct wide {
        struct weir__table *table;
        uint32_t *start;  /* by bucket: its first hash; n_buckets + 1 of them */
        uint32_t *order;  /* buckets, the largest first                       */
        uint64_t *hash;
        uint8_t  *taken;  /* by slot                                          */
};

static uint32_t wide_slot(const struct weir__table *table, uint64_t hash, uint32_t displacement)
{
        return (uint32_t)weir__wide_slot(hash, table->mul, table->shift, displacement);
}

static uint32_t bucket_size(const struct wide *wide, uint32_t bucket)
{
        return wide->start[bucket + 1] - wide->start[bucket];
}

static void sort_into_buckets(struct wide *wide, const uint64_t *hash, uint32_t n)
{
        const struct weir__table *table = wide->table;
        uint32_t *fill = wide->order; /* used for that first */

        for (uint32_t i = 0; i < n; i++)
                wide->start[weir__bucket(hash[i], table->bucket_shift) + 1]++;
        for (uint32_t b = 0; b < table->n_buckets; b++)
                wide->start[b + 1] += wide->start[b];
        memcpy(fill, wide->start, table->n_buckets * sizeof(*fill));
        for (uint32_t i = 0; i < n; i++)
                wide->hash[fill[weir__bucket(hash[i], table->bucket_shift)]++] = hash[i];
}

static void order_buckets(struct wide *wide)
{
        uint32_t n = 0, largest = 0;

        for (uint32_t b = 0; b < wide->table->n_buckets; b++) {
                if (bucket_size(wide, b) > largest)
                        largest = bucket_size(wide, b);
        }
        for (uint32_t size = largest; n < wide->table->n_buckets; size--) {
                for (uint32_t b = 0; b < wide->table->n_buckets; b++) {
                        if (bucket_size(wide, b) == size)
                                wide->order[n++] = b;
                }
        }
}

/* Takes the slots of a bucket, or none of them. */
static bool take(struct wide *wide, uint32_t bucket, uint32_t displacement)
{
        const struct weir__table *table = wide->table;
        uint32_t from = wide->start[bucket], to = wide->start[bucket + 1];

        for (uint32_t i = from; i < to; i++) {
                uint32_t slot = wide_slot(table, wide->hash[i], displacement);

                if (wide->taken[slot]) {
                        while (i-- > from)
                                wide->taken[wide_slot(table, wide->hash[i], displacement)] = 0;
                        return false;
                }
                wide->taken[slot] = 1;
        }
        return true;
}

static bool displace_all(struct wide *wide)
{
        const struct weir__table *table = wide->table;

        memset(wide->taken, 0, table->size);
        for (uint32_t i = 0; i < table->n_buckets; i++) {
                uint32_t displacement = 0;

                while (!take(wide, wide->order[i], displacement)) {
                        if (++displacement == table->size)
                                return false;
                }
                table->displacement[wide->order[i]] = displacement;
        }
        return true;
}

static void wide_finish(struct wide *wide)
{
        free(wide->start);
        free(wide->order);
        free(wide->hash);
        free(wide->taken);
}

/* The tables for one number of slots. */
static bool wide_init(struct wide *wide, struct weir__table *table, uint32_t n)
{
        *wide = (struct wide){
                .table = table,
                .start = calloc(table->n_buckets + 1, sizeof(*wide->start)),
                .order = calloc(table->n_buckets, sizeof(*wide->order)),
                .hash = calloc(n, sizeof(*wide->hash)),
                .taken = calloc(table->size, 1),
        };
        table->displacement = calloc(table->n_buckets, sizeof(*table->displacement));
        if (wide->start && wide->order && wide->hash && wide->taken && table->displacement)
                return true;
        wide_finish(wide);
        free(table->displacement);
        table->displacement = NULL;
        return false;
}

static bool make_wide(struct weir__table *table, const uint64_t *hash, uint32_t n)
{
        uint64_t seed = 0;

        for (unsigned bits = bits_for(n + n / 4);; bits++) {
                struct wide wide;
                bool done = false;

                set_size(table, bits);
                table->bucket_shift = (uint8_t)(64 - bits_for(n / BUCKET_MEAN + 2));
                table->n_buckets = UINT32_C(1) << (64 - table->bucket_shift);
                if (!wide_init(&wide, table, n))
                        return false;
                sort_into_buckets(&wide, hash, n);
                order_buckets(&wide);
                for (unsigned i = 0; i < WIDE_TRIES && !done; i++) {
                        table->mul = next_mul(&seed);
                        done = displace_all(&wide);
                }
                wide_finish(&wide);
                if (done)
                        return true;
                free(table->displacement);
        }
}

bool weir__table_make(struct weir__table *table, const uint64_t *hash, uint32_t n)
{
        *table = (struct weir__table){ .size = 1, .shift = 63 };
        if (n == 1)
                return true; /* mul 0 leads to slot 0 */
        return (n <= FEW && make_small(table, hash, n)) || make_wide(table, hash, n);
}

uint32_t weir__table_slot(const struct weir__table *table, uint64_t hash)
{
        if (!table->n_buckets)
                return (uint32_t)weir__slot(hash, table->mul, table->shift);
        return wide_slot(table, hash, table->displacement[weir__bucket(hash, table->bucket_shift)]);
}
