/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for the reader of ONNX files: clang -fsanitize=fuzzer,address,undefined, with the
 * library's sources, or fuzz_onnx_run.c, which changes bytes at random. The input is a whole file.
 * What is read holds together (tests/onnx/read_all.h), and its steps are bounded by its bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "../onnx/read_all.h"
#include "fuzz_onnx.h"
#include "onnx/base/limits.h"

const bool fuzz_onnx_changes_bytes = true;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    gantry__onnx_file_t *file;
    if (gantry__onnx_read_bytes("fuzz", bytes, size, NULL, false, &file) != GANTRY_OK) return 0;
    read_all(file);
    MUST_HOLD(gantry__onnx_file_model(file)->work <=
              GANTRY__ONNX_WORK_MORE + GANTRY__ONNX_WORK_EACH * (uint64_t)size);
    gantry__onnx_file_release(file);
    return 0;
}
