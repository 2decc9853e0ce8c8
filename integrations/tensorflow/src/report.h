/* SPDX-License-Identifier: Apache-2.0 */
/* What the plug-in counts: copies always; kernels if GANTRY_TF_REPORT or GANTRY_TRACE is set when
 * TensorFlow loads the plug-in. With GANTRY_TRACE, every kernel is also a slice of the timeline
 * that has the name of its node. The plug-in cannot see what ran on the CPU;
 * python/gantry_tensorflow/op_report.py can.
 *
 * Owner: the counters live as long as the process. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_REPORT_H
#define GANTRY_TENSORFLOW_REPORT_H

#include <stdint.h>

#include "register.h"

/* If kernels are counted, replaces the kernel's functions by functions that count and call them.
 * Init-only. */
void report_wrap(register_kernel_t *kernel);

/* ---- for the Python package, which finds them by name ---- */

/* Writes the counts as JSON, cut and returned as snprintf does. Before devices are open, they are
 * "{}". */
__attribute__((visibility("default"))) size_t gantry_tensorflow_report(char *out, size_t out_bytes);
/* Writes the rest of the timeline, if there is one. No op may run any more. */
__attribute__((visibility("default"))) void gantry_tensorflow_end_trace(void);

#endif
