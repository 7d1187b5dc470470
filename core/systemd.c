/* systemd.c - sockets from systemd, and what it is told. The environment stays as it is. */
#include "systemd.h"

#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

int weir__systemd_listeners(const char *name, int *fds, int max)
{
        char **names = NULL;
        int passed = sd_listen_fds_with_names(0, &names), n = 0;

        for (int i = 0; i < passed; i++) {
                if (n < max && (!name || !strcmp(names[i], name)))
                        fds[n++] = SD_LISTEN_FDS_START + i;
                free(names[i]);
        }
        free(names);
        return n;
}

void weir__systemd_tell(const char *state)
{
        sd_notify(0, state);
}

uint64_t weir__systemd_watchdog_us(void)
{
        uint64_t us = 0;

        return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}
