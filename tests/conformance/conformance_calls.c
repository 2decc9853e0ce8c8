/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the generic call and the C functions: wrong calls, extreme shapes, values that TensorFlow
 * leaves undefined. */
#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* Calls an op that must fail; the message must hold part. */
static void refuse_call(conformance_t *c, const char *op, const gantry_tensor_t *const *inputs,
                        size_t input_count, const gantry_attr_value_t *attr, gantry_status_t wanted,
                        const char *part) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *outputs[CONFORMANCE_MAX_OUTPUTS];
    size_t count = CONFORMANCE_MAX_OUTPUTS;
    gantry_status_t status =
        gantry_op_call(scope, op, inputs, input_count, attr, attr ? 1 : 0, outputs, &count);
    conformance_check_status(c, op ? op : "(null)", status, wanted, gantry_scope_message(scope),
                             part);
    CHECK(c, gantry_scope_status(scope) == status,
          "the scope has another status than the call gave");
    gantry_scope_end(scope);
}

static void wrong_calls_are_refused(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const int32_t ones[] = {1, 1};
    const gantry_tensor_t *x = conformance_iota(scope, 2);
    const gantry_tensor_t *i =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), ones, sizeof ones);
    const gantry_tensor_t *xx[] = {x, x, x}, *xi[] = {x, i};
    const gantry_attr_value_t unknown = {.name = "no_such_attr", .kind = GANTRY_ATTR_INT, .i = 1};
    const gantry_attr_value_t wrong_kind = {.name = "transpose_a", .kind = GANTRY_ATTR_INT, .i = 1};
    const gantry_attr_value_t wrong_type = {.name = "DstT", .kind = GANTRY_ATTR_TYPE, .i = 77};
    refuse_call(c, "NoSuchOp", xx, 2, NULL, GANTRY_NOT_FOUND, "NoSuchOp");
    refuse_call(c, "", xx, 2, NULL, GANTRY_NOT_FOUND, "");
    refuse_call(c, NULL, xx, 2, NULL, GANTRY_INVALID_ARGUMENT, "");
    refuse_call(c, "Add", xx, 1, NULL, GANTRY_INVALID_ARGUMENT, "Add");
    refuse_call(c, "Add", xx, 3, NULL, GANTRY_INVALID_ARGUMENT, "Add");
    refuse_call(c, "Add", xi, 2, NULL, GANTRY_INVALID_ARGUMENT, "int32");
    refuse_call(c, "Add", NULL, 2, NULL, GANTRY_INVALID_ARGUMENT, "");
    refuse_call(c, "Add", xx, 2, &unknown, GANTRY_INVALID_ARGUMENT, "no_such_attr");
    refuse_call(c, "MatMul", xx, 2, &wrong_kind, GANTRY_INVALID_ARGUMENT, "transpose_a");
    refuse_call(c, "Cast", xx, 1, NULL, GANTRY_INVALID_ARGUMENT, "DstT");
    refuse_call(c, "Cast", xx, 1, &wrong_type, GANTRY_INVALID_ARGUMENT, "DstT");
    refuse_call(c, "LogicalAnd", xx, 2, NULL, GANTRY_INVALID_ARGUMENT, "bool");
    refuse_call(c, "Exp", &i, 1, NULL, GANTRY_INVALID_ARGUMENT, "int32");
    refuse_call(c, "AddN", xx, 0, NULL, GANTRY_INVALID_ARGUMENT, "");
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void outputs_need_room(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(scope, 2), *inputs[] = {x, x}, *outputs[1] = {x};
    size_t count = 0;
    gantry_status_t status = gantry_op_call(scope, "Add", inputs, 2, NULL, 0, outputs, &count);
    CHECK(c, status == GANTRY_INVALID_ARGUMENT, "no room for the result gave %s",
          gantry_status_name(status));
    CHECK(c, outputs[0] == x, "an output was written beyond the room for outputs");
    gantry_scope_end(scope);
}

static void suffixed_names_and_aliases_are_known(conformance_t *c) {
    static const char *const names[] = {"Add", "AddV2", "Sub", "RealDiv"};
    const float wanted[4][2] = {{0, 2}, {0, 2}, {0, 0}, {1, 1}};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(scope, 2), *one = gantry_ones_like(scope, x);
    for (int i = 0; i < 4; ++i) {
        const gantry_tensor_t *inputs[] = {i == 3 ? one : x, i == 3 ? one : x}, *output = NULL;
        size_t count = 1;
        gantry_status_t status =
            gantry_op_call(scope, names[i], inputs, 2, NULL, 0, &output, &count);
        CHECK(c, status == GANTRY_OK, "%s: %s", names[i], gantry_scope_message(scope));
        if (status == GANTRY_OK) conformance_check_floats(c, names[i], output, wanted[i], 2);
        gantry_scope_clear(scope);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- shapes ---- */

static void empty_tensors_go_through(conformance_t *c) {
    const float zeros[] = {0, 0, 0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3), NULL, 0);
    const gantry_tensor_t *row = conformance_iota(scope, 3);
    const int32_t axis = 0;
    const gantry_reduce_options_t rows = {.axes = &axis, .axis_count = 1};
    conformance_check_floats(c, "[0,3] + [3]", gantry_add(scope, x, row), NULL, 0);
    conformance_check_floats(c, "exp of [0,3]", gantry_exp(scope, x), NULL, 0);
    conformance_check_floats(c, "sum of [0,3] by column", gantry_sum(scope, x, &rows), zeros, 3);
    conformance_check_floats(c, "sum of [0,3]", gantry_sum(scope, x, NULL), zeros, 1);
    conformance_check_floats(c, "transposed", gantry_transpose(scope, x, NULL), NULL, 0);
    const gantry_tensor_t *square =
        gantry_matmul(scope, x, x, &(gantry_matmul_options_t){.transpose_a = true});
    const float nine[9] = {0};
    conformance_check_floats(c, "[3,0] x [0,3]", square, nine, 9);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void rank_8_works_and_rank_9_is_refused(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_reshape(scope, conformance_iota(scope, 256), GANTRY_SHAPE(2, 2, 2, 2, 2, 2, 2, 2));
    const gantry_tensor_t *turned = gantry_transpose(scope, gantry_transpose(scope, x, NULL), NULL);
    const gantry_tensor_t *twice = gantry_add(scope, x, turned);
    float wanted[256];
    for (int i = 0; i < 256; ++i) wanted[i] = 2 * (float)i;
    conformance_check_floats(c, "x + x turned twice", twice, wanted, 256);
    CHECK(c, !gantry_expand_dims(scope, x, 0), "rank 9 was accepted");
    conformance_check_status(c, "rank 9", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                             gantry_scope_message(scope), "8");
    gantry_scope_end(scope);
}

static void big_broadcasts_work(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *column =
        gantry_reshape(scope, conformance_iota(scope, 1200), GANTRY_SHAPE(1200, 1));
    const gantry_tensor_t *table = gantry_add(scope, column, conformance_iota(scope, 1100));
    golden_tensor_t got = {0};
    if (!table) {
        conformance_fail(c, "%s", gantry_scope_message(scope));
    } else {
        gantry_status_t status = conformance_read(table, &got);
        CHECK(c, status == GANTRY_OK && got.bytes == 1200u * 1100u * 4u, "%zu bytes, %s", got.bytes,
              conformance_last_error(status));
        for (size_t i = 0; i < 1200u * 1100u && c->reasons == 0; ++i) {
            float value;
            memcpy(&value, (const char *)got.data + i * sizeof value, sizeof value);
            CHECK(c, value == (float)(i / 1100 + i % 1100), "element %zu is %g", i, (double)value);
        }
        conformance_free_outputs(&got, 1);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void overflowing_shapes_are_refused(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1);
    CHECK(c, !gantry_fill(scope, GANTRY_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40), one),
          "2^80 elements were filled");
    conformance_check_status(c, "2^80 elements", gantry_scope_status(scope),
                             GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope), "");
    gantry_scope_clear(scope);
    CHECK(c, !gantry_fill(scope, GANTRY_SHAPE(INT64_C(1) << 50), one), "2^50 elements were filled");
    if (sizeof(size_t) > 4)
        conformance_check_status(c, "2^50 elements", gantry_scope_status(scope),
                                 GANTRY_RESOURCE_EXHAUSTED, gantry_scope_message(scope),
                                 "OOM when allocating tensor with shape[1125899906842624]");
    else
        conformance_check_status(c, "2^50 elements", gantry_scope_status(scope),
                                 GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope), "");
    gantry_scope_clear(scope);
    conformance_check_floats(c, "the next op", gantry_add(scope, one, one), (const float[]){2}, 1);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- values that TensorFlow does not define and Gantry does ---- */

static void casts_saturate(conformance_t *c) {
    const float v[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 2147483648.0f, -2.9f, 2.9f};
    const int32_t want32[] = {0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, -2, 2};
    const int64_t want64[] = {0,         INT64_MAX,           INT64_MIN, INT64_MAX,
                              INT64_MIN, INT64_C(2147483648), -2,        2};
    int32_t got32[8] = {0};
    int64_t got64[8] = {0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(8), v, sizeof v);
    const gantry_tensor_t *a = gantry_cast(scope, x, GANTRY_INT32),
                          *b = gantry_cast(scope, x, GANTRY_INT64);
    CHECK(c, a && b, "%s", gantry_scope_message(scope));
    if (a && b) {
        CHECK(c, gantry_tensor_read(a, got32, sizeof got32) == GANTRY_OK, "%s",
              gantry_last_message());
        CHECK(c, gantry_tensor_read(b, got64, sizeof got64) == GANTRY_OK, "%s",
              gantry_last_message());
        for (int i = 0; i < 8; ++i) {
            CHECK(c, got32[i] == want32[i], "int32 of %g is %" PRId32, (double)v[i], got32[i]);
            CHECK(c, got64[i] == want64[i], "int64 of %g is %" PRId64, (double)v[i], got64[i]);
        }
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void wrappers_give_what_their_ops_give(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_reshape(scope, conformance_iota(scope, 6), GANTRY_SHAPE(2, 3));
    const gantry_tensor_t *pair[] = {x, x};
    const int32_t axis = 1, perm[] = {1, 0};
    const gantry_reduce_options_t rows = {.axes = &axis, .axis_count = 1, .keep_dims = true};
    conformance_check_floats(c, "sum by row", gantry_sum(scope, x, &rows), (const float[]){3, 12},
                             2);
    conformance_check_floats(c, "mean", gantry_mean(scope, x, NULL), (const float[]){2.5f}, 1);
    conformance_check_floats(c, "max by row", gantry_max(scope, x, &rows), (const float[]){2, 5},
                             2);
    conformance_check_floats(c, "min", gantry_min(scope, x, NULL), (const float[]){0}, 1);
    conformance_check_floats(c, "transpose", gantry_transpose(scope, x, perm),
                             (const float[]){0, 3, 1, 4, 2, 5}, 6);
    conformance_check_floats(c, "concat", gantry_concat(scope, pair, 2, 0),
                             (const float[]){0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, 12);
    conformance_check_floats(c, "add_n", gantry_add_n(scope, pair, 2),
                             (const float[]){0, 2, 4, 6, 8, 10}, 6);
    conformance_check_floats(c, "bias_add", gantry_bias_add(scope, x, conformance_iota(scope, 3)),
                             (const float[]){0, 2, 4, 3, 5, 7}, 6);
    conformance_check_floats(c, "gather", gantry_gather(scope, x, gantry_scalar_i32(scope, 1), 0),
                             (const float[]){3, 4, 5}, 3);
    conformance_check_floats(
        c, "broadcast", gantry_broadcast_to(scope, conformance_iota(scope, 2), GANTRY_SHAPE(2, 2)),
        (const float[]){0, 1, 0, 1}, 4);
    conformance_check_floats(
        c, "one_hot",
        gantry_one_hot(scope, gantry_scalar_i64(scope, 1), 3, gantry_scalar_f32(scope, 5),
                       gantry_scalar_f32(scope, -1), -1),
        (const float[]){-1, 5, -1}, 3);
    conformance_check_floats(c, "ones", gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
                             (const float[]){1, 1}, 2);
    conformance_check_floats(c, "argmax",
                             gantry_cast(scope, gantry_argmax(scope, x, 1), GANTRY_FLOAT32),
                             (const float[]){2, 2}, 2);
    conformance_check_floats(c, "matmul of ranks 3 and 2",
                             gantry_matmul(scope, gantry_reshape(scope, x, GANTRY_SHAPE(2, 1, 3)),
                                           gantry_transpose(scope, x, NULL), NULL),
                             (const float[]){5, 14, 14, 50}, 4);
    CHECK(c, gantry_scope_status(scope) == GANTRY_OK, "%s", gantry_scope_message(scope));
    gantry_scope_end(scope);
}

/* The type is made, converted, multiplied and transposed like any other; arithmetic errors name the
 * accepted types. */
static void halves_are_stored_converted_and_multiplied(conformance_t *c) {
    static const gantry_dtype_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = conformance_scope(c);
        const gantry_tensor_t *x =
            gantry_reshape(scope, conformance_iota(scope, 6), GANTRY_SHAPE(2, 3));
        const gantry_tensor_t *half = gantry_cast(scope, x, halves[i]),
                              *turned = gantry_transpose(scope, half, NULL);
        const gantry_tensor_t *ones = gantry_ones(scope, halves[i], GANTRY_SHAPE(3));
        conformance_check_floats(c, "transposed", gantry_cast(scope, turned, GANTRY_FLOAT32),
                                 (const float[]){0, 3, 1, 4, 2, 5}, 6);
        conformance_check_floats(
            c, "multiplied",
            gantry_cast(scope, gantry_matmul(scope, half, turned, NULL), GANTRY_FLOAT32),
            (const float[]){5, 14, 14, 50}, 4);
        conformance_check_floats(c, "ones", gantry_cast(scope, ones, GANTRY_FLOAT32),
                                 (const float[]){1, 1, 1}, 3);
        conformance_check_floats(c, "added",
                                 gantry_cast(scope, gantry_add(scope, half, half), GANTRY_FLOAT32),
                                 (const float[]){0, 2, 4, 6, 8, 10}, 6);
        gantry_scope_end(scope);
    }
}

void conformance_run_calls(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"wrong_calls_are_refused", wrong_calls_are_refused},
        {"outputs_need_room", outputs_need_room},
        {"suffixed_names_and_aliases_are_known", suffixed_names_and_aliases_are_known},
        {"empty_tensors_go_through", empty_tensors_go_through},
        {"rank_8_works_and_rank_9_is_refused", rank_8_works_and_rank_9_is_refused},
        {"big_broadcasts_work", big_broadcasts_work},
        {"overflowing_shapes_are_refused", overflowing_shapes_are_refused},
        {"casts_saturate", casts_saturate},
        {"wrappers_give_what_their_ops_give", wrappers_give_what_their_ops_give},
        {"halves_are_stored_converted_and_multiplied", halves_are_stored_converted_and_multiplied},
    };
    conformance_run_checks(c, "call", checks, sizeof checks / sizeof checks[0]);
}
