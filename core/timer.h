/*
 * timer.h - deadlines that are all the same time away: a list in order of expiry.
 *
 * Adding and removing are O(1), and only the head is ever looked at. Owned by one thread.
 */
#ifndef WEIR_CORE_TIMER_H
#define WEIR_CORE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded in what it belongs to. All zero: not in a list. */
struct weir__timer {
        struct weir__timer *prev, *next;
        uint64_t            due_ns;
        bool                set;
};

struct weir__timers {
        struct weir__timer *first, *last;
        uint64_t            after_ns;
};

static inline void weir__timer_cancel(struct weir__timers *timers, struct weir__timer *timer)
{
        if (!timer->set)
                return;
        *(timer->prev ? &timer->prev->next : &timers->first) = timer->next;
        *(timer->next ? &timer->next->prev : &timers->last) = timer->prev;
        *timer = (struct weir__timer){ 0 };
}

static inline void weir__timer_set(struct weir__timers *timers, struct weir__timer *timer,
                                   uint64_t now_ns)
{
        weir__timer_cancel(timers, timer);
        *timer = (struct weir__timer){ .prev = timers->last,
                                       .due_ns = now_ns + timers->after_ns,
                                       .set = true };
        *(timers->last ? &timers->last->next : &timers->first) = timer;
        timers->last = timer;
}

/* Takes out and returns the first timer that is due, or NULL. */
static inline struct weir__timer *weir__timer_due(struct weir__timers *timers, uint64_t now_ns)
{
        struct weir__timer *timer = timers->first;

        if (!timer || timer->due_ns > now_ns)
                return NULL;
        weir__timer_cancel(timers, timer);
        return timer;
}

/* Milliseconds until the first is due, rounded up; -1 when there is none. */
static inline int weir__timer_wait_ms(const struct weir__timers *timers, uint64_t now_ns)
{
        if (!timers->first)
                return -1;
        if (timers->first->due_ns <= now_ns)
                return 0;
        return (int)((timers->first->due_ns - now_ns + 999999) / 1000000);
}

#endif
