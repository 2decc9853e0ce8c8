/* SPDX-License-Identifier: Apache-2.0 */
/* Golden values of Keras in the training library's tests: files read, tensors made and compared.
 * Header only. */
#ifndef TESTS_TRAIN_CASE_H
#define TESTS_TRAIN_CASE_H

#include "function_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "golden_file.h"
#include "need_opencl.h"

enum { TRAIN_MOST_BYTES = 1 << 14 };

/* ---- files of tests/golden/keras ---- */

/* The numbers of a file's case, which has this name; the file is read at the first call. */
static inline const golden_tensor_t *train_numbers(golden_file_t *file, const char *file_name,
                                                   size_t index, const char *name) {
    if (file->case_count == 0) golden_file_open(file_name, file);
    assert_in_range(index, 0, file->case_count - 1);
    assert_string_equal(file->cases[index].name, name);
    assert_int_equal(file->cases[index].outputs[0].dtype, GANTRY_FLOAT64);
    return &file->cases[index].outputs[0];
}

/* An attribute as a number; 0: there is none. */
static inline double train_attr(const golden_case_t *item, const char *name) {
    const golden_attr_t *attr = golden_find_attr(item, name);
    if (!attr) return 0;
    return attr->kind == GOLDEN_ATTR_FLOAT  ? attr->float_value
           : attr->kind == GOLDEN_ATTR_BOOL ? attr->bool_value
                                            : (double)attr->int_value;
}

/* The place of an attribute's text in a list that ends with NULL; 0: there is no such attribute. */
static inline int train_attr_choice(const golden_case_t *item, const char *name,
                                    const char *const *choices) {
    const golden_attr_t *attr = golden_find_attr(item, name);
    if (!attr) return 0;
    for (int i = 0; choices[i]; ++i) {
        if (strcmp(choices[i], attr->string_value) == 0) return i;
    }
    fail_msg("%s: %s is %s", item->name, name, attr->string_value);
    return 0;
}

/* ---- tensors ---- */

/* NULL where the case has no such tensor. */
static inline const gantry_tensor_t *train_make(gantry_scope_t *scope,
                                                const golden_tensor_t *given) {
    if (!given->data) return NULL;
    return gantry_constant(scope, given->dtype, given->shape, given->data, given->bytes);
}

static inline double train_number(const void *data, gantry_dtype_t dtype, size_t i) {
    switch (dtype) {
        case GANTRY_FLOAT32: return (double)((const float *)data)[i];
        case GANTRY_FLOAT64: return ((const double *)data)[i];
        case GANTRY_INT32: return ((const int32_t *)data)[i];
        case GANTRY_INT64: return (double)((const int64_t *)data)[i];
        default: fail_msg("no number type: %d", (int)dtype); return 0;
    }
}

/* Of type, shape and values; bound NULL: the same bits; else within bound (1 + |value|). */
static inline void train_expect(const char *name, const gantry_tensor_t *got,
                                const golden_tensor_t *expected, const double *bound) {
    static _Alignas(8) unsigned char have[TRAIN_MOST_BYTES];
    if (!got) fail_msg("%s: %s", name, gantry_last_message());
    const unsigned char *want = expected->data;
    const size_t bytes = expected->bytes;
    assert_true(bytes <= sizeof have && expected->sample_count == 0);
    if (gantry_tensor_dtype(got) != expected->dtype ||
        !gantry_shape_equal(gantry_tensor_shape(got), &expected->shape))
        fail_msg("%s: a %s of rank %d", name, gantry_dtype_name(gantry_tensor_dtype(got)),
                 (int)gantry_tensor_shape(got)->rank);
    if (gantry_tensor_read(got, have, bytes) != GANTRY_OK)
        fail_msg("%s: %s", name, gantry_last_message());
    if (!bound && memcmp(want, have, bytes) == 0) return;
    for (size_t i = 0; i < bytes / gantry_dtype_size(expected->dtype); ++i) {
        const double a = train_number(have, expected->dtype, i),
                     b = train_number(want, expected->dtype, i);
        if (!bound || !(fabs(a - b) <= *bound * (1 + fabs(b))))
            if (!(a == b && bound)) fail_msg("%s: element %zu is %.17g, not %.17g", name, i, a, b);
    }
}

static inline gantry_input_spec_t train_spec(const golden_tensor_t *given) {
    return (gantry_input_spec_t){NULL, given->dtype, given->shape};
}

/* PoCL as a GPU; with GANTRY_TEST_BACKENDS="cpu,cuda" a card. Without OpenCL the test is skipped or
 * fails. */
static inline gantry_runtime_t *train_open_gpu(void) {
    need_opencl();
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = backends ? backends : "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 0, NULL, &count), GANTRY_OK);
    if (count == 0) fail_msg("no device of %s is a GPU", options.backends);
    return runtime;
}

#endif
