/* test_sse.c - server-sent events in memory: middleware/weir/sse.h. */
#include "sse_ask.h"

#include <pthread.h>
#include <sched.h>
#include <weir/timeout.h>

TestSuite(sse, .init = start_app, .fini = stop_app);

/* ---- What goes out. ---- */

Test(sse, an_event_has_its_fields_a_line_each)
{
        struct weir_asked *asked = held(app, "GET /");

        cr_assert(send_event(sse, "joke", "7", "knock knock"));
        expect_text(asked, "event: joke\nid: 7\ndata: knock knock\n\n");
        weir_ask_leave(asked);
}

Test(sse, a_client_gets_what_was_sent)
{
        struct weir_asked *asked = held(app, "GET /");
        struct sse_reader reader;

        cr_assert(send_event(sse, NULL, NULL, "one"));
        cr_assert(send_event(sse, "typed", NULL, "two"));
        cr_assert(send_event(sse, NULL, "3", "three"));
        cr_assert(send_event(sse, NULL, NULL, "of the same id"));
        cr_assert(send_event(sse, NULL, "", "of none"));
        cr_assert(send_event(sse, NULL, NULL, ""));
        reader = read_so_far(asked);
        expect_event(&reader, "message", "", "one");
        expect_event(&reader, "typed", "", "two");
        expect_event(&reader, "message", "3", "three");
        expect_event(&reader, "message", "3", "of the same id");
        expect_event(&reader, "message", "", "of none");
        expect_event(&reader, "message", "", "");
        expect_no_event(&reader);
        weir_ask_leave(asked);
}

Test(sse, lines_of_data_stay_lines_whatever_ends_them)
{
        struct weir_asked *asked = held(app, "GET /");
        struct sse_reader reader;

        cr_assert(send_event(sse, NULL, NULL, "a\nb\r\nc\rd"));
        cr_assert(send_event(sse, NULL, NULL, "a\n"));
        cr_assert(send_event(sse, NULL, NULL, "\n\r\n\r"));
        cr_assert(send_event(sse, NULL, NULL, " :data: x\nid: 5"));
        reader = read_so_far(asked);
        expect_event(&reader, "message", "", "a\nb\nc\nd");
        expect_event(&reader, "message", "", "a\n");
        expect_event(&reader, "message", "", "\n\n\n");
        expect_event(&reader, "message", "", " :data: x\nid: 5");
        expect_no_event(&reader);
        weir_ask_leave(asked);
}

Test(sse, without_data_it_only_sets_the_id)
{
        struct weir_asked *asked = held(app, "GET /");
        struct sse_reader reader;

        cr_assert(send_event(sse, "nothing", "9", NULL));
        cr_assert(send_event(sse, NULL, NULL, "x"));
        reader = read_so_far(asked);
        expect_event(&reader, "message", "9", "x");
        expect_no_event(&reader);
        weir_ask_leave(asked);
}

Test(sse, comments_and_times_are_no_events)
{
        struct weir_asked *asked = held(app, "GET /");
        struct sse_reader reader;

        cr_assert(weir_sse_comment(sse, WEIR_STR("one\ndata: two\r\rthree")));
        cr_assert(weir_sse_comment(sse, (struct weir_str){ 0 }));
        cr_assert(weir_sse_retry(sse, 2500));
        reader = read_so_far(asked);
        expect_no_event(&reader);
        cr_assert_eq(reader.comments, 5);
        cr_assert_eq(reader.retry, 2500);
        weir_ask_leave(asked);
}

static void expect_refused(struct weir_str event, struct weir_str id)
{
        cr_assert_not(weir_sse_send(
                sse, &(struct weir_event){ .event = event, .id = id, .data = WEIR_STR("data") }));
}

Test(sse, what_would_begin_another_field_is_refused)
{
        struct weir_asked *asked = held(app, "GET /");
        struct weir_str none = { 0 };

        expect_refused(WEIR_STR("a\ndata: b"), none);
        expect_refused(WEIR_STR("a\r"), none);
        expect_refused(none, WEIR_STR("1\n"));
        expect_refused(none, WEIR_STR("1\rdata: b"));
        expect_refused(none, WEIR_STR("1\0002"));
        cr_assert_not(weir_sse_retry(sse, -1));
        expect_text(asked, "");
        cr_assert_eq(weir_sse_missed(sse), 0);
        weir_ask_leave(asked);
}

/* Bytes of the alphabet that lines are made of, as a client reads them. */
static void make_text(char *text, char *wanted, unsigned seed)
{
        static const char letters[] = "a:\n \r\n\rid";
        unsigned len = seed % 40;

        for (unsigned i = 0; i < len; i++)
                text[i] = letters[(seed = seed * 1103515245 + 12345) / 65536 % 9];
        text[len] = '\0';
        for (unsigned i = 0; i < len; i++) {
                bool pair = text[i] == '\r' && text[i + 1] == '\n';

                *wanted++ = text[i] == '\r' ? '\n' : text[i];
                i += pair;
        }
        *wanted = '\0';
}

Test(sse, whatever_the_data_the_client_gets_it)
{
        struct weir_asked *asked = held(app, "GET /");
        static char text[3000][48], wanted[3000][48];
        struct sse_reader reader;

        for (unsigned i = 0; i < 3000; i++) {
                make_text(text[i], wanted[i], i * 7919);
                cr_assert(send_event(sse, NULL, NULL, text[i]));
                if (i % 100 == 0)
                        cr_assert(weir_ask_waits(asked));
        }
        reader = read_so_far(asked);
        for (unsigned i = 0; i < 3000; i++)
                expect_event(&reader, "message", "", wanted[i]);
        expect_no_event(&reader);
        weir_ask_leave(asked);
}

/* ---- The answer. ---- */

Test(sse, the_answer_is_stored_by_nobody)
{
        struct weir_asked *asked = held(app, "GET /");
        struct weir_reply *reply;

        weir_sse_close(sse);
        reply = ended(asked, 200);
        cr_assert(weir_str_is(weir_reply_header(reply, "Content-Type"), "text/event-stream"));
        cr_assert(weir_str_is(weir_reply_header(reply, "Cache-Control"), "no-store"));
        cr_assert(weir_str_is(weir_reply_header(reply, "X-Accel-Buffering"), "no"));
        cr_assert(reply->closes);
        cr_assert_not(reply->broken);
        weir_reply_free(reply);
}

Test(sse, the_handler_learns_what_the_client_had_last)
{
        weir_ask_leave(held(app, "GET /\nLast-Event-ID: 41"));
        cr_assert_str_eq(last_id, "41");
        weir_sse_release(sse);
        n_closed = 0;
        weir_ask_leave(held(app, "GET /"));
        cr_assert_str_eq(last_id, "none");
}

Test(sse, head_opens_nothing_that_stays_open)
{
        cr_assert_eq(status_of(app, "HEAD /"), 200);
        cr_assert_eq(n_closed, 1);
}

Test(sse, the_time_after_which_clients_come_back_is_said_first)
{
        struct weir_asked *asked;

        options.retry_ms = 1234;
        asked = held(app, "GET /");
        send_event(sse, NULL, NULL, "x");
        expect_text(asked, "retry: 1234\n\ndata: x\n\n");
        weir_ask_leave(asked);
}

/* ---- Heartbeats. ---- */

static unsigned comments_so_far(struct weir_asked *asked)
{
        struct sse_reader reader = read_so_far(asked);
        static struct sse_event event;

        while (sse_next(&reader, &event))
                ;
        return reader.comments;
}

Test(sse, a_comment_goes_out_when_nothing_else_did_for_15_seconds)
{
        struct weir_asked *asked = held(app, "GET /");

        weir_tick(app, 14999);
        cr_assert_eq(comments_so_far(asked), 0);
        weir_tick(app, 1);
        cr_assert_eq(comments_so_far(asked), 1);
        weir_tick(app, 14999);
        cr_assert_eq(comments_so_far(asked), 1);
        weir_tick(app, 1);
        cr_assert_eq(comments_so_far(asked), 2);
        weir_ask_leave(asked);
}

Test(sse, an_event_puts_the_next_heartbeat_off)
{
        struct weir_asked *asked;

        options.heartbeat_ms = 1000;
        asked = held(app, "GET /");
        for (int i = 0; i < 5; i++) {
                weir_tick(app, 900);
                send_event(sse, NULL, NULL, "x");
                cr_assert_eq(comments_so_far(asked), 0);
        }
        weir_tick(app, 999);
        cr_assert_eq(comments_so_far(asked), 0);
        weir_tick(app, 1);
        cr_assert_eq(comments_so_far(asked), 1);
        weir_ask_leave(asked);
}

Test(sse, there_may_be_no_heartbeat)
{
        struct weir_asked *asked;

        options.heartbeat_ms = WEIR_NONE;
        asked = held(app, "GET /");
        weir_tick(app, 3600000);
        cr_assert_eq(comments_so_far(asked), 0);
        weir_ask_leave(asked);
}

/* ---- Times. ---- */

Test(sse, a_deadline_is_not_for_streams_of_events)
{
        struct weir_asked *asked;

        weir_use_timeout(app, NULL);
        asked = held(app, "GET /");
        weir_tick(app, 3600000);
        expect_text(asked, ":\n\n");
        weir_ask_leave(asked);
}

Test(sse, an_idle_time_is)
{
        struct weir_asked *asked;

        weir_use_timeout(app, &(struct weir_timeout){ .idle_ms = 200 });
        asked = held(app, "GET /");
        weir_tick(app, 200);
        weir_reply_free(ended(asked, 200));
        cr_assert_eq(stats_now(app).streams_timed_out, 1);
}

/* ---- A full buffer. ---- */

/* Takes events until the stream has none left to take them; how many that were. */
static unsigned fill(const char *data)
{
        unsigned n = 0;

        while (send_event(sse, NULL, NULL, data))
                n++;
        return n;
}

/* 8 bytes are around the data of an event. */
Test(sse, an_event_that_does_not_fit_is_missed_and_counted)
{
        struct weir_asked *asked;

        options.buffer = 100;
        asked = held(app, "GET /");
        cr_assert_eq(fill("12345678901"), 5);
        cr_assert_eq(weir_sse_missed(sse), 1);
        cr_assert(weir_ask_waits(asked));
        cr_assert_eq(weir_ask_body(asked).len, 100 - 5);
        cr_assert_eq(fill("12345678901"), 5, "there is room again");
        cr_assert_eq(weir_sse_missed(sse), 2);
        weir_ask_leave(asked);
}

Test(sse, the_buffer_has_64_KiB_by_default)
{
        struct weir_asked *asked = held(app, "GET /");
        static char half[32768 - 8 + 1];

        memset(half, 'x', sizeof(half) - 1);
        cr_assert(send_event(sse, NULL, NULL, half));
        cr_assert(send_event(sse, NULL, NULL, half));
        cr_assert_not(send_event(sse, NULL, NULL, ""));
        cr_assert(weir_ask_waits(asked));
        cr_assert_eq(weir_ask_body(asked).len, 65536);
        weir_ask_leave(asked);
}

Test(sse, a_client_that_missed_an_event_may_be_sent_off)
{
        struct weir_asked *asked;
        struct weir_reply *reply;

        options.buffer = 30;
        options.close_when_full = true;
        asked = held(app, "GET /");
        cr_assert(send_event(sse, NULL, "1", "one"));
        cr_assert_not(send_event(sse, NULL, "2", "too long for what is left"));
        cr_assert_not(send_event(sse, NULL, "3", ""));
        reply = ended(asked, 200);
        cr_assert_str_eq(reply->body.ptr, "id: 1\ndata: one\n\n");
        weir_reply_free(reply);
}

/* ---- Threads. ---- */

static void *send_many(void *arg)
{
        (void)arg;
        for (int i = 0; i < 1000; i++) {
                while (!send_event(sse, NULL, NULL, "x"))
                        sched_yield();
        }
        return NULL;
}

Test(sse, any_thread_sends)
{
        struct weir_asked *asked = held(app, "GET /");
        pthread_t thread[3];
        struct weir_reply *reply;

        for (int i = 0; i < 3; i++)
                pthread_create(&thread[i], NULL, send_many, NULL);
        while (weir_ask_waits(asked) && weir_ask_body(asked).len < 3000 * 9)
                sched_yield();
        for (int i = 0; i < 3; i++)
                pthread_join(thread[i], NULL);
        weir_sse_close(sse);
        reply = weir_ask_finish(asked);
        cr_assert_eq(reply->body.len, 3000 * 9);
        weir_reply_free(reply);
}
