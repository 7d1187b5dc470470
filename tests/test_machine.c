/*
 * test_machine.c - claims about what is found on a machine, on machines of files.
 */
#include "kit.h"

#include "../core/app.h"
#include "../core/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/weir-machine-XXXXXX";

static void make_root(void)
{
        cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
        char command[64];

        snprintf(command, sizeof(command), "rm -rf %s", root);
        cr_assert_eq(system(command), 0);
}

TestSuite(machine, .init = make_root, .fini = remove_root);

/* Writes a file of the machine, folders and all. */
static void put_bytes(const char *path, const char *bytes, size_t size)
{
        char full[512];
        int fd;

        snprintf(full, sizeof(full), "%s%s", root, path);
        for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(full, 0700);
                *slash = '/';
        }
        fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        cr_assert_geq(fd, 0, "%s", full);
        cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
        close(fd);
}

static void put(const char *path, const char *text)
{
        put_bytes(path, text, strlen(text));
}

/* A machine on which nothing is short. */
static void put_all(void)
{
        put("/proc/self/cgroup", "0::/\n");
        put("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\n");
        put("/proc/sys/net/core/somaxconn", "4096\n");
        put("/proc/sys/net/ipv4/tcp_syncookies", "1\n");
        put("/proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n");
}

static struct weir *app_on(const struct weir_options *options)
{
        struct weir_options quiet = *options;
        struct weir *app;

        quiet.log = drop_log;
        app = weir_new(&quiet);
        app->app->machine_root = root;
        return app;
}

/* What the app finds, which must be one thing, or none for NULL. Frees the app. */
static struct weir_machine_finding only(struct weir *app, const char *name)
{
        struct weir_machine_finding findings[8] = { 0 };
        unsigned n = weir_check_machine(app, findings, 8);

        cr_assert_eq(n, name ? 1 : 0, "%u findings: %s", n, findings[0].text);
        if (name)
                cr_assert_str_eq(findings[0].name, name);
        weir_free(app);
        return findings[0];
}

static void limit_files(uint64_t soft, uint64_t hard)
{
        struct rlimit limit = { soft, hard };

        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* ---- Findings. ---- */

Test(machine, nothing_is_found_where_nothing_is_short_or_known)
{
        limit_files(1000, 1000);
        only(app_on(&(struct weir_options){ .loops = 1 }), NULL);
        put_all();
        only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 936 }), NULL);
        cr_assert_eq(weir_check_machine(NULL, NULL, 0), 0);
}

Test(machine, connections_need_files)
{
        struct weir_machine_finding found;

        put_all();
        limit_files(500, 1000);
        found = only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 437 }),
                     "open_files");
        cr_assert_eq(found.wants, 437 + 64);
        cr_assert_eq(found.has, 500);
        cr_assert_str_eq(found.mend, "ulimit -n 501");
        found = only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 1000 }),
                     "open_files");
        cr_assert_not_null(strstr(found.mend, "LimitNOFILE=1064"));
        only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 436 }), NULL);
}

Test(machine, connections_need_memory)
{
        struct weir_machine_finding found;

        put_all();
        limit_files(4000, 4000);
        put("/sys/fs/cgroup/memory.max", "16777216\n");
        found = only(app_on(&(struct weir_options){ .loops = 1 }), "memory");
        cr_assert_eq(found.has, 16777216);
        cr_assert_eq(found.wants, 3936 * (16384 + 1400));
        only(app_on(&(struct weir_options){ .loops = 1, .connection_memory = 2048 }), NULL);
        only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 900 }), NULL);
        put("/sys/fs/cgroup/memory.max", "max\n");
        put("/proc/meminfo", "MemTotal:       16384 kB\n");
        only(app_on(&(struct weir_options){ .loops = 1 }), NULL); /* nobody asked for that many */
        only(app_on(&(struct weir_options){ .loops = 1, .max_connections = 1000 }), "memory");
}

Test(machine, loops_need_cpus)
{
        struct weir_machine_finding found;
        cpu_set_t one;

        put_all();
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
        limit_files(1000, 1000);
        found = only(app_on(&(struct weir_options){ .loops = 3 }), "cpus");
        cr_assert_eq(found.wants, 3);
        cr_assert_eq(found.has, 1);
        cr_assert_str_eq(found.mend, "set .loops to 1");
        only(app_on(&(struct weir_options){ .loops = 1 }), NULL);
        only(app_on(&(struct weir_options){ 0 }), NULL); /* as many as there are */
}

Test(machine, listeners_need_the_kernels_backlog)
{
        struct weir_machine_finding found;
        struct weir *app;

        put_all();
        limit_files(1000, 1000);
        put("/proc/sys/net/core/somaxconn", "128\n");
        found = only(app_on(&(struct weir_options){ .loops = 1 }), "backlog");
        cr_assert_eq(found.wants, 4096);
        cr_assert_eq(found.has, 128);
        cr_assert_str_eq(found.mend, "sysctl -w net.core.somaxconn=4096");
        app = app_on(&(struct weir_options){ .loops = 1 });
        weir_listen(app, "127.0.0.1:0", &(struct weir_listen_options){ .backlog = 128 });
        only(app, NULL);
}

Test(machine, handshakes_need_a_queue_where_there_are_no_cookies)
{
        struct weir *app;

        put_all();
        limit_files(1000, 1000);
        put("/proc/sys/net/ipv4/tcp_syncookies", "0\n");
        cr_assert_str_eq(only(app_on(&(struct weir_options){ .loops = 1 }), "handshakes").mend,
                         "sysctl -w net.ipv4.tcp_syncookies=1");
        app = app_on(&(struct weir_options){ .loops = 1 });
        weir_listen(app, "unix:machine.sock", NULL);
        only(app, NULL);
        put("/proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n");
        only(app_on(&(struct weir_options){ .loops = 1 }), NULL);
}

Test(machine, all_are_counted_though_there_is_no_place_for_them)
{
        struct weir_machine_finding findings[3] = { 0 };
        struct weir *app;

        put_all();
        limit_files(100, 100);
        put("/sys/fs/cgroup/memory.max", "1048576\n");
        put("/proc/sys/net/core/somaxconn", "128\n");
        app = app_on(&(struct weir_options){ .loops = 1024, .max_connections = 1000 });
        cr_assert_eq(weir_check_machine(app, NULL, 0), 4);
        cr_assert_eq(weir_check_machine(app, findings, 2), 4);
        cr_assert_str_eq(findings[0].name, "open_files");
        cr_assert_str_eq(findings[1].name, "memory");
        cr_assert_null(findings[2].name);
        weir_free(app);
}

/* ---- What a start says. ---- */

static unsigned n_warnings;

static void keep_warnings(void *arg, enum weir_level level, const char *line)
{
        (void)arg;
        if (level != WEIR_LOG_WARNING)
                return;
        n_warnings++;
        cr_assert_not_null(strstr(line, "net.core.somaxconn"), "%s", line);
        cr_assert_not_null(strstr(line, "sysctl -w net.core.somaxconn=4096"), "%s", line);
}

Test(machine, a_start_says_what_it_found_once)
{
        struct weir *app = weir_new(
                &(struct weir_options){ .loops = 1, .max_connections = 10, .log = keep_warnings });

        put_all();
        put("/proc/sys/net/core/somaxconn", "128\n");
        app->app->machine_root = root;
        weir_listen(app, "127.0.0.1:0", NULL);
        for (int i = 0; i < 2; i++) {
                started(app);
                weir_stop(app);
                cr_assert_eq(n_warnings, 1);
        }
        weir_free(app);
}

/* ---- Control groups. ---- */

Test(machine, a_quota_counts_whole_cpus_of_the_tightest_group_around)
{
        put("/proc/self/cgroup", "0::/app/web\n");
        cr_assert_eq(weir__cgroup_cpus(root), 0);
        put("/sys/fs/cgroup/app/web/cpu.max", "max 100000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 0);
        put("/sys/fs/cgroup/app/web/cpu.max", "250000 100000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 3);
        put("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 2);
        put("/sys/fs/cgroup/cpu.max", "1 100000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 1);
}

Test(machine, version_1_has_a_hierarchy_for_each_controller)
{
        put("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c/d\n1:name=systemd:/x\n0::/\n");
        put("/sys/fs/cgroup/cpu,cpuacct/c/d/cpu.cfs_quota_us", "-1\n");
        put("/sys/fs/cgroup/cpu,cpuacct/c/d/cpu.cfs_period_us", "100000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 0);
        put("/sys/fs/cgroup/cpu,cpuacct/c/d/cpu.cfs_quota_us", "150000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 2);
        put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
        cr_assert_eq(weir__cgroup_memory(root), UINT64_MAX);
        put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000000\n");
        cr_assert_eq(weir__cgroup_memory(root), 1000000);
}

Test(machine, in_a_container_the_path_may_be_one_of_the_host)
{
        put("/proc/self/cgroup", "4:memory:/docker/0123\n0::/system.slice/docker-0123.scope\n");
        put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
        cr_assert_eq(weir__cgroup_cpus(root), 1);
        cr_assert_eq(weir__cgroup_memory(root), 5000000);
}

Test(machine, what_is_not_in_its_form_limits_nothing)
{
        static const char *const bad[] = {
                "",   "\n",    "-5",   "+5",   " 5",         "5x",
                "5 ", "5\n6",  "0x10", "1e9",  "5 6",        "12345678901234567890",
                "5 ", "max 5", "5 6 7", "5 -6", "5  6", "99999999999999999999999999 1",
        };
        uint64_t number;

        put("/proc/self/cgroup", "0::/\n");
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                bool blank = !strcmp(bad[i], "5 "); /* a blank behind it is none of its */

                put("/number", bad[i]);
                cr_assert_eq(weir__machine_number(root, "/number", &number), blank, "%s", bad[i]);
                put("/sys/fs/cgroup/memory.max", bad[i]);
                cr_assert_eq(weir__cgroup_memory(root), blank ? 5 : UINT64_MAX, "%s", bad[i]);
                put("/sys/fs/cgroup/cpu.max", bad[i]);
                cr_assert_eq(weir__cgroup_cpus(root), !strcmp(bad[i], "5 6") ? 1 : 0, "%s", bad[i]);
                put("/proc/meminfo", bad[i]);
                cr_assert_eq(weir__machine_memory(root), UINT64_MAX);
        }
        put("/sys/fs/cgroup/cpu.max", "0 0\n");
        cr_assert_eq(weir__cgroup_cpus(root), 0);
        put("/sys/fs/cgroup/cpu.max", "5 0\n");
        cr_assert_eq(weir__cgroup_cpus(root), 0);
        put_bytes("/number", "5\0006", 3);
        cr_assert_not(weir__machine_number(root, "/number", &number));
        put("/proc/meminfo", "MemTotal:  9999999999999999999 kB\n");
        cr_assert_eq(weir__machine_memory(root), UINT64_MAX);
        put("/proc/meminfo", "MemTotal:  16 MB\n");
        cr_assert_eq(weir__machine_memory(root), UINT64_MAX);
}

Test(machine, a_group_leads_nowhere_else_and_may_be_of_any_length)
{
        static char text[20000];

        put("/secret/memory.max", "77\n");
        put("/sys/fs/cgroup/memory.max", "5000\n");
        put("/proc/self/cgroup", "0::/../../../secret\n");
        cr_assert_eq(weir__cgroup_memory(root), 5000);
        put("/proc/self/cgroup", "0::secret\n0:\n:\n\n::\n0::\n");
        cr_assert_eq(weir__cgroup_memory(root), 5000);
        for (size_t len = 1000; len < sizeof(text); len += 333) {
                memset(text, 'a', len);
                memcpy(text, "0::/", 4);
                put_bytes("/proc/self/cgroup", text, len);
                cr_assert_eq(weir__cgroup_memory(root), 5000);
                memset(text, '/', len);
                memcpy(text, "0::/", 4);
                put_bytes("/proc/self/cgroup", text, len);
                cr_assert_eq(weir__cgroup_memory(root), 5000);
        }
        put_bytes("/proc/self/cgroup", "0::/\0\n", 6);
        cr_assert_eq(weir__cgroup_memory(root), 5000);
}
