/*
 * store.c - books in an SQLite file.
 *
 * Each handle has its statements prepared once. The file is in WAL mode: readers wait for nobody,
 * and a writer only for another writer, at most BUSY_MS. Every call leaves its statement reset, so
 * that no transaction outlives it.
 */
#include "store.h"

#include <sqlite3.h>
#include <stdlib.h>

#define BUSY_MS 2000

/* With synchronous = NORMAL a commit survives the end of the process; the last ones may be lost
 * when the machine loses power, but the file stays whole. */
static const char schema[] = "PRAGMA journal_mode = WAL;"
        "PRAGMA synchronous = NORMAL;"
        "CREATE TABLE IF NOT EXISTS books ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  title TEXT NOT NULL,"
        "  author TEXT NOT NULL COLLATE NOCASE,"
        "  year INTEGER NOT NULL,"
        "  isbn TEXT UNIQUE)";

#define COLUMNS "id, title, author, year, isbn"

enum statement {
        GET,
        ADD,
        REPLACE,
        CHANGE,
        REMOVE,
        LIST,
        STATEMENTS,
};

static const char *const sql[STATEMENTS] = {
        [GET] = "SELECT " COLUMNS " FROM books WHERE id = ?1",
        [ADD] = "INSERT INTO books (title, author, year, isbn) VALUES (?1, ?2, ?3, ?4)"
                " RETURNING " COLUMNS,
        [REPLACE] = "UPDATE books SET title = ?1, author = ?2, year = ?3, isbn = ?4"
                    " WHERE id = ?5 RETURNING " COLUMNS,
        [CHANGE] = "UPDATE books SET title = coalesce(?1, title), author = coalesce(?2, author),"
                   " year = coalesce(nullif(?3, 0), year), isbn = coalesce(?4, isbn)"
                   " WHERE id = ?5 RETURNING " COLUMNS,
        [REMOVE] = "DELETE FROM books WHERE id = ?1 RETURNING " COLUMNS,
        [LIST] = "SELECT " COLUMNS " FROM books WHERE id > ?1"
                 " AND (?2 IS NULL OR author = ?2)"
                 " AND (?3 IS NULL OR instr(lower(title), lower(?3)))"
                 " AND year BETWEEN ?4 AND ?5 ORDER BY id LIMIT ?6",
};

struct store {
        sqlite3      *db;
        sqlite3_stmt *statement[STATEMENTS];
};

/* ---- Opening. ---- */

static int prepare(struct store *store)
{
        int code = sqlite3_exec(store->db, schema, NULL, NULL, NULL);

        for (int i = 0; i < STATEMENTS && code == SQLITE_OK; i++)
                code = sqlite3_prepare_v3(store->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                          &store->statement[i], NULL);
        return code;
}

struct store *store_open(const char *path, const char **why)
{
        struct store *store = calloc(1, sizeof(*store));
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_EXRESCODE;
        int code = SQLITE_NOMEM;

        if (store)
                code = sqlite3_open_v2(path, &store->db, flags, NULL);
        if (code == SQLITE_OK)
                code = sqlite3_busy_timeout(store->db, BUSY_MS);
        if (code == SQLITE_OK)
                code = prepare(store);
        if (code == SQLITE_OK)
                return store;
        *why = sqlite3_errstr(code);
        store_close(store);
        return NULL;
}

void store_close(struct store *store)
{
        if (!store)
                return;
        for (int i = 0; i < STATEMENTS; i++)
                sqlite3_finalize(store->statement[i]);
        sqlite3_close(store->db);
        free(store);
}

const char *store_error(struct store *store)
{
        return sqlite3_errmsg(store->db);
}

/* ---- Running a statement. ---- */

/* The text is not copied, so this takes no memory and cannot fail. Absent is NULL. */
static void bind_text(sqlite3_stmt *statement, int at, struct weir_str text)
{
        sqlite3_bind_text(statement, at, text.ptr, (int)text.len, SQLITE_STATIC);
}

static void bind_book(sqlite3_stmt *statement, const struct book *book)
{
        bind_text(statement, 1, book->title);
        bind_text(statement, 2, book->author);
        sqlite3_bind_int64(statement, 3, book->year);
        bind_text(statement, 4, book->isbn);
}

static struct weir_str column_text(sqlite3_stmt *statement, int column)
{
        const char *text = (const char *)sqlite3_column_text(statement, column);

        return (struct weir_str){ text, (size_t)sqlite3_column_bytes(statement, column) };
}

static struct book read_row(sqlite3_stmt *statement)
{
        return (struct book){ .id = sqlite3_column_int64(statement, 0),
                              .title = column_text(statement, 1),
                              .author = column_text(statement, 2),
                              .year = sqlite3_column_int64(statement, 3),
                              .isbn = column_text(statement, 4) };
}

static enum store_result failure(int code)
{
        if (code == SQLITE_CONSTRAINT_UNIQUE)
                return STORE_DUPLICATE;
        return (code & 0xff) == SQLITE_BUSY ? STORE_BUSY : STORE_FAILED;
}

/* Runs a statement whose parameters are bound, and leaves it as if it never ran. */
static enum store_result run(sqlite3_stmt *statement, store_visit_fn *visit, void *arg)
{
        enum store_result result = STORE_NONE;
        int code;

        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                struct book book = read_row(statement);

                if (visit)
                        visit(arg, &book);
                result = STORE_OK;
        }
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
        return code == SQLITE_DONE ? result : failure(code);
}

/* ---- What can be done. ---- */

enum store_result store_get(struct store *store, int64_t id, store_visit_fn *visit, void *arg)
{
        sqlite3_bind_int64(store->statement[GET], 1, id);
        return run(store->statement[GET], visit, arg);
}

enum store_result store_add(struct store *store, const struct book *book, store_visit_fn *visit,
                            void *arg)
{
        bind_book(store->statement[ADD], book);
        return run(store->statement[ADD], visit, arg);
}

static enum store_result update(sqlite3_stmt *statement, const struct book *book,
                                store_visit_fn *visit, void *arg)
{
        bind_book(statement, book);
        sqlite3_bind_int64(statement, 5, book->id);
        return run(statement, visit, arg);
}

enum store_result store_replace(struct store *store, const struct book *book, store_visit_fn *visit,
                                void *arg)
{
        return update(store->statement[REPLACE], book, visit, arg);
}

enum store_result store_change(struct store *store, const struct book *book, store_visit_fn *visit,
                               void *arg)
{
        return update(store->statement[CHANGE], book, visit, arg);
}

enum store_result store_remove(struct store *store, int64_t id)
{
        sqlite3_bind_int64(store->statement[REMOVE], 1, id);
        return run(store->statement[REMOVE], NULL, NULL);
}

enum store_result store_list(struct store *store, const struct book_filter *filter,
                             store_visit_fn *visit, void *arg)
{
        sqlite3_stmt *statement = store->statement[LIST];
        enum store_result result;

        sqlite3_bind_int64(statement, 1, filter->after);
        bind_text(statement, 2, filter->author);
        bind_text(statement, 3, filter->title);
        sqlite3_bind_int64(statement, 4, filter->year_from);
        sqlite3_bind_int64(statement, 5, filter->year_to);
        sqlite3_bind_int64(statement, 6, filter->limit);
        result = run(statement, visit, arg);
        return result == STORE_NONE ? STORE_OK : result;
}
