/* fuzz_kit.h - what the fuzz targets share. */
#ifndef WEIR_TESTS_FUZZ_KIT_H
#define WEIR_TESTS_FUZZ_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <weir/test.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what did not hold: after the optimizer the trace names the function alone. */
#define require(ok) ((ok) ? (void)0 : refuted(__FILE__, __LINE__, #ok))

_Noreturn static inline void refuted(const char *file, int line, const char *claim)
{
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, claim);
        abort();
}

/* The byte that two hexadecimal digits make, read as slowly as the decoders are quick; or -1. */
static inline int hex_byte(const char *at, const char *end)
{
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        int byte = 0;

        if (end - at < 2)
                return -1;
        for (int i = 0; i < 2; i++) {
                const char *digit = memchr(digits, at[i], sizeof(digits) - 1);

                if (!digit)
                        return -1;
                byte = byte * 16 + (int)(digit - digits) % 16;
        }
        return byte;
}

/* Posts the input to "/". */
static inline struct weir_reply *post(struct weir *app, const char *type, const uint8_t *data,
                                      size_t size)
{
        char *request = malloc(size + 128);
        size_t head = (size_t)snprintf(request, 128, "POST /\nContent-Type: %s\n\n", type);
        struct weir_reply *reply;

        if (size)
                memcpy(request + head, data, size);
        reply = weir_ask_bytes(app, (struct weir_str){ request, head + size });
        require(reply);
        free(request);
        return reply;
}

#endif
