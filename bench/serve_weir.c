/*
 * serve_weir.c - the app under measurement as a server.
 *
 * usage: serve_weir PORT [ANSWER [CONNECTION_MEMORY]]         ANSWER: see subject.h
 */
#include "peers.h"
#include "subject.h"

int main(int argc, char **argv)
{
        const char *answer = argc > 2 ? argv[2] : "dynamic";
        char address[32];
        struct weir *app;

        snprintf(address, sizeof(address), "127.0.0.1:%lu",
                 peer_number(argv, argc, 1, UINT16_MAX, 8080));
        app = subject_new(answer, peer_number(argv, argc, 3, 1 << 20, 0), address);
        if (!app) {
                fprintf(stderr, "no answer \"%s\", see bench/subject.h\n", answer);
                return 2;
        }
        return weir_main(app);
}
