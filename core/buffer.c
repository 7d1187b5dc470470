/*
 * buffer.c - size-classed buffers of a loop.
 *
 * A buffer of class c has 1 << (c + WEIR__BUF_MIN_SHIFT) bytes. A free one holds the link to the
 * next free one of its class in its own first bytes.
 */
#include "buffer.h"

#include <stdlib.h>

struct weir__free_buf {
        struct weir__free_buf *next;
};

static unsigned class_of(size_t size)
{
        if (size <= (size_t)1 << WEIR__BUF_MIN_SHIFT)
                return 0;
        return 64 - (unsigned)__builtin_clzll(size - 1) - WEIR__BUF_MIN_SHIFT;
}

static size_t size_of(unsigned class)
{
        return (size_t)1 << (class + WEIR__BUF_MIN_SHIFT);
}

void weir__pool_init(struct weir__pool *pool, size_t max_kept)
{
        *pool = (struct weir__pool){ .max_kept = max_kept };
}

void weir__pool_finish(struct weir__pool *pool)
{
        for (unsigned class = 0; class < WEIR__BUF_CLASSES; class ++) {
                while (pool->free[class]) {
                        struct weir__free_buf *buf = pool->free[class];

                        pool->free[class] = buf->next;
                        free(buf);
                }
        }
        pool->kept = 0;
}

static void *take(struct weir__pool *pool, size_t size, size_t *cap)
{
        unsigned class = class_of(size);
        struct weir__free_buf *buf;

        *cap = class < WEIR__BUF_CLASSES ? size_of(class) : size;
        if (class < WEIR__BUF_CLASSES && (buf = pool->free[class])) {
                pool->free[class] = buf->next;
                pool->kept -= *cap;
                return buf;
        }
        if (pool->from_heap)
                atomic_fetch_add_explicit(pool->from_heap, 1, memory_order_relaxed);
        return malloc(*cap);
}

static void give(struct weir__pool *pool, void *ptr, size_t cap)
{
        unsigned class = class_of(cap);
        struct weir__free_buf *buf = ptr;

        if (class >= WEIR__BUF_CLASSES || pool->kept + cap > pool->max_kept) {
                free(ptr);
                return;
        }
        buf->next = pool->free[class];
        pool->free[class] = buf;
        pool->kept += cap;
}

bool weir__buf_reserve(struct weir__pool *pool, struct weir__buf *buf, size_t more)
{
        struct weir__buf grown = { .len = buf->len };
        size_t want = buf->len + more;

        if (want < more)
                return false;
        if (want <= buf->cap)
                return true;
        if (want < 2 * buf->cap)
                want = 2 * buf->cap;
        grown.ptr = take(pool, want, &grown.cap);
        if (!grown.ptr)
                return false;
        if (buf->len)
                memcpy(grown.ptr, buf->ptr, buf->len);
        weir__buf_release(pool, buf);
        *buf = grown;
        return true;
}

void weir__buf_release(struct weir__pool *pool, struct weir__buf *buf)
{
        if (buf->ptr)
                give(pool, buf->ptr, buf->cap);
        *buf = (struct weir__buf){ 0 };
}
