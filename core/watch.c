/*
 * watch.c - connections that take too long: nothing is written down for that while a request is
 * served. Each connection is looked at once in a period, and what it does then is compared with
 * what it did before.
 *
 *      IDLE   no request line is in. Bytes that make none are a head that drips in
 *      HEAD   the rest of the head comes in
 *      BODY   the body comes in
 *      WRITE  the answer goes out: how much of it has arrived, the kernel knows
 *      SERVE  the app has it, which has its own deadlines
 *
 * A timer that the loop sleeps on says when the next look is due; busy loops look every now and
 * then anyhow (mhd_turn.c).
 */
#include "exchange.h"
#include "mhd_private.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOKS_PER_LIMIT 8
#define LOOKS_PER_TURN  8  /* others want theirs; what is left is due at once */
#define MIN_PERIOD_NS   20000000ull   /* 20 ms */
#define MAX_PERIOD_NS   5000000000ull /* 5 s   */

enum {
        IDLE,
        HEAD,
        BODY,
        WRITE,
        SERVE,
};

/* ---- How often to look. ---- */

static uint64_t period_of(const struct weir_options *o)
{
        const int64_t limits[] = { o->idle_timeout_ms,  o->header_timeout_ms, o->body_timeout_ms,
                                   o->write_timeout_ms, o->rate_window_ms,    o->max_age_ms };
        uint64_t period = MAX_PERIOD_NS * LOOKS_PER_LIMIT;

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                if (weir__ns_of_ms(limits[i]) < period)
                        period = weir__ns_of_ms(limits[i]);
        }
        period /= LOOKS_PER_LIMIT;
        return period < MIN_PERIOD_NS ? MIN_PERIOD_NS : period;
}

/* Whatever has woken the loop: until the next look is set, the timer does so again. */
static void arm(struct weir__mhd *mhd, uint64_t at_ns)
{
        struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ns / 1000000000),
                                               .tv_nsec = (long)(at_ns % 1000000000) } };

        mhd->watch_ns = at_ns;
        timerfd_settime(mhd->watch_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* ---- What a connection does. ---- */

static int state_of(const struct weir__conn *conn)
{
        const struct weir__cell *cell = conn->cell;

        if (!cell)
                return IDLE;
        if (cell->waits)
                return SERVE;
        switch (cell->phase) {
        case WEIR__FRESH:
                return HEAD;
        case WEIR__HEAD:
        case WEIR__BODY:
        case WEIR__SWALLOW:
                return BODY;
        case WEIR__ANSWERED:
                return WRITE;
        case WEIR__END:
        case WEIR__LEFT:
                break;
        }
        return SERVE;
}

/* False where the kernel does not count, as on a unix socket. */
static bool tcp_info(int fd, struct tcp_info *info)
{
        socklen_t len = sizeof(*info);

        return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0 &&
               len >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t);
}

static uint64_t received(const struct weir__conn *conn)
{
        struct tcp_info info;

        return tcp_info(conn->fd, &info) ? info.tcpi_bytes_received : 0;
}

uint64_t weir__acked(int fd)
{
        struct tcp_info info;

        return tcp_info(fd, &info) ? info.tcpi_bytes_acked : UINT64_MAX;
}

/* Bytes that have come in or gone out in this state; UINT64_MAX: nobody knows. */
static uint64_t moved(const struct weir__conn *conn, int state)
{
        return state == BODY ? conn->cell->body_seen : weir__acked(conn->fd);
}

/* ---- What is too long. ---- */

/* Silently. */
static void cut(struct weir__mhd *mhd, struct weir__conn *conn, size_t stat)
{
        weir__count_by(&mhd->loop->counters, stat, 1);
        shutdown(conn->fd, SHUT_RDWR);
}

/* There is no request yet that could be answered, so this is by hand. */
static void cut_head(struct weir__mhd *mhd, struct weir__conn *conn)
{
        weir__wire_bare(conn->fd, &mhd->loop->clock, 408, ""); /* the client may be gone */
        cut(mhd, conn, WEIR__STAT(header_timeouts));
}

static void cut_body(struct weir__mhd *mhd, struct weir__conn *conn)
{
        weir__exchange_too_slow(conn->cell);
        weir__mhd_cut(conn, conn->cell);
        cut(mhd, conn, WEIR__STAT(body_timeouts));
}

static bool check_idle(struct weir__mhd *mhd, struct weir__conn *conn, uint64_t now_ns)
{
        const struct weir_options *o = &mhd->loop->app->options;
        struct weir__watch *watch = &conn->watch;
        uint64_t for_ns = now_ns - watch->since_ns;

        if (!watch->quiet && for_ns > weir__ns_of_ms(o->header_timeout_ms)) {
                watch->quiet = received(conn) == watch->moved;
                if (!watch->quiet) {
                        cut_head(mhd, conn);
                        return true;
                }
        }
        if (for_ns <= weir__ns_of_ms(o->idle_timeout_ms) && !watch->old)
                return false;
        cut(mhd, conn, WEIR__STAT(idle_closed));
        return true;
}

bool weir__rate_is_low(uint64_t *window_ns, uint64_t *moved, uint64_t moved_now, uint64_t rate,
                       uint64_t length_ns, uint64_t now_ns)
{
        uint64_t for_ns = now_ns - *window_ns, before = *moved;

        if (for_ns < length_ns || moved_now == UINT64_MAX)
                return false;
        *window_ns = now_ns;
        *moved = moved_now;
        return (moved_now - before) * 1000 < rate * (for_ns / 1000000);
}

static bool check_transfer(struct weir__mhd *mhd, struct weir__conn *conn, int state,
                           uint64_t now_ns)
{
        const struct weir_options *o = &mhd->loop->app->options;
        struct weir__watch *watch = &conn->watch;
        int64_t limit = state == BODY ? o->body_timeout_ms : o->write_timeout_ms;
        int64_t rate = state == BODY ? o->min_body_rate : o->min_write_rate;
        bool slow = rate != WEIR_NONE &&
                    weir__rate_is_low(&watch->window_ns, &watch->moved, moved(conn, state),
                                      (uint64_t)rate, weir__ns_of_ms(o->rate_window_ms), now_ns);

        if (!slow && now_ns - watch->since_ns <= weir__ns_of_ms(limit))
                return false;
        if (state == BODY)
                cut_body(mhd, conn);
        else
                cut(mhd, conn, WEIR__STAT(write_timeouts));
        return true;
}

static void begin(struct weir__conn *conn, int state, uint64_t now_ns)
{
        struct weir__watch *watch = &conn->watch;

        watch->state = (uint8_t)state;
        watch->requests_left = conn->requests_left;
        watch->quiet = false;
        watch->since_ns = watch->window_ns = now_ns;
        watch->moved = state == IDLE                      ? received(conn)
                       : state == BODY || state == WRITE ? moved(conn, state)
                                                         : 0;
}

/* False: it was cut, and needs no more looks. */
static bool look(struct weir__mhd *mhd, struct weir__conn *conn, uint64_t now_ns)
{
        const struct weir_options *o = &mhd->loop->app->options;
        struct weir__watch *watch = &conn->watch;
        int state = state_of(conn);

        if (now_ns - watch->opened_ns > weir__ns_of_ms(o->max_age_ms))
                watch->old = conn->closing = true; /* behind its next answer */
        if (state != watch->state || conn->requests_left != watch->requests_left)
                begin(conn, state, now_ns);
        if (state == IDLE)
                return !check_idle(mhd, conn, now_ns);
        if (state == BODY || state == WRITE)
                return !check_transfer(mhd, conn, state, now_ns);
        if (state == SERVE ||
            now_ns - conn->cell->ctx.started_ns <= weir__ns_of_ms(o->header_timeout_ms))
                return true;
        cut_head(mhd, conn);
        return false;
}

/* ---- For the loop. ---- */

bool weir__watch_init(struct weir__mhd *mhd)
{
        struct epoll_event event = { .events = EPOLLIN }; /* MHD passes over ptr NULL */

        mhd->watches.after_ns = period_of(&mhd->loop->app->options);
        mhd->watch_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        return mhd->watch_fd >= 0 &&
               epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, mhd->watch_fd, &event) == 0;
}

void weir__watch_finish(struct weir__mhd *mhd)
{
        if (mhd->watch_fd > 0)
                close(mhd->watch_fd);
}

void weir__watch_add(struct weir__mhd *mhd, struct weir__conn *conn)
{
        int64_t most = mhd->loop->app->options.max_requests;
        uint64_t now_ns = weir__now(&mhd->loop->clock);
        bool first = !mhd->watches.first;

        conn->requests_left = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
        conn->watch = (struct weir__watch){ .opened_ns = now_ns,
                                            .since_ns = now_ns,
                                            .requests_left = conn->requests_left };
        weir__timer_set(&mhd->watches, &conn->watch.timer, now_ns);
        if (first)
                arm(mhd, conn->watch.timer.due_ns);
}

void weir__watch_remove(struct weir__mhd *mhd, struct weir__conn *conn)
{
        weir__timer_cancel(&mhd->watches, &conn->watch.timer);
}

void weir__watch_turn(struct weir__mhd *mhd, uint64_t now_ns)
{
        struct weir__timer *timer;
        unsigned looks = 0;

        while (looks < LOOKS_PER_TURN && (timer = weir__timer_due(&mhd->watches, now_ns))) {
                struct weir__conn *conn = (struct weir__conn *)(void *)((char *)timer -
                                                                        offsetof(struct weir__conn,
                                                                                 watch.timer));

                looks++;
                if (look(mhd, conn, now_ns))
                        weir__timer_set(&mhd->watches, timer, now_ns);
        }
        if (mhd->watch_ns && mhd->watch_ns <= now_ns)
                arm(mhd, mhd->watches.first ? mhd->watches.first->due_ns : 0);
}
