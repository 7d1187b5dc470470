/*
 * mhd_block.c - all header fields of an answer as the value of one field, Date.
 *
 *      Date: Mon, 30 Nov 2026 12:00:00 GMT \r\n Content-Type: text/plain \r\n X-Id: 7 <blanks>
 *
 * The value has a fixed size, filled up with blanks at the end, which a client drops (RFC 9110
 * 5.5), so it can be changed in place. With its own Date MHD asks no clock.
 */
#include <microhttpd.h>

#include "mhd_private.h"

#include <stdlib.h>

size_t weir__block_length(const struct weir__answer *answer)
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
void weir__block_fill(char *block, size_t size, const char *date, const struct weir__answer *answer)
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
char *weir__block_add(struct MHD_Response *response, size_t size)
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
const char *weir__block_date(struct weir__mhd *mhd, const struct weir__cell *cell)
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
