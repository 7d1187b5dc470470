/*
 * heap.h - the heap of a whole process, which counts its calls, and fails one, or all from one on.
 *
 * For a program of one file, since its malloc() takes the place of everybody's.
 */
#ifndef WEIR_TESTS_HEAP_H
#define WEIR_TESTS_HEAP_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong calls;
static atomic_ulong fail_at;   /* the number of the call that fails; 0: none */
static atomic_bool  fail_more; /* and all that come after it                 */

/* What runs before the sanitizers are ready must not look at their memory. */
#define RAW __attribute__((no_sanitize("address"), no_sanitize("undefined")))

#ifdef __SANITIZE_ADDRESS__
#define REAL(name) __interceptor_##name

/* The sanitizer gives up when libc has no memory to start a thread. */
static RAW bool must_pass(const void *caller)
{
        Dl_info info;

        return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/libc.so");
}
#else
#define REAL(name) __libc_##name

static RAW bool must_pass(const void *caller)
{
        (void)caller;
        return false;
}
#endif

static RAW bool may_pass(const void *caller)
{
        unsigned long at = atomic_load(&fail_at), n;

        if (at && must_pass(caller))
                return true;
        n = atomic_fetch_add(&calls, 1) + 1;
        return !at || n < at || (n > at && !atomic_load(&fail_more));
}

#pragma GCC visibility push(default) /* what is hidden here takes no calls from libraries */

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *memory, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);

RAW void *malloc(size_t size)
{
        return may_pass(__builtin_return_address(0)) ? REAL(malloc)(size) : NULL;
}

RAW void *calloc(size_t n, size_t size)
{
        return may_pass(__builtin_return_address(0)) ? REAL(calloc)(n, size) : NULL;
}

RAW void *realloc(void *memory, size_t size)
{
        return may_pass(__builtin_return_address(0)) ? REAL(realloc)(memory, size) : NULL;
}

RAW void *aligned_alloc(size_t alignment, size_t size)
{
        return may_pass(__builtin_return_address(0)) ? REAL(memalign)(alignment, size) : NULL;
}

RAW int posix_memalign(void **memory, size_t alignment, size_t size)
{
        *memory = may_pass(__builtin_return_address(0)) ? REAL(memalign)(alignment, size) : NULL;
        return *memory ? 0 : ENOMEM;
}

#pragma GCC visibility pop

/* Fails the nth call of live() for n = 1, 2, ... until there is no nth: how many there were. */
static unsigned long fail_each(void (*live)(void), bool more)
{
        unsigned long n = 0, reached;

        do {
                n++;
                atomic_store(&calls, 0);
                atomic_store(&fail_more, more);
                atomic_store(&fail_at, n);
                live();
                reached = atomic_load(&calls);
                atomic_store(&fail_at, 0);
        } while (n <= reached);
        return n - 1;
}

#endif
