/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that a caller gives as type, shape, address and size.
 *
 * Owner: nothing is handed out. Threads: thread-safe. */
#ifndef GANTRY_API_ELEMENTS_CHECK_H
#define GANTRY_API_ELEMENTS_CHECK_H

#include <gantry/types.h>

#include "shared/fail.h"

/* Checks that bytes is the size of this shape and type. what names the call in messages. */
gantry_status_t gantry__check_elements(const char *what, gantry_dtype_t dtype,
                                       const gantry_shape_t *shape, const void *data, size_t bytes);

#endif
