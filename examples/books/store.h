/* store.h - books in an SQLite file. A handle is for one thread; many may share a file. */
#ifndef BOOKS_STORE_H
#define BOOKS_STORE_H

#include <weir/str.h>

struct book {
        int64_t         id;
        struct weir_str title, author;
        int64_t         year; /* 0: not given */
        struct weir_str isbn; /* absent: none */
};

/* Which books a list has, in the order of their ids. */
struct book_filter {
        struct weir_str author;             /* the whole name; absent: any */
        struct weir_str title;              /* a part of it; absent: any   */
        int64_t         year_from, year_to; /* both included               */
        int64_t         after;              /* only ids above this one     */
        int64_t         limit;              /* how many at most            */
};

enum store_result {
        STORE_OK,
        STORE_NONE,      /* no such book                            */
        STORE_DUPLICATE, /* another book has this ISBN              */
        STORE_BUSY,      /* others wrote for longer than we wait    */
        STORE_FAILED,    /* store_error() says why                  */
};

/* Gets a book of the store. Its strings live until it returns. */
typedef void store_visit_fn(void *arg, const struct book *book);

struct store;

/* Opens the file, makes it when it is new. NULL: then *why says why. */
struct store *store_open(const char *path, const char **why);
void          store_close(struct store *store);

/* The last failure in words. */
const char *store_error(struct store *store);

/* One book each; `visit` gets it as it is afterwards. The ids are the store's to give. */
enum store_result store_get(struct store *store, int64_t id, store_visit_fn *visit, void *arg);
enum store_result store_add(struct store *store, const struct book *book, store_visit_fn *visit,
                            void *arg);
enum store_result store_replace(struct store *store, const struct book *book, store_visit_fn *visit,
                                void *arg);

/* Changes what is given and leaves the rest. */
enum store_result store_change(struct store *store, const struct book *book, store_visit_fn *visit,
                               void *arg);

enum store_result store_remove(struct store *store, int64_t id);

/* All books that pass the filter; none is STORE_OK too. */
enum store_result store_list(struct store *store, const struct book_filter *filter,
                             store_visit_fn *visit, void *arg);

#endif
