/* test_json_dump.c - claims about dumping documents: the bytes are those of json_dumpb(). */
#include "json_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct weir__pool pool = { .max_kept = 1 << 20 };
static struct weir__json_home home = { .pool = &pool };

/* Ours, in home.buf until the next call; false when it was refused. */
static bool dump(const json_t *document)
{
        struct weir_json_writer w;

        weir__buf_release(&pool, &home.buf);
        weir__json_writer_init(&w, &home);
        weir_json_value(&w, document);
        return weir__json_writer_finish(&w);
}

static void is_as_jansson_dumps(const json_t *document)
{
        const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
        size_t len = json_dumpb(document, NULL, 0, flags);
        char *wanted = malloc(len + 1);

        json_dumpb(document, wanted, len, flags);
        cr_assert_eq(dump(document), len != 0);
        cr_assert(!len || (home.buf.len == len && !memcmp(home.buf.ptr, wanted, len)),
                  "%.*s\nis not\n%.*s", (int)home.buf.len, home.buf.ptr, (int)len, wanted);
        free(wanted);
}

static void check_and_free(json_t *document)
{
        is_as_jansson_dumps(document);
        json_decref(document);
}

/* ---- Random documents. ---- */

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed >> 11;
}

static json_t *any_string(void)
{
        static const char *const pieces[] = { "a",    "book", "\"",
                                              "\\",   "/",    "\n",
                                              "\x1f", "é",    "\xf0\x9f\x98\x80",
                                              "\x7f", " of ", "plain text, without escapes" };
        char text[512];
        size_t n = any() % 12;

        text[0] = 0;
        for (size_t i = 0; i < n; i++)
                strcat(text, pieces[any() % (sizeof(pieces) / sizeof(pieces[0]))]);
        return json_string(text);
}

static json_t *any_real(void)
{
        switch (any() % 4) {
        case 0:
                return json_real((double)(any() % 200000) / 100);
        case 1:
                return json_real(ldexp((double)any(), (int)(any() % 200) - 150));
        case 2:
                return json_real(-(double)(any() % 1000000) / 8);
        default:
                return json_real((double)any());
        }
}

static json_t *any_value(int depth);

static json_t *any_object(int depth)
{
        json_t *object = json_object();
        size_t n = any() % 6;

        for (size_t i = 0; i < n; i++) {
                json_t *key = any_string();

                json_object_set_new(object, json_string_value(key), any_value(depth + 1));
                json_decref(key);
        }
        return object;
}

static json_t *any_array(int depth)
{
        json_t *array = json_array();
        size_t n = any() % 6;

        for (size_t i = 0; i < n; i++)
                json_array_append_new(array, any_value(depth + 1));
        return array;
}

static json_t *any_value(int depth)
{
        switch (any() % (depth < 6 ? 10 : 6)) {
        case 0:
                return json_null();
        case 1:
                return json_boolean(any() % 2);
        case 2:
                return json_integer((json_int_t)(any() << 11) >> any() % 64);
        case 3:
                return any_real();
        case 4:
        case 5:
                return any_string();
        case 6:
        case 7:
                return any_object(depth);
        default:
                return any_array(depth);
        }
}

Test(json_dump, equals_jansson_on_random_documents)
{
        for (int i = 0; i < 30000; i++)
                check_and_free(any_value(0));
}

/* ---- Each kind of value. ---- */

Test(json_dump, equals_jansson_on_words_and_empty_things)
{
        check_and_free(json_null());
        check_and_free(json_true());
        check_and_free(json_false());
        check_and_free(json_object());
        check_and_free(json_array());
        check_and_free(json_string(""));
        check_and_free(json_pack("{s:{}, s:[], s:[[], {}, [[]]]}", "a", "", "b"));
}

Test(json_dump, equals_jansson_on_integers)
{
        json_int_t power = 1;

        check_and_free(json_integer(INT64_MIN));
        check_and_free(json_integer(INT64_MAX));
        for (int i = 0; i < 18; i++, power *= 10) {
                for (int d = -1; d <= 1; d++) {
                        check_and_free(json_integer(power + d));
                        check_and_free(json_integer(-power - d));
                }
        }
        for (int i = 0; i < 20000; i++)
                check_and_free(json_integer(i));
}

Test(json_dump, equals_jansson_on_reals)
{
        const double edges[] = { 0.0,
                                 -0.0,
                                 1e-4,
                                 9.999e-5,
                                 1e-5,
                                 1e15,
                                 1e16,
                                 1e17,
                                 1e22,
                                 5e-324,
                                 0x1p53,
                                 0x1p53 - 1,
                                 1.7976931348623157e308,
                                 0.1,
                                 19.99,
                                 1 / 3.0 };

        for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
                check_and_free(json_real(edges[i]));
                check_and_free(json_real(-edges[i]));
                check_and_free(json_real(nextafter(edges[i], 0)));
        }
        for (int i = 0; i < 100000; i++) {
                uint64_t bits = any() << 11 ^ any();
                double value;

                memcpy(&value, &bits, sizeof(value));
                if (isfinite(value))
                        check_and_free(json_real(value));
                check_and_free(any_real());
        }
}

Test(json_dump, equals_jansson_on_every_character)
{
        for (unsigned c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 0x71) {
                char text[5] = { 0 };
                size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

                if (c >= 0xd800 && c <= 0xdfff)
                        continue;
                for (size_t i = len; i > 1; i--)
                        text[i - 1] = (char)(0x80 | (c >> 6 * (len - i) & 0x3f));
                text[0] = (char)(len == 1 ? c : (0xf00u >> len & 0xff) | c >> 6 * (len - 1));
                check_and_free(json_stringn(text, len));
        }
}

Test(json_dump, equals_jansson_wherever_an_escape_stands)
{
        static const char *const escapes[] = { "\"", "\\", "\n", "\x01", "é" };
        char text[128];

        for (size_t len = 0; len < 80; len++) {
                memset(text, 'x', sizeof(text));
                check_and_free(json_stringn(text, len));
                for (size_t i = 0; i < len; i++) {
                        const char *escape = escapes[(len + i) % 5];

                        memset(text, 'x', sizeof(text));
                        memcpy(text + i, escape, strlen(escape));
                        check_and_free(json_stringn(text, len + 2));
                }
        }
}

Test(json_dump, equals_jansson_on_long_strings)
{
        size_t size = 300000;
        char *text = malloc(size);

        memset(text, '\x01', size);
        check_and_free(json_stringn(text, size));
        memset(text, 'x', size);
        text[size - 1] = '"';
        check_and_free(json_stringn(text, size));
        free(text);
}

/* Every bracket near the end of the buffer: AddressSanitizer sees a byte too far. */
Test(json_dump, closes_any_number_of_things_at_the_end_of_its_room)
{
        char text[1024];

        memset(text, 'x', sizeof(text));
        for (size_t len = 700; len < 1024; len++) {
                json_t *document = json_stringn(text, len);

                for (int i = 0; i < 80; i++)
                        document = i % 2 ? json_pack("[o]", document)
                                         : json_pack("{s:o}", "", document);
                check_and_free(document);
        }
}

Test(json_dump, keeps_the_order_of_keys)
{
        json_t *document = json_pack("{s:i, s:i, s:i}", "z", 1, "a", 2, "m", 3);

        json_object_set_new(document, "a", json_integer(4));
        cr_assert(dump(document));
        cr_assert_eq(memcmp(home.buf.ptr, "{\"z\":1,\"a\":4,\"m\":3}", home.buf.len), 0);
        json_decref(document);
}

/* ---- What has no text. ---- */

static json_t *nested(int levels)
{
        json_t *document = json_array();

        while (--levels > 0)
                document = levels % 2 ? json_pack("[o]", document)
                                      : json_pack("{s:o}", "k", document);
        return document;
}

Test(json_dump, goes_as_deep_as_the_parser_does)
{
        json_t *document = nested(JSON_PARSER_MAX_DEPTH);

        is_as_jansson_dumps(document);
        document = json_pack("[o]", document);
        cr_assert_not(dump(document));
        json_decref(document);
}

Test(json_dump, refuses_a_document_that_contains_itself)
{
        for (int levels = 2; levels < 40; levels++) {
                json_t *top = json_array(), *bottom = top;

                for (int i = 1; i < levels; i++) {
                        json_array_append_new(bottom, json_array());
                        bottom = json_array_get(bottom, 0);
                }
                json_array_append(bottom, top);
                cr_assert_not(dump(top));
                cr_assert_eq(json_dumpb(top, NULL, 0, JSON_COMPACT), 0);
                json_array_clear(bottom);
                json_decref(top);
        }
}

/* At 2048 levels this would take 2 GB. */
Test(json_dump, finds_a_cycle_before_it_fills_the_memory)
{
        json_t *top = json_array(), *inner = json_array();
        char *text = calloc(1, 1 << 20);

        memset(text, 'x', (1 << 20) - 1);
        json_array_append_new(top, json_string(text));
        json_array_append(top, inner);
        json_array_append(inner, top);
        cr_assert_not(dump(top));
        cr_assert_lt(home.buf.cap, 16 << 20);
        json_array_clear(inner);
        json_decref(inner);
        json_decref(top);
        free(text);
}

Test(json_dump, writes_what_is_contained_twice_but_not_in_itself)
{
        json_t *shared = json_pack("{s:i}", "a", 1), *document = json_array();

        for (int i = 0; i < 5; i++)
                json_array_append(document, shared);
        check_and_free(json_pack("[O, o]", document, document));
        json_decref(shared);
}

Test(json_dump, refuses_strings_that_are_not_utf8_as_jansson_does)
{
        static const char *const bad[] = { "\x80",
                                           "\xc3",
                                           "\xc3(",
                                           "\xc0\x80",
                                           "\xc1\xbf",
                                           "\xe0\x80\x80",
                                           "\xed\xa0\x80",
                                           "\xe2\x82",
                                           "\xf0\x80\x80\x80",
                                           "\xf4\x90\x80\x80",
                                           "\xf5\x80\x80\x80",
                                           "\xff",
                                           "plain and then \xfe",
                                           "0123456789abcdef\xa0" };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                check_and_free(json_string_nocheck(bad[i]));
}

/* Jansson 2.14 ends such a key in the middle; that is no JSON. */
Test(json_dump, refuses_keys_that_are_not_utf8)
{
        json_t *document = json_object();

        json_object_set_new_nocheck(document, "a\xff", json_true());
        cr_assert_not(dump(document));
        json_decref(document);
}

Test(json_dump, refuses_no_document)
{
        cr_assert_not(dump(NULL));
}
