/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime over the real modules. */
#ifndef GANTRY_TEST_MODULE_RUNTIME_H
#define GANTRY_TEST_MODULE_RUNTIME_H

#include <stdlib.h>

#include "need_opencl.h"
#include "runtime_fixture.h"

/* PoCL as a GPU, with no kernels of earlier runs; GANTRY_TEST_BACKENDS="cpu,cuda": a card. */
static inline gantry_runtime_t *module_runtime_open(void) {
    need_opencl();
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

#endif
