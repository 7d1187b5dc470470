/* coding.h - which content codings a client takes: Accept-Encoding (RFC 9110 12.5.3). */
#ifndef WEIR_MIDDLEWARE_CODING_H
#define WEIR_MIDDLEWARE_CODING_H

#include <weir/ctx.h>

/* The weight of `coding` for this client, in thousandths: 0 is not at all. */
unsigned weir__coding_weight(const struct weir_ctx *ctx, const char *coding);

/*
 * The same in one field: *named by its name, *any by "*". Those that are not there are left alone.
 */
void weir__coding_read(struct weir_str field, const char *coding, int *named, int *any);

#endif
