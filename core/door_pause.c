/*
 * door_pause.c - when the door does not accept: while there is no room, where clients are to wait
 * for that, and for a moment after descriptors have run out. Clients wait in the backlog then, and
 * the door looks at nothing that would wake it for them.
 */
#include "door.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PAUSE_NS 50000000ull /* 50 ms: nobody tells of a descriptor that has come free */

int weir__pause_init(struct weir__door *door)
{
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = &door->room };

        door->waits = door->app->options.over_connections == WEIR_OVER_WAIT;
        if (!door->waits)
                return 0;
        door->room.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (door->room.fd < 0 ||
            epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, door->room.fd, &event) < 0)
                return -errno;
        return 0;
}

void weir__pause_finish(struct weir__door *door)
{
        if (door->room.fd > 0)
                close(door->room.fd);
        door->room.fd = 0;
}

void weir__pause_begin(struct weir__door *door, const char *why)
{
        door->paused_until_ns = weir__now(&weir__system_clock) + PAUSE_NS;
        if (!door->warned)
                weir_log(&door->app->root, WEIR_LOG_WARNING,
                         "cannot accept: %s; clients wait: raise the limit of open files "
                         "(ulimit -n) or lower max_connections",
                         why);
        door->warned = true;
}

void weir__pause_woken(const struct weir__door *door)
{
        uint64_t count;

        if (read(door->room.fd, &count, sizeof(count)) < 0)
                return; /* the next look is due anyhow */
}

/* A loop that makes room from now on says so. */
static bool no_room(struct weir__door *door)
{
        if (!door->waits || !weir__door_is_full(door))
                return false;
        atomic_store(&door->room.wanted, true);
        return weir__door_is_full(door);
}

static void look_at_sockets(struct weir__door *door, bool look)
{
        for (unsigned i = 0; i < door->n_sockets; i++) {
                struct epoll_event event = { .events = look ? EPOLLIN : 0,
                                             .data.ptr = &door->sockets[i] };

                epoll_ctl(door->epoll_fd, EPOLL_CTL_MOD, door->sockets[i].fd, &event);
        }
        door->looks_away = !look;
}

int weir__pause_turn(struct weir__door *door)
{
        uint64_t now = door->paused_until_ns ? weir__now(&weir__system_clock) : 0;
        bool paused;

        if (now >= door->paused_until_ns)
                door->paused_until_ns = 0;
        paused = door->paused_until_ns || no_room(door);
        if (paused && !door->looks_away)
                WEIR__COUNT(door, accept_pauses);
        if (paused != door->looks_away)
                look_at_sockets(door, !paused);
        return door->paused_until_ns ? (int)((door->paused_until_ns - now) / 1000000) + 1 : -1;
}
