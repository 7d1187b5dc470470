/*
 * server.h - what serves an app: a door that accepts, loops that answer, and their end.
 *
 *      weir_start()            weir_stop()                    nothing in flight, or time is up
 *      ----------> RUNNING -----------------> LAME -> DRAIN ------------------------> STOPPED
 *                            (door thread)    delay   no new connections, idle ones close
 *
 * The door's thread walks through the states; others only ask and wait.
 */
#ifndef WEIR_CORE_SERVER_H
#define WEIR_CORE_SERVER_H

#include "app.h"

struct weir__server;

/* Adds the counters of all loops. NULL is fine. With app->lock held. */
void weir__server_counters(const struct weir__server *server, struct weir__counters *sum);

/* Stops what runs, waits, frees. */
void weir__server_free(struct weir__app *app);

#endif
