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

/* What a server is asked for; it only ever goes up. */
enum { WEIR__KEEP_ON, WEIR__STOP, WEIR__HURRY };

/* Any thread. */
void weir__server_ask(struct weir__server *server, int what);
bool weir__server_runs(struct weir__server *server);

/* The drain_delay_ms of weir_run(); `kubernetes` is the variable that its pods have, or NULL. */
int64_t weir__run_delay_ms(int64_t option, const char *kubernetes);

/* Can be read once the server has stopped. */
int weir__server_stopped_fd(const struct weir__server *server);

#define WEIR__SPARE_FDS 64 /* for the process beside its connections */

/* CPUs that this process may use, with `root` as in cgroup.h; at least 1. */
unsigned weir__usable_cpus(const char *root);

/* One loop for each of those, unless the app says otherwise. */
unsigned weir__loops(const struct weir__app *app);

/* Connections at a time: as the options say, or as descriptors allow. */
unsigned weir__connection_limit(const struct weir_options *options);

/* Warns of what weir_check_machine() finds, at the first start. */
void weir__machine_tell(struct weir__app *app);

/* Adds the counters of all loops. NULL is fine. With app->lock held. */
void weir__server_counters(const struct weir__server *server, struct weir__counters *sum);

/* The most that any of its loops owes a sign of life. NULL is fine. With app->lock held. */
uint64_t weir__server_lag_ns(const struct weir__server *server);

/* Stops what runs, waits, frees. */
void weir__server_free(struct weir__app *app);

#endif
