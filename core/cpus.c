/* cpus.c - how many CPUs this process may use: by affinity, and by its control group. */
#include "cgroup.h"
#include "server.h"

#include <sched.h>

unsigned weir__usable_cpus(const char *root)
{
        cpu_set_t set;
        int own = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
        unsigned cpus = own > 0 ? (unsigned)own : 1, quota = weir__cgroup_cpus(root);

        return quota && quota < cpus ? quota : cpus;
}

unsigned weir__loops(const struct weir__app *app)
{
        return app->options.loops ? app->options.loops : weir__usable_cpus(app->machine_root);
}
