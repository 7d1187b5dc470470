/*
 * mhd.c - libmicrohttpd as a transport: its daemon, its callbacks, its turns.
 *
 * One daemon in external epoll mode per loop, without a listening socket: the door hands sockets
 * in. What is unusual:
 *
 *  - The byte behind '?' is zeroed while MHD parses, so that it finds no query arguments. They
 *    would cost time and, in 1.0.0 to 1.0.6, crash it. The first callback puts the byte back.
 *  - An answer queued in the first callback makes MHD close the connection. So all answers wait
 *    for the last callback, but those that are meant to close.
 *  - MHD_epoll() asks again, without resetting its time-out, as long as epoll_wait() returns a full
 *    array of 128 events. With a multiple of 128 ready it sleeps on them. So MHD may sleep only
 *    while it has fewer descriptors than that; else it is called without a wait and poll() sleeps.
 */
#include "bytes.h"
#include <microhttpd.h>

#include "mhd_private.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MHD_EVENTS       128
#define OWN_EVENTS       3  /* descriptors in MHD's set that are no connections */
#define SHORT_TIMEOUT_NS 2000000000ull
#define NO_THREAD_SAFETY (1u << 19) /* MHD_USE_NO_THREAD_SAFETY of 1.0 */
#define DISCIPLINE_LEVEL \
        38 /* MHD_OPTION_CLIENT_DISCIPLINE_LVL of 1.0, which 0.9.75 does not name */

/* ---- Requests. ---- */

static struct weir__conn *conn_of(struct MHD_Connection *mhd)
{
        return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The request line is in. What this returns is *request of the other callbacks. */
static void *on_target(void *self, const char *uri, struct MHD_Connection *connection)
{
        struct weir__mhd *mhd = self;
        struct weir__conn *conn = conn_of(connection);
        struct weir__cell *cell = conn ? weir__cell_get(mhd->loop) : NULL;
        struct weir_ctx *ctx;
        char *mark;

        mhd->callbacks++;
        if (!cell) {
                WEIR__COUNT(mhd->loop, out_of_memory);
                return NULL;
        }
        ctx = &cell->ctx;
        conn->cell = cell;
        cell->conn = conn;
        ctx->started_ns = weir__now(&mhd->loop->clock);
        ctx->peer = (struct weir_str){ conn->peer, conn->peer_len };
        ctx->client = (struct weir_str){ conn->peer + conn->client_at, conn->client_len };
        mark = (char *)(uintptr_t)strchrnul(uri, '?');
        ctx->path = mhd->last_path = (struct weir_str){ uri, (size_t)(mark - uri) };
        if (*mark) {
                cell->has_query = true;
                cell->hidden = mark[1];
                mark[1] = '\0';
        }
        return cell;
}

/* Walking the header fields of a request. */
struct walk {
        struct weir__cell   *cell;
        struct weir__header *at, *end;
        const char          *expected; /* where the next name must be, were the head exact */
};

static enum MHD_Result on_field(void *self, enum MHD_ValueKind kind, const char *name,
                                size_t name_len, const char *value, size_t value_len)
{
        static const char empty[WEIR__PEEK];
        struct walk *walk = self;

        (void)kind;
        if (!value)
                value = empty;
        if (name != walk->expected)
                walk->cell->inexact = true;
        walk->expected = value + value_len + 2;
        if (walk->at == walk->end) {
                walk->cell->too_many_headers = true;
                return MHD_NO;
        }
        *walk->at++ = (struct weir__header){ name, value, (uint32_t)name_len, (uint32_t)value_len };
        return MHD_YES;
}

/*
 * MHD 0.9.75 parses in place, so every part of a clean head is followed by the next at a fixed
 * distance. Folded lines, bare line feeds, NULs and lines without a name all break one of these.
 * From 1.0 on the discipline level does this, and blanks around values are cut off in place.
 */
static void walk_fields(struct weir__mhd *mhd, struct MHD_Connection *connection,
                        struct weir__cell *cell, const char *method, const char *version)
{
        struct walk walk = { cell, cell->header, cell->header + cell->max_headers,
                             version + 8 + 2 };
        size_t size;

        MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_field, &walk);
        cell->n_headers = (uint16_t)(walk.at - cell->header);
        if (!mhd->exact) {
                cell->inexact = false;
                return;
        }
        size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
                       ->header_size;
        cell->inexact |= method + size != walk.expected + 2 ||
                         method + cell->ctx.method_name.len + 1 != cell->ctx.target.ptr ||
                         cell->ctx.target.ptr + cell->ctx.target.len + 1 != version;
}

static enum weir__next on_head(struct weir__mhd *mhd, struct MHD_Connection *connection,
                               struct weir__cell *cell, const char *method, const char *version)
{
        struct weir_ctx *ctx = &cell->ctx;

        ctx->target = ctx->path;
        if (cell->has_query) {
                char *mark = (char *)(uintptr_t)ctx->path.ptr + ctx->path.len;

                mark[0] = '?'; /* MHD has cut there */
                mark[1] = cell->hidden;
                weir__cell_target(cell, (struct weir_str){ ctx->path.ptr, strlen(ctx->path.ptr) });
        }
        ctx->method_name = (struct weir_str){ method, strlen(method) };
        walk_fields(mhd, connection, cell, method, version);
        return weir__exchange_head(
                cell,
                (struct weir_str){ version, memcmp(version, "HTTP/1.1", 9) ? strlen(version) : 8 });
}

/*
 * Too much body is still to come for an answer through MHD, which would read it all: the answer is
 * written by hand, and MHD lets go of the connection.
 */
static enum MHD_Result cut(struct weir__conn *conn, struct weir__cell *cell)
{
        struct weir__pool *pool = &cell->loop->pool;
        struct weir__buf wire = { 0 };

        if (!weir__wire(cell, &wire)) { /* a stream: its status alone must do */
                weir__body_drop(cell, &cell->answer.body);
                weir__wire(cell, &wire);
        }
        if (wire.len)
                cell->cut = send(conn->fd, wire.ptr, wire.len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                            (ssize_t)wire.len;
        weir__buf_release(pool, &wire);
        return MHD_NO;
}

static void watch_swallow(struct weir__mhd *mhd, struct weir__conn *conn,
                          const struct weir__cell *cell)
{
        if (cell->phase == WEIR__SWALLOW && !conn->swallow.set)
                weir__timer_set(&mhd->short_timers, &conn->swallow, weir__now(&mhd->loop->clock));
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **request)
{
        struct weir__mhd *mhd = self;
        struct weir__cell *cell = *request;
        enum weir__next next = WEIR__READ;

        (void)url;
        mhd->callbacks++;
        if (!cell)
                return MHD_NO;
        if (cell->phase == WEIR__FRESH) {
                next = on_head(mhd, connection, cell, method, version);
                if (next == WEIR__READ) {
                        watch_swallow(mhd, cell->conn, cell);
                        return MHD_YES;
                }
        } else if (*upload_size) {
                next = weir__exchange_body(cell, upload, *upload_size);
                *upload_size = 0;
                watch_swallow(mhd, cell->conn, cell);
                return next == WEIR__READ ? MHD_YES : cut(cell->conn, cell);
        } else {
                weir__timer_cancel(&mhd->short_timers, &((struct weir__conn *)cell->conn)->swallow);
                weir__exchange_end(cell);
        }
        return weir__mhd_send(mhd, cell->conn, cell) ? MHD_YES : MHD_NO;
}

/* A request without a verdict whose connection has a status was answered by MHD itself. */
static enum weir__end end_of(const struct weir__mhd *mhd, struct MHD_Connection *connection,
                             struct weir__cell *cell, enum MHD_RequestTerminationCode code)
{
        const union MHD_ConnectionInfo *info;

        if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK || cell->cut)
                return WEIR__SENT;
        if (code == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN || mhd->cut_all)
                return WEIR__STOPPED;
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
        if (!info || !info->http_status || (cell->ctx.flags & WEIR__UNWOUND))
                return WEIR__GONE;
        cell->transport_status = (uint16_t)info->http_status;
        return WEIR__REFUSED;
}

static void on_completed(void *self, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
        struct weir__mhd *mhd = self;
        struct weir__cell *cell = *request;
        struct weir__conn *conn;
        enum weir__end end;

        mhd->callbacks++;
        if (!cell)
                return;
        conn = cell->conn;
        if (mhd->no_room && cell->answer.body.kind != WEIR__FD &&
            cell->answer.body.kind != WEIR__PULL)
                cut(conn, cell);
        mhd->no_room = false;
        end = end_of(mhd, connection, cell, code);
        if ((cell->linger && end == WEIR__SENT) || end == WEIR__REFUSED)
                weir__linger_add(mhd, conn->fd);
        weir__timer_cancel(&mhd->short_timers, &conn->swallow);
        weir__mhd_sent(mhd, cell);
        conn->cell = NULL;
        *request = NULL;
        if (weir__is_draining(mhd->loop))
                shutdown(conn->fd, SHUT_RD); /* its answer may not have said close */
        if (end != WEIR__SENT && cell->answer.body.kind != WEIR__PULL)
                cell->sent_bytes = 0; /* how far MHD came, it does not say */
        weir__exchange_done(cell, cell->sent_bytes, end);
}

/* ---- Connections. ---- */

static void open_connection(struct weir__mhd *mhd, struct MHD_Connection *connection,
                            void **context)
{
        struct weir__conn *conn = calloc(1, sizeof(*conn));

        mhd->n_conns++;
        WEIR__COUNT(mhd->loop, connections_open);
        *context = conn;
        if (!conn)
                return; /* its requests are dropped: on_target */
        conn->mhd = connection;
        conn->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                           ->connect_fd;
        weir__peer_name(conn,
                        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
                                ->client_addr);
        conn->next = mhd->conns;
        if (mhd->conns)
                mhd->conns->prev = conn;
        mhd->conns = conn;
        weir__leave_watch(mhd, conn);
}

static void close_connection(struct weir__mhd *mhd, struct weir__conn *conn)
{
        mhd->n_conns--;
        weir__count_by(&mhd->loop->counters, WEIR__STAT(connections_open), (uint64_t)-1);
        if (!conn)
                return;
        weir__leave_forget(mhd, conn);
        weir__timer_cancel(&mhd->short_timers, &conn->swallow);
        *(conn->prev ? &conn->prev->next : &mhd->conns) = conn->next;
        if (conn->next)
                conn->next->prev = conn->prev;
        free(conn);
}

static void on_connection(void *self, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
        struct weir__mhd *mhd = self;

        mhd->callbacks++;
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                open_connection(mhd, connection, context);
        else
                close_connection(mhd, *context);
}

/* ---- What MHD says. ---- */

/* Leaves targets as they are. The one text that MHD asks about is the path of a fresh request. */
static size_t keep_raw(void *self, struct MHD_Connection *connection, char *text)
{
        const struct weir__mhd *mhd = self;

        (void)connection;
        return text == mhd->last_path.ptr ? mhd->last_path.len : strlen(text);
}

/*
 * MHD answers some requests before weir sees them, and closes a connection whose memory has no room
 * for the head of an answer: only its log tells.
 */
static void on_log(void *self, const char *format, va_list args)
{
        static const char answered[] = "Error processing request (HTTP response code is %u";
        static const char no_room[] = "Closing connection (failed to create response header)";
        struct weir__mhd *mhd = self;
        unsigned status;

        if (strcmp(format, "%s\n") == 0)
                mhd->no_room = !strncmp(va_arg(args, const char *), no_room, sizeof(no_room) - 1);
        if (strncmp(format, answered, sizeof(answered) - 1) != 0)
                return;
        status = va_arg(args, unsigned);
        WEIR__COUNT(mhd->loop, transport_answers);
        if (status < 200 || status > 599)
                return;
        weir__count_by(&mhd->loop->counters, WEIR__STAT(transport_status) + status / 100, 1);
}

/* ---- The daemon. ---- */

static bool is_old(void)
{
        return MHD_get_version()[0] == '0';
}

const struct weir__transport *weir__mhd_transport(void)
{
        /* 0.9.75 takes chunk sizes that end in a bare line feed, and no callback sees them. */
        static const struct weir__transport old = { "libmicrohttpd before 1.0", false };
        static const struct weir__transport current = { "libmicrohttpd", true };

        return is_old() ? &old : &current;
}

static struct MHD_Daemon *start_daemon(struct weir__mhd *mhd)
{
        size_t memory = mhd->loop->app->options.connection_memory;
        struct MHD_OptionItem options[] = {
                { MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_log, mhd },
                { MHD_OPTION_CONNECTION_LIMIT, 1 << 24, NULL },
                { MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)memory, NULL },
                { MHD_OPTION_CONNECTION_TIMEOUT, 0, NULL },
                { MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, mhd },
                { MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep_raw, mhd },
                { MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, mhd },
                { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, mhd },
                { MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL },
                { is_old() ? MHD_OPTION_END : (enum MHD_OPTION)DISCIPLINE_LEVEL, 1, NULL },
                { MHD_OPTION_END, 0, NULL },
        };

        unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TURBO |
                         MHD_USE_ERROR_LOG;

        if (!is_old()) /* then a connection that is added is there at once, as before 1.0 */
                flags |= NO_THREAD_SAFETY;
        return MHD_start_daemon(flags, 0, NULL, NULL, on_request, mhd, MHD_OPTION_ARRAY, options,
                                MHD_OPTION_END);
}

struct weir__mhd *weir__mhd_new(struct weir__loop *loop, int wake_fd, const char **why)
{
        struct weir__mhd *mhd = calloc(1, sizeof(*mhd));
        struct epoll_event wake = { .events = EPOLLIN }; /* MHD passes over ptr NULL */

        *why = "out of memory";
        if (!mhd)
                return NULL;
        mhd->loop = loop;
        mhd->exact = is_old();
        mhd->short_timers.after_ns = mhd->linger_timers.after_ns = SHORT_TIMEOUT_NS;
        mhd->daemon = weir__responses_init(mhd) ? start_daemon(mhd) : NULL;
        if (mhd->daemon) {
                *why = "libmicrohttpd has no epoll";
                mhd->epoll_fd = MHD_get_daemon_info(mhd->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                                        ->epoll_fd;
                if (epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, wake_fd, &wake) == 0 &&
                    weir__leave_init(mhd) && weir__linger_init(mhd))
                        return mhd;
        }
        weir__mhd_free(mhd);
        return NULL;
}

void weir__mhd_free(struct weir__mhd *mhd)
{
        if (!mhd)
                return;
        weir__linger_finish(mhd);
        if (mhd->daemon)
                MHD_stop_daemon(mhd->daemon);
        weir__leave_finish(mhd);
        if (mhd->linger_fd > 0)
                close(mhd->linger_fd);
        weir__responses_finish(mhd);
        free(mhd);
}

void weir__mhd_add(struct weir__mhd *mhd, int fd, const struct sockaddr *address,
                   socklen_t address_len)
{
        if (MHD_add_connection(mhd->daemon, fd, address, address_len) != MHD_YES)
                WEIR__COUNT(mhd->loop, out_of_memory); /* MHD has closed it */
        WEIR__COUNT(mhd->loop, connections);           /* who counts it sees it open */
}

unsigned weir__mhd_connections(const struct weir__mhd *mhd)
{
        return mhd->n_conns + mhd->n_lingers;
}

void weir__mhd_close_idle(struct weir__mhd *mhd)
{
        for (struct weir__conn *conn = mhd->conns; conn; conn = conn->next) {
                if (!conn->cell)
                        shutdown(conn->fd, SHUT_RD);
        }
}

void weir__mhd_close_all(struct weir__mhd *mhd)
{
        mhd->cut_all = true;
        weir__linger_finish(mhd);
        for (struct weir__conn *conn = mhd->conns; conn; conn = conn->next)
                shutdown(conn->fd, SHUT_RDWR);
}

/* ---- Turns. ---- */

static void expire(struct weir__mhd *mhd)
{
        uint64_t now;
        struct weir__timer *timer;

        if (!mhd->short_timers.first && !mhd->lingers)
                return;
        now = weir__now(&mhd->loop->clock);
        weir__linger_turn(mhd, now);
        while ((timer = weir__timer_due(&mhd->short_timers, now))) {
                struct weir__conn *conn = (struct weir__conn *)(void *)((char *)timer -
                                                                        offsetof(struct weir__conn,
                                                                                 swallow));

                WEIR__COUNT(mhd->loop, linger_cut);
                cut(conn, conn->cell);
                shutdown(conn->fd, SHUT_RDWR);
        }
}

static int shorter(int a, int b)
{
        return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

static int next_timer_ms(const struct weir__mhd *mhd)
{
        uint64_t now;

        if (!mhd->short_timers.first && !mhd->linger_timers.first && !mhd->leave_timers.first)
                return -1;
        now = weir__now(&mhd->loop->clock);
        return shorter(shorter(weir__timer_wait_ms(&mhd->short_timers, now),
                               weir__timer_wait_ms(&mhd->linger_timers, now)),
                       weir__timer_wait_ms(&mhd->leave_timers, now));
}

/* Is MHD ready to go on without another event? */
static bool is_pending(const struct weir__mhd *mhd)
{
        MHD_UNSIGNED_LONG_LONG wait_ms;

        return MHD_get_timeout(mhd->daemon, &wait_ms) == MHD_YES && wait_ms == 0;
}

/* What has to end ends after the sleep: it may be the last that the loop waits for. */
void weir__mhd_turn(struct weir__mhd *mhd, int wait_ms)
{
        struct pollfd ready = { .fd = mhd->epoll_fd, .events = POLLIN };
        bool mhd_sleeps = weir__mhd_connections(mhd) + OWN_EVENTS < MHD_EVENTS;

        wait_ms = shorter(wait_ms, next_timer_ms(mhd));
        mhd->callbacks = 0;
        MHD_run_wait(mhd->daemon, mhd_sleeps ? wait_ms : 0);
        weir__leave_turn(mhd);
        if (!mhd_sleeps && mhd->callbacks == 0 && wait_ms != 0 && !is_pending(mhd))
                poll(&ready, 1, wait_ms);
        expire(mhd);
}
