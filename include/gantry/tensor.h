/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: immutable values on a device. Counted; may be used from any thread.
 *
 * A gantry_tensor_t * is owned: who has it releases it. A const gantry_tensor_t * is borrowed, most
 * often from the scope that made it and owns one reference; gantry_scope_keep or
 * gantry_tensor_retain make an owned one of it. Reading a tensor waits for the work that makes it
 * and reports what failed on the device. */
#ifndef GANTRY_TENSOR_H
#define GANTRY_TENSOR_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_tensor_t gantry_tensor_t;

/* the same object, as an owner sees it */
GANTRY_API gantry_tensor_t *gantry_tensor_retain(const gantry_tensor_t *tensor);
/* NULL is allowed */
GANTRY_API void gantry_tensor_release(gantry_tensor_t *tensor);

GANTRY_API gantry_dtype_t gantry_tensor_dtype(const gantry_tensor_t *tensor);
GANTRY_API const gantry_shape_t *gantry_tensor_shape(const gantry_tensor_t *tensor);
GANTRY_API int64_t gantry_tensor_elements(const gantry_tensor_t *tensor);
/* of its elements, row-major, packed */
GANTRY_API size_t gantry_tensor_bytes(const gantry_tensor_t *tensor);
/* The device whose memory holds it; valid while the runtime is. */
GANTRY_API const gantry_logical_device_t *gantry_tensor_device(const gantry_tensor_t *tensor);

/* Copies all elements, row-major, to out. bytes must be gantry_tensor_bytes. Waits. */
GANTRY_API gantry_status_t gantry_tensor_read(const gantry_tensor_t *tensor, void *out,
                                              size_t bytes);
/* Waits until the work that makes the tensor has ended; its error if it failed. */
GANTRY_API gantry_status_t gantry_tensor_wait(const gantry_tensor_t *tensor);

typedef struct gantry_format_options_t {
    uint32_t struct_size;
    int32_t precision;  /* digits after the point at most; 0: 8 */
    int32_t threshold;  /* elements above which the middle is left out; 0: 1000 */
    int32_t edge_items; /* 0: 3 */
    int32_t line_width; /* 0: 75 */
} gantry_format_options_t;

/* NumPy's layout: "[[22. 28.]\n [49. 64.]]". options may be NULL. Text that does not fit is cut;
 * *out_needed (may be NULL) is the whole length without the terminator. Waits. */
GANTRY_API gantry_status_t gantry_tensor_format(const gantry_tensor_t *tensor,
                                                const gantry_format_options_t *options, char *out,
                                                size_t out_bytes, size_t *out_needed);

#ifdef __cplusplus
}
#endif
#endif
