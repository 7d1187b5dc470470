/*
 * json.c - JSON answers against Jansson: dumping a document, and writing without one.
 *
 * Both sides run in turn, in batches of some 30 us. A block takes the least time of each side, the
 * figure is the geometric mean of the ratios of 40 blocks.
 */
#include "json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BOOKS  10
#define BLOCKS 40
#define ROUNDS 100

struct book {
        int64_t     id;
        const char *title;
        int64_t     year;
        bool        lent;
};

static const struct book shelf[BOOKS] = {
        { 1000, "Dune", 1965, true },
        { 1037, "Solaris", 1961, false },
        { 1074, "Kindred", 1979, true },
        { 1111, "Roadside Picnic", 1972, false },
        { 1148, "The Left Hand of Darkness", 1969, true },
        { 1185, "A Wizard of Earthsea", 1968, false },
        { 1222, "Neuromancer", 1984, false },
        { 1259, "Snow Crash", 1992, true },
        { 1296, "The Dispossessed", 1974, false },
        { 1333, "Ubik", 1969, true },
};

static struct weir__pool pool;
static json_t *books;
static char by_jansson[1024];

/* ---- The sides: each gives its text, and how long it is. ---- */

typedef size_t side_fn(struct weir__json_home *home);

static size_t dump_jansson(struct weir__json_home *home)
{
        (void)home;
        return json_dumpb(books, by_jansson, sizeof(by_jansson), JSON_COMPACT);
}

static size_t dump(struct weir__json_home *home)
{
        struct weir_json_writer w;

        weir__json_writer_init(&w, home);
        weir_json_value(&w, books);
        return weir__json_writer_finish(&w) ? home->buf.len : 0;
}

static size_t write_books(struct weir__json_home *home)
{
        struct weir_json_writer w;

        weir__json_writer_init(&w, home);
        weir_json_array(&w);
        for (int i = 0; i < BOOKS; i++) {
                weir_json_object(&w);
                weir_json_key(&w, "id");
                weir_json_int(&w, shelf[i].id);
                weir_json_key(&w, "title");
                weir_json_cstr(&w, shelf[i].title);
                weir_json_key(&w, "year");
                weir_json_int(&w, shelf[i].year);
                weir_json_key(&w, "lent");
                weir_json_bool(&w, shelf[i].lent);
                weir_json_object_end(&w);
        }
        weir_json_array_end(&w);
        return weir__json_writer_finish(&w) ? home->buf.len : 0;
}

static json_t *document(void)
{
        json_t *list = json_array();

        for (int i = 0; i < BOOKS; i++) {
                const struct book *book = &shelf[i];

                json_array_append_new(list, json_pack("{s:I, s:s, s:I, s:b}", "id", book->id,
                                                      "title", book->title, "year", book->year,
                                                      "lent", book->lent));
        }
        return list;
}

/* ---- Checking and measuring. ---- */

/* Ends the program unless `ours` gives the bytes that Jansson gives. */
static void check(const char *name, side_fn *ours)
{
        struct weir__json_home home = { .pool = &pool };
        size_t len = dump_jansson(NULL);

        if (len == 0 || ours(&home) != len || memcmp(home.buf.ptr, by_jansson, len) != 0) {
                fprintf(stderr, "%s gives %.*s\n", name, (int)home.buf.len, home.buf.ptr);
                exit(1);
        }
        weir__buf_release(&pool, &home.buf);
}

static double now_ns(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double batch(side_fn *side, int n)
{
        double start = now_ns();

        for (int i = 0; i < n; i++) {
                struct weir__json_home home = { .pool = &pool };

                if (!side(&home))
                        exit(1);
                weir__buf_release(&pool, &home.buf);
        }
        return (now_ns() - start) / n;
}

/* One block: the least times of both sides, run in turn. The logarithm of their ratio. */
static double block(side_fn *ours, int n)
{
        double least = INFINITY, theirs = INFINITY;

        for (int i = 0; i < ROUNDS; i++) {
                theirs = fmin(theirs, batch(dump_jansson, 4));
                least = fmin(least, batch(ours, n));
        }
        return log(least / theirs);
}

static void compare(const char *name, side_fn *ours, int n)
{
        double sum = 0, squares = 0, mean, half;

        check(name, ours);
        for (int i = 0; i < BLOCKS; i++) {
                double ratio = block(ours, n);

                sum += ratio;
                squares += ratio * ratio;
        }
        mean = sum / BLOCKS;
        half = 2.02 * sqrt((squares / BLOCKS - mean * mean) / (BLOCKS - 1)); /* 95 %, 40 blocks */
        printf("%s_vs_jansson %.4f ratio\n", name, exp(mean));
        printf("%s_vs_jansson_lo %.4f ratio\n", name, exp(mean - half));
        printf("%s_vs_jansson_hi %.4f ratio\n", name, exp(mean + half));
}

int main(void)
{
        weir__pool_init(&pool, 1 << 20);
        books = document();
        printf("json_list_bytes %zu bytes\n", dump_jansson(NULL));
        compare("json_dump", dump, 30);
        compare("json_write", write_books, 80);
        json_decref(books);
        weir__pool_finish(&pool);
        return 0;
}
