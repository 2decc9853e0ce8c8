/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors: immutable values on a device. Reference-counted; usable from any thread.
 *
 * A gantry_tensor_t * is owned: its holder must release it. A const gantry_tensor_t * is borrowed,
 * most often from the scope that made it and owns one reference; gantry_scope_keep and
 * gantry_tensor_retain make an owned one from it. Reading a tensor waits for the work that computes
 * it, and reports what failed on the device. */
#ifndef GANTRY_TENSOR_H
#define GANTRY_TENSOR_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor. */
typedef struct gantry_tensor_t gantry_tensor_t;

/** Adds a reference and returns the same object as an owned one. */
GANTRY_API gantry_tensor_t *gantry_tensor_retain(const gantry_tensor_t *tensor);
/** Removes a reference; NULL does no harm. Pending work still runs. */
GANTRY_API void gantry_tensor_release(gantry_tensor_t *tensor);

/** The type of its elements. */
GANTRY_API gantry_dtype_t gantry_tensor_dtype(const gantry_tensor_t *tensor);
/** Its shape; the tensor owns it. */
GANTRY_API const gantry_shape_t *gantry_tensor_shape(const gantry_tensor_t *tensor);
/** The number of its elements; -1 while a function is traced, if a size depends on data. */
GANTRY_API int64_t gantry_tensor_elements(const gantry_tensor_t *tensor);
/** The size of its elements, row-major and packed; 0 if gantry_tensor_elements is -1. */
GANTRY_API size_t gantry_tensor_bytes(const gantry_tensor_t *tensor);
/** The device whose memory holds it; valid as long as the runtime. */
GANTRY_API const gantry_logical_device_t *gantry_tensor_device(const gantry_tensor_t *tensor);

/** Waits for the tensor and copies all its elements, row-major, to out. bytes must be
 * gantry_tensor_bytes. */
GANTRY_API gantry_status_t gantry_tensor_read(const gantry_tensor_t *tensor, void *out,
                                              size_t bytes);
/** Waits until the work that computes the tensor has ended; returns the error if it failed. */
GANTRY_API gantry_status_t gantry_tensor_wait(const gantry_tensor_t *tensor);

/** A read in progress. Only one thread at a time may use it. */
typedef struct gantry_read_t gantry_read_t;

/** Begins a read: gantry_tensor_read without the wait. The device writes to out while the program
 * continues; nobody may use out until the read has ended. The read holds the tensor.
 *
 * Elements in the host's memory are copied at once. A read is made at once, too, if the driver
 * waits for copies to memory that is not pinned, and no staging block has the room
 * (GANTRY_DEVICE_WAITS_FOR_PAGEABLE, more than 64 KiB); gantry_read_note says so. */
GANTRY_API gantry_status_t gantry_tensor_read_async(const gantry_tensor_t *tensor, void *out,
                                                    size_t bytes, gantry_read_t **out_read);
/** Says, without a wait for the device, whether the read has ended: the elements are at out, or the
 * read failed. The error is that of the read or of work before it; out is undefined then. */
GANTRY_API gantry_status_t gantry_read_poll(gantry_read_t *read, bool *out_has_ended);
/** Waits for the end of the read; returns its error, each time. */
GANTRY_API gantry_status_t gantry_read_wait(gantry_read_t *read);
/** Why the read was made at once, in gantry_tensor_read_async: "" if it was not. The text is
 * constant. */
GANTRY_API const char *gantry_read_note(const gantry_read_t *read);
/** Waits for the end of the read, whose error is dropped, and frees it; NULL does no harm. */
GANTRY_API void gantry_read_release(gantry_read_t *read);

/** Options of gantry_tensor_format, as numpy.set_printoptions. */
typedef struct gantry_format_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    int32_t precision;    /**< The most digits after the decimal point; 0: 8. */
    int32_t threshold;    /**< A tensor with more elements is shown without its middle; 0: 1000. */
    int32_t edge_items;   /**< Elements shown at each end of a shortened dimension; 0: 3. */
    int32_t line_width;   /**< Columns of a line; 0: 75. */
    /** Small numbers, and numbers of unlike sizes, are not written with exponents. */
    bool suppress;
    /** The text is that of Python's print of a TensorFlow tensor:
     * "tf.Tensor([1. 2.], shape=(2,), dtype=float32)". */
    bool as_tensorflow;
} gantry_format_options_t;

/** Waits for the tensor and formats it as NumPy does: "[[22. 28.]\n [49. 64.]]". bfloat16 and the
 * float8 are written as float32 is, with the digits that their own type needs; with as_tensorflow
 * as TensorFlow writes them, with six digits. options may be NULL. Text that does not fit is cut;
 * *out_needed (may be NULL) is the whole length without the terminator. */
GANTRY_API gantry_status_t gantry_tensor_format(const gantry_tensor_t *tensor,
                                                const gantry_format_options_t *options, char *out,
                                                size_t out_bytes, size_t *out_needed);

#ifdef __cplusplus
}
#endif
#endif
