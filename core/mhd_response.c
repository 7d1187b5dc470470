/*
 * mhd_response.c - from an answer to what MHD sends.
 *
 * MHD allocates for every response and every header field of it. So weir keeps responses and
 * changes what is in them: all header fields of an answer are the value of one field, Date:
 *
 *      Date: Mon, 30 Nov 2026 12:00:00 GMT \r\n Content-Type: text/plain \r\n X-Id: 7 <blanks>
 *
 * The value has a fixed size, filled up with blanks at the end, which a client drops (RFC 9110
 * 5.5). With its own Date MHD asks no clock. A fixed answer has one response per loop and
 * connection header; a dynamic one takes a slot, kept by exact length of the body and size of the
 * block, since these are what MHD fixes at creation; other answers take a response of their own
 * from the heap. A start-up probe (mhd_probe.c) proves that this MHD sends what was changed; else
 * every answer comes from the heap, field by field.
 *
 * MHD reads a response until the last byte is with the kernel, then calls on_completed(), on this
 * thread: a slot is free again there.
 */
#include <microhttpd.h>

#include "mhd_private.h"

#include <stdlib.h>

#define SLOT_BODY_MAX 4096
#define SLOT_MAX      1024 /* slots of a loop: then the one that was used longest ago goes */
#define SLOT_HASH     2048
#define BLOCK_MIN     64
#define BLOCK_MAX     4096
#define HEAD_ONLY     (1 << 4) /* MHD_RF_HEAD_ONLY_RESPONSE of 1.0: no Content-Length */

struct weir__slot {
        struct weir__slot  *next;            /* of its hash bucket              */
        struct weir__slot  *older, *newer;   /* by last use                     */
        struct MHD_Response *response;
        char               *block;           /* of the Date field               */
        char               *body;            /* behind this struct              */
        uint32_t            len, block_size;
        bool                busy;
        int                 flags;           /* of MHD, while it is busy        */
};

/* ---- Header blocks. ---- */

static size_t block_length(const struct weir__answer *answer)
{
        size_t len = WEIR__DATE_LEN;

        if (answer->type.ptr)
                len += 16 + answer->type.len;
        for (uint16_t i = 0; i < answer->n_fields; i++)
                len += answer->field[i].len;
        return len;
}

static char *put(char *at, const char *text, size_t len)
{
        memcpy(at, text, len);
        return at + len;
}

/* Date, Content-Type and the fields, each but the first behind a line end; blanks to the end. */
static void fill_block(char *block, size_t size, const char *date,
                       const struct weir__answer *answer)
{
        char *at = put(block, date, WEIR__DATE_LEN);

        if (answer->type.ptr) {
                at = put(at, "\r\nContent-Type: ", 16);
                at = put(at, answer->type.ptr, answer->type.len);
        }
        for (uint16_t i = 0; i < answer->n_fields; i++) {
                at = put(at, "\r\n", 2);
                at = put(at, answer->field[i].line, answer->field[i].len - 2);
        }
        memset(at, ' ', size - (size_t)(at - block));
}

/* Adds a Date field of `size` bytes to change later, and gives its place; NULL without memory. */
static char *add_block(struct MHD_Response *response, size_t size)
{
        char *filler = malloc(size + 1);
        enum MHD_Result added = MHD_NO;

        if (filler) {
                memset(filler, '.', size);
                filler[size] = '\0';
                added = MHD_add_response_header(response, "Date", filler);
                free(filler);
        }
        if (added != MHD_YES)
                return NULL;
        return (char *)(uintptr_t)MHD_get_response_header(response, "Date");
}

/*
 * The date of this second. When the verdict came before the second was over, which the monotonic
 * clock tells, no clock is read.
 */
static const char *date_of(struct weir__mhd *mhd, const struct weir__cell *cell)
{
        struct weir__responses *all = &mhd->responses;
        uint64_t wall_ns;

        if (cell->ctx.verdict_ns < all->until_ns)
                return all->date;
        wall_ns = mhd->loop->clock.wall_ns(mhd->loop->clock.arg);
        all->second = wall_ns / 1000000000;
        all->until_ns = cell->ctx.verdict_ns + 1000000000 - wall_ns % 1000000000;
        weir__date_format(all->date, all->second);
        return all->date;
}

/* ---- Bodies that are not sent. ---- */

/* HEAD and 304 tell of a body that is not sent. */
static bool sends_body(const struct weir__cell *cell)
{
        return cell->ctx.method != WEIR_HEAD && cell->ctx.status != 304;
}

/* Nothing is known of the body that is as the client has it: no length, not even 0. */
static bool is_bare_304(const struct weir__cell *cell)
{
        return cell->ctx.status == 304 && weir__body_length(&cell->answer.body) == 0;
}

/* Sends no body, and nobody knows its length (RFC 9110 8.6). */
static bool is_lengthless(const struct weir__cell *cell)
{
        return is_bare_304(cell) || (!sends_body(cell) && cell->answer.body.kind == WEIR__PULL &&
                                     cell->answer.body.length == WEIR_UNKNOWN_LENGTH);
}

/* ---- Fixed answers. ---- */

static bool make_fixed(struct weir__prebuilt *prebuilt, const struct weir_static *fixed, bool close)
{
        struct weir__answer answer = { .type = fixed->type };
        size_t size = block_length(&answer);

        prebuilt->response = MHD_create_response_from_buffer(
                fixed->body.len, (void *)(uintptr_t)fixed->body.ptr, MHD_RESPMEM_PERSISTENT);
        if (!prebuilt->response)
                return false;
        if (close)
                MHD_set_response_options(prebuilt->response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                         MHD_RO_END);
        prebuilt->date = add_block(prebuilt->response, size);
        if (!prebuilt->date)
                return false;
        fill_block(prebuilt->date, size, "Thu, 01 Jan 1970 00:00:00 GMT", &answer);
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

static struct MHD_Response *take_fixed(struct weir__mhd *mhd, const struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;
        const struct weir_static *fixed = answer->body.fixed;
        struct weir__prebuilt *prebuilt = &mhd->responses.fixed[2 * fixed->number + answer->close];
        const char *date = date_of(mhd, cell);

        if (prebuilt->stamp != mhd->responses.second) {
                prebuilt->stamp = mhd->responses.second;
                memcpy(prebuilt->date, date, WEIR__DATE_LEN);
        }
        return prebuilt->response;
}

/* ---- Slots. ---- */

static struct weir__slot **bucket_of(struct weir__responses *all, uint32_t len, uint32_t block_size)
{
        uint32_t class = (uint32_t)__builtin_ctz(block_size);

        return &all->slots[(len * 7 + class) & (SLOT_HASH - 1)];
}

static void unlink_by_use(struct weir__responses *all, struct weir__slot *slot)
{
        *(slot->older ? &slot->older->newer : &all->oldest) = slot->newer;
        *(slot->newer ? &slot->newer->older : &all->newest) = slot->older;
}

static void link_newest(struct weir__responses *all, struct weir__slot *slot)
{
        slot->older = all->newest;
        slot->newer = NULL;
        *(all->newest ? &all->newest->newer : &all->oldest) = slot;
        all->newest = slot;
}

static void free_slot(struct weir__responses *all, struct weir__slot *slot)
{
        struct weir__slot **at = bucket_of(all, slot->len, slot->block_size);

        while (*at != slot)
                at = &(*at)->next;
        *at = slot->next;
        unlink_by_use(all, slot);
        all->n_slots--;
        MHD_destroy_response(slot->response);
        free(slot);
}

static struct weir__slot *make_slot(struct weir__responses *all, uint32_t len, uint32_t block_size)
{
        struct weir__slot **bucket = bucket_of(all, len, block_size);
        struct weir__slot *slot;

        if (all->n_slots == SLOT_MAX) {
                slot = all->oldest;
                while (slot && slot->busy)
                        slot = slot->newer;
                if (!slot)
                        return NULL;
                free_slot(all, slot);
        }
        slot = calloc(1, sizeof(*slot) + len);
        if (!slot)
                return NULL;
        slot->body = (char *)(slot + 1);
        slot->len = len;
        slot->block_size = block_size;
        slot->response = MHD_create_response_from_buffer(len, slot->body, MHD_RESPMEM_PERSISTENT);
        slot->block = slot->response ? add_block(slot->response, block_size) : NULL;
        if (!slot->block) {
                if (slot->response)
                        MHD_destroy_response(slot->response);
                free(slot);
                return NULL;
        }
        slot->next = *bucket;
        *bucket = slot;
        link_newest(all, slot);
        all->n_slots++;
        return slot;
}

static struct weir__slot *find_slot(struct weir__mhd *mhd, uint32_t len, uint32_t block_size)
{
        struct weir__responses *all = &mhd->responses;
        struct weir__slot *slot = *bucket_of(all, len, block_size);

        while (slot && (slot->busy || slot->len != len || slot->block_size != block_size))
                slot = slot->next;
        if (!slot) {
                WEIR__COUNT(mhd->loop, answers_heap);
                return make_slot(all, len, block_size);
        }
        WEIR__COUNT(mhd->loop, answers_reused);
        if (slot != all->newest) {
                unlink_by_use(all, slot);
                link_newest(all, slot);
        }
        return slot;
}

static struct MHD_Response *take_slot(struct weir__mhd *mhd, struct weir__cell *cell,
                                      struct weir_str body, size_t block)
{
        struct weir__answer *answer = &cell->answer;
        uint32_t size = BLOCK_MIN;
        struct weir__slot *slot;

        while (size < block)
                size *= 2;
        slot = find_slot(mhd, (uint32_t)body.len, size);
        if (!slot)
                return NULL;
        fill_block(slot->block, size, date_of(mhd, cell), answer);
        if (body.len)
                memcpy(slot->body, body.ptr, body.len);
        slot->busy = true;
        cell->sent = slot;
        slot->flags = (answer->close ? MHD_RF_HTTP_1_0_COMPATIBLE_STRICT : 0) |
                      (is_bare_304(cell) ? HEAD_ONLY : 0);
        if (slot->flags)
                MHD_set_response_options(slot->response, (enum MHD_ResponseFlags)slot->flags,
                                         MHD_RO_END);
        return slot->response;
}

void weir__mhd_sent(struct weir__cell *cell)
{
        struct weir__slot *slot = cell->sent;

        if (!slot)
                return;
        if (slot->flags)
                MHD_set_response_options(slot->response, MHD_RF_NONE, MHD_RO_END);
        slot->busy = false;
        cell->sent = NULL;
}

/* ---- Answers from the heap. ---- */

static ssize_t read_body(void *self, uint64_t pos, char *buf, size_t max)
{
        struct weir__cell *cell = self;
        ssize_t n = weir__body_pull(cell, &cell->answer.body, buf, max);

        (void)pos;
        if (n > 0)
                cell->sent_bytes += (uint64_t)n;
        return n > 0    ? n
               : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                                  : MHD_CONTENT_READER_END_WITH_ERROR;
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
        char *type = weir_cstr(&cell->ctx, answer->type);

        if (answer->type.ptr &&
            (!type || MHD_add_response_header(response, "Content-Type", type) != MHD_YES))
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
        size_t size = block_length(&cell->answer);
        char *block;

        if (cell->answer.close &&
            MHD_add_response_header(response, "Connection", "close") != MHD_YES)
                return false;
        if (!mhd->responses.reuse)
                return add_lines(response, cell);
        block = add_block(response, size);
        if (block)
                fill_block(block, size, date_of(mhd, cell), &cell->answer);
        return block;
}

static bool send_from_heap(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
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
        return queued == MHD_YES;
}

/* ---- All together. ---- */

static bool is_plain_fixed(const struct weir__answer *answer)
{
        return answer->body.kind == WEIR__FIXED && answer->n_fields == 0 &&
               answer->type.ptr == answer->body.fixed->type.ptr;
}

bool weir__mhd_send(struct weir__mhd *mhd, struct weir__conn *conn, struct weir__cell *cell)
{
        const struct weir__answer *answer = &cell->answer;
        struct MHD_Response *response = NULL;
        struct weir_str body;
        size_t block;

        cell->sent_bytes = 0;
        if (is_plain_fixed(answer) && mhd->responses.reuse && !is_bare_304(cell)) {
                cell->sent_bytes = sends_body(cell) ? answer->body.fixed->body.len : 0;
                return MHD_queue_response(conn->mhd, cell->ctx.status, take_fixed(mhd, cell)) ==
                       MHD_YES;
        }
        if (answer->body.kind == WEIR__FD || answer->body.kind == WEIR__PULL ||
            (mhd->exact && is_bare_304(cell))) {
                if (answer->body.kind == WEIR__FD && sends_body(cell))
                        cell->sent_bytes = answer->body.length;
                return send_from_heap(mhd, conn, cell);
        }
        body = weir_answer_body(&cell->ctx);
        block = block_length(answer);
        if (sends_body(cell))
                cell->sent_bytes = body.len;
        if (mhd->responses.reuse && body.len <= SLOT_BODY_MAX && block <= BLOCK_MAX)
                response = take_slot(mhd, cell, body, block);
        if (!response)
                return send_from_heap(mhd, conn, cell);
        return MHD_queue_response(conn->mhd, cell->ctx.status, response) == MHD_YES;
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
        all->slots = calloc(SLOT_HASH, sizeof(struct weir__slot *));
        return all->slots && (!all->reuse || make_all_fixed(mhd));
}

void weir__responses_finish(struct weir__mhd *mhd)
{
        struct weir__responses *all = &mhd->responses;

        for (struct weir__slot *slot = all->oldest, *newer; slot; slot = newer) {
                newer = slot->newer;
                MHD_destroy_response(slot->response);
                free(slot);
        }
        free(all->slots);
        for (uint32_t i = 0; all->fixed && i < all->n_fixed; i++) {
                if (all->fixed[i].response)
                        MHD_destroy_response(all->fixed[i].response);
        }
        free(all->fixed);
}
