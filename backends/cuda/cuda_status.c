/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/cuda_status.h"

/* Unavailable of an open device says that it is lost, so only errors that a context does not
 * survive have that code there: the driver calls them sticky, answers every later call with them,
 * and nothing but the end of the process helps. Others with that code come up only while a driver
 * or device is opened. Errors that a correct backend cannot cause are Internal; UNKNOWN is left
 * for numbers without a meaning. */
static const gantry__native_error_t list[] = {
#define GANTRY__CUDA_ERROR(number, code, name) {number, code, #name},
#include "cuda/cuda_errors.def"
};

const gantry__native_errors_t gantry__cuda_errors = {"CUDA", "unknown CUDA error", list,
                                                     sizeof list / sizeof list[0]};
