/*
 * timeout_header.c - how long a caller waits, as header fields say it.
 *
 * Always what is left and never a moment: clocks of two machines differ.
 */
#include "timeout_header.h"

#include <weir/wait.h>

#include <inttypes.h>
#include <stdio.h>

#define MS_NS         1000000ull
#define GRPC_MAX      99999999 /* 8 digits: gRPC over HTTP/2, "Timeout" */
#define MILLIS_DIGITS 15

const char *weir__timeout_header_name(enum weir_timeout_header header)
{
        switch (header) {
        case WEIR_X_REQUEST_TIMEOUT_MS:
                return "X-Request-Timeout-Ms";
        case WEIR_GRPC_TIMEOUT:
                return "grpc-timeout";
        case WEIR_X_ENVOY_EXPECTED_RQ_TIMEOUT_MS:
                return "x-envoy-expected-rq-timeout-ms";
        case WEIR_TIMEOUT_NO_HEADER:
                break;
        }
        return NULL;
}

/* At most `most` digits, and at least one: no sign, no blank, nothing else. */
static bool read_digits(struct weir_str text, size_t most, uint64_t *value)
{
        *value = 0;
        if (!text.len || text.len > most)
                return false;
        for (size_t i = 0; i < text.len; i++) {
                unsigned digit = (unsigned)(text.ptr[i] - '0');

                if (digit > 9)
                        return false;
                *value = *value * 10 + digit;
        }
        return true;
}

/* The nanoseconds of a unit of gRPC; 0: there is none. */
static uint64_t unit_of(char letter)
{
        switch (letter) {
        case 'H':
                return 3600 * 1000 * MS_NS;
        case 'M':
                return 60 * 1000 * MS_NS;
        case 'S':
                return 1000 * MS_NS;
        case 'm':
                return MS_NS;
        case 'u':
                return 1000;
        case 'n':
                return 1;
        default:
                return 0;
        }
}

bool weir__timeout_header_read(enum weir_timeout_header header, struct weir_str text,
                               uint64_t max_ns, uint64_t *ns)
{
        uint64_t unit = MS_NS, value;
        size_t digits = MILLIS_DIGITS;

        if (header == WEIR_GRPC_TIMEOUT) {
                unit = text.len ? unit_of(text.ptr[text.len - 1]) : 0;
                text.len -= text.len != 0;
                digits = 8;
        }
        if (!unit || !read_digits(text, digits, &value))
                return false;
        *ns = value > max_ns / unit ? max_ns : value * unit;
        return true;
}

int64_t weir_timeout_left_ms(const struct weir_ctx *ctx, int64_t margin_ms)
{
        uint64_t left_ms = weir_remaining_ns(ctx) / MS_NS;

        if (!ctx->deadline_ns)
                return WEIR_INF;
        return left_ms > (uint64_t)margin_ms ? (int64_t)left_ms - margin_ms : 0;
}

const char *weir_timeout_write(enum weir_timeout_header header, int64_t ms, char value[24])
{
        const char *name = weir__timeout_header_name(header);

        if (!name || ms <= 0 || ms == WEIR_INF)
                return NULL;
        if (header != WEIR_GRPC_TIMEOUT)
                snprintf(value, 24, "%" PRId64, ms);
        else if (ms <= GRPC_MAX)
                snprintf(value, 24, "%" PRId64 "m", ms);
        else
                snprintf(value, 24, "%" PRId64 "S",
                         ms / 1000 < GRPC_MAX ? ms / 1000 : (int64_t)GRPC_MAX);
        return name;
}
