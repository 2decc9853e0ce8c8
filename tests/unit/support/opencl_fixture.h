/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the OpenCL backend's tests: backend_fixture.h with two PoCL devices. Tests set
 * POCL_DEVICES themselves and fail if they do not get these devices. */
#ifndef GANTRY_OPENCL_FIXTURE_H
#define GANTRY_OPENCL_FIXTURE_H

#include "backend_fixture.h"

int32_t gantry_backend_query_opencl(uint32_t max_abi, const gantry_backend_t **out_backend);

static inline void fixture_init(fixture_t *fixture) {
    fixture_init_host(fixture, gantry_backend_query_opencl);
}

static inline void fixture_need_driver(void) { need_opencl(); }

static inline void fixture_find_devices(fixture_t *fixture) {
    uint32_t count = fixture->backend->device_count(fixture->instance);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count && found < FIXTURE_DEVICES; ++i) {
        gantry_device_info_t *info = &fixture->info[found];

        info->struct_size = sizeof *info;
        assert_ok(fixture->backend->device_info(fixture->instance, i, info));
        if (strcmp(info->platform_name, "Portable Computing Language") == 0) {
            fixture->index[found++] = i;
        }
    }
    if (found != FIXTURE_DEVICES) {
        fail_msg("%u PoCL devices among %u; 2 are needed (POCL_DEVICES=\"%s\")", found, count,
                 getenv("POCL_DEVICES"));
    }
}

static inline void fixture_expect_nothing_lives(void) {} /* drivers do not report it */

#endif
