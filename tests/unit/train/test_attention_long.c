/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Causal MultiHeadAttention of so many steps that it takes ScaledDotProductAttention gives
 * the rows that it gives for their first half, which is computed op by op. */
#define _XOPEN_SOURCE 700

#include <gantry_train/train.h>
#include <math.h>

#include "test.h"
#include "train_fixture.h"

enum { STEPS = 1024, SIZE = 4 };

static float whole[STEPS * SIZE], half[STEPS / 2 * SIZE], x[STEPS * SIZE];

static void call(gantry_model_t *model, int64_t steps, float *out) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, "/CPU:0");
    const size_t bytes = (size_t)(steps * SIZE) * sizeof *out;
    const gantry_tensor_t *in =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, steps, SIZE), x, bytes);
    const gantry_tensor_t *y = gantry_model_call(model, scope, &in, 1, false);
    if (!y) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_read(y, out, bytes), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(long_sequences_have_the_rows_of_short_ones) {
    const gantry_attention_options_t causal = {.struct_size = sizeof causal, .causal = true};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    assert_int_equal(gantry_model_add(model, gantry_multi_head_attention(2, SIZE, &causal)),
                     GANTRY_OK);
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(-1, SIZE)), GANTRY_OK);
    for (int i = 0; i < STEPS * SIZE; ++i) x[i] = sinf((float)i);
    call(model, STEPS, whole);
    call(model, STEPS / 2, half);
    for (int i = 0; i < STEPS / 2 * SIZE; ++i) assert_true(fabsf(whole[i] - half[i]) < 2e-6F);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
