/*
 * mhd.c - libmicrohttpd as a transport: its daemon and its callbacks.
 *
 * One daemon in external epoll mode per loop, without a listening socket: the door hands sockets
 * in. What is unusual:
 *
 *  - The byte behind '?' is zeroed while MHD parses, so that it finds no query arguments. They
 *    would cost time and, in 1.0.0 to 1.0.6, crash it. The first callback puts the byte back.
 *  - An answer queued in the first callback makes MHD close the connection. So all answers wait
 *    for the last callback, but those that are meant to close.
 */
#include <microhttpd.h>

#include "guard.h"
#include "hint.h"
#include "mhd_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SHORT_TIMEOUT_NS 2000000000ull
#define NO_THREAD_SAFETY (1u << 19) /* MHD_USE_NO_THREAD_SAFETY of 1.0 */
#define DISCIPLINE_LEVEL \
        38 /* MHD_OPTION_CLIENT_DISCIPLINE_LVL of 1.0, which 0.9.75 does not name */

/* ---- Requests. ---- */

static struct weir__conn *conn_of(struct MHD_Connection *mhd)
{
        return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* It is the last one of its connection, or comes when the server takes none any more. */
static WEIR__COLD void be_last(const struct weir__mhd *mhd, struct weir__conn *conn,
                               struct weir__cell *cell)
{
        conn->closing = true;
        if (mhd->full)
                cell->excess = WEIR__TURNED_AWAY;
}

/* The request line is in. What this returns is *request of the other callbacks. */
static void *on_target(void *self, const char *uri, struct MHD_Connection *connection)
{
        struct weir__mhd *mhd = self;
        struct weir__conn *conn = conn_of(connection);
        struct weir__cell *cell = conn ? weir__cell_get(mhd->loop) : NULL;
        struct weir_ctx *ctx;
        char *mark;

        if (!cell) {
                WEIR__COUNT(mhd->loop, out_of_memory);
                return NULL;
        }
        ctx = &cell->ctx;
        conn->cell = cell;
        cell->conn = conn;
        if (--conn->requests_left == 0)
                be_last(mhd, conn, cell);
        cell->answer.close = conn->closing;
        ctx->started_ns = weir__now(&mhd->loop->clock);
        ctx->peer = conn->peer;
        ctx->client = conn->client;
        mark = (char *)(uintptr_t)strchrnul(uri, '?');
        ctx->path = (struct weir_str){ uri, (size_t)(mark - uri) };
        mhd->last_path = ctx->path;
        if (*mark) {
                cell->has_query = true;
                cell->hidden = mark[1];
                mark[1] = '\0';
        }
        return cell;
}

static enum MHD_Result on_field(void *self, enum MHD_ValueKind kind, const char *name,
                                size_t name_len, const char *value, size_t value_len)
{
        struct weir__field_walk *walk = self;
        struct weir__header *field = walk->at;

        (void)kind;
        if (WEIR__UNLIKELY(name != walk->expected))
                walk->inexact = true;
        walk->expected = value + value_len + 2;
        if (field == walk->end) {
                walk->cell->excess = WEIR_GUARD_TOO_MANY_HEADERS;
                return MHD_NO;
        }
        walk->at = field + 1;
        *field = (struct weir__header){ name, value, (uint32_t)name_len, (uint32_t)value_len };
        weir__guard_field(walk->cell, field);
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
        const struct weir_ctx *ctx = &cell->ctx;
        struct weir__field_walk *walk = &mhd->walk;
        size_t size;

        *walk = (struct weir__field_walk){ cell, cell->header, cell->header_end, version + 8 + 2,
                                           false };
        MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_field, walk);
        cell->n_headers = (uint16_t)(walk->at - cell->header);
        if (WEIR__UNLIKELY((size_t)(walk->expected + 2 - method) > mhd->max_header_bytes) &&
            !cell->excess)
                cell->excess = WEIR_GUARD_HEADER_BYTES;
        if (!mhd->exact)
                return;
        size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
                       ->header_size;
        cell->inexact = walk->inexact || method + size != walk->expected + 2 ||
                        method + ctx->method_name.len + 1 != ctx->target.ptr ||
                        ctx->target.ptr + ctx->target.len + 1 != version;
}

void weir__mhd_cut(struct weir__conn *conn, struct weir__cell *cell)
{
        struct weir__pool *pool = &cell->loop->pool;
        struct weir__buf wire = { 0 };

        if (cell->step == WEIR__CUT)
                return; /* it is on its way, or lost */
        cell->step = WEIR__CUT;
        if (!weir__wire(cell, &wire)) { /* a stream: its status alone must do */
                weir__body_drop(cell, &cell->answer.body);
                weir__wire(cell, &wire);
        }
        if (wire.len)
                cell->cut = send(conn->fd, wire.ptr, wire.len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                            (ssize_t)wire.len;
        weir__buf_release(pool, &wire);
}

WEIR__COLD void weir__mhd_watch_swallow(struct weir__mhd *mhd, struct weir__conn *conn)
{
        if (!conn->swallow.set)
                weir__timer_set(&mhd->short_timers, &conn->swallow, weir__now(&mhd->loop->clock));
}

/* All but going on to read: the request is suspended, or answered before its body is in. */
static WEIR__COLD enum MHD_Result on_odd_head(struct weir__mhd *mhd, struct weir__cell *cell,
                                              enum weir__next next)
{
        struct weir__conn *conn = cell->conn;

        return (enum MHD_Result)(next == WEIR__WAIT ? weir__mhd_suspend(mhd, conn, cell, true)
                                                    : weir__mhd_send(mhd, conn, cell));
}

static WEIR__APART enum MHD_Result on_head(struct weir__mhd *mhd, struct MHD_Connection *connection,
                                           struct weir__cell *cell, const char *method,
                                           const char *version)
{
        struct weir_ctx *ctx = &cell->ctx;
        enum weir__next next;

        ctx->target = ctx->path;
        if (cell->has_query) {
                char *mark = (char *)(uintptr_t)ctx->path.ptr + ctx->path.len;

                mark[0] = '?'; /* MHD has cut there */
                mark[1] = cell->hidden;
                weir__cell_target(cell, (struct weir_str){ ctx->path.ptr, strlen(ctx->path.ptr) });
        }
        ctx->method_name = (struct weir_str){ method,
                                              memcmp(method, "GET", 4) ? strlen(method) : 3 };
        walk_fields(mhd, connection, cell, method, version);
        next = weir__exchange_head(cell,
                                   (struct weir_str){ version, version[8] ? strlen(version) : 8 });
        if (next != WEIR__READ)
                return on_odd_head(mhd, cell, next);
        if (cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(mhd, cell->conn);
        return MHD_YES;
}

static WEIR__APART enum MHD_Result on_upload(struct weir__mhd *mhd, struct weir__cell *cell,
                                             const char *upload, size_t *upload_size)
{
        enum weir__next next;

        if (cell->waits) /* MHD has more chunks, and gives them before it puts it aside */
                return MHD_YES;
        if (cell->phase == WEIR__LEFT || cell->step == WEIR__CUT)
                return MHD_NO;
        next = weir__exchange_body(cell, upload, *upload_size);
        *upload_size = 0;
        if (next == WEIR__WAIT)
                return (enum MHD_Result)weir__mhd_suspend(mhd, cell->conn, cell, false);
        if (cell->phase == WEIR__SWALLOW)
                weir__mhd_watch_swallow(mhd, cell->conn);
        if (next == WEIR__READ)
                return MHD_YES;
        weir__mhd_cut(cell->conn, cell);
        return MHD_NO;
}

static WEIR__APART enum MHD_Result on_end(struct weir__mhd *mhd, struct weir__cell *cell)
{
        struct weir__conn *conn = cell->conn;

        if (cell->repeats)
                return (enum MHD_Result)weir__mhd_repeat(mhd, conn, cell);
        weir__timer_cancel(&mhd->short_timers, &conn->swallow);
        if (!weir__is_answered(cell) && weir__exchange_end(cell) == WEIR__WAIT)
                return (enum MHD_Result)weir__mhd_suspend(mhd, conn, cell, false);
        return (enum MHD_Result)weir__mhd_send(mhd, conn, cell);
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **request)
{
        struct weir__mhd *mhd = self;
        struct weir__cell *cell = *request;

        (void)url;
        mhd->callbacks++;
        if (!cell)
                return MHD_NO;
        if (cell->phase == WEIR__FRESH)
                return on_head(mhd, connection, cell, method, version);
        if (*upload_size)
                return on_upload(mhd, cell, upload, upload_size);
        return on_end(mhd, cell);
}

/* MHD is about to close `fd`: a copy outlives that. */
static void close_slowly(struct weir__mhd *mhd, int fd)
{
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        if (copy >= 0)
                weir__mhd_linger(mhd, copy);
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
        if (!info || !info->http_status || weir__is_answered(cell))
                return WEIR__GONE;
        cell->transport_status = (uint16_t)info->http_status;
        return WEIR__REFUSED;
}

/* May the client still be sending, so that closing at once would reset the connection? */
static bool is_to_linger(const struct weir__conn *conn, const struct weir__cell *cell,
                         enum weir__end end)
{
        if (end != WEIR__SENT)
                return end == WEIR__REFUSED;
        return cell->linger || (cell->answer.close && weir__has_unread(conn->fd));
}

/* Anything but an answer that went out whole, on a connection that goes on. */
static WEIR__APART void on_odd_end(struct weir__mhd *mhd, struct MHD_Connection *connection,
                                   struct weir__cell *cell, enum MHD_RequestTerminationCode code)
{
        struct weir__conn *conn = cell->conn;
        enum weir__body_kind kind = cell->answer.body.kind;
        enum weir__end end;

        if (cell->streams) {
                weir__push_go(mhd, conn, cell);
                return;
        }
        if (mhd->no_room && kind != WEIR__FD && kind != WEIR__PULL)
                weir__mhd_cut(conn, cell);
        mhd->no_room = false;
        weir__mhd_unpark(mhd, conn);
        end = end_of(mhd, connection, cell, code);
        if (is_to_linger(conn, cell, end))
                close_slowly(mhd, conn->fd);
        weir__timer_cancel(&mhd->short_timers, &conn->swallow);
        if (end != WEIR__SENT && kind != WEIR__PULL)
                cell->sent_bytes = 0; /* how far MHD came, it does not say */
        weir__exchange_done(cell, cell->sent_bytes, end);
}

static void on_completed(void *self, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
        struct weir__mhd *mhd = self;
        struct weir__cell *cell = *request;
        struct weir__conn *conn;

        if (!cell)
                return;
        *request = NULL;
        conn = cell->conn;
        conn->cell = NULL;
        if (cell->sent)
                weir__mhd_sent(mhd, cell);
        if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK || cell->linger || conn->swallow.set ||
            mhd->no_room || weir__is_draining(mhd->loop))
                on_odd_end(mhd, connection, cell, code);
        else
                weir__exchange_done(cell, cell->sent_bytes, WEIR__SENT);
}

static void on_connection(void *self, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
        struct weir__mhd *mhd = self;

        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                *context = weir__conn_open(mhd, connection);
        else
                weir__conn_close(mhd, *context);
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
        static const struct weir__transport old = { .checks_chunks = false };
        static const struct weir__transport current = { .checks_chunks = true };

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

        if (mhd->loop->tree->waits) /* it costs MHD time in each turn */
                flags |= MHD_ALLOW_SUSPEND_RESUME;
        if (!is_old()) /* then a connection that is added is there at once, as before 1.0 */
                flags |= NO_THREAD_SAFETY;
        return MHD_start_daemon(flags, 0, NULL, NULL, on_request, mhd, MHD_OPTION_ARRAY, options,
                                MHD_OPTION_END);
}

struct weir__mhd *weir__mhd_new(struct weir__loop *loop, int wake_fd, const char **why)
{
        struct weir__mhd *mhd = calloc(1, sizeof(*mhd));
        struct epoll_event wake = { .events = EPOLLIN | EPOLLET }; /* MHD passes over ptr NULL */

        *why = "out of memory";
        if (!mhd)
                return NULL;
        mhd->loop = loop;
        loop->carrier = mhd;
        loop->woke = weir__mhd_woke;
        loop->part = weir__push_part;
        loop->flows = weir__push_flows;
        mhd->exact = is_old();
        mhd->max_header_bytes = (size_t)loop->app->options.max_header_bytes;
        mhd->short_timers.after_ns = SHORT_TIMEOUT_NS;
        mhd->daemon = weir__responses_init(mhd) ? start_daemon(mhd) : NULL;
        if (mhd->daemon) {
                *why = "libmicrohttpd has no epoll";
                mhd->epoll_fd = MHD_get_daemon_info(mhd->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                                        ->epoll_fd;
                if (epoll_ctl(mhd->epoll_fd, EPOLL_CTL_ADD, wake_fd, &wake) == 0 &&
                    weir__leave_init(mhd) && weir__watch_init(mhd) &&
                    weir__lingers_init(&mhd->lingers, mhd->epoll_fd, NULL, &loop->counters) &&
                    weir__push_init(mhd))
                        return mhd;
        }
        weir__mhd_free(mhd);
        return NULL;
}

void weir__mhd_free(struct weir__mhd *mhd)
{
        if (!mhd)
                return;
        weir__push_finish(mhd);
        weir__lingers_finish(&mhd->lingers);
        weir__mhd_release(mhd);
        if (mhd->daemon)
                MHD_stop_daemon(mhd->daemon);
        weir__leave_finish(mhd);
        weir__watch_finish(mhd);
        if (mhd->lingers.fd > 0)
                close(mhd->lingers.fd);
        weir__responses_finish(mhd);
        free(mhd);
}
