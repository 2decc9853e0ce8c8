/* SPDX-License-Identifier: Apache-2.0 */
/* From the driver's numbers to Gantry's codes and texts, and the few things every file of this
 * backend asks of its host.
 *
 * Every failure of this backend goes through here, so that each text ends with the native name and
 * number.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_CUDA_STATUS_H
#define GANTRY_CUDA_STATUS_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"
#include "driver/native_error.h"

/* Numbers that this backend looks at itself. */
enum {
    GANTRY__CU_SUCCESS = 0,
    GANTRY__CU_INVALID_VALUE = 1,
    GANTRY__CU_OUT_OF_MEMORY = 2,
    GANTRY__CU_NOT_INITIALIZED = 3,
    GANTRY__CU_NO_DEVICE = 100,
    GANTRY__CU_NOT_READY = 600,
    GANTRY__CU_PEER_ACCESS_ALREADY_ENABLED = 704
};

extern const gantry__native_errors_t gantry__cuda_errors;
#define GANTRY__DRIVER_ERRORS gantry__cuda_errors
#include "driver/driver_check.h"

#endif
