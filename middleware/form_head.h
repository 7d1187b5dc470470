/* form_head.h - what the head of a part says (RFC 7578 4), and the boundary of a form. */
#ifndef WEIR_MIDDLEWARE_FORM_HEAD_H
#define WEIR_MIDDLEWARE_FORM_HEAD_H

#include <stdbool.h>
#include <weir/str.h>

struct weir__form_head {
        struct weir_str name;
        struct weir_str filename; /* absent: none was given; without folders */
        struct weir_str type;     /* absent: not said                        */
};

/*
 * Reads `len` bytes of field lines, in place: the views are of `text`, which changes. NULL, or what
 * is wrong with it.
 */
const char *weir__form_head(struct weir__form_head *head, char *text, size_t len);

/*
 * The boundary in a Content-Type of multipart/form-data: at most WEIR__BOUNDARY_MAX bytes, a view.
 * Absent when there is none, or one that breaks RFC 2046 5.1.1.
 */
struct weir_str weir__form_boundary(struct weir_str type);

#endif
