/* json_fault.h - what is wrong with a document, collected into problem details (RFC 9457). */
#ifndef WEIR_CORE_JSON_FAULT_H
#define WEIR_CORE_JSON_FAULT_H

#include "json_text.h"

#define WEIR__JSON_MAX_FAULTS 32 /* as many are told; then nobody looks for more */

/* A value's place in its document: a chain of places up to the root, whose `up` is NULL. */
struct weir__json_place {
        const struct weir__json_place *up;
        const char                    *name;  /* of a member; NULL: an element */
        size_t                         len;   /* of the name                   */
        size_t                         index; /* of an element                 */
};

/* All zero but the pools of both buffers: no fault. */
struct weir__json_faults {
        struct weir_json_writer w;
        struct weir__json_home  text;
        struct weir__json_home  pointer; /* the one that is being written */
        unsigned                n;
};

void weir__json_faults_init(struct weir__json_faults *faults, struct weir__pool *pool);

/* Adds one: where, and what the value must be. */
void weir__json_fault(struct weir__json_faults *faults, const struct weir__json_place *place,
                      const char *fmt, ...) WEIR_PRINTF(3, 4);

/* Answers with all that were added. */
enum weir_flow weir__json_faults_answer(struct weir_ctx *ctx, struct weir__json_faults *faults);

/* Frees what is left. */
void weir__json_faults_release(struct weir__json_faults *faults);

#endif
