/* SPDX-License-Identifier: Apache-2.0 */
/* The fault tool's CUDA source, on the stand-in for NVIDIA's driver; faults_sources.c calls it.
 * Threads: as faults.h says. */
#ifndef GANTRY_TESTS_FAULTS_CUDA_H
#define GANTRY_TESTS_FAULTS_CUDA_H

#include "faults.h"

/* Before any fork. False: not possible here, because. */
bool faults_cuda_prepare(char *out_why, size_t why_bytes);
/* Before each run, and after it: is everything given back, and was nothing done that no driver
 * survives? */
void faults_cuda_reset(void);
bool faults_cuda_is_clean(char *out_why, size_t why_bytes);

#endif
