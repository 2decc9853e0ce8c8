/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of ops that move elements, on the CPU backend's kernels: shapes, tensors with
 * distinct elements, and the expected results. Header only; owner and threads as in
 * cpu_kernel_call.h. */
#ifndef GANTRY_TEST_CPU_MOVE_CASE_H
#define GANTRY_TEST_CPU_MOVE_CASE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu_kernel_call.h"

/* ---- random shapes, tensors with distinct elements ---- */

static uint64_t seed = 1;

static inline uint64_t draw(uint64_t below) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

/* Every second one has another size. */
static const int32_t some_types[] = {GANTRY_BOOL,  GANTRY_INT32,    GANTRY_FLOAT32, GANTRY_INT64,
                                     GANTRY_INT16, GANTRY_BFLOAT16, GANTRY_FLOAT64, GANTRY_FLOAT16};
#define SOME_TYPES (sizeof some_types / sizeof some_types[0])

/* Dimensions of at most `limit` elements in all, each 1 or more; large and small ones mixed. */
static inline void draw_dims(int32_t rank, int64_t limit, int64_t *dims) {
    int64_t left = limit;
    for (int32_t d = 0; d < rank; ++d) {
        int64_t most = draw(4) == 0 ? left : left < 5 ? left : 5;
        dims[d] = 1 + (int64_t)draw((uint64_t)most);
        left /= dims[d];
        if (left < 1) left = 1;
    }
    for (int32_t d = rank - 1; d > 0; --d) { /* so that the large dimensions are not always first */
        int32_t other = (int32_t)draw((uint64_t)d + 1);
        int64_t kept = dims[d];
        dims[d] = dims[other];
        dims[other] = kept;
    }
}

static inline gantry_arg_t *draw_tensor(cpu_call_t *owner, int32_t dtype, int32_t rank,
                                        const int64_t *dims) {
    gantry_arg_t *arg = cpu_tensor(owner, dtype, rank, dims);
    uint32_t size = gantry__k_size(dtype);
    unsigned char *bytes = arg->data;
    for (int64_t i = 0; i < arg->element_count; ++i) {
        uint64_t value = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) +
                         1; /* moved, never computed with: any bits are valid */
        memcpy(bytes + i * size, &value, size);
    }
    return arg;
}

static inline gantry_arg_t *host_ints(cpu_call_t *owner, int64_t count, const int64_t *values,
                                      int wide) {
    gantry_arg_t *arg = cpu_tensor(owner, wide ? GANTRY_INT64 : GANTRY_INT32, 1, &count);
    for (int64_t i = 0; i < count; ++i) {
        if (wide) {
            ((int64_t *)arg->data)[i] = values[i];
        } else {
            ((int32_t *)arg->data)[i] = (int32_t)values[i];
        }
    }
    arg->in_host_memory = 1;
    return arg;
}

static inline gantry_arg_t *host_scalar(cpu_call_t *owner, int64_t value) {
    gantry_arg_t *arg = host_ints(owner, 1, &value, (int)draw(2));
    arg->rank = 0;
    return arg;
}

/* ---- reference ---- */

static inline void index_of(const gantry_arg_t *arg, int64_t flat, int64_t *index) {
    for (int32_t d = arg->rank - 1; d >= 0; --d) {
        index[d] = flat % arg->dims[d];
        flat /= arg->dims[d];
    }
}

static inline int64_t flat_of(const gantry_arg_t *arg, const int64_t *index) {
    int64_t flat = 0;
    for (int32_t d = 0; d < arg->rank; ++d) flat = flat * arg->dims[d] + index[d];
    return flat;
}

static inline const void *at(const gantry_arg_t *arg, int64_t flat) {
    return (const char *)arg->data + flat * gantry__k_size(arg->dtype);
}

static inline void expect_element(const gantry_arg_t *out, int64_t flat, const void *element,
                                  const char *op) {
    if (memcmp(at(out, flat), element, gantry__k_size(out->dtype)) != 0) {
        fail_msg("%s: element %" PRId64 " of %" PRId64 " is wrong", op, flat, out->element_count);
    }
}

static inline void expect_nothing_behind(const gantry_arg_t *out) {
    /* the pattern of cpu_call_block */
    assert_int_equal(*(const unsigned char *)at(out, out->element_count), 0xa5);
}

static inline gantry_attr_t int_attr(const char *name, int64_t value) {
    return (gantry_attr_t){
        .struct_size = sizeof(gantry_attr_t), .kind = GANTRY_ATTR_INT, .name = name, .i = value};
}

/* ---- many cases ---- */

#define SMALL_ROUNDS 400
#define LARGE_ROUNDS 6
#define LARGE 300000 /* several parts of a parallel loop */

static inline void run_random(void (*draw_case)(cpu_call_t *, int64_t)) {
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 3);
    for (int i = 0; i < SMALL_ROUNDS; ++i) draw_case(&owner, i % 8 == 0 ? 5000 : 200);
    for (int i = 0; i < LARGE_ROUNDS; ++i) draw_case(&owner, LARGE);
    cpu_call_close(&owner);
}

#endif
