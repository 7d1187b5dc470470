/* books.h - the resource: a list of books and each book in it, as JSON. */
#ifndef BOOKS_BOOKS_H
#define BOOKS_BOOKS_H

#include <weir/weir.h>

struct books {
        const char       *file;  /* of the store                         */
        struct weir_local store; /* one per loop; books_add() sets it     */
};

/* Adds the routes below `scope`. `books` must outlive the app. */
void books_add(struct weir *scope, struct books *books);

#endif
