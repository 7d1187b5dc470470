/*
 * mhd_wait.c - a request that waits is a connection that MHD has put aside.
 *
 * MHD neither reads from it nor notices that its client leaves: leave.c does. Once it goes on, MHD
 * repeats the callback in which it was put aside, unless that took a piece of the body. When it was
 * the first one of the request, an answer there would close the connection, so nothing is done in
 * it, and the answer waits for the last one as ever.
 */
#include <microhttpd.h>

#include "mhd_private.h"

int weir__mhd_suspend(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell,
                      bool in_first)
{
        cell->repeats = in_first;
        weir__leave_waits(mhd, conn);
        MHD_suspend_connection(conn->mhd);
        return MHD_YES;
}

void weir__mhd_woke(struct weir__cell *cell, int next)
{
        struct weir__conn *conn = cell->conn;

        if (!cell->repeats && cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(cell->loop->carrier, conn);
        if (next == WEIR__CUT)
                weir__mhd_cut(conn, cell);
        if (next == WEIR__CUT || cell->phase == WEIR__LEFT)
                cell->repeats = true;
        cell->step = (uint8_t)next;
        MHD_resume_connection(conn->mhd);
}

int weir__mhd_repeat(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        cell->repeats = false;
        if (cell->phase == WEIR__LEFT || cell->step == WEIR__CUT)
                return MHD_NO;
        if (cell->step == WEIR__ANSWER)
                return weir__mhd_send(mhd, conn, cell);
        if (cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(mhd, conn);
        return MHD_YES;
}
