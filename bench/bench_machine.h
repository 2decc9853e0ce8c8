/* SPDX-License-Identifier: Apache-2.0 */
/* The machine a figure belongs to: processor, cores, compiler, and how busy it was with other work.
 * Reads /proc where there is one. */
#ifndef GANTRY_BENCH_MACHINE_H
#define GANTRY_BENCH_MACHINE_H

#include <stddef.h>

/* "unknown" when the system does not tell. */
void bench_machine_processor(char *out, size_t out_bytes);
void bench_machine_system(char *out, size_t out_bytes);
const char *bench_machine_compiler(void);
int bench_machine_cores(void);
double bench_machine_load(void);

/* Processor seconds since start, of the whole machine and of this process with its ended
 * children. */
double bench_machine_busy_seconds(void);
double bench_machine_own_seconds(void);

#endif
