/*
 * upload.c - three ways to upload: upload [FOLDER [ADDRESS]]
 *
 *      GET  /              a page with a form
 *      POST /photos        the form: files end up in FOLDER, under names of our own
 *      PUT  /files/{name}  a body of any size, piece by piece
 *      POST /events        lines of JSON, added up as they come in
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/json.h>
#include <weir/multipart.h>
#include <weir/weir.h>

struct uploads {
        const char *folder;
        int         fd; /* of it */
};

static const char page[] = "<!doctype html><meta charset=utf-8><title>Photos</title>\n"
                           "<form method=post action=/photos enctype=multipart/form-data>\n"
                           "<input name=title required> <input name=photo type=file multiple>\n"
                           "<button>Send</button></form>\n";

/* ---- Forms. ---- */

/* Gives a temporary file a name that nobody has; false when that cannot be. */
static bool name_it(const struct uploads *uploads, const struct weir_part *part, char *name,
                    size_t size)
{
        char source[64];
        struct stat info;

        if (fstat(part->fd, &info) < 0)
                return false;
        snprintf(source, sizeof(source), "/proc/self/fd/%d", part->fd);
        snprintf(name, size, "photo-%ju", (uintmax_t)info.st_ino);
        return linkat(AT_FDCWD, source, uploads->fd, name, AT_SYMLINK_FOLLOW) == 0;
}

static enum weir_flow save_photos(struct weir_ctx *ctx, void *self, struct weir_parts *parts)
{
        const struct weir_part *title = weir_part(parts, "title"), *part = NULL;
        struct weir_json_writer w;
        char name[64];

        if (!title || !title->value.len)
                return weir_fail(ctx, 422, "a title must be there");
        w = weir_json_begin(ctx);
        weir_json_object(&w);
        weir_json_key(&w, "title");
        weir_json_str(&w, title->value);
        weir_json_key(&w, "photos");
        weir_json_array(&w);
        while ((part = weir_part_next(parts, part))) {
                if (part->fd < 0)
                        continue;
                if (!name_it(self, part, name, sizeof(name)))
                        return weir_fail(ctx, 500, "a photo could not be kept");
                weir_json_object(&w);
                weir_json_key(&w, "name");
                weir_json_cstr(&w, name);
                weir_json_key(&w, "was");
                weir_json_str(&w, part->filename);
                weir_json_key(&w, "bytes");
                weir_json_int(&w, (int64_t)part->size);
                weir_json_object_end(&w);
        }
        weir_json_array_end(&w);
        weir_json_object_end(&w);
        return weir_json_end(&w, 201);
}

/* ---- Bodies in pieces. ---- */

/* A file that is not whole yet has another name. */
struct file {
        const struct uploads *uploads;
        char                 *name;
        int                   fd;
        uint64_t              size;
};

static void drop(void *arg)
{
        struct file *file = arg;

        close(file->fd);
}

static enum weir_flow begin_file(struct weir_ctx *ctx, void *self)
{
        struct file *file = weir_alloc(ctx, sizeof(*file));
        char *name = weir_cstr(ctx, weir_param(ctx, "name"));

        if (!file || !name || strchr(name, '/') || *name == '.')
                return weir_fail(ctx, 400, "this is no name for a file");
        *file = (struct file){ .uploads = self, .name = name };
        file->fd = open(file->uploads->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
        if (file->fd < 0)
                return weir_fail(ctx, 500, "it cannot be stored");
        weir_defer(ctx, drop, file);
        *weir_own(ctx) = (uint64_t)(uintptr_t)file;
        return WEIR_NEXT;
}

static enum weir_flow end_file(struct weir_ctx *ctx, const struct file *file)
{
        char source[64];

        snprintf(source, sizeof(source), "/proc/self/fd/%d", file->fd);
        if (linkat(AT_FDCWD, source, file->uploads->fd, file->name, AT_SYMLINK_FOLLOW) == 0)
                return weir_jsonf(ctx, 201, "{\"bytes\":%" PRIu64 "}", file->size);
        return errno == EEXIST ? weir_fail(ctx, 409, "there is one of this name")
                               : weir_fail(ctx, 500, "it cannot be stored");
}

/* Runs on a worker, as its route says: a disk may be slow. */
static enum weir_flow take_file(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        struct file *file = (struct file *)(uintptr_t)*weir_own(ctx);

        (void)self;
        if (last)
                return end_file(ctx, file);
        file->size += piece.len;
        while (piece.len) {
                ssize_t n = write(file->fd, piece.ptr, piece.len);

                if (n < 0 && errno != EINTR)
                        return weir_fail(ctx, errno == ENOSPC ? 507 : 500, "it cannot be stored");
                piece.ptr += n > 0 ? n : 0;
                piece.len -= n > 0 ? (size_t)n : 0;
        }
        return WEIR_NEXT;
}

/* ---- Lines of JSON. ---- */

static struct weir_slot sum_slot;

static enum weir_flow add_event(struct weir_ctx *ctx, void *self, json_t *event, uint64_t line)
{
        const json_t *amount = json_object_get(event, "amount");
        double *sum = weir_slot_get(ctx, sum_slot);

        (void)self;
        if (!json_is_number(amount))
                return weir_fail(ctx, 422, "line %" PRIu64 ": no amount", line);
        if (!sum) {
                sum = weir_alloc(ctx, sizeof(*sum));
                if (!sum)
                        return weir_refuse(ctx, 503, "no memory");
                *sum = 0;
                weir_slot_set(ctx, sum_slot, sum);
        }
        *sum += json_number_value(amount);
        return WEIR_NEXT;
}

static enum weir_flow tell_sum(struct weir_ctx *ctx, void *self)
{
        const double *sum = weir_slot_get(ctx, sum_slot);

        (void)self;
        return weir_jsonf(ctx, 200, "{\"sum\":%.2f}", sum ? *sum : 0);
}

/* ---- All together. ---- */

static enum weir_flow show_page(struct weir_ctx *ctx, void *self)
{
        (void)self;
        return weir_send(ctx, 200, "text/html; charset=utf-8",
                         (struct weir_str){ page, sizeof(page) - 1 }, NULL, NULL);
}

int main(int argc, char **argv)
{
        struct uploads uploads = { .folder = argc > 1 ? argv[1] : "." };
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });

        uploads.fd = open(uploads.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (uploads.fd < 0)
                weir_setup_error(app, "cannot open the folder \"%s\": %s", uploads.folder,
                                 strerror(errno));
        weir_listen(app, argc > 2 ? argv[2] : "127.0.0.1:8080", NULL);
        sum_slot = weir_slot(app, "sum");
        weir_get(app, "/", show_page, NULL);
        weir_multipart(app, "/photos", save_photos, &uploads,
                       &(struct weir_multipart_options){ .route.max_body = 100 << 20,
                                                         .route.blocking = true,
                                                         .folder = uploads.folder });
        weir_route(app, WEIR_PUT, "/files/{name}", begin_file, &uploads,
                   &(struct weir_route_options){
                           .max_body = WEIR_INF, .blocking = true, .on_body = take_file });
        weir_json_lines(app, "/events", add_event, tell_sum, NULL,
                        &(struct weir_json_lines_options){ .route.max_body = WEIR_INF });
        return weir_main(app);
}
