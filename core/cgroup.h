/*
 * cgroup.h - what the machine allows a process, as /proc and /sys say: numbers, and the limits of
 * its control group (version 1, 2, or both).
 *
 * `root` stands before every path: "" for this machine, a folder of files in tests.
 */
#ifndef WEIR_CORE_CGROUP_H
#define WEIR_CORE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* The number in a file that holds nothing else; false when it does not, or is not there. */
bool weir__machine_number(const char *root, const char *path, uint64_t *number);

/* Bytes of the memory that the machine has; UINT64_MAX: nobody knows. */
uint64_t weir__machine_memory(const char *root);

/* The least quota of the group and those that it is in, in CPUs, rounded up; 0: none. */
unsigned weir__cgroup_cpus(const char *root);

/* The same of memory, in bytes; UINT64_MAX: no limit. */
uint64_t weir__cgroup_memory(const char *root);

#endif
