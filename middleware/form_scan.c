/* form_scan.c - cutting multipart/form-data into parts: see form_scan.h. */
#include "form_scan.h"

#include <string.h>

enum {
        PREAMBLE,
        BEHIND,  /* a delimiter */
        DASH,    /* and one '-' */
        PADDING, /* blanks      */
        LINE_END,
        HEAD,
        DATA,
        EPILOGUE,
        BROKEN,
};

void weir__form_scan_init(struct weir__form_scan *scan, struct weir_str boundary, char *head,
                          size_t head_size)
{
        *scan = (struct weir__form_scan){ .head = head, .head_size = head_size };
        memcpy(scan->delimiter, "\r\n--", 4);
        memcpy(scan->delimiter + 4, boundary.ptr, boundary.len);
        scan->delimiter_len = 4 + boundary.len;
        scan->matched = scan->lent = 2; /* the first may stand without a line before it */
}

static void skip(struct weir_str *input, size_t n)
{
        input->ptr += n;
        input->len -= n;
}

static enum weir__form_event bad(struct weir__form_scan *scan)
{
        scan->state = BROKEN;
        return WEIR__FORM_BAD;
}

/* The bytes that looked like a delimiter were data. */
static struct weir_str release(struct weir__form_scan *scan)
{
        struct weir_str held = { scan->delimiter + scan->lent, scan->matched - scan->lent };

        scan->matched = scan->lent = 0;
        return held;
}

/* Up to the next delimiter: DATA, maybe without bytes, then END behind it. */
static enum weir__form_event find(struct weir__form_scan *scan, struct weir_str *input,
                                  struct weir_str *data)
{
        while (input->len) {
                if (scan->matched == 0) {
                        const char *cr = memchr(input->ptr, '\r', input->len);

                        *data = (struct weir_str){ input->ptr,
                                                   cr ? (size_t)(cr - input->ptr) : input->len };
                        skip(input, data->len + (cr != NULL));
                        scan->matched = cr != NULL;
                        if (data->len)
                                return WEIR__FORM_DATA;
                } else if (*input->ptr == scan->delimiter[scan->matched]) {
                        skip(input, 1);
                        if (++scan->matched < scan->delimiter_len)
                                continue;
                        scan->state = BEHIND;
                        return WEIR__FORM_END;
                } else {
                        *data = release(scan);
                        return WEIR__FORM_DATA;
                }
        }
        return WEIR__FORM_MORE;
}

/* Behind a delimiter: a line end, or "--", which was the last. */
static bool step(struct weir__form_scan *scan, char c)
{
        if (scan->state == BEHIND && c == '-')
                scan->state = DASH;
        else if (scan->state == DASH && c == '-')
                scan->state = EPILOGUE;
        else if (scan->state <= PADDING && scan->state != DASH && (c == ' ' || c == '\t'))
                scan->state = PADDING;
        else if (scan->state <= PADDING && scan->state != DASH && c == '\r')
                scan->state = LINE_END;
        else if (scan->state == LINE_END && c == '\n')
                scan->state = HEAD;
        else
                return false;
        scan->head_len = scan->line = 0;
        return true;
}

static enum weir__form_event take_head(struct weir__form_scan *scan, struct weir_str *input)
{
        while (input->len) {
                const char *lf = memchr(input->ptr, '\n', input->len);
                size_t n = lf ? (size_t)(lf + 1 - input->ptr) : input->len;
                size_t len;

                if (n > scan->head_size - scan->head_len) {
                        scan->state = BROKEN;
                        return WEIR__FORM_LONG;
                }
                memcpy(scan->head + scan->head_len, input->ptr, n);
                scan->head_len += n;
                skip(input, n);
                if (!lf)
                        return WEIR__FORM_MORE;
                len = scan->head_len - scan->line;
                if (len < 2 || scan->head[scan->head_len - 2] != '\r')
                        return bad(scan);
                if (len == 2) {
                        scan->head_len = scan->line;
                        scan->matched = scan->lent = 2; /* a part may have no content at all */
                        scan->state = DATA;
                        return WEIR__FORM_HEAD;
                }
                scan->line = scan->head_len;
        }
        return WEIR__FORM_MORE;
}

enum weir__form_event weir__form_scan(struct weir__form_scan *scan, struct weir_str *input,
                                      struct weir_str *data)
{
        enum weir__form_event event;

        for (;;) {
                switch (scan->state) {
                case PREAMBLE:
                        event = find(scan, input, data);
                        if (event == WEIR__FORM_MORE)
                                return event;
                        break;
                case DATA:
                        event = find(scan, input, data);
                        if (event != WEIR__FORM_DATA || data->len)
                                return event;
                        break;
                case HEAD:
                        return take_head(scan, input);
                case EPILOGUE:
                        skip(input, input->len);
                        return WEIR__FORM_MORE;
                case BROKEN:
                        return WEIR__FORM_BAD;
                default:
                        if (!input->len)
                                return WEIR__FORM_MORE;
                        if (!step(scan, *input->ptr))
                                return bad(scan);
                        skip(input, 1);
                }
        }
}

bool weir__form_scan_is_over(const struct weir__form_scan *scan)
{
        return scan->state == EPILOGUE;
}
