/* subject.h - the app under measurement: 200 routes, four middleware that pass all requests on. */
#ifndef WEIR_BENCH_SUBJECT_H
#define WEIR_BENCH_SUBJECT_H

#include <weir/app.h>

/*
 * What GET /repos/{owner}/{repo} answers, by name:
 *
 *      static   a sentence, prepared once
 *      hello    the same sentence as JSON, written on each request
 *      dynamic  three fields and 500 bytes of JSON, written on each request
 *      large    5,000 bytes: more than an answer that is kept for reuse may have
 *      varying  a length that has not occurred for 3,499 answers
 *
 * One loop. `connection_memory` 0: the default. NULL for an unknown name, or without memory.
 */
struct weir *subject_new(const char *answer, size_t connection_memory, const char *address);

#endif
