/* median.h - the figure of a benchmark, of many measurements. */
#ifndef WEIR_BENCH_MEDIAN_H
#define WEIR_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int by_value(const void *left, const void *right)
{
        double a = *(const double *)left, b = *(const double *)right;

        return (a > b) - (a < b);
}

/* Sorts them. */
static inline double median(double *values, size_t n)
{
        qsort(values, n, sizeof(*values), by_value);
        return values[n / 2];
}

#endif
