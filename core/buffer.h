/*
 * buffer.h - size-classed buffers that a loop keeps, so that a warm request takes none from malloc.
 */
#ifndef WEIR_CORE_BUFFER_H
#define WEIR_CORE_BUFFER_H

#include <stdatomic.h>
#include <weir/str.h>

/* Classes are powers of two from 1 KiB to 1 MiB; larger ones come from and go to the heap. */
#define WEIR__BUF_MIN_SHIFT 10
#define WEIR__BUF_CLASSES   11

struct weir__free_buf;

/* Owned by one thread, unless it keeps nothing. `kept` is bounded by `max_kept` bytes. */
struct weir__pool {
        struct weir__free_buf *free[WEIR__BUF_CLASSES];
        size_t                 kept, max_kept;
        _Atomic uint64_t *from_heap; /* counts, when it is there                              */
};

/* A growable run of bytes. All zero is an empty one. */
struct weir__buf {
        char  *ptr;
        size_t len, cap;
};

void weir__pool_init(struct weir__pool *pool, size_t max_kept);
void weir__pool_finish(struct weir__pool *pool);

/*
 * Makes room for `more` bytes behind len, moving the buffer if need be. False: no memory, as
 * before.
 */
bool weir__buf_reserve(struct weir__pool *pool, struct weir__buf *buf, size_t more);

/* Gives the memory back; *buf is empty again. */
void weir__buf_release(struct weir__pool *pool, struct weir__buf *buf);

#endif
