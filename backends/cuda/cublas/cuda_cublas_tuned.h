/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the library's choices `gantry tune` found to be the fastest on this card, by class of
 * product, because the library's first choice is a guess without a measurement.
 *
 * It is for float32 that is computed in float32, where the workspace may be as large as the library
 * wants. Another choice adds in another order, so last bits may differ from an untuned card's.
 *
 * Owner: the device. Threads: read once, under device->lock; constant afterwards. */
#ifndef GANTRY_CUDA_CUBLAS_TUNED_H
#define GANTRY_CUDA_CUBLAS_TUNED_H

#include "cuda/cublas/cuda_cublas_table.h"

#define GANTRY__CUBLAS_CHOICES 8 /* choices that the tuner compares */

/* Parses "use=2 version=120901 gflops=14250.2 first=12011.9", of which only use= is needed.
 * version_of must be the library's own version. Returns false, with what is wrong in reason; then
 * nothing is tuned. */
bool gantry__cublas_tuned_parse(const char *values, size_t version_of, uint8_t *out_choice,
                                const char **reason);
/* Reads the records of the device. */
void gantry__cublas_tuned_read(gantry_backend_device_t *device);
/* The choice that a plan of this form takes, if the library gives as many: 0 is its first. */
int gantry__cublas_tuned_choice(const gantry_backend_device_t *device,
                                const gantry__cublas_form_t *form);

#endif
