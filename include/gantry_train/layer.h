/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Layers, as Keras has them: the parts of a model.
 *
 *     gantry_model_add(model, gantry_dense(10, GANTRY_SOFTMAX, NULL));
 *
 * A constructor returns NULL after a failure, with its text in gantry_last_message: InvalidArgument
 * for a number or an option that is not accepted, or ResourceExhausted. A model takes over the
 * layers that are added to it; a function that gets a NULL layer fails with that text. Options and
 * names may be NULL, and numbers that are 0 mean Keras's defaults. Texts and structs are copied.
 *
 * A comment begins with the name of Keras's layer, whose page describes it. Shapes begin with the
 * batch. Inputs are floats of the model's type, and outputs have that type, unless a comment says
 * otherwise; inputs that a layer does not take are InvalidArgument when the model is built. A
 * program adds a layer of its own by gantry_layer_create.
 *
 * Threads: a layer is externally synchronised, together with the models that have it. */
#ifndef GANTRY_TRAIN_LAYER_H
#define GANTRY_TRAIN_LAYER_H

#include <gantry_train/initializer.h>
#include <gantry_train/regularizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A layer. */
typedef struct gantry_layer_t gantry_layer_t;

/* ---- activations ---- */

/** An activation. */
typedef enum gantry_activation_t {
    GANTRY_LINEAR = 0,        /**< x. */
    GANTRY_RELU = 1,          /**< max(x, 0). */
    GANTRY_SIGMOID = 2,       /**< 1 / (1 + exp(-x)). */
    GANTRY_TANH = 3,          /**< The hyperbolic tangent. */
    GANTRY_SOFTMAX = 4,       /**< exp(x) divided by its sum over the last dimension. */
    GANTRY_ELU = 5,           /**< x, or exp(x) - 1 for negative x. */
    GANTRY_SELU = 6,          /**< Elu, scaled. */
    GANTRY_GELU = 7,          /**< x times the normal distribution function. */
    GANTRY_SILU = 8,          /**< x times sigmoid(x). */
    GANTRY_SOFTPLUS = 9,      /**< log(1 + exp(x)). */
    GANTRY_SOFTSIGN = 10,     /**< x / (1 + |x|). */
    GANTRY_RELU6 = 11,        /**< x clamped to [0, 6]. */
    GANTRY_LEAKY_RELU = 12,   /**< x, or 0.2 x for negative x. */
    GANTRY_LOG_SOFTMAX = 13,  /**< The logarithm of softmax. */
    GANTRY_EXPONENTIAL = 14,  /**< exp(x). */
    GANTRY_HARD_SIGMOID = 15, /**< x / 6 + 0.5 clamped to [0, 1]. */
    GANTRY_HARD_SILU = 16,    /**< x times hard_sigmoid(x). */
    GANTRY_MISH = 17,         /**< x times tanh(softplus(x)). */
    GANTRY_LOG_SIGMOID = 18   /**< The logarithm of sigmoid. */
} gantry_activation_t;

/** Applies an activation to each element of a float tensor of any shape; softmax and log_softmax go
 * over the last dimension. NULL after a failure, which the scope keeps: InvalidArgument for an
 * activation that does not exist. */
GANTRY_API const gantry_tensor_t *gantry_activate(gantry_scope_t *scope,
                                                  gantry_activation_t activation,
                                                  const gantry_tensor_t *x);
/** Keras's name of an activation: "relu"; "" for none. */
GANTRY_API const char *gantry_activation_name(gantry_activation_t activation);

/* ---- layers ---- */

/** Options of gantry_dense and of the convolutions. Options of a window that a layer has no use for
 * are InvalidArgument, unless they are 0 or have no effect: kernel_columns of Conv1D. */
typedef struct gantry_kernel_options_t {
    uint32_t struct_size;                           /**< Its sizeof; 0: that of version 0.1. */
    const char *name;                               /**< The layer's name; NULL: Keras's. */
    bool no_bias;                                   /**< Adds no bias. */
    const gantry_initializer_t *kernel_initializer; /**< Copied. NULL: glorot_uniform. */
    const gantry_initializer_t *bias_initializer;   /**< Copied. NULL: zeros. */
    int64_t strides[2];       /**< Of convolutions, of Conv1D the first; 0: 1. */
    int64_t dilations[2];     /**< Of convolutions, of Conv1D the first; 0: 1. */
    bool same_padding;        /**< Of convolutions: "same"; else "valid". */
    int64_t depth_multiplier; /**< Of depthwise and separable ones; 0: 1. */
    int64_t kernel_columns;   /**< Columns of a window of two dimensions; 0: as many as rows. */
    bool causal_padding;      /**< Of Conv1D: "causal"; a window ends at its own place. */
    /** For Conv1D and Conv2D, the number of groups of channels, which must divide channels and
     * filters. Each group has filters of its own and is a convolution of its own. 0: 1. */
    int64_t groups;
    const gantry_regularizer_t *kernel_regularizer; /**< Copied. NULL: none. */
    const gantry_regularizer_t *bias_regularizer;   /**< Copied. NULL: none. */
    const gantry_constraint_t *kernel_constraint;   /**< Copied. NULL: none. */
    const gantry_constraint_t *bias_constraint;     /**< Copied. NULL: none. */
    /** Of Conv1DTranspose, one number, and of Conv2DTranspose, two, for rows and columns: what the
     * output has beyond its least size, from 0 on, below the stride; from 1 on with same_padding
     * and an even spread. Copied. NULL: as there. */
    const int64_t *output_padding;
} gantry_kernel_options_t;

/** Dense: [..., n] to [..., units]: activation(x kernel + bias). */
GANTRY_API gantry_layer_t *gantry_dense(int64_t units, gantry_activation_t activation,
                                        const gantry_kernel_options_t *options);
/** Embedding: numbers below input_dim, of int32 or int64, [...] to their rows [..., output_dim].
 * initializer NULL: uniform in [-0.05, 0.05).
 *
 * A number outside is InvalidArgument. gantry_model_fit and its like refuse it before the step,
 * also where layers of this header without weights moved or computed the numbers of the batch. Only
 * the op checks what a layer of the program's own computes: on a GPU the step has then begun, and
 * the model's weights are lost. */
GANTRY_API gantry_layer_t *gantry_embedding(int64_t input_dim, int64_t output_dim,
                                            const gantry_initializer_t *initializer,
                                            const char *name);
/** Embedding with mask_zero: the same; number 0 is padding, so the output's mask is false there. */
GANTRY_API gantry_layer_t *gantry_masked_embedding(int64_t input_dim, int64_t output_dim,
                                                   const gantry_initializer_t *initializer,
                                                   const char *name);
/** Masking: [batch, steps, n] to the same. Steps whose numbers all are mask_value become zeros, and
 * the output's mask is false there. */
GANTRY_API gantry_layer_t *gantry_masking_layer(double mask_value, const char *name);
/** Conv1D: [batch, length, channels] to [batch, windows, filters]. windows is ceil(length / stride)
 * with same_padding or causal_padding, else ceil((length - (kernel_size - 1) dilation) /
 * stride). */
GANTRY_API gantry_layer_t *gantry_conv1d_layer(int64_t filters, int64_t kernel_size,
                                               gantry_activation_t activation,
                                               const gantry_kernel_options_t *options);
/** Conv2D: [batch, rows, columns, channels] to [batch, window rows, window columns, filters]. A
 * window has kernel_size rows and kernel_columns; strides and dilations are those of rows and
 * columns. */
GANTRY_API gantry_layer_t *gantry_conv2d_layer(int64_t filters, int64_t kernel_size,
                                               gantry_activation_t activation,
                                               const gantry_kernel_options_t *options);
/** DepthwiseConv2D: [batch, rows, columns, channels] to [batch, window rows, window columns,
 * channels depth_multiplier]: each channel has depth_multiplier filters of its own. */
GANTRY_API gantry_layer_t *gantry_depthwise_conv2d_layer(int64_t kernel_size,
                                                         gantry_activation_t activation,
                                                         const gantry_kernel_options_t *options);
/** SeparableConv1D: [batch, length, channels] to [batch, windows, filters], windows as of Conv1D:
 * each channel has depth_multiplier filters of its own, "depthwise_kernel", whose outputs
 * "pointwise_kernel" joins to filters. Options of the kernel are those of both. */
GANTRY_API gantry_layer_t *gantry_separable_conv1d_layer(int64_t filters, int64_t kernel_size,
                                                         gantry_activation_t activation,
                                                         const gantry_kernel_options_t *options);
/** SeparableConv2D: the same of [batch, rows, columns, channels], windows as of Conv2D. */
GANTRY_API gantry_layer_t *gantry_separable_conv2d_layer(int64_t filters, int64_t kernel_size,
                                                         gantry_activation_t activation,
                                                         const gantry_kernel_options_t *options);
/** Conv1DTranspose: [batch, length, channels] to [batch, n, filters], the transpose of a Conv1D. n
 * is length stride with same_padding, else length stride + max(spread - stride, 0), with spread =
 * (kernel_size - 1) dilation + 1. With output_padding it is (length - 1) stride + spread +
 * output_padding, in which same_padding has spread % 2 in place of spread. */
GANTRY_API gantry_layer_t *gantry_conv1d_transpose_layer(int64_t filters, int64_t kernel_size,
                                                         gantry_activation_t activation,
                                                         const gantry_kernel_options_t *options);
/** Conv2DTranspose: the same of [batch, rows, columns, channels]. */
GANTRY_API gantry_layer_t *gantry_conv2d_transpose_layer(int64_t filters, int64_t kernel_size,
                                                         gantry_activation_t activation,
                                                         const gantry_kernel_options_t *options);

/** Options of pools. Those of columns are for two dimensions only. */
typedef struct gantry_pool_options_t {
    uint32_t struct_size;   /**< Its sizeof; 0: that of version 0.1. */
    const char *name;       /**< The layer's name; NULL: Keras's. */
    int64_t strides;        /**< 0: the size of the pool. */
    bool same_padding;      /**< "same"; else "valid". */
    int64_t pool_columns;   /**< Columns of a window of two dimensions; 0: as many as rows. */
    int64_t column_strides; /**< Of two dimensions; 0: strides, or if that is 0, the columns. */
} gantry_pool_options_t;

/** MaxPooling1D: [batch, length, channels] to [batch, windows, channels], the largest number of
 * each window. windows is ceil(length / strides) with same_padding, else ceil((length - pool_size
 * + 1) / strides). */
GANTRY_API gantry_layer_t *gantry_max_pool1d_layer(int64_t pool_size,
                                                   const gantry_pool_options_t *options);
/** AveragePooling1D: the same with the mean of each window; padding does not count. */
GANTRY_API gantry_layer_t *gantry_avg_pool1d_layer(int64_t pool_size,
                                                   const gantry_pool_options_t *options);
/** MaxPooling2D: [batch, rows, columns, channels] to [batch, window rows, window columns,
 * channels]. A window has pool_size rows and pool_columns. */
GANTRY_API gantry_layer_t *gantry_max_pool2d_layer(int64_t pool_size,
                                                   const gantry_pool_options_t *options);
/** AveragePooling2D: the same with the mean of each window; padding does not count. */
GANTRY_API gantry_layer_t *gantry_avg_pool2d_layer(int64_t pool_size,
                                                   const gantry_pool_options_t *options);
/** GlobalMaxPooling1D and GlobalMaxPooling2D: [batch, steps, channels] or [batch, rows, columns,
 * channels] to [batch, channels], the largest number of each channel. */
GANTRY_API gantry_layer_t *gantry_global_max_pool(const char *name);
/** GlobalAveragePooling1D and GlobalAveragePooling2D: the same with the mean. Steps that the
 * input's mask leaves out do not count. */
GANTRY_API gantry_layer_t *gantry_global_avg_pool(const char *name);

/** Flatten: [batch, ...] of any type to [batch, elements]. */
GANTRY_API gantry_layer_t *gantry_flatten(const char *name);
/** Reshape: [batch, ...] of any type to [batch, shape]: the elements of each sample in another
 * shape, which does not name the batch. One size may be -1: what is left. */
GANTRY_API gantry_layer_t *gantry_reshape_layer(gantry_shape_t shape, const char *name);
/** Permute: [batch, ...] of any type, whose dimension i of the output is dimension dims[i - 1] of
 * the input; the batch is 0 and is not named. dims has count numbers from 1 on and is copied. */
GANTRY_API gantry_layer_t *gantry_permute_layer(const int32_t *dims, size_t count,
                                                const char *name);
/** RepeatVector: [batch, n] of any type to [batch, times, n]. */
GANTRY_API gantry_layer_t *gantry_repeat_vector_layer(int64_t times, const char *name);
/** UpSampling1D: [batch, length, channels] to [batch, length size, channels]: each step, size
 * times. */
GANTRY_API gantry_layer_t *gantry_up_sampling1d_layer(int64_t size, const char *name);
/** UpSampling2D, "nearest": [batch, r, c, channels] to [batch, r rows, c columns, channels]: each
 * element, rows times columns. */
GANTRY_API gantry_layer_t *gantry_up_sampling2d_layer(int64_t rows, int64_t columns,
                                                      const char *name);
/** ZeroPadding1D: [batch, length, channels] to [batch, before + length + after, channels], with
 * steps of zeros. */
GANTRY_API gantry_layer_t *gantry_zero_padding1d_layer(int64_t before, int64_t after,
                                                       const char *name);
/** ZeroPadding2D: [batch, rows, columns, channels] with zeros above, below, on the left and on the
 * right: four numbers, which are copied. */
GANTRY_API gantry_layer_t *gantry_zero_padding2d_layer(const int64_t *amounts, const char *name);
/** Cropping1D: [batch, length, channels] to [batch, length - before - after, channels]. */
GANTRY_API gantry_layer_t *gantry_cropping1d_layer(int64_t before, int64_t after, const char *name);
/** Cropping2D: [batch, rows, columns, channels] without rows above and below, and columns on the
 * left and on the right: four numbers, which are copied. */
GANTRY_API gantry_layer_t *gantry_cropping2d_layer(const int64_t *amounts, const char *name);
/** Dropout: in training, elements become 0 with probability rate, and the others are divided by
 * 1 - rate. The draws follow from the model's seed. An input of integers or bools is
 * InvalidArgument in training. */
GANTRY_API gantry_layer_t *gantry_dropout_layer(double rate, const char *name);
/** Dropout with noise_shape: the same, with one draw for all elements along the dimensions whose
 * size is 1. noise_shape must have the input's rank, with the batch; each size must be 1 or the
 * input's, which -1 means, too. GANTRY_SHAPE(-1, 1, -1) is Keras's SpatialDropout1D. */
GANTRY_API gantry_layer_t *gantry_shaped_dropout_layer(double rate, gantry_shape_t noise_shape,
                                                       const char *name);
/** Activation: gantry_activate of the input, whose shape stays. */
GANTRY_API gantry_layer_t *gantry_activation_layer(gantry_activation_t activation,
                                                   const char *name);
/** LeakyReLU: x, or negative_slope x for negative x. */
GANTRY_API gantry_layer_t *gantry_leaky_relu_layer(double negative_slope, const char *name);
/** PReLU: x, or alpha x for negative x, with a weight "alpha" for each element of a sample. It is
 * shared along the dimensions of shared_axes, from 1 on, which are copied; NULL: none. initializer
 * NULL: zeros. */
GANTRY_API gantry_layer_t *gantry_prelu_layer(const gantry_initializer_t *initializer,
                                              const int32_t *shared_axes, size_t axis_count,
                                              const char *name);
/** Rescaling: scale x + offset. Integers become the model's type first. */
GANTRY_API gantry_layer_t *gantry_rescaling_layer(double scale, double offset, const char *name);

/** ActivityRegularization: its input of floats, whose l1 sum(|x|) + l2 sum(x squared), divided by
 * the batch, is added to the loss. Numbers are 0 or more. */
GANTRY_API gantry_layer_t *gantry_activity_regularization(double l1, double l2, const char *name);

/** Options of normalisations. */
typedef struct gantry_norm_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    const char *name;     /**< The layer's name; NULL: Keras's. */
    double epsilon;       /**< Added to the variance. 0: 0.001. */
    double momentum;      /**< BatchNormalization: part of the old mean in the new; 0: 0.99. */
    /** The dimensions with numbers of their own: of BatchNormalization one, whose statistics go
     * over all others; of LayerNormalization those that are normalised together. Ascending, without
     * the batch; a negative one counts from the end. Copied. NULL: the last. */
    const int32_t *axes;
    size_t axis_count; /**< Entries of axes. */
    bool no_center;    /**< Adds no offset: there is no weight beta. */
    bool no_scale;     /**< Multiplies by no scale: there is no weight gamma. */
} gantry_norm_options_t;

/** BatchNormalization of each element of a dimension, to the same shape: by the batch's statistics
 * in training, else by moving means of them. Steps that the input's mask leaves out do not count in
 * the statistics. */
GANTRY_API gantry_layer_t *gantry_batch_normalization(const gantry_norm_options_t *options);
/** LayerNormalization over one dimension or several, to the same shape. */
GANTRY_API gantry_layer_t *gantry_layer_normalization(const gantry_norm_options_t *options);
/** GroupNormalization, to the same shape: a dimension, of axes, in groups of equal size, each of
 * which is normalised with all elements of its sample. groups 0: Keras's 32; -1: each element of
 * the dimension is a group. */
GANTRY_API gantry_layer_t *gantry_group_normalization(int64_t groups,
                                                      const gantry_norm_options_t *options);
/** RMSNormalization over one dimension or several, to the same shape: x divided by the root of the
 * mean of its squares, times a weight "scale". It has no offset. epsilon 0: 1e-6. */
GANTRY_API gantry_layer_t *gantry_rms_normalization(const gantry_norm_options_t *options);
/** UnitNormalization over one dimension or several, of axes: x divided by the root of the sum of
 * its squares, or by epsilon where that is larger. It has no weights. epsilon 0: 1e-12. */
GANTRY_API gantry_layer_t *gantry_unit_normalization(const gantry_norm_options_t *options);

/** Options of recurrent layers. */
typedef struct gantry_recurrent_options_t {
    uint32_t struct_size;                              /**< Its sizeof; 0: that of version 0.1. */
    const char *name;                                  /**< The layer's name; NULL: Keras's. */
    const gantry_activation_t *activation;             /**< Copied. NULL: tanh. */
    const gantry_activation_t *recurrent_activation;   /**< Of gates. Copied. NULL: sigmoid. */
    bool no_bias;                                      /**< Adds no bias. */
    const gantry_initializer_t *kernel_initializer;    /**< Copied. NULL: glorot_uniform. */
    const gantry_initializer_t *recurrent_initializer; /**< Copied. NULL: orthogonal. */
    const gantry_initializer_t *bias_initializer;      /**< Copied. NULL: zeros. */
    bool return_sequences; /**< Returns the outputs of all steps, not the last one. */
    bool go_backwards; /**< Reads the sequence from its end, and returns outputs in that order. */
    bool no_unit_forget_bias; /**< LSTM: bias_initializer also for the forget gate; else it is 1. */
    bool reset_before; /**< GRU: the reset gate acts before the matrix product; Keras: after. */
    /** Returns the last state, too: h, and c of an LSTM, [batch, units] each. */
    bool return_state;
    double dropout;           /**< In training, the rate for the input's elements; [0, 1). */
    double recurrent_dropout; /**< In training, the rate for the state in its product; [0, 1). */
    /** The last state of a batch is the first one of the next batch, in training, tests and
     * predictions, until gantry_layer_reset_states. All batches must have one size:
     * gantry_model_options_t.batch_size. Not for several devices or processes. */
    bool stateful;
    /** GANTRY_ON: each step has ops of its own in the trace, at most 3600 steps. GANTRY_OFF: a loop
     * runs the steps; the time to trace does not grow with their number, and the gradient computes
     * the values of a step again, in place of keeping them. GANTRY_DEFAULT: a loop for more than
     * 256 steps, and where their number depends on data. */
    gantry_choice_t unroll;
} gantry_recurrent_options_t;

/** SimpleRNN: [batch, steps, n] to [batch, units], or with return_sequences [batch, steps, units]:
 * h = activation(x kernel + bias + h recurrent_kernel).
 *
 * A second input is the first state, [batch, units]; without it the state begins as zeros. A step
 * that the mask of the input leaves out keeps the state, and its output is the one before. As in
 * Keras 3, a layer with a first state reads no mask. Dropout draws one mask of the input, and one
 * of the state, for all steps of a call; an LSTM or GRU with recurrent_dropout draws them for each
 * gate. */
GANTRY_API gantry_layer_t *gantry_simple_rnn(int64_t units,
                                             const gantry_recurrent_options_t *options);
/** LSTM: shapes as of SimpleRNN. A first state is two further inputs, h and c. The gates are in
 * Keras's order: input, forget, candidate, output. */
GANTRY_API gantry_layer_t *gantry_lstm(int64_t units, const gantry_recurrent_options_t *options);
/** GRU: shapes as of SimpleRNN. The gates are in Keras's order: update, reset, candidate. It has a
 * second bias, for the recurrent product, unless reset_before is set. */
GANTRY_API gantry_layer_t *gantry_gru(int64_t units, const gantry_recurrent_options_t *options);

/** How the two directions of gantry_bidirectional become one output. */
typedef enum gantry_merge_t {
    GANTRY_MERGE_CONCAT = 0, /**< One after the other along the last dimension. */
    GANTRY_MERGE_SUM = 1,    /**< Their sum. */
    GANTRY_MERGE_MUL = 2,    /**< Their product. */
    GANTRY_MERGE_AVE = 3     /**< Their mean. */
} gantry_merge_t;

/** Bidirectional: a recurrent layer and another one of its options that reads the sequence from the
 * other end. It takes the layer over, also after a failure. With return_sequences, both have their
 * outputs in the order of the steps, and outputs of steps that the mask leaves out are zeros. First
 * and last states are those of the layer, then those of the other one. */
GANTRY_API gantry_layer_t *gantry_bidirectional(gantry_layer_t *layer, gantry_merge_t merge,
                                                const char *name);

/** TimeDistributed: [batch, steps, ...] to [batch, steps, ...]: each step by a layer that takes
 * [batch, ...], with the same weights. It takes the layer over, also after a failure. The layer
 * must have one input and one output, and must not be stateful; it gets no mask. Steps are samples
 * of a large batch, over which a BatchNormalization takes its statistics. */
GANTRY_API gantry_layer_t *gantry_time_distributed(gantry_layer_t *layer, const char *name);

/** Options of gantry_multi_head_attention. */
typedef struct gantry_attention_options_t {
    uint32_t struct_size;                           /**< Its sizeof; 0: that of version 0.1. */
    const char *name;                               /**< The layer's name; NULL: Keras's. */
    int64_t value_dim;                              /**< Of each head's values; 0: key_dim. */
    double dropout;                                 /**< Rate for the attention's weights. */
    bool no_bias;                                   /**< Adds no biases. */
    bool causal;                                    /**< A query sees only keys up to its place. */
    const gantry_initializer_t *kernel_initializer; /**< Copied. NULL: glorot_uniform. */
    /** The last input is Keras's attention_mask, of any type: [batch, T, S], or [batch, heads, T,
     * S], where sizes of 1 are repeated. A query sees the keys where it is not 0 (false). */
    bool attention_mask;
} gantry_attention_options_t;

/** MultiHeadAttention: inputs query [batch, T, n], value and key [batch, S, m] to [batch, T, n].
 * Without a key the value is the key, too; one input is query, value and key. With attention_mask a
 * mask follows as the last input. Queries and keys that their masks leave out are not seen. The
 * output has the query's mask. As in Keras 3, layers that are applied later to its inputs do not
 * get the masks of these. */
GANTRY_API gantry_layer_t *gantry_multi_head_attention(int64_t heads, int64_t key_dim,
                                                       const gantry_attention_options_t *options);
/** Why the newest call of a MultiHeadAttention had all scores in memory, a constant text such as
 * "dropout takes weights away from keys". NULL: ScaledDotProductAttention computed it, whose memory
 * grows with the lengths, or there was none; or the layer is another one, or NULL. */
GANTRY_API const char *gantry_attention_why_scores(const gantry_layer_t *layer);

/** Add: the sum of two or more inputs, of one shape or shapes that broadcast; dimensions of 1
 * after the batch raise a rank that is smaller, as in Keras. Its mask is true where that of an
 * input is; an input without a mask leaves none. */
GANTRY_API gantry_layer_t *gantry_add_layer(const char *name);
/** Subtract: the first of two inputs without the second; shapes and masks as of Add. */
GANTRY_API gantry_layer_t *gantry_subtract_layer(const char *name);
/** Multiply: the product of two or more inputs; shapes and mask as of Add. Steps that an input's
 * mask leaves out count as ones, and in the output, where it has a mask, are zeros. */
GANTRY_API gantry_layer_t *gantry_multiply_layer(const char *name);
/** Average: the mean of two or more inputs; shapes and masks as of Add. */
GANTRY_API gantry_layer_t *gantry_average_layer(const char *name);
/** Maximum: the largest of two or more inputs, by elements; shapes and mask as of Add. Of a step
 * that an input's mask leaves out, the other inputs' are taken. */
GANTRY_API gantry_layer_t *gantry_maximum_layer(const char *name);
/** Minimum: the smallest, in the same way. */
GANTRY_API gantry_layer_t *gantry_minimum_layer(const char *name);
/** Dot: the products of two inputs of floats, summed over a dimension of each: [batch, ..., n, ...]
 * and [batch, ..., n, ...] to the other dimensions of the first, then those of the second; of two
 * matrices [batch, 1]. An axis must not be the batch; a negative one counts from the end.
 * normalize: inputs are divided by the roots of their sums of squares first, which makes it the
 * cosine. The output has no mask. */
GANTRY_API gantry_layer_t *gantry_dot_layer(int32_t first_axis, int32_t second_axis, bool normalize,
                                            const char *name);
/** Concatenate: two or more inputs of any type, joined along an axis, the only one in which their
 * shapes may differ; -1: the last. Axis 0 is the batch. */
GANTRY_API gantry_layer_t *gantry_concatenate_layer(int32_t axis, const char *name);

/* ---- layers of a program's own ---- */

/** One call of a layer, in a scope that runs or records. The struct may grow; a layer that calls
 * another one must pass on a copy. */
typedef struct gantry_layer_call_t {
    gantry_scope_t *scope;                /**< Where its ops go. */
    const gantry_tensor_t *const *inputs; /**< The inputs. */
    size_t input_count;                   /**< Entries of inputs. */
    const gantry_tensor_t *const
        *weights;        /**< The weights, in the order in which build added them. */
    size_t weight_count; /**< Entries of weights. */
    bool training;       /**< Whether the model is trained. */
    /** New values of weights that are not trained, by the place of the weight; NULL: it stays. */
    const gantry_tensor_t **updates;
    /** The masks of the inputs, bool, [batch, steps] as a rule: false is padding. NULL: none. */
    const gantry_tensor_t *const *masks;
    /** Place of the output's mask. It has the first input's if the kind passes masks on, else NULL;
     * a layer may write another one. */
    const gantry_tensor_t **mask;
    /** Places of the outputs after the first one, output_count - 1 of the kind. */
    const gantry_tensor_t **more_outputs;
    struct gantry__layer_run_t *run; /**< The library's own. */
    bool is_frozen; /**< The layer's weights are not trained: gantry_layer_set_trainable. */
} gantry_layer_call_t;

/** What a layer does. The struct is copied. */
typedef struct gantry_layer_kind_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *name;     /**< Its class, as Keras writes it: "Dense". */
    /** Adds the layer's weights, once, by gantry_layer_add_weight. Shapes have batch -1. For inputs
     * that the layer does not take, it must return an error, with its text by gantry_fail. NULL: no
     * weights. */
    gantry_status_t (*build)(gantry_layer_t *layer, const gantry_shape_t *inputs,
                             size_t input_count, void *user);
    /** Returns the output, or NULL, and then it must leave the scope failed. It must not end the
     * scope: FailedPrecondition. */
    const gantry_tensor_t *(*call)(const gantry_layer_call_t *call, void *user);
    void (*release)(void *user); /**< Ends user; NULL: nothing is to be done. */
    bool passes_masks;           /**< The output's mask is the first input's: supports_masking. */
    size_t output_count;         /**< Outputs of a call; 0: 1. */
} gantry_layer_kind_t;

/** Returns, in call, the generator of this layer's random numbers, of its place in the model and
 * the device. Its numbers follow from the model's seed, and gantry_model_save keeps its state. The
 * model owns it. NULL after a failure, which the scope keeps, and in a call that no model makes. */
GANTRY_API gantry_generator_t *gantry_layer_generator(const gantry_layer_call_t *call);

/** Makes a layer. name NULL: the kind's name in small letters, with a number. NULL after a failure,
 * when user is still the program's. */
GANTRY_API gantry_layer_t *gantry_layer_create(const gantry_layer_kind_t *kind, void *user,
                                               const char *name);
/** Adds a weight of the model's type; it must be called in build. initializer NULL: glorot_uniform.
 * A weight that is not trained changes by the call's updates. */
GANTRY_API gantry_status_t gantry_layer_add_weight(gantry_layer_t *layer, const char *name,
                                                   gantry_shape_t shape,
                                                   const gantry_initializer_t *initializer,
                                                   bool trainable);
/** Says whether a layer's weights are trained, as Keras's `layer.trainable`; they are at first. A
 * model takes it over in its gantry_model_compile, or if it is not compiled, in its build: of two
 * models with the layer, one may train it and the other one may not. A BatchNormalization that is
 * not trained normalises by its moving means in training, too, and keeps them. */
GANTRY_API gantry_status_t gantry_layer_set_trainable(gantry_layer_t *layer, bool trainable);
/** Sets the regularizer of all weights of a name, such as "kernel", "recurrent_kernel" or
 * "embeddings". It must be set before the layer's model is built. It is copied; NULL: none. The
 * weights' losses are added to the model's own while the layer is trained. A name that the layer
 * does not have fails the build. */
GANTRY_API gantry_status_t gantry_layer_set_regularizer(gantry_layer_t *layer, const char *weight,
                                                        const gantry_regularizer_t *regularizer);
/** Sets their constraint in the same way: after each update in gantry_model_fit, weights that have
 * a gradient are replaced by gantry_constrain of them. A loop of a program's own must call
 * gantry_constrain itself. */
GANTRY_API gantry_status_t gantry_layer_set_constraint(gantry_layer_t *layer, const char *weight,
                                                       const gantry_constraint_t *constraint);
/** Sets the regularizer of a layer's outputs, Keras's activity_regularizer. It is copied; NULL:
 * none. The loss of each output of each call of the layer is divided by the size of its first
 * dimension, the batch, and added to the model's own, also where the layer is not trained. It must
 * be set before the layer's model is built. Outputs that are not floats fail the build. */
GANTRY_API gantry_status_t gantry_layer_set_activity_regularizer(
    gantry_layer_t *layer, const gantry_regularizer_t *regularizer);
/** Sets the kept states of a stateful layer to zeros, as Keras's reset_state. The states of other
 * layers, and of layers whose model is not built, need no reset: nothing is done. */
GANTRY_API gantry_status_t gantry_layer_reset_states(gantry_layer_t *layer);
/** Releases a layer that no model took over; one that a model has, and NULL, do no harm. */
GANTRY_API void gantry_layer_release(gantry_layer_t *layer);
/** Its name, that in the first model that took it over; the layer owns it. "" for NULL. */
GANTRY_API const char *gantry_layer_name(const gantry_layer_t *layer);

#ifdef __cplusplus
}
#endif
#endif
