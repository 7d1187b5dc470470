/* fuzz_query.c - a name=value list against a slow reading of it, byte by byte. */
#include "fields.h"
#include "fuzz_kit.h"

#define MAX 8192

/* One field, decoded; invalid when a length is -1. */
struct field {
        char name[MAX], value[MAX];
        int  name_len, value_len;
};

/* The byte at text[*i], and moves on; -1 for a bad escape. */
static int take(const char *text, size_t end, size_t *i)
{
        char c = text[(*i)++];
        int byte;

        if (c == '+')
                return ' ';
        if (c != '%')
                return (unsigned char)c;
        byte = hex_byte(text + *i, text + end);
        *i += 2;
        return byte ? byte : -1;
}

static int decode(char *out, const char *text, size_t from, size_t end)
{
        int n = 0;

        while (from < end) {
                int byte = take(text, end, &from);

                if (byte < 0)
                        return -1;
                out[n++] = (char)byte;
        }
        return n;
}

/* The next field of text[size] from *at on. */
static bool next(const char *text, size_t size, size_t *at, struct field *field)
{
        size_t end, equals;

        while (*at < size && text[*at] == '&')
                (*at)++;
        if (*at == size)
                return false;
        for (end = *at; end < size && text[end] != '&';)
                end++;
        for (equals = *at; equals < end && text[equals] != '=';)
                equals++;
        field->name_len = decode(field->name, text, *at, equals);
        field->value_len = decode(field->value, text, equals < end ? equals + 1 : end, end);
        *at = end;
        return true;
}

static bool is(struct weir_str text, const char *wanted, int len)
{
        return len < 0 ? !text.ptr
                       : text.ptr && text.len == (size_t)len && !memcmp(text.ptr, wanted, text.len);
}

/* Finds each name that a C string can hold: the first field that is called so must come. */
static void check_find(struct weir__fields *fields, const struct field *field)
{
        static struct field first;
        struct weir_str value = { 0 };
        enum weir_field got;
        char name[MAX + 1];
        size_t at = 0;

        memcpy(name, field->name, (size_t)field->name_len);
        name[field->name_len] = 0;
        if (strlen(name) != (size_t)field->name_len)
                return;
        do
                next(fields->raw.ptr, fields->raw.len, &at, &first);
        while (first.name_len != field->name_len || memcmp(first.name, name, strlen(name)) != 0);
        got = weir__fields_find(fields, name, &value);
        require(got == (first.value_len < 0 ? WEIR_FIELD_INVALID : WEIR_FIELD_OK));
        require(is(value, first.value, first.value_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct weir__pool pool = { .max_kept = 1 << 20 };
        static struct field field;
        struct weir__fields fields = { .raw = { (const char *)data, size }, .pool = &pool };
        struct weir_str name, value;
        size_t cursor = 0, at = 0;
        int n_found = 0;

        if (size > MAX)
                return 0;
        while (next(fields.raw.ptr, size, &at, &field)) {
                enum weir_field got = weir__fields_next(&fields, &cursor, &name, &value);
                bool good = field.name_len >= 0 && field.value_len >= 0;

                require(got == (good ? WEIR_FIELD_OK : WEIR_FIELD_INVALID));
                require(is(name, field.name, field.name_len));
                require(is(value, field.value, field.name_len < 0 ? -1 : field.value_len));
                if (field.name_len >= 0 && n_found++ < 10)
                        check_find(&fields, &field);
        }
        require(weir__fields_next(&fields, &cursor, &name, &value) == WEIR_FIELD_ABSENT);
        weir__buf_release(&pool, &fields.shadow);
        return 0;
}
