/* SPDX-License-Identifier: Apache-2.0 */
/* What the plug-in counts: copies always; kernels if GANTRY_TF_REPORT or GANTRY_TRACE is set when
 * TensorFlow loads the plug-in. With GANTRY_TRACE, every kernel is also a slice of the timeline
 * that bears the name of its node. What ran on the CPU, the plug-in cannot see:
 * python/gantry_tensorflow/op_report.py can. Thread-safe. */
#ifndef GANTRY_TENSORFLOW_REPORT_H
#define GANTRY_TENSORFLOW_REPORT_H

#include <stdint.h>

#include "register.h"

typedef enum report_way_t {
    REPORT_TO_DEVICE,
    REPORT_TO_HOST,
    REPORT_FROM_DEVICE, /* from another device to this one */
    REPORT_WAYS
} report_way_t;

/* Counts a copy that begins or ends on a device. */
void report_add_copy(report_way_t way, uint32_t device, uint64_t bytes);
/* If kernels are counted: puts functions that count in front of the kernel's own. Init-only. */
void report_wrap(register_kernel_t *kernel);

/* ---- for the Python package, which finds them by name ---- */

/* Writes the counts as JSON, as snprintf does. Before devices are open, "{}". */
__attribute__((visibility("default"))) size_t gantry_tensorflow_report(char *out, size_t out_bytes);
/* Writes the rest of the timeline, if there is one. The program runs no op any more. */
__attribute__((visibility("default"))) void gantry_tensorflow_end_trace(void);

#endif
