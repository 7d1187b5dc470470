/*
 * systemd.h - what a service manager passes to a process and is told by it: systemd.c, or
 * systemd_none.c without its library.
 */
#ifndef WEIR_CORE_SYSTEMD_H
#define WEIR_CORE_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Descriptors that were passed under `name`, or all with NULL, at most `max`. How many; -1: this
 * weir was built without the library.
 */
int weir__systemd_listeners(const char *name, int *fds, int max);

/* Tells "READY=1" or another state of sd_notify(3). Nobody may be listening. */
void weir__systemd_tell(const char *state);

/* Within how many microseconds it wants a sign of life, again and again; 0: it does not. */
uint64_t weir__systemd_watchdog_us(void);

#endif
