/*
 * mhd.h - libmicrohttpd as a transport: one daemon a loop, driven from the loop's thread.
 *
 * Only core/mhd*.c include <microhttpd.h>.
 */
#ifndef WEIR_CORE_MHD_H
#define WEIR_CORE_MHD_H

#include "arrival.h"
#include "cell.h"

struct weir__mhd;

/* Each write to `wake_fd`, an eventfd, ends a sleep. NULL: then *why says why. */
struct weir__mhd *weir__mhd_new(struct weir__loop *loop, int wake_fd, const char **why);

/* No connection must be open, or it is cut. */
void weir__mhd_free(struct weir__mhd *mhd);

/* Takes over its descriptor, which does not block, and tells its client of the end. */
void weir__mhd_add(struct weir__mhd *mhd, const struct weir__arrival *arrival);

/* Serves what is ready, sleeping for it at most `wait_ms`; -1: as long as it takes. */
void weir__mhd_turn(struct weir__mhd *mhd, int wait_ms);

/* Connections that are open, with those that close slowly or are streams that wait. */
unsigned weir__mhd_connections(const struct weir__mhd *mhd);

/* The drain begins at `now_ns` of the system's clock: drain.c. */
void weir__mhd_drain(struct weir__mhd *mhd, uint64_t now_ns);

/* Closes connections that are idle and quiet; after how many ms to do that again, -1: never. */
int weir__mhd_drain_turn(struct weir__mhd *mhd, uint64_t now_ns);

/* From now on each new request is answered 503. */
void weir__mhd_turn_away(struct weir__mhd *mhd);

/* Cuts all connections at the next turn. */
void weir__mhd_close_all(struct weir__mhd *mhd);

/* What it can and cannot do, which depends on the version of the library at run time. */
const struct weir__transport *weir__mhd_transport(void);

#endif
