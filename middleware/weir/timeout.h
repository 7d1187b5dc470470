/*
 * timeout.h - how long a request may take.
 *
 *      weir_use_timeout(api, &(struct weir_timeout){ .timeout_ms = 2000 });
 */
#ifndef WEIR_TIMEOUT_H
#define WEIR_TIMEOUT_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_timeout {
        int64_t  timeout_ms; /* from its request line on; 0: 15 s; WEIR_INF: as long as it takes */
        bool     strict;     /* 504 also in place of an answer that came too late                */
        int64_t  idle_ms;    /* that a stream may move no byte; 0: no limit but timeout_ms       */
        uint64_t reserved[3];
};

/*
 * Sets the deadline of each request below `scope`: one that waits, or whose handler blocks on a
 * worker, is answered 504 then, outcome WEIR_TIMEOUT. A scope below can only shorten it. A handler
 * that runs on the loop cannot be interrupted: weir_remaining_ns() tells it how long it may take.
 *
 * A stream that waits is broken off at the deadline. With idle_ms it may take as long as it likes,
 * as long as it moves a byte in that time.
 */
WEIR_API void weir_use_timeout(struct weir *scope, const struct weir_timeout *options);

#ifdef __cplusplus
}
#endif

#endif
