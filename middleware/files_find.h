/* files_find.h - from the path of a request to an open file below the folder. */
#ifndef WEIR_MIDDLEWARE_FILES_FIND_H
#define WEIR_MIDDLEWARE_FILES_FIND_H

#include "below.h"

#include <limits.h>
#include <sys/stat.h>

#define WEIR__SIBLING 5 /* room for ".zst" and a NUL behind a name */

/* The middleware's self. Nothing in it changes after setup. */
struct weir__files {
        struct weir_files  options; /* with the defaults put in */
        struct weir__below below;
        char               cache_control[64]; /* "": no such field */
};

/* A regular file, open. */
struct weir__file {
        int         fd;
        struct stat st;
        const char *type;           /* of what it is without its coding                  */
        const char *coding;         /* Content-Encoding; NULL: none                      */
        bool        is_fallback;
        char        name[PATH_MAX]; /* below the folder; PATH_MAX - WEIR__SIBLING at most */
};

/* Are these names that a file may have, with a slash between, and maybe one behind the last? */
bool weir__files_is_path(struct weir_str path, bool show_hidden);

/*
 * Finds the file for `path`, decoded, without a slash in front. 0, or -errno as
 * of open(2); -EISDIR is a folder whose path lacks its slash, -EPERM a path that never has a file.
 */
int weir__files_find(const struct weir__files *files, struct weir_str path,
                     struct weir__file *file);

/* The fallback, if there is one for such a path. */
int weir__files_fall_back(const struct weir__files *files, struct weir_str path,
                          struct weir__file *file);

/* Puts the sibling that the client likes best, if there is one, in the place of the file. */
void weir__files_compressed(const struct weir__files *files, const struct weir_ctx *ctx,
                            struct weir__file *file);

#endif
