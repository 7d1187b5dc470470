/* fuzz_proxy.c - reads any PROXY header, whole and cut off at each byte. */
#include "fuzz_kit.h"
#include "proxy.h"

#include <netinet/in.h>

static const struct sockaddr_storage untouched = { .ss_family = 0x5555 };

/* The bytes lie at the end of their memory, so that a read past it is seen. */
static int read_exactly(const uint8_t *data, size_t size, struct sockaddr_storage *from,
                        socklen_t *len)
{
        uint8_t *copy = malloc(size ? size : 1);
        int result;

        memcpy(copy, data, size);
        *from = untouched;
        *len = 0;
        result = weir__proxy_read(copy, size, from, len);
        free(copy);
        return result;
}

static void check_source(int result, const struct sockaddr_storage *from, socklen_t len)
{
        if (result <= 0 || len == 0) {
                require(len == 0 && memcmp(from, &untouched, sizeof(untouched)) == 0);
                return;
        }
        if (from->ss_family == AF_INET)
                require(len == sizeof(struct sockaddr_in));
        else if (from->ss_family == AF_INET6)
                require(len == sizeof(struct sockaddr_in6));
        else
                require(from->ss_family == AF_UNIX && len == sizeof(sa_family_t));
}

/*
 * What is decided stays so: once a header is whole or refused, more bytes change nothing; and none
 * is whole before its last byte.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct sockaddr_storage from, before;
        socklen_t len, len_before;
        int result = read_exactly(data, size, &from, &len);

        require(result >= -1 && result <= (int)size && result <= WEIR__PROXY_MAX);
        check_source(result, &from, len);
        for (size_t i = 0; i < size && i < 300; i++) {
                int part = read_exactly(data, i, &before, &len_before);

                check_source(part, &before, len_before);
                if (result > 0)
                        require(part == (i < (size_t)result ? 0 : result));
                else if (result == 0)
                        require(part == 0);
                else
                        require(part <= 0);
                if (part > 0)
                        require(len == len_before && !memcmp(&from, &before, sizeof(from)));
        }
        return 0;
}
