/*
 * push.c - streams that have waited, on sockets of their own.
 *
 * libmicrohttpd looks at all its suspended connections whenever one goes on, and each keeps its
 * memory. So a connection whose stream waits leaves it for good, at the first wait: a copy of the
 * descriptor goes on here, in an epoll set that is a member of MHD's, and the cell has all that the
 * request needs. What waits holds no buffer. Pieces are framed by hand (RFC 9112 7.1), and one is
 * pulled when the kernel has all of the one before.
 *
 *      weir__push_part()   in the pull function, before anybody can claim the request
 *      weir__push_keep()   behind it: what it gave in spite of that
 *      weir__push_go()     MHD has let go of the connection
 *      pump()              flush, pull, flush ... until the stream waits, blocks or ends
 *
 * While it waits the request may be somebody else's: then only its socket, its end and what is in
 * `push` are looked at here.
 */
#include "clients.h"
#include "mhd_private.h"
#include "stream.h"
#include "views.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE      16384 /* the buffer: a frame and what is in it               */
#define FRAME      8     /* "3ff8\r\n" before it, "\r\n" behind it              */
#define BEFORE     6     /* the part of that which comes before                 */
#define PIECES     16    /* that one stream may send while the others have none */
#define BUSY_TURNS 256   /* how often to look while requests keep MHD busy      */

_Static_assert(WEIR__PUSH_MAX == PIECE - FRAME, "what a piece holds");

static struct weir__mhd *mhd_of(const struct weir__cell *cell)
{
        return cell->loop->carrier;
}

/* ---- The set. ---- */

bool weir__push_init(struct weir__mhd *mhd)
{
        struct epoll_event event = { .events = EPOLLIN }; /* MHD passes over ptr NULL */

        mhd->look_turns = BUSY_TURNS;
        mhd->push_fd = epoll_create1(EPOLL_CLOEXEC);
        return mhd->push_fd >= 0 &&
               epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, mhd->push_fd, &event) == 0;
}

/* Edges are enough: what blocks is told when it does not, and the end comes once. */
static bool watch(struct weir__mhd *mhd, struct weir__cell *cell)
{
        const struct weir__conn *conn = cell->conn;
        struct epoll_event event = { .events = EPOLLOUT | EPOLLET, .data.ptr = cell };

        if (!conn->shut && !conn->half_close) /* else that is no end, or the server's own doing */
                event.events |= EPOLLRDHUP;
        return epoll_ctl(mhd->push_fd, EPOLL_CTL_ADD, cell->push.fd, &event) == 0;
}

static void list(struct weir__mhd *mhd, struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;

        push->next = mhd->pushes;
        if (mhd->pushes)
                mhd->pushes->push.prev = cell;
        mhd->pushes = cell;
        mhd->n_pushes++;
        WEIR__COUNT(mhd->loop, connections_open);
}

static void unlist(struct weir__mhd *mhd, struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;

        *(push->prev ? &push->prev->push.next : &mhd->pushes) = push->next;
        if (push->next)
                push->next->push.prev = push->prev;
        mhd->n_pushes--;
}

/* ---- Blocking: the kernel takes no more. ---- */

/* Such a stream is looked for in every turn. */
static void set_blocked(struct weir__cell *cell, uint64_t since_ns)
{
        struct weir__mhd *mhd = mhd_of(cell);

        mhd->n_blocked += (since_ns != 0) - (cell->push.blocked_ns != 0);
        mhd->look_turns = mhd->n_blocked ? 1 : BUSY_TURNS;
        cell->push.blocked_ns = since_ns;
}

static bool is_too_slow(struct weir__cell *cell, uint64_t now_ns)
{
        const struct weir_options *o = &cell->app->options;
        struct weir__push *push = &cell->push;

        if (now_ns - push->blocked_ns > weir__ns_of_ms(o->write_timeout_ms))
                return true;
        return o->min_write_rate != WEIR_NONE &&
               weir__rate_is_low(&push->window_ns, &push->acked, weir__acked(push->fd),
                                 (uint64_t)o->min_write_rate, weir__ns_of_ms(o->rate_window_ms),
                                 now_ns);
}

static void end(struct weir__cell *cell, enum weir__end how);

/* Somebody else may have the request: then it ends when that one gives it back. */
static void end_gone(struct weir__cell *cell)
{
        if (cell->waits)
                weir__wait_left(cell);
        else
                end(cell, WEIR__GONE);
}

/* What also waits is looked at when it does not any more. */
static void block(struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;
        uint64_t now_ns = weir__now(&cell->loop->clock);

        if (!push->blocked_ns) {
                set_blocked(cell, now_ns);
                push->window_ns = now_ns;
                push->acked = weir__acked(push->fd);
        } else if (is_too_slow(cell, now_ns)) {
                WEIR__COUNT(cell->loop, write_timeouts);
                end_gone(cell);
                return;
        }
        if (!cell->waits)
                weir__wait_look(cell, now_ns + mhd_of(cell)->watches.after_ns);
}

/* ---- Its end. ---- */

static void drop(struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;

        weir__buf_release(&cell->loop->pool, &push->out);
        if (push->fd < 0)
                return;
        epoll_ctl(mhd_of(cell)->push_fd, EPOLL_CTL_DEL, push->fd, NULL);
        close(push->fd);
        push->fd = -1;
}

/* A socket with unread data is reset when it is closed, which can overtake what was sent. */
static void end(struct weir__cell *cell, enum weir__end how)
{
        struct weir__mhd *mhd = mhd_of(cell);
        struct weir__client *whose = cell->push.whose;
        int fd = cell->push.fd;
        bool linger = how == WEIR__SENT && (cell->linger || weir__has_unread(fd));

        weir__due_cancel(&cell->loop->dues, &cell->wait.due);
        set_blocked(cell, 0);
        weir__buf_release(&cell->loop->pool, &cell->push.out);
        epoll_ctl(mhd->push_fd, EPOLL_CTL_DEL, fd, NULL); /* a child may hold it open */
        unlist(mhd, cell);
        weir__stream_end(cell, how);
        weir__client_leave(whose, &mhd->loop->counters); /* last: who sees it gone sees it ended */
        weir__count_by(&mhd->loop->counters, WEIR__STAT(connections_open), (uint64_t)-1);
        if (linger) {
                weir__mhd_linger(mhd, fd);
                return;
        }
        shutdown(fd, SHUT_RDWR);
        close(fd);
}

/* ---- Pieces. ---- */

/* Frames the `n` bytes at out.ptr + BEFORE. */
static void frame(struct weir__push *push, size_t n)
{
        char size[BEFORE + 1];
        int len;

        push->n_body = n;
        push->at = BEFORE;
        push->out.len = BEFORE + n;
        if (push->left != UINT64_MAX)
                push->left -= n;
        if (!push->chunked)
                return;
        len = snprintf(size, sizeof(size), "%zx\r\n", n);
        push->at -= (size_t)len;
        memcpy(push->out.ptr + push->at, size, (size_t)len);
        memcpy(push->out.ptr + push->out.len, "\r\n", 2);
        push->out.len += 2;
}

static void frame_end(struct weir__push *push)
{
        push->last = true;
        if (!push->chunked)
                return;
        push->n_body = push->at = 0;
        push->out.len = 5;
        memcpy(push->out.ptr, "0\r\n\r\n", 5);
}

/* What the stream gave, at out.ptr + BEFORE; false: it broke off. */
static bool take(struct weir__push *push, ssize_t n)
{
        if (n > 0)
                frame(push, (size_t)n);
        else if (n == 0 && push->left == UINT64_MAX)
                frame_end(push);
        return n > 0 || push->last || n == WEIR_PULL_WAIT;
}

/* Pulls a piece; false: the stream broke off. */
static bool fill(struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;
        size_t size = push->left < WEIR__PUSH_MAX ? (size_t)push->left : WEIR__PUSH_MAX;

        weir__due_cancel(&cell->loop->dues, &cell->wait.due);
        if (!push->out.ptr && !weir__buf_reserve(&cell->loop->pool, &push->out, PIECE)) {
                WEIR__COUNT(cell->loop, out_of_memory);
                return false;
        }
        return take(push, weir__stream_pull(cell, push->out.ptr + BEFORE, size));
}

static void sent(struct weir__cell *cell)
{
        cell->sent_bytes += cell->push.n_body;
        cell->push.n_body = cell->push.out.len = cell->push.at = 0;
        if (cell->push.blocked_ns)
                set_blocked(cell, 0);
}

/* True once the kernel has the piece; else the stream is blocked, or it has ended. */
static bool flush(struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;
        bool moved = false, full = false;
        ssize_t n = 0;

        while (push->at < push->out.len) {
                n = send(push->fd, push->out.ptr + push->at, push->out.len - push->at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
                full = n < 0 && errno == EAGAIN;
                if (n < 0 && errno != EINTR)
                        break;
                push->at += n > 0 ? (size_t)n : 0;
                moved |= n > 0;
        }
        if (moved)
                weir__wait_moved(cell);
        if (push->at == push->out.len) {
                sent(cell);
                return true;
        }
        if (full)
                block(cell);
        else
                end_gone(cell);
        return false;
}

/* Sends and pulls until the stream waits, blocks, ends, or has had its share of the turn. */
static void pump(struct weir__cell *cell)
{
        struct weir__push *push = &cell->push;

        for (int i = 0; i < PIECES || cell->waits; i++) {
                if (!flush(cell))
                        return;
                if (cell->waits) {
                        weir__buf_release(&cell->loop->pool, &push->out);
                        return;
                }
                if (push->last || push->left == 0) {
                        end(cell, WEIR__SENT);
                        return;
                }
                if (!fill(cell)) {
                        cell->broken = true;
                        end(cell, WEIR__GONE);
                        return;
                }
        }
        weir__wait_look(cell, weir__now(&cell->loop->clock));
}

/* ---- From MHD. ---- */

static bool take_along(struct weir__cell *cell)
{
        const struct weir__conn *conn = cell->conn;
        struct weir__push *push = &cell->push;

        if (!cell->work.text.ptr && !weir__views_move(cell))
                return false;
        if (!weir__buf_reserve(&cell->loop->pool, &push->out, PIECE))
                return false;
        push->fd = fcntl(conn->fd, F_DUPFD_CLOEXEC, 0);
        return push->fd >= 0 && watch(mhd_of(cell), cell);
}

bool weir__push_part(struct weir__cell *cell)
{
        uint64_t length = cell->answer.body.length;
        bool known = length != WEIR_UNKNOWN_LENGTH;

        cell->push = (struct weir__push){ .fd = -1,
                                          .left = known ? length - cell->sent_bytes : UINT64_MAX,
                                          .chunked = !known && cell->version > 10 };
        if (take_along(cell))
                return true;
        drop(cell);
        return false;
}

void weir__push_keep(struct weir__cell *cell, const char *bytes, ssize_t n)
{
        if (n > 0)
                memcpy(cell->push.out.ptr + BEFORE, bytes, (size_t)n);
        cell->broken = !take(&cell->push, n);
}

/* MHD may have left some of the head in the kernel, for more to come. */
static void set_options(int fd)
{
        int off = 0, on = 1;

        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void weir__push_go(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        weir__leave_forget(mhd, conn);
        conn->fd = -1; /* whatever is still done to this connection is not for the stream */
        cell->conn = NULL;
        cell->push.whose = conn->whose;
        conn->whose = NULL;
        set_options(cell->push.fd);
        list(mhd, cell);
        if (cell->broken)
                end(cell, WEIR__GONE);
        else
                pump(cell);
}

/* ---- For the loop. ---- */

void weir__push_flows(struct weir__cell *cell, int why)
{
        if (why == WEIR__FLOWS_ON && !mhd_of(cell)->cut_all)
                pump(cell);
        else
                end(cell, why == WEIR__FLOWS_ON ? WEIR__STOPPED : weir__stream_end_of(why));
}

/* With a piece on its way, or none and nothing to wait for, which is a new turn's. */
static void go_on(struct weir__cell *cell)
{
        if (cell->push.at < cell->push.out.len || !cell->waits)
                pump(cell);
}

void weir__push_turn(struct weir__mhd *mhd)
{
        struct epoll_event events[64];
        int n = mhd->pushes ? epoll_wait(mhd->push_fd, events, 64, 0) : 0;

        for (int i = 0; i < n; i++) {
                struct weir__cell *cell = events[i].data.ptr;

                if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                        end_gone(cell);
                else
                        go_on(cell);
        }
}

void weir__push_cut(struct weir__mhd *mhd)
{
        struct weir__cell *next;

        for (struct weir__cell *cell = mhd->pushes; cell; cell = next) {
                next = cell->push.next;
                if (!cell->waits)
                        end(cell, WEIR__STOPPED);
        }
}

void weir__push_finish(struct weir__mhd *mhd)
{
        weir__push_cut(mhd);
        if (mhd->push_fd > 0)
                close(mhd->push_fd);
}
