/* local.h - the values of weir_local(), for a thread that serves or works. */
#ifndef WEIR_CORE_LOCAL_H
#define WEIR_CORE_LOCAL_H

#include "app.h"

/*
 * Opens all values of the app into values[1...], on the thread that will use them. False with an
 * error that names `who`, and nothing open.
 */
bool weir__locals_open(struct weir__app *app, const char *who, void **values);

/* On the same thread. */
void weir__locals_close(const struct weir__app *app, void **values);

#endif
