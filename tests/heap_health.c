/* heap_health.c - health where each call of malloc() fails in its turn: nothing leaks. */
#include "heap.h"

#include <stdio.h>
#include <weir/health.h>
#include <weir/test.h>

static void check(bool ok, const char *what)
{
        if (ok)
                return;
        fprintf(stderr, "heap_health: %s\n", what);
        exit(1);
}

static void drop_log(void *arg, enum weir_level level, const char *line)
{
        (void)arg, (void)level, (void)line;
}

static bool is_good(void *arg, char *why, size_t size)
{
        (void)arg, (void)why, (void)size;
        return true;
}

static void one(struct weir *app, const char *request)
{
        struct weir_reply *reply = weir_ask(app, request);

        check(!reply || reply->status == 200 || reply->status >= 500, request);
        weir_reply_free(reply);
}

/* In memory, then with its threads. */
static void live(void)
{
        struct weir *app = weir_new(&(struct weir_options){ .loops = 1, .log = drop_log });
        struct weir_health *health = weir_use_health(
                app, &(struct weir_health_options){ .trusted = "unix" });

        weir_health_check(health, "db", is_good, NULL, NULL);
        weir_listen(app, "127.0.0.1:0", NULL);
        if (app) {
                check(health || weir_error(app), "no handle and no error");
                one(app, "GET /readyz?verbose");
                one(app, "GET /readyz\nAccept: application/json");
                check(weir_start(app) == 0 || weir_error(app), "failed without a reason");
                check(weir_stop(app) == 0, "weir_stop() failed");
        }
        weir_free(app);
}

int main(void)
{
        unsigned long n = fail_each(live, false), m = fail_each(live, true);

        printf("heap_health: %lu and %lu calls failed\n", n, m);
        check(n > 20 && m > 20, "is malloc() the one above?");
        printf("2 passed, 0 failed\n");
        return 0;
}
