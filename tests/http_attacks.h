/*
 * http_attacks.h - requests that must be refused, and how: docs/limits.md, "The guard" and after.
 *
 * What libmicrohttpd 1.0 refuses before weir can see it, 0.9.75 may leave to weir: two verdicts
 * then. Where the page names no more than a class, so does the verdict.
 */
#ifndef WEIR_TESTS_HTTP_ATTACKS_H
#define WEIR_TESTS_HTTP_ATTACKS_H

#include <weir/weir.h>

/* Who refuses, instead of a reason of the guard. */
enum {
        MHDS = -1,  /* libmicrohttpd: counted in transport_answers    */
        EITHER = -2, /* one of both: exactly one counter               */
        SILENT = -3, /* closed, at the latest when the client is gone  */
        LATE = -4,  /* in the body: libmicrohttpd, or served and closed */
};

struct verdict {
        int  status; /* 0: any 4xx or 5xx                       */
        int  by;     /* enum weir_guard, or one of those above  */
        bool twice;  /* 0.9.75 may send the head two times      */
};

struct attack {
        const char    *bytes;
        size_t         len;
        struct verdict old, now; /* libmicrohttpd before 1.0, and since */
};

#define BYTES(text) text, sizeof(text) - 1

#define BY(reason)                              \
        {                                       \
                400, WEIR_GUARD_##reason, false \
        }
#define IS501(reason)                           \
        {                                       \
                501, WEIR_GUARD_##reason, false \
        }
#define MHD400                   \
        {                        \
                400, MHDS, false \
        }
#define TWICE(status)              \
        {                          \
                status, MHDS, true \
        }
#define MHD(status)                 \
        {                           \
                status, MHDS, false \
        }
#define ANYHOW                  \
        {                       \
                0, EITHER, true \
        }
#define NOTHING                  \
        {                        \
                0, SILENT, false \
        }
#define LATELY                 \
        {                      \
                0, LATE, false \
        }

#define H    "Host: x\r\n"
#define GET  "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define TE   "Transfer-Encoding: chunked\r\n"
#define CL   "Content-Length: 3\r\n"

static const struct attack attacks_on_the_line[] = {
        { BYTES("G@T / HTTP/1.1\r\n" H "\r\n"), BY(METHOD), BY(METHOD) },
        { BYTES("G(T / HTTP/1.1\r\n" H "\r\n"), BY(METHOD), BY(METHOD) },
        { BYTES("G\x01T / HTTP/1.1\r\n" H "\r\n"), BY(METHOD), BY(METHOD) },
        { BYTES("G\xc3\x89T / HTTP/1.1\r\n" H "\r\n"), BY(METHOD), BY(METHOD) },
        { BYTES("CONNECT x:443 HTTP/1.1\r\n" H "\r\n"), IS501(METHOD), IS501(METHOD) },
        { BYTES("CONNECT / HTTP/1.0\r\n\r\n"), IS501(METHOD), IS501(METHOD) },
        { BYTES(" GET / HTTP/1.1\r\n" H "\r\n"), NOTHING, NOTHING },
        { BYTES("GET\r\n" H "\r\n"), NOTHING, NOTHING },
        { BYTES("G\0T / HTTP/1.1\r\n" H "\r\n"), ANYHOW, NOTHING },
        { BYTES("GET\0 / HTTP/1.1\r\n" H "\r\n"), ANYHOW, NOTHING },
        { BYTES("GET / HTTP/2.0\r\n" H "\r\n"), MHD(505), MHD(505) },
        { BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), MHD(505), MHD(505) },
        { BYTES("GET / HTTP/0.9\r\n" H "\r\n"), MHD(505), MHD(505) },
        { BYTES("GET /\r\n\r\n"), MHD400, MHD400 },
        { BYTES("GET / HTTX/1.1\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET / http/1.1\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET / HTTP/1.10\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET / HTTP/11\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET / HTTP/1.x\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET / HTTP/1.1 \r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET /a#b HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET a HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET * HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET http:///a HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET ftp://x/ HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET x:80 HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET /\x01 HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET /\x7f HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET /a?b\x1f HTTP/1.1\r\n" H "\r\n"), BY(TARGET), BY(TARGET) },
        { BYTES("GET /a b HTTP/1.1\r\n" H "\r\n"), { 400, EITHER, false }, MHD400 },
        { BYTES("GET  / HTTP/1.1\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET /  HTTP/1.1\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET /a\tb HTTP/1.1\r\n" H "\r\n"), ANYHOW, ANYHOW },
        { BYTES("GET /a\0b HTTP/1.1\r\n" H "\r\n"), ANYHOW, NOTHING },
        { BYTES("GET /a?\0 HTTP/1.1\r\n" H "\r\n"), ANYHOW, NOTHING },
};

static const struct attack attacks_on_fields[] = {
        { BYTES("GET / HTTP/1.1\r\n\r\n"), BY(HOST), MHD400 },
        { BYTES(GET H "\r\n"), BY(HOST), BY(HOST) },
        { BYTES(GET "Host: y\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.0\r\n" H H "\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: u@b\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: a:8:8\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES("GET / HTTP/1.1\r\nHost: [::1]8\r\n\r\n"), BY(HOST), BY(HOST) },
        { BYTES(GET "A(b): c\r\n\r\n"), BY(HEADER_NAME), BY(HEADER_NAME) },
        { BYTES(GET "A b: c\r\n\r\n"), BY(HEADER_NAME), { 400, EITHER, false } },
        { BYTES(GET "\xc3\xa9: c\r\n\r\n"), BY(HEADER_NAME), BY(HEADER_NAME) },
        { BYTES(GET "A\x01: c\r\n\r\n"), BY(HEADER_NAME), { 400, EITHER, false } },
        { BYTES(GET "A : b\r\n\r\n"), BY(HEADER_NAME), MHD400 },
        { BYTES(GET ": b\r\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\r\n: b\r\n" H "\r\n"), { 400, EITHER, false }, MHD400 },
        { BYTES(GET "no-colon\r\n\r\n"), MHD400, MHD400 },
        { BYTES(GET "A: b\x01"
                    "c\r\n\r\n"),
          BY(HEADER_VALUE), BY(HEADER_VALUE) },
        { BYTES(GET "A: b\x7f\r\n\r\n"), BY(HEADER_VALUE), BY(HEADER_VALUE) },
        { BYTES(GET "A: b\x1b[2J\r\n\r\n"), BY(HEADER_VALUE), BY(HEADER_VALUE) },
        { BYTES(GET "A: b\rc\r\n\r\n"), BY(HEADER_VALUE), MHD400 },
        { BYTES(GET "A: b\r\r\n\r\n"), ANYHOW, MHD400 },
        { BYTES(GET "\r\r\n"), ANYHOW, MHD400 },
        { BYTES(GET "A: b\0c\r\n\r\n"), { 400, EITHER, false }, MHD400 },
        { BYTES(GET "A\0: b\r\n\r\n"), { 400, EITHER, false }, MHD400 },
        { BYTES(GET "A: b\r\n c\r\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES(GET "A: b\r\n\tc\r\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES(GET "A: b\r\n \r\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\r\n " H "\r\n"), { 400, EITHER, false }, MHD400 },
        { BYTES("GET / HTTP/1.1\n" H "\r\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\r\nHost: x\n\r\n"), BY(FRAMING), MHD400 },
        { BYTES(GET "\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\nHost: x\n\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.0\n\n"), BY(FRAMING), MHD400 },
        { BYTES("GET / HTTP/1.1\r\rHost: x\r\n\r\n"), ANYHOW, ANYHOW },
        { BYTES(POST CL "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\nabc"), BY(DUPLICATE_HEADER),
          BY(DUPLICATE_HEADER) },
        { BYTES(GET "Authorization: a\r\nAuthorization: b\r\n\r\n"), BY(DUPLICATE_HEADER),
          BY(DUPLICATE_HEADER) },
        { BYTES(GET "Origin: a\r\norigin: b\r\n\r\n"), BY(DUPLICATE_HEADER), BY(DUPLICATE_HEADER) },
        { BYTES(GET "If-Modified-Since: a\r\nA: b\r\nIf-Modified-Since: a\r\n\r\n"),
          BY(DUPLICATE_HEADER), BY(DUPLICATE_HEADER) },
        { BYTES(GET "If-Unmodified-Since: a\r\nIf-Unmodified-Since: a\r\n\r\n"),
          BY(DUPLICATE_HEADER), BY(DUPLICATE_HEADER) },
        { BYTES(GET "If-Range: a\r\nIF-RANGE: a\r\n\r\n"), BY(DUPLICATE_HEADER),
          BY(DUPLICATE_HEADER) },
};

static const struct attack attacks_on_framing[] = {
        { BYTES(POST CL CL "\r\nabc"), BY(CONTENT_LENGTH), BY(CONTENT_LENGTH) },
        { BYTES(POST CL "Content-Length: 0\r\n\r\nabc"), BY(CONTENT_LENGTH), BY(CONTENT_LENGTH) },
        { BYTES(POST "Content-Length: 0\r\n" CL "\r\nabc"), BY(CONTENT_LENGTH),
          BY(CONTENT_LENGTH) },
        { BYTES(POST "Content-Length: 3, 3\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length: +3\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length: -3\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length: 0x3\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length: 3 3\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length: 3a\r\n\r\nabc"), TWICE(400), MHD400 },
        { BYTES(POST "Content-Length:\r\n\r\nabc"), ANYHOW, ANYHOW },
        { BYTES(POST "Content-Length: 99999999999999999999\r\n\r\nabc"), TWICE(413), MHD(413) },
        { BYTES(POST "Content-Length : 3\r\n\r\nabc"), BY(HEADER_NAME), MHD400 },
        { BYTES(GET CL "Content-Length: 0\r\n\r\nabc"), BY(CONTENT_LENGTH), BY(CONTENT_LENGTH) },
        { BYTES(POST CL TE "\r\n0\r\n\r\n"), BY(TRANSFER_ENCODING), MHD400 },
        { BYTES(POST TE CL "\r\n0\r\n\r\n"), BY(TRANSFER_ENCODING), MHD400 },
        { BYTES(POST TE TE "\r\n0\r\n\r\n"), BY(TRANSFER_ENCODING), BY(TRANSFER_ENCODING) },
        { BYTES(POST TE "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
          BY(TRANSFER_ENCODING),
          { 0, EITHER, false } },
        { BYTES(POST "Transfer-Encoding: identity\r\n" TE "\r\n0\r\n\r\n"),
          { 0, EITHER, false },
          { 0, EITHER, false } },
        { BYTES("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nabc"), BY(HOST), MHD400 },
        { BYTES(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), IS501(TRANSFER_ENCODING),
          MHD400 },
        { BYTES(POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
          IS501(TRANSFER_ENCODING), MHD400 },
        { BYTES(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), IS501(TRANSFER_ENCODING),
          MHD400 },
        { BYTES(POST "Transfer-Encoding: identity\r\n\r\nabc"), IS501(TRANSFER_ENCODING), MHD400 },
        { BYTES(POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"), ANYHOW, ANYHOW },
        { BYTES(POST "Transfer-Encoding: \x0b"
                     "chunked\r\n\r\n0\r\n\r\n"),
          BY(HEADER_VALUE),
          { 0, EITHER, false } },
        { BYTES(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), BY(HEADER_NAME), MHD400 },
        { BYTES(POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"), ANYHOW, MHD400 },
        { BYTES("POST / HTTP/1.0\r\n" TE "\r\n0\r\n\r\n"), BY(TRANSFER_ENCODING),
          BY(TRANSFER_ENCODING) },
        { BYTES("POST / HTTP/1.0\r\n" TE CL "\r\n0\r\n\r\n"),
          BY(TRANSFER_ENCODING),
          { 400, EITHER, false } },
};

static const struct attack attacks_on_chunks[] = {
        { BYTES(POST TE "\r\nxyz\r\n\r\n"), MHD400, MHD400 },
        { BYTES(POST TE "\r\n3\r\nabcd\r\n0\r\n\r\n"), MHD400, MHD400 },
        { BYTES(POST TE "\r\n3\r\nabc0\r\n\r\n"), MHD400, MHD400 },
        { BYTES(POST TE "\r\n-3\r\nabc\r\n0\r\n\r\n"), LATELY, LATELY },
        { BYTES(POST TE "\r\n+3\r\nabc\r\n0\r\n\r\n"), LATELY, LATELY },
        { BYTES(POST TE "\r\n0x3\r\nabc\r\n0\r\n\r\n"), LATELY, LATELY },
        { BYTES(POST TE "\r\n 3\r\nabc\r\n0\r\n\r\n"), LATELY, LATELY },
        { BYTES(POST TE "\r\n3\nabc\r\n0\r\n\r\n"), LATELY, MHD400 },
        { BYTES(POST TE "\r\n3\r\nabc\n0\r\n\r\n"), LATELY, MHD400 },
        { BYTES(POST TE "\r\n3;a=b\r\nabc\r\n0\r\n\r\n"), LATELY, MHD400 },
        { BYTES(POST TE "\r\n3\r\nabc\r\n0\n\n"), LATELY, MHD400 },
        { BYTES(POST TE "\r\n3\r\nabc\r\n0\r\n: b\r\n\r\n"), LATELY, MHD400 },
        { BYTES(POST TE "\r\n1ffffffffffffffff\r\nabc"), MHD(413), MHD(413) },
};

#endif
