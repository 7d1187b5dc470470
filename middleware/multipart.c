/*
 * multipart.c - a route for forms: multipart/form-data, field by field, file by file.
 *
 * What one request has so far is a struct weir_parts, on the heap, since a form is larger than the
 * arena; it is freed with the request. Texts of fields lie one behind the other in one block that
 * grows, so until the form is in they are known by their place in it, not by their address.
 */
#include "form_head.h"
#include "form_scan.h"

#include <weir/multipart.h>
#include <weir/weir.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        FORMS,
        MALFORMED,
        TOO_MANY,
        TOO_LARGE,
        NOT_STORED,
        COUNTERS,
};

struct weir_multipart {
        struct weir_multipart_options options; /* with the defaults set */
        weir_parts_fn                *fn;
        void                         *self;
        struct weir_slot              slot; /* of the parts: weir_own() is for the app's hooks */
        _Atomic uint64_t              counter[COUNTERS]; /* relaxed, by any thread */
};

/* A text of a part: a place in weir_parts.text. */
struct span {
        size_t at, len;
        bool   there;
};

struct stored {
        struct weir_part part;
        struct span      name, filename, type, value;
};

struct weir_parts {
        const struct weir_multipart *route;
        struct stored          *stored;
        size_t                  n, cap;
        uint64_t                begun; /* parts, those that are not kept too */
        uint64_t                files; /* temporary ones                     */
        struct weir__form_scan  scan;
        char                   *text;
        size_t                  text_len, text_cap;
        char                    head[]; /* max_head */
};

/* ---- Answers in place of the handler's. ---- */

static void count(const struct weir_multipart *route, int which)
{
        struct weir_multipart *self = (struct weir_multipart *)(uintptr_t)route;

        atomic_fetch_add_explicit(&self->counter[which], 1, memory_order_relaxed);
}

static enum weir_flow refuse(struct weir_ctx *ctx, const struct weir_parts *parts, int which,
                             const char *why)
{
        count(parts->route, which);
        return weir_fail(ctx, which == MALFORMED ? 400 : 413, "%s", why);
}

static enum weir_flow no_memory(struct weir_ctx *ctx)
{
        return weir_refuse(ctx, 503, "there is no memory left for a form");
}

static enum weir_flow no_disk(struct weir_ctx *ctx, const struct weir_parts *parts, int error)
{
        count(parts->route, NOT_STORED);
        if (error == ENOSPC || error == EDQUOT)
                return weir_fail(ctx, 507, "there is no room left for a file");
        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "multipart: cannot store a file in \"%s\": %s",
                 parts->route->options.folder, strerror(error));
        return weir_fail(ctx, 500, NULL);
}

/* ---- Texts. ---- */

static bool add_text(struct weir_parts *parts, struct span *span, struct weir_str text)
{
        size_t need = parts->text_len + text.len;

        if (need > parts->text_cap) {
                size_t cap = need + need / 2 + 256;
                char *grown = realloc(parts->text, cap);

                if (!grown)
                        return false;
                parts->text = grown;
                parts->text_cap = cap;
        }
        if (!span->there)
                *span = (struct span){ .at = parts->text_len, .there = true };
        if (text.len)
                memcpy(parts->text + parts->text_len, text.ptr, text.len);
        span->len += text.len;
        parts->text_len = need;
        return true;
}

static struct weir_str view(const struct weir_parts *parts, const struct span *span)
{
        if (!span->there)
                return (struct weir_str){ 0 };
        return (struct weir_str){ parts->text + span->at, span->len };
}

static void set_views(const struct weir_parts *parts, struct stored *stored)
{
        struct weir_part *part = &stored->part;

        part->name = view(parts, &stored->name);
        part->filename = view(parts, &stored->filename);
        part->type = stored->type.there ? view(parts, &stored->type) : WEIR_STR("text/plain");
        part->value = view(parts, &stored->value);
}

/* ---- Files. ---- */

/* Without a name where the file system can, else the name goes at once. */
static int open_temporary(const char *folder)
{
        char name[4096];
        int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
                return fd;
        if (snprintf(name, sizeof(name), "%s/weir-XXXXXX", folder) >= (int)sizeof(name))
                return errno = ENAMETOOLONG, -1;
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0)
                unlink(name);
        return fd;
}

static bool write_all(int fd, struct weir_str data)
{
        while (data.len) {
                ssize_t n = write(fd, data.ptr, data.len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                data.ptr += n;
                data.len -= (size_t)n;
        }
        return true;
}

static void free_parts(void *arg)
{
        struct weir_parts *parts = arg;

        for (size_t i = 0; i < parts->n; i++) {
                if (parts->stored[i].part.fd >= 0)
                        close(parts->stored[i].part.fd);
        }
        free(parts->stored);
        free(parts->text);
        free(parts);
}

/* ---- Parts. ---- */

static struct stored *last_of(struct weir_parts *parts)
{
        return &parts->stored[parts->n - 1];
}

static struct stored *add_part(struct weir_parts *parts)
{
        if (parts->n == parts->cap) {
                size_t cap = parts->cap ? 2 * parts->cap : 8;
                struct stored *grown = realloc(parts->stored, cap * sizeof(*grown));

                if (!grown)
                        return NULL;
                parts->stored = grown;
                parts->cap = cap;
        }
        parts->stored[parts->n] = (struct stored){ .part = { .fd = -1 } };
        return &parts->stored[parts->n++];
}

static bool fields_are_too_large(const struct weir_parts *parts)
{
        return parts->text_len > (uint64_t)parts->route->options.max_fields;
}

static enum weir_flow begin_part(struct weir_ctx *ctx, struct weir_parts *parts)
{
        const struct weir_multipart_options *o = &parts->route->options;
        struct weir__form_head head;
        const char *wrong = weir__form_head(&head, parts->scan.head, parts->scan.head_len);
        struct stored *stored;

        if (wrong)
                return refuse(ctx, parts, MALFORMED, wrong);
        if (parts->begun++ == (uint64_t)o->max_parts)
                return refuse(ctx, parts, TOO_MANY, "the form has too many parts");
        stored = add_part(parts);
        if (!stored || !add_text(parts, &stored->name, head.name) ||
            (head.filename.ptr && !add_text(parts, &stored->filename, head.filename)) ||
            (head.type.ptr && !add_text(parts, &stored->type, head.type)))
                return no_memory(ctx);
        if (fields_are_too_large(parts))
                return refuse(ctx, parts, TOO_LARGE, "the fields of the form are too large");
        set_views(parts, stored);
        return WEIR_NEXT;
}

/* Not before there is something to store, or the file is known to be one. */
static enum weir_flow open_file(struct weir_ctx *ctx, struct weir_parts *parts,
                                struct weir_part *part)
{
        const struct weir_multipart_options *o = &parts->route->options;

        if (part->fd >= 0)
                return WEIR_NEXT;
        if (parts->files++ == (uint64_t)o->max_files)
                return refuse(ctx, parts, TOO_MANY, "the form has too many files");
        part->fd = open_temporary(o->folder);
        return part->fd < 0 ? no_disk(ctx, parts, errno) : WEIR_NEXT;
}

static enum weir_flow take_file(struct weir_ctx *ctx, struct weir_parts *parts,
                                struct weir_str data)
{
        const struct weir_multipart *route = parts->route;
        struct weir_part *part = &last_of(parts)->part;
        enum weir_flow flow;

        part->size += data.len;
        if (part->size > (uint64_t)route->options.max_file)
                return refuse(ctx, parts, TOO_LARGE, "a file of the form is too large");
        if (route->options.on_file) {
                set_views(parts, last_of(parts));
                return route->options.on_file(ctx, route->self, part, data, false);
        }
        flow = open_file(ctx, parts, part);
        if (flow != WEIR_NEXT)
                return flow;
        return write_all(part->fd, data) ? WEIR_NEXT : no_disk(ctx, parts, errno);
}

static enum weir_flow take_data(struct weir_ctx *ctx, struct weir_parts *parts,
                                struct weir_str data)
{
        struct stored *stored = last_of(parts);

        if (stored->filename.there)
                return take_file(ctx, parts, data);
        stored->part.size += data.len;
        if (stored->part.size > (uint64_t)parts->route->options.max_field)
                return refuse(ctx, parts, TOO_LARGE, "a field of the form is too large");
        if (!add_text(parts, &stored->value, data))
                return no_memory(ctx);
        return fields_are_too_large(parts)
                       ? refuse(ctx, parts, TOO_LARGE, "the fields of the form are too large")
                       : WEIR_NEXT;
}

/* A browser sends a file without name and content where none was chosen. */
static bool is_no_file(const struct stored *stored)
{
        return stored->filename.there && !stored->filename.len && !stored->part.size;
}

static enum weir_flow end_part(struct weir_ctx *ctx, struct weir_parts *parts)
{
        const struct weir_multipart *route = parts->route;
        struct stored *stored = last_of(parts);
        enum weir_flow flow;

        if (is_no_file(stored)) {
                parts->n--;
                return WEIR_NEXT;
        }
        if (!stored->filename.there)
                return add_text(parts, &stored->value, WEIR_STR("")) ? WEIR_NEXT : no_memory(ctx);
        if (!route->options.on_file) {
                flow = open_file(ctx, parts, &stored->part);
                if (flow != WEIR_NEXT)
                        return flow;
                return lseek(stored->part.fd, 0, SEEK_SET) == 0 ? WEIR_NEXT
                                                                 : no_disk(ctx, parts, errno);
        }
        set_views(parts, stored);
        return route->options.on_file(ctx, route->self, &stored->part, WEIR_STR(""), true);
}

static enum weir_flow take_event(struct weir_ctx *ctx, struct weir_parts *parts,
                                 enum weir__form_event event, struct weir_str data)
{
        switch (event) {
        case WEIR__FORM_HEAD:
                return begin_part(ctx, parts);
        case WEIR__FORM_DATA:
                return take_data(ctx, parts, data);
        case WEIR__FORM_END:
                return end_part(ctx, parts);
        case WEIR__FORM_LONG:
                return refuse(ctx, parts, TOO_LARGE, "the head of a part is too large");
        case WEIR__FORM_BAD:
        case WEIR__FORM_MORE:
                break;
        }
        return refuse(ctx, parts, MALFORMED, "this is no multipart form");
}

/* ---- The route. ---- */

static enum weir_flow finish(struct weir_ctx *ctx, struct weir_parts *parts)
{
        const struct weir_multipart *route = parts->route;

        if (!weir__form_scan_is_over(&parts->scan))
                return refuse(ctx, parts, MALFORMED, "the form ends before its last boundary");
        for (size_t i = 0; i < parts->n; i++)
                set_views(parts, &parts->stored[i]);
        count(route, FORMS);
        return route->fn(ctx, route->self, parts);
}

static enum weir_flow on_body(struct weir_ctx *ctx, void *self, struct weir_str piece, bool last)
{
        const struct weir_multipart *route = self;
        struct weir_parts *parts = weir_slot_get(ctx, route->slot);
        enum weir__form_event event;
        enum weir_flow flow;
        struct weir_str data = { 0 };

        while ((event = weir__form_scan(&parts->scan, &piece, &data)) != WEIR__FORM_MORE) {
                flow = take_event(ctx, parts, event, data);
                if (flow != WEIR_NEXT)
                        return flow;
        }
        return last ? finish(ctx, parts) : WEIR_NEXT;
}

static enum weir_flow begin(struct weir_ctx *ctx, void *self)
{
        struct weir_multipart *route = self;
        size_t max_head = (size_t)route->options.max_head;
        struct weir_str boundary;
        struct weir_parts *parts;

        if (!weir_is_type(ctx, "multipart/form-data"))
                return weir_fail(ctx, 415, "send multipart/form-data");
        boundary = weir__form_boundary(weir_header(ctx, "Content-Type"));
        if (!boundary.ptr) {
                count(route, MALFORMED);
                return weir_fail(ctx, 400, "the media type has no boundary that can be used");
        }
        parts = calloc(1, sizeof(*parts) + max_head);
        if (!parts)
                return no_memory(ctx);
        parts->route = route;
        weir__form_scan_init(&parts->scan, boundary, parts->head, max_head);
        weir_slot_set(ctx, route->slot, parts);
        return weir_defer(ctx, free_parts, parts) ? WEIR_NEXT : no_memory(ctx);
}

/* ---- For handlers. ---- */

const struct weir_part *weir_part_next(const struct weir_parts *parts, const struct weir_part *part)
{
        size_t i = part ? (size_t)((const struct stored *)(const void *)part - parts->stored) + 1
                        : 0;

        return i < parts->n ? &parts->stored[i].part : NULL;
}

const struct weir_part *weir_part(const struct weir_parts *parts, const char *name)
{
        const struct weir_part *part = NULL;

        while ((part = weir_part_next(parts, part))) {
                if (weir_str_is(part->name, name))
                        return part;
        }
        return NULL;
}

int weir_part_take(struct weir_parts *parts, const struct weir_part *part)
{
        struct stored
                *stored = &parts->stored[(const struct stored *)(const void *)part - parts->stored];
        int fd = stored->part.fd;

        stored->part.fd = -1;
        return fd;
}

/* ---- Setup. ---- */

/* The route's own memory, which the app frees. */
static const struct weir_middleware owner = { .name = "multipart",
                                              .self_size = sizeof(struct weir_multipart),
                                              .phase = WEIR_SERVE };

static void set_default(int64_t *option, int64_t value)
{
        if (!*option)
                *option = value;
}

static bool set_defaults(struct weir *scope, const char *pattern, struct weir_multipart_options *o)
{
        int64_t *limits[] = { &o->max_parts,  &o->max_files, &o->max_field,
                              &o->max_fields, &o->max_file,  &o->max_head };
        const char *folder = secure_getenv("TMPDIR");

        set_default(&o->max_parts, 100);
        set_default(&o->max_files, 16);
        set_default(&o->max_field, 64 << 10);
        set_default(&o->max_fields, 1 << 20);
        set_default(&o->max_file, WEIR_INF);
        set_default(&o->max_head, 4 << 10);
        if (!o->method)
                o->method = WEIR_POST;
        if (!o->folder)
                o->folder = folder && *folder ? folder : "/tmp";
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                if (*limits[i] > 0 && (limits[i] != &o->max_head || *limits[i] <= 1 << 20))
                        continue;
                weir_setup_error(scope,
                                 "multipart \"%s\": the limit %lld does not exist: use more than "
                                 "0, or WEIR_INF; max_head is at most 1 MiB",
                                 pattern, (long long)*limits[i]);
                return false;
        }
        if (!o->route.on_body)
                return true;
        weir_setup_error(scope, "multipart \"%s\": its on_body is its own: use on_file", pattern);
        return false;
}

struct weir_multipart *weir_multipart(struct weir *scope, const char *pattern, weir_parts_fn *fn,
                                      void *self, const struct weir_multipart_options *options)
{
        struct weir_multipart route = { .fn = fn, .self = self }, *own;
        struct weir *group;

        if (options)
                route.options = *options;
        if (!fn || !pattern) {
                weir_setup_error(scope, "multipart: the pattern or the function is NULL");
                return NULL;
        }
        if (!set_defaults(scope, pattern, &route.options))
                return NULL;
        route.slot = weir_slot(scope, "weir_multipart");
        group = weir_group(scope, "", NULL);
        own = weir_use(group, &owner, &route);
        route.options.route.on_body = on_body;
        if (!route.options.on_file)
                route.options.route.blocking = true; /* a disk may be slow */
        weir_route(group, route.options.method, pattern, begin, own, &route.options.route);
        return own;
}

void weir_multipart_stats(const struct weir_multipart *route, struct weir_multipart_stats *stats)
{
        uint64_t value[COUNTERS];

        for (int i = 0; i < COUNTERS; i++)
                value[i] = atomic_load_explicit(&route->counter[i], memory_order_relaxed);
        *stats = (struct weir_multipart_stats){ .forms = value[FORMS],
                                                .malformed = value[MALFORMED],
                                                .too_many = value[TOO_MANY],
                                                .too_large = value[TOO_LARGE],
                                                .not_stored = value[NOT_STORED] };
}
