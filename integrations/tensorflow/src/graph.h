/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites of graphs that TensorFlow leaves out for this plug-in's devices. Owner: nothing is kept.
 * Threads: init-only, while TensorFlow loads the plug-in. */
#ifndef GANTRY_TENSORFLOW_GRAPH_H
#define GANTRY_TENSORFLOW_GRAPH_H

#include <tensorflow/c/experimental/grappler/grappler.h>

/* Fills in what TF_InitGraph must set, for devices of this type. */
void graph_fill(TP_OptimizerRegistrationParams *params, const char *device_type);

#endif
