/* test_fields.c - claims about name=value lists. */
#include "fields.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct weir__pool pool = { .max_kept = 1 << 20 };

static struct weir__fields list(const char *raw)
{
        return (struct weir__fields){ .raw = { raw, strlen(raw) }, .pool = &pool };
}

static void put(char *out, struct weir_str text)
{
        sprintf(out + strlen(out), "[%.*s]", WEIR_FMT(text));
}

/* The whole list as "[name][value] ..."; a field that is invalid is "!" and what could be read. */
static const char *walk(const char *raw)
{
        static char out[1024];
        struct weir__fields fields = list(raw);
        struct weir_str name, value;
        size_t cursor = 0;
        enum weir_field got;

        out[0] = 0;
        while ((got = weir__fields_next(&fields, &cursor, &name, &value)) != WEIR_FIELD_ABSENT) {
                strcat(out, got == WEIR_FIELD_INVALID ? "!" : "");
                put(out, name);
                put(out, value);
        }
        weir__buf_release(&pool, &fields.shadow);
        return out;
}

Test(fields, are_split_at_ampersand_and_the_first_equals)
{
        cr_assert_str_eq(walk("a=1&b=2"), "[a][1][b][2]");
        cr_assert_str_eq(walk("a=1=2&b==&c=a=b"), "[a][1=2][b][=][c][a=b]");
        cr_assert_str_eq(walk("a=1;b=2"), "[a][1;b=2]");
}

Test(fields, that_are_empty_are_passed_over)
{
        cr_assert_str_eq(walk(""), "");
        cr_assert_str_eq(walk("&&&"), "");
        cr_assert_str_eq(walk("&a=1&&b=2&"), "[a][1][b][2]");
}

Test(fields, may_lack_a_name_or_a_value)
{
        cr_assert_str_eq(walk("a&b=&=c&="), "[a][][b][][][c][][]");
}

Test(fields, are_decoded)
{
        cr_assert_str_eq(walk("a+b=c+d"), "[a b][c d]");
        cr_assert_str_eq(walk("%61%3d=%26%2B%2b"), "[a=][&++]");
        cr_assert_str_eq(walk("q=%C3%a9%ff"), "[q][\xc3\xa9\xff]");
        cr_assert_str_eq(walk("%25%36%31=%2525"), "[%61][%25]");
}

Test(fields, with_a_bad_escape_are_invalid_and_do_not_spoil_others)
{
        cr_assert_str_eq(walk("a=%&b=1"), "![a][][b][1]");
        cr_assert_str_eq(walk("a=%4&b=%4g&c=%g4&d=%%&e=1"), "![a][]![b][]![c][]![d][][e][1]");
        cr_assert_str_eq(walk("%zz=1&b=1"), "![][][b][1]");
        cr_assert_str_eq(walk("a=%00&%00=b&c=%0"), "![a][]![][]![c][]");
        cr_assert_str_eq(walk("a=%4"), "![a][]");
}

static enum weir_field find(const char *raw, const char *name, const char *wanted)
{
        struct weir__fields fields = list(raw);
        struct weir_str value = WEIR_STR("untouched");
        enum weir_field got = weir__fields_find(&fields, name, &value);

        cr_assert(weir_str_is(value, wanted), "%s in %s: %.*s", name, raw, WEIR_FMT(value));
        weir__buf_release(&pool, &fields.shadow);
        return got;
}

Test(fields, are_found_by_their_decoded_name)
{
        cr_assert_eq(find("a=1&b=2", "b", "2"), WEIR_FIELD_OK);
        cr_assert_eq(find("%61%62=1", "ab", "1"), WEIR_FIELD_OK);
        cr_assert_eq(find("a+b=1", "a b", "1"), WEIR_FIELD_OK);
        cr_assert_eq(find("a+b=1", "a+b", "untouched"), WEIR_FIELD_ABSENT);
        cr_assert_eq(find("a%2Bb=1", "a+b", "1"), WEIR_FIELD_OK);
        cr_assert_eq(find("ab=1&a=2&abc=3", "a", "2"), WEIR_FIELD_OK);
        cr_assert_eq(find("A=1", "a", "untouched"), WEIR_FIELD_ABSENT);
        cr_assert_eq(find("=1", "", "1"), WEIR_FIELD_OK);
}

Test(fields, are_found_in_order)
{
        cr_assert_eq(find("a=1&a=2", "a", "1"), WEIR_FIELD_OK);
        cr_assert_eq(find("a=%zz&a=2", "a", "untouched"), WEIR_FIELD_INVALID);
        cr_assert_eq(find("a%zz=1&%6=1&a=2", "a", "2"), WEIR_FIELD_OK);
        cr_assert_eq(find("a%00=1", "a", "untouched"), WEIR_FIELD_ABSENT);
}

Test(fields, without_escapes_are_views_and_take_no_memory)
{
        struct weir__fields fields = list("a=1&b=2");
        struct weir_str name, value;
        size_t cursor = 0;

        cr_assert_eq(weir__fields_next(&fields, &cursor, &name, &value), WEIR_FIELD_OK);
        cr_assert_eq(name.ptr, fields.raw.ptr);
        cr_assert_eq(value.ptr, fields.raw.ptr + 2);
        cr_assert_null(fields.shadow.ptr);
}

Test(fields, without_a_value_have_a_pointer_and_absent_ones_have_none)
{
        struct weir__fields fields = list("a");
        struct weir_str name, value;
        size_t cursor = 0;

        cr_assert_eq(weir__fields_next(&fields, &cursor, &name, &value), WEIR_FIELD_OK);
        cr_assert_not_null(value.ptr);
        cr_assert_eq(weir__fields_next(&fields, &cursor, &name, &value), WEIR_FIELD_ABSENT);
        cr_assert_null(name.ptr);
        fields.raw = (struct weir_str){ 0 };
        cr_assert_eq(weir__fields_find(&fields, "a", &value), WEIR_FIELD_ABSENT);
}

Test(fields, keep_their_place_when_they_are_decoded_again)
{
        struct weir__fields fields = list("x=%41%42&y=%43&x=%44");
        struct weir_str first, second, again;

        cr_assert_eq(weir__fields_find(&fields, "x", &first), WEIR_FIELD_OK);
        cr_assert_eq(weir__fields_find(&fields, "y", &second), WEIR_FIELD_OK);
        cr_assert_eq(weir__fields_find(&fields, "x", &again), WEIR_FIELD_OK);
        cr_assert_eq(first.ptr, again.ptr);
        cr_assert(weir_str_is(first, "AB") && weir_str_is(second, "C"));
        weir__buf_release(&pool, &fields.shadow);
}
