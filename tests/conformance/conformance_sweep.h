/* SPDX-License-Identifier: Apache-2.0 */
/* Makes random inputs for checks from a seed. The generator is our own, so that every machine
 * checks the same values.
 * Ownership: a made tensor's data is malloced. Thread-safe. */
#ifndef GANTRY_TESTS_CONFORMANCE_SWEEP_H
#define GANTRY_TESTS_CONFORMANCE_SWEEP_H

#include "conformance.h"
#include "golden.h"

typedef enum sweep_domain_t {
    /* half of the floats have any bits (NaN, infinities, denormals), half lie in [-8, 8]; any
     * integers */
    SWEEP_ANY,
    SWEEP_MODERATE, /* floats in [-8, 8] over many exponents; integers in [-1000, 1000] */
    SWEEP_UNIT,     /* floats in [-1, 1]; integers in [-9, 9] */
    SWEEP_NONZERO   /* as ANY, integers not 0 */
} sweep_domain_t;

/* Ends the program when memory is out. */
golden_tensor_t sweep_tensor(uint64_t seed, gantry_dtype_t dtype, gantry_shape_t shape,
                             sweep_domain_t domain);
/* Numbers in [0, limit) of an integer type. */
golden_tensor_t sweep_indices(uint64_t seed, gantry_dtype_t dtype, gantry_shape_t shape,
                              int64_t limit);
/* A vector of int32. */
golden_tensor_t sweep_ints(const int32_t *values, size_t count);
golden_tensor_t sweep_scalar_int(int32_t value);

uint64_t sweep_hash(const char *text); /* a seed from a name */
uint64_t sweep_next(uint64_t *state);  /* any number */

/* True when the run leaves out broadcasts of a binary op in this type, because the device builds a
 * program for each form of a broadcast, op and type. All ops run them in their first type, mostly
 * float32, and in about a third of the others. False for other ops and with --all-types. */
bool sweep_spares_broadcast(const conformance_t *c, const char *op, gantry_dtype_t dtype);

/* Runs the rest of a case after conformance_begin: the same bits twice, or on both devices, and no
 * write outside them. */
void sweep_run(conformance_t *c, const golden_case_t *item);

#endif
