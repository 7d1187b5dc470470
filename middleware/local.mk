# middleware/local.mk - the built-in middleware: one public header each, its sources and those that they share; part of
# the library.
libweircore_la_SOURCES += \
  middleware/coding.c \
  middleware/coding.h \
  middleware/condition.c \
  middleware/condition.h \
  middleware/http_date.c \
  middleware/http_date.h \
  middleware/range.c \
  middleware/range.h

pkginclude_HEADERS +=
