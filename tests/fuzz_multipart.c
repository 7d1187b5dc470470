/*
 * fuzz_multipart.c - cuts any form into parts, whole and in pieces that the input chooses.
 *
 * Where it is cut changes nothing, content is always that of the form, and the head of a part that
 * is read has a name. The first byte says how large the pieces are.
 */
#include "form_head.h"
#include "form_scan.h"
#include "fuzz_kit.h"

#define HEAD_SIZE 256

struct log {
        char  *text;
        size_t len, cap;
};

static void put(struct log *log, const char *text, size_t len)
{
        if (log->len + len + 1 > log->cap) {
                log->cap = 2 * (log->len + len + 64);
                log->text = realloc(log->text, log->cap);
        }
        if (len)
                memcpy(log->text + log->len, text, len);
        log->len += len;
}

static void put_head(struct log *log, const struct weir__form_scan *scan)
{
        struct weir__form_head head;
        char *copy = malloc(scan->head_len ? scan->head_len : 1);

        memcpy(copy, scan->head, scan->head_len);
        put(log, "{", 1);
        put(log, copy, scan->head_len);
        if (!weir__form_head(&head, copy, scan->head_len)) {
                require(head.name.ptr);
                require(!head.filename.len || !memchr(head.filename.ptr, '/', head.filename.len));
                put(log, head.name.ptr, head.name.len);
                put(log, head.filename.ptr, head.filename.len);
        }
        free(copy);
}

static enum weir__form_event feed(struct log *log, struct weir__form_scan *scan,
                                  struct weir_str input)
{
        enum weir__form_event event;
        struct weir_str data;

        while ((event = weir__form_scan(scan, &input, &data)) < WEIR__FORM_BAD) {
                if (event == WEIR__FORM_MORE)
                        return event;
                if (event == WEIR__FORM_HEAD)
                        put_head(log, scan);
                else if (event == WEIR__FORM_DATA)
                        put(log, data.ptr, data.len);
                else
                        put(log, "}", 1);
        }
        return event;
}

/* The pieces lie at the end of their memory, so that a read past them is seen. */
static void scan_in(struct log *log, struct weir_str input, size_t size)
{
        enum weir__form_event event = WEIR__FORM_MORE;
        char *head = malloc(HEAD_SIZE);
        struct weir__form_scan scan;

        weir__form_scan_init(&scan, WEIR_STR("b-b"), head, HEAD_SIZE);
        while (input.len && event == WEIR__FORM_MORE) {
                size_t n = input.len < size ? input.len : size;
                char *piece = malloc(n);

                memcpy(piece, input.ptr, n);
                event = feed(log, &scan, (struct weir_str){ piece, n });
                free(piece);
                input.ptr += n;
                input.len -= n;
        }
        put(log, event == WEIR__FORM_BAD ? "B" : event == WEIR__FORM_LONG ? "L" : "M", 1);
        put(log, weir__form_scan_is_over(&scan) ? "O" : "-", 1);
        free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct log whole = { 0 }, pieces = { 0 };
        struct weir_str input = { (const char *)data + 1, size - 1 };

        if (!size)
                return 0;
        scan_in(&whole, input, size);
        scan_in(&pieces, input, data[0] % 8 + 1);
        require(whole.len == pieces.len && !memcmp(whole.text, pieces.text, whole.len));
        weir__form_boundary(input);
        free(whole.text);
        free(pieces.text);
        return 0;
}
