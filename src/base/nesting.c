/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nesting.h"

#include <gantry/scope.h>

static _Thread_local uint32_t levels;

gantry_status_t gantry__nesting_enter(void) {
    if (levels >= GANTRY_MAX_NESTING)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "it begins inside %d bodies, the most that are accepted (GANTRY_MAX_NESTING); a function that calls itself never ends",
            GANTRY_MAX_NESTING);
    ++levels;
    return GANTRY_OK;
}

void gantry__nesting_leave(void) { --levels; }
