/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for the physical devices of a device_fixture_t. Header only. */
#ifndef TESTS_PHYSICAL_NAMES_H
#define TESTS_PHYSICAL_NAMES_H

#include "device_fixture.h"

static inline physical_device_t gpu(const device_fixture_t *f, int index) {
    char name[32];
    (void)snprintf(name, sizeof name, "/physical_device:GPU:%d", index);
    return device_fixture_physical(f, name);
}

static inline physical_device_t cpu(const device_fixture_t *f) {
    return device_fixture_physical(f, "/physical_device:CPU:0");
}

#endif
