/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for the .npy parser: clang -fsanitize=fuzzer,address,undefined. A successful
 * parse must describe existing bytes, and its elements must be copyable. */
#include <stdint.h>
#include <stdlib.h>

#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    gantry__npy_view_t view;
    if (gantry__npy_parse(bytes, size, &view) != GANTRY_OK) return 0;
    if (view.data_offset + view.data_bytes != size) abort();
    if (gantry_shape_elements(&view.shape) < 0) abort();
    void *target = malloc(view.data_bytes + 1);
    if (!target) return 0;
    gantry__npy_copy(&view, target);
    free(target);
    return 0;
}
