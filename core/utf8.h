/* utf8.h - is it UTF-8 (RFC 3629)? */
#ifndef WEIR_CORE_UTF8_H
#define WEIR_CORE_UTF8_H

#include <weir/str.h>

/* How many bytes the character at `text` has, 1 to 4; 0 when it is none. `len` > 0 are there. */
size_t weir__utf8_len(const char *text, size_t len);

#endif
