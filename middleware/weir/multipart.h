/*
 * multipart.h - forms with files: multipart/form-data (RFC 7578), taken apart as it comes in.
 *
 *      static enum weir_flow save(struct weir_ctx *ctx, void *self, struct weir_parts *parts)
 *      {
 *              const struct weir_part *photo = weir_part(parts, "photo");
 *
 *              if (!photo || photo->fd < 0)
 *                      return weir_fail(ctx, 422, "there is no photo");
 *              ...
 *      }
 *
 *      weir_multipart(app, "/photos", save, self, &(struct weir_multipart_options){ 0 });
 *
 * Fields are kept in memory, files in temporary files without a name: they are gone with the
 * request, unless the handler gives them one. Since a disk may be slow, such a route is .blocking:
 * all of it runs on workers. Where the client cuts its pieces never counts, and
 * time grows with the size of the form alone.
 */
#ifndef WEIR_MULTIPART_H
#define WEIR_MULTIPART_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One field or file. The views live as long as the request. */
struct weir_part {
        struct weir_str name;
        struct weir_str filename; /* without folders; absent: a field                   */
        struct weir_str type;     /* Content-Type; "text/plain" when it is not said     */
        struct weir_str value;    /* of a field                                         */
        int             fd;       /* of a file, at its start; -1: a field, or on_file   */
        uint64_t        size;     /* bytes                                              */
};

struct weir_parts;

/* The form is in: a handler. weir closes the descriptors, and frees the parts, behind it. */
typedef enum weir_flow weir_parts_fn(struct weir_ctx *ctx, void *self, struct weir_parts *parts);

/*
 * Gets a file as it comes in: pieces, then an empty one with `last`. WEIR_NEXT takes it, WEIR_DONE
 * ends the upload with an answer. It may not wait: use .blocking.
 */
typedef enum weir_flow weir_part_fn(struct weir_ctx *ctx, void *self, const struct weir_part *part,
                                    struct weir_str piece, bool last);

struct weir_multipart_options {
        struct weir_route_options route; /* on_body is not yours; max_body counts all of it      */
        int           method;      /* 0: WEIR_POST                                               */
        int64_t       max_parts;   /* 0: 100; beyond: 413. Files that were not chosen count too  */
        int64_t       max_files;   /* temporary ones, a descriptor each; 0: 16; beyond: 413      */
        int64_t       max_field;   /* bytes of a value; 0: 64 KiB; beyond: 413                   */
        int64_t       max_fields;  /* bytes of all names and values; 0: 1 MiB; beyond: 413       */
        int64_t       max_file;    /* bytes of a file; 0: what max_body leaves; beyond: 413      */
        int64_t       max_head;    /* bytes of the head of a part; 0: 4 KiB; beyond: 413         */
        const char   *folder;      /* for temporary files; NULL: what TMPDIR names, or /tmp      */
        weir_part_fn *on_file;     /* gets files, in place of temporary ones; the handler's self */
        uint64_t      reserved[4];
};

struct weir_multipart; /* the route, for weir_multipart_stats() */

/*
 * A route for forms. Another media type is answered 415, a form that is malformed or ends too early
 * 400, a full disk 507. Returns the route, or NULL after a setup error. All such routes take one
 * slot of the app.
 */
WEIR_API struct weir_multipart *weir_multipart(struct weir *scope, const char *pattern,
                                               weir_parts_fn *fn, void *self,
                                               const struct weir_multipart_options *options);

/* The first part `name`, or NULL. */
WEIR_API const struct weir_part *weir_part(const struct weir_parts *parts, const char *name);

/* The part behind `part`, in the order of the form; NULL: the first. NULL at the end. */
WEIR_API const struct weir_part *weir_part_next(const struct weir_parts *parts,
                                                const struct weir_part  *part);

/* The descriptor of a file, which the caller closes from now on. */
WEIR_API int weir_part_take(struct weir_parts *parts, const struct weir_part *part);

/* Counters since the setup. */
struct weir_multipart_stats {
        uint64_t forms;      /* that the handler has got                */
        uint64_t malformed;  /* 400                                     */
        uint64_t too_many;   /* 413: over max_parts or max_files        */
        uint64_t too_large;  /* 413: over max_field, max_fields, max_file or max_head */
        uint64_t not_stored; /* 500 or 507: the disk                    */
        uint64_t reserved[3];
};

/* Any thread. */
WEIR_API void weir_multipart_stats(const struct weir_multipart *route,
                                   struct weir_multipart_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
