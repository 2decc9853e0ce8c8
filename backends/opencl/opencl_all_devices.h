/* SPDX-License-Identifier: Apache-2.0 */
/* Gantry's own OpenCL layer (tools/opencl_layer), by which `gantry run` hides devices from programs
 * that do not use Gantry. Gantry's numbers count all devices, so this backend sees all of them.
 *
 * Not here: which devices Gantry shows (GANTRY_VISIBLE_DEVICES; the core). Owner: nothing is kept.
 * Threads: thread-safe. */
#ifndef GANTRY_OPENCL_ALL_DEVICES_H
#define GANTRY_OPENCL_ALL_DEVICES_H

#include <stdbool.h>

#include "opencl/opencl_symbols.h"

/* From begin to end, the calling thread sees all devices. end must follow begin on the same thread.
 * The loader is started. */
void gantry__opencl_all_devices_begin(const gantry__opencl_symbols_t *cl);
void gantry__opencl_all_devices_end(void);

#endif
