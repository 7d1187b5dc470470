/* below.h - opening files below a folder, and none outside of it. */
#ifndef WEIR_MIDDLEWARE_BELOW_H
#define WEIR_MIDDLEWARE_BELOW_H

#include <weir/files.h>

struct weir__below {
        int                   folder;
        enum weir_files_links links;
        bool                  walks; /* no openat2() here */
};

/* 0, or -errno; -ENOSYS: LINKS_BELOW without openat2(). */
int weir__below_init(struct weir__below *below, const char *root, enum weir_files_links links);

/*
 * Opens `path`, segments that are neither empty nor dots with a slash between, to read without ever
 * waiting. A descriptor, or -errno. What it is of, the caller looks at.
 */
int weir__below_open(const struct weir__below *below, const char *path);

void weir__below_finish(struct weir__below *below);

#endif
