/*
 * files.c - serves the files below a folder.
 *
 * It is a group of its own with one route, "{path...}", and one link before the handler of that
 * route. The link answers when there is a file; when there is none the request goes on to the
 * handler, which is what `missing` says. A miss (405 and the like) passes the link too: it has no
 * path parameter, and is left alone.
 *
 * A request opens its file, looks at it and sends it from that descriptor, so all that is said
 * about it is about the same file.
 */
#include <weir/files.h>

#include "condition.h"
#include "files_find.h"
#include "http_date.h"
#include "parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_MAX_RANGES 16
#define YOUNG_S            2 /* FAT, the coarsest, tells times apart by so much */

/* ---- Validators. ---- */

struct identity {
        struct weir__validators v;
        char                    etag[64];
        char                    date[WEIR__HTTP_DATE];
};

/*
 * Inode, size and time of change tell files apart that rename() puts in each other's place, and
 * states of one file, but for those within one tick of the file system's clock. So while the last
 * change is young the tag is weak, as RFC 9110 8.8.1 has it; two states with one tag are then both
 * older than any strong one. A time of change that was set by hand, to what it had been before, for
 * another content of the same size, goes unnoticed. The clock is that of the file system.
 */
static void identify(struct identity *id, const struct stat *st)
{
        struct timespec now;
        int len = snprintf(id->etag, sizeof(id->etag),
                           "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%lx\"", (uint64_t)st->st_ino,
                           (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                           (unsigned long)st->st_mtim.tv_nsec);

        clock_gettime(CLOCK_REALTIME, &now);
        id->v = (struct weir__validators){
                .etag = { id->etag, (size_t)len },
                .weak = st->st_mtim.tv_sec + YOUNG_S >= now.tv_sec,
                .modified_s = st->st_mtim.tv_sec,
                .now_s = now.tv_sec,
        };
        /* RFC 9110 8.8.2.1: never later than Date */
        weir__http_date(id->date,
                        st->st_mtim.tv_sec < now.tv_sec ? st->st_mtim.tv_sec : now.tv_sec);
}

/* ---- Answers. ---- */

/* What a 304 has too. Fields that a middleware has set before stay. */
static void set_common_fields(struct weir_ctx *ctx, const struct weir__files *files,
                              const struct weir__file *file, const struct identity *id)
{
        const char *cache = file->is_fallback && *files->cache_control ? "no-cache"
                                                                       : files->cache_control;

        weir_set_headerf(ctx, "ETag", "%s%s", id->v.weak ? "W/" : "", id->etag);
        if (*cache)
                weir_set_default_header(ctx, "Cache-Control", cache);
        if (files->options.precompressed)
                weir_add_header(ctx, "Vary", "Accept-Encoding");
}

static void set_content_fields(struct weir_ctx *ctx, const struct weir__files *files,
                               const struct weir__file *file, const struct identity *id)
{
        weir_set_header(ctx, "Last-Modified", id->date);
        weir_set_header(ctx, "X-Content-Type-Options", "nosniff");
        if (files->options.max_ranges > 0)
                weir_set_header(ctx, "Accept-Ranges", "bytes");
        if (file->coding)
                weir_set_header(ctx, "Content-Encoding", file->coding);
}

static enum weir_flow send_whole(struct weir_ctx *ctx, const struct weir__file *file)
{
        return weir_file(ctx, 200, file->type, file->fd, 0, (uint64_t)file->st.st_size);
}

static enum weir_flow send_range(struct weir_ctx *ctx, const struct weir__file *file,
                                 const struct weir__range *range)
{
        weir_set_headerf(ctx, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                         range->first, range->first + range->length - 1,
                         (uint64_t)file->st.st_size);
        return weir_file(ctx, 206, file->type, file->fd, range->first, range->length);
}

static enum weir_flow send_unsatisfied(struct weir_ctx *ctx, const struct weir__file *file)
{
        close(file->fd);
        weir_set_headerf(ctx, "Content-Range", "bytes */%" PRIu64, (uint64_t)file->st.st_size);
        return weir_fail(ctx, 416, NULL);
}

/* What the client asks for, and may have: Range counts for GET alone (RFC 9110 14.2), once. */
static enum weir__range_status read_range(const struct weir_ctx *ctx,
                                          const struct weir__files *files,
                                          const struct weir__file *file, const struct identity *id,
                                          struct weir__ranges *ranges)
{
        size_t cursor = 0;
        struct weir_str field = weir_header_next(ctx, "Range", &cursor);

        if (!field.ptr || ctx->method != WEIR_GET || files->options.max_ranges < 0 ||
            weir_header_next(ctx, "Range", &cursor).ptr || !weir__if_range(ctx, &id->v))
                return WEIR__RANGE_IGNORED;
        return weir__ranges_read(field, (uint64_t)file->st.st_size,
                                 (unsigned)files->options.max_ranges, ranges);
}

static enum weir_flow send_content(struct weir_ctx *ctx, const struct weir__files *files,
                                   const struct weir__file *file, const struct identity *id)
{
        struct weir__ranges ranges;
        enum weir__range_status status = read_range(ctx, files, file, id, &ranges);

        if (status == WEIR__RANGE_NONE)
                return send_unsatisfied(ctx, file);
        set_common_fields(ctx, files, file, id);
        set_content_fields(ctx, files, file, id);
        if (status == WEIR__RANGE_SOME && ranges.n == 1)
                return send_range(ctx, file, &ranges.at[0]);
        if (status == WEIR__RANGE_SOME &&
            weir__parts_send(ctx, file->fd, (uint64_t)file->st.st_size, file->type, &ranges))
                return WEIR_DONE;
        return send_whole(ctx, file);
}

/*
 * A 304 takes the file too, which is not sent: it says the Content-Length of a 200, as it may (RFC
 * 9110 8.6), and a bare one would close the connection (docs/limits.md).
 */
static enum weir_flow send_file(struct weir_ctx *ctx, const struct weir__files *files,
                                struct weir__file *file)
{
        struct identity id = { 0 };

        if (files->options.precompressed)
                weir__files_compressed(files, ctx, file);
        identify(&id, &file->st);
        switch (weir__condition(ctx, &id.v)) {
        case WEIR__HOLDS:
                break;
        case WEIR__NOT_MODIFIED:
                set_common_fields(ctx, files, file, &id);
                return weir_file(ctx, 304, NULL, file->fd, 0, (uint64_t)file->st.st_size);
        case WEIR__FAILED:
                close(file->fd);
                return weir_fail(ctx, 412, NULL);
        }
        return send_content(ctx, files, file, &id);
}

/* The same name with a slash. Relative to the target of the request: it leads to no other host. */
static enum weir_flow redirect(struct weir_ctx *ctx)
{
        const char *slash = memrchr(ctx->path.ptr, '/', ctx->path.len);
        size_t name_len = (size_t)(ctx->path.ptr + ctx->path.len - slash - 1);
        size_t len = name_len + ctx->query.len + sizeof(".//?");
        char *to = weir_alloc(ctx, len);

        if (!to)
                return weir_refuse(ctx, 414, NULL);
        snprintf(to, len, "./%.*s/%s%.*s", (int)name_len, slash + 1, ctx->query.ptr ? "?" : "",
                 WEIR_FMT(ctx->query));
        return weir_redirect(ctx, 308, to);
}

/* What open(2) says of a file that is there. */
static enum weir_flow fail(struct weir_ctx *ctx, const struct weir__file *file, int error)
{
        if (error == -EACCES)
                return weir_fail(ctx, 403, NULL);
        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "files: %s: %s", file->name, strerror(-error));
        if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
                return weir_refuse(ctx, 503, NULL);
        return weir_fail(ctx, 500, NULL);
}

/* ---- The request. ---- */

/* A %2F is not a separator, and no file has a slash in its name. */
static bool has_encoded_slash(struct weir_str raw)
{
        for (size_t i = 0; i + 2 < raw.len; i++) {
                if (raw.ptr[i] == '%' && raw.ptr[i + 1] == '2' && (raw.ptr[i + 2] | 0x20) == 'f')
                        return true;
        }
        return false;
}

/* Is there no file, rather than one that cannot be opened? A link that is not followed is none. */
static bool is_absence(int error)
{
        return error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG || error == -ELOOP ||
               error == -EXDEV || error == -ENXIO;
}

static enum weir_flow serve(struct weir_ctx *ctx, void *self)
{
        const struct weir__files *files = self;
        struct weir_str path = weir_param(ctx, "path");
        struct weir__file file;
        int error;

        if (!path.ptr || has_encoded_slash(weir_param_raw(ctx, "path")))
                return WEIR_NEXT;
        error = weir__files_find(files, path, &file);
        if (is_absence(error))
                error = weir__files_fall_back(files, path, &file);
        if (error == 0)
                return send_file(ctx, files, &file);
        if (error == -EPERM || is_absence(error))
                return WEIR_NEXT;
        return error == -EISDIR ? redirect(ctx) : fail(ctx, &file, error);
}

static enum weir_flow not_found(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_fail(ctx, 404, NULL);
}

static void finish(void *self)
{
        struct weir__files *files = self;

        weir__below_finish(&files->below);
}

static const struct weir_middleware middleware = {
        .name = "files",
        .self_size = sizeof(struct weir__files),
        .phase = WEIR_SERVE,
        .on_request = serve,
        .on_free = finish,
};

/* ---- Setup. ---- */

static void set_defaults(struct weir__files *files)
{
        struct weir_files *o = &files->options;

        if (!o->index)
                o->index = "index.html";
        if (!o->max_ranges)
                o->max_ranges = DEFAULT_MAX_RANGES;
        if (o->max_age_s > 0)
                snprintf(files->cache_control, sizeof(files->cache_control),
                         "max-age=%" PRId64 "%s", o->max_age_s, o->immutable ? ", immutable" : "");
        else if (o->max_age_s == 0)
                strcpy(files->cache_control, "no-cache");
}

/* A path of the app's own: dots at the front of a name are meant then. */
static bool is_file_path(const char *path)
{
        struct weir_str s = { path, strlen(path) };

        return s.len && s.len + WEIR__SIBLING <= PATH_MAX && s.ptr[s.len - 1] != '/' &&
               weir__files_is_path(s, true);
}

static bool check_types(struct weir *scope, const struct weir_files_type *types)
{
        for (; types && types->extension; types++) {
                if (types->type && *types->type && strlen(types->type) <= WEIR__PART_TYPE &&
                    *types->extension && !strpbrk(types->extension, "./"))
                        continue;
                weir_setup_error(scope,
                                 "files: the type of \"%s\" is \"%s\": use an extension without "
                                 "its dot, and a media type of at most %d bytes",
                                 types->extension, types->type ? types->type : "NULL",
                                 WEIR__PART_TYPE);
                return false;
        }
        return true;
}

static bool check(struct weir *scope, const struct weir_files *o)
{
        if (!o->root || !*o->root)
                weir_setup_error(scope, "files: nothing to serve: set .root to a folder");
        else if (*o->index && (strchr(o->index, '/') || !is_file_path(o->index)))
                weir_setup_error(scope, "files: the index \"%s\" is not the name of a file",
                                 o->index);
        else if (o->fallback && !is_file_path(o->fallback))
                weir_setup_error(scope,
                                 "files: the fallback \"%s\" is not a path below the root: use "
                                 "one such as \"index.html\"",
                                 o->fallback);
        else if ((unsigned)o->links > WEIR_FILES_ALL_LINKS)
                weir_setup_error(scope, "files: links is %d: use enum weir_files_links",
                                 (int)o->links);
        else if (o->max_age_s < WEIR_NONE || (o->immutable && o->max_age_s <= 0))
                weir_setup_error(scope,
                                 "files: max_age_s is %" PRId64 ": use seconds, more than 0 for "
                                 "what is immutable, or WEIR_NONE",
                                 o->max_age_s);
        else if (o->max_ranges < WEIR_NONE || o->max_ranges > WEIR__MAX_RANGES)
                weir_setup_error(scope,
                                 "files: max_ranges is %" PRId64 ": at most %d, or WEIR_NONE",
                                 o->max_ranges, WEIR__MAX_RANGES);
        else
                return check_types(scope, o->types);
        return false;
}

static bool open_root(struct weir *scope, struct weir__files *files)
{
        const char *root = files->options.root;
        int error = weir__below_init(&files->below, root, files->options.links);

        if (error == -ENOSYS)
                weir_setup_error(scope, "files: WEIR_FILES_LINKS_BELOW needs Linux 5.6: use "
                                        "another, or a newer kernel");
        else if (error)
                weir_setup_error(scope, "files: cannot open the folder \"%s\": %s", root,
                                 strerror(-error));
        return error == 0;
}

void weir_use_files(struct weir *scope, const struct weir_files *options)
{
        struct weir_scope_options own_options = { .slash = WEIR_SLASH_REDIRECT };
        struct weir__files files = { 0 };
        weir_request_fn *missing;
        struct weir *own;

        if (options)
                files.options = *options;
        set_defaults(&files);
        if (!check(scope, &files.options) || !open_root(scope, &files))
                return;
        own = weir_group(scope, files.options.prefix, &own_options);
        if (!weir_use(own, &middleware, &files)) {
                weir__below_finish(&files.below);
                return;
        }
        missing = files.options.missing ? files.options.missing : not_found;
        weir_get(own, "/{path...}", missing, files.options.missing_self);
}
