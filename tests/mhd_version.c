/* mhd_version.c - the libmicrohttpd that runs is that of the headers, and $WEIR_MHD if set. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
        const char *running = MHD_get_version();
        const char *wanted = getenv("WEIR_MHD");
        unsigned major, minor, patch;
        char header[9];

        if (sscanf(running, "%u.%u.%u", &major, &minor, &patch) != 3)
                return 1;
        snprintf(header, sizeof(header), "%02u%02u%02u", major, minor, patch);
        printf("running %s, headers %06x, wanted %s\n", running, (unsigned)MHD_VERSION >> 8,
               wanted ? wanted : "any");
        if (strtoul(header, NULL, 16) != (unsigned)MHD_VERSION >> 8)
                return 1;
        return wanted && strcmp(running, wanted) != 0;
}
