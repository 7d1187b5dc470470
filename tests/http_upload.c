/*
 * http_upload.c - bodies in pieces over sockets: nothing is lost, kept, or taken before its time.
 */
#include "http_upload.h"

TestSuite(http_upload, .init = start_app, .fini = stop_app);

/* ---- Whole bodies. ---- */

#define PATHS 4
static const char *const paths[PATHS] = { "/sum", "/dozing", "/held", "/blocking" };

Test(http_upload, bodies_of_all_sizes_arrive_as_they_were_sent_whether_hooks_wait_or_not)
{
        static const size_t sizes[] = { 0, 1, 999, 4096, 16383, 65537, MIB };
        atomic_bool over = false;
        pthread_t thread;

        pthread_create(&thread, NULL, resume_all, &over);
        for (size_t p = 0; p < PATHS; p++) {
                struct client client = client_to(app);

                for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                        send_head(&client, paths[p], sizes[i]);
                        client_send_bytes(&client, data, sizes[i]);
                        expect_sum(&client, sizes[i]);
                }
                client_expect_alive(&client);
                client_close(&client);
        }
        atomic_store(&over, true);
        pthread_join(thread, NULL);
}

Test(http_upload, chunks_of_all_sizes_arrive_as_they_were_sent_whether_hooks_wait_or_not)
{
        static const size_t chunks[] = { 1, 7, 1000, 16384, 65536 };
        atomic_bool over = false;
        pthread_t thread;

        pthread_create(&thread, NULL, resume_all, &over);
        for (size_t p = 0; p < PATHS; p++) {
                for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
                        size_t size = chunks[k] * 300 < MIB ? chunks[k] * 300 : MIB;
                        struct client client = client_to(app);

                        cr_assert(client_try_chunks(&client, data, paths[p], size, chunks[k]));
                        expect_sum(&client, size);
                        if (!mhd_is_old())
                                client_expect_alive(&client);
                        client_close(&client);
                }
        }
        atomic_store(&over, true);
        pthread_join(thread, NULL);
}

Test(http_upload, a_request_behind_an_upload_that_waits_is_answered_in_its_turn)
{
        struct client client = client_to(app);

        client_send(&client, "POST /held HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
                             "GET / HTTP/1.1\r\n" H "\r\n");
        pass_next();
        cr_assert_eq(client_read(&client, 200).length, 10);
        client_expect(&client, 200, "ok");
        client_close(&client);
}

/* ---- Back-pressure. ---- */

/* Sends until the other side takes no more; how much. Its buffers are small, so that is soon. */
static size_t send_what_goes(struct client *client, size_t most)
{
        size_t sent = 0;
        ssize_t n;

        fcntl(client->fd, F_SETFL, O_NONBLOCK);
        while (sent < most && (n = send(client->fd, data + sent % MIB,
                                        most - sent < MIB ? most - sent : MIB, MSG_NOSIGNAL)) > 0)
                sent += (size_t)n;
        fcntl(client->fd, F_SETFL, 0);
        return sent;
}

Test(http_upload, while_a_hook_waits_nothing_more_is_read)
{
        struct client client = client_to(app);
        struct weir_ticket first;
        uint64_t before;
        size_t sent;

        send_head(&client, "/held", 1000000000);
        sent = send_what_goes(&client, 1000000);
        first = next_ticket();
        before = atomic_load(&taken);
        for (int i = 0; i < 100; i++)
                sent += send_what_goes(&client, 50000000);
        cr_assert_lt(sent, 60000000, "the kernel's buffers are full");
        cr_assert_eq(atomic_load(&taken), before, "one piece is out");
        cr_assert_leq(before, 65536);
        weir_resume(claimed(first), WEIR_NEXT);
        next_ticket();
        cr_assert_gt(atomic_load(&taken), before);
        client_reset(&client); /* a FIN would queue */
        wait_idle(app);
}
