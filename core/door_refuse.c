/*
 * door_refuse.c - connections for which there is no room: each is told so and closed slowly, since
 * its request may come in meanwhile, and a reset would overtake the answer.
 */
#include "door.h"

#include <unistd.h>

#define MAX_REFUSED 32 /* at a time; those beyond may not get to read it */

bool weir__refused_init(struct weir__door *door)
{
        return weir__lingers_init(&door->refused, door->epoll_fd, &door->refused, &door->counters);
}

void weir__door_refuse(struct weir__door *door, int fd)
{
        if (door->app->options.over_connections == WEIR_OVER_REFUSE ||
            !weir__wire_bare(fd, &weir__system_clock, 503, "Retry-After: 1\r\n"))
                close(fd);
        else
                weir__linger_add(&door->refused, fd, MAX_REFUSED, weir__now(&weir__system_clock));
}

int weir__refused_turn(struct weir__door *door)
{
        if (!door->refused.n)
                return -1;
        weir__lingers_turn(&door->refused, weir__now(&weir__system_clock));
        return weir__timer_wait_ms(&door->refused.timers, weir__now(&weir__system_clock));
}

void weir__refused_finish(struct weir__door *door)
{
        weir__lingers_finish(&door->refused);
        if (door->refused.fd > 0)
                close(door->refused.fd);
        door->refused.fd = 0;
}
