/*
 * ask.c - the in-memory client: a transport without sockets.
 *
 * It drives the same guard, router, chain and answer code as a connection does, on the caller's
 * thread, with a loop of its own whose clock only weir_tick() moves.
 */
#include "ask.h"
#include "bytes.h"
#include "local.h"
#include "stream.h"
#include "wait.h"

#include <weir/test.h>

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PIECE         4096                   /* bytes of a body at a time      */
#define START_NS      1000000000ull          /* so that 0 stays "never"        */
#define START_WALL_NS 1700000000000000000ull /* 2023-11-14, as good as any day */

struct weir__asker {
        struct weir__loop loop; /* first: see wake() */
        _Atomic uint64_t  now_ns;   /* also read by who has claimed a request */
        bool              open;     /* its local values        */
        pthread_mutex_t   lock;     /* guards woken  */
        pthread_cond_t    cond;
        bool              woken;    /* a request was resumed */
};

/* A request and how far it has come. */
struct weir_asked {
        struct weir__asker *asker;
        struct weir__cell  *cell;   /* NULL: it is over           */
        struct weir_reply  *reply;
        char               *text;   /* of the request             */
        char                length[48];
        struct weir_str     body;   /* that is still to be sent   */
        bool                is_in;  /* it has been                */
        struct weir__buf    out;    /* what has come of the answer's body */
        uint64_t            length_said;
        bool                broken; /* and no more will           */
};

static const struct weir__transport in_memory = { .checks_chunks = true };

static uint64_t asker_mono(void *arg)
{
        return ((struct weir__asker *)arg)->now_ns;
}

static uint64_t asker_wall(void *arg)
{
        return START_WALL_NS + ((struct weir__asker *)arg)->now_ns;
}

/* loop->wake */
static void wake(struct weir__loop *loop)
{
        struct weir__asker *asker = (struct weir__asker *)loop;

        pthread_mutex_lock(&asker->lock);
        asker->woken = true;
        pthread_cond_signal(&asker->cond);
        pthread_mutex_unlock(&asker->lock);
}

static void go_on(struct weir_asked *asked, int next);
static void flows(struct weir__cell *cell, int why);

/* loop->woke */
static void woke(struct weir__cell *cell, int next)
{
        go_on(cell->conn, next);
}

static struct weir__asker *make_asker(struct weir__app *app)
{
        struct weir__asker *asker = calloc(1, sizeof(*asker));

        if (!asker)
                return NULL;
        weir__loop_init(&asker->loop, app, 0, &in_memory);
        asker->now_ns = START_NS;
        asker->loop.clock = (struct weir__clock){ asker_mono, asker_wall, asker };
        asker->loop.wake = wake;
        asker->loop.woke = woke;
        asker->loop.flows = flows;
        pthread_mutex_init(&asker->lock, NULL);
        pthread_cond_init(&asker->cond, NULL);
        pthread_mutex_lock(&app->lock);
        app->asker = asker;
        pthread_mutex_unlock(&app->lock);
        return asker;
}

static struct weir__asker *asker_of(struct weir *root)
{
        struct weir__app *app = root->app;

        if (weir__freeze(app) < 0)
                return NULL;
        if (!app->asker && !make_asker(app)) {
                weir__error(app, "out of memory");
                return NULL;
        }
        if (!app->asker->open)
                app->asker->open = weir__locals_open(app, "", app->asker->loop.local);
        return app->asker->open ? app->asker : NULL;
}

void weir__ask_counters(const struct weir__asker *asker, struct weir__counters *sum)
{
        if (asker)
                weir__counters_add(sum, &asker->loop.counters);
}

void weir__ask_free(struct weir__asker *asker)
{
        if (!asker)
                return;
        if (asker->open)
                weir__locals_close(asker->loop.app, asker->loop.local);
        weir__loop_finish(&asker->loop);
        pthread_mutex_destroy(&asker->lock);
        pthread_cond_destroy(&asker->cond);
        free(asker);
}

void weir_tick(struct weir *app, uint64_t ms)
{
        struct weir__asker *asker = app ? asker_of(app) : NULL;

        if (!asker)
                return;
        asker->now_ns += ms * 1000000;
        weir__wait_turn(&asker->loop);
}

/* ---- The answer. ---- */

/* The reply and its texts in one block. */
static struct weir_reply *make_reply(int status, struct weir_str head, struct weir_str body)
{
        struct weir_reply *reply = calloc(1, sizeof(*reply) + head.len + body.len + 2);
        char *text;

        if (!reply)
                return NULL;
        text = (char *)(reply + 1);
        reply->status = status;
        if (head.len)
                memcpy(text, head.ptr, head.len);
        reply->head = (struct weir_str){ text, head.len };
        text += head.len + 1;
        if (body.len)
                memcpy(text, body.ptr, body.len);
        reply->body = (struct weir_str){ text, body.len };
        return reply;
}

static bool sends_body(const struct weir__cell *cell)
{
        return cell->ctx.method != WEIR_HEAD && cell->ctx.status != 304;
}

/* Does the request want the connection closed behind the answer (RFC 9112 9.3)? */
static bool client_closes(const struct weir__cell *cell)
{
        struct weir_str value = weir_header(&cell->ctx, "Connection");
        char text[256] = "";

        if (value.len && value.len < sizeof(text))
                memcpy(text, value.ptr, value.len);
        return cell->version == 10 ? !strcasestr(text, "keep-alive") : !!strcasestr(text, "close");
}

static struct weir_reply *take_reply(struct weir_asked *asked)
{
        struct weir__cell *cell = asked->cell;
        struct weir__buf head = { 0 };
        struct weir_reply *reply = NULL;

        if (weir__wire_fields(cell, &head))
                reply = make_reply(cell->ctx.status, (struct weir_str){ head.ptr, head.len },
                                   (struct weir_str){ asked->out.ptr, asked->out.len });
        weir__buf_release(&cell->loop->pool, &head);
        if (!reply)
                return NULL;
        reply->length = asked->length_said;
        reply->closes = cell->answer.close || weir__stream_closes(cell) || client_closes(cell);
        reply->broken = asked->broken;
        reply->took_ns = weir__now(&cell->loop->clock) - cell->ctx.started_ns;
        return reply;
}

/* It is over; a client that has left gets no reply. */
static void end(struct weir_asked *asked, enum weir__end how, bool replies)
{
        struct weir__cell *cell = asked->cell;

        if (replies)
                asked->reply = take_reply(asked);
        cell->sent_bytes = asked->out.len;
        weir__buf_release(&cell->loop->pool, &asked->out);
        asked->cell = NULL;
        weir__stream_end(cell, how);
}

/* Pulls the body until it waits or ends. */
static void pump(struct weir_asked *asked)
{
        struct weir__cell *cell = asked->cell;
        struct weir__buf *out = &asked->out;
        ssize_t n = 0;

        while (sends_body(cell)) {
                if (!weir__buf_reserve(&cell->loop->pool, out, PIECE)) {
                        end(asked, WEIR__GONE, false);
                        return;
                }
                n = weir__stream_pull(cell, out->ptr + out->len, PIECE);
                out->len += n > 0 ? (size_t)n : 0;
                if (n > 0 && cell->streams)
                        weir__wait_moved(cell);
                if (cell->waits)
                        return;
                if (n <= 0)
                        break;
        }
        asked->broken = n < 0 || (sends_body(cell) && asked->length_said != WEIR_UNKNOWN_LENGTH &&
                                  out->len < asked->length_said);
        end(asked, asked->broken ? WEIR__GONE : WEIR__SENT, true);
}

/* loop->flows */
static void flows(struct weir__cell *cell, int why)
{
        struct weir_asked *asked = cell->conn;

        if (why == WEIR__FLOWS_ON) {
                pump(asked);
                return;
        }
        asked->broken = true;
        end(asked, weir__stream_end_of(why), why != WEIR__FLOWS_LEFT || cell->broken);
}

/* ---- Asking. ---- */

static void finish(struct weir_asked *asked)
{
        if (asked->cell->phase == WEIR__LEFT) {
                end(asked, WEIR__GONE, false);
                return;
        }
        asked->length_said = weir__body_length(&asked->cell->answer.body);
        pump(asked);
}

/* In pieces, as a network would. */
static enum weir__next send_body(struct weir_asked *asked)
{
        struct weir_str *body = &asked->body;

        while (body->len) {
                struct weir_str piece = { body->ptr, body->len < PIECE ? body->len : PIECE };
                enum weir__next next;

                body->ptr += piece.len;
                body->len -= piece.len;
                next = weir__exchange_body(asked->cell, piece.ptr, piece.len);
                if (next != WEIR__READ)
                        return next;
        }
        asked->is_in = true;
        return weir__exchange_end(asked->cell);
}

/* `next` is an enum weir__next. */
static void go_on(struct weir_asked *asked, int next)
{
        struct weir__cell *cell = asked->cell;

        if (next == WEIR__READ && !asked->is_in && cell->phase != WEIR__LEFT)
                next = send_body(asked);
        if (next != WEIR__WAIT)
                finish(asked);
}

static void send_request(struct weir_asked *asked, struct weir_str text)
{
        struct weir__cell *cell = asked->cell;
        struct weir__ask_head head = weir__ask_read(text);
        enum weir__next next;

        cell->conn = asked;
        cell->answer.close = false;
        cell->ctx.started_ns = weir__now(&cell->loop->clock);
        cell->ctx.peer = WEIR_STR("127.0.0.1:1");
        cell->ctx.client = WEIR_STR("127.0.0.1");
        cell->ctx.method_name = head.method;
        weir__cell_target(cell, head.target);
        weir__ask_fields(cell, &head, asked->length, sizeof(asked->length));
        if (!cell->excess &&
            weir__ask_head_size(cell, &head) > (uint64_t)cell->loop->app->options.max_header_bytes)
                cell->excess = WEIR_GUARD_HEADER_BYTES;
        next = weir__exchange_head(cell, head.version);
        asked->body = head.body;
        if (!cell->chunked && asked->body.len > cell->content_length)
                asked->body.len = (size_t)cell->content_length; /* another request would follow */
        go_on(asked, next);
}

static struct weir_asked *start(struct weir *app, struct weir_str request)
{
        struct weir__asker *asker = app ? asker_of(app) : NULL;
        const char *error = asker ? NULL : weir_error(app);
        struct weir_asked *asked = calloc(1, sizeof(*asked));

        if (!asked)
                return NULL;
        if (error) {
                asked->reply = make_reply(500, WEIR_STR(""),
                                          (struct weir_str){ error, strlen(error) });
                return asked;
        }
        asked->asker = asker;
        asked->text = calloc(1, request.len + WEIR__PEEK);
        asked->cell = asked->text ? weir__cell_get(&asker->loop) : NULL;
        if (!asked->cell)
                return asked; /* without a reply */
        if (request.len)
                memcpy(asked->text, request.ptr, request.len);
        send_request(asked, (struct weir_str){ asked->text, request.len });
        return asked;
}

struct weir_asked *weir_ask_start(struct weir *app, const char *request)
{
        return start(app, (struct weir_str){ request, strlen(request) });
}

bool weir_ask_waits(struct weir_asked *asked)
{
        if (asked && asked->cell)
                weir__wait_turn(&asked->asker->loop);
        return asked && asked->cell;
}

struct weir_str weir_ask_body(const struct weir_asked *asked)
{
        if (!asked || (!asked->cell && !asked->reply))
                return (struct weir_str){ 0 };
        return asked->cell ? (struct weir_str){ asked->out.ptr, asked->out.len }
                           : asked->reply->body;
}

/* Until a thread resumes a request, of whomever. */
static void wait_for_others(struct weir__asker *asker)
{
        pthread_mutex_lock(&asker->lock);
        while (!asker->woken)
                pthread_cond_wait(&asker->cond, &asker->lock);
        asker->woken = false;
        pthread_mutex_unlock(&asker->lock);
}

struct weir_reply *weir_ask_finish(struct weir_asked *asked)
{
        struct weir_reply *reply;

        while (weir_ask_waits(asked)) {
                struct weir__asker *asker = asked->asker;
                uint64_t until_ns = asked->cell->wait.until_ns;

                if (until_ns == UINT64_MAX)
                        wait_for_others(asker);
                else if (until_ns > asker->now_ns)
                        asker->now_ns = until_ns;
        }
        if (!asked)
                return NULL;
        reply = asked->reply;
        free(asked->text);
        free(asked);
        return reply;
}

void weir_ask_leave(struct weir_asked *asked)
{
        if (!asked)
                return;
        if (asked->cell)
                weir__wait_left(asked->cell);
        weir_reply_free(weir_ask_finish(asked));
}

struct weir_reply *weir_ask_bytes(struct weir *app, struct weir_str request)
{
        return weir_ask_finish(start(app, request));
}

struct weir_reply *weir_ask(struct weir *app, const char *request)
{
        return weir_ask_bytes(app, (struct weir_str){ request, strlen(request) });
}

struct weir_str weir_reply_header(const struct weir_reply *reply, const char *name)
{
        struct weir_str head = reply->head;
        size_t len = strlen(name);

        while (head.len) {
                struct weir_str line = weir__ask_line(&head);

                if (line.len > len + 1 && line.ptr[len] == ':' && !strncasecmp(line.ptr, name, len))
                        return (struct weir_str){ line.ptr + len + 2, line.len - len - 2 };
        }
        return (struct weir_str){ 0 };
}

void weir_reply_free(struct weir_reply *reply)
{
        free(reply);
}
