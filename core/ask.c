/*
 * ask.c - the in-memory client: a transport without sockets.
 *
 * It drives the same guard, router, chain and answer code as a connection does, on the caller's
 * thread, with a loop of its own whose clock only weir_tick() moves.
 */
#include "ask.h"
#include "exchange.h"
#include "guard.h"

#include <weir/test.h>

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define START_NS      1000000000ull          /* so that 0 stays "never"        */
#define START_WALL_NS 1700000000000000000ull /* 2023-11-14, as good as any day */

struct weir__asker {
        struct weir__loop loop;
        uint64_t          now_ns;
        uint32_t          n_locals; /* that are open */
};

static const struct weir__transport in_memory = { "ask", true };

static uint64_t asker_mono(void *arg)
{
        return ((struct weir__asker *)arg)->now_ns;
}

static uint64_t asker_wall(void *arg)
{
        return START_WALL_NS + ((struct weir__asker *)arg)->now_ns;
}

static bool open_locals(struct weir__asker *asker)
{
        struct weir__app *app = asker->loop.app;

        for (; asker->n_locals < app->n_locals; asker->n_locals++) {
                const struct weir__local_def *def = &app->locals[asker->n_locals];
                const char *why = "open() returned NULL";
                void *value = def->type.open(def->arg, &why);

                if (!value) {
                        weir__error(app, "\"%s\": %s", def->type.name, why);
                        return false;
                }
                asker->loop.local[asker->n_locals + 1] = value;
        }
        return true;
}

static struct weir__asker *make_asker(struct weir__app *app)
{
        struct weir__asker *asker = calloc(1, sizeof(*asker));

        if (!asker)
                return NULL;
        weir__loop_init(&asker->loop, app, 0, &in_memory);
        asker->now_ns = START_NS;
        asker->loop.clock = (struct weir__clock){ asker_mono, asker_wall, asker };
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
        return open_locals(app->asker) ? app->asker : NULL;
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
        while (asker->n_locals--) {
                const struct weir__local_def *def = &asker->loop.app->locals[asker->n_locals];

                if (def->type.close)
                        def->type.close(asker->loop.local[asker->n_locals + 1], def->arg);
        }
        weir__loop_finish(&asker->loop);
        free(asker);
}

void weir_tick(struct weir *app, uint64_t ms)
{
        struct weir__asker *asker = app ? asker_of(app) : NULL;

        if (asker)
                asker->now_ns += ms * 1000000;
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
        if (cell->n_headers == cell->max_headers) {
                cell->too_many_headers = true;
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

static struct weir_reply *ask(struct weir__cell *cell, struct weir_str text)
{
        struct head head = read_head(text);
        struct weir_reply *reply;
        char length[48];
        enum weir__next next;

        cell->ctx.started_ns = weir__now(&cell->loop->clock);
        cell->ctx.peer = WEIR_STR("127.0.0.1:1");
        cell->ctx.client = WEIR_STR("127.0.0.1");
        cell->ctx.method_name = head.method;
        weir__cell_target(cell, head.target);
        add_fields(cell, &head, length, sizeof(length));
        next = weir__exchange_head(cell, head.version);
        if (!cell->chunked && head.body.len > cell->content_length)
                head.body.len = (size_t)cell->content_length; /* another request would follow */
        if (next == WEIR__READ && head.body.len)
                next = weir__exchange_body(cell, head.body.ptr, head.body.len);
        if (next == WEIR__READ)
                weir__exchange_end(cell);
        reply = take_reply(cell);
        if (reply)
                reply->took_ns = weir__now(&cell->loop->clock) - cell->ctx.started_ns;
        weir__exchange_done(cell, cell->sent_bytes,
                            reply && reply->broken ? WEIR__GONE : WEIR__SENT);
        return reply;
}

struct weir_reply *weir_ask_bytes(struct weir *app, struct weir_str request)
{
        struct weir__asker *asker = app ? asker_of(app) : NULL;
        const char *error = asker ? NULL : weir_error(app);
        struct weir_reply *reply = NULL;
        struct weir__cell *cell;
        char *copy;

        if (error)
                return make_reply(500, WEIR_STR(""), (struct weir_str){ error, strlen(error) });
        cell = weir__cell_get(&asker->loop);
        copy = calloc(1, request.len + WEIR__PEEK);
        if (cell && copy) {
                if (request.len)
                        memcpy(copy, request.ptr, request.len);
                reply = ask(cell, (struct weir_str){ copy, request.len });
        } else if (cell) {
                weir__cell_put(cell);
        }
        free(copy);
        return reply;
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
