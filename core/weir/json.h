/* json.h - JSON in and out. Jansson is the document type; its rules of borrow and steal hold. */
#ifndef WEIR_JSON_H
#define WEIR_JSON_H

#include <jansson.h>
#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Documents. ---- */

/*
 * `body` as compact JSON, byte for byte what json_dumpb(..., JSON_COMPACT | JSON_ENCODE_ANY) gives;
 * application/json. Borrows. When it is NULL, contains itself, has more than 2048 levels, or a
 * string that is not UTF-8 (only the *_nocheck functions make one): 500, a line in the log, and
 * counted in bad_answers.
 */
WEIR_API enum weir_flow weir_json(struct weir_ctx *ctx, int status, const json_t *body);

/* The same, and releases the caller's reference, always. */
WEIR_API enum weir_flow weir_json_new(struct weir_ctx *ctx, int status, json_t *body);

/*
 * The body of the request as a new reference, or NULL after answering; then the caller returns
 * WEIR_DONE. 415: its type is not application/json or +json. 400, with line and column: it is not
 * JSON in UTF-8 (RFC 8259), empty included; a name comes twice in one object; an integer does not
 * fit int64_t, a real no double; a NUL, escaped or not; more than 2048 levels. A document can take
 * a hundred times the bytes of its body: max_body is what bounds it.
 */
WEIR_API json_t *weir_json_body(struct weir_ctx *ctx) WEIR_MUST_USE;

/* ---- Lines: newline-delimited JSON, value by value, as it comes in. ---- */

/*
 * Gets a value, which it borrows, and the number of its line, from 1. WEIR_NEXT takes it, WEIR_DONE
 * ends the upload with an answer. It may not wait: use .blocking.
 */
typedef enum weir_flow weir_json_line_fn(struct weir_ctx *ctx, void *self, json_t *value,
                                         uint64_t line);

struct weir_json_lines_options {
        struct weir_route_options route; /* on_body is not yours; max_body counts all lines      */
        int      method;    /* 0: WEIR_POST                                                      */
        int64_t  max_line;  /* bytes; 0: 64 KiB; beyond: 413, counted in bodies_too_large        */
        int64_t  max_lines; /* 0: no limit; beyond: the same                                     */
        uint64_t reserved[4];
};

/*
 * A route for lines of JSON, ended by LF or CRLF, the last one maybe by nothing; lines of blanks
 * are passed over. `on_line` gets each value, and `fn`, a handler, answers when all are in. 415:
 * the type is not application/x-ndjson, application/ndjson, application/jsonl or
 * application/x-jsonlines. 400 with line and column: as weir_json_body(); the values of the lines
 * before have been given then. All such routes take one slot of the app.
 */
WEIR_API void weir_json_lines(struct weir *scope, const char *pattern, weir_json_line_fn *on_line,
                              weir_request_fn *fn, void *self,
                              const struct weir_json_lines_options *options);

/* ---- Binding: a JSON body into a struct, by a table. ---- */

enum weir_json_type {
        WEIR_JSON_END,    /* ends a table                                                */
        WEIR_JSON_STR,    /* struct weir_str; min and max: bytes                         */
        WEIR_JSON_INT,    /* int64_t; min and max: value. 5.0 is an integer too          */
        WEIR_JSON_NUM,    /* double; min and max: value                                  */
        WEIR_JSON_BOOL,   /* bool                                                        */
        WEIR_JSON_OBJECT, /* the struct that `fields` describes, in place                */
        WEIR_JSON_ARRAY,  /* struct weir_json_items of `fields`, or of `item`; min, max: */
                          /* elements                                                    */
        WEIR_JSON_ANY,    /* json_t *, borrowed; null is a value too                     */
};

/* An array: `n` elements, one behind the other at `items`; NULL when n is 0. */
struct weir_json_items {
        void  *items;
        size_t n;
};

/*
 * One field. A field that is absent or null leaves its place alone: set it to a default before (in
 * elements of arrays it is zero). `min` and `max` both 0: no limit; `max` below `min`: no upper
 * limit, so `.min = 1` alone says "at least 1". Integers beyond 2^53 are compared rounded.
 */
struct weir_json_field {
        const char                   *name;
        enum weir_json_type           type;
        size_t                        offset;   /* offsetof(struct ..., member)                 */
        bool                          required; /* neither absent nor null                      */
        double                        min, max;
        const struct weir_json_field *fields;   /* of an object, or of the objects of an array  */
        size_t                        size;     /* arrays of objects: sizeof one                */
        enum weir_json_type           item;     /* arrays of plain values: their type...        */
        double                        item_min, item_max; /* ...and the limits of each          */
        size_t                        present;  /* 0: none; else offsetof a bool, set when given */
        uint64_t                      reserved[2];
};

/*
 * Reads the body into *out by the table `fields`:
 *
 *      static const struct weir_json_field fields[] = {
 *              { "title", WEIR_JSON_STR, offsetof(struct book, title), .required = true },
 *              { "price", WEIR_JSON_NUM, offsetof(struct book, price), .max = 1000 },
 *              { "tags", WEIR_JSON_ARRAY, offsetof(struct book, tags), .item = WEIR_JSON_STR },
 *              { 0 },
 *      };
 *
 * WEIR_NEXT: all is there and within its limits. WEIR_DONE: answered, and *out has no meaning:
 * 415 or 400 as weir_json_body(), or 422 with problem+json whose "errors" name the first 32 faults,
 * each by "pointer" (RFC 6901) and "detail": missing, of a wrong type, out of range, unknown.
 * on_error does not render those. A mistake in the table is logged, counted in bad_answers, and
 * answered 500. Strings, arrays and documents live until the request is over; max_body is what
 * bounds an array without `max`.
 */
WEIR_API enum weir_flow weir_json_bind(struct weir_ctx *ctx, const struct weir_json_field *fields,
                                       void *out);

/*
 * Answers 422 in the form of weir_json_bind(), with one fault, for what a table cannot tell:
 *
 *      if (weir_json_bind(ctx, fields, &stay) != WEIR_NEXT)
 *              return WEIR_DONE;
 *      if (stay.end < stay.start)
 *              return weir_json_fault(ctx, "/end", "must not be before start");
 *
 * `pointer` (RFC 6901) is where in the body, "" for the whole of it; a name in it has "~0" for '~'
 * and "~1" for '/'. The detail is formatted like printf, and cut behind 1023 bytes.
 */
WEIR_API enum weir_flow weir_json_fault(struct weir_ctx *ctx, const char *pointer, const char *fmt,
                                        ...) WEIR_PRINTF(3, 4);

/* ---- Writing: JSON straight into the answer, no document. ---- */

struct weir__json_home;

/*
 * A writer is a value on the handler's stack; it may be dropped at any time. It never fails on the
 * way: when memory is out, or the calls make no JSON (a value without a key in an object, a wrong
 * or missing end, more than 64 levels), it goes silent, and weir_json_end() answers 500. A mistake
 * is logged once, and its 500 counted in bad_answers. Commas are the writer's business; that keys
 * differ is the caller's. Bytes of keys and strings that are not UTF-8 become U+FFFD.
 */
struct weir_json_writer {
        struct weir_ctx        *ctx;
        char                   *at, *end; /* private */
        struct weir__json_home *home;     /* private */
        uint64_t                nesting;  /* private */
        uint32_t                now, then, depth, fault; /* private */
        uint64_t                reserved[2];
};

WEIR_API struct weir_json_writer weir_json_begin(struct weir_ctx *ctx);
WEIR_API void weir_json_object(struct weir_json_writer *w);     /* { */
WEIR_API void weir_json_object_end(struct weir_json_writer *w); /* } */
WEIR_API void weir_json_array(struct weir_json_writer *w);      /* [ */
WEIR_API void weir_json_array_end(struct weir_json_writer *w);  /* ] */
WEIR_API void weir_json_keyn(struct weir_json_writer *w, const char *name, size_t len);

static inline void weir_json_key(struct weir_json_writer *w, const char *name)
{
        weir_json_keyn(w, name, strlen(name));
}

/* Absent and NULL are written as null. */
WEIR_API void weir_json_str(struct weir_json_writer *w, struct weir_str value);

static inline void weir_json_cstr(struct weir_json_writer *w, const char *value)
{
        struct weir_str s = { value, value ? strlen(value) : 0 };

        weir_json_str(w, s);
}

WEIR_API void weir_json_int(struct weir_json_writer *w, int64_t value);

/*
 * With as many of 15, 16 or 17 digits as it takes to read the same double again, and always a real:
 * 19.99, 5.0, 1e22. Not finite: null.
 */
WEIR_API void weir_json_num(struct weir_json_writer *w, double value);
WEIR_API void weir_json_bool(struct weir_json_writer *w, bool value);
WEIR_API void weir_json_null(struct weir_json_writer *w);

/* A document as a value, as weir_json() writes it. Borrows. */
WEIR_API void weir_json_value(struct weir_json_writer *w, const json_t *value);

/* Answers with what was written; application/json. */
WEIR_API enum weir_flow weir_json_end(struct weir_json_writer *w, int status);

#ifdef __cplusplus
}
#endif

#endif
