/*
 * files.h - serves the files below a folder.
 *
 *      weir_use_files(app, &(struct weir_files){ .root = "public", .prefix = "/static" });
 */
#ifndef WEIR_FILES_H
#define WEIR_FILES_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a symbolic link. `root` itself may be one. */
enum weir_files_links {
        WEIR_FILES_NO_LINKS,    /* is not there: 404                                          */
        WEIR_FILES_LINKS_BELOW, /* is followed, unless it is absolute or leads out of `root`;  */
                                /* needs openat2(), Linux 5.6                                 */
        WEIR_FILES_ALL_LINKS,   /* is followed wherever it leads                              */
};

struct weir_files_type {
        const char *extension; /* "glb"; counts in any case                    */
        const char *type;      /* "model/gltf-binary", as it goes out          */
};

/* All texts and the table must outlive the app; literals do. */
struct weir_files {
        const char *root;      /* the folder, opened once, at setup                             */
        const char *prefix;    /* where, below the scope, "/static"; NULL: at the scope itself  */
        const char *index;     /* what a folder answers; NULL: "index.html"; "": nothing, 404   */
        const char *fallback;  /* for apps of one page: a file below `root`, such as            */
                              /* "index.html", in place of a 404 for paths whose last segment  */
                              /* has no '.'; never cached without asking. NULL: none           */
        weir_request_fn *missing;      /* answers when there is no such file; NULL: 404         */
        void            *missing_self;
        bool    show_hidden;   /* serve names that begin with '.'; default: they are not there  */
        enum weir_files_links links;
        const struct weir_files_type *types; /* go before the built-in; end with { 0 }          */
        int64_t max_age_s;     /* Cache-Control: max-age; 0: no-cache; WEIR_NONE: no such field */
        bool    immutable;     /* adds "immutable" to a max_age_s                               */
        bool    precompressed; /* send NAME.br, NAME.zst or NAME.gz for NAME to who accepts it  */
        int64_t max_ranges;    /* of one request; 0: 16; at most 64; WEIR_NONE: no ranges.      */
                            /* Beyond: the whole file                                        */
        uint64_t reserved[4];
};

/*
 * Answers GET and HEAD below `prefix`, as a route "{path...}": routes that name more go before it.
 * With validators, conditional requests (RFC 9110 13) and byte ranges (RFC 9110 14). docs/files.md
 * says more.
 */
WEIR_API void weir_use_files(struct weir *scope, const struct weir_files *options);

#ifdef __cplusplus
}
#endif

#endif
