/* SPDX-License-Identifier: Apache-2.0 */
/* Convolves once on the first GPU, and adds the gradient of the filter: a user's program for
 * test_tune. */
#include <gantry/gantry.h>
#include <stdio.h>

static const gantry_tensor_t *filter_gradient(gantry_scope_t *scope, const gantry_tensor_t *images,
                                              const gantry_tensor_t *result) {
    static const int64_t ones[] = {1, 1, 1, 1};
    static const int32_t sizes[] = {3, 3, 2, 4};
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = ones},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "SAME"}};
    const gantry_tensor_t *inputs[] = {
        images, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, sizeof sizes), result};
    const gantry_tensor_t *gradient = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, "Conv2DBackpropFilter", inputs, 3, attrs, 2, &gradient, &count);
    return gradient;
}

int main(void) {
    gantry_runtime_t *runtime;
    float sum = 0;
    if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK) return 1;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    const gantry_tensor_t *images = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 4, 4, 2)),
                          *filter = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 2, 4)),
                          *result = gantry_conv2d(scope, images, filter, NULL),
                          *gradient = filter_gradient(scope, images, result);
    const gantry_tensor_t *total = gantry_sum(scope, gradient, NULL);
    const bool is_good = total && gantry_tensor_read(total, &sum, sizeof sum) == GANTRY_OK;
    (void)printf("sum %g\n", (double)sum);
    if (!is_good) (void)fprintf(stderr, "%s\n", gantry_last_message());
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
    return !is_good;
}
