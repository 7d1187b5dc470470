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

/* The field by which a caller says how long it waits. */
enum weir_timeout_header {
        WEIR_TIMEOUT_NO_HEADER,
        WEIR_X_REQUEST_TIMEOUT_MS,            /* X-Request-Timeout-Ms: digits              */
        WEIR_X_ENVOY_EXPECTED_RQ_TIMEOUT_MS,  /* what Envoy tells the servers behind it    */
        WEIR_GRPC_TIMEOUT,                    /* grpc-timeout: at most 8 digits and a unit */
};

struct weir_timeout {
        int64_t  timeout_ms; /* from its request line on; 0: 15 s; WEIR_INF: as long as it takes */
        bool     strict;     /* 504 also in place of an answer that came too late                */
        int64_t  idle_ms;    /* that a stream may move no byte; 0: no limit but timeout_ms       */
        enum weir_timeout_header header; /* shortens timeout_ms; from .trusted alone            */
        const char *trusted; /* networks, as in weir/network.h; needed for .header               */
        int64_t  max_header_ms; /* what a longer one is taken for; 0: 10 min                     */
        uint64_t reserved[4];
};

/*
 * Sets the deadline of each request below `scope`: one that waits, or whose handler blocks on a
 * worker, is answered 504 then, outcome WEIR_TIMEOUT. A scope below can only shorten it. A handler
 * that runs on the loop cannot be interrupted: weir_remaining_ns() tells it how long it may take.
 *
 * A stream that waits is broken off at the deadline. With idle_ms it may take as long as it likes,
 * as long as it moves a byte in that time.
 *
 * A request that has no time left when it comes is answered 504 at once: its caller has given up. A
 * field that is no time, or comes twice, or from elsewhere than .trusted, counts for nothing.
 */
WEIR_API void weir_use_timeout(struct weir *scope, const struct weir_timeout *options);

/* ---- For calls that a handler makes: how long they may take, told in the same field. ---- */

/*
 * The milliseconds left until the deadline, less `margin_ms` (such as 10) for what comes behind the
 * call; 0: do not call. WEIR_INF without a deadline.
 */
WEIR_API int64_t weir_timeout_left_ms(const struct weir_ctx *ctx, int64_t margin_ms);

/*
 * Writes `ms` as the value of a field, and returns the name of that. NULL when there is nothing to
 * say: for WEIR_INF, 0 or less, or no header.
 */
WEIR_API const char *weir_timeout_write(enum weir_timeout_header header, int64_t ms,
                                        char value[24]);

#ifdef __cplusplus
}
#endif

#endif
