/* SPDX-License-Identifier: Apache-2.0 */
/* Random tensors by splitmix64 (Steele, Lea and Flood 2014): a counter, mixed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_sweep.h"
#include "golden_draw.h"

uint64_t sweep_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [0, 1). */
static double next_unit(uint64_t *state) { return (double)(sweep_next(state) >> 11) * 0x1p-53; }

uint64_t sweep_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static golden_tensor_t make(gantry_dtype_t dtype, gantry_shape_t shape) {
    golden_tensor_t t = {.dtype = dtype, .shape = shape};
    t.bytes = (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype);
    t.data = malloc(t.bytes ? t.bytes : 1);
    if (!t.data) {
        fprintf(stderr, "gantry_conformance: out of memory\n");
        exit(2);
    }
    return t;
}

static double next_float(uint64_t *state, sweep_domain_t domain) {
    double value = 2 * next_unit(state) - 1;
    if (domain == SWEEP_UNIT) return value;
    uint64_t pick = sweep_next(state);
    /* 2^0 to 2^31 smaller */
    return pick & 1 ? 8 * value : 8 * value / (double)(UINT64_C(1) << (pick >> 59));
}

static uint64_t next_integer(uint64_t *state, sweep_domain_t domain) {
    if (domain == SWEEP_MODERATE) return sweep_next(state) % 2001 - 1000;
    if (domain == SWEEP_UNIT) return sweep_next(state) % 19 - 9;
    return sweep_next(state) >> (sweep_next(state) & 63); /* of every magnitude */
}

static bool takes_any_bits(uint64_t *state, sweep_domain_t domain) {
    return (domain == SWEEP_ANY || domain == SWEEP_NONZERO) && (sweep_next(state) & 1);
}

/* The bits of one element, in the low bytes. */
static uint64_t next_element(uint64_t *state, gantry_dtype_t dtype, sweep_domain_t domain) {
    uint64_t bits = 0;
    if (dtype == GANTRY_BOOL) return sweep_next(state) & 1;
    if (golden_is_float(dtype)) {
        if (takes_any_bits(state, domain)) return sweep_next(state);
        golden_store_number(dtype, &bits, 0, next_float(state, domain));
        return golden_load_bits(&bits, gantry_dtype_size(dtype));
    }
    bits = next_integer(state, domain);
    if (sweep_next(state) & 1) bits = 0 - bits;
    uint64_t mask = gantry_dtype_size(dtype) == 8 ? UINT64_MAX : UINT32_MAX;
    return domain == SWEEP_NONZERO && (bits & mask) == 0 ? 1 : bits;
}

static void store(golden_tensor_t *t, size_t index, uint64_t bits) {
    size_t size = gantry_dtype_size(t->dtype);
    unsigned char *at = (unsigned char *)t->data + index * size;
    uint32_t narrow = (uint32_t)bits;
    uint16_t half = (uint16_t)bits;
    if (size == 8)
        memcpy(at, &bits, size);
    else if (size == 4)
        memcpy(at, &narrow, size);
    else if (size == 2)
        memcpy(at, &half, size);
    else
        *at = (unsigned char)bits;
}

golden_tensor_t sweep_tensor(uint64_t seed, gantry_dtype_t dtype, gantry_shape_t shape,
                             sweep_domain_t domain) {
    golden_tensor_t t = make(dtype, shape);
    size_t count = t.bytes / gantry_dtype_size(dtype);
    for (size_t i = 0; i < count; ++i) store(&t, i, next_element(&seed, dtype, domain));
    return t;
}

golden_tensor_t sweep_indices(uint64_t seed, gantry_dtype_t dtype, gantry_shape_t shape,
                              int64_t limit) {
    golden_tensor_t t = make(dtype, shape);
    size_t count = t.bytes / gantry_dtype_size(dtype);
    for (size_t i = 0; i < count; ++i) store(&t, i, sweep_next(&seed) % (uint64_t)limit);
    return t;
}

golden_tensor_t sweep_ints(const int32_t *values, size_t count) {
    golden_tensor_t t = make(GANTRY_INT32, GANTRY_SHAPE((int64_t)count));
    if (count) memcpy(t.data, values, t.bytes);
    return t;
}

golden_tensor_t sweep_scalar_int(int32_t value) {
    golden_tensor_t t = make(GANTRY_INT32, GANTRY_SCALAR);
    memcpy(t.data, &value, sizeof value);
    return t;
}
