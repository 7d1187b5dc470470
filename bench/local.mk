# bench/local.mk - benchmark programs: built by "make bench" only, run by ./dev bench.
benches = \
  bench/json

bench_json_LDADD = $(LDADD) -lm

EXTRA_PROGRAMS += $(benches)
EXTRA_DIST     +=

.PHONY: bench
bench: $(benches)
