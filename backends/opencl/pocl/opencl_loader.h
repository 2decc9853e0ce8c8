/* SPDX-License-Identifier: Apache-2.0 */
/* The loader ocl-icd sorts its platforms by their devices, inside the first call that a program
 * makes. For this it queries the devices of every driver, and PoCL ends the process if it lacks
 * what it needs. So what PoCL needs must be checked before the first call.
 *
 * Only the environment or the list of drivers keeps ocl-icd from these queries, and a library must
 * not change its process's environment, because another thread may read it at the same time. So the
 * backend is refused, with the other drivers' devices.
 *
 * Not here: which drivers there are (opencl_drivers.h), what PoCL needs (opencl_pocl.h). Owner:
 * nothing is kept. Threads: init-only, because the environment is read. */
#ifndef GANTRY_OPENCL_LOADER_H
#define GANTRY_OPENCL_LOADER_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "opencl/opencl_drivers.h"
#include "opencl/opencl_symbols.h"

/* Must be called before the loader's first call. Returns Unavailable, with the cures, where that
 * call would end the process. *out_has_asked says whether drivers were queried for their platforms,
 * as the loader queries them. */
int32_t gantry__opencl_loader_check(const gantry_host_t *host, const gantry__opencl_symbols_t *cl,
                                    const gantry__opencl_drivers_t *drivers, bool *out_has_asked);

#endif
