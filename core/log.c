/* log.c - one line at a time to the app's log function or to standard error. */
#include "log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE 2048

static const char *level_name(enum weir_level level)
{
        static const char *const names[] = { "info", "error", "warning", "info", "debug" };

        return (unsigned)level < 5 ? names[level] : "info";
}

/* What could forge a line or drive a terminal becomes \xHH. */
static void escape(char *out, size_t size, const char *text)
{
        size_t n = 0;

        for (; *text && n + 5 < size; text++) {
                unsigned char c = (unsigned char)*text;

                if (c >= 0x20 && c != 0x7f)
                        out[n++] = (char)c;
                else
                        n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
        }
        out[n] = '\0';
}

/* One write, so that lines of several threads do not mix. */
static void to_stderr(const char *name, enum weir_level level, const char *line)
{
        char text[LINE + 128], when[32];
        struct timespec now;
        struct tm tm;
        int len;

        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
        len = snprintf(text, sizeof(text), "%s.%03ldZ %s %s: %s\n", when, now.tv_nsec / 1000000,
                       name, level_name(level), line);
        if (len >= (int)sizeof(text))
                len = sizeof(text) - 1;
        if (write(STDERR_FILENO, text, (size_t)len) < 0)
                return; /* there is nowhere left to say so */
}

static bool is_wanted(const struct weir__app *app, enum weir_level level)
{
        enum weir_level limit = app && app->options.log_level ? app->options.log_level
                                                              : WEIR_LOG_INFO;

        return (level ? level : WEIR_LOG_INFO) <= limit;
}

void weir_log(const struct weir *scope, enum weir_level level, const char *fmt, ...)
{
        const struct weir__app *app = scope ? scope->app : NULL;
        char text[LINE], line[LINE];
        va_list args;

        if (!is_wanted(app, level))
                return;
        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        escape(line, sizeof(line), text);
        if (app && app->options.log)
                app->options.log(app->options.log_arg, level ? level : WEIR_LOG_INFO, line);
        else
                to_stderr(app ? app->name : "weir", level, line);
}

void weir__log_request(const struct weir__cell *cell)
{
        const struct weir_ctx *ctx = &cell->ctx;
        const struct weir__app *app = cell->loop->app;
        uint64_t took_us = (weir__now(&cell->loop->clock) - ctx->started_ns) / 1000;

        weir_log(&app->root, WEIR_LOG_INFO, "%.*s %.*s %d %llu B %llu.%03llu ms%s%s",
                 WEIR_FMT(ctx->method_name), (int)(ctx->target.len < 512 ? ctx->target.len : 512),
                 ctx->target.ptr, ctx->status, (unsigned long long)ctx->bytes,
                 (unsigned long long)(took_us / 1000), (unsigned long long)(took_us % 1000),
                 ctx->outcome >= WEIR_SHED ? " " : "",
                 ctx->outcome == WEIR_SHED       ? "shed"
                 : ctx->outcome == WEIR_TIMEOUT  ? "timeout"
                 : ctx->outcome == WEIR_ABORT    ? cell->broken ? "broken off" : "client gone"
                 : ctx->outcome == WEIR_SHUTDOWN ? "shutdown"
                                                 : "");
}
