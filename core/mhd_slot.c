/*
 * mhd_slot.c - responses that are used again, for dynamic answers.
 *
 * A slot is kept by exact length of the body and size of the header block, since these are what MHD
 * fixes when a response is made; body and block are changed in place. MHD reads them until the last
 * byte is with the kernel, then calls on_completed(), on this thread: a slot is idle again there.
 */
#include <microhttpd.h>

#include "mhd_private.h"

#include <stdlib.h>

#define SLOT_MAX  1024 /* slots of a loop: then the one that was used longest ago goes */
#define SLOT_HASH 2048
#define BLOCK_MIN 64
#define HEAD_ONLY (1 << 4) /* MHD_RF_HEAD_ONLY_RESPONSE of 1.0: no Content-Length */

struct weir__slot {
        struct weir__slot  *next;            /* of its hash bucket, while idle  */
        struct weir__slot  *older, *newer;   /* by last use, while idle         */
        struct MHD_Response *response;
        char               *block;           /* of the Date field               */
        char               *body;            /* behind this struct              */
        uint32_t            len, block_size;
        int                 flags;           /* of MHD, while it is busy        */
};

static struct weir__slot **bucket_of(struct weir__responses *all, uint32_t len, uint32_t block_size)
{
        uint32_t class = (uint32_t)__builtin_ctz(block_size);

        return &all->slots[(len * 7 + class) & (SLOT_HASH - 1)];
}

/* Takes an idle slot, which `at` points to, out of its bucket and out of the order of use. */
static struct weir__slot *take_out(struct weir__responses *all, struct weir__slot **at)
{
        struct weir__slot *slot = *at;

        *at = slot->next;
        *(slot->older ? &slot->older->newer : &all->oldest) = slot->newer;
        *(slot->newer ? &slot->newer->older : &all->newest) = slot->older;
        return slot;
}

static void put_in(struct weir__responses *all, struct weir__slot *slot)
{
        struct weir__slot **bucket = bucket_of(all, slot->len, slot->block_size);

        slot->next = *bucket;
        *bucket = slot;
        slot->older = all->newest;
        slot->newer = NULL;
        *(all->newest ? &all->newest->newer : &all->oldest) = slot;
        all->newest = slot;
}

/* Frees the slot that has been idle for longest; false when all are busy. */
static bool free_oldest(struct weir__responses *all)
{
        struct weir__slot *slot = all->oldest, **at;

        if (!slot)
                return false;
        at = bucket_of(all, slot->len, slot->block_size);
        while (*at != slot)
                at = &(*at)->next;
        take_out(all, at);
        all->n_slots--;
        MHD_destroy_response(slot->response);
        free(slot);
        return true;
}

static struct weir__slot *make_slot(struct weir__responses *all, uint32_t len, uint32_t block_size)
{
        struct weir__slot *slot;

        if (all->n_slots == SLOT_MAX && !free_oldest(all))
                return NULL;
        slot = calloc(1, sizeof(*slot) + len);
        if (!slot)
                return NULL;
        slot->body = (char *)(slot + 1);
        slot->len = len;
        slot->block_size = block_size;
        slot->response = MHD_create_response_from_buffer(len, slot->body, MHD_RESPMEM_PERSISTENT);
        slot->block = slot->response ? weir__block_add(slot->response, block_size) : NULL;
        if (!slot->block) {
                if (slot->response)
                        MHD_destroy_response(slot->response);
                free(slot);
                return NULL;
        }
        all->n_slots++;
        return slot;
}

/* A slot that nobody else has until weir__mhd_sent(). */
static struct weir__slot *find_slot(struct weir__mhd *mhd, uint32_t len, uint32_t block_size)
{
        struct weir__responses *all = &mhd->responses;
        struct weir__slot **at = bucket_of(all, len, block_size);
        struct weir__slot *slot;

        while (*at && ((*at)->len != len || (*at)->block_size != block_size))
                at = &(*at)->next;
        if (*at) {
                WEIR__COUNT(mhd->loop, answers_reused);
                return take_out(all, at);
        }
        slot = make_slot(all, len, block_size);
        if (slot)
                WEIR__COUNT(mhd->loop, answers_heap);
        return slot;
}

struct MHD_Response *weir__slot_take(struct weir__mhd *mhd, struct weir__cell *cell,
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
        weir__block_fill(slot->block, size, weir__block_date(mhd, cell), answer);
        if (body.len)
                memcpy(slot->body, body.ptr, body.len);
        cell->sent = slot;
        slot->flags = (answer->close ? MHD_RF_HTTP_1_0_COMPATIBLE_STRICT : 0) |
                      (weir__is_bare_304(cell) ? HEAD_ONLY : 0);
        if (slot->flags)
                MHD_set_response_options(slot->response, (enum MHD_ResponseFlags)slot->flags,
                                         MHD_RO_END);
        return slot->response;
}

void weir__mhd_sent(struct weir__mhd *mhd, struct weir__cell *cell)
{
        struct weir__slot *slot = cell->sent;

        if (slot->flags)
                MHD_set_response_options(slot->response, MHD_RF_NONE, MHD_RO_END);
        put_in(&mhd->responses, slot);
        cell->sent = NULL;
}

bool weir__slots_init(struct weir__responses *all)
{
        all->slots = calloc(SLOT_HASH, sizeof(struct weir__slot *));
        return all->slots;
}

void weir__slots_finish(struct weir__responses *all)
{
        for (struct weir__slot *slot = all->oldest, *newer; slot; slot = newer) {
                newer = slot->newer;
                MHD_destroy_response(slot->response);
                free(slot);
        }
        free(all->slots);
}
