/* main.c - a REST API over SQLite: books [ADDRESS [FILE]], default 127.0.0.1:8080 and books.db. */
#include "books.h"

int main(int argc, char **argv)
{
        struct weir *app = weir_new(&(struct weir_options){ .name = "books", .dev_log = true });
        struct weir *api = weir_group(app, "/api",
                                      &(struct weir_scope_options){ .max_body = 65536 });
        struct books books = { .file = argc > 2 ? argv[2] : "books.db" };

        weir_listen(app, argc > 1 ? argv[1] : "127.0.0.1:8080", NULL);
        books_add(api, &books);
        return weir_main(app);
}
