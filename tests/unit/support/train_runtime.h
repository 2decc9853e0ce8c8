/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime for all tests of a program: the CPU, and PoCL as a GPU. Nothing of gantry_train is left
 * on the heap when it closes. The build says where modules are: GANTRY_TEST_MODULES. */
#ifndef GANTRY_TEST_TRAIN_RUNTIME_H
#define GANTRY_TEST_TRAIN_RUNTIME_H

#include <stdio.h>

#include <gantry/gantry.h>

#include "need_opencl.h"
#include "train_heap.h"

static gantry_runtime_t *runtime;

static int open_runtime(void **state) {
    (void)state;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    (void)need_opencl_found(); /* before this process opens the drivers */
    train_heap_reset(-1);
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? 0 : -1;
}

static int close_runtime(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

#endif
