/*
 * below.c - opens files below a folder, and none outside of it.
 *
 * openat2() lets the kernel see to it, in one call. Where there is none (before Linux 5.6, or
 * behind an old seccomp filter) a walk opens one segment after the other and follows no link. Both
 * start from a descriptor of the folder, so what happens above it does not matter; and both open
 * what they looked at, so nobody can put another thing in its place in between.
 */
#include "below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_NONBLOCK, since opening a FIFO would wait for somebody who writes. */
#define READ  (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define ENTER (O_PATH | O_DIRECTORY | O_CLOEXEC)

#define MAX_TRIES 8

static int open_plain(int folder, const char *path, int flags)
{
        int fd;

        do
                fd = openat(folder, path, flags);
        while (fd < 0 && errno == EINTR);
        return fd < 0 ? -errno : fd;
}

/* EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether it is still below. */
static int open_resolved(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
        struct open_how how = { .flags = flags, .resolve = resolve };
        long fd = -1;

        for (int tries = 0; tries < MAX_TRIES; tries++) {
                fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
                if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
                        break;
        }
        return fd < 0 ? -errno : (int)fd;
}

static int walk(int folder, const char *path)
{
        const char *slash;
        int at = folder;

        while ((slash = strchr(path, '/'))) {
                char name[NAME_MAX + 1];
                size_t len = (size_t)(slash - path);
                int next = -ENAMETOOLONG;

                if (len < sizeof(name)) {
                        memcpy(name, path, len);
                        name[len] = '\0';
                        next = open_plain(at, name, ENTER | O_NOFOLLOW);
                }
                if (at != folder)
                        close(at);
                if (next < 0)
                        return next;
                at = next;
                path = slash + 1;
        }
        int fd = open_plain(at, path, READ | O_NOFOLLOW);

        if (at != folder)
                close(at);
        return fd;
}

static uint64_t resolve_of(enum weir_files_links links)
{
        uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

        return links == WEIR_FILES_LINKS_BELOW ? resolve : resolve | RESOLVE_NO_SYMLINKS;
}

int weir__below_open(const struct weir__below *below, const char *path)
{
        if (below->links == WEIR_FILES_ALL_LINKS)
                return open_plain(below->folder, path, READ);
        if (below->walks)
                return walk(below->folder, path);
        return open_resolved(below->folder, path, READ, resolve_of(below->links));
}

int weir__below_init(struct weir__below *below, const char *root, enum weir_files_links links)
{
        int folder = open_plain(AT_FDCWD, root, ENTER), probe;

        *below = (struct weir__below){ .folder = folder, .links = links };
        if (folder < 0)
                return folder;
        probe = open_resolved(folder, ".", ENTER, resolve_of(links));
        below->walks = probe < 0;
        if (probe >= 0)
                close(probe);
        if (!below->walks || links != WEIR_FILES_LINKS_BELOW)
                return 0;
        weir__below_finish(below);
        return -ENOSYS;
}

void weir__below_finish(struct weir__below *below)
{
        if (below->folder >= 0)
                close(below->folder);
        below->folder = -1;
}
