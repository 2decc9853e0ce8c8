/* SPDX-License-Identifier: Apache-2.0 */
/* Name, cores and memory of the machine, and this process's share of them.
 *
 * The functions read /proc and the cgroup files below `root` ("" for the real ones; tests pass a
 * directory of their own). They cache and allocate nothing. A missing or odd file counts as "no
 * limit". Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_CPU_MACHINE_H
#define GANTRY_CPU_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gantry__cpu_identity_t {
    char hardware_name[128]; /* such as "AMD EPYC 9654 96-Core Processor"; never empty */
    char vendor[64];         /* such as "AuthenticAMD"; "" when unknown */
    uint32_t clock_mhz;      /* 0 when unknown */
} gantry__cpu_identity_t;

void gantry__cpu_machine_identity(const char *root, gantry__cpu_identity_t *out);

/* The smaller of `affinity` (the cores that the scheduler allows) and the cgroup's CPU bandwidth,
 * rounded up; at least 1. */
uint32_t gantry__cpu_machine_cores(const char *root, uint32_t affinity);

/* Writes the bytes that the process can still take, and those that it may have in all: the smallest
 * of the machine's figures, the tightest cgroup's and those of the process's own limits (ulimit).
 * Page cache that the kernel can drop counts as free. Both are 0 when unknown. */
void gantry__cpu_machine_memory(const char *root, uint64_t *out_free_bytes,
                                uint64_t *out_total_bytes);

/* The bytes that the process's own limits (ulimit -v and -d) still leave; UINT64_MAX without
 * limits. */
uint64_t gantry__cpu_machine_unused_limit(const char *root);

/* The threads of the machine that ran or waited over the last minute; negative when unknown. */
double gantry__cpu_machine_load(const char *root);

/* The share of processor time in use between two readings of its counts. The caller zeroes it, and
 * one thread at a time may use it. */
typedef struct gantry__cpu_use_t {
    uint64_t busy, total; /* ticks of all cores at the reading before; total 0: there was none */
    int64_t ns;           /* when that was */
    bool is_known;
    uint32_t percent;
} gantry__cpu_use_t;

/* Readings that are closer to each other repeat the share: a tick is 10 ms. */
#define GANTRY__CPU_USE_NS INT64_C(250000000)

/* Reads the counts at now_ns of a steady clock, and updates the share. False if there are none. */
bool gantry__cpu_machine_use(const char *root, int64_t now_ns, gantry__cpu_use_t *use);

/* Writes the highest clock that a core has now, and the highest that one may have; 0: unknown. */
void gantry__cpu_machine_clocks(const char *root, uint32_t *out_now_mhz, uint32_t *out_most_mhz);

#endif
