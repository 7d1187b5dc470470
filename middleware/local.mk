# middleware/local.mk - the built-in middleware: one .c and one public header each, part of the library.
libweircore_la_SOURCES +=

pkginclude_HEADERS +=
