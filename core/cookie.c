/* cookie.c - reading Cookie fields as they come, writing Set-Cookie fields as RFC 6265 wants. */
#include "cookie.h"

#include "clock.h"
#include "number.h"
#include "text.h"

/* ---- Reading. ---- */

static struct weir_str trim(const char *from, const char *end)
{
        return weir__trim((struct weir_str){ from, (size_t)(end - from) });
}

static struct weir_str unquote(struct weir_str value)
{
        if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
                return (struct weir_str){ value.ptr + 1, value.len - 2 };
        return value;
}

bool weir__cookie_find(struct weir_str field, const char *name, struct weir_str *value)
{
        const char *at = field.ptr, *end = at + field.len;

        while (at < end) {
                const char *next = memchr(at, ';', (size_t)(end - at));
                const char *equals = memchr(at, '=', (size_t)((next ? next : end) - at));

                if (!next)
                        next = end;
                if (equals && weir_str_is(trim(at, equals), name)) {
                        *value = unquote(trim(equals + 1, next));
                        return true;
                }
                at = next + (next < end);
        }
        return false;
}

/* ---- Writing. ---- */

/* Text that is cut off, and known to be, when it does not fit. */
struct line {
        char *at, *end;
        bool  cut;
};

static void put(struct line *line, const char *text, size_t len)
{
        if (line->cut || len > (size_t)(line->end - line->at)) {
                line->cut = true;
                return;
        }
        memcpy(line->at, text, len);
        line->at += len;
}

static void put_text(struct line *line, const char *text)
{
        put(line, text, strlen(text));
}

static void put_text_part(struct line *line, const char *name, const char *value)
{
        if (!value)
                return;
        put_text(line, name);
        put_text(line, value);
}

static void put_flag(struct line *line, const char *text, bool on)
{
        if (on)
                put_text(line, text);
}

static void put_age(struct line *line, int64_t age_s)
{
        char text[WEIR__INT_TEXT];

        put_text(line, "; Max-Age=");
        put(line, text, (size_t)(weir__put_int(text, age_s) - text));
}

static void put_expires(struct line *line, int64_t time_s)
{
        char date[WEIR__DATE_LEN];

        weir__date_format(date, (uint64_t)time_s);
        put_text(line, "; Expires=");
        put(line, date, sizeof(date));
}

/* ---- What is allowed. ---- */

/* *cookie-octet, or the same in quotes. */
static bool is_value(const char *text)
{
        size_t len = strlen(text);

        if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
                text++;
                len -= 2;
        }
        for (size_t i = 0; i < len; i++) {
                if (text[i] <= ' ' || text[i] > '~' || strchr("\",;\\", text[i]))
                        return false;
        }
        return true;
}

/* What an attribute may say: ASCII without control bytes and ';'. */
static bool is_attribute(const char *text)
{
        if (!text)
                return true;
        for (; *text; text++) {
                if (*text < ' ' || *text > '~' || *text == ';')
                        return false;
        }
        return true;
}

/* In any case, as user agents read it. */
static bool has_prefix(const char *name, const char *lower)
{
        size_t len = strlen(lower);

        return strlen(name) >= len && weir__same_token(name, lower, len);
}

static bool needs_secure(const struct weir_cookie *cookie)
{
        return cookie->partitioned || cookie->same_site == WEIR_CROSS_SITE ||
               has_prefix(cookie->name, "__secure-") || has_prefix(cookie->name, "__host-");
}

static bool is_valid(const struct weir_cookie *cookie)
{
        const int64_t year_10000 = 253402300800;

        if (!cookie->name || !weir__is_token(cookie->name, strlen(cookie->name)))
                return false;
        if ((cookie->value && !is_value(cookie->value)) || !is_attribute(cookie->domain) ||
            !is_attribute(cookie->path))
                return false;
        if (cookie->max_age_s < 0 || cookie->expires_s < 0 || cookie->expires_s >= year_10000)
                return false;
        if (has_prefix(cookie->name, "__host-") &&
            (cookie->domain || !cookie->path || strcmp(cookie->path, "/") != 0))
                return false;
        return cookie->secure || !needs_secure(cookie);
}

ptrdiff_t weir__cookie_format(char *out, size_t size, const struct weir_cookie *cookie)
{
        static const char *const same_site[] = {
                [WEIR_LAX] = "Lax", [WEIR_STRICT] = "Strict", [WEIR_CROSS_SITE] = "None"
        };
        struct line line = { out, out + size, false };

        if (!is_valid(cookie) || cookie->same_site > WEIR_CROSS_SITE)
                return -1;
        put_text_part(&line, cookie->name, "=");
        put_text_part(&line, "", cookie->value);
        put_text_part(&line, "; Domain=", cookie->domain);
        put_text_part(&line, "; Path=", cookie->path);
        if (cookie->max_age_s || !cookie->value)
                put_age(&line, cookie->value ? cookie->max_age_s : 0);
        if (cookie->expires_s || !cookie->value)
                put_expires(&line, cookie->value ? cookie->expires_s : 0);
        put_flag(&line, "; Secure", cookie->secure);
        put_flag(&line, "; HttpOnly", cookie->http_only);
        put_text_part(&line, "; SameSite=", same_site[cookie->same_site]);
        put_flag(&line, "; Partitioned", cookie->partitioned);
        return line.cut ? -1 : line.at - out;
}
