/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Initialisers: the first values of weights. The numbers of a seed are those of Keras 3 on
 * TensorFlow. No ownership; thread-safe but for the scope, which belongs to one thread. */
#ifndef GANTRY_TRAIN_INITIALIZER_H
#define GANTRY_TRAIN_INITIALIZER_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of initialisers. Those that draw numbers need a floating type.
 *
 * fan_in and fan_out are the inputs and outputs of a unit: of a matrix its rows and columns, of
 * [..., in, out] in and out times the product of the other dimensions, of a vector its size. */
typedef enum gantry_init_t {
    GANTRY_INIT_ZEROS = 0,            /**< 0, of any type. */
    GANTRY_INIT_ONES = 1,             /**< 1, of any type. */
    GANTRY_INIT_CONSTANT = 2,         /**< value, of any type. */
    GANTRY_INIT_RANDOM_UNIFORM = 3,   /**< Uniform in [minval, maxval). */
    GANTRY_INIT_RANDOM_NORMAL = 4,    /**< Normal with mean and stddev. */
    GANTRY_INIT_TRUNCATED_NORMAL = 5, /**< The same without values 2 stddev or more from mean. */
    /** Numbers of variance scale / fan, by mode and distribution. */
    GANTRY_INIT_VARIANCE_SCALING = 6,
    GANTRY_INIT_GLOROT_UNIFORM = 7, /**< VARIANCE_SCALING: 1, FAN_AVG, UNIFORM. */
    GANTRY_INIT_GLOROT_NORMAL = 8,  /**< VARIANCE_SCALING: 1, FAN_AVG, TRUNCATED_NORMAL. */
    GANTRY_INIT_HE_UNIFORM = 9,     /**< VARIANCE_SCALING: 2, FAN_IN, UNIFORM. */
    GANTRY_INIT_HE_NORMAL = 10,     /**< VARIANCE_SCALING: 2, FAN_IN, TRUNCATED_NORMAL. */
    GANTRY_INIT_LECUN_UNIFORM = 11, /**< VARIANCE_SCALING: 1, FAN_IN, UNIFORM. */
    GANTRY_INIT_LECUN_NORMAL = 12,  /**< VARIANCE_SCALING: 1, FAN_IN, TRUNCATED_NORMAL. */
    /** gain times a matrix with orthonormal columns, or rows if it has fewer: Q of a random normal
     * matrix. Leading dimensions count as rows. float32 or float64 of two dimensions or more;
     * computed on the host in float64. */
    GANTRY_INIT_ORTHOGONAL = 13,
    GANTRY_INIT_IDENTITY = 14 /**< gain on the main diagonal of a matrix, 0 elsewhere. */
} gantry_init_t;

/** VARIANCE_SCALING: what divides the scale. */
typedef enum gantry_fan_t {
    GANTRY_FAN_IN = 0,  /**< fan_in. */
    GANTRY_FAN_OUT = 1, /**< fan_out. */
    GANTRY_FAN_AVG = 2  /**< Their mean. */
} gantry_fan_t;

/** VARIANCE_SCALING: the distribution. */
typedef enum gantry_distribution_t {
    GANTRY_TRUNCATED_NORMAL = 0,   /**< Normal, without values 2 standard deviations from 0. */
    GANTRY_UNTRUNCATED_NORMAL = 1, /**< Normal. */
    GANTRY_UNIFORM = 2             /**< Uniform around 0. */
} gantry_distribution_t;

/** An initialiser: `&(gantry_initializer_t){.kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 42}`. A
 * member that is 0 has Keras's default. */
typedef struct gantry_initializer_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    gantry_init_t kind;   /**< The kind. */
    int64_t seed;         /**< Keras's seed. */
    /** How often a keras.random.SeedGenerator of that seed has drawn; 0 for a number as seed. */
    int64_t draw;
    /** CONSTANT. As in Keras, a value with a fraction is rounded to float32 first. */
    double value;
    /** RANDOM_UNIFORM: the bounds; both 0: -0.05 and 0.05. As in Keras, they are rounded to float32
     * first. */
    double minval;
    double maxval;                      /**< See minval. */
    double mean;                        /**< RANDOM_NORMAL, TRUNCATED_NORMAL. */
    double stddev;                      /**< The same, at least 0; 0: 0.05. */
    double scale;                       /**< VARIANCE_SCALING, above 0; 0: 1. */
    gantry_fan_t mode;                  /**< VARIANCE_SCALING. */
    gantry_distribution_t distribution; /**< VARIANCE_SCALING. */
    double gain;                        /**< ORTHOGONAL, IDENTITY; 0: 1. */
} gantry_initializer_t;

/** Makes a tensor of first values. Uniform values, and what is not random, have Keras's bits;
 * normal values and ORTHOGONAL are within 1e-6 of Keras's float32 ones.
 *
 * ORTHOGONAL waits for its numbers, also while a function is traced, where it becomes a constant.
 * A kind that does not exist, a type or a rank that the kind does not take, and a member out of
 * range are InvalidArgument. Returns NULL then, or if the scope has failed before. */
GANTRY_API const gantry_tensor_t *gantry_initialize(gantry_scope_t *scope,
                                                    const gantry_initializer_t *initializer,
                                                    gantry_dtype_t dtype, gantry_shape_t shape);

/** The seed that Keras chooses for an initialiser that has none, after
 * keras.utils.set_random_seed(seed): 1 to 10^9. index counts, from 0, the seeds that were chosen
 * before. Each initialiser that draws numbers takes one when its layer is made, and each
 * SeedGenerator: that of a Dropout whose rate is not 0, that of an LSTM or GRU after its
 * initialisers, and that of a SimpleRNN before them. */
GANTRY_API int64_t gantry_default_seed(int64_t seed, size_t index);

/** Keras's name of a kind: "glorot_uniform"; "" for no kind. */
GANTRY_API const char *gantry_initializer_name(gantry_init_t kind);

#ifdef __cplusplus
}
#endif
#endif
