/* local.c - opening and closing values per thread. */
#include "local.h"

static void close_first(const struct weir__app *app, void **values, uint32_t n)
{
        while (n--) {
                const struct weir__local_def *def = &app->locals[n];

                if (def->type.close)
                        def->type.close(values[n + 1], def->arg);
        }
}

bool weir__locals_open(struct weir__app *app, const char *who, void **values)
{
        for (uint32_t n = 0; n < app->n_locals; n++) {
                const struct weir__local_def *def = &app->locals[n];
                const char *why = "open() returned NULL";

                values[n + 1] = def->type.open(def->arg, &why);
                if (!values[n + 1]) {
                        weir__error(app, "\"%s\"%s: %s", def->type.name, who, why);
                        close_first(app, values, n);
                        return false;
                }
        }
        return true;
}

void weir__locals_close(const struct weir__app *app, void **values)
{
        close_first(app, values, app->n_locals);
}
