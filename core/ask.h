/* ask.h - the in-memory client: its part of an app, and reading what it is asked. */
#ifndef WEIR_CORE_ASK_H
#define WEIR_CORE_ASK_H

#include "cell.h"

struct weir__asker;

void weir__ask_counters(const struct weir__asker *asker, struct weir__counters *sum);
void weir__ask_free(struct weir__asker *asker);

/* ---- ask_head.c: the text of a request. ---- */

struct weir__ask_head {
        struct weir_str method, target, version, body;
        struct weir_str fields; /* lines */
};

/* Cuts the next line, without its end, off `text`. */
struct weir_str weir__ask_line(struct weir_str *text);

struct weir__ask_head weir__ask_read(struct weir_str text);

/* Adds its fields to the cell, and those that go without saying: Host, and a length by `length`. */
void weir__ask_fields(struct weir__cell *cell, const struct weir__ask_head *head, char *length,
                      size_t size);

/* How long the head would be on the wire, with one blank before each value. */
uint64_t weir__ask_head_size(const struct weir__cell *cell, const struct weir__ask_head *head);

#endif
