/*
 * views.c - the text of a request, moved out of the memory of its connection: for what outlives the
 * one, or is read by another thread while the other goes on.
 */
#include "views.h"

/* The text that a connection holds, and its copy. */
struct move {
        const char *from, *end;
        char       *to;
};

static bool is_near(const struct weir__cell *cell, struct weir_str text)
{
        uintptr_t here = (uintptr_t)cell->ctx.target.ptr, there = (uintptr_t)text.ptr;

        return (there > here ? there - here : here - there) <= cell->app->options.connection_memory;
}

static void widen(const struct weir__cell *cell, struct move *move, struct weir_str text)
{
        if (!is_near(cell, text))
                return; /* a constant of the transport */
        if (text.ptr < move->from)
                move->from = text.ptr;
        if (text.ptr + text.len > move->end)
                move->end = text.ptr + text.len;
}

/* What of the memory of the connection the request has views of. */
static struct move span_of(const struct weir__cell *cell)
{
        const struct weir_ctx *ctx = &cell->ctx;
        struct move move = { ctx->target.ptr, ctx->target.ptr + ctx->target.len, NULL };

        widen(cell, &move, ctx->method_name);
        for (uint16_t i = 0; i < cell->n_headers; i++) {
                const struct weir__header *field = &cell->header[i];

                widen(cell, &move, (struct weir_str){ field->name, field->name_len });
                widen(cell, &move, (struct weir_str){ field->value, field->value_len });
        }
        return move;
}

static const char *moved(const struct move *move, const char *text)
{
        return text >= move->from && text <= move->end ? move->to + (text - move->from) : text;
}

static void move_views(struct weir__cell *cell, const struct move *move)
{
        struct weir_ctx *ctx = &cell->ctx;
        struct weir_str *views[] = { &ctx->target,       &ctx->path,         &ctx->query,
                                     &ctx->host,         &ctx->method_name,  &cell->host_header,
                                     &cell->content_type, &cell->path.raw };

        for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
                views[i]->ptr = moved(move, views[i]->ptr);
        for (uint8_t i = 0; i < ctx->n_params; i++)
                ctx->param[i].ptr = moved(move, ctx->param[i].ptr);
        cell->path.text = moved(move, cell->path.text);
        for (uint16_t i = 0; i < cell->n_headers; i++) {
                cell->header[i].name = moved(move, cell->header[i].name);
                cell->header[i].value = moved(move, cell->header[i].value);
        }
        for (struct weir__body *body = &cell->answer.body; body; body = body->inner) {
                if (body->kind == WEIR__BYTES)
                        body->bytes.ptr = moved(move, body->bytes.ptr);
                else if (body->kind != WEIR__PULL)
                        break; /* has no inner one */
        }
}

/* The copy of a text behind the head. */
static struct weir_str put(char **at, struct weir_str text)
{
        char *copy = *at;

        memcpy(copy, text.ptr, text.len);
        *at += text.len;
        return (struct weir_str){ copy, text.len };
}

bool weir__views_move(struct weir__cell *cell)
{
        struct weir_ctx *ctx = &cell->ctx;
        struct move move = span_of(cell);
        size_t head = (size_t)(move.end - move.from);
        struct weir__buf *text = &cell->work.text;
        char *at;

        if (!weir__buf_reserve(&cell->loop->pool, text, head + 1 + ctx->peer.len + ctx->client.len))
                return false;
        memcpy(text->ptr, move.from, head);
        text->ptr[head] = '\0';
        move.to = text->ptr;
        move_views(cell, &move);
        at = text->ptr + head + 1;
        ctx->peer = put(&at, ctx->peer);
        ctx->client = put(&at, ctx->client);
        return true;
}
