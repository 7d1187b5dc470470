/*
 * sse_kit.h - what the tests of server-sent events share: reading a stream as WHATWG HTML says
 * ("Interpreting an event stream"), which is how a browser does it.
 */
#ifndef WEIR_TESTS_SSE_KIT_H
#define WEIR_TESTS_SSE_KIT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <weir/sse.h>

#define SSE_MAX 65536

/* What an event is to a page. Texts are NUL-terminated, and long enough for every test. */
struct sse_event {
        char type[256], id[256], data[SSE_MAX];
};

struct sse_reader {
        const char *at, *end;
        char        id[256];   /* of the last event  */
        long        retry;     /* -1: never said     */
        unsigned    comments;
};

static inline struct sse_reader sse_read(struct weir_str stream)
{
        return (struct sse_reader){ .at = stream.ptr, .end = stream.ptr + stream.len, .retry = -1 };
}

/* The next line, without its end, which is CRLF, LF or CR; false when there is no whole one. */
static inline bool sse_line(struct sse_reader *reader, struct weir_str *line)
{
        const char *end = reader->at;

        while (end < reader->end && *end != '\n' && *end != '\r')
                end++;
        if (end == reader->end)
                return false;
        *line = (struct weir_str){ reader->at, (size_t)(end - reader->at) };
        reader->at = end + (*end == '\r' && end + 1 < reader->end && end[1] == '\n' ? 2 : 1);
        return true;
}

static inline void sse_set(char *to, struct weir_str value)
{
        memcpy(to, value.ptr, value.len);
        to[value.len] = '\0';
}

static inline void sse_field(struct sse_reader *reader, struct sse_event *event,
                             struct weir_str name, struct weir_str value)
{
        if (weir_str_is(name, "event")) {
                sse_set(event->type, value);
        } else if (weir_str_is(name, "data")) {
                sse_set(event->data + strlen(event->data), value);
                strcat(event->data, "\n");
        } else if (weir_str_is(name, "id")) {
                if (!value.len || !memchr(value.ptr, '\0', value.len))
                        sse_set(reader->id, value);
        } else if (weir_str_is(name, "retry")) {
                char digits[32] = "";

                sse_set(digits, value);
                if (strspn(digits, "0123456789") == value.len && value.len)
                        reader->retry = strtol(digits, NULL, 10);
        }
}

/* The next event that is dispatched; false when none is complete. */
static inline bool sse_next(struct sse_reader *reader, struct sse_event *event)
{
        struct weir_str line;

        *event = (struct sse_event){ .type = "" };
        while (sse_line(reader, &line)) {
                const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
                struct weir_str name = line, value = { "", 0 };

                if (!line.len) {
                        if (*event->data) {
                                event->data[strlen(event->data) - 1] = '\0';
                                strcpy(event->id, reader->id);
                                if (!*event->type)
                                        strcpy(event->type, "message");
                                return true;
                        }
                        event->type[0] = '\0';
                        continue;
                }
                if (colon == line.ptr) {
                        reader->comments++;
                        continue;
                }
                if (colon) {
                        name.len = (size_t)(colon - line.ptr);
                        value = (struct weir_str){ colon + 1, line.len - name.len - 1 };
                        if (value.len && *value.ptr == ' ')
                                value = (struct weir_str){ value.ptr + 1, value.len - 1 };
                }
                sse_field(reader, event, name, value);
        }
        return false;
}

static inline struct weir_str str_of(const char *text)
{
        return (struct weir_str){ text, text ? strlen(text) : 0 };
}

static inline bool send_event(struct weir_sse *sse, const char *type, const char *id,
                              const char *data)
{
        return weir_sse_send(sse, &(struct weir_event){ .event = str_of(type),
                                                        .id = str_of(id),
                                                        .data = str_of(data) });
}

#endif
