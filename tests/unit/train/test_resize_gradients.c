/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tape refuses the gradient of the gradient of CropAndResize's boxes, and names the
 * op. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "test.h"
#include "train_fixture.h"

#include <gantry/op.h>
#include <gantry_train/tape.h>

typedef const gantry_tensor_t tensor;

TEST(second_gradient_of_boxes_is_refused) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *image = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 3, 1));
    tensor *grads = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 2, 1));
    tensor *boxes =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 4), (float[]){0, 0, 1, 1}, 16);
    tensor *which = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(1));
    tensor *inputs[] = {grads, image, boxes, which}, *of_boxes = NULL, *gradient;
    size_t outputs = 1;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, image), GANTRY_OK);
    assert_int_equal(
        gantry_op_call(scope, "CropAndResizeGradBoxes", inputs, 4, NULL, 0, &of_boxes, &outputs),
        GANTRY_OK);
    const gantry_source_t source = {.tensor = image};
    assert_int_equal(gantry_tape_gradient(tape, of_boxes, NULL, &source, 1, NULL, &gradient),
                     GANTRY_UNIMPLEMENTED);
    assert_non_null(
        strstr(gantry_scope_message(scope), "CropAndResizeGradBoxes has no gradient of its own"));
    gantry_tape_end(tape);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

int main(void) { return test_main_each(set_up, tear_down); }
