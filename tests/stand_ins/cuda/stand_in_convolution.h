/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution and its gradients in plain loops, summed in double and rounded once. Threads: each
 * convolution is one thread's. */
#ifndef GANTRY_TESTS_STAND_IN_CONVOLUTION_H
#define GANTRY_TESTS_STAND_IN_CONVOLUTION_H

#include "stand_in_core.h"

typedef struct stand_in_tensor_t {
    int32_t type; /* cudaDataType */
    int64_t dims[4], strides[4];
    uintptr_t data;
} stand_in_tensor_t;

enum { STAND_IN_FORWARD, STAND_IN_DATA, STAND_IN_FILTER };

typedef struct stand_in_convolution_t {
    int32_t what;
    int32_t has_bias, has_relu, rounds_to_tf32;
    stand_in_tensor_t image, filter, result, bias;
    int64_t before[2], after[2], steps[2], spreads[2];
    uint8_t *workspace; /* overwritten, so the caller must not need its contents */
    size_t workspace_bytes;
    stand_in_context_t *context;
} stand_in_convolution_t;

/* 0, or -1 when the parts do not match. */
int stand_in__check_convolution(const stand_in_convolution_t *convolution);
/* The bytes from the first element to the end of the last. */
uint64_t stand_in__tensor_bytes(const stand_in_tensor_t *tensor);
void stand_in__run_convolution(void *convolution);

#endif
