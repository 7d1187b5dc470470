/* views.h - the text of a request, moved out of the memory of its connection. */
#ifndef WEIR_CORE_VIEWS_H
#define WEIR_CORE_VIEWS_H

#include "cell.h"

/*
 * Copies what the views of a request are of into cell->work.text, and points them there. Once in
 * the life of a cell's request, on its loop. False without memory: nothing has changed.
 */
bool weir__views_move(struct weir__cell *cell);

#endif
