/*
 * forwarded.c - the client of a request that came through proxies.
 *
 * Each proxy adds on the right who asked it. So the list is read from there:
 *
 *      X-Forwarded-For: whatever, 203.0.113.43, 10.0.0.3        peer 10.0.0.2
 *                                 the client <- trusted      <- trusted
 *
 * The first address that is not trusted is the client. What is no address ends the walk too; then
 * the one before it is the client, because nothing further left is to be believed. Several fields
 * are one list. Each byte is looked at a few times at most, and only IPv6 addresses are copied.
 */
#include "forwarded.h"
#include "bytes.h"
#include "network.h"
#include "text.h"

/* The arena stays as aligned as it starts: exchange.c lays words there next. */
_Static_assert(WEIR__ADDRESS_TEXT % 16 == 0, "the text of an address takes whole units");

/* The last address that was taken. */
struct walk {
        const struct weir__networks *trusted;
        enum weir_forwarded          field;
        struct weir_str              host; /* as it stands in the field; absent: none yet */
        struct weir__address         address;
};

static struct weir_str between(const char *from, const char *to)
{
        return (struct weir_str){ from, (size_t)(to - from) };
}

static struct weir_str without_first(struct weir_str text)
{
        return (struct weir_str){ text.ptr + 1, text.len - 1 };
}

/* ---- One address, and what may stand around it. ---- */

/* A number, or a name that hides it (RFC 7239 6.3). */
static bool is_port(struct weir_str text)
{
        bool hidden = text.len && *text.ptr == '_';

        for (size_t i = hidden; i < text.len; i++) {
                char c = text.ptr[i], lower = weir__lower(c);

                if (!(c >= '0' && c <= '9') && !(hidden && ((lower >= 'a' && lower <= 'z') ||
                                                            c == '.' || c == '_' || c == '-')))
                        return false;
        }
        return hidden ? text.len > 1 : text.len >= 1 && text.len <= 5;
}

/* Cuts port and brackets off; false where they are wrong. */
static bool cut_host(struct weir_str node, struct weir_str *host)
{
        const char *end = node.ptr + node.len, *colon = memchr(node.ptr, ':', node.len);
        const char *behind = end;

        *host = node;
        if (*node.ptr == '[') {
                const char *close = memchr(node.ptr, ']', node.len);

                if (!close || !colon || colon > close)
                        return false;
                *host = between(node.ptr + 1, close);
                behind = close + 1;
        } else if (colon && colon == memrchr(node.ptr, ':', node.len)) {
                *host = between(node.ptr, colon);
                behind = colon;
        }
        return behind == end || (*behind == ':' && is_port(between(behind + 1, end)));
}

/* An IPv6 address without the name that a proxy has for the link that it came by (RFC 4007 11). */
static struct weir_str without_zone(struct weir_str host)
{
        const char *end = host.ptr + host.len, *zone = memchr(host.ptr, '%', host.len);

        if (!zone || !memchr(host.ptr, ':', host.len) ||
            !weir__is_token(zone + 1, (size_t)(end - zone) - 1))
                return host;
        return between(host.ptr, zone);
}

/* The next address to the left: is it one, and trusted too? */
static bool take_node(struct walk *walk, struct weir_str node)
{
        struct weir__address address;
        struct weir_str host;

        if (!node.len || !cut_host(node, &host))
                return false;
        if (walk->field == WEIR_FORWARDED && host.ptr == node.ptr &&
            memchr(host.ptr, ':', host.len))
                return false; /* RFC 7239 6: an IPv6 address is in brackets */
        if (walk->field == WEIR_X_FORWARDED_FOR)
                host = without_zone(host);
        if (!weir__address_parse(host, &address))
                return false;
        walk->host = host;
        walk->address = address;
        return weir__networks_have(walk->trusted, &address);
}

/* ---- Forwarded: pairs with quotes (RFC 7239 4). ---- */

/* Of a quote at `at`: an even number of backslashes stands for themselves. */
static bool is_escaped(struct weir_str text, size_t at)
{
        size_t n = 0;

        while (n < at && text.ptr[at - n - 1] == '\\')
                n++;
        return n & 1;
}

/*
 * Where the last element begins. Read from the right, because an open quote further left would take
 * in what honest proxies added. An element that is well-formed begins where it says, whatever
 * stands before it.
 */
static const char *last_element(struct weir_str list)
{
        bool quoted = false;

        for (size_t i = list.len; i-- > 0;) {
                if (list.ptr[i] == '"')
                        quoted ^= !is_escaped(list, i);
                else if (list.ptr[i] == ',' && !quoted)
                        return list.ptr + i + 1;
        }
        return list.ptr;
}

static struct weir_str take_token(struct weir_str *text)
{
        struct weir_str token = { text->ptr, 0 };

        while (token.len < text->len &&
               (weir__byte_class[(unsigned char)token.ptr[token.len]] & WEIR__TCHAR))
                token.len++;
        *text = between(text->ptr + token.len, text->ptr + text->len);
        return token;
}

/* A token, or what stands between quotes, its backslashes included. */
static bool take_value(struct weir_str *text, struct weir_str *value)
{
        size_t end = 1;

        if (!text->len || *text->ptr != '"') {
                *value = take_token(text);
                return value->len;
        }
        while (end < text->len && text->ptr[end] != '"')
                end += text->ptr[end] == '\\' ? 2 : 1;
        if (end >= text->len)
                return false;
        *value = between(text->ptr + 1, text->ptr + end);
        *text = between(text->ptr + end + 1, text->ptr + text->len);
        return true;
}

static bool take_pair(struct weir_str *text, struct weir_str *name, struct weir_str *value)
{
        *name = take_token(text);
        if (!name->len || !text->len || *text->ptr != '=')
                return false;
        *text = without_first(*text);
        return take_value(text, value);
}

/* The one "for" of an element; absent when there is none, or the element is wrong anywhere. */
static struct weir_str find_for(struct weir_str element)
{
        struct weir_str name, value, node = { 0 };
        bool behind_pair = false;

        for (; element.len; element = weir__trim(element)) {
                if (*element.ptr == ';') {
                        element = without_first(element);
                        behind_pair = false;
                        continue;
                }
                if (behind_pair || !take_pair(&element, &name, &value))
                        return (struct weir_str){ 0 };
                behind_pair = true;
                if (name.len != 3 || !weir__same_name(name.ptr, "for", 3))
                        continue;
                if (node.ptr)
                        return (struct weir_str){ 0 };
                node = value;
        }
        return node;
}

/* ---- The walk. ---- */

static const char *last_item(struct weir_str list)
{
        const char *comma = memrchr(list.ptr, ',', list.len);

        return comma ? comma + 1 : list.ptr;
}

/*
 * From the right to the left; false at what ends the walk. Empty elements are none (RFC 9110
 * 5.6.1.2).
 */
static bool walk_list(struct walk *walk, struct weir_str list)
{
        while (list.len) {
                bool pairs = walk->field == WEIR_FORWARDED;
                const char *from = pairs ? last_element(list) : last_item(list);
                struct weir_str item = weir__trim(between(from, list.ptr + list.len));

                list.len = from > list.ptr ? (size_t)(from - list.ptr) - 1 : 0;
                if (item.len && !take_node(walk, pairs ? find_for(item) : item))
                        return false;
        }
        return true;
}

static void set_client(struct weir_ctx *ctx, const struct walk *walk)
{
        char *text;

        if (!memchr(walk->host.ptr, ':', walk->host.len)) {
                ctx->client = walk->host; /* an IPv4 address has one form only */
                return;
        }
        text = weir_alloc(ctx, WEIR__ADDRESS_TEXT);
        if (text)
                ctx->client = (struct weir_str){ text, weir__address_print(&walk->address, text) };
}

void weir__forwarded_client(struct weir__cell *cell)
{
        const struct weir__app *app = cell->loop->app;
        bool pairs = app->options.forwarded == WEIR_FORWARDED;
        struct weir_str name = pairs ? WEIR_STR("forwarded") : WEIR_STR("x-forwarded-for");
        struct walk walk = { .trusted = app->trusted, .field = app->options.forwarded };

        if (!weir__peer_parse(cell->ctx.client, &walk.address) ||
            !weir__networks_have(app->trusted, &walk.address))
                return;
        for (unsigned i = cell->n_headers; i-- > 0;) {
                const struct weir__header *header = &cell->header[i];

                if (header->name_len == name.len &&
                    weir__same_name(header->name, name.ptr, name.len) &&
                    !walk_list(&walk, (struct weir_str){ header->value, header->value_len }))
                        break;
        }
        if (walk.host.ptr)
                set_client(&cell->ctx, &walk);
}

void weir__forwarded_setup(struct weir__app *app)
{
        const char *networks = app->options.trusted_proxies;
        enum weir_forwarded field = app->options.forwarded;
        char why[256];

        app->options.trusted_proxies = NULL; /* the caller's */
        if ((unsigned)field > WEIR_FORWARDED)
                weir__error(app, "options: forwarded is %d, which is none of enum weir_forwarded",
                            (int)field);
        if (field && !networks)
                weir__error(app,
                            "options: forwarded needs trusted_proxies: whose field is believed");
        if (networks && !field)
                weir__error(app, "options: trusted_proxies needs forwarded: which field they set");
        if (!networks)
                return;
        app->trusted = weir__networks_new(networks, why, sizeof(why));
        if (!app->trusted)
                weir__error(app, "options: trusted_proxies: %s", why);
}
