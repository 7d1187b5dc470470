/* hint.h - what the compiler cannot know: what is often, and what is rare. */
#ifndef WEIR_CORE_HINT_H
#define WEIR_CORE_HINT_H

#define WEIR__LIKELY(x)   __builtin_expect(!!(x), 1)
#define WEIR__UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Stays out of the way of what is often. */
#define WEIR__COLD __attribute__((noinline, cold))

/* A part of its own, so that its caller needs no registers for it. */
#define WEIR__APART __attribute__((noinline))

/* A part of each of its callers. */
#define WEIR__INLINE inline __attribute__((always_inline))

/* Without a canary: for what is called twice a request and has no array that could overflow. */
#define WEIR__NO_CANARY __attribute__((no_stack_protector))

#endif
