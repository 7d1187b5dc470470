/* http_upload_end.c - uploads that end before their end: each is answered, and nothing is left. */
#include "http_upload.h"

TestSuite(http_upload_end, .init = start_app, .fini = stop_app);

/* ---- Pieces that are refused. ---- */

Test(http_upload_end, a_refused_piece_is_answered_and_what_is_left_swallowed_while_it_is_little)
{
        struct client client = client_to(app);

        send_head(&client, "/little", 60000);
        client_send_bytes(&client, data, 60000);
        client_read(&client, 422);
        client_expect_alive(&client);
        client_close(&client);
        cr_assert_eq(stats_of(app).connections, 1);
}

Test(http_upload_end, a_refused_piece_of_a_large_body_is_answered_at_once_and_the_client_reads_it)
{
        struct client client = client_to(app);

        send_head(&client, "/little", 10 * MIB);
        client_try_send(&client, data, 10 * MIB); /* all of it, before it reads */
        client_read(&client, 422);
        client_close(&client);
        client = client_to(app);
        client_try_chunks(&client, data, "/little", 10 * MIB, 65536);
        client_read(&client, 422);
        client_close(&client);
        wait_gone(app, 2);
}

/* Ends the upload that waits next. */
static void refuse_next(void)
{
        struct weir_ctx *ctx = claimed(next_ticket());

        weir_resume(ctx, weir_fail(ctx, 507, "the disk is full"));
}

Test(http_upload_end, an_upload_refused_after_a_wait_is_answered_whatever_is_still_to_come)
{
        struct client client = client_to(app);

        send_head(&client, "/held", 3);
        client_send(&client, "abc");
        refuse_next();
        client_read(&client, 507);
        client_expect_alive(&client);
        send_head(&client, "/held", 50000);
        client_send(&client, "abc");
        refuse_next();
        client_send_bytes(&client, data, 50000 - 3);
        client_read(&client, 507);
        client_expect_alive(&client);
        send_head(&client, "/held", 10 * MIB);
        client_send(&client, "abc");
        refuse_next();
        client_read(&client, 507); /* without another byte */
        client_try_send(&client, data, 10 * MIB);
        client_close(&client);
        wait_idle(app);
}

Test(http_upload_end, the_deadline_ends_an_upload_that_waits)
{
        struct client client = client_to(app);

        send_head(&client, "/shortly", 3);
        client_send(&client, "abc");
        client_read(&client, 504);
        cr_assert_null(weir_claim(next_ticket()));
        client_expect_alive(&client);
        send_head(&client, "/shortly", 10 * MIB);
        client_send(&client, "abc");
        client_read(&client, 504);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(stats_of(app).deadlines_missed, 2);
}

Test(http_upload_end, a_client_that_leaves_in_the_middle_ends_its_request)
{
        struct client client = client_to(app);
        struct weir_ctx *ctx;

        send_head(&client, "/sum", 1000);
        client_send(&client, "abc");
        client_close(&client);
        wait_gone(app, 1);
        client = client_to(app);
        send_head(&client, "/held", 1000);
        client_send(&client, "abc");
        next_ticket();
        client_close(&client);
        wait_gone(app, 2);
        client = client_to(app);
        send_head(&client, "/held", 1000);
        client_send(&client, "abc");
        ctx = claimed(next_ticket());
        client_close(&client);
        weir_resume(ctx, WEIR_NEXT);
        wait_gone(app, 3);
        cr_assert_eq(stats_of(app).status[0], 3);
}

Test(http_upload_end, a_stop_answers_uploads_that_wait)
{
        struct client all = client_to(app), some = client_to(app);

        send_head(&all, "/held", 3);
        client_send(&all, "abc");
        next_ticket();
        send_head(&some, "/held", 10 * MIB);
        client_send(&some, "abc");
        next_ticket();
        cr_assert_eq(weir_stop(app), 0);
        client_read(&all, 503);
        client_read(&some, 503);
        client_close(&all);
        client_close(&some);
}

/* ---- Hooks that block. ---- */

Test(http_upload_end, a_piece_refused_on_a_worker_ends_the_upload)
{
        struct client client = client_to(app);

        send_head(&client, "/blocking/little", 60000);
        client_send_bytes(&client, data, 60000);
        client_read(&client, 422);
        client_expect_alive(&client);
        send_head(&client, "/blocking/little", 10 * MIB);
        client_try_send(&client, data, 10 * MIB);
        client_read(&client, 422);
        client_close(&client);
        wait_idle(app);
}

Test(http_upload_end, the_deadline_answers_while_a_piece_is_still_being_worked_on)
{
        struct client client = client_to(app);

        send_head(&client, "/blocking/shortly", 3);
        client_send(&client, "abc");
        client_read(&client, 504);
        client_expect_alive(&client);
        sem_post(&opened);
        client_close(&client);
        wait_gone(app, 1);
}

Test(http_upload_end, a_client_that_leaves_while_a_worker_has_its_piece_ends_its_request)
{
        time_t end = time(NULL) + NET_TIMEOUT_S;
        struct client client = client_to(app);

        send_head(&client, "/blocking/gate", 1000);
        client_send(&client, "abc");
        sem_wait(&entered);
        client_close(&client);
        wait_idle(app);
        cr_assert_eq(stats_of(app).status[0], 1);
        sem_post(&opened);
        while (!stats_of(app).jobs_discarded) {
                cr_assert_lt(time(NULL), end, "the job is not back");
                sched_yield();
        }
        wait_gone(app, 1);
}
