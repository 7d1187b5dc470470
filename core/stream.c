/* stream.c - pulling an answer that may wait: see stream.h. */
#include "stream.h"
#include "hint.h"
#include "wait.h"

/* The app's mistake: it is logged and counted, and the stream breaks off. */
static WEIR__COLD void misuse(struct weir__cell *cell, const char *what)
{
        weir_log(&cell->app->root, WEIR_LOG_ERROR, "%s %.*s: the stream of %s %s",
                 cell->ctx.pattern, WEIR_FMT(cell->ctx.method_name),
                 weir__link_name(&cell->ctx.links[cell->ctx.at]), what);
        WEIR__COUNT(cell->loop, bad_answers);
}

/* It suspended the request and then ended; unless somebody has that, it may. */
static WEIR__COLD ssize_t end_suspended(struct weir__cell *cell, ssize_t n)
{
        return weir__wait_take(cell) ? n : WEIR_PULL_WAIT;
}

ssize_t weir__stream_pull(struct weir__cell *cell, char *buf, size_t size)
{
        ssize_t n;

        cell->may_wait = cell->plan->waits;
        n = weir__body_pull(cell, &cell->answer.body, buf, size);
        cell->may_wait = false;
        if (cell->waits)
                return n > 0 || n == WEIR_PULL_WAIT ? n : end_suspended(cell, n);
        if (n != WEIR_PULL_WAIT)
                return n;
        misuse(cell, cell->plan->waits ? "returned WEIR_PULL_WAIT without waiting for anything"
                                       : "returned WEIR_PULL_WAIT without .waits");
        return -1;
}

bool weir__stream_waits(struct weir__cell *cell)
{
        struct weir__loop *loop = cell->loop;

        if (cell->streams)
                return true;
        if (loop->part && !loop->part(cell)) {
                WEIR__COUNT(loop, out_of_memory);
                return false;
        }
        cell->streams = true;
        cell->moved_ns = weir__now(&loop->clock);
        WEIR__COUNT(loop, streams_open);
        return true;
}

void weir__stream_back(struct weir__cell *cell)
{
        bool bad = cell->wait.flow != WEIR_NEXT && !cell->left;

        if (bad) {
                misuse(cell, "was not resumed with WEIR_NEXT");
                cell->broken = true;
        }
        cell->loop->flows(cell, bad || cell->left ? WEIR__FLOWS_LEFT : WEIR__FLOWS_ON);
}

enum weir__end weir__stream_end_of(int why)
{
        return why == WEIR__FLOWS_LATE      ? WEIR__EXPIRED
               : why == WEIR__FLOWS_STOPPED ? WEIR__STOPPED
                                            : WEIR__GONE;
}

/* A body that was replaced behind the head may hold less than the cell does: all is given back. */
void weir__stream_end(struct weir__cell *cell, enum weir__end end)
{
        struct weir__body *body = &cell->answer.body;

        if (cell->streams) {
                weir__wait_unlist(cell);
                weir__count_by(&cell->loop->counters, WEIR__STAT(streams_open), (uint64_t)-1);
                if (end == WEIR__EXPIRED)
                        WEIR__COUNT(cell->loop, streams_timed_out);
        }
        if (body->kind == WEIR__EMPTY || body->kind == WEIR__FIXED)
                *body = (struct weir__body){ .kind = WEIR__BYTES };
        weir__exchange_done(cell, cell->sent_bytes, end);
}

bool weir__stream_closes(const struct weir__cell *cell)
{
        const struct weir__body *body = &cell->answer.body;

        return body->kind == WEIR__PULL && body->length == WEIR_UNKNOWN_LENGTH && cell->plan->waits;
}
