# bench/local.mk - benchmark programs: built by "make bench" only, run by ./dev bench.
benches = \
  bench/async \
  bench/crowd \
  bench/json \
  bench/load \
  bench/mallocs \
  bench/restart \
  bench/router \
  bench/serve_raw_mhd \
  bench/serve_weir \
  bench/slow \
  bench/streams

bench_async_SOURCES = bench/async.c bench/median.h
bench_async_LDADD = libweir.la
bench_async_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_json_LDADD = $(LDADD) -lm
bench_router_SOURCES = bench/router.c bench/router_sets.c bench/router_sets.h

# Programs over the public interface alone use the library as an installed program would: libweir.so.
bench_mallocs_SOURCES = bench/mallocs.c bench/subject.c bench/subject.h bench/peers.h
bench_mallocs_LDADD = libweir.la
bench_mallocs_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_restart_LDADD = libweir.la
bench_restart_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_serve_weir_SOURCES = bench/serve_weir.c bench/subject.c bench/subject.h bench/peers.h
bench_serve_weir_LDADD = libweir.la
bench_serve_weir_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_slow_SOURCES = bench/slow.c bench/median.h
bench_slow_LDADD = libweir.la $(MHD_LIBS)
bench_slow_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_streams_SOURCES = bench/streams.c bench/peers.h
bench_streams_LDADD = libweir.la
bench_streams_LDFLAGS = $(AM_LDFLAGS) -no-install

# The peers.
bench_crowd_SOURCES = bench/crowd.c bench/median.h
bench_crowd_LDADD =
bench_load_LDADD =
bench_serve_raw_mhd_LDADD = $(MHD_LIBS)
bench_serve_ulfius_LDADD = -lulfius $(JANSSON_LIBS) $(MHD_LIBS)

EXTRA_PROGRAMS += $(benches) bench/serve_ulfius
EXTRA_DIST     += bench/chain bench/http bench/idle bench/kit bench/run bench/serve_nginx bench/sse bench/storm

# After "all", which a second make would build at the same time. Ulfius is there where benchmarks run (./dev bench
# installs it), and not needed to build the rest.
.PHONY: bench
bench: all
	@$(MAKE) $(benches)
	@if $(PKG_CONFIG) --exists libulfius; then $(MAKE) bench/serve_ulfius; else echo "without Ulfius"; fi
