/*
 * form_scan.h - cutting multipart/form-data into parts as it comes in (RFC 2046 5.1.1).
 *
 *      preamble CRLF --b CRLF head CRLF CRLF data CRLF --b CRLF ... CRLF --b-- epilogue
 *               `- delimiter -'                   `- delimiter -'
 *
 * CR stands only at the start of a delimiter. So a match that fails never has to look back: what
 * it held were data, and the byte that failed is looked at once more. Cost: one look at each byte.
 */
#ifndef WEIR_MIDDLEWARE_FORM_SCAN_H
#define WEIR_MIDDLEWARE_FORM_SCAN_H

#include <stdbool.h>
#include <weir/str.h>

#define WEIR__BOUNDARY_MAX 70 /* RFC 2046 5.1.1 */

enum weir__form_event {
        WEIR__FORM_MORE, /* the input is used up                       */
        WEIR__FORM_HEAD, /* a part begins: its head is scan->head      */
        WEIR__FORM_DATA, /* of the part                                */
        WEIR__FORM_END,  /* the part ends                              */
        WEIR__FORM_BAD,  /* this is no form                            */
        WEIR__FORM_LONG, /* the head does not fit                      */
};

struct weir__form_scan {
        char   delimiter[4 + WEIR__BOUNDARY_MAX];
        size_t delimiter_len;
        size_t matched;   /* bytes of it at hand                                   */
        size_t lent;      /* those of them that are not content: a line end before */
        int    state;
        char  *head;      /* field lines, each with its CRLF                       */
        size_t head_len, head_size;
        size_t line;      /* where in it the line at hand begins                   */
};

/* `boundary` has 1 to WEIR__BOUNDARY_MAX bytes, none of them CR; `head` has room for head_size. */
void weir__form_scan_init(struct weir__form_scan *scan, struct weir_str boundary, char *head,
                          size_t head_size);

/* What is next in `input`, cut off its front. DATA is a view of the input or of the scan. */
enum weir__form_event weir__form_scan(struct weir__form_scan *scan, struct weir_str *input,
                                      struct weir_str *data);

/* Has the last boundary come? */
bool weir__form_scan_is_over(const struct weir__form_scan *scan);

#endif
