/* run.c - serving until a signal: what a main() needs. */
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Until stopped; each signal asks for more. */
static void wait_signals(struct weir *app, int signal_fd)
{
        struct weir__server *server = app->app->server;
        struct pollfd fds[2] = { { .fd = weir__server_stopped_fd(server), .events = POLLIN },
                                 { .fd = signal_fd, .events = POLLIN } };
        static const char *const what[] = {
                "stopping: requests in flight finish; a second signal cuts them off",
                "cutting off what is still in flight; a third signal ends the process",
        };
        struct signalfd_siginfo info;
        int signals = 0;

        while (weir__server_runs(server)) {
                if (poll(fds, 2, -1) < 0 || !(fds[1].revents & POLLIN) ||
                    read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
                        continue;
                signals++;
                if (signals == 3)
                        _exit(1);
                weir_log(app, WEIR_LOG_INFO, "%s", what[signals - 1]);
                weir__server_ask(server, signals == 1 ? WEIR__STOP : WEIR__HURRY);
        }
}

static int open_signals(struct weir *app, const sigset_t *ours)
{
        int fd = signalfd(-1, ours, SFD_NONBLOCK | SFD_CLOEXEC);

        if (fd < 0 && app)
                weir__start_error(app->app, "weir_run(): no descriptor for signals: %s",
                                  strerror(errno));
        return fd;
}

/* A pod is still sent requests for a while after it was told to stop. */
int64_t weir__run_delay_ms(int64_t option, const char *kubernetes)
{
        return option == 0 && kubernetes ? 5000 : option;
}

/* What only a program that is served by itself says and reads of the process around it. */
static int start(struct weir *app)
{
        struct weir_options *options = app ? &app->app->options : NULL;
        int result;

        if (!app)
                return -1;
        options->drain_delay_ms = weir__run_delay_ms(options->drain_delay_ms,
                                                     getenv("KUBERNETES_SERVICE_HOST"));
        app->app->notifies = true;
        result = weir_start(app);
        app->app->notifies = false;
        return result;
}

int weir_run(struct weir *app)
{
        sigset_t ours, before;
        int signal_fd, result = -1;

        sigemptyset(&ours);
        sigaddset(&ours, SIGINT);
        sigaddset(&ours, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ours, &before);
        signal_fd = open_signals(app, &ours);
        if (signal_fd >= 0)
                result = start(app);
        if (result == 0) {
                wait_signals(app, signal_fd);
                weir_stop(app);
        }
        if (signal_fd >= 0)
                close(signal_fd);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return result;
}

int weir_main(struct weir *app)
{
        int result = weir_run(app);

        if (result < 0)
                fprintf(stderr, "%s: %s\n", app ? app->app->name : "weir", weir_error(app));
        weir_free(app);
        return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
