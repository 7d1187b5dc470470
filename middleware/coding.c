/* coding.c - reads Accept-Encoding. */
#include "coding.h"

#include <strings.h>

static struct weir_str trimmed(struct weir_str s)
{
        while (s.len && (*s.ptr == ' ' || *s.ptr == '\t')) {
                s.ptr++;
                s.len--;
        }
        while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
                s.len--;
        return s;
}

/* Takes what stands before the next `mark`, and the mark, off `s`. */
static struct weir_str take_until(struct weir_str *s, char mark)
{
        const char *at = s->len ? memchr(s->ptr, mark, s->len) : NULL;
        struct weir_str part = { s->ptr, at ? (size_t)(at - s->ptr) : s->len };

        s->ptr += part.len + (at != NULL);
        s->len -= part.len + (at != NULL);
        return trimmed(part);
}

/* "0.25" is 250; what is none is 0: better no coding than one that the client cannot read. */
static int qvalue(struct weir_str text)
{
        int value = 0, unit = 1000;

        for (size_t i = 0; i < text.len; i++) {
                if (i == 1 ? text.ptr[i] != '.' : text.ptr[i] < '0' || text.ptr[i] > '9')
                        return 0;
                if (i != 1) {
                        value += (text.ptr[i] - '0') * unit;
                        unit /= 10;
                }
        }
        return value > 1000 || text.len > 5 ? 0 : value;
}

static int weight_in(struct weir_str parameters)
{
        while (parameters.len) {
                struct weir_str one = take_until(&parameters, ';');

                if (one.len >= 2 && !strncasecmp(one.ptr, "q=", 2))
                        return qvalue((struct weir_str){ one.ptr + 2, one.len - 2 });
        }
        return 1000;
}

void weir__coding_read(struct weir_str field, const char *coding, int *named, int *any)
{
        while (field.len) {
                struct weir_str rest = take_until(&field, ',');
                struct weir_str name = take_until(&rest, ';');

                if (weir_str_is(name, "*"))
                        *any = weight_in(rest);
                else if (name.len == strlen(coding) && !strncasecmp(name.ptr, coding, name.len))
                        *named = weight_in(rest);
        }
}

unsigned weir__coding_weight(const struct weir_ctx *ctx, const char *coding)
{
        int named = -1, any = 0;
        struct weir_str field;
        size_t cursor = 0;

        while ((field = weir_header_next(ctx, "Accept-Encoding", &cursor)).ptr)
                weir__coding_read(field, coding, &named, &any);
        return (unsigned)(named >= 0 ? named : any);
}
