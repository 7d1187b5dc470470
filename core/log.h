/* log.h - the application's log. */
#ifndef WEIR_CORE_LOG_H
#define WEIR_CORE_LOG_H

#include "cell.h"

/* The development log: one line for a finished request, when the app wants it. */
void weir__log_request(const struct weir__cell *cell);

#endif
