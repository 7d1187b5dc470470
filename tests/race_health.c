/*
 * race_health.c - probes, checks that turn around or take too long, marks, restarts and stops, all
 * at once, for ThreadSanitizer.
 */
#include "race_kit.h"

#include <weir/health.h>

#define ROUNDS 10
#define PROBES 3

static struct weir_health *health;
static struct weir        *app;
static atomic_bool         over;
static atomic_uint         runs, probes;
static uint16_t            port;

/* Now good, now bad, now too slow. */
static bool waver(void *arg, char *why, size_t size)
{
        unsigned n = atomic_fetch_add(&runs, 1);

        (void)arg;
        if (n % 3 == 2)
                usleep(3000);
        snprintf(why, size, "run %u", n);
        return n % 3 != 1;
}

static void *probe(void *arg)
{
        static const char *const requests[] = {
                "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /readyz?verbose HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /startupz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        };
        char buf[4096];

        while (!atomic_load(&over)) {
                int status = net_once(port, arg ? arg : requests[rand() % 3], buf, sizeof(buf));

                check(status == -1 || status == 200 || status == 503, buf);
                atomic_fetch_add(&probes, status != -1);
                weir_lag_ns(app);
                weir_mark_started(health);
                check(weir_state(app) <= WEIR_CANCEL, "no state");
        }
        return NULL;
}

static void one_round(void)
{
        static const struct weir_check_options quick = { .interval_ms = 2, .timeout_ms = 1 };
        pthread_t threads[PROBES];
        unsigned from = atomic_load(&probes);

        app = weir_new(&(struct weir_options){ .loops = 2, .log = drop_log });
        health = weir_use_health(
                app, &(struct weir_health_options){ .manual_start = true, .trusted = "127.0.0.1" });
        weir_health_check(health, "a", waver, NULL, &quick);
        weir_health_check(health, "b", waver, NULL, &quick);
        weir_listen(app, "127.0.0.1:0", NULL);
        check(weir_start(app) == 0, "does not start");
        port = weir_port(app, 0);
        atomic_store(&over, false);
        for (int i = 0; i < PROBES; i++)
                pthread_create(&threads[i], NULL, probe, NULL);
        while (atomic_load(&probes) - from < 50)
                sched_yield();
        check(weir_stop(app) == 0, "does not stop");
        atomic_store(&over, true);
        for (int i = 0; i < PROBES; i++)
                pthread_join(threads[i], NULL);
        check(weir_start(app) == 0 && weir_stop(app) == 0, "does not start again");
        weir_free(app);
}

int main(void)
{
        int rounds = getenv("WEIR_SOAK") ? 50 * ROUNDS : ROUNDS;

        for (int i = 0; i < rounds; i++)
                one_round();
        printf("race_health: %u runs of checks, %u probes\n1 passed, 0 failed\n",
               atomic_load(&runs), atomic_load(&probes));
        return 0;
}
