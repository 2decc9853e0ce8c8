/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz_onnx_run.c calls, and what it must know. Owner: nothing is kept. Threads: one. */
#ifndef GANTRY_TESTS_FUZZ_ONNX_H
#define GANTRY_TESTS_FUZZ_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
/* true: the input is a file, to be changed. false: 8 bytes of a random state, and a good file. */
extern const bool fuzz_onnx_changes_bytes;

#endif
