/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites of graphs that TensorFlow leaves out for this plug-in's devices. Init-only. */
#ifndef GANTRY_TENSORFLOW_GRAPH_H
#define GANTRY_TENSORFLOW_GRAPH_H

#include <tensorflow/c/experimental/grappler/grappler.h>

/* Fills what TF_InitGraph must set, for devices of this type. */
void graph_fill(TP_OptimizerRegistrationParams *params, const char *device_type);

#endif
