/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the messages about bad data. Every place that finds bad data uses the same words; devices
 * add the op, its number and the input. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

enum { MOST_INPUTS = 3, MOST_ELEMENTS = 6 };

typedef struct operand_t {
    gantry_dtype_t dtype; /* int32 or float32 */
    int32_t rank;
    int64_t dims[2];
    int32_t values[MOST_ELEMENTS];
} operand_t;

typedef struct fault_case_t {
    const char *op;
    const char *at;   /* devices add this */
    const char *text; /* every text begins with this, after the op's name if there is one */
    operand_t inputs[MOST_INPUTS];
    size_t input_count;
} fault_case_t;

#define I32(count, ...)                           \
    {                                             \
        GANTRY_INT32, 1, {count}, { __VA_ARGS__ } \
    }
#define F32(count, ...)                             \
    {                                               \
        GANTRY_FLOAT32, 1, {count}, { __VA_ARGS__ } \
    }
#define SCALAR(value)                   \
    {                                   \
        GANTRY_INT32, 0, {0}, { value } \
    }
#define INDICES                                 \
    {                                           \
        GANTRY_INT32, 2, {2, 2}, { 0, 0, 2, 1 } \
    }
#define I32_MATRIX(...)                          \
    {                                            \
        GANTRY_INT32, 2, {2, 3}, { __VA_ARGS__ } \
    }
#define ONE_INDEX                      \
    {                                  \
        GANTRY_INT32, 2, {1, 1}, { 3 } \
    }
#define COLUMN                            \
    {                                     \
        GANTRY_INT32, 2, {2, 1}, { 1, 2 } \
    }
#define MATRIX                                          \
    {                                                   \
        GANTRY_FLOAT32, 2, {2, 3}, { 1, 2, 3, 4, 5, 6 } \
    }

static const fault_case_t cases[] = {
    {"Gather",
     "input 1",
     "indices[1] = 7 is not in [0, 3)",
     {F32(3, 1, 2, 3), I32(2, 0, 7), SCALAR(0)},
     3},
    {"Gather",
     "input 1",
     "indices[1,0] = 2 is not in [0, 2)",
     {F32(2, 1, 2), INDICES, SCALAR(0)},
     3},
    {"Gather",
     "input 1",
     "indices = -1 is not in [0, 2)",
     {F32(2, 1, 2), SCALAR(-1), SCALAR(0)},
     3},
    {"GatherNd",
     "input 1",
     "indices[1] = [2, 1] does not index into param shape [2,3]",
     {MATRIX, INDICES},
     2},
    {"GatherNd",
     "input 1",
     "indices[0] = [3] does not index into param shape [3]",
     {F32(3, 1, 2, 3), ONE_INDEX},
     2},
    {"ScatterNd",
     "input 0",
     "indices[1] = [2, 1] does not index into shape [2,3]",
     {INDICES, F32(2, 1, 2), I32(2, 2, 3)},
     3},
    {"TensorScatterUpdate",
     "input 1",
     "indices[1] = [2, 1] does not index into shape [2,3]",
     {MATRIX, INDICES, F32(2, 1, 2)},
     3},
    {"UnsortedSegmentSum",
     "input 1",
     "segment_ids[2] = 5 is out of range [0, 2)",
     {F32(3, 1, 2, 3), I32(3, 0, 1, 5), SCALAR(2)},
     3},
    {"SegmentSum",
     "input 1",
     "segment ids are not increasing: segment_ids[2] = 1",
     {F32(4, 1, 2, 3, 4), I32(4, 0, 2, 1, 3)},
     2},
    {"SegmentSum",
     "input 1",
     "segment ids must be >= 0: segment_ids[0] = -1",
     {F32(3, 1, 2, 3), I32(3, -1, 0, 1)},
     2},
    {"Bincount",
     "input 0",
     "Input arr must be non-negative! arr[1] = -2",
     {I32(3, 1, -2, 3), SCALAR(4), F32(3, 1, 1, 1)},
     3},
    {"Div", "element 2", "Integer division by zero", {I32(3, 1, 2, 3), I32(3, 1, 1, 0)}, 2},
    {"FloorMod", "input 1", "Integer division by zero", {I32(3, 1, 2, 3), I32(3, 1, 1, 0)}, 2},
    {"TruncateDiv", "element 2", "Integer division by zero", {I32(3, 1, 2, 3), I32(3, 1, 1, 0)}, 2},
    {"TruncateMod", "element 2", "Integer division by zero", {I32(3, 1, 2, 3), I32(3, 1, 1, 0)}, 2},
    /* Includes results that look like the bad element and overwrite it. */
    {"FloorMod", "element 1", "Integer division by zero", {I32(3, 4, 1, 4), I32(3, 2, 0, 2)}, 2},
    {"FloorDiv",
     "element 1",
     "Integer division by zero",
     {COLUMN, I32_MATRIX(5, 0, 5, 5, 5, 5)},
     2},
    {"Pow",
     "element 1",
     "Integers to negative integer powers are not allowed",
     {I32(2, 1, 2), I32(2, 1, -1)},
     2},
    {"InvertPermutation", "input 0", "x[1] = 7 is not between 0 and 3", {I32(3, 0, 7, 1)}, 1},
    {"InvertPermutation", "input 0", "x[1] = 1 is duplicated in the input", {I32(3, 0, 1, 1)}, 1},
    {"SparseSoftmaxCrossEntropyWithLogits",
     "input 2",
     "labels[1]: Received a label value of 3 which is outside the valid range of [0, 3)",
     {MATRIX, I32(2, 0, 3)},
     2},
};

static const gantry_tensor_t *make_input(gantry_scope_t *scope, const operand_t *operand) {
    float floats[MOST_ELEMENTS];
    size_t count = 1;
    for (int32_t d = 0; d < operand->rank; ++d) count *= (size_t)operand->dims[d];
    for (size_t i = 0; i < MOST_ELEMENTS; ++i) floats[i] = (float)operand->values[i];
    const void *elements =
        operand->dtype == GANTRY_FLOAT32 ? (const void *)floats : (const void *)operand->values;
    gantry_shape_t shape = {.rank = operand->rank};
    memcpy(shape.dims, operand->dims, sizeof operand->dims);
    return gantry_constant(scope, operand->dtype, shape, elements, count * 4);
}

static void check_text(conformance_t *c, const fault_case_t *item, const char *text, bool is_late) {
    CHECK(c, strstr(text, item->text), "%s: \"%s\" lacks \"%s\"", item->op, text, item->text);
    if (is_late) {
        CHECK(c, strstr(text, item->op), "\"%s\" does not name the op %s", text, item->op);
        CHECK(c, strstr(text, item->at), "%s: \"%s\" lacks \"%s\"", item->op, text, item->at);
    }
}

/* donates: the result may take input 1's memory. */
static void check_case(conformance_t *c, const fault_case_t *item, bool donates) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *inputs[MOST_INPUTS], *outputs[2] = {NULL, NULL};
    size_t count = 2;
    for (size_t i = 0; i < item->input_count; ++i) inputs[i] = make_input(scope, &item->inputs[i]);
    if (donates) (void)gantry_tensor_donate(scope, inputs[1]);
    gantry_status_t status =
        gantry_op_call(scope, item->op, inputs, item->input_count, NULL, 0, outputs, &count);
    const char *text = gantry_scope_message(scope);
    bool is_late = status == GANTRY_OK;
    if (is_late) {
        golden_tensor_t got;
        status = conformance_read(outputs[0], &got);
        conformance_free_outputs(&got, 1);
        text = gantry_last_message();
    }
    CHECK(c, status == GANTRY_INVALID_ARGUMENT, "%s gave %s", item->op, gantry_status_name(status));
    if (status == GANTRY_INVALID_ARGUMENT) check_text(c, item, text, is_late);
    gantry_scope_end(scope);
}

static void bad_data_is_told_in_the_same_words(conformance_t *c) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        check_case(c, &cases[i], false);
        if (cases[i].input_count > 1) check_case(c, &cases[i], true);
    }
}

void conformance_run_fault_words(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"bad_data_is_told_in_the_same_words", bad_data_is_told_in_the_same_words},
    };
    conformance_run_checks(c, "fault", checks, sizeof checks / sizeof checks[0]);
}
