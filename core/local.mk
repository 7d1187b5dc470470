# core/local.mk - the library. One convenience archive holds all objects; libweir.so is made from it.
noinst_LTLIBRARIES += libweircore.la
libweircore_la_LIBADD = $(MHD_LIBS) $(JANSSON_LIBS)
libweircore_la_SOURCES = \
  core/answer.c \
  core/answer_header.c \
  core/app.c \
  core/app.h \
  core/arrival.h \
  core/ask.c \
  core/ask.h \
  core/ask_head.c \
  core/body.c \
  core/buffer.c \
  core/buffer.h \
  core/bytes.c \
  core/bytes.h \
  core/cell.h \
  core/cgroup.c \
  core/cgroup.h \
  core/chain.c \
  core/clients.c \
  core/clients.h \
  core/clock.c \
  core/clock.h \
  core/cookie.c \
  core/cookie.h \
  core/cpus.c \
  core/crew.c \
  core/crew.h \
  core/ctx.c \
  core/decimal.c \
  core/door.c \
  core/door.h \
  core/door_pause.c \
  core/door_proxy.c \
  core/door_refuse.c \
  core/due.c \
  core/due.h \
  core/drain.c \
  core/dump.c \
  core/exchange.c \
  core/exchange.h \
  core/fields.c \
  core/fields.h \
  core/forwarded.c \
  core/forwarded.h \
  core/freeze.c \
  core/guard.c \
  core/guard.h \
  core/hint.h \
  core/inherit.c \
  core/inherit.h \
  core/job.c \
  core/job.h \
  core/json_bind.c \
  core/json_dump.c \
  core/json_fault.c \
  core/json_fault.h \
  core/json_lines.c \
  core/json_read.c \
  core/json_scan.h \
  core/json_text.c \
  core/json_text.h \
  core/json_write.c \
  core/leave.c \
  core/linger.c \
  core/linger.h \
  core/listen.c \
  core/listen.h \
  core/local.c \
  core/local.h \
  core/log.c \
  core/log.h \
  core/loop.c \
  core/loop.h \
  core/machine.c \
  core/mhd.c \
  core/mhd.h \
  core/mhd_block.c \
  core/mhd_conn.c \
  core/mhd_private.h \
  core/mhd_probe.c \
  core/mhd_response.c \
  core/mhd_slot.c \
  core/mhd_turn.c \
  core/mhd_wait.c \
  core/network.c \
  core/network.h \
  core/notify.c \
  core/notify.h \
  core/number.c \
  core/number.h \
  core/path.c \
  core/path.h \
  core/path_cpu.h \
  core/path_scan.h \
  core/path_vbmi.c \
  core/peer.c \
  core/plan.h \
  core/problem.c \
  core/proxy.c \
  core/proxy.h \
  core/push.c \
  core/request.c \
  core/room.h \
  core/route.c \
  core/router.c \
  core/router.h \
  core/router_compile.c \
  core/router_compile.h \
  core/router_host.c \
  core/router_host.h \
  core/router_new.c \
  core/router_parts.c \
  core/router_pattern.c \
  core/router_pattern.h \
  core/router_routes.c \
  core/router_routes.h \
  core/router_table.c \
  core/router_table.h \
  core/router_tree.h \
  core/router_walk.c \
  core/router_walk.h \
  core/run.c \
  core/server.c \
  core/server.h \
  core/setup.c \
  core/sip.h \
  core/sockets.c \
  core/sockets.h \
  core/systemd.h \
  core/stream.c \
  core/stream.h \
  core/text.h \
  core/timer.h \
  core/upload.c \
  core/utf8.c \
  core/utf8.h \
  core/version.c \
  core/views.c \
  core/views.h \
  core/wait.c \
  core/wait.h \
  core/watch.c \
  core/wire.c

# One of the two.
if SYSTEMD
libweircore_la_SOURCES += core/systemd.c
libweircore_la_LIBADD += $(SYSTEMD_LIBS)
else
libweircore_la_SOURCES += core/systemd_none.c
endif

pkginclude_HEADERS += \
  core/weir/answer.h \
  core/weir/app.h \
  core/weir/ctx.h \
  core/weir/json.h \
  core/weir/machine.h \
  core/weir/network.h \
  core/weir/str.h \
  core/weir/test.h \
  core/weir/wait.h \
  core/weir/weir.h

lib_LTLIBRARIES += libweir.la
libweir_la_SOURCES =
libweir_la_LIBADD = libweircore.la
libweir_la_LDFLAGS = $(HARD_LDFLAGS) -no-undefined -version-info 0:0:0 \
  -Wl,--version-script=$(srcdir)/core/weir.sym
libweir_la_DEPENDENCIES = libweircore.la core/weir.sym

EXTRA_DIST += core/weir.sym
