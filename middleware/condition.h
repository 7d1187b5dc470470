/* condition.h - may the answer be sent? Conditional requests (RFC 9110 13) for GET and HEAD. */
#ifndef WEIR_MIDDLEWARE_CONDITION_H
#define WEIR_MIDDLEWARE_CONDITION_H

#include <weir/ctx.h>

/* What is known of the representation that a 200 would send. */
struct weir__validators {
        struct weir_str etag;       /* with its quotes, without W/                    */
        bool            weak;       /* both may be those of another content too      */
        int64_t         modified_s; /* Last-Modified, since the epoch                 */
        int64_t         now_s;
};

enum weir__condition {
        WEIR__HOLDS,
        WEIR__NOT_MODIFIED, /* 304 */
        WEIR__FAILED,       /* 412 */
};

enum weir__condition weir__condition(const struct weir_ctx *ctx, const struct weir__validators *v);

/* Does If-Range let Range count? True without one. */
bool weir__if_range(const struct weir_ctx *ctx, const struct weir__validators *v);

/*
 * Does an If-Match (`strong`) or If-None-Match field name the entity-tag? "*" names any. What comes
 * behind a fault in the list does not count.
 */
bool weir__names_etag(struct weir_str list, const struct weir__validators *v, bool strong);

#endif
