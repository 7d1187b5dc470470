/* sockets.h - opening the listening sockets of an app. */
#ifndef WEIR_CORE_SOCKETS_H
#define WEIR_CORE_SOCKETS_H

#include "door.h"

/* Opens all for the door, and learns their ports; false with an error, or without memory. */
bool weir__sockets_open(struct weir__app *app, struct weir__door *door);

/* Tells where it listens, and which ports those are that the address does not say. */
void weir__sockets_announce(const struct weir__app *app);

#endif
