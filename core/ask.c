/*
 * ask.c - the in-memory client: a transport without sockets.
 *
 * It drives the same guard, router, chain and answer code as a connection does, on the caller's
 * thread, with a loop of its own whose clock only weir_tick() moves.
 */
#include "ask.h"
#include "exchange.h"
#include "guard.h"
#include "local.h"
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

/* ---- Reading the request text. ---- */

struct head {
        struct weir_str method, target, version, body;
        struct weir_str fields; /* lines */
};

/* Cuts the next line, without its end, off `text`. */
static struct weir_str next_line(struct weir_str *text)
{
        const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
        size_t len = end ? (size_t)(end - text->ptr) : text->len;
        struct weir_str line = { text->ptr, len };

        text->ptr += len + (end ? 1 : 0);
        text->len -= len + (end ? 1 : 0);
        if (line.len && line.ptr[line.len - 1] == '\r')
                line.len--;
        return line;
}

static void read_request_line(struct head *head, struct weir_str line)
{
        const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
        const char *end = line.ptr + line.len, *last;

        head->method = (struct weir_str){ line.ptr, (size_t)((space ? space : end) - line.ptr) };
        head->version = WEIR_STR("HTTP/1.1");
        if (!space) {
                head->target = WEIR_STR("");
                return;
        }
        last = memrchr(space, ' ', (size_t)(end - space));
        if (last > space && end - last > 6 && !memcmp(last + 1, "HTTP/", 5)) {
                head->version = (struct weir_str){ last + 1, (size_t)(end - last - 1) };
                end = last;
        }
        head->target = (struct weir_str){ space + 1, (size_t)(end - space - 1) };
}

static struct head read_head(struct weir_str text)
{
        struct head head = { 0 };
        struct weir_str line;

        read_request_line(&head, next_line(&text));
        head.fields.ptr = text.ptr;
        while (text.len) {
                const char *start = text.ptr;

                line = next_line(&text);
                if (!line.len) {
                        head.fields.len = (size_t)(start - head.fields.ptr);
                        head.body = text;
                        return head;
                }
        }
        head.fields.len = (size_t)(text.ptr - head.fields.ptr);
        return head;
}

static void add_field(struct weir__cell *cell, struct weir_str line)
{
        const char *colon = memchr(line.ptr, ':', line.len);
        const char *end = line.ptr + line.len;
        const char *value = colon ? colon + 1 : end;
        struct weir__header *field = &cell->header[cell->n_headers];

        while (value < end && (*value == ' ' || *value == '\t'))
                value++;
        if (field == cell->header_end) {
                cell->excess = WEIR_GUARD_TOO_MANY_HEADERS;
                return;
        }
        cell->n_headers++;
        *field = (struct weir__header){ line.ptr, value,
                                        (uint32_t)((colon ? colon : end) - line.ptr),
                                        (uint32_t)(end - value) };
        weir__guard_field(cell, field);
}

static bool has_field(const struct weir__cell *cell, const char *name)
{
        return weir_header(&cell->ctx, name).ptr;
}

static void add_fields(struct weir__cell *cell, const struct head *head, char *length, size_t size)
{
        static const char host[32] = "Host: test"; /* with WEIR__PEEK bytes behind it */
        struct weir_str fields = head->fields;

        while (fields.len)
                add_field(cell, next_line(&fields));
        if (!has_field(cell, "Host"))
                add_field(cell, (struct weir_str){ host, strlen(host) });
        if (head->body.len && !has_field(cell, "Content-Length") &&
            !has_field(cell, "Transfer-Encoding")) {
                int len = snprintf(length, size, "Content-Length: %zu", head->body.len);

                add_field(cell, (struct weir_str){ length, (size_t)len });
        }
}

/* How long the head would be on the wire, with one blank before each value. */
static uint64_t head_size(const struct weir__cell *cell, const struct head *head)
{
        uint64_t size = head->method.len + head->target.len + head->version.len + 6;

        for (unsigned i = 0; i < cell->n_headers; i++)
                size += (uint64_t)cell->header[i].name_len + cell->header[i].value_len + 4;
        return size;
}

/* ---- The answer. ---- */

static bool pull_all(struct weir__cell *cell, struct weir__buf *out, bool *broken)
{
        uint64_t length = weir__body_length(&cell->answer.body);
        struct weir__pool *pool = &cell->loop->pool;
        ssize_t n;

        do {
                if (!weir__buf_reserve(pool, out, 4096))
                        return false;
                n = weir__body_pull(cell, &cell->answer.body, out->ptr + out->len, 4096);
                out->len += n > 0 ? (size_t)n : 0;
        } while (n > 0);
        *broken = n < 0 || (length != WEIR_UNKNOWN_LENGTH && out->len < length);
        return true;
}

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

static struct weir_reply *take_reply(struct weir__cell *cell)
{
        struct weir__pool *pool = &cell->loop->pool;
        struct weir__buf head = { 0 }, body = { 0 };
        struct weir_reply *reply = NULL;
        uint64_t length = weir__body_length(&cell->answer.body);
        bool broken = false;

        if (weir__wire_fields(cell, &head) && (!sends_body(cell) || pull_all(cell, &body, &broken)))
                reply = make_reply(cell->ctx.status, (struct weir_str){ head.ptr, head.len },
                                   (struct weir_str){ body.ptr, body.len });
        if (reply) {
                reply->length = length;
                reply->closes = cell->answer.close || client_closes(cell);
                reply->broken = broken;
        }
        cell->sent_bytes = body.len;
        weir__buf_release(pool, &head);
        weir__buf_release(pool, &body);
        return reply;
}

/* ---- Asking. ---- */

static void finish(struct weir_asked *asked)
{
        struct weir__cell *cell = asked->cell;
        bool left = cell->phase == WEIR__LEFT;
        bool broken;

        asked->cell = NULL;
        if (!left)
                asked->reply = take_reply(cell);
        if (asked->reply)
                asked->reply->took_ns = weir__now(&cell->loop->clock) - cell->ctx.started_ns;
        broken = asked->reply && asked->reply->broken;
        weir__exchange_done(cell, cell->sent_bytes, left || broken ? WEIR__GONE : WEIR__SENT);
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
        struct head head = read_head(text);
        enum weir__next next;

        cell->conn = asked;
        cell->answer.close = false;
        cell->ctx.started_ns = weir__now(&cell->loop->clock);
        cell->ctx.peer = WEIR_STR("127.0.0.1:1");
        cell->ctx.client = WEIR_STR("127.0.0.1");
        cell->ctx.method_name = head.method;
        weir__cell_target(cell, head.target);
        add_fields(cell, &head, asked->length, sizeof(asked->length));
        if (head_size(cell, &head) > (uint64_t)cell->loop->app->options.max_header_bytes &&
            !cell->excess)
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
                struct weir_str line = next_line(&head);

                if (line.len > len + 1 && line.ptr[len] == ':' && !strncasecmp(line.ptr, name, len))
                        return (struct weir_str){ line.ptr + len + 2, line.len - len - 2 };
        }
        return (struct weir_str){ 0 };
}

void weir_reply_free(struct weir_reply *reply)
{
        free(reply);
}
