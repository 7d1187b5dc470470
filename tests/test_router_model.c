/* test_router_model.c - the router does what a slow and obvious model of it does. */
#include "router_model.h"

#define MAX_PATTERNS 40
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)(seed >> 33) % n;
}

static bool one_in(uint32_t n)
{
        return pick(n) == 0;
}

/* ---- Making patterns and paths. ---- */

/* Some differ in the middle alone; some are such that their hashes are equal. */
static const char *const words[] = {
        "a",
        "b",
        "ab",
        "ba",
        "aa",
        "abc",
        "aab",
        "a.b",
        "{x}",
        "a b",
        "\xc3\xa9",
        "abcdefg",
        "abcdefgh",
        "abcdefghi",
        "aaaaaaaabbbbbbbb",
        "bbbbbbbbaaaaaaaa",
        "aaaaaaaaccccaaaaaaaa",
        "aaaaaaaaddddaaaaaaaa",
        "aaaaaaaacccaaaaaaaa",
        "aaaaaaaabbbbbbb",
        "bbbbbbbbaaaaaaa",
        "abcdefghabcdefghabcdefgh",
        "a/b",
        "aaaaaaaa",
        "bbbbbbbb",
        "aaaaaaa",
        "%41",
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const char *const affixes[] = { "", "", "a", "b", "ab", "aa", ".a", "abcdefghi" };
#define N_AFFIXES (sizeof(affixes) / sizeof(affixes[0]))

static const char *const hosts[] = { "a.test", "b.test", "*.test", "*.a.test", "*.b.a.test" };
static const char *const asked_hosts[] = { "a.test", "b.test", "c.test", "b.a.test", "c.b.a.test",
                                           "test", "other", ".test", "a.a.a.test" };
static const int methods[] = { WEIR_GET, WEIR_GET,     WEIR_GET, WEIR_HEAD,   WEIR_POST,
                               WEIR_PUT, WEIR_OPTIONS, WEIR_ANY, WEIR_CUSTOM, WEIR_CUSTOM + 15 };
static const int asked_methods[] = { WEIR_GET,
                                     WEIR_GET,
                                     WEIR_GET,
                                     WEIR_HEAD,
                                     WEIR_POST,
                                     WEIR_DELETE,
                                     WEIR_OPTIONS,
                                     WEIR_CUSTOM,
                                     WEIR_CUSTOM + 15,
                                     WEIR_CUSTOM + 3,
                                     WEIR_UNKNOWN_METHOD,
                                     WEIR__NO_METHOD };
#define PICK(array) (array)[pick(sizeof(array) / sizeof((array)[0]))]

/* `few` words make patterns that have much in common. */
static struct model_segment random_segment(bool last, uint32_t few)
{
        switch (pick(last ? 9 : 8)) {
        case 0:
        case 1:
                return (struct model_segment){ MODEL_BARE, "", "" };
        case 2: {
                struct model_segment s = { MODEL_AFFIXED, PICK(affixes), PICK(affixes) };

                if (!*s.prefix && !*s.suffix)
                        s.kind = MODEL_BARE;
                return s;
        }
        case 8:
                return (struct model_segment){ MODEL_REST, "", "" };
        default:
                return (struct model_segment){ MODEL_LITERAL, words[pick(few)], "" };
        }
}

static bool has_slash(const struct model_pattern *pattern)
{
        for (unsigned i = 0; i < pattern->n; i++) {
                if (strchr(pattern->segment[i].prefix, '/'))
                        return true;
        }
        return false;
}

/* Literals with a slash in them, which no pattern can spell, are tried only in paths. */
static struct model_pattern random_pattern(uint32_t few, bool with_hosts)
{
        struct model_pattern pattern;

        do {
                unsigned n = 1 + pick(pick(4) ? 4 : MODEL_SEGMENTS);

                pattern = (struct model_pattern){ .n = n, .method = PICK(methods) };
                for (unsigned i = 0; i < n; i++)
                        pattern.segment[i] = random_segment(i + 1 == n, few);
                if (one_in(8))
                        pattern.segment[n - 1] = (struct model_segment){ MODEL_LITERAL, "", "" };
        } while (has_slash(&pattern));
        if (with_hosts && !one_in(3))
                pattern.host = PICK(hosts);
        return pattern;
}

static char *put_escaped(char *to, const char *text, bool much)
{
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;
                bool must = c <= ' ' || c >= 0x7f || strchr("%/{}\"#?", c) ||
                            (c == '.' && one_in(2));

                if (must || (much && one_in(4)))
                        to += sprintf(to, one_in(2) ? "%%%02x" : "%%%02X", c);
                else
                        *to++ = *text;
        }
        return to;
}

/* A path near the pattern. */
static void random_path(const struct model_pattern *pattern, char *to)
{
        bool much = one_in(4);

        for (unsigned i = 0; i < pattern->n; i++) {
                const struct model_segment *s = &pattern->segment[i];

                *to++ = '/';
                if (one_in(24))
                        continue;
                if (one_in(60))
                        to += sprintf(to, "%s", pick(2) ? ".." : one_in(2) ? "." : "%2e%2E");
                if (s->kind == MODEL_LITERAL && one_in(6)) {
                        to = put_escaped(to, words[pick(N_WORDS)], much);
                        continue;
                }
                to = put_escaped(to, s->prefix, much);
                if (s->kind != MODEL_LITERAL && !one_in(20))
                        to = put_escaped(to, words[pick(N_WORDS)], much);
                to = put_escaped(to, s->suffix, much);
                for (unsigned more = 0; s->kind == MODEL_REST && more < pick(4); more++) {
                        *to++ = '/';
                        to = put_escaped(to, words[pick(N_WORDS)], much);
                }
        }
        if (one_in(8))
                *to++ = '/';
        if (one_in(100))
                to += sprintf(to, "%s", one_in(2) ? "%0a" : one_in(2) ? "%zz" : "%4");
        *to = '\0';
}

/* ---- Comparing. ---- */

static void check_params(const struct model_pattern *pattern, const struct model_path *reading,
                         const struct weir__path *path, const struct weir__match *match,
                         const struct weir_str *param)
{
        unsigned n = 0;

        for (unsigned i = 0; i < pattern->n; i++) {
                const struct model_segment *s = &pattern->segment[i];
                size_t around = strlen(s->prefix) + strlen(s->suffix);
                char wanted[40 * MODEL_TEXT], again[MODEL_TEXT * 40];
                struct weir_str raw;
                ptrdiff_t len;

                if (s->kind == MODEL_LITERAL)
                        continue;
                snprintf(wanted, sizeof(wanted), "%.*s", (int)(strlen(reading->text[i]) - around),
                         reading->text[i] + strlen(s->prefix));
                for (unsigned more = i + 1; s->kind == MODEL_REST && more < reading->n; more++) {
                        strcat(wanted, "/");
                        strcat(wanted, reading->text[more]);
                }
                cr_assert(weir_str_is(param[n], wanted), "\"%.*s\" for \"%s\"", WEIR_FMT(param[n]),
                          wanted);
                cr_assert_eq(match->param_seg[n], i);
                raw = weir__router_raw_param(path, match, param, n);
                cr_assert(raw.ptr >= path->raw.ptr &&
                          raw.ptr + raw.len <= path->raw.ptr + path->raw.len);
                len = weir__percent_decode(again, raw);
                if (s->kind != MODEL_REST)
                        cr_assert(len == (ptrdiff_t)param[n].len &&
                                          !memcmp(again, wanted, (size_t)len),
                                  "raw \"%.*s\" for \"%s\"", WEIR_FMT(raw), wanted);
                n++;
        }
        cr_assert_eq(match->n_params, n);
}

static bool is_taken(const struct model_pattern *all, const struct model_pattern *pattern)
{
        for (const struct model_pattern *p = all; p < pattern; p++) {
                if (p->added && model_same(p, pattern))
                        return true;
        }
        return false;
}

struct world {
        struct model_pattern       pattern[MAX_PATTERNS];
        unsigned             n;
        struct weir__router *router;
        bool                 with_hosts;
};

static void make_world(struct world *world)
{
        struct weir__routes *routes = weir__routes_new();
        uint32_t few = one_in(3) ? N_WORDS : 3 + pick(4);

        world->n = 1 + pick(MAX_PATTERNS);
        world->with_hosts = one_in(4);
        for (uint32_t i = 0; i < world->n; i++) {
                struct model_pattern *p = &world->pattern[i];
                char text[MODEL_TEXT], error[400];
                int result;

                *p = random_pattern(few, world->with_hosts);
                model_spell(p, text);
                result = weir__routes_add(routes, p->host, p->method, text, i, &p->leaf, error,
                                          sizeof(error));
                cr_assert_eq(result, is_taken(world->pattern, p) ? -EEXIST : 0, "%s: %s", text,
                             error);
                p->added = result == 0;
        }
        world->router = weir__router_new(routes);
        weir__routes_free(routes);
        cr_assert(world->router);
}

static void check_miss(const struct world *world, const struct weir__match *match, uint32_t allow)
{
        uint32_t methods_of_missed = 0;

        cr_assert_eq(match->route, WEIR__NO_ROUTE);
        cr_assert_eq(match->allow, allow);
        cr_assert_eq(match->n_params, 0);
        for (uint32_t i = 0; i < match->n_missed && i < WEIR__MAX_MISSED; i++) {
                for (unsigned p = 0; p < world->n; p++) {
                        if (world->pattern[p].added && world->pattern[p].leaf == match->missed[i])
                                methods_of_missed |= UINT32_C(1) << world->pattern[p].method;
                }
                for (uint32_t j = 0; j < i; j++)
                        cr_assert_neq(match->missed[i], match->missed[j]);
        }
        if (match->n_missed <= WEIR__MAX_MISSED)
                cr_assert_eq(methods_of_missed, allow);
}

static void check_path(const struct world *world, const char *text)
{
        static struct model_path reading;
        const struct weir__path_rules rules = { one_in(3), one_in(3) };
        const char *host = world->with_hosts && !one_in(9) ? PICK(asked_hosts) : NULL;
        struct weir_str name = { host, host ? strlen(host) : 0 }, param[WEIR_MAX_PARAMS];
        size_t len = strlen(text);
        char *raw = memcpy(malloc(len), text, len), *shadow = malloc(len);
        int method = PICK(asked_methods);
        struct weir__match match;
        struct weir__path path;
        enum weir__path_status status = weir__path_split(&path, (struct weir_str){ raw, len },
                                                         &rules);
        const struct model_pattern *wanted;
        struct weir__router_facts facts;
        uint32_t allow;

        if (status == WEIR__PATH_OK && path.needs_shadow)
                status = weir__path_decode(&path, shadow, &rules);
        model_read(&reading, text, &rules);
        cr_assert_eq(status, reading.status, "%s", text);
        if (status == WEIR__PATH_OK) {
                wanted = model_best(world->pattern, world->n, &reading, host, method, &allow);
                cr_assert_eq(weir__router_find(world->router, &path, &name, method, param, &match),
                             wanted != NULL, "%s", text);
                if (wanted) {
                        cr_assert_eq(match.route, wanted - world->pattern, "%s", text);
                        check_params(wanted, &reading, &path, &match, param);
                } else {
                        check_miss(world, &match, allow);
                }
                weir__router_facts(world->router, &facts);
                cr_assert_leq(weir__router_visits(world->router, &path, name, method), facts.nodes);
        }
        free(raw);
        free(shadow);
}

Test(router_model, a_million_random_lookups_end_where_the_model_says)
{
        seed = 0x9e3779b97f4a7c15;
        for (unsigned worlds = 0; worlds < 2500; worlds++) {
                static struct world world;

                make_world(&world);
                for (unsigned i = 0; i < 400; i++) {
                        char text[4 * MODEL_TEXT];

                        random_path(&world.pattern[pick(world.n)], text);
                        check_path(&world, text);
                }
                weir__router_free(world.router);
        }
}
