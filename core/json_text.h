/* json_text.h - JSON text into a buffer that grows: what writer, dumper and binding share. */
#ifndef WEIR_CORE_JSON_TEXT_H
#define WEIR_CORE_JSON_TEXT_H

#include "buffer.h"
#include "json_scan.h"
#include <weir/json.h>

/* Room for any value but a long string: WEIR__JSON_SHORT bytes in quotes, and what may come behind
 * it, such as a comma. */
#define WEIR__JSON_ROOM 64

/* What a writer takes next. */
enum weir__json_state {
        WEIR__JSON_BROKEN, /* nothing; `fault` says why      */
        WEIR__JSON_VALUE,
        WEIR__JSON_KEY,    /* or the end of the object       */
        WEIR__JSON_DONE,   /* nothing: the text is whole     */
};

enum weir__json_fault {
        WEIR__JSON_NO_FAULT,
        WEIR__JSON_MEMORY,
        WEIR__JSON_NO_KEY,
        WEIR__JSON_NO_VALUE,
        WEIR__JSON_WRONG_END,
        WEIR__JSON_UNFINISHED,
        WEIR__JSON_FINISHED,
        WEIR__JSON_NESTING,
        WEIR__JSON_NO_DOCUMENT,
        WEIR__JSON_CYCLE,
        WEIR__JSON_NOT_UTF8,
};

/*
 * A text as a new reference, or NULL after answering 400 with line and column; its first line is
 * called `line`. Any thread that has the request.
 */
json_t *weir__json_parse(struct weir_ctx *ctx, struct weir_str text, uint64_t line);

/* Where the text of a writer lives. */
struct weir__json_home {
        struct weir__pool *pool;
        struct weir__buf   buf;
};

/* A writer into home->buf. It logs nothing and answers nothing until the caller sets w->ctx. */
void weir__json_writer_init(struct weir_json_writer *w, struct weir__json_home *home);

/* Ends the text: it is home->buf, or false. */
bool weir__json_writer_finish(struct weir_json_writer *w);

/* The first fault of a writer counts, and goes to the log. */
__attribute__((cold)) void weir__json_break(struct weir_json_writer *w,
                                            enum weir__json_fault fault);

/* What to answer for a broken writer. */
enum weir_flow weir__json_answer_fault(struct weir_json_writer *w);

/* Writes a document at `at`; the new end, or NULL with w broken. */
char *weir__json_dump(struct weir_json_writer *w, char *at, const json_t *value);

/* ---- Text. Each takes and returns the end of the text so far; NULL: w is broken. ---- */

char *weir__json_grow(struct weir_json_writer *w, char *at, size_t need);

static inline char *weir__json_room(struct weir_json_writer *w, char *at, size_t need)
{
        return (size_t)(w->end - at) >= need ? at : weir__json_grow(w, at, need);
}

/* A string in quotes. What is not UTF-8 breaks w when strict, else becomes U+FFFD byte by byte. */
char *weir__json_quote_any(struct weir_json_writer *w, char *at, const char *text, size_t len,
                           bool strict);

/* The same for a short string without special bytes, in WEIR__JSON_ROOM; NULL: it is another. */
static inline __attribute__((always_inline)) char *weir__json_quote_plain(char *at,
                                                                          const char *text,
                                                                          size_t len)
{
        if (!weir__json_copy_short(at + 1, text, len))
                return NULL;
        at[0] = '"';
        at[len + 1] = '"';
        return at + len + 2;
}

#endif
