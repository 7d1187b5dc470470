/* router_sets.c - sets of routes: from a file, written down here, and generated. */
#include "router_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/ctx.h>

static const char *const fleet[] = {
        "GET /announcements",
        "PUT /announcements",
        "GET /announcements/streams/{id}",
        "DELETE /announcements/streams/{id}/registration",
        "GET /announcements/streams/{id}/registration",
        "PUT /announcements/streams/{id}/registration",
        "POST /bulletin",
        "POST /bulletin/dry",
        "GET /certifications",
        "POST /certifications",
        "DELETE /certifications/{id}",
        "GET /certifications/{id}",
        "GET /checklist/standards",
        "GET /checklist/standards/{name}",
        "GET /colors",
        "GET /constructions",
        "DELETE /decks/{id}",
        "GET /decks/{id}",
        "GET /decks/{id}/officers",
        "DELETE /decks/{id}/officers/{sailor}",
        "GET /decks/{id}/officers/{sailor}",
        "PUT /decks/{id}/officers/{sailor}",
        "GET /decks/{id}/ships",
        "DELETE /decks/{id}/ships/{owner}/{ship}",
        "GET /decks/{id}/ships/{owner}/{ship}",
        "PUT /decks/{id}/ships/{owner}/{ship}",
        "GET /faults",
        "GET /flotillas/{owner}/{ship}/sightings",
        "GET /former/faults/lookup/{owner}/{ship}/{state}/{word}",
        "GET /former/sailor/lookup/{word}",
        "GET /former/sailor/radio/{radio}",
        "GET /former/ships/lookup/{word}",
        "GET /lines/{line}",
        "GET /lines/{line}/decks",
        "POST /lines/{line}/decks",
        "GET /lines/{line}/faults",
        "GET /lines/{line}/officers",
        "DELETE /lines/{line}/officers/{sailor}",
        "GET /lines/{line}/officers/{sailor}",
        "GET /lines/{line}/public_officers",
        "DELETE /lines/{line}/public_officers/{sailor}",
        "GET /lines/{line}/public_officers/{sailor}",
        "PUT /lines/{line}/public_officers/{sailor}",
        "GET /lines/{line}/ships",
        "POST /lines/{line}/ships",
        "GET /lines/{line}/sightings",
        "GET /lookup/constructions",
        "GET /lookup/faults",
        "GET /lookup/fuel",
        "GET /lookup/sailors",
        "GET /notes",
        "POST /notes",
        "DELETE /notes/{id}",
        "GET /notes/{id}",
        "DELETE /notes/{id}/buoy",
        "GET /notes/{id}/buoy",
        "PUT /notes/{id}/buoy",
        "POST /notes/{id}/twins",
        "GET /port",
        "DELETE /reservations/{client_id}/passes",
        "DELETE /reservations/{client_id}/passes/{token}",
        "GET /reservations/{client_id}/passes/{token}",
        "GET /sailor",
        "GET /sailor/charted",
        "DELETE /sailor/charted/{owner}/{ship}",
        "GET /sailor/charted/{owner}/{ship}",
        "PUT /sailor/charted/{owner}/{ship}",
        "GET /sailor/decks",
        "GET /sailor/faults",
        "GET /sailor/lines",
        "GET /sailor/observers",
        "GET /sailor/observing",
        "DELETE /sailor/observing/{sailor}",
        "GET /sailor/observing/{sailor}",
        "PUT /sailor/observing/{sailor}",
        "GET /sailor/pins",
        "POST /sailor/pins",
        "DELETE /sailor/pins/{id}",
        "GET /sailor/pins/{id}",
        "DELETE /sailor/radios",
        "GET /sailor/radios",
        "POST /sailor/radios",
        "GET /sailor/registrations",
        "DELETE /sailor/registrations/{owner}/{ship}",
        "GET /sailor/registrations/{owner}/{ship}",
        "PUT /sailor/registrations/{owner}/{ship}",
        "GET /sailor/ships",
        "POST /sailor/ships",
        "GET /sailors",
        "GET /sailors/{sailor}",
        "GET /sailors/{sailor}/charted",
        "GET /sailors/{sailor}/lines",
        "GET /sailors/{sailor}/notes",
        "GET /sailors/{sailor}/observers",
        "GET /sailors/{sailor}/observing",
        "GET /sailors/{sailor}/observing/{other}",
        "GET /sailors/{sailor}/pins",
        "GET /sailors/{sailor}/received_sightings",
        "GET /sailors/{sailor}/received_sightings/abroad",
        "GET /sailors/{sailor}/registrations",
        "GET /sailors/{sailor}/ships",
        "GET /sailors/{sailor}/sightings",
        "GET /sailors/{sailor}/sightings/abroad",
        "GET /sailors/{sailor}/sightings/lines/{line}",
        "DELETE /ships/{owner}/{ship}",
        "GET /ships/{owner}/{ship}",
        "GET /ships/{owner}/{ship}/announcements",
        "PUT /ships/{owner}/{ship}/announcements",
        "GET /ships/{owner}/{ship}/appointees",
        "GET /ships/{owner}/{ship}/appointees/{appointee}",
        "GET /ships/{owner}/{ship}/astronomers",
        "GET /ships/{owner}/{ship}/badges",
        "POST /ships/{owner}/{ship}/badges",
        "DELETE /ships/{owner}/{ship}/badges/{name}",
        "GET /ships/{owner}/{ship}/badges/{name}",
        "GET /ships/{owner}/{ship}/bells",
        "POST /ships/{owner}/{ship}/bells",
        "DELETE /ships/{owner}/{ship}/bells/{id}",
        "GET /ships/{owner}/{ship}/bells/{id}",
        "POST /ships/{owner}/{ship}/bells/{id}/drill",
        "POST /ships/{owner}/{ship}/berths",
        "GET /ships/{owner}/{ship}/channels",
        "GET /ships/{owner}/{ship}/channels/{channel}",
        "GET /ships/{owner}/{ship}/chart/collaboration",
        "GET /ships/{owner}/{ship}/chart/engine_activity",
        "GET /ships/{owner}/{ship}/chart/fuel_consumption",
        "GET /ships/{owner}/{ship}/chart/night_watch",
        "GET /ships/{owner}/{ship}/chart/shipwrights",
        "GET /ships/{owner}/{ship}/decks",
        "GET /ships/{owner}/{ship}/documents",
        "DELETE /ships/{owner}/{ship}/documents/{id}",
        "GET /ships/{owner}/{ship}/documents/{id}",
        "GET /ships/{owner}/{ship}/entries",
        "GET /ships/{owner}/{ship}/entries/{hash}",
        "GET /ships/{owner}/{ship}/entries/{hash}/mentions",
        "POST /ships/{owner}/{ship}/entries/{hash}/mentions",
        "GET /ships/{owner}/{ship}/faults",
        "POST /ships/{owner}/{ship}/faults",
        "GET /ships/{owner}/{ship}/faults/{number}",
        "DELETE /ships/{owner}/{ship}/faults/{number}/badges",
        "GET /ships/{owner}/{ship}/faults/{number}/badges",
        "POST /ships/{owner}/{ship}/faults/{number}/badges",
        "PUT /ships/{owner}/{ship}/faults/{number}/badges",
        "DELETE /ships/{owner}/{ship}/faults/{number}/badges/{name}",
        "GET /ships/{owner}/{ship}/faults/{number}/mentions",
        "POST /ships/{owner}/{ship}/faults/{number}/mentions",
        "GET /ships/{owner}/{ship}/faults/{number}/sightings",
        "GET /ships/{owner}/{ship}/flags",
        "GET /ships/{owner}/{ship}/landmarks",
        "POST /ships/{owner}/{ship}/landmarks",
        "DELETE /ships/{owner}/{ship}/landmarks/{number}",
        "GET /ships/{owner}/{ship}/landmarks/{number}",
        "GET /ships/{owner}/{ship}/landmarks/{number}/badges",
        "GET /ships/{owner}/{ship}/launches",
        "POST /ships/{owner}/{ship}/launches",
        "DELETE /ships/{owner}/{ship}/launches/{id}",
        "GET /ships/{owner}/{ship}/launches/{id}",
        "GET /ships/{owner}/{ship}/launches/{id}/cargos",
        "POST /ships/{owner}/{ship}/log/crates",
        "GET /ships/{owner}/{ship}/log/crates/{hash}",
        "POST /ships/{owner}/{ship}/log/entries",
        "GET /ships/{owner}/{ship}/log/entries/{hash}",
        "POST /ships/{owner}/{ship}/log/flags",
        "GET /ships/{owner}/{ship}/log/flags/{hash}",
        "POST /ships/{owner}/{ship}/log/holds",
        "GET /ships/{owner}/{ship}/log/holds/{hash}",
        "GET /ships/{owner}/{ship}/log/marks",
        "POST /ships/{owner}/{ship}/log/marks",
        "GET /ships/{owner}/{ship}/manual",
        "GET /ships/{owner}/{ship}/mentions",
        "DELETE /ships/{owner}/{ship}/mentions/{id}",
        "GET /ships/{owner}/{ship}/mentions/{id}",
        "GET /ships/{owner}/{ship}/pins",
        "POST /ships/{owner}/{ship}/pins",
        "DELETE /ships/{owner}/{ship}/pins/{id}",
        "GET /ships/{owner}/{ship}/pins/{id}",
        "GET /ships/{owner}/{ship}/registrants",
        "DELETE /ships/{owner}/{ship}/registration",
        "GET /ships/{owner}/{ship}/registration",
        "PUT /ships/{owner}/{ship}/registration",
        "GET /ships/{owner}/{ship}/shareholders",
        "DELETE /ships/{owner}/{ship}/shareholders/{sailor}",
        "GET /ships/{owner}/{ship}/shareholders/{sailor}",
        "PUT /ships/{owner}/{ship}/shareholders/{sailor}",
        "GET /ships/{owner}/{ship}/shipwrights",
        "GET /ships/{owner}/{ship}/shipyards",
        "GET /ships/{owner}/{ship}/sightings",
        "GET /ships/{owner}/{ship}/tows",
        "POST /ships/{owner}/{ship}/tows",
        "GET /ships/{owner}/{ship}/tows/{number}",
        "GET /ships/{owner}/{ship}/tows/{number}/berth",
        "PUT /ships/{owner}/{ship}/tows/{number}/berth",
        "GET /ships/{owner}/{ship}/tows/{number}/entries",
        "GET /ships/{owner}/{ship}/tows/{number}/mentions",
        "PUT /ships/{owner}/{ship}/tows/{number}/mentions",
        "GET /ships/{owner}/{ship}/tows/{number}/pages",
        "GET /ships/{owner}/{ship}/twins",
        "POST /ships/{owner}/{ship}/twins",
        "GET /ships/{owner}/{ship}/weathers/{mark}",
        "POST /ships/{owner}/{ship}/weathers/{mark}",
        "GET /sightings",
        "GET /tide_limit",
        "GET /winds",
};

static void fail(const char *what, const char *which)
{
        fprintf(stderr, "%s: %s\n", which, what);
        exit(1);
}

static int method_number(const char *name)
{
        static const char *const names[] = { "GET",   "HEAD",   "POST",   "PUT",
                                             "PATCH", "DELETE", "OPTIONS" };

        for (int i = 0; i < WEIR_CUSTOM; i++) {
                if (!strcmp(name, names[i]))
                        return i;
        }
        fail("not a method", name);
        return -1;
}

static void add(struct bench_set *set, int method, const char *pattern)
{
        struct bench_route *grown = set->route;

        if ((set->n & (set->n - 1)) == 0)
                grown = realloc(grown, (set->n ? 2 * set->n : 1) * sizeof(*grown));
        if (!grown)
                fail("no memory", pattern);
        set->route = grown;
        set->route[set->n] = (struct bench_route){ method, strdup(pattern) };
        if (!set->route[set->n++].pattern)
                fail("no memory", pattern);
}

void bench_set_free(struct bench_set *set)
{
        for (size_t i = 0; i < set->n; i++)
                free(set->route[i].pattern);
        free(set->route);
}

/* ---- From a file. ---- */

/* ":b" becomes "{b}", "*c" becomes "{c...}". */
static void convert(const char *path, char *to)
{
        while (*path) {
                char kind = *path++;
                int len = (int)strcspn(path, "/");

                if (kind != ':' && kind != '*') {
                        *to++ = kind;
                        continue;
                }
                to += sprintf(to, kind == '*' ? "{%.*s...}" : "{%.*s}", len, path);
                path += len;
        }
        *to = '\0';
}

struct bench_set bench_set_load(const char *file, const char *name)
{
        struct bench_set set = { 0 };
        FILE *in = fopen(file, "r");
        char line[1000], own[100], method[100], path[800], pattern[3200];

        if (!in)
                fail("cannot be read", file);
        while (fgets(line, sizeof(line), in)) {
                if (sscanf(line, "%99s %99s %799s", own, method, path) != 3)
                        fail("is no set, method and path", line);
                if (strcmp(own, name) != 0)
                        continue;
                convert(path, pattern);
                add(&set, method_number(method), pattern);
        }
        fclose(in);
        if (set.n == 0)
                fail("has no route of the set", file);
        return set;
}

/* ---- Written down and generated. ---- */

struct bench_set bench_set_fleet(void)
{
        struct bench_set set = { 0 };

        for (size_t i = 0; i < sizeof(fleet) / sizeof(fleet[0]); i++) {
                const char *space = strchr(fleet[i], ' ');
                char method[16];

                snprintf(method, sizeof(method), "%.*s", (int)(space - fleet[i]), fleet[i]);
                add(&set, method_number(method), space + 1);
        }
        return set;
}

struct bench_set bench_set_services(void)
{
        static const char *const first[] = { "order", "stock", "invoice", "customer", "catalog",
                                             "media", "report", "ledger", "shipping", "staff" };
        static const char *const second[] = { "archive", "import", "review", "planning", "alerts",
                                              "metrics", "access", "quality", "search", "sync" };
        static const char *const things[] = { "items",    "batches",    "jobs",     "accounts",
                                              "contacts", "templates",  "policies", "snapshots",
                                              "regions",  "attachments" };
        static const struct {
                int         method;
                const char *tail;
        } shape[] = {
                { WEIR_GET, "" },
                { WEIR_POST, "" },
                { WEIR_GET, "/recent" },
                { WEIR_GET, "/{id}" },
                { WEIR_PUT, "/{id}" },
                { WEIR_DELETE, "/{id}" },
                { WEIR_GET, "/{id}/revisions" },
                { WEIR_POST, "/{id}/revisions" },
                { WEIR_GET, "/{id}/revisions/{number}" },
                { WEIR_PATCH, "/{id}/owner" },
        };
        struct bench_set set = { 0 };

        for (unsigned i = 0; i < 10000; i++) {
                char pattern[200];

                snprintf(pattern, sizeof(pattern), "/v1/%s-%s/%s%s", first[i / 1000],
                         second[i / 100 % 10], things[i / 10 % 10], shape[i % 10].tail);
                add(&set, shape[i % 10].method, pattern);
        }
        return set;
}
