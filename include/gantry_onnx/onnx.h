/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * All of libgantry_onnx: models of ONNX files. Thread-safe as its parts say. */
#ifndef GANTRY_ONNX_ONNX_H
#define GANTRY_ONNX_ONNX_H

#include <gantry_onnx/explain.h>
#include <gantry_onnx/model.h>

#endif
