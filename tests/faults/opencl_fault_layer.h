/* SPDX-License-Identifier: Apache-2.0 */
/* Between the fault tool and its OpenCL layer, which the tool opens with dlopen. Thread-safe. */
#ifndef GANTRY_TESTS_OPENCL_FAULT_LAYER_H
#define GANTRY_TESTS_OPENCL_FAULT_LAYER_H

#include <stdint.h>

/* The OpenCL error that the call fails with; 0: the layer forwards the call. Any thread. */
typedef int32_t (*faults_layer_watch_fn)(const char *function);

enum {
    FAULTS_LAYER_CONTEXT,
    FAULTS_LAYER_QUEUE,
    FAULTS_LAYER_BUFFER,
    FAULTS_LAYER_PROGRAM,
    FAULTS_LAYER_KERNEL,
    FAULTS_LAYER_EVENT,
    FAULTS_LAYER_KINDS
};

void gantry_faults_layer_set_watch(faults_layer_watch_fn new_watch); /* NULL: no watcher */
long gantry_faults_layer_live(int kind);                             /* references that live */

#endif
