# middleware/local.mk - the built-in middleware: one public header each, its sources and those that they share; part of
# the library.
libweircore_la_SOURCES += \
  middleware/below.c \
  middleware/below.h \
  middleware/check.c \
  middleware/check.h \
  middleware/coding.c \
  middleware/coding.h \
  middleware/condition.c \
  middleware/condition.h \
  middleware/files.c \
  middleware/files_find.c \
  middleware/files_find.h \
  middleware/form_head.c \
  middleware/form_head.h \
  middleware/form_scan.c \
  middleware/form_scan.h \
  middleware/health.c \
  middleware/http_date.c \
  middleware/http_date.h \
  middleware/media_type.c \
  middleware/media_type.h \
  middleware/multipart.c \
  middleware/parts.c \
  middleware/parts.h \
  middleware/range.c \
  middleware/range.h \
  middleware/sse.c \
  middleware/timeout.c \
  middleware/timeout_header.c \
  middleware/timeout_header.h

pkginclude_HEADERS += \
  middleware/weir/files.h \
  middleware/weir/health.h \
  middleware/weir/multipart.h \
  middleware/weir/sse.h \
  middleware/weir/timeout.h
