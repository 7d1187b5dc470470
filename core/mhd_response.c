/*
 * mhd_response.c - from an answer to what MHD sends.
 *
 * MHD allocates for every response and every header field of it. So weir keeps responses and
 * changes what is in them. A fixed answer has one response per loop and connection header; a
 * dynamic one takes a slot (mhd_slot.c), its header fields being one block (mhd_block.c); other
 * answers take a response of their own from the heap. A start-up probe (mhd_probe.c) proves that
 * this MHD sends what was changed; else every answer comes from the heap, field by field.
 */
#include <microhttpd.h>

#include "hint.h"
#include "mhd_private.h"
#include "stream.h"

#include <stdlib.h>
#include <sys/socket.h>

#define SLOT_BODY_MAX 4096
#define BLOCK_MAX     4096

/* ---- Bodies that are not sent. ---- */

/* HEAD and 304 tell of a body that is not sent. */
static bool sends_body(const struct weir__cell *cell)
{
        return cell->ctx.method != WEIR_HEAD && cell->ctx.status != 304;
}

/* Sends no body, and nobody knows its length (RFC 9110 8.6). */
static bool is_lengthless(const struct weir__cell *cell)
{
        return weir__is_bare_304(cell) ||
               (!sends_body(cell) && cell->answer.body.kind == WEIR__PULL &&
                                     cell->answer.body.length == WEIR_UNKNOWN_LENGTH);
}

/* ---- Fixed answers. ---- */

static bool make_fixed(struct weir__prebuilt *prebuilt, const struct weir_static *fixed, bool close)
{
        struct weir__answer answer = { .type = fixed->type };
        size_t size = weir__block_length(&answer);

        prebuilt->response = MHD_create_response_from_buffer(
                fixed->body.len, (void *)(uintptr_t)fixed->body.ptr, MHD_RESPMEM_PERSISTENT);
        if (!prebuilt->response)
                return false;
        if (close)
                MHD_set_response_options(prebuilt->response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                         MHD_RO_END);
        prebuilt->date = weir__block_add(prebuilt->response, size);
        if (!prebuilt->date)
                return false;
        weir__block_fill(prebuilt->date, size, "Thu, 01 Jan 1970 00:00:00 GMT", &answer);
        return true;
}

static bool make_all_fixed(struct weir__mhd *mhd)
{
        struct weir__responses *all = &mhd->responses;

        all->n_fixed = 2 * mhd->loop->app->n_statics;
        all->fixed = calloc(all->n_fixed, sizeof(*all->fixed));
        if (!all->fixed)
                return false;
        for (const struct weir_static *fixed = mhd->loop->app->statics; fixed;
             fixed = fixed->next) {
                if (!make_fixed(&all->fixed[2 * fixed->number], fixed, false) ||
                    !make_fixed(&all->fixed[2 * fixed->number + 1], fixed, true))
                        return false;
        }
        return true;
}

static WEIR__INLINE struct weir__prebuilt *prebuilt_of(const struct weir__mhd  *mhd,
                                                        const struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;

        return &mhd->responses.fixed[2 * answer->body.fixed->number + answer->close];
}

/* Is the answer what was made at start, and nothing else? */
static WEIR__INLINE bool is_prebuilt(const struct weir__mhd *mhd, const struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;

        return answer->body.kind == WEIR__FIXED && answer->n_fields == 0 &&
               answer->type.ptr == answer->body.fixed->type.ptr && mhd->responses.reuse &&
               !weir__is_bare_304(cell);
}

/* Does it show the second of the verdict already? */
static WEIR__INLINE bool has_date(struct weir__mhd *mhd, const struct weir__cell *cell)
{
        const struct weir__responses *all = &mhd->responses;

        return cell->ctx.verdict_ns < all->until_ns && prebuilt_of(mhd, cell)->stamp == all->second;
}

static void set_date(struct weir__mhd *mhd, const struct weir__cell *cell)
{
        struct weir__prebuilt *prebuilt = prebuilt_of(mhd, cell);
        const char *date = weir__block_date(mhd, cell);

        if (prebuilt->stamp == mhd->responses.second)
                return;
        prebuilt->stamp = mhd->responses.second;
        memcpy(prebuilt->date, date, WEIR__DATE_LEN);
}

/* ---- Answers from the heap. ---- */

/* All that came before is with the kernel when MHD asks for more, so a stream may leave here. */
static ssize_t read_body(void *self, uint64_t pos, char *buf, size_t max)
{
        struct weir__cell *cell = self;
        const struct weir__conn *conn = cell->conn;
        ssize_t n;

        (void)pos;
        if (cell->plan->waits && max > WEIR__PUSH_MAX)
                max = WEIR__PUSH_MAX;
        n = weir__stream_pull(cell, buf, max);
        if (cell->streams) {
                weir__push_keep(cell, buf, n);
                return MHD_CONTENT_READER_END_WITH_ERROR; /* to be continued: push.c */
        }
        if (n > 0) {
                cell->sent_bytes += (uint64_t)n;
                return n;
        }
        if (n == 0 && cell->answer.body.length == WEIR_UNKNOWN_LENGTH)
                return MHD_CONTENT_READER_END_OF_STREAM;
        cell->broken = true;
        shutdown(conn->fd, SHUT_RDWR); /* MHD may not come back to it without an event */
        return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* Before 1.0 MHD says a length, or sends the last chunk, unless the connection is closed. */
static struct MHD_Response *make_lengthless(struct weir__cell *cell)
{
        struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024,
                                                                          read_body, cell, NULL);

        if (response)
                MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
        return response;
}

static struct MHD_Response *make_response(struct weir__cell *cell)
{
        struct weir__body *body = &cell->answer.body;
        struct weir_str bytes = weir_answer_body(&cell->ctx);
        struct MHD_Response *response;

        switch (body->kind) {
        case WEIR__FD:
                response = MHD_create_response_from_fd_at_offset64(body->length, body->fd,
                                                                   body->offset);
                if (response)
                        body->fd = -1; /* MHD closes it with the response */
                return response;
        case WEIR__PULL:
                return MHD_create_response_from_callback(
                        body->length == WEIR_UNKNOWN_LENGTH ? MHD_SIZE_UNKNOWN : body->length,
                        16384, read_body, cell, NULL);
        case WEIR__EMPTY:
        case WEIR__BYTES:
        case WEIR__FIXED:
                break;
        }
        return MHD_create_response_from_buffer(bytes.len, (void *)(uintptr_t)bytes.ptr,
                                               MHD_RESPMEM_PERSISTENT);
}

/* "Name: value\r\n" as a field of its own, for an MHD whose responses do not change in place. */
static bool add_line(struct MHD_Response *response, struct weir__cell *cell,
                     const struct weir__field *field)
{
        struct weir__buf text = { 0 };
        enum MHD_Result added;

        if (!weir__buf_reserve(&cell->loop->pool, &text, field->len))
                return false;
        memcpy(text.ptr, field->line, field->len);
        text.ptr[field->name_len] = '\0';
        text.ptr[field->len - 2] = '\0';
        added = MHD_add_response_header(response, text.ptr, text.ptr + field->name_len + 2);
        weir__buf_release(&cell->loop->pool, &text);
        return added == MHD_YES;
}

static bool add_lines(struct MHD_Response *response, struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;
        struct weir__field type = { .name_len = 12 };
        struct weir__buf line = { 0 };
        bool added = true;

        if (answer->type.ptr) {
                if (!weir__buf_reserve(&cell->loop->pool, &line, answer->type.len + 16))
                        return false;
                memcpy(line.ptr, "Content-Type: ", 14);
                memcpy(line.ptr + 14, answer->type.ptr, answer->type.len);
                type.line = line.ptr;
                type.len = (uint32_t)answer->type.len + 16;
                added = add_line(response, cell, &type);
                weir__buf_release(&cell->loop->pool, &line);
        }
        if (!added)
                return false;
        for (uint16_t i = 0; i < answer->n_fields; i++) {
                if (!add_line(response, cell, &answer->field[i]))
                        return false;
        }
        return true;
}

/* Connection goes before Date: adding it makes MHD forget that there is a Date. */
static bool dress(struct weir__mhd *mhd, struct MHD_Response *response, struct weir__cell *cell)
{
        size_t size = weir__block_length(&cell->answer);
        char *block;

        if (cell->answer.close &&
            MHD_add_response_header(response, "Connection", "close") != MHD_YES)
                return false;
        if (!mhd->responses.reuse)
                return add_lines(response, cell);
        block = weir__block_add(response, size);
        if (block)
                weir__block_fill(block, size, weir__block_date(mhd, cell), &cell->answer);
        return block;
}

static int send_from_heap(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        bool lengthless = mhd->exact && is_lengthless(cell);
        struct MHD_Response *response = lengthless ? make_lengthless(cell) : make_response(cell);
        enum MHD_Result queued = MHD_NO;

        WEIR__COUNT(mhd->loop, answers_heap);
        if (response && dress(mhd, response, cell))
                queued = MHD_queue_response(conn->mhd, cell->ctx.status, response);
        else
                WEIR__COUNT(mhd->loop, out_of_memory);
        if (response)
                MHD_destroy_response(response);
        return (int)queued;
}

/* ---- All together. ---- */

static WEIR__INLINE int queue(const struct weir__conn *conn, const struct weir__cell *cell,
                              struct MHD_Response *response)
{
        return (int)MHD_queue_response(conn->mhd, cell->ctx.status, response);
}

static WEIR__APART int send_any(struct weir__mhd *mhd, struct weir__conn *conn,
                                struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;
        struct MHD_Response *response = NULL;
        struct weir_str body;
        size_t block;

        cell->sent_bytes = 0;
        if (answer->body.kind == WEIR__FD || answer->body.kind == WEIR__PULL ||
            (mhd->exact && weir__is_bare_304(cell))) {
                if (answer->body.kind == WEIR__FD && sends_body(cell))
                        cell->sent_bytes = answer->body.length;
                if (weir__stream_closes(cell))
                        cell->answer.close = true;
                return send_from_heap(mhd, conn, cell);
        }
        body = weir_answer_body(&cell->ctx);
        if (sends_body(cell))
                cell->sent_bytes = body.len;
        if (is_prebuilt(mhd, cell)) {
                set_date(mhd, cell);
                return queue(conn, cell, prebuilt_of(mhd, cell)->response);
        }
        block = weir__block_length(answer);
        if (mhd->responses.reuse && body.len <= SLOT_BODY_MAX && block <= BLOCK_MAX)
                response = weir__slot_take(mhd, cell, body, block);
        if (!response)
                return send_from_heap(mhd, conn, cell);
        return queue(conn, cell, response);
}

int weir__mhd_send(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        if (!is_prebuilt(mhd, cell) || !has_date(mhd, cell))
                return send_any(mhd, conn, cell);
        cell->sent_bytes = sends_body(cell) ? cell->answer.body.fixed->body.len : 0;
        return queue(conn, cell, prebuilt_of(mhd, cell)->response);
}

bool weir__responses_init(struct weir__mhd *mhd)
{
        struct weir__responses *all = &mhd->responses;

        all->reuse = weir__mhd_probe();
        if (!all->reuse)
                weir_log(&mhd->loop->app->root, WEIR_LOG_WARNING,
                         "libmicrohttpd %s does not send "
                         "responses that change in place: each answer takes memory from the heap",
                         MHD_get_version());
        return weir__slots_init(all) && (!all->reuse || make_all_fixed(mhd));
}

void weir__responses_finish(struct weir__mhd *mhd)
{
        struct weir__responses *all = &mhd->responses;

        weir__slots_finish(all);
        for (uint32_t i = 0; all->fixed && i < all->n_fixed; i++) {
                if (all->fixed[i].response)
                        MHD_destroy_response(all->fixed[i].response);
        }
        free(all->fixed);
}
