/* ask.h - the in-memory client's part of an app. */
#ifndef WEIR_CORE_ASK_H
#define WEIR_CORE_ASK_H

#include "app.h"

struct weir__asker;

void weir__ask_counters(const struct weir__asker *asker, struct weir__counters *sum);
void weir__ask_free(struct weir__asker *asker);

#endif
