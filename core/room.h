/*
 * room.h - how a loop tells the door, which waits for that, that a connection has ended.
 *
 *      door                                    loop
 *      wanted = true     (seq_cst)             its load falls  (seq_cst)
 *      is there room?    (seq_cst)             wanted?         -> wanted = false, write to fd
 *
 * Either the door sees the room, or the loop sees that it waits.
 */
#ifndef WEIR_CORE_ROOM_H
#define WEIR_CORE_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct weir__room {
        int         fd; /* an eventfd in the door's epoll set; unused where the door never waits */
        atomic_bool wanted;
};

/* Any thread, when a connection has ended. */
static inline void weir__room_made(struct weir__room *room)
{
        uint64_t one = 1;

        if (atomic_load(&room->wanted) && atomic_exchange(&room->wanted, false) &&
            write(room->fd, &one, sizeof(one)) < 0)
                return; /* the counter is full: the door is being woken */
}

#endif
