/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With batch_invariant, a row of each op's result has the same bits by itself and in
 * batches of 2 to 257, in every floating type, on the CPU backend.
 * Promise: Every op is tested for batch_invariant, or only moves elements, or says why it is about
 * the batch, as docs/numerics.md does.
 * Promise: batch_invariant is chosen by the runtime, a scope or a function, inner choices first,
 * and records and explanations name the library that is left.
 *
 * batch_case.h has the ops and their inputs. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "batch_case.h"

/* ---- rows ---- */

static const int64_t batches[] = {3, 33, 2, 7, 8, 16, 100, 257};
#define BATCHES FEWER_FOR_SANITIZERS(8, 2)

static gantry_runtime_t *open_with(runtime_fixture_t *f, gantry_choice_t choice) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.batch_invariant = choice;
    runtime_fixture_open_with(f, &options);
    return f->runtime;
}

TEST(rows_of_each_op_keep_their_bits) {
    static const char *const levels[] = {NULL, "base", "avx2"};
    for (size_t i = 0; i < 3; ++i) {
        runtime_fixture_t f;
        if (levels[i]) assert_int_equal(setenv("GANTRY_CPU_SIMD", levels[i], 1), 0);
        const batch_caller_t caller = {open_with(&f, GANTRY_OFF), "CPU:0", GANTRY_ON};
        batch_check_all(&caller, batches, BATCHES, i == 0 ? BATCH_EACH_TYPE : 0);
        runtime_fixture_close(&f);
    }
}

/* The cases can fail: a product of few rows is another algorithm's. */
TEST(without_the_option_rows_may_differ) {
    const batch_case_t c = {"MatMul", BATCH_F32, "B,1030 1030,1", "", "0", NULL};
    runtime_fixture_t f;
    const batch_caller_t caller = {open_with(&f, GANTRY_DEFAULT), "CPU:0", GANTRY_DEFAULT};
    assert_true(batch_check(&caller, &c, GANTRY_FLOAT32, batches, BATCHES) > 0);
    runtime_fixture_close(&f);
}

/* ---- the list of ops ---- */

/* Ops that move, choose or compare elements, that are made from the shape, or whose integers are
 * exact. */
static const char *const exact[] = {"All",
                                    "Any",
                                    "ArgSort",
                                    "AssignAddVariableOp",
                                    "AssignSubVariableOp",
                                    "AssignVariableOp",
                                    "BatchToSpaceND",
                                    "Bitcast",
                                    "BooleanMask",
                                    "BroadcastArgs",
                                    "BroadcastGradientArgs",
                                    "BroadcastTo",
                                    "Cast",
                                    "ClipByValue",
                                    "Concat",
                                    "Const",
                                    "ConvInteger",
                                    "DepthToSpace",
                                    "EmbeddingLookup",
                                    "ExpandDims",
                                    "Eye",
                                    "Fill",
                                    "Gather",
                                    "GatherElements",
                                    "GatherNd",
                                    "Identity",
                                    "InvertPermutation",
                                    "LinSpace",
                                    "LowerBound",
                                    "MatMulInteger",
                                    "MatrixBandPart",
                                    "MatrixDiag",
                                    "MatrixDiagPart",
                                    "MatrixSetDiag",
                                    "MaxPoolWithArgmax",
                                    "MirrorPad",
                                    "OneHot",
                                    "OnesLike",
                                    "Pack",
                                    "Pad",
                                    "Range",
                                    "Rank",
                                    "ReadVariableOp",
                                    "Reshape",
                                    "Reverse",
                                    "Roll",
                                    "SegmentMax",
                                    "SegmentMin",
                                    "Select",
                                    "Shape",
                                    "Size",
                                    "Slice",
                                    "SortByKeys",
                                    "SpaceToBatchND",
                                    "SpaceToDepth",
                                    "Split",
                                    "SplitV",
                                    "Squeeze",
                                    "StatelessRandomGetAlg",
                                    "StatelessRandomGetKeyCounter",
                                    "StatelessRandomGetKeyCounterAlg",
                                    "StopGradient",
                                    "StridedSlice",
                                    "StridedSliceGrad",
                                    "TensorScatterMax",
                                    "TensorScatterMin",
                                    "TensorScatterUpdate",
                                    "Tile",
                                    "Transpose",
                                    "Unpack",
                                    "UnsortedSegmentMax",
                                    "UnsortedSegmentMin",
                                    "UpperBound",
                                    "VarHandleOp",
                                    "Where",
                                    "XlaDynamicSlice",
                                    "XlaDynamicUpdateSlice",
                                    "ZerosLike"};
/* Parts of ops that have cases. */
static const char *const parts[] = {"ConvolveImages", "FoldImagePatches"};
/* Updates are elementwise: a variable has no rows of a batch. */
static const char *const updates = "Resource";

static bool is_listed(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(name, list[i]) == 0) return true;
    }
    return false;
}

static bool has_case(const char *name) {
    for (size_t i = 0; i < BATCH_CASES; ++i) {
        if (strcmp(name, batch_cases[i].op) == 0) return true;
    }
    return false;
}

TEST(no_op_is_left_out) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        const int kinds = (info.batch_dependence != NULL) +
                          is_listed(info.name, exact, sizeof exact / sizeof exact[0]) +
                          is_listed(info.name, parts, sizeof parts / sizeof parts[0]) +
                          (strncmp(info.name, updates, strlen(updates)) == 0);
        if (kinds > 1 || (kinds == 0 && !has_case(info.name)))
            fail_msg("%s: has a case, is in one of the lists, or is about the batch (%d lists)",
                     info.name, kinds);
    }
}

TEST(page_lists_ops_about_the_batch) {
    static char page[1 << 17];
    FILE *file = fopen(GANTRY_TEST_SOURCE_DIR "/docs/numerics.md", "rb");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    char *section = strstr(page, "\n## Rows and batches"), *end = NULL;
    assert_non_null(section);
    end = strstr(section + 1, "\n## ");
    if (end) *end = '\0';
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        char name[64];
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        (void)snprintf(name, sizeof name, "`%s`", info.name);
        const bool is_named = strstr(section, name) != NULL;
        if (is_named != (info.batch_dependence != NULL) ||
            (is_named && !strstr(section, info.batch_dependence)))
            fail_msg("docs/numerics.md: %s is %s", info.name,
                     info.batch_dependence ? info.batch_dependence : "not about the batch");
    }
}

/* ---- who chooses ---- */

/* Whether the newest MatMul ran with the option. */
static bool newest_keeps_rows(gantry_runtime_t *runtime) {
    static gantry_placement_record_t records[64];
    size_t count;
    records[0].struct_size = sizeof records[0];
    assert_int_equal(gantry_get_placements(runtime, 64, records, &count), GANTRY_OK);
    while (count > 0 && strstr(records[count - 1].op, "MatMul") == NULL) --count;
    assert_true(count > 0);
    assert_string_equal(records[count - 1].left_library,
                        records[count - 1].batch_invariant ? "oneDNN or OpenBLAS" : "");
    return records[count - 1].batch_invariant;
}

static void multiply(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_matmul(scope, inputs[0], inputs[1], NULL);
}

static const gantry_tensor_t *ones(gantry_scope_t *scope) {
    return gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(8, 8));
}

static bool scope_keeps_rows(gantry_runtime_t *runtime, gantry_choice_t outer,
                             gantry_choice_t inner) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(gantry_scope_set_batch_invariant(scope, outer), GANTRY_OK);
    gantry_scope_t *child = gantry_scope_begin_in(scope, NULL);
    if (inner != GANTRY_DEFAULT)
        assert_int_equal(gantry_scope_set_batch_invariant(child, inner), GANTRY_OK);
    assert_non_null(gantry_matmul(child, ones(child), ones(child), NULL));
    assert_int_equal(gantry_scope_end(child), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return newest_keeps_rows(runtime);
}

TEST(a_scope_chooses_before_its_runtime) {
    runtime_fixture_t f;
    gantry_runtime_t *runtime = open_with(&f, GANTRY_ON);
    assert_true(scope_keeps_rows(runtime, GANTRY_DEFAULT, GANTRY_DEFAULT));
    assert_false(scope_keeps_rows(runtime, GANTRY_OFF, GANTRY_DEFAULT));
    assert_true(scope_keeps_rows(runtime, GANTRY_OFF, GANTRY_ON));
    runtime_fixture_close(&f);
    assert_int_equal(setenv("GANTRY_BATCH_INVARIANT", "1", 1), 0);
    runtime = open_with(&f, GANTRY_DEFAULT);
    assert_true(scope_keeps_rows(runtime, GANTRY_DEFAULT, GANTRY_DEFAULT));
    runtime_fixture_close(&f);
    runtime = open_with(&f, GANTRY_OFF);
    assert_false(scope_keeps_rows(runtime, GANTRY_DEFAULT, GANTRY_DEFAULT));
    assert_true(scope_keeps_rows(runtime, GANTRY_ON, GANTRY_DEFAULT));
    runtime_fixture_close(&f);
}

static gantry_function_t *trace(gantry_runtime_t *runtime, gantry_function_body_fn body,
                                gantry_choice_t choice) {
    const gantry_input_spec_t inputs[] = {{"a", GANTRY_FLOAT32, GANTRY_SHAPE(8, 8)},
                                          {"b", GANTRY_FLOAT32, GANTRY_SHAPE(8, 8)}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .batch_invariant = choice};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", body, NULL, inputs, 2, 1, &options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void call(gantry_runtime_t *runtime, gantry_function_t *function, gantry_choice_t choice) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(gantry_scope_set_batch_invariant(scope, choice), GANTRY_OK);
    const gantry_tensor_t *inputs[] = {ones(scope), ones(scope)}, *output;
    assert_int_equal(gantry_function_call(scope, function, inputs, 2, &output, 1), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static bool function_keeps_rows(gantry_runtime_t *runtime, gantry_choice_t of_function,
                                gantry_choice_t of_scope) {
    char text[4096];
    gantry_function_t *function = trace(runtime, multiply, of_function);
    call(runtime, function, of_scope);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    const bool keeps = newest_keeps_rows(runtime);
    assert_int_equal(strstr(text, "    without oneDNN or OpenBLAS: batch_invariant\n") != NULL,
                     keeps);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    assert_int_equal(strstr(text, "\"left_library\":\"oneDNN or OpenBLAS\"") != NULL, keeps);
    gantry_function_release(function);
    return keeps;
}

TEST(a_function_chooses_before_the_scope_of_its_call) {
    runtime_fixture_t f;
    gantry_runtime_t *runtime = open_with(&f, GANTRY_OFF);
    assert_false(function_keeps_rows(runtime, GANTRY_DEFAULT, GANTRY_OFF));
    assert_true(function_keeps_rows(runtime, GANTRY_DEFAULT, GANTRY_ON));
    assert_true(function_keeps_rows(runtime, GANTRY_ON, GANTRY_OFF));
    assert_false(function_keeps_rows(runtime, GANTRY_OFF, GANTRY_ON));
    runtime_fixture_close(&f);
}

static void multiply_inside(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    (void)gantry_scope_set_batch_invariant(inner, GANTRY_ON);
    outputs[0] = gantry_scope_keep(inner, gantry_matmul(inner, inputs[0], inputs[1], NULL));
    (void)gantry_scope_end(inner);
}

/* One trace serves each choice of the scopes that call it. */
TEST(a_scope_of_a_body_chooses_for_the_trace) {
    runtime_fixture_t f;
    gantry_runtime_t *runtime = open_with(&f, GANTRY_OFF);
    gantry_function_t *function = trace(runtime, multiply_inside, GANTRY_DEFAULT);
    call(runtime, function, GANTRY_OFF);
    assert_true(newest_keeps_rows(runtime));
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* The product is in a branch whose predicate the function gets. */
static void multiply_in_a_branch(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    static const int64_t first[] = {0, 0}, one[] = {1, 1};
    const gantry_tensor_t *corner =
        gantry_reshape(scope, gantry_slice(scope, inputs[0], first, one), GANTRY_SCALAR);
    const gantry_tensor_t *is_large = gantry_greater(scope, corner, gantry_scalar_f32(scope, 0.5F));
    (void)gantry_cond(scope, is_large, multiply, multiply, user, inputs, 2, outputs, 1);
}

/* An op of an open size runs at once in each call. */
TEST(branches_and_open_sizes_follow_the_function) {
    static const gantry_choice_t choices[] = {GANTRY_OFF, GANTRY_ON};
    runtime_fixture_t f;
    gantry_runtime_t *runtime = open_with(&f, GANTRY_DEFAULT);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_input_spec_t open[] = {
            {"a", GANTRY_FLOAT32, GANTRY_SHAPE(GANTRY_OPEN_SIZE, 8)},
            {"b", GANTRY_FLOAT32, GANTRY_SHAPE(8, 8)}};
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .batch_invariant = choices[i]};
        gantry_function_t *function = trace(runtime, multiply_in_a_branch, choices[i]);
        call(runtime, function, choices[1 - i]);
        assert_int_equal(newest_keeps_rows(runtime), i);
        gantry_function_release(function);
        assert_int_equal(
            gantry_function_trace(runtime, "f", multiply, NULL, open, 2, 1, &options, &function),
            GANTRY_OK);
        call(runtime, function, choices[1 - i]);
        assert_int_equal(newest_keeps_rows(runtime), i);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

TEST(another_choice_is_refused) {
    runtime_fixture_t f;
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .batch_invariant = (gantry_choice_t)7};
    gantry_function_t *function;
    gantry_runtime_options_t bad = runtime_fixture_options(&f);
    bad.batch_invariant = (gantry_choice_t)7;
    gantry_runtime_t *none;
    assert_int_equal(gantry_runtime_create(&bad, &none), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry_last_message(),
                        "runtime options: batch_invariant is 7; 0 to 2 is accepted");
    locked_heap_deinit(&f.heap);
    gantry_runtime_t *runtime = open_with(&f, GANTRY_DEFAULT);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(gantry_scope_set_batch_invariant(scope, (gantry_choice_t)7),
                     GANTRY_INVALID_ARGUMENT);
    assert_string_equal(
        gantry_scope_message(scope),
        "gantry_scope_set_batch_invariant: choice is 7; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted");
    assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(
        gantry_function_trace(runtime, "f", multiply, NULL, NULL, 0, 1, &options, &function),
        GANTRY_INVALID_ARGUMENT);
    assert_string_equal(
        gantry_last_message(),
        "gantry_function_trace: batch_invariant is 7; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted");
    runtime_fixture_close(&f);
}

/* The kernels of the fake backend promise nothing about rows. */
TEST(a_kernel_without_the_promise_is_passed_over) {
    static gantry_placement_record_t records[8];
    runtime_fixture_t f;
    size_t count;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = gantry_scope_begin(f.runtime, "GPU:0");
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(8));
    assert_int_equal(gantry_scope_set_batch_invariant(scope, GANTRY_ON), GANTRY_OK);
    assert_non_null(gantry_add(scope, x, x));
    records[0].struct_size = sizeof records[0];
    assert_int_equal(gantry_get_placements(f.runtime, 1, records, &count), GANTRY_OK);
    assert_string_equal(records[0].kernel, "cpu");
    assert_int_equal(records[0].refusals[0].why, GANTRY_REFUSED_BATCH_DEPENDENT);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_null(gantry_add(scope, x, x));
    assert_non_null(strstr(
        gantry_scope_message(scope),
        " The option batch_invariant is on, and no kernel of /job:localhost/replica:0/task:0/device:GPU:0 promises rows that do not depend on the batch; a kernel with GANTRY_KERNEL_BATCH_INVARIANT is accepted."));
    assert_int_equal(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
