/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of interop.h for contexts, memory and events of a driver. */
#include <gantry/interop.h>

#include "api/interop.h"
#include "base/failure.h"
#include "run/scope_state.h"

gantry_status_t gantry_device_get_native(const gantry_logical_device_t *device,
                                         gantry_native_t *out_native) {
    (void)device, (void)out_native;
    return gantry__fail(GANTRY_UNIMPLEMENTED, "gantry_device_get_native");
}

const gantry_tensor_t *gantry_tensor_from_device_memory(
    gantry_scope_t *scope, const gantry_logical_device_t *device, gantry_dtype_t dtype,
    gantry_shape_t shape, void *memory, uint64_t offset_bytes,
    const gantry_from_device_memory_options_t *options) {
    (void)device, (void)dtype, (void)shape, (void)memory, (void)offset_bytes, (void)options;
    (void)gantry__scope_fail(
        scope, gantry__fail(GANTRY_UNIMPLEMENTED, "gantry_tensor_from_device_memory"));
    return NULL;
}

gantry_status_t gantry_tensor_get_device_memory(const gantry_tensor_t *tensor,
                                                gantry_device_memory_t *out_memory) {
    (void)tensor, (void)out_memory;
    return gantry__fail(GANTRY_UNIMPLEMENTED, "gantry_tensor_get_device_memory");
}

gantry_status_t gantry_tensor_get_event(const gantry_tensor_t *tensor, void **out_event) {
    (void)tensor, (void)out_event;
    return gantry__fail(GANTRY_UNIMPLEMENTED, "gantry_tensor_get_event");
}

gantry_status_t gantry_tensor_use_until(const gantry_tensor_t *tensor, void *native_event) {
    (void)tensor, (void)native_event;
    return gantry__fail(GANTRY_UNIMPLEMENTED, "gantry_tensor_use_until");
}
