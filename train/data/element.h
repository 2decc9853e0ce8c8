/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of data sets: a list of components, each an array in host memory.
 *
 * A component's data is in a buffer of the element, which the next value reuses, or in stable
 * memory: rows of a source, kept elements of a cache. Stable memory must not change while the
 * iterator lives. So elements are handed on by exchanging two of them, without copies. Owner: an
 * element owns its buffers, and must end with gantry__train_element_deinit. Threads: externally
 * synchronised. */
#ifndef GANTRY_TRAIN_ELEMENT_H
#define GANTRY_TRAIN_ELEMENT_H

#include <gantry_train/dataset.h>

/* The alignment of a buffer's first byte: a cache line, and the largest vector. */
#define GANTRY__TRAIN_ALIGNMENT ((size_t)64)
/* The bytes of the text that a failed callback keeps. */
#define GANTRY__TRAIN_PROBLEM_BYTES 512

/* Memory that grows and is reused. */
typedef struct gantry__train_buffer_t {
    unsigned char *bytes; /* aligned */
    void *block;          /* as it was allocated */
    size_t capacity;      /* of bytes */
} gantry__train_buffer_t;

/* The failure of a callback. */
typedef struct gantry__train_problem_t {
    gantry_status_t status;
    char text[GANTRY__TRAIN_PROBLEM_BYTES];
} gantry__train_problem_t;

/* Zero-filled means empty. */
struct gantry_element_t {
    size_t count;
    size_t capacity; /* of both lists */
    gantry_array_t *components;
    gantry__train_buffer_t *buffers;
    gantry__train_problem_t *problem; /* while a callback fills it, else NULL */
};

/* Makes room for `bytes` bytes; the first kept_bytes of the content stay. */
gantry_status_t gantry__train_buffer_reserve(gantry__train_buffer_t *buffer, size_t bytes,
                                             size_t kept_bytes);
void gantry__train_buffer_deinit(gantry__train_buffer_t *buffer);

/* Sets the number of components; new ones have no type yet. */
gantry_status_t gantry__train_element_resize(gantry_element_t *element, size_t count);
void gantry__train_element_deinit(gantry_element_t *element);
/* Gives `empty`, which must be zero-filled, the content of another element. Components in stable
 * memory are not copied. */
gantry_status_t gantry__train_element_copy(gantry_element_t *empty, const gantry_element_t *from);
void gantry__train_element_exchange(gantry_element_t *a, gantry_element_t *b);

/* Lets a callback fill the element between begin and end. `problem` must live until end. */
void gantry__train_element_begin(gantry_element_t *element, gantry__train_problem_t *problem);
/* Returns the callback's failure, or that of a component that it left out. `call` names the
 * callback, and `index` the element: they begin the message. */
gantry_status_t gantry__train_element_end(gantry_element_t *element, gantry_status_t returned,
                                          const char *call, uint64_t index);

/* Computes the bytes of an array; it returns false if the array has no size in memory. */
bool gantry__train_array_bytes(gantry_dtype_t dtype, const gantry_shape_t *shape,
                               size_t *out_bytes);

/* "float32 [2,3]" for messages. */
typedef struct gantry__train_array_text_t {
    char text[16 + GANTRY_MAX_RANK * 24];
} gantry__train_array_text_t;
gantry__train_array_text_t gantry__train_array_text(gantry_dtype_t dtype,
                                                    const gantry_shape_t *shape);

#endif
