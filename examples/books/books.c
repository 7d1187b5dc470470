/*
 * books.c - the resource: what a request wants of the store, and what the client gets.
 *
 * GET     /books        a page of the list: ?author= &title= &year_from= &year_to= &limit= &after=
 * POST    /books        a new book
 * GET     /books/{id}   one book
 * PUT     /books/{id}   all of it anew
 * PATCH   /books/{id}   some of it anew
 * DELETE  /books/{id}
 */
#include "books.h"
#include "store.h"

#include <inttypes.h>
#include <weir/json.h>

#define YEAR_MAX   9999
#define LIMIT_MAX  100
#define LIMIT_USED 20 /* when the client names none */

/* ---- What comes in. ---- */

/* Lengths are in bytes. */
static const struct weir_json_field whole_book[] = {
        { "title", WEIR_JSON_STR, offsetof(struct book, title), .min = 1, .max = 200,
          .required = true },
        { "author", WEIR_JSON_STR, offsetof(struct book, author), .min = 1, .max = 100,
          .required = true },
        { "year", WEIR_JSON_INT, offsetof(struct book, year), .min = 1, .max = YEAR_MAX,
          .required = true },
        { "isbn", WEIR_JSON_STR, offsetof(struct book, isbn), .min = 10, .max = 13 },
        { 0 },
};

static const struct weir_json_field part_of_book[] = {
        { "title", WEIR_JSON_STR, offsetof(struct book, title), .min = 1, .max = 200 },
        { "author", WEIR_JSON_STR, offsetof(struct book, author), .min = 1, .max = 100 },
        { "year", WEIR_JSON_INT, offsetof(struct book, year), .min = 1, .max = YEAR_MAX },
        { "isbn", WEIR_JSON_STR, offsetof(struct book, isbn), .min = 10, .max = 13 },
        { 0 },
};

/* 10 or 13 digits, without hyphens; the last of 10 may be an X. */
static bool is_isbn(struct weir_str text)
{
        for (size_t i = 0; i < text.len; i++) {
                bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';

                if (!digit && !(text.ptr[i] == 'X' && i == 9 && text.len == 10))
                        return false;
        }
        return text.len == 10 || text.len == 13;
}

/* WEIR_NEXT: *book is what the client sent, and in order. */
static enum weir_flow read_book(struct weir_ctx *ctx, const struct weir_json_field *fields,
                                struct book *book)
{
        if (weir_json_bind(ctx, fields, book) != WEIR_NEXT)
                return WEIR_DONE;
        if (book->isbn.ptr && !is_isbn(book->isbn))
                return weir_json_fault(ctx, "/isbn", "must be 10 or 13 digits without hyphens");
        return WEIR_NEXT;
}

/* What is not an id is the id of no book. */
static int64_t read_id(const struct weir_ctx *ctx)
{
        int64_t id = 0;

        weir_param_int(ctx, "id", 1, INT64_MAX, &id);
        return id;
}

/* NULL: *filter is what the client asked for; else what is wrong with it. */
static const char *read_filter(struct weir_ctx *ctx, struct book_filter *filter)
{
        if (weir_query(ctx, "author", &filter->author) == WEIR_FIELD_INVALID)
                return "author has a bad escape";
        if (weir_query(ctx, "title", &filter->title) == WEIR_FIELD_INVALID)
                return "title has a bad escape";
        if (weir_query_int(ctx, "year_from", 1, YEAR_MAX, &filter->year_from) == WEIR_FIELD_INVALID)
                return "year_from must be a year from 1 to 9999";
        if (weir_query_int(ctx, "year_to", 1, YEAR_MAX, &filter->year_to) == WEIR_FIELD_INVALID)
                return "year_to must be a year from 1 to 9999";
        if (weir_query_int(ctx, "limit", 1, LIMIT_MAX, &filter->limit) == WEIR_FIELD_INVALID)
                return "limit must be a number from 1 to 100";
        if (weir_query_int(ctx, "after", 0, INT64_MAX, &filter->after) == WEIR_FIELD_INVALID)
                return "after must be the \"next\" of a page before";
        return NULL;
}

/* ---- What goes out. ---- */

/* Where the store's books are written. */
struct view {
        struct weir_json_writer json;
        int64_t                 id;   /* of the book written last            */
        int64_t                 room; /* a list: how many more may be written */
        bool                    more; /* a list: there was one too many       */
};

static void show(void *self, const struct book *book)
{
        struct view *view = self;
        struct weir_json_writer *json = &view->json;

        view->id = book->id;
        weir_json_object(json);
        weir_json_key(json, "id");
        weir_json_int(json, book->id);
        weir_json_key(json, "title");
        weir_json_str(json, book->title);
        weir_json_key(json, "author");
        weir_json_str(json, book->author);
        weir_json_key(json, "year");
        weir_json_int(json, book->year);
        weir_json_key(json, "isbn");
        weir_json_str(json, book->isbn);
        weir_json_object_end(json);
}

static void show_if_room(void *self, const struct book *book)
{
        struct view *view = self;

        if (view->room-- > 0)
                show(view, book);
        else
                view->more = true;
}

static enum weir_flow fail(struct weir_ctx *ctx, struct store *store, enum store_result result)
{
        switch (result) {
        case STORE_NONE:
                return weir_fail(ctx, 404, "no such book");
        case STORE_DUPLICATE:
                return weir_fail(ctx, 409, "another book has this ISBN");
        case STORE_BUSY:
                weir_set_header(ctx, "Retry-After", "1");
                return weir_refuse(ctx, 503, "too many are writing");
        case STORE_OK:
        case STORE_FAILED:
                break;
        }
        weir_log(weir_app(ctx), WEIR_LOG_ERROR, "store: %s", store_error(store));
        return weir_fail(ctx, 500, NULL);
}

/* ---- The handlers. ---- */

static struct store *store_of(const struct weir_ctx *ctx, const struct books *books)
{
        return weir_local_get(ctx, books->store);
}

static enum weir_flow list_books(struct weir_ctx *ctx, void *self)
{
        struct book_filter filter = { .year_to = YEAR_MAX, .limit = LIMIT_USED };
        struct view view = { .json = weir_json_begin(ctx) };
        struct store *store = store_of(ctx, self);
        const char *wrong = read_filter(ctx, &filter);
        enum store_result result;

        if (wrong)
                return weir_fail(ctx, 400, "%s", wrong);
        view.room = filter.limit++; /* one more than shown tells whether there is a next page */
        weir_json_object(&view.json);
        weir_json_key(&view.json, "books");
        weir_json_array(&view.json);
        result = store_list(store, &filter, show_if_room, &view);
        weir_json_array_end(&view.json);
        weir_json_key(&view.json, "next");
        if (view.more)
                weir_json_int(&view.json, view.id);
        else
                weir_json_null(&view.json);
        weir_json_object_end(&view.json);
        if (result != STORE_OK)
                return fail(ctx, store, result);
        return weir_json_end(&view.json, 200);
}

static enum weir_flow create_book(struct weir_ctx *ctx, void *self)
{
        struct view view = { .json = weir_json_begin(ctx) };
        struct store *store = store_of(ctx, self);
        struct book book = { 0 };
        enum store_result result;

        if (read_book(ctx, whole_book, &book) != WEIR_NEXT)
                return WEIR_DONE;
        result = store_add(store, &book, show, &view);
        if (result != STORE_OK)
                return fail(ctx, store, result);
        weir_set_headerf(ctx, "Location", "%s/%" PRId64, ctx->pattern, view.id);
        return weir_json_end(&view.json, 201);
}

static enum weir_flow show_book(struct weir_ctx *ctx, void *self)
{
        struct view view = { .json = weir_json_begin(ctx) };
        struct store *store = store_of(ctx, self);
        enum store_result result = store_get(store, read_id(ctx), show, &view);

        if (result != STORE_OK)
                return fail(ctx, store, result);
        return weir_json_end(&view.json, 200);
}

static enum weir_flow replace_book(struct weir_ctx *ctx, void *self)
{
        struct view view = { .json = weir_json_begin(ctx) };
        struct store *store = store_of(ctx, self);
        struct book book = { .id = read_id(ctx) };
        enum store_result result;

        if (read_book(ctx, whole_book, &book) != WEIR_NEXT)
                return WEIR_DONE;
        result = store_replace(store, &book, show, &view);
        if (result != STORE_OK)
                return fail(ctx, store, result);
        return weir_json_end(&view.json, 200);
}

static enum weir_flow change_book(struct weir_ctx *ctx, void *self)
{
        struct view view = { .json = weir_json_begin(ctx) };
        struct store *store = store_of(ctx, self);
        struct book book = { .id = read_id(ctx) };
        enum store_result result;

        if (read_book(ctx, part_of_book, &book) != WEIR_NEXT)
                return WEIR_DONE;
        result = store_change(store, &book, show, &view);
        if (result != STORE_OK)
                return fail(ctx, store, result);
        return weir_json_end(&view.json, 200);
}

static enum weir_flow remove_book(struct weir_ctx *ctx, void *self)
{
        struct store *store = store_of(ctx, self);
        enum store_result result = store_remove(store, read_id(ctx));

        if (result != STORE_OK)
                return fail(ctx, store, result);
        return weir_status(ctx, 204);
}

/* ---- Setup. ---- */

static void *open_store(void *self, const char **why)
{
        const struct books *books = self;

        return store_open(books->file, why);
}

static void close_store(void *store, void *self)
{
        (void)self;
        store_close(store);
}

static const struct weir_local_type store_type = {
        .name = "store",
        .open = open_store,
        .close = close_store,
};

void books_add(struct weir *scope, struct books *books)
{
        books->store = weir_local(scope, &store_type, books);
        weir_get(scope, "/books", list_books, books);
        weir_post(scope, "/books", create_book, books);
        weir_get(scope, "/books/{id}", show_book, books);
        weir_put(scope, "/books/{id}", replace_book, books);
        weir_patch(scope, "/books/{id}", change_book, books);
        weir_delete(scope, "/books/{id}", remove_book, books);
}
