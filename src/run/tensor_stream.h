/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements arrive one block after another: the host holds one block of those that go
 * to a device. Owner: the caller owns the tensor. Threads: thread-safe, except for the scope, which
 * belongs to the calling thread. */
#ifndef GANTRY_RUN_TENSOR_STREAM_H
#define GANTRY_RUN_TENSOR_STREAM_H

#include "run/tensor_state.h"

/* Must put the next bytes of the elements at out, row-major and in this machine's byte order. */
typedef gantry_status_t (*gantry__elements_fn)(void *user, void *out, size_t bytes);

/* Makes a tensor on the device, which must be open, of the elements that next delivers. is_whole:
 * next can only deliver all of them at once. The scope gives runtime and tag; *out_tensor is in no
 * scope yet, and the caller must release it after a failure, too, if it is not NULL. */
gantry_status_t gantry__tensor_stream(gantry_scope_t *scope, gantry_logical_device_t *device,
                                      gantry_dtype_t dtype, const gantry_shape_t *shape,
                                      bool is_whole, gantry__elements_fn next, void *user,
                                      gantry_tensor_t **out_tensor);

/* Makes a tensor where the scope places a constant, if the host has its memory there: the caller
 * must fill in its elements before anything reads them. *out_tensor NULL: it has not. The tensor is
 * in no scope yet. */
gantry_status_t gantry__tensor_to_fill(gantry_scope_t *scope, gantry_dtype_t dtype,
                                       const gantry_shape_t *shape, gantry_tensor_t **out_tensor);

#endif
