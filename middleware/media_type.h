/* media_type.h - the media type of a file, by its name. */
#ifndef WEIR_MIDDLEWARE_MEDIA_TYPE_H
#define WEIR_MIDDLEWARE_MEDIA_TYPE_H

#include <weir/files.h>

/* By what `name` ends in, in any case: first of `own`, which may be NULL, then of weir's table. */
const char *weir__media_type(const char *name, const struct weir_files_type *own);

#endif
