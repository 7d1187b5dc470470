/* ask_head.c - the text of a request in memory, as its transport reads it. */
#include "ask.h"
#include "guard.h"

#include <stdio.h>

struct weir_str weir__ask_line(struct weir_str *text)
{
        const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
        size_t len = end ? (size_t)(end - text->ptr) : text->len;
        struct weir_str line = { text->ptr, len };

        text->ptr += len + (end ? 1 : 0);
        text->len -= len + (end ? 1 : 0);
        if (line.len && line.ptr[line.len - 1] == '\r')
                line.len--;
        return line;
}

static void read_request_line(struct weir__ask_head *head, struct weir_str line)
{
        const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
        const char *end = line.ptr + line.len, *last;

        head->method = (struct weir_str){ line.ptr, (size_t)((space ? space : end) - line.ptr) };
        head->version = WEIR_STR("HTTP/1.1");
        if (!space) {
                head->target = WEIR_STR("");
                return;
        }
        last = memrchr(space, ' ', (size_t)(end - space));
        if (last > space && end - last > 6 && !memcmp(last + 1, "HTTP/", 5)) {
                head->version = (struct weir_str){ last + 1, (size_t)(end - last - 1) };
                end = last;
        }
        head->target = (struct weir_str){ space + 1, (size_t)(end - space - 1) };
}

struct weir__ask_head weir__ask_read(struct weir_str text)
{
        struct weir__ask_head head = { 0 };
        struct weir_str line;

        read_request_line(&head, weir__ask_line(&text));
        head.fields.ptr = text.ptr;
        while (text.len) {
                const char *start = text.ptr;

                line = weir__ask_line(&text);
                if (!line.len) {
                        head.fields.len = (size_t)(start - head.fields.ptr);
                        head.body = text;
                        return head;
                }
        }
        head.fields.len = (size_t)(text.ptr - head.fields.ptr);
        return head;
}

static void add_field(struct weir__cell *cell, struct weir_str line)
{
        const char *colon = memchr(line.ptr, ':', line.len);
        const char *end = line.ptr + line.len;
        const char *value = colon ? colon + 1 : end;
        struct weir__header *field = &cell->header[cell->n_headers];

        while (value < end && (*value == ' ' || *value == '\t'))
                value++;
        if (field == cell->header_end) {
                cell->excess = WEIR_GUARD_TOO_MANY_HEADERS;
                return;
        }
        cell->n_headers++;
        *field = (struct weir__header){ line.ptr, value,
                                        (uint32_t)((colon ? colon : end) - line.ptr),
                                        (uint32_t)(end - value) };
        weir__guard_field(cell, field);
}

static bool has_field(const struct weir__cell *cell, const char *name)
{
        return weir_header(&cell->ctx, name).ptr;
}

void weir__ask_fields(struct weir__cell *cell, const struct weir__ask_head *head, char *length,
                      size_t size)
{
        static const char host[32] = "Host: test"; /* with WEIR__PEEK bytes behind it */
        struct weir_str fields = head->fields;

        while (fields.len)
                add_field(cell, weir__ask_line(&fields));
        if (!has_field(cell, "Host"))
                add_field(cell, (struct weir_str){ host, strlen(host) });
        if (head->body.len && !has_field(cell, "Content-Length") &&
            !has_field(cell, "Transfer-Encoding")) {
                int len = snprintf(length, size, "Content-Length: %zu", head->body.len);

                add_field(cell, (struct weir_str){ length, (size_t)len });
        }
}

uint64_t weir__ask_head_size(const struct weir__cell *cell, const struct weir__ask_head *head)
{
        uint64_t size = head->method.len + head->target.len + head->version.len + 6;

        for (unsigned i = 0; i < cell->n_headers; i++)
                size += (uint64_t)cell->header[i].name_len + cell->header[i].value_len + 4;
        return size;
}
