/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime over the hostile GPU of tests/stand_ins/opencl/hostile_layer.c, and calls to that
 * layer. main sets OPENCL_LAYERS through hostile_prepare. */
#ifndef GANTRY_HOSTILE_GPU_H
#define GANTRY_HOSTILE_GPU_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "need_opencl.h"
#include "opencl/hostile_layer.h"

#define HOSTILE_MODULES GANTRY_TEST_MODULES "/../gantry"
#define HOSTILE_LAYER GANTRY_TEST_MODULES "/opencl/hostile_layer.so"

/* 0, or main's exit code. */
static inline int hostile_prepare(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    setenv("POCL_DEVICES", "pthread", 1);
    setenv("OPENCL_LAYERS", HOSTILE_LAYER, 1);
    setenv("GANTRY_OPENCL_MATMUL", "portable", 1);
    return 0;
}

/* A function of the layer; the loader gets the library that is opened here. */
static inline void hostile_find(const char *name, void *out_function) {
    void *layer = dlopen(HOSTILE_LAYER, RTLD_NOW | RTLD_LOCAL);
    void *found = layer ? dlsym(layer, name) : NULL;
    if (!found) fail_msg("%s has no %s", HOSTILE_LAYER, name);
    memcpy(out_function, &found, sizeof found);
}

static inline void hostile_set(const char *settings) {
    hostile_layer_set_fn set;
    hostile_find("hostile_layer_set", &set);
    set(settings);
}

static inline void hostile_take_launches(char *out, size_t out_bytes) {
    hostile_layer_take_launches_fn take;
    hostile_find("hostile_layer_take_launches", &take);
    take(out, out_bytes);
}

static inline hostile_layer_withheld_t hostile_take_withheld(void) {
    hostile_layer_take_withheld_fn take;
    hostile_layer_withheld_t out;
    hostile_find("hostile_layer_take_withheld", &take);
    take(&out);
    return out;
}

/* Makes the device a GPU with these settings. */
static inline gantry_runtime_t *hostile_open(const char *settings) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = HOSTILE_MODULES,
                                              .backends = "cpu,opencl",
                                              .soft_placement = GANTRY_OFF,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    hostile_set(settings);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* Small whole numbers, so that sums are exact. */
static inline const gantry_tensor_t *hostile_ramp(gantry_scope_t *scope, int64_t rows,
                                                  int64_t columns) {
    size_t count = (size_t)(rows * columns);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) values[i] = (float)(i % 13);
    const gantry_tensor_t *tensor = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns), values, count * sizeof *values);
    free(values);
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

#endif
