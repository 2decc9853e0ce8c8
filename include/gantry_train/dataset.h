/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Data sets: sequences of elements in host memory, as tf.data has them. An element has one or more
 * components, for example features and labels; the training loop makes tensors of them.
 *
 * A chain of calls describes a data set; an iteration makes its elements:
 *
 *     gantry_dataset_t *train = gantry_dataset_from_arrays(arrays, 2, false);
 *     train = gantry_dataset_shuffle(train, 1000, seed, true);
 *     train = gantry_dataset_batch(train, 32, false);
 *     train = gantry_dataset_prefetch(train, GANTRY_AUTOTUNE);
 *     if (!train) puts(gantry_last_message());
 *
 * Each of these calls takes over its input: the caller uses the result in its place, and releases
 * only the last result. A call that fails releases its input, returns NULL, and
 * gantry_last_message says why. A call with input NULL returns NULL and leaves that text, so that a
 * program checks the end of the chain. gantry_dataset_retain starts a second chain from one input.
 *
 * Owner: the caller must release a data set and each iterator; an iterator keeps its data set
 * alive. Data sets need no runtime: they compute on no device.
 *
 * A data set is thread-safe: several threads may iterate one at the same time. An iterator is
 * externally synchronised. Iterators of map and prefetch run threads of their own;
 * gantry_dataset_iterator_release stops and joins them, and waits for callbacks that still run. In
 * a child of fork, an iterator of the parent is FailedPrecondition, and its release does
 * nothing. */
#ifndef GANTRY_TRAIN_DATASET_H
#define GANTRY_TRAIN_DATASET_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most components of an element. */
#define GANTRY_MAX_COMPONENTS 16
/** Lets the library choose: the threads of map, the elements of prefetch. */
#define GANTRY_AUTOTUNE (-1)
/** The cardinality of a data set that never ends. */
#define GANTRY_INFINITE_CARDINALITY (-1)
/** The cardinality of a data set whose end is not known ahead. */
#define GANTRY_UNKNOWN_CARDINALITY (-2)

/** A data set. The caller releases the last one of a chain. */
typedef struct gantry_dataset_t gantry_dataset_t;
/** One pass over a data set. The caller that created it releases it. */
typedef struct gantry_dataset_iterator_t gantry_dataset_iterator_t;

/** An array in host memory, row-major and packed. The struct does not grow. */
typedef struct gantry_array_t {
    gantry_dtype_t dtype; /**< The type of its elements. */
    gantry_shape_t shape; /**< Its shape. */
    const void *data;     /**< Its elements; may be NULL if there are none. */
} gantry_array_t;

/** Makes a tensor of an array of any type and shape; GANTRY_SCALAR is the shape of one number.
 * Copies the elements before it returns. A bool that is not 0 becomes 1. NULL after an error, which
 * the scope keeps: InvalidArgument, of an array that is NULL, has an impossible type or shape, or
 * has elements at NULL. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_array(gantry_scope_t *scope,
                                                           const gantry_array_t *array);
/** Waits for the tensor, copies its elements to out, and makes *out_array the array of them, which
 * points to out. bytes must be gantry_tensor_bytes; out may be NULL if that is 0. After an error
 * *out_array is empty, of no type: InvalidArgument; FailedPrecondition of a symbolic tensor, which
 * has no elements; or the error of the work that computes the tensor. */
GANTRY_API gantry_status_t gantry_tensor_to_array(const gantry_tensor_t *tensor, void *out,
                                                  size_t bytes, gantry_array_t *out_array);

/* ---- sources ---- */

/** The rows of arrays in memory, as Dataset.from_tensor_slices: element i is row i of each array.
 *
 * All arrays must have the same first dimension. copy false borrows the memory, which must stay as
 * it is until the data set and its iterators are released. copy true copies it now. */
GANTRY_API gantry_dataset_t *gantry_dataset_from_arrays(const gantry_array_t *arrays, size_t count,
                                                        bool copy);
/** Splits the rows of arrays as the validation_split of Keras's fit: the last part of them, in
 * their order, is for validation. Of n rows, floor(n (1 - validation_split)) stay to train.
 * out_train and out_validation must have room for count arrays; what is written there points into
 * the memory of arrays. InvalidArgument if a part has no row. */
GANTRY_API gantry_status_t gantry_arrays_split(const gantry_array_t *arrays, size_t count,
                                               double validation_split, gantry_array_t *out_train,
                                               gantry_array_t *out_validation);
/** The rows of .npy files, one for each component; the files are loaded now, into memory of the
 * runtime's /CPU:0, which the data set holds. Failures are those of gantry_load_npy and
 * gantry_dataset_from_arrays; the scope keeps them, too. */
GANTRY_API gantry_dataset_t *gantry_dataset_from_npy(gantry_scope_t *scope,
                                                     const char *const *paths, size_t count);

/** The element that a callback makes. Valid during that call. */
typedef struct gantry_element_t gantry_element_t;
/** Gives a component of the element its type and shape, and returns its memory, aligned to 64
 * bytes, for the callback to fill. Returns NULL after a failure; the callback must then return any
 * status but OK, and the iteration ends with the failure. An empty component is not NULL. */
GANTRY_API void *gantry_element_component(gantry_element_t *element, size_t index,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape);
/** Keeps a text for the message of a callback that fails, and returns status:
 * return gantry_element_fail(element, GANTRY_DATA_LOSS, "the image is damaged"). Without it, the
 * message has the text of the last call of Gantry that failed in the callback. */
GANTRY_API gantry_status_t gantry_element_fail(gantry_element_t *element, gantry_status_t status,
                                               const char *text);

/** Callbacks that make elements, as Dataset.from_generator. Each iteration begins, asks for
 * elements until the end or a failure, and ends. Iterations of several threads may overlap. */
typedef struct gantry_dataset_source_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Begins an iteration; *out_state is passed to next and end. NULL: the state is user. */
    gantry_status_t (*begin)(void *user, void **out_state);
    /** Makes the next element: it must give each component its memory and fill it, or set *out_end.
     * Any status but OK ends the iteration with it. */
    gantry_status_t (*next)(void *state, gantry_element_t *element, bool *out_end);
    /** Ends an iteration that begin began, also before its end; NULL: nothing is to be done. */
    void (*end)(void *state);
    void *user;    /**< First argument of begin. */
    int64_t count; /**< The number of elements, which is checked; 0: unknown. */
} gantry_dataset_source_t;

/** The elements that callbacks make. They run on the thread that asks for elements, which may be
 * the library's. source is read during the call only; user must live as long as the data set. */
GANTRY_API gantry_dataset_t *gantry_dataset_from_callback(const gantry_dataset_source_t *source);

/* ---- transformations ---- */

/** The elements in random order: a buffer of buffer_size elements gives a random one and is filled
 * up from the input. A buffer of the input's size or more gives every order with equal probability.
 *
 * The order is the same on every machine for the same seed and iteration (it is not TensorFlow's):
 * random words are Philox 4x32-10 with the seed as key and (block number, iteration) as counter.
 * reshuffle true gives each iteration an order of its own; false gives all the order of iteration
 * 0. Iterations are counted from 0; gantry_dataset_set_iteration sets the count. */
GANTRY_API gantry_dataset_t *gantry_dataset_shuffle(gantry_dataset_t *input, int64_t buffer_size,
                                                    uint64_t seed, bool reshuffle);
/** Joins batch_size elements along a new first dimension. The last batch is smaller, or is dropped
 * with drop_remainder, and then not checked. Elements of a batch must agree in types and shapes;
 * gantry_dataset_padded_batch and gantry_pad_sequences give sequences one length. */
GANTRY_API gantry_dataset_t *gantry_dataset_batch(gantry_dataset_t *input, int64_t batch_size,
                                                  bool drop_remainder);

/** Options of gantry_dataset_padded_batch; zero-filled means TensorFlow's defaults. */
typedef struct gantry_padded_batch_options_t {
    uint32_t struct_size; /**< Its sizeof, or 0 for all fields of version 0.1. */
    bool drop_remainder;  /**< Leaves out a last batch that is smaller. */
    /** For each component, the shape of an element after padding; a size of -1 is the largest of
     * the batch. An element that is larger is InvalidArgument. NULL: all sizes are -1. */
    const gantry_shape_t *shapes;
    /** For each component, the value of the padding; NULL: 0. It must be 0 for types other than
     * integers, float32 and float64. */
    const double *values;
    size_t count; /**< Entries of shapes and of values: the number of components. */
} gantry_padded_batch_options_t;

/** Joins batch_size elements of different sizes along a new first dimension, as padded_batch: each
 * dimension gets the largest size of the batch, and smaller elements a padding value after their
 * own. So a batch is as long as its longest sequence. Elements of a batch must agree in types and
 * ranks. options may be NULL. */
GANTRY_API gantry_dataset_t *gantry_dataset_padded_batch(
    gantry_dataset_t *input, int64_t batch_size, const gantry_padded_batch_options_t *options);

/** A function of map: makes an element from the input's components. It must be thread-safe, because
 * it runs on several threads at the same time. The input is valid during the call. */
typedef gantry_status_t (*gantry_dataset_map_fn)(void *user, const gantry_array_t *input,
                                                 size_t input_count, gantry_element_t *output);
/** A function of each element, on parallel_calls threads (1 to 1024, or GANTRY_AUTOTUNE: one per
 * usable core). The order is the input's. The elements in front of one whose call fails are still
 * delivered; then the iteration ends with its status. user must live as long as the data set. */
GANTRY_API gantry_dataset_t *gantry_dataset_map(gantry_dataset_t *input, gantry_dataset_map_fn map,
                                                void *user, int32_t parallel_calls);
/** Keeps the elements of the first iteration that reaches the end, in memory; later ones get
 * those, in that order. An iteration that is given up keeps nothing. */
GANTRY_API gantry_dataset_t *gantry_dataset_cache(gantry_dataset_t *input);
/** Makes up to `elements` elements ahead on a thread (at most 2^20; GANTRY_AUTOTUNE: 2). Their
 * buffers are reused. */
GANTRY_API gantry_dataset_t *gantry_dataset_prefetch(gantry_dataset_t *input, int64_t elements);
/** The input `times` times, one after another; -1: forever. An input without elements ends also
 * an endless repetition. */
GANTRY_API gantry_dataset_t *gantry_dataset_repeat(gantry_dataset_t *input, int64_t times);
/** The first `count` elements; -1: all. */
GANTRY_API gantry_dataset_t *gantry_dataset_take(gantry_dataset_t *input, int64_t count);
/** The elements after the first `count`; -1: none. */
GANTRY_API gantry_dataset_t *gantry_dataset_skip(gantry_dataset_t *input, int64_t count);

/** A function of filter: *out_keep, false before the call, says whether an element stays. The input
 * is valid during the call. Any status but OK ends the iteration with it and the text that
 * gantry_fail left. */
typedef gantry_status_t (*gantry_dataset_filter_fn)(void *user, const gantry_array_t *input,
                                                    size_t input_count, bool *out_keep);
/** The elements that the predicate keeps. It runs on the thread that asks for elements, which may
 * be the library's. The cardinality is unknown. user must live as long as the data set. */
GANTRY_API gantry_dataset_t *gantry_dataset_filter(gantry_dataset_t *input,
                                                   gantry_dataset_filter_fn predicate, void *user);
/** Puts the element's number, an int64 scalar, in front of its components. It counts from start,
 * and ends in front of INT64_MAX. With an input that never ends, the cardinality is infinite
 * unless start is 2^62 or more. */
GANTRY_API gantry_dataset_t *gantry_dataset_enumerate(gantry_dataset_t *input, int64_t start);
/** The elements of the input, then those of the second data set. It takes over both. Their elements
 * must agree in number and types of components. */
GANTRY_API gantry_dataset_t *gantry_dataset_concatenate(gantry_dataset_t *input,
                                                        gantry_dataset_t *second);
/** Elements with the components of one element of each input, in their order, at most
 * GANTRY_MAX_COMPONENTS together. Ends with the shortest input. It takes over all inputs; if one is
 * NULL, it releases the others and returns NULL. */
GANTRY_API gantry_dataset_t *gantry_dataset_zip(gantry_dataset_t *const *inputs, size_t count);

/* ---- data sets ---- */

/** Adds a reference and returns the same data set; NULL for NULL. */
GANTRY_API gantry_dataset_t *gantry_dataset_retain(gantry_dataset_t *dataset);
/** Removes a reference; NULL does no harm. */
GANTRY_API void gantry_dataset_release(gantry_dataset_t *dataset);
/** The number of elements of one iteration, GANTRY_INFINITE_CARDINALITY or
 * GANTRY_UNKNOWN_CARDINALITY; 0 for NULL. */
GANTRY_API int64_t gantry_dataset_cardinality(const gantry_dataset_t *dataset);
/** Sets the number of the next iteration in each shuffle of the chain, so that a training that
 * resumes at an epoch gets that epoch's order. */
GANTRY_API gantry_status_t gantry_dataset_set_iteration(gantry_dataset_t *dataset,
                                                        uint64_t iteration);

/* ---- iteration ---- */

/** Begins an iteration. *out_iterator is NULL after a failure. */
GANTRY_API gantry_status_t gantry_dataset_iterator_create(gantry_dataset_t *dataset,
                                                          gantry_dataset_iterator_t **out_iterator);
/** Gives the next element: its components and their number, valid until the iterator's next call.
 * After the last element, and after a failure, *out_components is NULL and *out_count is 0.
 * *out_end says that it is the end. A failure ends the iteration; later calls return it again. */
GANTRY_API gantry_status_t gantry_dataset_iterator_next(gantry_dataset_iterator_t *iterator,
                                                        const gantry_array_t **out_components,
                                                        size_t *out_count, bool *out_end);
/** Ends an iteration at any element; NULL does no harm. */
GANTRY_API void gantry_dataset_iterator_release(gantry_dataset_iterator_t *iterator);

/* ---- sequences of different lengths ---- */

/** An end of a sequence. */
typedef enum gantry_sequence_end_t {
    GANTRY_PRE = 0, /**< Its beginning; Keras's default. */
    GANTRY_POST = 1 /**< Its end. */
} gantry_sequence_end_t;

/** Options of gantry_pad_sequences; zero-filled means Keras's defaults. */
typedef struct gantry_pad_sequences_options_t {
    uint32_t struct_size;             /**< Its sizeof, or 0 for all fields of version 0.1. */
    gantry_sequence_end_t padding;    /**< Where values are added to a shorter sequence. */
    gantry_sequence_end_t truncating; /**< Where a longer sequence is cut. */
    double value;                     /**< The value that is added. */
} gantry_pad_sequences_options_t;

/** Gives all sequences one length, as keras.utils.pad_sequences: row i of out, an array of shape
 * [count, maxlen], is sequence i, cut or padded.
 *
 * Sequences and dtype, the type of out, are of an integer type but uint64, float32 or float64.
 * Numbers are converted as C does; InvalidArgument names a number that dtype does not hold, which a
 * sequence keeps after it is cut, and such a value of the options. maxlen is at least 0; Keras's
 * None is gantry_longest_sequence. out_bytes must be the size of out. options may be NULL. */
GANTRY_API gantry_status_t gantry_pad_sequences(const gantry_array_t *sequences, size_t count,
                                                int64_t maxlen, gantry_dtype_t dtype,
                                                const gantry_pad_sequences_options_t *options,
                                                void *out, size_t out_bytes);
/** Makes sequences of the rows of one vector, as tf.RaggedTensor.from_row_splits: sequence i has
 * the elements row_splits[i] to row_splits[i + 1] of values, and points to them. `gantry convert`
 * writes lists of an .npz file, such as Keras's reuters.npz, in this form. count is the number of
 * sequences; row_splits is a vector of int32 or int64 with one number more. InvalidArgument names
 * the first number that is below the one in front of it or beyond the values, a first one that is
 * not 0, and a last one that is not the number of values. */
GANTRY_API gantry_status_t gantry_sequences_from_row_splits(const gantry_array_t *values,
                                                            const gantry_array_t *row_splits,
                                                            gantry_array_t *out_sequences,
                                                            size_t count);
/** The length of the longest sequence, Keras's default of maxlen; 0 without sequences. */
GANTRY_API int64_t gantry_longest_sequence(const gantry_array_t *sequences, size_t count);

#ifdef __cplusplus
}
#endif
#endif
