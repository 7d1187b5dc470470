/* crew.h - the threads that run what blocks, and the bounded queue before them. */
#ifndef WEIR_CORE_CREW_H
#define WEIR_CORE_CREW_H

#include "cell.h"

struct weir__crew;

/* Starts its threads, each with the app's local values open. NULL with an error of the start. */
struct weir__crew *weir__crew_start(struct weir__app *app);

/* Queues a job; false when the queue is full. Any thread. */
bool weir__crew_take(struct weir__crew *crew, struct weir__cell *job);

/* When no loop is left: ends the threads, which have no job. NULL is fine. */
void weir__crew_stop(struct weir__crew *crew);

#endif
