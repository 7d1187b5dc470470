/*
 * mhd_wait.c - a request that waits is a connection that MHD has put aside.
 *
 * MHD neither reads from it nor notices that its client leaves: leave.c does. Once it goes on, MHD
 * repeats the callback in which it was put aside, unless that took a piece of the body. When it was
 * the first one of the request, an answer there would close the connection, so nothing is done in
 * it, and the answer waits for the last one as ever.
 *
 * A connection that goes on is read first if it was put aside while MHD meant to, and dropped when
 * that gives its end. So where a client may send no more and its request is in, MHD is let come as
 * far as it can, to the last callback, where it means to read no more: the connection is put aside
 * when the turn is over.
 */
#include <microhttpd.h>

#include "mhd_private.h"

/* Of cell->repeats. */
enum {
        NO,
        REPEATS,
        PARKS, /* is put aside behind this turn */
};

int weir__mhd_suspend(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell,
                      bool in_first)
{
        if (conn->half_close && weir__is_in(cell)) {
                cell->repeats = PARKS;
                conn->next_parking = mhd->parking;
                mhd->parking = conn;
                return MHD_YES;
        }
        cell->repeats = in_first ? REPEATS : NO;
        weir__leave_waits(mhd, conn);
        MHD_suspend_connection(conn->mhd);
        return MHD_YES;
}

void weir__mhd_park(struct weir__mhd *mhd)
{
        while (mhd->parking) {
                struct weir__conn *conn = mhd->parking;

                mhd->parking = conn->next_parking;
                conn->cell->repeats = NO;
                weir__leave_waits(mhd, conn);
                MHD_suspend_connection(conn->mhd);
        }
}

void weir__mhd_unpark(struct weir__mhd *mhd, const struct weir__conn *conn)
{
        struct weir__conn **at = &mhd->parking;

        while (*at && *at != conn)
                at = &(*at)->next_parking;
        if (*at)
                *at = conn->next_parking;
}

void weir__mhd_woke(struct weir__cell *cell, int next)
{
        struct weir__conn *conn = cell->conn;

        if (!cell->repeats && cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(cell->loop->carrier, conn);
        if (next == WEIR__CUT)
                weir__mhd_cut(conn, cell);
        if (next == WEIR__CUT || cell->phase == WEIR__LEFT)
                cell->repeats = REPEATS;
        cell->step = (uint8_t)next;
        weir__leave_waits(cell->loop->carrier, conn);
        ((struct weir__mhd *)cell->loop->carrier)->stirred = true;
        MHD_resume_connection(conn->mhd);
}

int weir__mhd_repeat(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        if (cell->repeats == PARKS)
                return MHD_YES;
        cell->repeats = NO;
        if (cell->phase == WEIR__LEFT || cell->step == WEIR__CUT)
                return MHD_NO;
        if (cell->step == WEIR__ANSWER)
                return weir__mhd_send(mhd, conn, cell);
        if (cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(mhd, conn);
        return MHD_YES;
}
