/* cookie.h - Cookie fields as they come, Set-Cookie fields as they go. */
#ifndef WEIR_CORE_COOKIE_H
#define WEIR_CORE_COOKIE_H

#include <weir/answer.h>

/*
 * The first cookie `name` in one Cookie field; false when it is not there. Reads what clients send
 * (RFC 6265 5.4), and more: blanks around names and values do not count, nor quotes around values.
 */
bool weir__cookie_find(struct weir_str field, const char *name, struct weir_str *value);

/* A Set-Cookie value for `cookie` into out[size]; its length, or -1: not valid or too long. */
ptrdiff_t weir__cookie_format(char *out, size_t size, const struct weir_cookie *cookie);

#endif
