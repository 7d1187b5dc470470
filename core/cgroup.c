/*
 * cgroup.c - what the machine allows a process, as /proc and /sys say.
 *
 *      /proc/self/cgroup       0::/app/web             version 2
 *                              4:memory:/app/web       version 1, a hierarchy for each controller
 *      /sys/fs/cgroup          /app/web/cpu.max        then /app/cpu.max, then /cpu.max
 *                    /memory   /app/web/memory.limit_in_bytes, ...
 *
 * A group has what it and all around it allow. In a container its path may be that of the host,
 * which is not there: the last file of that walk then is the container's own. What cannot be read,
 * or is not in its form, limits nothing.
 */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH 1024
#define MAX_FILE 8192
#define SYS      "/sys/fs/cgroup"

/* The first bytes of a file as a string; false when there is none, or a NUL in it. */
static bool read_file(const char *root, const char *path, char *text, size_t size)
{
        char full[2 * MAX_PATH];
        ssize_t n;
        int fd;

        if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
                return false;
        fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return false;
        n = read(fd, text, size - 1);
        close(fd);
        if (n <= 0)
                return false;
        text[n] = '\0';
        return strlen(text) == (size_t)n;
}

/* Cuts a number of at most 19 digits off the front. */
static bool take_number(const char **text, uint64_t *number)
{
        size_t len = strspn(*text, "0123456789");

        if (len == 0 || len > 19)
                return false;
        *number = strtoull(*text, NULL, 10);
        *text += len;
        return true;
}

static bool ends(const char *text)
{
        return text[strspn(text, " \n")] == '\0';
}

bool weir__machine_number(const char *root, const char *path, uint64_t *number)
{
        char text[64];
        const char *at = text;

        return read_file(root, path, text, sizeof(text)) && take_number(&at, number) && ends(at);
}

uint64_t weir__machine_memory(const char *root)
{
        char text[MAX_FILE];
        const char *line = read_file(root, "/proc/meminfo", text, sizeof(text))
                                   ? strstr(text, "MemTotal:")
                                   : NULL;
        uint64_t kilobytes;

        if (!line)
                return UINT64_MAX;
        line += strlen("MemTotal:");
        line += strspn(line, " \t");
        if (!take_number(&line, &kilobytes) || strncmp(line, " kB", 3) != 0 ||
            kilobytes > UINT64_MAX / 1024)
                return UINT64_MAX;
        return kilobytes * 1024;
}

/* ---- Groups. ---- */

/* Is `name` one of the names between commas? */
static bool has_name(const char *names, size_t len, const char *name)
{
        const char *end = names + len;

        while (names < end) {
                size_t n = strcspn(names, ",:");

                if (n == strlen(name) && !memcmp(names, name, n))
                        return true;
                names += n + 1;
        }
        return false;
}

/*
 * The path of the group in the hierarchy of `controller`, "" for version 2; the root's where it is
 * not below that.
 */
static void find_group(const char *root, const char *controller, char path[MAX_PATH])
{
        char text[MAX_FILE], *rest = text, *line;

        path[0] = '\0';
        if (!read_file(root, "/proc/self/cgroup", text, sizeof(text)))
                return;
        while ((line = strsep(&rest, "\n"))) {
                char *names = strchr(line, ':');
                char *group = names ? strchr(names + 1, ':') : NULL;
                bool mine;

                if (!group)
                        continue;
                names++;
                mine = *controller ? has_name(names, (size_t)(group - names), controller)
                                   : group == names;
                if (!mine || group[1] != '/' || strlen(group + 1) >= MAX_PATH ||
                    strstr(group, "/.."))
                        continue;
                memcpy(path, group + 1, strlen(group + 1) + 1);
                return;
        }
}

/* Hears of each file `name` of a group and of those around it, the innermost first. */
typedef void hear_fn(const char *root, const char *folder, uint64_t *least);

static void walk(const char *root, const char *base, const char *controller, hear_fn *hear,
                 uint64_t *least)
{
        char group[MAX_PATH], folder[MAX_PATH + 64];

        find_group(root, controller, group);
        for (;;) {
                char *end;

                snprintf(folder, sizeof(folder), "%s%s", base, group);
                hear(root, folder, least);
                end = strrchr(group, '/');
                if (!end)
                        return;
                *end = '\0';
        }
}

static void keep_less(uint64_t *least, uint64_t value)
{
        if (value < *least)
                *least = value;
}

static bool number_in(const char *root, const char *folder, const char *name, uint64_t *number)
{
        char path[MAX_PATH + 128];

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return weir__machine_number(root, path, number);
}

static void hear_quota(uint64_t *least, uint64_t quota_us, uint64_t period_us)
{
        if (quota_us && period_us)
                keep_less(least, quota_us / period_us + (quota_us % period_us != 0));
}

/* "50000 100000", or "max 100000" */
static void hear_cpu_2(const char *root, const char *folder, uint64_t *least)
{
        char path[MAX_PATH + 128], text[64];
        const char *at = text;
        uint64_t quota, period;

        snprintf(path, sizeof(path), "%s/cpu.max", folder);
        if (read_file(root, path, text, sizeof(text)) && take_number(&at, &quota) && *at++ == ' ' &&
            take_number(&at, &period) && ends(at))
                hear_quota(least, quota, period);
}

/* The quota is -1 where there is none. */
static void hear_cpu_1(const char *root, const char *folder, uint64_t *least)
{
        uint64_t quota, period;

        if (number_in(root, folder, "cpu.cfs_quota_us", &quota) &&
            number_in(root, folder, "cpu.cfs_period_us", &period))
                hear_quota(least, quota, period);
}

/* "max" where there is none. */
static void hear_memory_2(const char *root, const char *folder, uint64_t *least)
{
        uint64_t limit;

        if (number_in(root, folder, "memory.max", &limit))
                keep_less(least, limit);
}

/* The largest number of pages where there is none. */
static void hear_memory_1(const char *root, const char *folder, uint64_t *least)
{
        uint64_t limit;

        if (number_in(root, folder, "memory.limit_in_bytes", &limit) && limit < INT64_MAX / 2)
                keep_less(least, limit);
}

unsigned weir__cgroup_cpus(const char *root)
{
        uint64_t least = UINT64_MAX;

        walk(root, SYS, "", hear_cpu_2, &least);
        walk(root, SYS "/cpu", "cpu", hear_cpu_1, &least);
        walk(root, SYS "/cpu,cpuacct", "cpu", hear_cpu_1, &least);
        return least > UINT32_MAX ? 0 : (unsigned)least;
}

uint64_t weir__cgroup_memory(const char *root)
{
        uint64_t least = UINT64_MAX;

        walk(root, SYS, "", hear_memory_2, &least);
        walk(root, SYS "/memory", "memory", hear_memory_1, &least);
        return least;
}
