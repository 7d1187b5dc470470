/* systemd_none.c - without libsystemd: no sockets come from it, and it is told nothing. */
#include "systemd.h"

int weir__systemd_listeners(const char *name, int *fds, int max)
{
        (void)name, (void)fds, (void)max;
        return -1;
}

void weir__systemd_tell(const char *state)
{
        (void)state;
}

uint64_t weir__systemd_watchdog_us(void)
{
        return 0;
}
