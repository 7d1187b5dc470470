/* wire.c - an answer as text: for what does not go out through a transport's own writer. */
#include "cell.h"

#include <stdio.h>
#include <sys/socket.h>

static bool append(struct weir__pool *pool, struct weir__buf *out, const char *text, size_t len)
{
        if (!weir__buf_reserve(pool, out, len))
                return false;
        if (len)
                memcpy(out->ptr + out->len, text, len);
        out->len += len;
        return true;
}

bool weir__wire_fields(struct weir__cell *cell, struct weir__buf *out)
{
        const struct weir__answer *answer = &cell->answer;
        struct weir__pool *pool = &cell->loop->pool;

        if (answer->type.ptr && !(append(pool, out, "Content-Type: ", 14) &&
                                  append(pool, out, answer->type.ptr, answer->type.len) &&
                                  append(pool, out, "\r\n", 2)))
                return false;
        for (uint16_t i = 0; i < answer->n_fields; i++) {
                if (!append(pool, out, answer->field[i].line, answer->field[i].len))
                        return false;
        }
        return true;
}

bool weir__wire(struct weir__cell *cell, struct weir__buf *out)
{
        struct weir__pool *pool = &cell->loop->pool;
        struct weir_str body = weir_answer_body(&cell->ctx);
        bool sends_body = cell->ctx.method != WEIR_HEAD && cell->ctx.status != 304;
        char date[WEIR__DATE_LEN], head[192];
        int len;

        if (cell->answer.body.kind == WEIR__FD || cell->answer.body.kind == WEIR__PULL)
                return false;
        weir__date_format(date, cell->loop->clock.wall_ns(cell->loop->clock.arg) / 1000000000);
        len = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\nDate: %.*s\r\nConnection: close\r\n",
                       cell->ctx.status, weir__status_title(cell->ctx.status), WEIR__DATE_LEN,
                       date);
        if (cell->ctx.status != 204 && cell->ctx.status != 304)
                len += snprintf(head + len, sizeof(head) - (size_t)len, "Content-Length: %zu\r\n",
                                body.len);
        return append(pool, out, head, (size_t)len) && weir__wire_fields(cell, out) &&
               append(pool, out, "\r\n", 2) &&
               append(pool, out, body.ptr, sends_body ? body.len : 0);
}

bool weir__wire_bare(int fd, const struct weir__clock *clock, int status, const char *fields)
{
        char date[WEIR__DATE_LEN], text[256];
        int len;

        weir__date_format(date, clock->wall_ns(clock->arg) / 1000000000);
        len = snprintf(text, sizeof(text),
                       "HTTP/1.1 %d %s\r\nDate: %.*s\r\n%s"
                       "Connection: close\r\nContent-Length: 0\r\n\r\n",
                       status, weir__status_title(status), WEIR__DATE_LEN, date, fields);
        return send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) == len;
}
