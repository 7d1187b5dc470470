/*
 * condition.c - conditional requests: the fields in the order of RFC 9110 13.2.2.
 *
 * If-Match goes before If-Unmodified-Since, then If-None-Match before If-Modified-Since: where the
 * one is there, the other does not count. A date in no known form does not count either.
 */
#include "condition.h"

#include "http_date.h"

static void skip(struct weir_str *s, size_t n)
{
        s->ptr += n;
        s->len -= n;
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

/* Between two elements, and around empty ones (RFC 9110 5.6.1.2). */
static void skip_commas(struct weir_str *list)
{
        while (list->len && (is_blank(*list->ptr) || *list->ptr == ','))
                skip(list, 1);
}

/* Takes one entity-tag (RFC 9110 8.8.3) and the comma behind it off the list. */
static bool take_etag(struct weir_str *list, struct weir_str *tag, bool *weak)
{
        const char *quote;

        *weak = list->len >= 2 && !memcmp(list->ptr, "W/", 2);
        if (*weak)
                skip(list, 2);
        if (!list->len || *list->ptr != '"')
                return false;
        quote = memchr(list->ptr + 1, '"', list->len - 1);
        if (!quote)
                return false;
        *tag = (struct weir_str){ list->ptr, (size_t)(quote + 1 - list->ptr) };
        skip(list, tag->len);
        while (list->len && is_blank(*list->ptr))
                skip(list, 1);
        if (list->len && *list->ptr != ',')
                return false;
        skip_commas(list);
        return true;
}

bool weir__names_etag(struct weir_str list, const struct weir__validators *v, bool strong)
{
        struct weir_str tag;
        bool weak;

        if (weir_str_is(list, "*"))
                return true;
        skip_commas(&list);
        while (list.len && take_etag(&list, &tag, &weak)) {
                if (weir_str_eq(tag, v->etag) && (!strong || (!weak && !v->weak)))
                        return true;
        }
        return false;
}

/* All fields `name` are one list. *given: there is one. */
static bool names_etag(const struct weir_ctx *ctx, const char *name,
                       const struct weir__validators *v, bool strong, bool *given)
{
        struct weir_str field;
        size_t cursor = 0;
        bool found = false;

        *given = false;
        while ((field = weir_header_next(ctx, name, &cursor)).ptr) {
                *given = true;
                found = found || weir__names_etag(field, v, strong);
        }
        return found;
}

/* The date of a field; false without one. The guard has refused a second. */
static bool date_in(const struct weir_ctx *ctx, const char *name, const struct weir__validators *v,
                    int64_t *s)
{
        struct weir_str field = weir_header(ctx, name);

        return field.ptr && weir__http_date_read(field, v->now_s, s);
}

enum weir__condition weir__condition(const struct weir_ctx *ctx, const struct weir__validators *v)
{
        bool given, found;
        int64_t date;

        found = names_etag(ctx, "If-Match", v, true, &given);
        if (given && !found)
                return WEIR__FAILED;
        if (!given && date_in(ctx, "If-Unmodified-Since", v, &date) && v->modified_s > date)
                return WEIR__FAILED;
        found = names_etag(ctx, "If-None-Match", v, false, &given);
        if (found)
                return WEIR__NOT_MODIFIED;
        if (!given && date_in(ctx, "If-Modified-Since", v, &date) && v->modified_s <= date)
                return WEIR__NOT_MODIFIED;
        return WEIR__HOLDS;
}

/* RFC 9110 13.1.5: the very same, and both strong. */
bool weir__if_range(const struct weir_ctx *ctx, const struct weir__validators *v)
{
        struct weir_str field = weir_header(ctx, "If-Range");
        int64_t date;

        if (!field.ptr)
                return true;
        if (v->weak)
                return false;
        if (field.len && *field.ptr == '"')
                return weir_str_eq(field, v->etag);
        return weir__http_date_read(field, v->now_s, &date) && date == v->modified_s;
}
