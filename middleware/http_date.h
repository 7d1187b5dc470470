/* http_date.h - dates of header fields (RFC 9110 5.6.7). */
#ifndef WEIR_MIDDLEWARE_HTTP_DATE_H
#define WEIR_MIDDLEWARE_HTTP_DATE_H

#include <weir/str.h>

#define WEIR__HTTP_DATE 30 /* "Sun, 06 Nov 1994 08:49:37 GMT" with its NUL */

/* Seconds since the epoch as an IMF-fixdate; what is outside the years 1 to 9999 as the nearest. */
void weir__http_date(char out[WEIR__HTTP_DATE], int64_t s);

/* Reads any of the three forms. `now_s` settles the century of a year of two digits. */
bool weir__http_date_read(struct weir_str text, int64_t now_s, int64_t *s);

#endif
