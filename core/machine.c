/*
 * machine.c - what on this machine will bite an app once it is busy.
 *
 * Each check compares one number that the app wants with one that there is, and says in plain words
 * what will happen and what mends it. What cannot be read is fine.
 */
#include "cgroup.h"
#include "server.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <weir/machine.h>

#define MAX_FINDINGS     8
#define USUAL_BACKLOG    4096 /* what kernels allow since 5.4 */
#define CONNECTION_EXTRA 1400 /* bytes of a connection beside connection_memory */

/* The findings so far. */
struct list {
        const struct weir__app      *app;
        struct weir_machine_finding *at;
        unsigned                     n, most;
};

/* Adds one; gives a place to write texts to, even behind the last that is wanted. */
static struct weir_machine_finding *add(struct list *list, struct weir_machine_finding *spare,
                                        const char *name, uint64_t wants, uint64_t has)
{
        struct weir_machine_finding *finding = list->n < list->most ? &list->at[list->n] : spare;

        list->n++;
        *finding = (struct weir_machine_finding){ .name = name, .wants = wants, .has = has };
        return finding;
}

static void WEIR_PRINTF(2, 3) say(struct weir_machine_finding *finding, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(finding->text, sizeof(finding->text), fmt, args);
        va_end(args);
}

static void WEIR_PRINTF(2, 3) mend(struct weir_machine_finding *finding, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vsnprintf(finding->mend, sizeof(finding->mend), fmt, args);
        va_end(args);
}

/* ---- This process. ---- */

/* Without max_connections the limit is where that comes from. */
static void check_files(struct list *list, struct weir_machine_finding *spare)
{
        uint64_t most = (uint64_t)list->app->options.max_connections;
        uint64_t wants = most + WEIR__SPARE_FDS;
        struct rlimit limit;
        struct weir_machine_finding *finding;

        if (!most || getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wants)
                return;
        finding = add(list, spare, "open_files", wants, limit.rlim_cur);
        say(finding,
             "max_connections is %" PRIu64 ", but this process may open %" PRIu64 " files: once "
             "they are, new connections wait",
             most, (uint64_t)limit.rlim_cur);
        if (limit.rlim_max >= wants)
                mend(finding, "ulimit -n %" PRIu64, wants);
        else
                mend(finding, "LimitNOFILE=%" PRIu64 " in the unit, or ulimit -n as root", wants);
}

static void check_cpus(struct list *list, struct weir_machine_finding *spare)
{
        unsigned loops = weir__loops(list->app);
        unsigned cpus = weir__usable_cpus(list->app->machine_root);
        struct weir_machine_finding *finding;

        if (loops <= cpus)
                return;
        finding = add(list, spare, "cpus", loops, cpus);
        say(finding,
             "%u loops share %u CPU%s, by affinity or the quota of the control group: when busy "
             "they hold each other up",
             loops, cpus, cpus == 1 ? "" : "s");
        mend(finding, "set .loops to %u", cpus);
}

/* What descriptors allow is no promise to have that many connections, unless somebody set it. */
static void check_memory(struct list *list, struct weir_machine_finding *spare)
{
        const struct weir_options *options = &list->app->options;
        uint64_t each = options->connection_memory + CONNECTION_EXTRA;
        uint64_t most = weir__connection_limit(options), wants = most * each;
        uint64_t has = weir__cgroup_memory(list->app->machine_root);
        uint64_t all = weir__machine_memory(list->app->machine_root);
        struct weir_machine_finding *finding;

        if (options->max_connections && all < has)
                has = all;
        if (wants <= has)
                return;
        finding = add(list, spare, "memory", wants, has);
        say(finding,
             "%" PRIu64 " connections take %" PRIu64 " MiB, but there are %" PRIu64 " MiB of "
             "memory: before they are all open, the process may be killed",
             most, wants >> 20, has >> 20);
        mend(finding, "set .max_connections to %" PRIu64 ", or .connection_memory to less",
             has / 2 / each);
}

/* ---- The kernel's queues of clients. ---- */

/* The longest backlog that a listener asks for, or is good with; of TCP alone, or 0. */
static uint64_t longest_backlog(const struct weir__app *app, bool tcp)
{
        uint64_t longest = app->listens ? 0 : USUAL_BACKLOG;

        for (const struct weir__listen *listen = app->listens; listen; listen = listen->next) {
                int backlog = listen->options.backlog;
                uint64_t wants = backlog > 0 ? (uint64_t)backlog : USUAL_BACKLOG;

                if (tcp && listen->address && !strncmp(listen->address, "unix:", 5))
                        continue;
                longest = wants > longest ? wants : longest;
        }
        return longest;
}

static void check_backlog(struct list *list, struct weir_machine_finding *spare)
{
        uint64_t wants = longest_backlog(list->app, false), has;
        struct weir_machine_finding *finding;

        if (!weir__machine_number(list->app->machine_root, "/proc/sys/net/core/somaxconn", &has) ||
            has >= wants)
                return;
        finding = add(list, spare, "backlog", wants, has);
        say(finding,
             "%" PRIu64 " clients are to fit into the backlog, but the kernel keeps %" PRIu64
             " (net.core.somaxconn): in a rush the others try again a second later",
             wants, has);
        mend(finding, "sysctl -w net.core.somaxconn=%" PRIu64, wants);
}

/* With cookies a full queue of handshakes loses nobody. */
static void check_handshakes(struct list *list, struct weir_machine_finding *spare)
{
        const char *root = list->app->machine_root;
        uint64_t wants = longest_backlog(list->app, true), cookies, has;
        struct weir_machine_finding *finding;

        if (!weir__machine_number(root, "/proc/sys/net/ipv4/tcp_syncookies", &cookies) || cookies ||
            !weir__machine_number(root, "/proc/sys/net/ipv4/tcp_max_syn_backlog", &has) ||
            has >= wants)
                return;
        finding = add(list, spare, "handshakes", wants, has);
        say(finding,
             "%" PRIu64 " clients may connect at once, but %" PRIu64 " handshakes fit into the "
             "kernel's queue (net.ipv4.tcp_max_syn_backlog) and SYN cookies are off: a flood keeps "
             "all others out",
             wants, has);
        mend(finding, "sysctl -w net.ipv4.tcp_syncookies=1");
}

/* ---- All. ---- */

unsigned weir_check_machine(const struct weir *root, struct weir_machine_finding *findings,
                            unsigned n)
{
        struct weir_machine_finding spare;
        struct list list = { .app = root ? root->app : NULL, .at = findings, .most = n };

        if (!list.app)
                return 0;
        check_files(&list, &spare);
        check_memory(&list, &spare);
        check_cpus(&list, &spare);
        check_backlog(&list, &spare);
        check_handshakes(&list, &spare);
        return list.n;
}

void weir__machine_tell(struct weir__app *app)
{
        struct weir_machine_finding findings[MAX_FINDINGS];
        unsigned n = app->machine_told ? 0 : weir_check_machine(&app->root, findings, MAX_FINDINGS);

        app->machine_told = true;
        for (unsigned i = 0; i < n && i < MAX_FINDINGS; i++)
                weir_log(&app->root, WEIR_LOG_WARNING, "%s: %s", findings[i].text,
                         findings[i].mend);
}
