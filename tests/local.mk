# tests/local.mk - everything "make check" runs. To add a test file, a race or a fuzz target: one line below.

# ---- Claims: one Criterion program made of all tests/test_*.c. ----

unit_sources = \
  tests/files_kit.h \
  tests/kit.h \
  tests/router_kit.c \
  tests/router_kit.h \
  tests/router_model.c \
  tests/router_model.h \
  tests/sse_ask.h \
  tests/sse_kit.h \
  tests/stream_kit.h \
  tests/net.h \
  tests/test_abi.c \
  tests/test_answer.c \
  tests/test_answer_header.c \
  tests/test_chain.c \
  tests/test_clients.c \
  tests/test_cookie.c \
  tests/test_due.c \
  tests/test_fields.c \
  tests/test_files.c \
  tests/test_files_ask.c \
  tests/test_files_content.c \
  tests/test_files_out.c \
  tests/test_forwarded.c \
  tests/test_guard.c \
  tests/test_health.c \
  tests/test_http_date.c \
  tests/test_json_bind.c \
  tests/test_json_dump.c \
  tests/test_json_fault.c \
  tests/test_json_lines.c \
  tests/test_json_read.c \
  tests/test_json_write.c \
  tests/test_multipart.c \
  tests/test_machine.c \
  tests/test_network.c \
  tests/test_number.c \
  tests/test_path.c \
  tests/test_proxy.c \
  tests/test_request.c \
  tests/test_run.c \
  tests/test_router.c \
  tests/test_router_build.c \
  tests/test_router_method.c \
  tests/test_router_model.c \
  tests/test_server.c \
  tests/test_setup.c \
  tests/test_sse.c \
  tests/test_sse_end.c \
  tests/test_stream.c \
  tests/test_stream_late.c \
  tests/test_stream_misuse.c \
  tests/test_timeout.c \
  tests/test_timeout_header.c \
  tests/test_upload.c \
  tests/test_upload_wait.c \
  tests/test_version.c \
  tests/test_wait.c \
  tests/test_wait_answer.c \
  tests/test_wait_hooks.c \
  tests/upload_kit.h \
  tests/wait_kit.h

# ---- Sockets: one Criterion program, tests/http, made of all tests/http_*.c. ----

http_sources = \
  tests/files_kit.h \
  tests/http.h \
  tests/http_answer.c \
  tests/http_attacks.h \
  tests/http_bodiless.c \
  tests/http_body.c \
  tests/http_door.c \
  tests/http_drain.c \
  tests/http_files.c \
  tests/http_guard.c \
  tests/http_half_close.c \
  tests/http_health.c \
  tests/http_hooks.c \
  tests/http_inherit.c \
  tests/http_keepalive.c \
  tests/http_limits.c \
  tests/http_job.c \
  tests/http_large.c \
  tests/http_leave.c \
  tests/http_load.c \
  tests/http_malformed.c \
  tests/http_proxy.c \
  tests/http_split.c \
  tests/http_sse.c \
  tests/http_stream.c \
  tests/http_stream.h \
  tests/http_stream_end.c \
  tests/http_upload.c \
  tests/http_upload.h \
  tests/http_upload_end.c \
  tests/http_wait.c \
  tests/http_wait.h \
  tests/http_wait_end.c \
  tests/http_watch.c \
  tests/kit.h \
  tests/net.h \
  tests/sse_kit.h

# Where HAProxy and nginx are there.
if PROXIES
http_sources += tests/http_behind.c
endif

# ---- Programs of their own, each in need of a whole process. ----

programs = \
  tests/heap \
  tests/heap_health \
  tests/heap_upload \
  tests/heap_wait

# ---- Races: plain programs with their own main (Criterion does not start under ThreadSanitizer). ----

races = \
  tests/race_health \
  tests/race_server \
  tests/race_sse \
  tests/race_stream \
  tests/race_wait

# ---- Fuzz targets: tests/fuzz_NAME.c with its kept corpus tests/corpus/NAME/. ----

fuzzers = \
  tests/fuzz_cookie \
  tests/fuzz_files \
  tests/fuzz_form \
  tests/fuzz_forwarded \
  tests/fuzz_guard \
  tests/fuzz_json_bind \
  tests/fuzz_json_dump \
  tests/fuzz_multipart \
  tests/fuzz_path \
  tests/fuzz_proxy \
  tests/fuzz_query \
  tests/fuzz_router

# ---- Scripts that look at what was built. ----

scripts = \
  tests/check_corpora \
  tests/check_docs \
  tests/check_examples \
  tests/check_exports \
  tests/check_selves \
  tests/check_style

# What depends on the files that an archive has: "make distcheck TESTS='$(tree_tests)'".
tree_tests = tests/unit $(scripts)

# ---- What is built from these lists. The longest come first, for make -j. ----

if UNIT
check_PROGRAMS += tests/http tests/unit
TESTS += tests/http tests/unit
endif
tests_http_SOURCES = $(http_sources)
tests_http_CFLAGS = $(AM_CFLAGS) -Wno-write-strings $(CRITERION_CFLAGS)
tests_http_LDADD = libweircore.la $(CRITERION_LIBS)
tests_unit_SOURCES = $(unit_sources)
tests_unit_CFLAGS = $(AM_CFLAGS) -Wno-write-strings $(CRITERION_CFLAGS)
tests_unit_LDADD = libweircore.la $(CRITERION_LIBS) -lm

tests_heap_SOURCES = tests/heap.c tests/heap.h
tests_heap_health_SOURCES = tests/heap_health.c tests/heap.h
tests_heap_upload_SOURCES = tests/heap_upload.c tests/heap.h tests/heap_net.h
tests_heap_wait_SOURCES = tests/heap_wait.c tests/heap.h tests/heap_net.h

tests_race_health_SOURCES = tests/race_health.c tests/race_kit.h
tests_race_sse_SOURCES = tests/race_sse.c tests/race_kit.h
tests_race_stream_SOURCES = tests/race_stream.c tests/race_kit.h
tests_race_wait_SOURCES = tests/race_wait.c tests/race_kit.h

# A fuzz target has no main of its own: libFuzzer brings one, else this archive does, for replaying.
check_LTLIBRARIES += tests/libreplay.la
tests_libreplay_la_SOURCES = tests/fuzz_kit.h tests/fuzz_main.c

if FUZZ
AM_LDFLAGS += -fsanitize=fuzzer
check_PROGRAMS += $(fuzzers)
else
LDADD += tests/libreplay.la
check_PROGRAMS += $(races)
TESTS += $(races)
if !TSAN
check_PROGRAMS += $(fuzzers) $(programs) tests/mhd_version
TESTS += $(programs) tests/mhd_version $(scripts)
endif
endif

dist_check_SCRIPTS += $(scripts) tests/check_clients tests/check_format tests/check_install tests/run_test
EXTRA_DIST += tests/clients tests/corpus tests/install

LOG_COMPILER = $(srcdir)/tests/run_test
AM_TESTS_ENVIRONMENT = \
  SRCDIR='$(abs_srcdir)'; export SRCDIR; \
  FUZZERS='$(fuzzers)'; export FUZZERS; \
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:print_legend=0; export ASAN_OPTIONS; \
  UBSAN_OPTIONS=print_stacktrace=1; export UBSAN_OPTIONS;

# ---- After "make install": programs outside the tree that build through pkg-config. ----

installcheck-local:
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)'"$${PKG_CONFIG_PATH:+:$$PKG_CONFIG_PATH}" \
	CC='$(CC) $(SAN_CFLAGS)' CXX='$(CXX) $(SAN_CFLAGS)' $(srcdir)/tests/check_install
