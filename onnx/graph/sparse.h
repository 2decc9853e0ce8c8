/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of sparse tensors. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_ONNX_SPARSE_H
#define GANTRY_ONNX_SPARSE_H

#include "onnx/graph/graph.h"

/* The place of value i among all elements; -1: outside the shape. */
int64_t gantry__onnx_sparse_index(const gantry__onnx_tensor_t *tensor, int64_t i);

#endif
