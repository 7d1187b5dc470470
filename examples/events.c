/*
 * events.c - a page that shows what others say, and the time: events [ADDRESS]
 *
 *      curl -N http://127.0.0.1:8080/events           listens
 *      curl -d 'Hello' http://127.0.0.1:8080/events   says something to all who do
 *      curl -N http://127.0.0.1:8080/ticks            a tick each second, by the clock alone
 *
 * A client that was cut off says which event it had last, and gets what it has missed, as far back
 * as the room remembers.
 */
#include <pthread.h>
#include <stdio.h>
#include <weir/sse.h>
#include <weir/weir.h>

#define MEMBERS   1000
#define REMEMBERS 16
#define SECOND_NS 1000000000ull

static const char page[] = "<!doctype html>\n"
        "<meta charset=\"utf-8\">\n"
        "<title>events</title>\n"
        "<p>Tick <b id=\"tick\">none yet</b>\n"
        "<form><input id=\"text\" autofocus> <button>Say</button></form>\n"
        "<ul id=\"said\"></ul>\n"
        "<script>\n"
        "const by = id => document.getElementById(id);\n"
        "new EventSource('/ticks').addEventListener('tick', e => {\n"
        "        by('tick').textContent = e.data;\n"
        "});\n"
        "new EventSource('/events').onmessage = e => {\n"
        "        by('said').prepend(Object.assign(document.createElement('li'), "
        "{ textContent: e.data }));\n"
        "};\n"
        "document.forms[0].onsubmit = e => {\n"
        "        e.preventDefault();\n"
        "        fetch('/events', { method: 'POST', body: by('text').value });\n"
        "        by('text').value = '';\n"
        "};\n"
        "</script>\n";

/* ---- The room: who listens, and what was said last. ---- */

struct room {
        pthread_mutex_t  lock;
        struct weir_sse *member[MEMBERS];
        unsigned         n_members;
        char             said[REMEMBERS][1000]; /* number n is at n % REMEMBERS */
        size_t           len[REMEMBERS];
        int64_t          last;                  /* number; the first is 1       */
};

static bool tell(struct weir_sse *member, const struct room *room, int64_t number)
{
        char id[24];
        int len = snprintf(id, sizeof(id), "%lld", (long long)number);

        return weir_sse_send(member,
                             &(struct weir_event){ .id = { id, (size_t)len },
                                             .data = { room->said[number % REMEMBERS],
                                                       room->len[number % REMEMBERS] } });
}

/* Runs once for each that came in, whatever made it go. */
static void go_out(void *arg, struct weir_sse *member)
{
        struct room *room = arg;

        pthread_mutex_lock(&room->lock);
        for (unsigned i = 0; i < room->n_members; i++) {
                if (room->member[i] == member) {
                        room->member[i] = room->member[--room->n_members];
                        break;
                }
        }
        pthread_mutex_unlock(&room->lock);
        weir_sse_release(member);
}

/* The number of the last event that the client had; of the very last one, when it says none. */
static int64_t last_had(const struct weir_ctx *ctx, int64_t last)
{
        struct weir_str id = weir_sse_last_id(ctx);
        int64_t number = 0;

        if (!id.ptr)
                return last;
        for (size_t i = 0; i < id.len && i < 18; i++) {
                if (id.ptr[i] < '0' || id.ptr[i] > '9')
                        return last;
                number = 10 * number + id.ptr[i] - '0';
        }
        return number;
}

/* With the lock, so that nothing is said between what it has missed and what comes. */
static bool come_in(struct weir_ctx *ctx, struct room *room)
{
        const struct weir_sse_options options = {
                .retry_ms = 1000, .close_when_full = true, .on_close = go_out, .arg = room
        };
        int64_t next = last_had(ctx, room->last) + 1;
        struct weir_sse *member;

        if (room->n_members == MEMBERS)
                return false;
        member = weir_sse_open(ctx, &options);
        if (!member)
                return true; /* answered */
        if (next <= room->last - REMEMBERS)
                next = room->last - REMEMBERS + 1;
        for (; next <= room->last; next++)
                tell(member, room, next);
        room->member[room->n_members++] = member;
        return true;
}

static enum weir_flow listen_in(struct weir_ctx *ctx, void *self)
{
        struct room *room = self;
        bool fits;

        pthread_mutex_lock(&room->lock);
        fits = come_in(ctx, room);
        pthread_mutex_unlock(&room->lock);
        return fits ? WEIR_DONE : weir_refuse(ctx, 503, "%d listen already", MEMBERS);
}

static enum weir_flow say(struct weir_ctx *ctx, void *self)
{
        struct room *room = self;
        unsigned told = 0;
        int64_t number;

        pthread_mutex_lock(&room->lock);
        number = ++room->last;
        room->len[number % REMEMBERS] = ctx->body.len;
        if (ctx->body.len)
                memcpy(room->said[number % REMEMBERS], ctx->body.ptr, ctx->body.len);
        for (unsigned i = 0; i < room->n_members; i++)
                told += tell(room->member[i], room, number);
        pthread_mutex_unlock(&room->lock);
        return weir_textf(ctx, 200, "told %u\n", told);
}

/* ---- Ticks: a stream that waits for moments, without a thread. ---- */

struct ticks {
        struct weir_ctx *ctx;
        uint64_t         next_ns;
        unsigned         n;
};

static ssize_t pull_tick(void *arg, char *buf, size_t size)
{
        struct ticks *ticks = arg;
        struct weir_ticket nobody_claims_it;

        if (weir_stopping(ticks->ctx))
                return 0;
        if (weir_now(ticks->ctx) >= ticks->next_ns) {
                ticks->next_ns += SECOND_NS;
                return snprintf(buf, size, "event: tick\ndata: %u\n\n", ++ticks->n);
        }
        nobody_claims_it = weir_suspend_until(ticks->ctx, ticks->next_ns);
        (void)nobody_claims_it;
        return WEIR_PULL_WAIT;
}

static enum weir_flow tick(struct weir_ctx *ctx, void *self)
{
        struct ticks *ticks = weir_alloc(ctx, sizeof(*ticks));

        (void)self;
        if (!ticks)
                return weir_fail(ctx, 500, NULL);
        *ticks = (struct ticks){ ctx, weir_now(ctx), 0 };
        weir_set_header(ctx, "Cache-Control", "no-store");
        return weir_stream(ctx, 200, "text/event-stream", WEIR_UNKNOWN_LENGTH, pull_tick, NULL,
                           ticks);
}

/* ---- The app. ---- */

static enum weir_flow show_page(struct weir_ctx *ctx, void *self)
{
        return weir_send_static(ctx, self);
}

int main(int argc, char **argv)
{
        static const struct weir_route_options waits = { .waits = true };
        static struct room room = { .lock = PTHREAD_MUTEX_INITIALIZER };
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });

        weir_listen(app, argc > 1 ? argv[1] : "127.0.0.1:8080", NULL);
        weir_get(app, "/", show_page,
                 weir_static(app, 200, "text/html; charset=utf-8",
                             (struct weir_str){ page, sizeof(page) - 1 }));
        weir_route(app, WEIR_GET, "/events", listen_in, &room, &waits);
        weir_route(app, WEIR_POST, "/events", say, &room,
                   &(struct weir_route_options){ .max_body = sizeof(room.said[0]) });
        weir_route(app, WEIR_GET, "/ticks", tick, NULL, &waits);
        return weir_main(app);
}
