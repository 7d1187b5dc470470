/* cpus.c - how many CPUs this process may use: by affinity, and by its control group. */
#include "server.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* The file with the quota of this process' control group (cgroup v2). */
static FILE *open_quota(void)
{
        char line[512], path[640];
        FILE *file = fopen("/proc/self/cgroup", "re");

        line[0] = '\0';
        while (file && fgets(line, sizeof(line), file) && strncmp(line, "0::", 3) != 0)
                line[0] = '\0';
        if (file)
                fclose(file);
        line[strcspn(line, "\n")] = '\0';
        if (!line[0])
                return NULL;
        snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", line + 3);
        file = fopen(path, "re");
        return file ? file : fopen("/sys/fs/cgroup/cpu.max", "re"); /* in a container */
}

/* The CPUs that the control group allows, rounded up; `most` without a quota. */
static unsigned quota_cpus(unsigned most)
{
        FILE *file = open_quota();
        unsigned long quota = 0, period = 0, cpus;
        char line[64], *end;

        if (!file)
                return most;
        if (fgets(line, sizeof(line), file)) { /* "max 100000" or "50000 100000" */
                quota = strtoul(line, &end, 10);
                period = strtoul(end, NULL, 10);
        }
        fclose(file);
        if (!quota || !period)
                return most;
        cpus = (quota + period - 1) / period;
        return cpus < most ? (unsigned)cpus : most;
}

unsigned weir__default_loops(void)
{
        cpu_set_t set;
        int cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

        return quota_cpus(cpus > 0 ? (unsigned)cpus : 1);
}
