# bench/local.mk - benchmark programs: built by "make bench" only, run by ./dev bench.
benches =

EXTRA_PROGRAMS += $(benches)
EXTRA_DIST     +=

.PHONY: bench
bench: $(benches)
