/*
 * fuzz_files.c - what a client may write about a file: Range, If-*, Accept-Encoding, dates.
 *
 * The first byte says what the rest is: r, R, d, e or c. What is read must keep the promises of its
 * header, and a date that is read must be the same when it is written and read again.
 */
#include "coding.h"
#include "condition.h"
#include "http_date.h"
#include "range.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
        if (!right)
                abort();
}

static void fuzz_range(struct weir_str field, uint64_t size)
{
        struct weir__ranges ranges;
        enum weir__range_status status = weir__ranges_read(field, size, 16, &ranges);
        uint64_t sum = 0;

        check(status == WEIR__RANGE_IGNORED || (status == WEIR__RANGE_NONE) == (ranges.n == 0));
        if (status != WEIR__RANGE_SOME)
                return;
        check(ranges.n <= 16);
        for (unsigned i = 0; i < ranges.n; i++) {
                check(ranges.at[i].length > 0 && ranges.at[i].first < size);
                check(ranges.at[i].length <= size - ranges.at[i].first);
                sum += ranges.at[i].length;
                for (unsigned j = 0; j < i; j++)
                        check(ranges.at[i].first >= ranges.at[j].first + ranges.at[j].length ||
                              ranges.at[j].first >= ranges.at[i].first + ranges.at[i].length);
        }
        check(sum <= size);
}

static void fuzz_date(struct weir_str text)
{
        char again[WEIR__HTTP_DATE];
        int64_t s, t;

        if (!weir__http_date_read(text, 1700000000, &s))
                return;
        check(text.len >= 24 && text.len <= 33);
        weir__http_date(again, s);
        if (s >= -62135596800 && s <= 253402300799) /* the years 1 to 9999 */
                check(weir__http_date_read((struct weir_str){ again, 29 }, 0, &t) && t == s);
}

static void fuzz_etag(struct weir_str list)
{
        struct weir__validators v = { .etag = WEIR_STR("\"a\"") };
        bool weak = weir__names_etag(list, &v, false), strong = weir__names_etag(list, &v, true);

        check(weak || !strong);
        check(!weak || (list.len == 1 && *list.ptr == '*') ||
              memmem(list.ptr, list.len, "\"a\"", 3));
        v.weak = true;
        check(!weir__names_etag(list, &v, true) || (list.len == 1 && *list.ptr == '*'));
}

static void fuzz_coding(struct weir_str field)
{
        int named = -1, any = -1;

        weir__coding_read(field, "br", &named, &any);
        check(named >= -1 && named <= 1000 && any >= -1 && any <= 1000);
        check(any == -1 || memchr(field.ptr, '*', field.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct weir_str text;
        char *copy;

        if (size < 2)
                return 0;
        copy = malloc(size - 1); /* so that a byte too far is found */
        memcpy(copy, data + 1, size - 1);
        text = (struct weir_str){ copy, size - 1 };
        switch (data[0]) {
        case 'r':
                fuzz_range(text, 1000);
                break;
        case 'R':
                fuzz_range(text, INT64_MAX);
                break;
        case 'd':
                fuzz_date(text);
                break;
        case 'e':
                fuzz_etag(text);
                break;
        case 'c':
                fuzz_coding(text);
                break;
        default:
                break;
        }
        free(copy);
        return 0;
}
