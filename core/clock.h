/* clock.h - where time comes from: the system, or a test that turns it by hand. */
#ifndef WEIR_CORE_CLOCK_H
#define WEIR_CORE_CLOCK_H

#include <stdint.h>

struct weir__clock {
        uint64_t (*mono_ns)(void *arg);  /* never goes back          */
        uint64_t (*wall_ns)(void *arg);  /* since the epoch; may jump */
        void      *arg;
};

extern const struct weir__clock weir__system_clock;

static inline uint64_t weir__now(const struct weir__clock *clock)
{
        return clock->mono_ns(clock->arg);
}

/* A limit in milliseconds, which may be WEIR_INF or any other number that is too large. */
static inline uint64_t weir__ns_of_ms(int64_t ms)
{
        return ms > INT64_MAX / 1000000 ? UINT64_MAX : (uint64_t)ms * 1000000;
}

/* A moment that far behind another; UINT64_MAX is never. */
static inline uint64_t weir__ns_after(uint64_t from_ns, uint64_t ns)
{
        return ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + ns;
}

/* An IMF-fixdate (RFC 9110 5.6.7), 29 bytes, for a time since the epoch. */
#define WEIR__DATE_LEN 29
void weir__date_format(char out[WEIR__DATE_LEN], uint64_t wall_s);

#endif
