/* log.h - the application's log. */
#ifndef WEIR_CORE_LOG_H
#define WEIR_CORE_LOG_H

#include "cell.h"
#include "hint.h"

/* The development log: one line for a finished request. */
WEIR__COLD void weir__log_request(const struct weir__cell *cell);

#endif
