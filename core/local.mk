# core/local.mk - the library. One convenience archive holds all objects; libweir.so is made from it.
noinst_LTLIBRARIES += libweircore.la
libweircore_la_LIBADD = $(MHD_LIBS) $(JANSSON_LIBS)
libweircore_la_SOURCES = \
  core/version.c

pkginclude_HEADERS += \
  core/weir/answer.h \
  core/weir/app.h \
  core/weir/ctx.h \
  core/weir/json.h \
  core/weir/str.h \
  core/weir/test.h \
  core/weir/weir.h

lib_LTLIBRARIES += libweir.la
libweir_la_SOURCES =
libweir_la_LIBADD = libweircore.la
libweir_la_LDFLAGS = $(HARD_LDFLAGS) -no-undefined -version-info 0:0:0 \
  -Wl,--version-script=$(srcdir)/core/weir.sym
libweir_la_DEPENDENCIES = libweircore.la core/weir.sym

EXTRA_DIST += core/weir.sym
