/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the CUDA backend's tests: backend_fixture.h with two cards of the stand-in for
 * NVIDIA's driver. When a fixture closes, the stand-in must hold no object. */
#ifndef GANTRY_CUDA_FIXTURE_H
#define GANTRY_CUDA_FIXTURE_H

#include <gantry/gantry.h>

#include "backend_fixture.h"

#include <dlfcn.h>

#include "cuda/stand_in_control.h"

int32_t gantry_backend_query_cuda(uint32_t max_abi, const gantry_backend_t **out_backend);

#define STAND_IN(library) GANTRY_TEST_MODULES "/cuda/standin_" library ".so"

static inline void fixture_init(fixture_t *fixture) {
    fixture_init_host(fixture, gantry_backend_query_cuda);
    fixture_set(fixture, "GANTRY_CUDA_LIBRARY", STAND_IN("libcuda"));
    fixture_set(fixture, "GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc"));
    fixture_set(fixture, "GANTRY_CUDA_CUBLAS", STAND_IN("libcublas"));
    fixture_set(fixture, "GANTRY_CUDA_NVML", STAND_IN("libnvml"));
    fixture_set(fixture, "GANTRY_CUDA_CUDNN", STAND_IN("libcudnn"));
    fixture_set(fixture, "GANTRY_CUDA_NCCL", STAND_IN("libnccl"));
}

static inline void fixture_need_driver(void) { need_pocl(); }

static inline const stand_in_control_t *fixture_control(void) {
    void *library = dlopen(STAND_IN("libcuda"), RTLD_NOW | RTLD_LOCAL);
    stand_in_control_fn get = NULL;
    void *address = library != NULL ? dlsym(library, "stand_in_control") : NULL;

    if (address == NULL) fail_msg("no stand-in: %s", dlerror());
    memcpy(&get, &address, sizeof get);
    return get();
}

static inline void fixture_find_devices(fixture_t *fixture) {
    for (uint32_t d = 0; d < FIXTURE_DEVICES; ++d) {
        fixture->index[d] = d;
        fixture->info[d].struct_size = sizeof fixture->info[d];
        assert_ok(fixture->backend->device_info(fixture->instance, d, &fixture->info[d]));
    }
}

static inline void fixture_expect_nothing_lives(void) {
    const stand_in_control_t *control = fixture_control();

    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        if (control->live(kind) != 0)
            fail_msg("%ld objects of kind %d still live", control->live(kind), kind);
    }
}

static inline void fixture_name_libraries(void) {
    static const char *const libraries[][2] = {{"GANTRY_CUDA_LIBRARY", STAND_IN("libcuda")},
                                               {"GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc")},
                                               {"GANTRY_CUDA_CUBLAS", STAND_IN("libcublas")},
                                               {"GANTRY_CUDA_CUDNN", STAND_IN("libcudnn")},
                                               {"GANTRY_CUDA_NVML", STAND_IN("libnvml")}};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i)
        assert_int_equal(setenv(libraries[i][0], libraries[i][1], 1), 0);
}

/* A runtime of the CPU and the stand-in's devices, with the libraries that are named. log may be
 * NULL. */
static inline gantry_runtime_t *fixture_open_named(gantry_choice_t soft_placement,
                                                   gantry_log_fn log, void *log_user) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = "cpu,cuda",
                                              .soft_placement = soft_placement,
                                              .log = log,
                                              .log_user = log_user,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static inline gantry_runtime_t *fixture_open_runtime(gantry_choice_t soft_placement) {
    fixture_name_libraries();
    return fixture_open_named(soft_placement, NULL, NULL);
}

#endif
