/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of images whose channels come first, with a bias and a Relu: a function has the same
 * bits with the layout pass and without, and so many transposes. Header only. */
#ifndef TESTS_PLANES_CASE_H
#define TESTS_PLANES_CASE_H

#include "random_images.h"

typedef struct planes_case_t {
    gantry_dtype_t dtype;
    int64_t channels, outputs;    /* of the images, and of the result */
    int64_t size;                 /* of the last filter; the first one has 3 x 3 */
    bool is_bare;                 /* without bias and Relu */
    bool is_single;               /* without the first convolution */
    gantry_choice_t is_invariant; /* ON: without a vendor's libraries */
    bool is_explained;            /* why a transpose stays */
} planes_case_t;

static inline const gantry_tensor_t *planes_numbers(images_net_t *net, gantry_dtype_t dtype,
                                                    gantry_shape_t shape) {
    const gantry_tensor_t *eight = gantry_scalar_f32(net->scope, 8.0f);
    return gantry_cast(net->scope, gantry_mul(net->scope, images_numbers(net, shape), eight),
                       dtype);
}

static inline const gantry_tensor_t *planes_convolve(images_net_t *net, const planes_case_t *c,
                                                     const gantry_tensor_t *x, int64_t size,
                                                     int64_t outputs) {
    const gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    const gantry_tensor_t *filter =
        planes_numbers(net, c->dtype, GANTRY_SHAPE(size, size, channels, outputs));
    x = gantry_conv2d(net->scope, x, filter, &options);
    if (c->is_bare) return x;
    return gantry_relu(
        net->scope,
        gantry_add(net->scope, x, planes_numbers(net, c->dtype, GANTRY_SHAPE(outputs, 1, 1))));
}

static inline void planes_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const planes_case_t *c = user;
    images_net_t net = {.state = 5, .scope = scope};
    const gantry_tensor_t *x = inputs[0];
    if (!c->is_single) x = planes_convolve(&net, c, x, 3, 9);
    outputs[0] = planes_convolve(&net, c, x, c->size, c->outputs);
}

static inline bool planes_explains(gantry_function_t *function) {
    static char text[1 << 16];
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    return strstr(text, "    apart from what follows: the kernel writes channels last\n") != NULL;
}

/* The transposes of the function on the device. */
static inline uint32_t planes_check(gantry_runtime_t *runtime, const char *device,
                                    planes_case_t c) {
    const gantry_shape_t shape = GANTRY_SHAPE(2, c.channels, 13, 11);
    const gantry_input_spec_t spec = {"x", c.dtype, shape};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    images_net_t net = {.state = 9, .scope = scope};
    const gantry_tensor_t *x = planes_numbers(&net, c.dtype, shape), *y;
    uint32_t transposes = 0;
    void *results[2] = {NULL, NULL};
    size_t bytes = 0;
    for (int k = 0; k < 2; ++k) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = k == 0 ? 0 : GANTRY_PASS_LAYOUT,
                                                   .batch_invariant = c.is_invariant};
        gantry_function_t *function;
        if (gantry_function_trace(runtime, "f", planes_body, &c, &spec, 1, 1, &options,
                                  &function) != GANTRY_OK ||
            gantry_function_call(scope, function, &x, 1, &y, 1) != GANTRY_OK)
            fail_msg("%s of %s: %s", device, gantry_dtype_name(c.dtype), gantry_last_message());
        if (k == 0) transposes = images_count(function, "Transpose");
        if (k == 0) assert_int_equal(planes_explains(function), c.is_explained);
        bytes = gantry_tensor_bytes(y);
        results[k] = malloc(bytes);
        assert_non_null(results[k]);
        assert_int_equal(gantry_tensor_read(y, results[k], bytes), GANTRY_OK);
        gantry_function_release(function);
    }
    if (memcmp(results[0], results[1], bytes) != 0)
        fail_msg("%s of %s: other bits with the layout pass", device, gantry_dtype_name(c.dtype));
    for (int k = 0; k < 2; ++k) free(results[k]);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return transposes;
}

#endif
