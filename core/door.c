/*
 * door.c - the acceptor.
 *
 * It takes all connections that are ready, and hands each to the loop with the fewest.
 */
#include "door.h"
#include "network.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENDING_MS  3     /* for clients that are half in: their handshake completes */
#define MAX_QUEUED 65536 /* clients that go on connecting must not hold up a stop */

static bool watch(int epoll_fd, int fd, uint32_t events, void *what)
{
        struct epoll_event event = { .events = events, .data.ptr = what };

        return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static uint64_t limit_per_client(const struct weir__door *door)
{
        int64_t most = door->app->options.max_connections_per_client;

        return most == WEIR_INF ? 0 : (uint64_t)most;
}

int weir__door_init(struct weir__door *door, int wake_fd)
{
        int error;

        door->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (door->epoll_fd < 0 || !watch(door->epoll_fd, wake_fd, EPOLLIN, NULL))
                return -errno;
        for (unsigned i = 0; i < door->n_sockets; i++) {
                if (!watch(door->epoll_fd, door->sockets[i].fd, EPOLLIN, &door->sockets[i]))
                        return -errno;
        }
        if (!weir__refused_init(door))
                return -errno;
        if (!weir__clients_init(&door->clients, limit_per_client(door), &door->counters))
                return -ENOMEM;
        error = weir__pause_init(door);
        return error ? error : weir__callers_init(door);
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

uint64_t weir__door_lag_ns(const struct weir__door *door)
{
        uint64_t now = weir__now(&weir__system_clock), most = 0;

        for (unsigned i = 0; i < door->n_workers; i++) {
                struct weir__worker *worker = door->workers[i];
                uint64_t lag = worker ? weir__worker_lag_ns(worker, now) : 0;

                if (lag > most)
                        most = lag;
        }
        return most;
}

static bool is_trusted(const struct weir__networks *networks, const struct weir__address *address)
{
        return networks && weir__networks_have(networks, address);
}

/* Clients in one network are counted together, but for proxies, which bring them all. */
static enum weir__admission admit(struct weir__door *door, const struct weir__socket *sock,
                                  struct weir__arrival *arrival)
{
        struct weir__address from;

        if (!door->clients.limit)
                return WEIR__ADMITTED;
        from = weir__address_of(&arrival->address);
        if (is_trusted(sock->trusted, &from) || is_trusted(door->app->trusted, &from))
                return WEIR__ADMITTED;
        return weir__client_enter(&door->clients, &from, &arrival->client);
}

void weir__door_hand_over(struct weir__door *door, const struct weir__socket *sock,
                          struct weir__arrival *arrival)
{
        unsigned total;
        struct weir__worker *worker = least_loaded(door, &total);
        bool full = total + door->n_callers >= door->max_connections;
        enum weir__admission admission = full ? WEIR__ADMITTED : admit(door, sock, arrival);

        if (!full && admission == WEIR__ADMITTED && weir__worker_take(worker, arrival))
                return;
        weir__client_leave(arrival->client, &door->counters);
        if (admission == WEIR__OVER_LIMIT)
                WEIR__COUNT(door, connections_refused_per_client);
        else
                WEIR__COUNT(door, connections_refused);
        weir__door_refuse(door, arrival->fd);
}

/* A socket that others hold open too would stay in the set. */
static void close_socket(struct weir__door *door, struct weir__socket *sock)
{
        epoll_ctl(door->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL);
        weir__listen_close(sock);
}

/* Accepts one; false when there is none or it cannot be. */
static bool accept_one(struct weir__door *door, struct weir__socket *sock)
{
        struct weir__arrival arrival = { .address_len = sizeof(arrival.address),
                                         .half_close = sock->half_close };

        if (door->waits && weir__door_is_full(door))
                return false;
        arrival.fd = accept4(sock->fd, (struct sockaddr *)&arrival.address, &arrival.address_len,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (arrival.fd >= 0) {
                if (sock->is_unix) { /* the client's own path, nearly always none, says nothing */
                        arrival.address.ss_family = AF_UNIX;
                        arrival.address_len = sizeof(sa_family_t);
                }
                if (sock->proxy_protocol)
                        weir__caller_take(door, sock, &arrival);
                else
                        weir__door_hand_over(door, sock, &arrival);
                return true;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                weir__pause_begin(door, strerror(errno));
        if (errno == EINVAL) { /* it would be ready for ever */
                weir_log(&door->app->root, WEIR_LOG_ERROR,
                         "a listening socket was shut down by another process that has it");
                close_socket(door, sock);
                return false;
        }
        return errno == ECONNABORTED || errno == EINTR;
}

static uint64_t now_ms(void)
{
        return weir__now(&weir__system_clock) / 1000000;
}

static void take(struct weir__door *door, struct weir__socket *sock)
{
        for (int batch = 0; batch < 256; batch++) {
                if (!accept_one(door, sock))
                        break;
        }
}

/* What is due, and how long nothing is; -1: for ever. */
static int next_ms(struct weir__door *door, uint64_t end_ms)
{
        int due[] = { weir__callers_expire(door), weir__refused_turn(door),
                      weir__pause_turn(door) };
        uint64_t now = end_ms == UINT64_MAX ? 0 : now_ms();
        int least = end_ms == UINT64_MAX ? -1 : now < end_ms ? (int)(end_ms - now) : 0;

        for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
                if (due[i] >= 0 && (least < 0 || due[i] < least))
                        least = due[i];
        }
        return least;
}

void weir__door_run(struct weir__door *door, int wait_ms)
{
        uint64_t end_ms = wait_ms < 0 ? UINT64_MAX : now_ms() + (uint64_t)wait_ms;
        struct epoll_event events[16];

        do {
                int n = epoll_wait(door->epoll_fd, events, 16, next_ms(door, end_ms));

                for (int i = 0; i < n; i++) {
                        void *what = events[i].data.ptr;

                        if (!what)
                                return;
                        if (what == door)
                                weir__callers_turn(door);
                        else if (what == &door->room)
                                weir__pause_woken(door);
                        else if (what != &door->refused) /* next_ms() looks after those */
                                take(door, what);
                }
        } while (wait_ms < 0 || now_ms() < end_ms);
}

/* Whoever is queued is served, or told that there is no room. */
void weir__door_close(struct weir__door *door)
{
        door->waits = false;
        for (unsigned i = 0; i < door->n_sockets; i++)
                weir__listen_end(&door->sockets[i]);
        weir__door_run(door, ENDING_MS);
        for (unsigned i = 0; i < door->n_sockets; i++) {
                for (int n = 0; n < MAX_QUEUED; n++) {
                        if (!accept_one(door, &door->sockets[i]))
                                break;
                }
                close_socket(door, &door->sockets[i]);
        }
}

void weir__door_finish(struct weir__door *door)
{
        weir__callers_finish(door);
        weir__refused_finish(door);
        weir__pause_finish(door);
        weir__clients_finish(&door->clients);
        for (unsigned i = 0; i < door->n_sockets; i++)
                weir__listen_close(&door->sockets[i]);
        if (door->epoll_fd >= 0)
                close(door->epoll_fd);
}
