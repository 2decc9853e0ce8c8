/* SPDX-License-Identifier: Apache-2.0 */
/* The fault tool's CUDA source, on the stand-in for NVIDIA's driver; faults_sources.c calls it.
 * Threads: see faults.h. */
#ifndef GANTRY_TESTS_FAULTS_CUDA_H
#define GANTRY_TESTS_FAULTS_CUDA_H

#include "faults.h"

/* Called before any fork. False: impossible here, with the reason. */
bool faults_cuda_prepare(char *out_why, size_t why_bytes);
/* The first runs before each run. The second runs after it, and is true when all objects are
 * released and no call did something that no driver survives. */
void faults_cuda_reset(void);
bool faults_cuda_is_clean(char *out_why, size_t why_bytes);

#endif
