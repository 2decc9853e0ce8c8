/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a figure: processor, cores, compiler, and its load by other work. Reads /proc if
 * there is one. */
#ifndef GANTRY_BENCH_MACHINE_H
#define GANTRY_BENCH_MACHINE_H

#include <stddef.h>

/* The processor's name; "unknown" if the system does not say. */
void bench_machine_processor(char *out, size_t out_bytes);
void bench_machine_system(char *out, size_t out_bytes);
const char *bench_machine_compiler(void);
int bench_machine_cores(void);
double bench_machine_load(void);

/* Processor seconds since their start: of the whole machine, and of this process with its ended
 * children. */
double bench_machine_busy_seconds(void);
double bench_machine_own_seconds(void);

#endif
