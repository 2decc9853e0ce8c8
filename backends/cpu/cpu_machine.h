/* SPDX-License-Identifier: Apache-2.0 */
/* What the operating system says of the machine and of this process's share of it: name, cores,
 * memory.
 *
 * Read from /proc and the cgroup files below `root` ("" for the real ones; tests give a directory
 * of their own). Nothing is cached and nothing is allocated. Missing or odd files count as "no
 * limit". Threads: thread-safe. */
#ifndef GANTRY_CPU_MACHINE_H
#define GANTRY_CPU_MACHINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct gantry__cpu_identity_t {
    char hardware_name[128]; /* "AMD EPYC 9654 96-Core Processor"; never empty */
    char vendor[64];         /* "AuthenticAMD", "" when unknown */
    uint32_t clock_mhz;      /* 0 when unknown */
} gantry__cpu_identity_t;

void gantry__cpu_machine_identity(const char *root, gantry__cpu_identity_t *out);

/* The smaller of `affinity` (cores the scheduler allows) and the cgroup's CPU bandwidth rounded
 * up; at least 1. */
uint32_t gantry__cpu_machine_cores(const char *root, uint32_t affinity);

/* Bytes the process can still take and bytes it could take in all: the machine's figures, the
 * tightest cgroup's or those of the process's own limits (ulimit), whichever are the smallest. Page
 * cache that the kernel can drop counts as free. Both 0 when unknown. */
void gantry__cpu_machine_memory(const char *root, uint64_t *out_free_bytes,
                                uint64_t *out_total_bytes);

/* Bytes that the process's own limits (ulimit -v and -d) leave; UINT64_MAX when there are none. */
uint64_t gantry__cpu_machine_room(const char *root);

#endif
