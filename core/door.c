/*
 * door.c - the acceptor.
 *
 * It takes all connections that are ready, and hands each to the loop with the fewest. When
 * descriptors run out it pauses for a moment, so that it does not spin: clients wait in the
 * backlog.
 */
#include "door.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS   50
#define MAX_QUEUED 65536 /* clients that go on connecting must not hold up a stop */

static bool watch(int epoll_fd, int fd, uint32_t events, void *what)
{
        struct epoll_event event = { .events = events, .data.ptr = what };

        return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

int weir__door_init(struct weir__door *door, int wake_fd)
{
        door->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (door->epoll_fd < 0 || !watch(door->epoll_fd, wake_fd, EPOLLIN, NULL))
                return -errno;
        for (unsigned i = 0; i < door->n_sockets; i++) {
                if (!watch(door->epoll_fd, door->sockets[i].fd, EPOLLIN, &door->sockets[i]))
                        return -errno;
        }
        return weir__callers_init(door);
}

static struct weir__worker *least_loaded(const struct weir__door *door, unsigned *total)
{
        struct weir__worker *best = door->workers[0];
        unsigned lowest = UINT32_MAX;

        *total = 0;
        for (unsigned i = 0; i < door->n_workers; i++) {
                unsigned load = weir__worker_load(door->workers[i]);

                *total += load;
                if (load < lowest) {
                        lowest = load;
                        best = door->workers[i];
                }
        }
        return best;
}

bool weir__door_is_full(const struct weir__door *door)
{
        unsigned total;

        least_loaded(door, &total);
        return total + door->n_callers >= door->max_connections;
}

void weir__door_hand_over(struct weir__door *door, const struct weir__arrival *arrival)
{
        unsigned total;
        struct weir__worker *worker = least_loaded(door, &total);

        if (total + door->n_callers >= door->max_connections ||
            !weir__worker_take(worker, arrival)) {
                WEIR__COUNT(door, connections_refused);
                close(arrival->fd);
        }
}

/* Accepts one; false when there is none or it cannot be. */
static bool accept_one(struct weir__door *door, struct weir__socket *sock)
{
        struct weir__arrival arrival = { .address_len = sizeof(arrival.address) };

        arrival.fd = accept4(sock->fd, (struct sockaddr *)&arrival.address, &arrival.address_len,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (arrival.fd >= 0) {
                if (sock->path) { /* the client's own path, nearly always none, says nothing */
                        arrival.address.ss_family = AF_UNIX;
                        arrival.address_len = sizeof(sa_family_t);
                }
                if (sock->proxy_protocol)
                        weir__caller_take(door, sock, &arrival);
                else
                        weir__door_hand_over(door, &arrival);
                return true;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                door->paused = true;
                if (!door->warned)
                        weir_log(&door->app->root, WEIR_LOG_WARNING,
                                 "cannot accept: %s; clients "
                                 "wait: raise the limit of open files (ulimit -n) or lower "
                                 "max_connections",
                                 strerror(errno));
                door->warned = true;
        }
        return errno == ECONNABORTED || errno == EINTR;
}

static void pause_for(int ms)
{
        struct timespec time = { .tv_nsec = ms * 1000000l };

        nanosleep(&time, NULL);
}

static uint64_t now_ms(void)
{
        return weir__now(&weir__system_clock) / 1000000;
}

void weir__door_run(struct weir__door *door, int wait_ms)
{
        uint64_t end_ms = wait_ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)wait_ms;
        struct epoll_event events[16];
        uint64_t now = 0;

        while (wait_ms < 0 || (now = now_ms()) < end_ms) {
                int left = wait_ms < 0 ? -1 : (int)(end_ms - now);
                int due = weir__callers_expire(door);
                int n = epoll_wait(door->epoll_fd, events, 16,
                                   due >= 0 && (left < 0 || due < left) ? due : left);

                for (int i = 0; i < n; i++) {
                        if (!events[i].data.ptr)
                                return;
                        if (events[i].data.ptr == door) {
                                weir__callers_turn(door);
                                continue;
                        }
                        for (int batch = 0; batch < 256; batch++) {
                                if (!accept_one(door, events[i].data.ptr))
                                        break;
                        }
                }
                if (door->paused)
                        pause_for(PAUSE_MS);
                door->paused = false;
        }
}

void weir__door_close(struct weir__door *door)
{
        for (unsigned i = 0; i < door->n_sockets; i++) {
                for (int n = 0; n < MAX_QUEUED && door->sockets[i].fd >= 0; n++) {
                        if (!accept_one(door, &door->sockets[i]))
                                break;
                }
                weir__listen_close(&door->sockets[i]);
        }
        weir__callers_turn(door);
        weir__callers_finish(door);
}

void weir__door_finish(struct weir__door *door)
{
        weir__callers_finish(door);
        for (unsigned i = 0; i < door->n_sockets; i++)
                weir__listen_close(&door->sockets[i]);
        if (door->epoll_fd >= 0)
                close(door->epoll_fd);
}
