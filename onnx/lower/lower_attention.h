/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, for the rows of ai.onnx and of com.microsoft: heads taken apart and joined, which keys
 * a query sees, and the library's op.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_LOWER_ATTENTION_H
#define GANTRY_ONNX_LOWER_ATTENTION_H

#include "onnx/lower/lower.h"

/* A call of attention. All sizes of query, key and value are known. */
typedef struct gantry__onnx_attention_t {
    gantry__onnx_call_t *call;
    const gantry_tensor_t *query, *key, *value;   /* [batch, heads, length, size] */
    const gantry_tensor_t *past_key, *past_value; /* In front of key and value; NULL: none. */
    const gantry_tensor_t *mask;                  /* A bool, or a number that is added; NULL. */
    const gantry_tensor_t *lengths;               /* [batch]: as many keys are valid; NULL: all. */
    bool counts_from_lengths; /* A query's place counts from lengths, not from the past. */
    bool is_causal;
    int64_t left, right;   /* Keys that a query sees before and after its place; -1: all. */
    double scale, softcap; /* 0: 1 / sqrt(size); none. */
    /* Set by the call. */
    const gantry_tensor_t *output, *present_key, *present_value;
    const gantry_tensor_t *log_sums;   /* [batch, heads, queries]: of each row's exponentials. */
    const gantry_tensor_t *whole_mask; /* The mask with all of the above, as it was used. */
} gantry__onnx_attention_t;

/* [batch, length, heads * size] as [batch, heads, length, size]. */
gantry_status_t gantry__onnx_split_heads(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         int64_t heads, const gantry_tensor_t **out);
/* The inverse. */
const gantry_tensor_t *gantry__onnx_join_heads(gantry__onnx_call_t *call, const gantry_tensor_t *x);
/* Refuses queries, keys and values without elements, whose sizes may be any. */
gantry_status_t gantry__onnx_check_attention(const gantry__onnx_attention_t *attention);
/* Computes output, present_key and present_value. */
gantry_status_t gantry__onnx_attend(gantry__onnx_attention_t *attention);
/* After gantry__onnx_attend: the scores, [batch, heads, queries, keys], by as many steps as mode
 * says: products, 0; after softcap, 1; with the mask, 2; weights, 3. */
gantry_status_t gantry__onnx_attention_scores(gantry__onnx_attention_t *attention, int64_t mode,
                                              const gantry_tensor_t **out);

#endif
