/* SPDX-License-Identifier: Apache-2.0 */
#include "copy_count.h"

#include <stdatomic.h>

#include "device.h"

static _Atomic uint64_t copies[COPY_WAYS][DEVICE_MOST], copied_bytes[COPY_WAYS][DEVICE_MOST];

void copy_count_add(copy_way_t way, uint32_t device, uint64_t bytes) {
    if (device >= DEVICE_MOST) return;
    atomic_fetch_add_explicit(&copies[way][device], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&copied_bytes[way][device], bytes, memory_order_relaxed);
}

void copy_count_read(copy_way_t way, uint32_t device, uint64_t *out_copies, uint64_t *out_bytes) {
    *out_copies = atomic_load(&copies[way][device]);
    *out_bytes = atomic_load(&copied_bytes[way][device]);
}
