/* dump.c - every route with its chain, as text. */
#include "app.h"

#include <stdio.h>
#include <stdlib.h>

static const char *phase_name(enum weir_phase phase)
{
        static const char *const names[] = {
                "app",  "observe",  "early",   "deadline",  "rate",  "concurrency",
                "auth", "identity", "breaker", "transform", "serve",
        };

        return names[phase];
}

/* "GET /books/{id}  observe:log auth:api_key(body) -> handler" */
static void dump_route(FILE *out, const struct weir__route *route, const struct weir__place *place)
{
        const struct weir__plan *plan = &place->plan;
        const struct weir *scope = route->scope;

        fprintf(out, "%-7s %s%s%s", weir__method_token(scope->app, route->method),
                scope->host ? scope->host : "", scope->host ? " " : "", route->pattern);
        for (uint16_t i = 0; i + 1 < plan->n_links; i++) {
                const struct weir__link *link = &plan->links[i];

                fprintf(out, "%s%s:%s", i ? " " : "  ", phase_name(link->phase), link->mw->name);
                if (link->at == WEIR_AT_BODY)
                        fprintf(out, link->mw->at == WEIR_AT_BODY ? "(body)" : "(raised to body)");
        }
        fprintf(out, "  -> %s%s\n", place->name ? place->name : "handler",
                plan->streams ? " (streams)" : "");
}

char *weir_dump(struct weir *root)
{
        struct weir__app *app = root ? root->app : NULL;
        const struct weir__place *place;
        char *text = NULL;
        size_t size = 0;
        FILE *out;

        if (!app || weir__freeze(app) < 0) {
                const char *error = weir_error(root);

                return strdup(error ? error : "");
        }
        out = open_memstream(&text, &size);
        if (!out)
                return NULL;
        place = app->tree->route;
        for (const struct weir__route *route = app->routes; route; route = route->next)
                dump_route(out, route, place++);
        if (fclose(out) != 0) {
                free(text);
                return NULL;
        }
        return text;
}
