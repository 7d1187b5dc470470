/* test_clients.c - claims about the connections that each client has open. */
#include "kit.h"

#include "../core/clients.h"
#include "../core/sip.h"

#include <string.h>

static struct weir__counters counters;

static struct weir__address address_of(const char *text)
{
        struct weir__address address;

        cr_assert(weir__address_parse((struct weir_str){ text, strlen(text) }, &address));
        return address;
}

static uint64_t gauge(void)
{
        return atomic_load(&counters.at[WEIR__STAT(clients)]);
}

/* Whom to tell of the end; NULL when it is refused. */
static struct weir__client *enter(struct weir__clients *clients, const char *text)
{
        struct weir__address address = address_of(text);
        struct weir__client *client;
        enum weir__admission admission = weir__client_enter(clients, &address, &client);

        cr_assert_eq(admission, client ? WEIR__ADMITTED : WEIR__OVER_LIMIT);
        return client;
}

Test(clients, the_hash_is_siphash_2_4)
{
        /* The reference implementation's vector for the 16 bytes 0 to 15, in both places. */
        static const uint64_t words[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

        cr_assert_eq(weir__sip(words, words[0], words[1]), 0x3f2acc7f57c29bdb);
}

Test(clients, each_has_as_many_connections_as_the_limit)
{
        struct weir__clients clients;
        struct weir__client *first;

        cr_assert(weir__clients_init(&clients, 2, &counters));
        first = enter(&clients, "192.0.2.1");
        cr_assert_not_null(first);
        cr_assert_eq(enter(&clients, "192.0.2.1"), first);
        cr_assert_null(enter(&clients, "192.0.2.1"));
        cr_assert_neq(enter(&clients, "192.0.2.2"), first);
        cr_assert_eq(gauge(), 2);
        weir__client_leave(first, &counters);
        cr_assert_not_null(enter(&clients, "192.0.2.1"));
        cr_assert_null(enter(&clients, "192.0.2.1"));
        weir__clients_finish(&clients);
}

Test(clients, ipv6_counts_by_64_bits_and_a_mapped_address_as_ipv4)
{
        struct weir__clients clients;
        struct weir__client *one;

        cr_assert(weir__clients_init(&clients, 8, &counters));
        one = enter(&clients, "2001:db8:0:1::1");
        cr_assert_eq(enter(&clients, "2001:db8:0:1:ffff:ffff:ffff:ffff"), one);
        cr_assert_neq(enter(&clients, "2001:db8:0:2::1"), one);
        one = enter(&clients, "192.0.2.1");
        cr_assert_eq(enter(&clients, "::ffff:192.0.2.1"), one);
        cr_assert_neq(enter(&clients, "c000:201::"), one); /* the same bits, another family */
        cr_assert_eq(gauge(), 4);
        weir__clients_finish(&clients);
}

Test(clients, unix_sockets_and_no_limit_count_nobody)
{
        struct weir__clients clients;
        struct weir__address local = { .family = AF_UNIX }, any = address_of("192.0.2.1");
        struct weir__client *client = (struct weir__client *)1;

        cr_assert(weir__clients_init(&clients, 1, &counters));
        for (int i = 0; i < 3; i++) {
                cr_assert_eq(weir__client_enter(&clients, &local, &client), WEIR__ADMITTED);
                cr_assert_null(client);
        }
        weir__clients_finish(&clients);
        cr_assert(weir__clients_init(&clients, 0, &counters));
        for (int i = 0; i < 3; i++) {
                cr_assert_eq(weir__client_enter(&clients, &any, &client), WEIR__ADMITTED);
                cr_assert_null(client);
        }
        weir__client_leave(client, &counters);
        weir__clients_finish(&clients);
}

/* One after the other, a million of them: what is kept must not grow with that. */
Test(clients, those_that_have_left_take_no_memory)
{
        struct weir__clients clients;
        struct weir__client *client;
        size_t most = 0;

        cr_assert(weir__clients_init(&clients, 1, &counters));
        for (uint64_t i = 0; i < 1000000; i++) {
                struct weir__address address = { .family = AF_INET6, .hi = i };

                cr_assert_eq(weir__client_enter(&clients, &address, &client), WEIR__ADMITTED);
                weir__client_leave(client, &counters);
                most = clients.n > most ? clients.n : most;
        }
        cr_assert_eq(gauge(), 0);
        cr_assert_leq(most, clients.n_buckets);
        cr_assert_leq(clients.n_buckets, 256);
        weir__clients_finish(&clients);
}

Test(clients, many_at_a_time_are_told_apart)
{
        enum { N = 20000 };
        static struct weir__client *all[N];
        struct weir__clients clients;

        cr_assert(weir__clients_init(&clients, 2, &counters));
        for (int round = 0; round < 3; round++) {
                for (uint64_t i = 0; i < N; i++) {
                        struct weir__address address = { .family = AF_INET, .hi = i << 32 };
                        struct weir__client *client;

                        cr_assert_eq(weir__client_enter(&clients, &address, &client),
                                     round < 2 ? WEIR__ADMITTED : WEIR__OVER_LIMIT);
                        if (round == 0)
                                all[i] = client;
                        cr_assert_eq(client, round < 2 ? all[i] : NULL);
                }
        }
        cr_assert_eq(gauge(), N);
        for (int i = 0; i < N; i++) {
                weir__client_leave(all[i], &counters);
                weir__client_leave(all[i], &counters);
        }
        cr_assert_eq(gauge(), 0);
        weir__clients_finish(&clients);
}
