/*
 * proxy.c - the PROXY protocol, versions 1 and 2.
 *
 * Stricter than the document asks for: CR and LF stand in a line of version 1 as its end alone, so
 * that no request is taken for the rest of it, and TLVs must fill what is behind the addresses. A
 * connection that is the proxy's own (LOCAL), or of a kind that is not known here (UNKNOWN, UNSPEC,
 * datagrams), keeps the address it came from. The destination is checked, and used by nobody.
 */
#include "proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <weir/str.h>

#define LINE_MAX_LEN 107 /* bytes of version 1, the line end included */
#define HEAD_LEN     16  /* bytes of version 2 before the addresses   */
#define TLV_CRC32C   3

static const uint8_t signature[12] = { 13, 10, 13, 10, 0, 13, 10, 'Q', 'U', 'I', 'T', 10 };
static const uint8_t greeting[6] = { 'P', 'R', 'O', 'X', 'Y', ' ' };

/* Where the header puts the other end of the connection. */
struct source {
        struct sockaddr_storage *address;
        socklen_t               *len;
};

/* `bytes` are those of the address, `port` is in network order too. */
static void set_source(struct source source, sa_family_t family, const void *bytes, in_port_t port)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = port };

        *source.address = (struct sockaddr_storage){ .ss_family = family };
        *source.len = sizeof(sa_family_t);
        if (family == AF_INET) {
                memcpy(&in.sin_addr, bytes, 4);
                memcpy(source.address, &in, *source.len = sizeof(in));
        } else if (family == AF_INET6) {
                memcpy(&in6.sin6_addr, bytes, 16);
                memcpy(source.address, &in6, *source.len = sizeof(in6));
        }
}

/* ---- Version 1: a line. ---- */

/* Cuts the word before the next blank off the front, and that blank; absent behind the last. */
static struct weir_str take_word(struct weir_str *line)
{
        const char *blank = line->len ? memchr(line->ptr, ' ', line->len) : NULL;
        struct weir_str word = { line->ptr, blank ? (size_t)(blank - line->ptr) : line->len };

        *line = blank ? (struct weir_str){ blank + 1, line->len - word.len - 1 }
                      : (struct weir_str){ 0 };
        return word;
}

static bool take_address(struct weir_str *line, int family, uint8_t out[16])
{
        struct weir_str word = take_word(line);
        char text[INET6_ADDRSTRLEN];

        if (!word.len || word.len >= sizeof(text) || memchr(word.ptr, '\0', word.len))
                return false;
        memcpy(text, word.ptr, word.len);
        text[word.len] = '\0';
        return inet_pton(family, text, out) == 1; /* which takes no leading zeros for IPv4 */
}

static bool take_port(struct weir_str *line, in_port_t *port)
{
        struct weir_str word = take_word(line);
        unsigned value = 0;

        if (!word.len || word.len > 5 || (word.len > 1 && *word.ptr == '0'))
                return false;
        for (size_t i = 0; i < word.len; i++) {
                if (word.ptr[i] < '0' || word.ptr[i] > '9')
                        return false;
                value = value * 10 + (unsigned)(word.ptr[i] - '0');
        }
        *port = htons((uint16_t)value);
        return value <= 65535;
}

/* What stands between "PROXY " and the line end. */
static bool read_line(struct weir_str line, struct source source)
{
        struct weir_str kind = take_word(&line);
        int family = weir_str_is(kind, "TCP4") ? AF_INET : AF_INET6;
        in_port_t port, other_port;
        uint8_t address[16], other[16];

        if (weir_str_is(kind, "UNKNOWN"))
                return true;
        if (family == AF_INET6 && !weir_str_is(kind, "TCP6"))
                return false;
        if (!take_address(&line, family, address) || !take_address(&line, family, other) ||
            !take_port(&line, &port) || !take_port(&line, &other_port) || line.ptr)
                return false;
        set_source(source, (sa_family_t)family, address, port);
        return true;
}

static int read_v1(const char *bytes, size_t len, struct source source)
{
        size_t max = len < LINE_MAX_LEN ? len : LINE_MAX_LEN;
        size_t at = sizeof(greeting);

        while (at < max && bytes[at] != '\r' && bytes[at] != '\n')
                at++;
        if (at + 1 >= LINE_MAX_LEN || (at < max && bytes[at] == '\n'))
                return -1;
        if (at + 1 >= max)
                return 0;
        if (bytes[at + 1] != '\n')
                return -1;
        bytes += sizeof(greeting);
        return read_line((struct weir_str){ bytes, at - sizeof(greeting) }, source) ? (int)at + 2
                                                                                     : -1;
}

/* ---- Version 2: binary. ---- */

/* CRC-32C (RFC 9260 appendix A) over a header, with four zeros in place of the sum at `sum`. */
static uint32_t checksum(const uint8_t *bytes, size_t len, size_t sum)
{
        uint32_t crc = UINT32_MAX;

        for (size_t i = 0; i < len; i++) {
                crc ^= i - sum < 4 ? 0 : bytes[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
        return ~crc;
}

static uint32_t load32(const uint8_t *bytes)
{
        return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
               bytes[3];
}

/* Do the TLVs from `at` on fill the header, and is a checksum among them right? */
static bool check_tlvs(const uint8_t *bytes, size_t len, size_t at)
{
        bool summed = false;

        while (len - at >= 3) {
                size_t size = (size_t)bytes[at + 1] << 8 | bytes[at + 2];

                if (size > len - at - 3)
                        return false;
                if (bytes[at] == TLV_CRC32C) {
                        if (summed || size != 4 ||
                            load32(bytes + at + 3) != checksum(bytes, len, at + 3))
                                return false;
                        summed = true; /* one is enough, and a second would cost as much */
                }
                at += 3 + size;
        }
        return at == len;
}

/* Addresses, for a family and a transport that are both known. */
static size_t block_len(uint8_t family)
{
        static const uint8_t lengths[4] = { 0, 12, 36, 216 };

        return family & 15 ? lengths[family >> 4 & 3] : 0;
}

static bool read_block(const uint8_t *bytes, size_t len, struct source source)
{
        const uint8_t *block = bytes + HEAD_LEN;
        uint8_t family = bytes[13];
        in_port_t port;

        if (!block_len(family))
                return true;
        if (!check_tlvs(bytes, len, HEAD_LEN + block_len(family)))
                return false;
        if (family == 0x11) {
                memcpy(&port, block + 8, 2);
                set_source(source, AF_INET, block, port);
        } else if (family == 0x21) {
                memcpy(&port, block + 32, 2);
                set_source(source, AF_INET6, block, port);
        } else if (family == 0x31) {
                set_source(source, AF_UNIX, NULL, 0);
        }
        return true;
}

static int read_v2(const uint8_t *bytes, size_t len, struct source source)
{
        size_t size;

        if (len > 12 && bytes[12] != 0x20 && bytes[12] != 0x21)
                return -1;
        if (len < HEAD_LEN)
                return 0;
        size = HEAD_LEN + ((size_t)bytes[14] << 8 | bytes[15]);
        if (size > WEIR__PROXY_MAX)
                return -1;
        if (bytes[12] == 0x20) /* LOCAL: the rest means nothing */
                return len < size ? 0 : (int)size;
        if (bytes[13] >> 4 > 3 || (bytes[13] & 15) > 2 || size < HEAD_LEN + block_len(bytes[13]))
                return -1;
        if (len < size)
                return 0;
        return read_block(bytes, size, source) ? (int)size : -1;
}

/* ---- Both. ---- */

static bool starts(const void *bytes, size_t len, const uint8_t *with, size_t with_len)
{
        return memcmp(bytes, with, len < with_len ? len : with_len) == 0;
}

int weir__proxy_read(const void *bytes, size_t len, struct sockaddr_storage *address,
                     socklen_t *address_len)
{
        struct source source = { address, address_len };

        if (len == 0)
                return 0;
        if (starts(bytes, len, signature, sizeof(signature)))
                return read_v2(bytes, len, source);
        if (starts(bytes, len, greeting, sizeof(greeting)))
                return len < sizeof(greeting) ? 0 : read_v1(bytes, len, source);
        return -1;
}
