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
 *
 * When connections go on, MHD looks at all that are put aside. Where they are many, these looks get
 * a part of the time: who comes close behind one waits for the next, with others.
 */
#include <microhttpd.h>

#include "mhd_private.h"

#define MANY    256 /* put aside: from then on, looks are shared        */
#define LOOK_NS 20  /* that MHD takes to look at one                    */
#define REST    4   /* times what a look takes is the time to the next  */

/* Of cell->repeats. */
enum {
        NO,
        REPEATS,
        PARKS, /* is put aside behind this turn */
};

static void put_aside(struct weir__mhd *mhd, struct weir__conn *conn)
{
        weir__leave_waits(mhd, conn);
        mhd->n_aside++;
        MHD_suspend_connection(conn->mhd);
}

static void take_up(struct weir__mhd *mhd, struct weir__conn *conn)
{
        mhd->n_aside--;
        mhd->stirred = true;
        MHD_resume_connection(conn->mhd);
}

int weir__mhd_suspend(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell,
                      bool in_first)
{
        if (conn->half_close && weir__is_in(cell)) {
                cell->repeats = PARKS;
                conn->next_aside = mhd->parking;
                mhd->parking = conn;
                return MHD_YES;
        }
        cell->repeats = in_first ? REPEATS : NO;
        put_aside(mhd, conn);
        return MHD_YES;
}

void weir__mhd_park(struct weir__mhd *mhd)
{
        while (mhd->parking) {
                struct weir__conn *conn = mhd->parking;

                mhd->parking = conn->next_aside;
                conn->cell->repeats = NO;
                put_aside(mhd, conn);
        }
}

void weir__mhd_unpark(struct weir__mhd *mhd, const struct weir__conn *conn)
{
        struct weir__conn **at = &mhd->parking;

        while (*at && *at != conn)
                at = &(*at)->next_aside;
        if (*at)
                *at = conn->next_aside;
}

void weir__mhd_woke(struct weir__cell *cell, int next)
{
        struct weir__mhd *mhd = cell->loop->carrier;
        struct weir__conn *conn = cell->conn;

        if (!cell->repeats && cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(mhd, conn);
        if (next == WEIR__CUT)
                weir__mhd_cut(conn, cell);
        if (next == WEIR__CUT || cell->phase == WEIR__LEFT)
                cell->repeats = REPEATS;
        cell->step = (uint8_t)next;
        weir__leave_waits(mhd, conn);
        if (mhd->n_aside < MANY) {
                take_up(mhd, conn);
                return;
        }
        conn->next_aside = mhd->waking;
        mhd->waking = conn;
}

void weir__mhd_release(struct weir__mhd *mhd)
{
        while (mhd->waking) {
                struct weir__conn *conn = mhd->waking;

                mhd->waking = conn->next_aside;
                take_up(mhd, conn);
        }
}

uint64_t weir__mhd_pace(struct weir__mhd *mhd)
{
        uint64_t now_ns = weir__now(&weir__system_clock);

        if (now_ns < mhd->look_aside_ns && !mhd->full)
                return mhd->look_aside_ns - now_ns;
        weir__mhd_release(mhd);
        mhd->look_aside_ns = now_ns + (uint64_t)mhd->n_aside * (1 + REST) * LOOK_NS;
        return 0;
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
