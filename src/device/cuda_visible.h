/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA_VISIBLE_DEVICES, for every backend's view of an NVIDIA card. Reads settings, changes only
 * the cards' records. Init-only. */
#ifndef GANTRY_DEVICE_CUDA_VISIBLE_H
#define GANTRY_DEVICE_CUDA_VISIBLE_H

#include "base/failure.h"

struct gantry__device_table_t;

/* Fills hidden_by_cuda and cuda_place of the cards. A text that names a device twice hides all of
 * NVIDIA's and is logged: the variable is not Gantry's to refuse. */
gantry_status_t gantry__cuda_visible_find(struct gantry__device_table_t *table);

#endif
