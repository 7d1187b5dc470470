/*
 * router_model.c - a router that compares each pattern with the path.
 *
 * It looks at segment after segment, and ranks the patterns that match by what they are made of,
 * from left to right. It shares no code with the router, nor with the reading of paths.
 */
#include "router_model.h"

#include <stdio.h>

static int hex(int c)
{
        const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

        return at ? (int)(at - digits) : -1;
}

static bool decode(const char *raw, const char *end, char *to)
{
        for (; raw < end; raw++) {
                int c = (unsigned char)*raw;

                if (c == '%') {
                        if (end - raw < 3 || hex(raw[1]) < 0 || hex(raw[2]) < 0)
                                return false;
                        c = hex(raw[1]) * 16 + hex(raw[2]);
                        raw += 2;
                }
                if (c < 0x20 || c == 0x7f)
                        return false;
                *to++ = (char)c;
        }
        *to = '\0';
        return true;
}

void model_read(struct model_path *reading, const char *raw, const struct weir__path_rules *rules)
{
        const char *end = raw + strlen(raw);

        reading->n = 0;
        reading->status = WEIR__PATH_BAD;
        while (raw < end) {
                const char *next = strchr(raw + 1, '/');
                char *text = reading->text[reading->n];
                bool last = !next;

                next = next ? next : end;
                if (!decode(raw + 1, next, text))
                        return;
                raw = next;
                if (!strcmp(text, ".") || !strcmp(text, "..")) {
                        if (!rules->normalize_dots)
                                return;
                        if (text[1] && reading->n)
                                reading->n--;
                        reading->text[reading->n][0] = '\0';
                        reading->n += last;
                } else if (*text || last || !rules->merge_slashes) {
                        reading->n++;
                }
        }
        reading->status = WEIR__PATH_OK;
}

static bool starts(const char *text, const char *with)
{
        return strncmp(text, with, strlen(with)) == 0;
}

static bool is_end(const char *text, const char *end)
{
        return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static bool takes(const struct model_segment *s, const char *text)
{
        size_t around = strlen(s->prefix) + strlen(s->suffix);

        switch (s->kind) {
        case MODEL_LITERAL:
                return !strcmp(s->prefix, text);
        case MODEL_AFFIXED:
                return strlen(text) > around && starts(text, s->prefix) && is_end(text, s->suffix);
        case MODEL_BARE:
                return *text != '\0';
        case MODEL_REST:
                break;
        }
        return true;
}

static bool takes_host(const struct model_pattern *pattern, const char *host)
{
        if (!pattern->host)
                return true;
        if (!host)
                return false;
        if (*pattern->host != '*')
                return !strcmp(pattern->host, host);
        return *host != '.' && strlen(host) > strlen(pattern->host) - 1 &&
               is_end(host, pattern->host + 1);
}

static bool takes_path(const struct model_pattern *pattern, const struct model_path *reading)
{
        for (unsigned i = 0; i + 1 < reading->n; i++) {
                if (!reading->text[i][0])
                        return false; /* a gap */
        }
        for (unsigned i = 0; i < pattern->n; i++) {
                if (i >= reading->n || !takes(&pattern->segment[i], reading->text[i]))
                        return false;
                if (pattern->segment[i].kind == MODEL_REST)
                        return true;
        }
        return pattern->n == reading->n;
}

static size_t host_rank(const struct model_pattern *pattern)
{
        if (!pattern->host)
                return 0;
        return *pattern->host == '*' ? strlen(pattern->host) : 1000;
}

/* Positive when `a` is preferred. */
static int compare(const struct model_pattern *a, const struct model_pattern *b)
{
        if (host_rank(a) != host_rank(b))
                return host_rank(a) > host_rank(b) ? 1 : -1;
        for (unsigned i = 0; i < a->n && i < b->n; i++) {
                const struct model_segment *s = &a->segment[i], *t = &b->segment[i];
                size_t prefix = strlen(s->prefix), suffix = strlen(s->suffix);

                if (s->kind != t->kind)
                        return s->kind < t->kind ? 1 : -1;
                if (s->kind == MODEL_AFFIXED && prefix != strlen(t->prefix))
                        return prefix > strlen(t->prefix) ? 1 : -1;
                if (s->kind == MODEL_AFFIXED && suffix != strlen(t->suffix))
                        return suffix > strlen(t->suffix) ? 1 : -1;
        }
        return 0;
}

/* How well a route for `has` serves `asked`; 0: not. */
static int serves(int has, int asked)
{
        if (asked == WEIR__NO_METHOD)
                return 0;
        if (has == asked)
                return 3;
        if (has == WEIR_GET && asked == WEIR_HEAD)
                return 2;
        return has == WEIR_ANY;
}

const struct model_pattern *model_best(const struct model_pattern *all, unsigned n,
                                       const struct model_path *reading, const char *host,
                                       int method, uint32_t *allow)
{
        const struct model_pattern *found = NULL;

        *allow = 0;
        for (const struct model_pattern *p = all; p < all + n; p++) {
                int order;

                if (!p->added || !takes_host(p, host) || !takes_path(p, reading))
                        continue;
                *allow |= UINT32_C(1) << p->method;
                if (!serves(p->method, method))
                        continue;
                order = found ? compare(p, found) : 1;
                if (order > 0 ||
                    (order == 0 && serves(p->method, method) > serves(found->method, method)))
                        found = p;
        }
        return found;
}

bool model_same(const struct model_pattern *a, const struct model_pattern *b)
{
        if (a->n != b->n || a->method != b->method || (a->host ? !b->host : b->host != NULL) ||
            (a->host && strcmp(a->host, b->host) != 0))
                return false;
        for (unsigned i = 0; i < a->n; i++) {
                const struct model_segment *s = &a->segment[i], *t = &b->segment[i];

                if (s->kind != t->kind || strcmp(s->prefix, t->prefix) != 0 ||
                    strcmp(s->suffix, t->suffix) != 0)
                        return false;
        }
        return true;
}

static char *put_braced(char *to, const char *text)
{
        for (; *text; text++) {
                *to++ = *text;
                if (*text == '{' || *text == '}')
                        *to++ = *text;
        }
        return to;
}

void model_spell(const struct model_pattern *pattern, char *to)
{
        for (unsigned i = 0; i < pattern->n; i++) {
                const struct model_segment *s = &pattern->segment[i];

                *to++ = '/';
                to = put_braced(to, s->prefix);
                if (s->kind != MODEL_LITERAL)
                        to += sprintf(to, "{p%u%s}", i, s->kind == MODEL_REST ? "..." : "");
                to = put_braced(to, s->suffix);
        }
        *to = '\0';
}
