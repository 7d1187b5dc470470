/* files_kit.h - what the tests of files share: a folder that is filled, served and removed. */
#ifndef WEIR_TESTS_FILES_KIT_H
#define WEIR_TESTS_FILES_KIT_H

#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <weir/files.h>

#define OLD_S    1000000000                      /* when files were changed, unless a test says */
#define OLD_DATE "Sun, 09 Sep 2001 01:46:40 GMT" /* date -u -d @1000000000                     */

static char folder[] = "/tmp/weir-files-XXXXXX";

static inline void folder_new(void)
{
        cr_assert_not_null(mkdtemp(folder));
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st, (void)kind, (void)at;
        return remove(path);
}

static inline void folder_free(void)
{
        cr_assert_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path of a name in the folder; until the fourth call after. */
static inline const char *in_folder(const char *name)
{
        static char path[4][512];
        static unsigned n;
        char *at = path[n++ % 4];

        snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
        return at;
}

static inline void set_time(const char *name, int64_t s)
{
        struct timespec times[2] = { { .tv_sec = s }, { .tv_sec = s } };

        cr_assert_eq(utimensat(AT_FDCWD, in_folder(name), times, 0), 0);
}

static inline void put_bytes(const char *name, const char *bytes, size_t size)
{
        FILE *file = fopen(in_folder(name), "w");

        cr_assert_not_null(file, "%s", name);
        cr_assert_eq(fwrite(bytes, 1, size, file), size);
        cr_assert_eq(fclose(file), 0);
        set_time(name, OLD_S);
}

static inline void put(const char *name, const char *text)
{
        put_bytes(name, text, strlen(text));
}

static inline void put_folder(const char *name)
{
        cr_assert_eq(mkdir(in_folder(name), 0755), 0);
}

static inline void put_link(const char *name, const char *to)
{
        cr_assert_eq(symlink(to, in_folder(name)), 0);
}

/* From here on this process has a kernel without openat2(). */
static inline void forbid_openat2(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

        cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        cr_assert_eq(syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0), -1);
        cr_assert_eq(errno, ENOSYS);
}

/* An app that serves the folder at its root, with these options. */
static inline struct weir *files_app(const struct weir_files *options)
{
        struct weir_files all = options ? *options : (struct weir_files){ 0 };
        struct weir *app = quiet_app();

        all.root = folder;
        weir_use_files(app, &all);
        return app;
}

/* Asks with further header lines, each ended by "\n". */
static inline struct weir_reply *ask_with(struct weir *app, const char *line, const char *fields)
{
        struct weir_reply *reply;
        char request[8192];

        snprintf(request, sizeof(request), "%s\n%s\n", line, fields);
        reply = weir_ask(app, request);
        cr_assert_not_null(reply);
        return reply;
}

#endif
