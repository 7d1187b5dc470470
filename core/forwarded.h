/*
 * forwarded.h - the client of a request that came through proxies, by Forwarded (RFC 7239) or
 * X-Forwarded-For.
 */
#ifndef WEIR_CORE_FORWARDED_H
#define WEIR_CORE_FORWARDED_H

#include "cell.h"
#include "hint.h"

/* Sets ctx->client to what the field of a trusted peer says. The fields are in the index. */
WEIR__APART void weir__forwarded_client(struct weir__cell *cell);

/* The same when the app trusts a proxy at all. */
static WEIR__INLINE void weir__forwarded(struct weir__cell *cell)
{
        if (WEIR__UNLIKELY(cell->loop->app->trusted))
                weir__forwarded_client(cell);
}

/* Takes the options that are about it; a mistake is an error of the app. */
void weir__forwarded_setup(struct weir__app *app);

#endif
