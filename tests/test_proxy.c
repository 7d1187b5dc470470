/* test_proxy.c - claims about the PROXY protocol, after proxy-protocol.txt of 2020/03/05. */
#include "proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define GET       "GET / HTTP/1.1\r\nHost: 192.168.0.11\r\n\r\n"

/* The same header, read at each length that it comes in: only the whole is one. */
static int read_slowly(const char *bytes, size_t len, struct sockaddr_storage *source)
{
        socklen_t source_len = 99;
        int wanted = weir__proxy_read(bytes, len, source, &source_len);

        for (size_t i = 0; i < len; i++) {
                struct sockaddr_storage other = { 0 };
                char *copy = malloc(i ? i : 1);
                int got;

                memcpy(copy, bytes, i);
                got = weir__proxy_read(copy, i, &other, &source_len);
                free(copy);
                if (wanted > 0)
                        cr_assert_eq(got, i < (size_t)wanted ? 0 : wanted, "%d at %zu", got, i);
                else
                        cr_assert_leq(got, 0, "%d at %zu", got, i);
        }
        return wanted;
}

/* "[address]:port" of the source that a header of `len` bytes with something behind it names. */
static const char *source_of(const char *bytes, size_t len, int header)
{
        static char text[80];
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        const struct sockaddr_in *in = (const void *)&from;
        const struct sockaddr_in6 *in6 = (const void *)&from;
        char host[INET6_ADDRSTRLEN] = "";

        cr_assert_eq(read_slowly(bytes, len, &from), header);
        if (from.ss_family == AF_UNSPEC)
                return "as it was";
        if (from.ss_family == AF_UNIX)
                return "unix";
        inet_ntop(from.ss_family,
                  from.ss_family == AF_INET ? (const void *)&in->sin_addr : &in6->sin6_addr, host,
                  sizeof(host));
        snprintf(text, sizeof(text), "[%s]:%u", host, ntohs(in->sin_port));
        return text;
}

static const char *line_source(const char *line)
{
        char text[512];

        snprintf(text, sizeof(text), "%s" GET, line);
        return source_of(text, strlen(text), (int)strlen(line));
}

static int read_line(const char *line)
{
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        int result = read_slowly(line, strlen(line), &from);

        if (result <= 0)
                cr_assert_eq(from.ss_family, AF_UNSPEC, "%s", line);
        return result;
}

/* ---- Version 1. ---- */

Test(proxy, a_line_names_the_source)
{
        cr_assert_str_eq(line_source("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"),
                         "[192.168.0.1]:56324");
        cr_assert_str_eq(line_source("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"),
                         "[255.255.255.255]:65535");
        cr_assert_str_eq(line_source("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n"), "[0.0.0.0]:0");
        cr_assert_str_eq(line_source("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                                     "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
                         "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
        cr_assert_str_eq(line_source("PROXY TCP6 2001:DB8::1 ::1 1 2\r\n"), "[2001:db8::1]:1");
}

Test(proxy, a_line_of_unknown_kind_names_no_source)
{
        cr_assert_str_eq(line_source("PROXY UNKNOWN\r\n"), "as it was");
        cr_assert_str_eq(line_source("PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                                     "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
                         "as it was");
        cr_assert_str_eq(line_source("PROXY UNKNOWN \x01\xff PROXY TCP4 1.2.3.4\r\n"), "as it was");
}

/* "PROXY UNKNOWN ", then what makes the line `len` bytes long. */
static int unknown_of(size_t len)
{
        char line[256];

        memset(line, 'a', sizeof(line));
        memcpy(line, "PROXY UNKNOWN ", 14);
        memcpy(line + len - 2, "\r\n", 3);
        return read_line(line);
}

Test(proxy, a_line_has_at_most_107_bytes)
{
        cr_assert_eq(unknown_of(106), 106);
        cr_assert_eq(unknown_of(107), 107);
        cr_assert_eq(unknown_of(108), -1);
        cr_assert_eq(unknown_of(200), -1);
}

Test(proxy, a_line_that_must_be_too_long_is_refused_before_it_ends)
{
        char line[107];
        struct sockaddr_storage from;
        socklen_t len;

        memset(line, 'a', sizeof(line));
        memcpy(line, "PROXY UNKNOWN ", 14);
        cr_assert_eq(weir__proxy_read(line, 105, &from, &len), 0);
        cr_assert_eq(weir__proxy_read(line, 106, &from, &len), -1);
        line[105] = '\r';
        cr_assert_eq(weir__proxy_read(line, 106, &from, &len), 0);
}

Test(proxy, a_line_is_exact)
{
        static const char *const bad[] = {
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443 \r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443 1\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11\r\n",
                "PROXY TCP4\r\n",
                "PROXY \r\n",
                "PROXY\r\n",
                "PROXY  TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP4  192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.1  192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324  443\r\n",
                "PROXY TCP4\t192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.01 192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.000.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.256 192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 056324 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 0443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 00 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 65536 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 65536\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 -1 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 +1 443\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 0x1 443\r\n",
                "PROXY TCP4 192.168.0.1 ::1 56324 443\r\n",
                "PROXY TCP4 ::1 ::1 56324 443\r\n",
                "PROXY TCP6 192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP6 [::1] [::1] 56324 443\r\n",
                "PROXY TCP6 ::1%lo ::1 56324 443\r\n",
                "PROXY TCP6 1:2:3:4:5:6:7 ::1 56324 443\r\n",
                "PROXY TCP6 1::2::3 ::1 56324 443\r\n",
                "PROXY tcp4 192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY TCP5 192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY UDP4 192.168.0.1 192.168.0.11 56324 443\r\n",
                "PROXY UNKNOWNS\r\n",
                "PROXY unknown\r\n",
                "proxy UNKNOWN\r\n",
                " PROXY UNKNOWN\r\n",
                "PROXX UNKNOWN\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\r\n",
                "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\n\r\n",
                "PROXY UNKNOWN\nGET / HTTP/1.1\r\n",
                "PROXY UNKNOWN\rGET / HTTP/1.1\r\n",
                "GET / HTTP/1.1\r\n",
                "\x16\x03\x01",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_eq(read_line(bad[i]), -1, "%s", bad[i]);
}

Test(proxy, a_nul_is_no_end_of_an_address)
{
        static const char line[] = "PROXY TCP4 192.168.0.1\0 192.168.0.11 56324 443\r\n";
        struct sockaddr_storage from;

        cr_assert_eq(read_slowly(line, sizeof(line) - 1, &from), -1);
}

Test(proxy, what_is_no_header_is_refused_at_its_first_wrong_byte)
{
        struct sockaddr_storage from;
        socklen_t len;

        cr_assert_eq(weir__proxy_read("", 0, &from, &len), 0);
        cr_assert_eq(weir__proxy_read("G", 1, &from, &len), -1);
        cr_assert_eq(weir__proxy_read("PROX ", 5, &from, &len), -1);
        cr_assert_eq(weir__proxy_read("PROXY?", 6, &from, &len), -1);
        cr_assert_eq(weir__proxy_read("\r\n\r\nG", 5, &from, &len), -1);
        cr_assert_eq(weir__proxy_read(SIGNATURE "\x11", 13, &from, &len), -1);
        cr_assert_eq(weir__proxy_read(SIGNATURE "\x22", 13, &from, &len), -1);
        cr_assert_eq(weir__proxy_read(SIGNATURE "\x31", 13, &from, &len), -1);
}

/* ---- Version 2. ---- */

/* A header with a command, a family, a length that it says and `size` bytes behind that. */
static size_t make(char *out, int command, int family, size_t says, const void *block, size_t size)
{
        memcpy(out, SIGNATURE, 12);
        out[12] = (char)command;
        out[13] = (char)family;
        out[14] = (char)(says >> 8);
        out[15] = (char)says;
        if (size)
                memcpy(out + 16, block, size);
        return 16 + size;
}

/* The source that such a header names, with the right length and a request behind it. */
static const char *block_source(int command, int family, const void *block, size_t size)
{
        static char text[8192];
        size_t len = make(text, command, family, size, block, size);

        memcpy(text + len, GET, strlen(GET));
        return source_of(text, len + strlen(GET), (int)len);
}

static int read_block(int command, int family, size_t says, const void *block, size_t size)
{
        static char text[70000];
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        size_t len = make(text, command, family, says, block, size);
        int result = read_slowly(text, len, &from);

        if (result <= 0)
                cr_assert_eq(from.ss_family, AF_UNSPEC);
        return result;
}

static const char v4[] = "\xc0\0\2\x3c\xcb\0\x71\x2b\x12\x67\1\xbb"; /* 192.0.2.60:4711 */
static const char v6[] = "\x20\1\x0d\xb8\xca\xfe\0\0\0\0\0\0\0\0\0\x17"
                         "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x12\x67\1\xbb";
static const char zeros[4096];

Test(proxy, a_block_names_the_source)
{
        cr_assert_str_eq(block_source(0x21, 0x11, v4, 12), "[192.0.2.60]:4711");
        cr_assert_str_eq(block_source(0x21, 0x21, v6, 36), "[2001:db8:cafe::17]:4711");
        cr_assert_str_eq(block_source(0x21, 0x31, zeros, 216), "unix");
}

Test(proxy, the_proxys_own_connection_keeps_its_address_whatever_else_the_block_says)
{
        cr_assert_str_eq(block_source(0x20, 0x00, NULL, 0), "as it was");
        cr_assert_str_eq(block_source(0x20, 0x11, v4, 12), "as it was");
        cr_assert_str_eq(block_source(0x20, 0x11, v4, 3), "as it was");
        cr_assert_str_eq(block_source(0x20, 0xff, zeros, 100), "as it was");
}

Test(proxy, a_connection_of_another_kind_keeps_its_address)
{
        cr_assert_str_eq(block_source(0x21, 0x00, NULL, 0), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x00, zeros, 100), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x01, zeros, 5), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x10, v4, 12), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x12, v4, 12), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x22, v6, 36), "as it was");
        cr_assert_str_eq(block_source(0x21, 0x32, zeros, 216), "as it was");
}

Test(proxy, another_version_command_family_or_transport_is_refused)
{
        static const int bad[][2] = { { 0x11, 0x11 }, { 0x31, 0x11 }, { 0x01, 0x11 },
                                      { 0x22, 0x11 }, { 0x2f, 0x11 }, { 0x21, 0x41 },
                                      { 0x21, 0xf1 }, { 0x21, 0x13 }, { 0x21, 0x1f },
                                      { 0x21, 0x03 }, { 0x21, 0x40 } };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_eq(read_block(bad[i][0], bad[i][1], 216, zeros, 216), -1, "%02x %02x",
                             (unsigned)bad[i][0], (unsigned)bad[i][1]);
}

Test(proxy, a_length_that_is_too_short_for_the_addresses_is_refused_at_once)
{
        cr_assert_eq(read_block(0x21, 0x11, 11, NULL, 0), -1);
        cr_assert_eq(read_block(0x21, 0x12, 11, NULL, 0), -1);
        cr_assert_eq(read_block(0x21, 0x21, 35, NULL, 0), -1);
        cr_assert_eq(read_block(0x21, 0x31, 215, NULL, 0), -1);
        cr_assert_eq(read_block(0x21, 0x11, 0, v4, 12), -1);
}

Test(proxy, a_length_beyond_the_limit_is_refused_at_once)
{
        cr_assert_eq(read_block(0x20, 0x00, WEIR__PROXY_MAX - 16, NULL, 0), 0);
        cr_assert_eq(read_block(0x20, 0x00, WEIR__PROXY_MAX - 15, NULL, 0), -1);
        cr_assert_eq(read_block(0x21, 0x11, 65535, NULL, 0), -1);
        cr_assert_eq(read_block(0x20, 0x00, WEIR__PROXY_MAX - 16, zeros, WEIR__PROXY_MAX - 16),
                     WEIR__PROXY_MAX);
}

/* An IPv4 block with `tlvs` behind it. */
static int read_tlvs(const char *tlvs, size_t size)
{
        char block[5000];

        memcpy(block, v4, 12);
        memcpy(block + 12, tlvs, size);
        return read_block(0x21, 0x11, 12 + size, block, 12 + size);
}

Test(proxy, what_stands_behind_the_addresses_must_be_tlvs)
{
        cr_assert_eq(read_tlvs("\4\0\0", 3), 31);
        cr_assert_eq(read_tlvs("\1\0\2h2\4\0\0\xe0\0\1x", 12), 40);
        cr_assert_eq(read_tlvs("\4", 1), -1);
        cr_assert_eq(read_tlvs("\4\0", 2), -1);
        cr_assert_eq(read_tlvs("\4\0\1", 3), -1);
        cr_assert_eq(read_tlvs("\4\0\0\4", 4), -1);
        cr_assert_eq(read_tlvs("\4\xff\xff", 3), -1);
}

/* The sum is that of a CRC-32C which turns "123456789" into e3069283. */
Test(proxy, a_checksum_must_be_right)
{
        cr_assert_eq(read_tlvs("\3\0\4\x20\x8f\x33\x56", 7), 35);
        cr_assert_eq(read_tlvs("\3\0\4\x21\x8f\x33\x56", 7), -1);
        cr_assert_eq(read_tlvs("\3\0\4\x20\x8f\x33\x57", 7), -1);
        cr_assert_eq(read_tlvs("\3\0\4\x56\x33\x8f\x20", 7), -1);
        cr_assert_eq(read_tlvs("\3\0\4\0\0\0\0", 7), -1);
}

Test(proxy, a_checksum_has_four_bytes_and_comes_once)
{
        cr_assert_eq(read_tlvs("\3\0\0", 3), -1);
        cr_assert_eq(read_tlvs("\3\0\3\0\0\0", 6), -1);
        cr_assert_eq(read_tlvs("\3\0\4\x20\x8f\x33\x56\3\0\4\x20\x8f\x33\x56", 14), -1);
}
