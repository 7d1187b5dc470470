/* path_cpu.h - what only some CPUs have: asked for while running, so that one build is for all. */
#ifndef WEIR_CORE_PATH_CPU_H
#define WEIR_CORE_PATH_CPU_H

#include "path.h"

/* weir__path_split() for any CPU, and for those with AVX-512 VBMI2. */
enum weir__path_status weir__path_split_portable(struct weir__path *path, struct weir_str raw,
                                                 const struct weir__path_rules *rules);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(WEIR__NO_SIMD)

#define WEIR__VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")))
#define WEIR__BMI  __attribute__((target("bmi,bmi2")))

WEIR__VBMI enum weir__path_status weir__path_split_vbmi(struct weir__path *path,
                                                        struct weir_str raw,
                                                        const struct weir__path_rules *rules);

static inline bool weir__has_vbmi(void)
{
        return __builtin_cpu_supports("avx512vbmi2");
}

static inline bool weir__has_bmi(void)
{
        return __builtin_cpu_supports("bmi2");
}

#endif

#endif
