/*
 * fuzz_json_dump.c - documents dumped by us and by Jansson: the bytes are the same.
 *
 * The input is read twice: as JSON, and as a list of orders that build a document, which reaches
 * what no JSON text gives: strings that are not UTF-8, any double.
 */
#include "fuzz_kit.h"
#include "json_text.h"

struct input {
        const uint8_t *at, *end;
};

static uint8_t take(struct input *in)
{
        return in->at < in->end ? *in->at++ : 0;
}

static uint64_t take_bits(struct input *in)
{
        uint64_t bits = 0;

        for (int i = 0; i < 8; i++)
                bits = bits << 8 | take(in);
        return bits;
}

static json_t *build_string(struct input *in)
{
        size_t len = take(in), left = (size_t)(in->end - in->at);
        json_t *string;

        len = len < left ? len : left;
        string = json_stringn_nocheck(len ? (const char *)in->at : "", len);
        in->at += len;
        return string;
}

static json_t *build_real(struct input *in)
{
        uint64_t bits = take_bits(in);
        double value;
        json_t *real;

        memcpy(&value, &bits, sizeof(value));
        real = json_real(value);
        return real ? real : json_null();
}

static json_t *build(struct input *in, int depth);

/* Keys are UTF-8: with others Jansson 2.14 writes what is no JSON. */
static json_t *build_object(struct input *in, int depth)
{
        json_t *object = json_object();

        for (int n = take(in) % 8; n > 0; n--) {
                json_t *key = build_string(in);

                json_object_setn_new(object, json_string_value(key), json_string_length(key),
                                     build(in, depth + 1));
                json_decref(key);
        }
        return object;
}

static json_t *build_array(struct input *in, int depth)
{
        json_t *array = json_array();

        for (int n = take(in) % 8; n > 0; n--)
                json_array_append_new(array, build(in, depth + 1));
        return array;
}

static json_t *build(struct input *in, int depth)
{
        switch (take(in) % (depth < 100 ? 9 : 6)) {
        case 0:
                return json_null();
        case 1:
                return json_true();
        case 2:
                return json_integer((json_int_t)take_bits(in));
        case 3:
                return json_integer(take(in));
        case 4:
                return build_real(in);
        case 5:
                return build_string(in);
        case 6:
                return json_real((double)(take_bits(in) >> 44) / 1000);
        case 7:
                return build_object(in, depth);
        default:
                return build_array(in, depth);
        }
}

static void compare(json_t *document)
{
        static struct weir__pool pool = { .max_kept = 1 << 20 };
        const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
        struct weir__json_home home = { .pool = &pool };
        struct weir_json_writer w;
        size_t len = json_dumpb(document, NULL, 0, flags);
        char *wanted = malloc(len + 1);

        json_dumpb(document, wanted, len, flags);
        weir__json_writer_init(&w, &home);
        weir_json_value(&w, document);
        if (weir__json_writer_finish(&w)) {
                if (home.buf.len != len || memcmp(home.buf.ptr, wanted, len) != 0)
                        abort();
        } else if (len) {
                abort();
        }
        weir__buf_release(&pool, &home.buf);
        free(wanted);
        json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct input in = { data, data + size };
        json_t *read = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        if (read)
                compare(read);
        compare(build(&in, 0));
        return 0;
}
