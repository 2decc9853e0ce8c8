/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Attention; ops.h says what holds for all ops, for owners and for threads. The ops are those of
 * ONNX; docs/ops.md has their meaning in full. */
#ifndef GANTRY_OPS_ATTENTION_H
#define GANTRY_OPS_ATTENTION_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of gantry_scaled_dot_product_attention. */
typedef struct gantry_scaled_attention_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    /** Broadcasts to [batch, heads, queries, keys]: a bool says which keys a query sees; a number
     * of query's type is added to the score. NULL: every query sees every key. */
    const gantry_tensor_t *mask;
    const gantry_tensor_t *past_key;   /**< Precedes key; NULL: there is no past. */
    const gantry_tensor_t *past_value; /**< Precedes value; given with past_key. */
    bool is_causal;                    /**< Query i sees the keys up to i, and all of the past. */
    double scale;                      /**< Of the scores; 0: 1 / sqrt(dim). */
    double softcap; /**< c: c tanh(score / c) in place of a score; 0: not at all. */
} gantry_scaled_attention_options_t;

/** ScaledDotProductAttention: softmax(query key' scale + mask) value for each head, of query
 * [batch, heads, queries, dim], key [batch, key_heads, keys, dim] and value [batch, key_heads,
 * keys, value_dim]; with three dimensions there is one head. outputs are the output, key and value
 * after their past, and the logarithm of each row's sum of exponentials. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_scaled_dot_product_attention(
    gantry_scope_t *scope, const gantry_tensor_t *query, const gantry_tensor_t *key,
    const gantry_tensor_t *value, const gantry_scaled_attention_options_t *options,
    const gantry_tensor_t *outputs[4]);

/** Options of gantry_rotary_embedding. */
typedef struct gantry_rotary_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    bool interleaved;     /**< Neighbours are pairs, not the halves of a head. */
    int64_t num_heads;    /**< Of x with three dimensions, whose last one has all heads. */
    int64_t dim;          /**< Only so many elements of a head are turned; 0: all. */
} gantry_rotary_options_t;

/** RotaryEmbedding: x [batch, heads, length, size], or [batch, length, num_heads * size], with
 * pairs of each head's elements turned by the angles whose cosines and sines the caches have for
 * its place: [length, half] or [batch, length, half], or with position_ids (int32 or int64 [batch,
 * length]; NULL: none) [positions, half]. */
GANTRY_API const gantry_tensor_t *gantry_rotary_embedding(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x,
                                                          const gantry_tensor_t *cos_cache,
                                                          const gantry_tensor_t *sin_cache,
                                                          const gantry_tensor_t *position_ids,
                                                          const gantry_rotary_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
