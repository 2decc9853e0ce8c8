/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the ONNX library, by its names: shared/memory.h. Threads: thread-safe. */
#ifndef GANTRY_ONNX_MEMORY_H
#define GANTRY_ONNX_MEMORY_H

#include "shared/memory.h"

#define gantry__onnx_alloc gantry__alloc
#define gantry__onnx_alloc_bytes gantry__alloc_bytes
#define gantry__onnx_strdup gantry__strdup
#define gantry__onnx_free gantry__free
#define gantry__onnx_grow gantry__grow

#endif
