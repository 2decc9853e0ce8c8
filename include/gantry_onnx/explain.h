/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * What a model is made of and became: metadata, the nodes with their devices and reasons, memory
 * before a run, and the function of fixed sizes.
 *
 * Texts are the model's. Thread-safe. */
#ifndef GANTRY_ONNX_EXPLAIN_H
#define GANTRY_ONNX_EXPLAIN_H

#include <gantry_onnx/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
