/*
 * mhd_turn.c - one turn of a loop: MHD serves what is ready, weir ends what is due.
 *
 * MHD_epoll() asks again, without resetting its time-out, as long as epoll_wait() returns a full
 * array of 128 events. With a multiple of 128 ready it sleeps on them. So MHD may sleep only while
 * it has fewer descriptors than that; else poll() sleeps, and it is called without a wait. Those of
 * connections that are put aside do not count: they are not in its set.
 */
#include <microhttpd.h>

#include "hint.h"
#include "mhd_private.h"
#include "wait.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>

#define MHD_EVENTS 128
#define OWN_EVENTS 6 /* descriptors in MHD's set that are no connections */
#define TIDYING    3 /* turns without callbacks that MHD has behind a request that waited */

/* In most turns nothing is: then no clock is read. */
static bool is_timed(const struct weir__mhd *mhd)
{
        return (uintptr_t)mhd->short_timers.first | (uintptr_t)mhd->lingers.timers.first |
               (uintptr_t)mhd->leave_timers.first | (uintptr_t)mhd->loop->dues.first;
}

static WEIR__COLD void expire(struct weir__mhd *mhd)
{
        uint64_t now;
        struct weir__timer *timer;

        if (mhd->loop->dues.first)
                weir__wait_turn(mhd->loop);
        if (!mhd->short_timers.first && !mhd->lingers.n)
                return;
        now = weir__now(&mhd->loop->clock);
        weir__lingers_turn(&mhd->lingers, now);
        while ((timer = weir__timer_due(&mhd->short_timers, now))) {
                struct weir__conn *conn = (struct weir__conn *)(void *)((char *)timer -
                                                                        offsetof(struct weir__conn,
                                                                                 swallow));

                WEIR__COUNT(mhd->loop, linger_cut);
                weir__mhd_cut(conn, conn->cell);
                shutdown(conn->fd, SHUT_RDWR);
        }
}

static int shorter(int a, int b)
{
        return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Rounded up, so that what is due then is due. */
static int ms_until(uint64_t at_ns, uint64_t now_ns)
{
        if (at_ns <= now_ns)
                return 0;
        if (at_ns - now_ns > (uint64_t)INT_MAX * 1000000)
                return at_ns == UINT64_MAX ? -1 : INT_MAX;
        return (int)((at_ns - now_ns + 999999) / 1000000);
}

static WEIR__COLD int next_timer_ms(const struct weir__mhd *mhd)
{
        uint64_t now = weir__now(&mhd->loop->clock);

        return shorter(shorter(weir__timer_wait_ms(&mhd->short_timers, now),
                               weir__timer_wait_ms(&mhd->lingers.timers, now)),
                       shorter(weir__timer_wait_ms(&mhd->leave_timers, now),
                               ms_until(weir__wait_until(mhd->loop), now)));
}

/* Is MHD ready to go on without another event? Of what `stirred` tells it says nothing. */
static bool is_pending(const struct weir__mhd *mhd)
{
        MHD_UNSIGNED_LONG_LONG wait_ms;

        return MHD_get_timeout(mhd->daemon, &wait_ms) == MHD_YES && wait_ms == 0;
}

/* The wait of a turn that MHD cannot sleep in. */
static WEIR__APART void sleep_outside(const struct weir__mhd *mhd, int wait_ms, uint64_t pace_ns)
{
        struct pollfd ready = { .fd = mhd->epoll_fd, .events = POLLIN };
        struct timespec pace = { .tv_nsec = (long)pace_ns };

        if (is_pending(mhd))
                return;
        if (pace_ns)
                ppoll(&ready, 1, &pace, NULL);
        else
                poll(&ready, 1, wait_ms);
}

/* For those whom no callback tells of. */
static WEIR__COLD void look_around(struct weir__mhd *mhd)
{
        uint64_t now = weir__now(&mhd->loop->clock);

        mhd->busy_turns = 0;
        weir__leave_turn(mhd, now);
        weir__watch_turn(mhd, now);
        weir__push_turn(mhd);
}

/* What has to end ends after the sleep: it may be the last that the loop waits for. */
void weir__mhd_turn(struct weir__mhd *mhd, int wait_ms)
{
        uint64_t pace_ns = WEIR__UNLIKELY(mhd->waking) ? weir__mhd_pace(mhd) : 0;
        bool mhd_sleeps = !pace_ns && mhd->n_conns - mhd->n_aside + OWN_EVENTS < MHD_EVENTS;

        if (is_timed(mhd))
                wait_ms = shorter(wait_ms, next_timer_ms(mhd));
        mhd->callbacks = 0;
        if (!mhd_sleeps && wait_ms != 0 && !mhd->stirred)
                sleep_outside(mhd, wait_ms, pace_ns);
        mhd->stirred = false;
        MHD_run_wait(mhd->daemon, mhd_sleeps ? wait_ms : 0);
        if (WEIR__UNLIKELY(mhd->parking))
                weir__mhd_park(mhd);
        mhd->idle_turns = mhd->callbacks ? 0 : mhd->idle_turns + 1;
        if (mhd->idle_turns > TIDYING || mhd->leave_timers.first ||
            ++mhd->busy_turns >= mhd->look_turns)
                look_around(mhd);
        if (is_timed(mhd))
                expire(mhd);
}
