/* files_find.c - from the path of a request to an open file below the folder. */
#include "files_find.h"

#include "coding.h"
#include "media_type.h"

#include <errno.h>
#include <unistd.h>

static const struct {
        const char *coding, *extension;
} siblings[] = { { "br", ".br" }, { "zstd", ".zst" }, { "gzip", ".gz" } }; /* best first */

#define N_SIBLINGS (sizeof(siblings) / sizeof(siblings[0]))

/* ---- Paths. ---- */

/* A backslash separates names elsewhere: what lies behind such a path is not to depend on that. */
static bool is_name(struct weir_str name, bool show_hidden)
{
        if (!name.len || memchr(name.ptr, '\\', name.len) || memchr(name.ptr, '\0', name.len))
                return false;
        if (weir_str_is(name, ".") || weir_str_is(name, ".."))
                return false;
        return show_hidden || *name.ptr != '.';
}

/* The last segment. */
static struct weir_str base_of(struct weir_str path)
{
        const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

        if (!slash)
                return path;
        return (struct weir_str){ slash + 1, (size_t)(path.ptr + path.len - slash - 1) };
}

bool weir__files_is_path(struct weir_str path, bool show_hidden)
{
        while (path.len) {
                const char *slash = memchr(path.ptr, '/', path.len);
                struct weir_str name = { path.ptr, slash ? (size_t)(slash - path.ptr) : path.len };
                size_t taken = name.len + (slash != NULL);

                if (!is_name(name, show_hidden))
                        return false;
                path.ptr += taken;
                path.len -= taken;
        }
        return true;
}

/* ---- Files. ---- */

/* 0, or -errno: -EISDIR for a folder, -ENOENT for a device, FIFO or socket. */
static int open_regular(const struct weir__files *files, const char *name, int *fd, struct stat *st)
{
        int error = -ENOENT;

        *fd = weir__below_open(&files->below, name);
        if (*fd < 0)
                return *fd;
        if (fstat(*fd, st) < 0)
                error = -errno;
        else if (S_ISREG(st->st_mode))
                return 0;
        else if (S_ISDIR(st->st_mode))
                error = -EISDIR;
        close(*fd);
        return error;
}

static int open_named(const struct weir__files *files, struct weir__file *file, bool is_fallback)
{
        file->type = weir__media_type(file->name, files->options.types);
        file->coding = NULL;
        file->is_fallback = is_fallback;
        return open_regular(files, file->name, &file->fd, &file->st);
}

int weir__files_find(const struct weir__files *files, struct weir_str path, struct weir__file *file)
{
        const char *index = files->options.index;
        bool is_folder = base_of(path).len == 0;
        int error;

        if (!weir__files_is_path(path, files->options.show_hidden))
                return -EPERM;
        if (path.len + strlen(index) + WEIR__SIBLING > sizeof(file->name))
                return -ENAMETOOLONG;
        if (path.len)
                memcpy(file->name, path.ptr, path.len);
        file->name[path.len] = '\0';
        if (!is_folder)
                return open_named(files, file, false);
        if (!*index)
                return -ENOENT;
        memcpy(file->name + path.len, index, strlen(index) + 1);
        error = open_named(files, file, false);
        return error == -EISDIR ? -ENOENT : error;
}

int weir__files_fall_back(const struct weir__files *files, struct weir_str path,
                          struct weir__file *file)
{
        const char *fallback = files->options.fallback;
        struct weir_str base = base_of(path);

        if (!fallback || (base.len && memchr(base.ptr, '.', base.len)))
                return -ENOENT;
        memcpy(file->name, fallback, strlen(fallback) + 1); /* its length was checked at setup */
        return open_named(files, file, true);
}

/* ---- Compressed siblings. ---- */

/* One that is older than the file was made of another. */
static bool is_older(const struct stat *a, const struct stat *b)
{
        if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
                return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
        return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

static bool use_sibling(const struct weir__files *files, struct weir__file *file, size_t n)
{
        size_t len = strlen(file->name);
        struct stat st;
        int fd, error;

        memcpy(file->name + len, siblings[n].extension, strlen(siblings[n].extension) + 1);
        error = open_regular(files, file->name, &fd, &st);
        file->name[len] = '\0';
        if (error)
                return false;
        if (is_older(&st, &file->st)) {
                close(fd);
                return false;
        }
        close(file->fd);
        file->fd = fd;
        file->st = st;
        file->coding = siblings[n].coding;
        return true;
}

void weir__files_compressed(const struct weir__files *files, const struct weir_ctx *ctx,
                            struct weir__file *file)
{
        unsigned weight[N_SIBLINGS];

        for (size_t i = 0; i < N_SIBLINGS; i++)
                weight[i] = weir__coding_weight(ctx, siblings[i].coding);
        for (;;) {
                size_t best = 0;

                for (size_t i = 1; i < N_SIBLINGS; i++) {
                        if (weight[i] > weight[best])
                                best = i;
                }
                if (!weight[best] || use_sibling(files, file, best))
                        return;
                weight[best] = 0;
        }
}
