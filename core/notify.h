/*
 * notify.h - telling the service manager how far a server is, and that it lives.
 *
 * A process has one such manager, and may have several apps: only that of weir_run() tells it.
 */
#ifndef WEIR_CORE_NOTIFY_H
#define WEIR_CORE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Owned by the door's thread, once that runs. All zero: nobody is told. */
struct weir__notify {
        bool     on;
        uint64_t every_ns; /* between two signs of life: half of what it allows; 0: none */
        uint64_t due_ns;   /* the next one */
};

/* It serves. */
void weir__notify_ready(struct weir__notify *notify, uint64_t now_ns);

/* Is a sign of life due? */
bool weir__notify_is_due(const struct weir__notify *notify, uint64_t now_ns);

/* Gives one, unless a loop has owed its own for as long as the time between two. */
void weir__notify_alive(struct weir__notify *notify, uint64_t lag_ns, uint64_t now_ns);

/* Milliseconds until the next sign of life; -1: none. */
int weir__notify_wait_ms(const struct weir__notify *notify, uint64_t now_ns);

/* It is about to stop. */
void weir__notify_stopping(const struct weir__notify *notify);

#endif
