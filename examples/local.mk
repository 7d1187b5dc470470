# examples/local.mk - the example programs: built with the library, not installed. They use only what it exports.
if EXAMPLES
noinst_PROGRAMS += examples/api_key examples/events examples/files examples/hello examples/upload examples/waiting
endif
examples_api_key_LDADD = libweir.la
examples_events_LDADD = libweir.la
examples_files_LDADD = libweir.la
examples_hello_LDADD = libweir.la
examples_upload_LDADD = libweir.la $(JANSSON_LIBS)
examples_waiting_LDADD = libweir.la

if BOOKS
noinst_PROGRAMS += examples/books/books
endif
examples_books_books_SOURCES = \
  examples/books/books.c \
  examples/books/books.h \
  examples/books/main.c \
  examples/books/store.c \
  examples/books/store.h
examples_books_books_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
examples_books_books_LDADD = libweir.la $(JANSSON_LIBS) $(SQLITE_LIBS)
