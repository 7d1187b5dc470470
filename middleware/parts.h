/* parts.h - several ranges of a file as one body: multipart/byteranges (RFC 9110 14.6). */
#ifndef WEIR_MIDDLEWARE_PARTS_H
#define WEIR_MIDDLEWARE_PARTS_H

#include "range.h"

#include <weir/answer.h>

#define WEIR__PART_TYPE 127 /* bytes of a media type, at most */

/*
 * Answers 206 with the ranges of `fd`, a file of `size` bytes and of media type `type`, and closes
 * it. False, and nothing has happened, when there is no memory or no randomness for it.
 */
bool weir__parts_send(struct weir_ctx *ctx, int fd, uint64_t size, const char *type,
                      const struct weir__ranges *ranges);

#endif
