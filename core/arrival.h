/* arrival.h - a connection on its way from the door to a loop. */
#ifndef WEIR_CORE_ARRIVAL_H
#define WEIR_CORE_ARRIVAL_H

#include <stdbool.h>
#include <sys/socket.h>

struct weir__client;

struct weir__arrival {
        int                     fd;
        socklen_t               address_len;
        bool                    half_close; /* of its listener: leave.c                          */
        struct weir__client    *client;     /* to tell of its end; NULL: nobody                  */
        struct sockaddr_storage address;
};

#endif
