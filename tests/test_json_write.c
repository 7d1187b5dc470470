/* test_json_write.c - claims about writing JSON without a document. Jansson reads it back. */
#include "json_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct weir__pool pool = { .max_kept = 1 << 20 };
static struct weir__json_home home = { .pool = &pool };

static struct weir_json_writer start(void)
{
        struct weir_json_writer w;

        memset(&w, 0xff, sizeof(w));
        weir__buf_release(&pool, &home.buf);
        weir__json_writer_init(&w, &home);
        return w;
}

/* The text, or NULL when the writer broke. */
static const char *finish(struct weir_json_writer *w)
{
        if (!weir__json_writer_finish(w))
                return NULL;
        weir__buf_reserve(&pool, &home.buf, 1);
        home.buf.ptr[home.buf.len] = 0;
        return home.buf.ptr;
}

Test(json_write, puts_commas_and_colons)
{
        struct weir_json_writer w = start();

        weir_json_object(&w);
        weir_json_key(&w, "id");
        weir_json_int(&w, 7);
        weir_json_key(&w, "tags");
        weir_json_array(&w);
        weir_json_cstr(&w, "a");
        weir_json_str(&w, WEIR_STR("b"));
        weir_json_array(&w);
        weir_json_array_end(&w);
        weir_json_object(&w);
        weir_json_object_end(&w);
        weir_json_array_end(&w);
        weir_json_key(&w, "ok");
        weir_json_bool(&w, true);
        weir_json_key(&w, "price");
        weir_json_num(&w, 19.99);
        weir_json_key(&w, "none");
        weir_json_null(&w);
        weir_json_object_end(&w);
        cr_assert_str_eq(finish(&w), "{\"id\":7,\"tags\":[\"a\",\"b\",[],{}],\"ok\":true,"
                                     "\"price\":19.99,\"none\":null}");
}

Test(json_write, any_value_may_be_the_whole)
{
        struct weir_json_writer w = start();

        weir_json_bool(&w, false);
        cr_assert_str_eq(finish(&w), "false");
        w = start();
        weir_json_cstr(&w, "a,b,");
        cr_assert_str_eq(finish(&w), "\"a,b,\"");
        w = start();
        weir_json_array(&w);
        weir_json_array_end(&w);
        cr_assert_str_eq(finish(&w), "[]");
}

Test(json_write, absent_and_not_finite_are_null)
{
        struct weir_json_writer w = start();

        weir_json_array(&w);
        weir_json_cstr(&w, NULL);
        weir_json_str(&w, (struct weir_str){ 0 });
        weir_json_str(&w, WEIR_STR(""));
        weir_json_num(&w, NAN);
        weir_json_num(&w, INFINITY);
        weir_json_num(&w, -INFINITY);
        weir_json_array_end(&w);
        cr_assert_str_eq(finish(&w), "[null,null,\"\",null,null,null]");
}

Test(json_write, puts_a_document_in_place)
{
        struct weir_json_writer w = start();
        json_t *document = json_pack("{s:[i, n]}", "a", 1);

        weir_json_array(&w);
        weir_json_value(&w, document);
        weir_json_value(&w, document);
        weir_json_array_end(&w);
        cr_assert_str_eq(finish(&w), "[{\"a\":[1,null]},{\"a\":[1,null]}]");
        json_decref(document);
}

Test(json_write, bytes_that_are_not_utf8_become_replacement_characters)
{
        struct weir_json_writer w = start();

        weir_json_object(&w);
        weir_json_key(&w, "k\xff");
        weir_json_cstr(&w, "a\x80z \xc3\xa9 \xe2\x82 \xed\xa0\x80");
        weir_json_object_end(&w);
        cr_assert_str_eq(finish(&w), "{\"k\xef\xbf\xbd\":\"a\xef\xbf\xbdz \xc3\xa9 "
                                     "\xef\xbf\xbd\xef\xbf\xbd "
                                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}");
}

/* ---- A random text beside the document that it should be. ---- */

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed >> 11;
}

static json_t *write_any(struct weir_json_writer *w, int depth);

static json_t *write_any_string(struct weir_json_writer *w)
{
        static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz \"\\\n\x01/";
        char text[100];
        size_t len = any() % sizeof(text);

        for (size_t i = 0; i < len; i++)
                text[i] = alphabet[any() % (any() % 8 ? 26 : sizeof(alphabet) - 1)];
        weir_json_str(w, (struct weir_str){ text, len });
        return json_stringn(text, len);
}

static json_t *write_any_real(struct weir_json_writer *w)
{
        double value = any() % 2 ? (double)(any() % 100000) / 100
                                 : ldexp((double)any(), (int)(any() % 300) - 200);

        weir_json_num(w, value);
        return json_real(value);
}

static json_t *write_any_object(struct weir_json_writer *w, int depth)
{
        json_t *object = json_object();
        size_t n = any() % 5;

        weir_json_object(w);
        for (size_t i = 0; i < n; i++) {
                char key[48];

                snprintf(key, sizeof(key), "%.*s\"%zu", (int)(any() % 40),
                         "a key that is more or less long, it depends", i);
                weir_json_key(w, key);
                json_object_set_new(object, key, write_any(w, depth + 1));
        }
        weir_json_object_end(w);
        return object;
}

static json_t *write_any_array(struct weir_json_writer *w, int depth)
{
        json_t *array = json_array();
        size_t n = any() % 5;

        weir_json_array(w);
        for (size_t i = 0; i < n; i++)
                json_array_append_new(array, write_any(w, depth + 1));
        weir_json_array_end(w);
        return array;
}

static json_t *write_any(struct weir_json_writer *w, int depth)
{
        int64_t integer = (int64_t)(any() << 11) >> any() % 64;

        switch (any() % (depth < 8 ? 8 : 5)) {
        case 0:
                weir_json_null(w);
                return json_null();
        case 1:
                weir_json_bool(w, integer & 1);
                return json_boolean(integer & 1);
        case 2:
                weir_json_int(w, integer);
                return json_integer(integer);
        case 3:
                return write_any_real(w);
        case 4:
                return write_any_string(w);
        case 5:
                return write_any_array(w, depth);
        default:
                return write_any_object(w, depth);
        }
}

Test(json_write, is_read_as_what_was_written)
{
        for (int i = 0; i < 30000; i++) {
                struct weir_json_writer w = start();
                json_t *wanted = write_any(&w, 0), *got;
                const char *text = finish(&w);

                cr_assert_not_null(text);
                got = json_loads(text, JSON_DECODE_ANY, NULL);
                cr_assert(json_equal(got, wanted), "%s", text);
                json_decref(got);
                json_decref(wanted);
        }
}

/* ---- Mistakes. ---- */

/* Does as a string of calls says: brackets, k a key, v a value, d a document that is NULL. */
static bool makes_json(const char *calls)
{
        struct weir_json_writer w = start();

        for (; *calls; calls++) {
                switch (*calls) {
                case '{':
                        weir_json_object(&w);
                        break;
                case '}':
                        weir_json_object_end(&w);
                        break;
                case '[':
                        weir_json_array(&w);
                        break;
                case ']':
                        weir_json_array_end(&w);
                        break;
                case 'k':
                        weir_json_key(&w, "k");
                        break;
                case 'd':
                        weir_json_value(&w, NULL);
                        break;
                default:
                        weir_json_int(&w, 1);
                        break;
                }
        }
        return finish(&w);
}

Test(json_write, mistakes_give_no_text)
{
        static const char *const bad[] = { "",      "{",    "[",     "{k",  "{kv",   "[v",
                                           "}",     "]",    "{]",    "[}",  "{v}",   "{kvv}",
                                           "{kk",   "{k}",  "{kkv}", "[k]", "k",     "kv",
                                           "vv",    "[]v",  "{}{}",  "v]",  "{kv}}", "[{]}",
                                           "{k[}]", "{{}}", "{[]}",  "[[]", "d",     "[d]",
                                           "{kd}",  "{k}v", "[}v]" };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                cr_assert_not(makes_json(bad[i]), "%s", bad[i]);
        cr_assert(makes_json("{k[v{}v]kvk{}}"));
}

Test(json_write, goes_64_levels_deep)
{
        for (int levels = 64; levels <= 65; levels++) {
                struct weir_json_writer w = start();

                for (int i = 0; i < levels; i++) {
                        if (i % 3 == 0) {
                                weir_json_array(&w);
                                continue;
                        }
                        weir_json_object(&w);
                        weir_json_key(&w, "k");
                }
                weir_json_int(&w, 1);
                for (int i = levels; i-- > 0;) {
                        if (i % 3 == 0)
                                weir_json_array_end(&w);
                        else
                                weir_json_object_end(&w);
                }
                cr_assert_eq(finish(&w) != NULL, levels == 64);
        }
}

Test(json_write, every_way_of_growing_keeps_the_text)
{
        static const char piece[] = "0123456789\"abc";
        char text[2000];

        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = piece[i % 14];
        for (size_t len = 900; len < 1100; len++) {
                struct weir_json_writer w = start();
                json_t *wanted = json_array(), *got;

                weir_json_array(&w);
                for (int i = 0; i < 5; i++) {
                        weir_json_str(&w, (struct weir_str){ text, len });
                        json_array_append_new(wanted, json_stringn(text, len));
                }
                weir_json_array_end(&w);
                got = json_loads(finish(&w), 0, NULL);
                cr_assert(json_equal(got, wanted));
                json_decref(got);
                json_decref(wanted);
        }
}

/* Every token near the end of the buffer: AddressSanitizer sees a byte too far. */
Test(json_write, closes_any_number_of_things_at_the_end_of_its_room)
{
        for (size_t len = 800; len < 1024; len++) {
                struct weir_json_writer w = start();
                char text[1024];

                memset(text, 'x', sizeof(text));
                for (int i = 0; i < 32; i++)
                        weir_json_array(&w);
                weir_json_str(&w, (struct weir_str){ text, len });
                for (int i = 0; i < 32; i++)
                        weir_json_array_end(&w);
                cr_assert_eq(strlen(finish(&w)), len + 2 + 64);
        }
}
