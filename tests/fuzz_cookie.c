/* fuzz_cookie.c - reads any Cookie field, and writes Set-Cookie fields that cannot be misread. */
#include "cookie.h"
#include "fuzz_kit.h"

/* The next C string of the input; NULL at its end. */
static const char *text(const char **at, const char *end)
{
        const char *from = *at;

        if (from >= end)
                return NULL;
        *at += strlen(from) + 1;
        return from;
}

static size_t count(const char *line, size_t len, char c)
{
        size_t n = 0;

        for (size_t i = 0; i < len; i++)
                n += line[i] == c;
        return n;
}

/* Each attribute comes behind one "; ", and nothing else has a ';', a control byte or more than
 * ASCII. */
static void check_line(const char *line, size_t len, const struct weir_cookie *cookie)
{
        bool deleted = !cookie->value;
        size_t attributes = (cookie->domain != NULL) + (cookie->path != NULL) +
                            (cookie->max_age_s || deleted) + (cookie->expires_s || deleted) +
                            cookie->secure + cookie->http_only + (cookie->same_site != 0) +
                            cookie->partitioned;
        struct weir_str value;

        require(count(line, len, ';') == attributes);
        for (size_t i = 0; i < len; i++)
                require(line[i] >= ' ' && line[i] <= '~');
        require(!cookie->same_site || cookie->same_site != WEIR_CROSS_SITE || cookie->secure);
        require(weir__cookie_find((struct weir_str){ line, len }, cookie->name, &value));
        if (cookie->value && cookie->value[0] != '"')
                require(weir_str_is(value, cookie->value));
}

static void fuzz_format(const char *at, const char *end, unsigned flags, uint8_t numbers)
{
        struct weir_cookie cookie = { .secure = flags & 1,
                                      .http_only = flags >> 1 & 1,
                                      .partitioned = flags >> 2 & 1,
                                      .same_site = flags >> 3 & 3,
                                      .max_age_s = (numbers & 15) * (int64_t)123456789,
                                      .expires_s = (numbers >> 4) * (int64_t)9876543210 };
        char line[256];
        ptrdiff_t len;

        cookie.name = text(&at, end);
        cookie.value = text(&at, end);
        cookie.path = text(&at, end);
        cookie.domain = text(&at, end);
        len = weir__cookie_format(line, sizeof(line), &cookie);
        if (len < 0)
                return;
        require(cookie.name && (size_t)len <= sizeof(line));
        check_line(line, (size_t)len, &cookie);
}

/* What is found is in the field, and followed by nothing that belongs to it. */
static void fuzz_find(struct weir_str field, const char *name)
{
        struct weir_str value;

        if (!weir__cookie_find(field, name, &value))
                return;
        require(value.ptr >= field.ptr && value.ptr + value.len <= field.ptr + field.len);
        require(!value.len || !memchr(value.ptr, ';', value.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *copy = malloc(size + 1);

        memcpy(copy, data, size);
        copy[size] = 0;
        if (size >= 2)
                fuzz_format(copy + 2, copy + size, data[0], data[1]);
        fuzz_find((struct weir_str){ copy + strnlen(copy, size), size - strnlen(copy, size) },
                  copy);
        fuzz_find((struct weir_str){ copy, size }, "a");
        free(copy);
        return 0;
}
