/* SPDX-License-Identifier: Apache-2.0 */
/* C kernels of a few ops, which the stream runs: Add, Sub, Mul (broadcasting), AddN, MatMul, Gather
 * along one axis, Sum of all elements (in two steps, with scratch between them), Cast between
 * float32 and int32; and ops that tests define (fake_test_ops.c). compute() copies the needed parts
 * of its call, because the work runs later. */
#include "fake_kernels.h"

#include <math.h>
#include <string.h>

/* ---- common ---- */

/* Reads and writes elements of any type one by one: slow but simple. */
static double load_real(int32_t dtype, const unsigned char *bytes, int64_t index) {
    float single;
    double wide;
    if (dtype == GANTRY_FLOAT64) {
        memcpy(&wide, bytes + index * 8, sizeof wide);
        return wide;
    }
    memcpy(&single, bytes + index * 4, sizeof single);
    return (double)single;
}

static void store_real(int32_t dtype, unsigned char *bytes, int64_t index, double value) {
    float single = (float)value;
    if (dtype == GANTRY_FLOAT64) {
        memcpy(bytes + index * 8, &value, sizeof value);
    } else {
        memcpy(bytes + index * 4, &single, sizeof single);
    }
}

static uint64_t load_int(int32_t dtype, const unsigned char *bytes, int64_t index) {
    int32_t narrow;
    uint64_t wide;
    if (dtype == GANTRY_INT64) {
        memcpy(&wide, bytes + index * 8, sizeof wide);
        return wide;
    }
    memcpy(&narrow, bytes + index * 4, sizeof narrow);
    return (uint64_t)(int64_t)narrow;
}

static void store_int(int32_t dtype, unsigned char *bytes, int64_t index, uint64_t value) {
    uint32_t narrow = (uint32_t)value;
    if (dtype == GANTRY_INT64) {
        memcpy(bytes + index * 8, &value, sizeof value);
    } else {
        memcpy(bytes + index * 4, &narrow, sizeof narrow);
    }
}

static bool is_real(int32_t dtype) { return dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64; }

/* ---- Add, Sub, Mul ---- */

typedef struct binary_t {
    int32_t op; /* '+', '-', '*' */
    int32_t dtype;
    int32_t rank;
    int64_t count;
    int64_t dims[GANTRY_MAX_RANK];
    int64_t strides[2][GANTRY_MAX_RANK]; /* 0 for a broadcast dimension */
} binary_t;

static double combine_real(int32_t op, int32_t dtype, double x, double y) {
    if (dtype == GANTRY_FLOAT32) {
        float a = (float)x, b = (float)y;
        return (double)(op == '+' ? a + b : op == '-' ? a - b : a * b);
    }
    return op == '+' ? x + y : op == '-' ? x - y : x * y;
}

static int32_t run_binary(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const binary_t *plan = work->params;
    for (int64_t i = 0; i < plan->count; ++i) {
        int64_t at[2] = {0, 0}, rest = i;
        for (int32_t d = plan->rank - 1; d >= 0; --d) {
            int64_t place = rest % plan->dims[d];
            rest /= plan->dims[d];
            for (int k = 0; k < 2; ++k) at[k] += place * plan->strides[k][d];
        }
        const unsigned char *x = work->operands[0].bytes, *y = work->operands[1].bytes;
        unsigned char *z = work->operands[2].bytes;
        if (is_real(plan->dtype)) {
            double a = load_real(plan->dtype, x, at[0]), b = load_real(plan->dtype, y, at[1]);
            store_real(plan->dtype, z, i, combine_real(plan->op, plan->dtype, a, b));
        } else {
            uint64_t a = load_int(plan->dtype, x, at[0]), b = load_int(plan->dtype, y, at[1]);
            store_int(plan->dtype, z, i, plan->op == '+' ? a + b : plan->op == '-' ? a - b : a * b);
        }
    }
    return GANTRY_OK;
}

static void broadcast(int64_t *strides, const gantry_arg_t *out, const gantry_arg_t *in) {
    int64_t step = 1;
    for (int32_t d = out->rank - 1, s = in->rank - 1; d >= 0; --d, --s) {
        strides[d] = s >= 0 && in->dims[s] != 1 ? step : 0;
        step *= s >= 0 ? in->dims[s] : 1;
    }
}

static int32_t compute_binary(gantry_op_call_t *op) {
    const gantry_arg_t *out = op->outputs[0];
    binary_t plan = {.op = *(const char *)op->kernel->data,
                     .dtype = out->dtype,
                     .rank = out->rank,
                     .count = out->element_count};
    for (int32_t d = 0; d < out->rank; ++d) plan.dims[d] = out->dims[d];
    for (int k = 0; k < 2; ++k) broadcast(plan.strides[k], out, op->inputs[k]);
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_binary, 3, &plan, sizeof plan);
    for (uint32_t k = 0; k < 2; ++k) gantry__fake_kernel_input(&work, k, k);
    gantry__fake_kernel_output(&work, 2, 0);
    return gantry__fake_kernel_end(&work);
}

/* ---- AddN ---- */

typedef struct many_t {
    int32_t dtype;
    int64_t count;
} many_t;

static int32_t run_add_n(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const many_t *plan = work->params;
    uint32_t inputs = work->operand_count - 1;
    for (int64_t i = 0; i < plan->count; ++i) {
        double real = 0;
        uint64_t whole = 0;
        for (uint32_t k = 0; k < inputs; ++k) {
            const unsigned char *x = work->operands[k].bytes;
            if (is_real(plan->dtype)) {
                double value = load_real(plan->dtype, x, i);
                real = k == 0 ? value : combine_real('+', plan->dtype, real, value);
            } else {
                whole += load_int(plan->dtype, x, i);
            }
        }
        if (is_real(plan->dtype)) {
            store_real(plan->dtype, work->operands[inputs].bytes, i, real);
        } else {
            store_int(plan->dtype, work->operands[inputs].bytes, i, whole);
        }
    }
    return GANTRY_OK;
}

static int32_t compute_add_n(gantry_op_call_t *op) {
    many_t plan = {op->outputs[0]->dtype, op->outputs[0]->element_count};
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_add_n, op->input_count + 1, &plan, sizeof plan);
    for (uint32_t k = 0; k < op->input_count; ++k) gantry__fake_kernel_input(&work, k, k);
    gantry__fake_kernel_output(&work, op->input_count, 0);
    return gantry__fake_kernel_end(&work);
}

/* ---- MatMul ---- */

typedef struct product_t {
    int32_t dtype;
    int64_t rows, columns, inner;
    int64_t steps[2][2]; /* of a (row, inner) and of b (inner, column) */
} product_t;

static int32_t run_matmul(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const product_t *p = work->params;
    for (int64_t row = 0; row < p->rows; ++row) {
        for (int64_t column = 0; column < p->columns; ++column) {
            double sum = 0;
            for (int64_t k = 0; k < p->inner; ++k) {
                sum += load_real(p->dtype, work->operands[0].bytes,
                                 row * p->steps[0][0] + k * p->steps[0][1]) *
                       load_real(p->dtype, work->operands[1].bytes,
                                 k * p->steps[1][0] + column * p->steps[1][1]);
            }
            store_real(p->dtype, work->operands[2].bytes, row * p->columns + column, sum);
        }
    }
    return GANTRY_OK;
}

static int32_t compute_matmul(gantry_op_call_t *op) {
    const gantry_arg_t *a = op->inputs[0], *b = op->inputs[1], *out = op->outputs[0];
    bool turn_a = gantry__fake_attr(op, "transpose_a") != 0,
         turn_b = gantry__fake_attr(op, "transpose_b") != 0;
    product_t plan = {.dtype = out->dtype,
                      .rows = out->dims[0],
                      .columns = out->dims[1],
                      .inner = a->dims[turn_a ? 0 : 1]};
    plan.steps[0][0] = turn_a ? 1 : a->dims[1];
    plan.steps[0][1] = turn_a ? a->dims[1] : 1;
    plan.steps[1][0] = turn_b ? 1 : b->dims[1];
    plan.steps[1][1] = turn_b ? b->dims[1] : 1;
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_matmul, 3, &plan, sizeof plan);
    for (uint32_t k = 0; k < 2; ++k) gantry__fake_kernel_input(&work, k, k);
    gantry__fake_kernel_output(&work, 2, 0);
    return gantry__fake_kernel_end(&work);
}

/* ---- Gather ---- */

typedef struct gather_t {
    int32_t index_dtype;
    int64_t outer, size, inner_bytes; /* params seen as [outer, size, inner_bytes] */
    int64_t indices;
} gather_t;

/* The contents of an error slot. */
typedef struct fault_t {
    uint32_t code, input;
    int64_t position;
} fault_t;

static int32_t run_gather(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const gather_t *plan = work->params;
    const unsigned char *params = work->operands[0].bytes, *indices = work->operands[1].bytes;
    unsigned char *out = work->operands[2].bytes;
    for (int64_t i = 0; i < plan->outer * plan->indices; ++i) {
        int64_t row = i / plan->indices, position = i % plan->indices;
        int64_t index = (int64_t)load_int(plan->index_dtype, indices, position);
        unsigned char *to = out + i * plan->inner_bytes;
        if (index >= 0 && index < plan->size) {
            memcpy(to, params + (row * plan->size + index) * plan->inner_bytes,
                   (size_t)plan->inner_bytes);
            continue;
        }
        memset(to, 0, (size_t)plan->inner_bytes);
        fault_t fault;
        memcpy(&fault, work->operands[3].bytes, sizeof fault);
        if (fault.code != GANTRY_FAULT_NONE && fault.position <= position) continue;
        fault = (fault_t){GANTRY_FAULT_INDEX_OUT_OF_RANGE, 1, position};
        memcpy(work->operands[3].bytes, &fault, sizeof fault);
    }
    return GANTRY_OK;
}

static int32_t compute_gather(gantry_op_call_t *op) {
    const gantry_arg_t *params = op->inputs[0], *indices = op->inputs[1], *axis_arg = op->inputs[2];
    int64_t axis = (int64_t)load_int(axis_arg->dtype, axis_arg->data, 0);
    if (axis < 0) axis += params->rank;
    gather_t plan = {.index_dtype = indices->dtype,
                     .outer = 1,
                     .inner_bytes = gantry__fake_dtype_bytes(params->dtype)};
    plan.indices = indices->element_count;
    for (int32_t d = 0; d < params->rank; ++d) {
        if (d < axis) plan.outer *= params->dims[d];
        if (d == axis) plan.size = params->dims[d];
        if (d > axis) plan.inner_bytes *= params->dims[d];
    }
    gantry_span_t fault;
    int32_t code = op->services->fault(op, &fault);
    if (code != GANTRY_OK) return code;
    gantry_fault_words_t words = {.struct_size = sizeof words,
                                  .text = "indices@ is not in [0, #)",
                                  .place_rank = indices->rank,
                                  .accepted_count = 1,
                                  .accepted = {plan.size},
                                  .value_text = "indices@ = $ is not in [0, #)",
                                  .value_input = 1};
    for (int32_t d = 0; d < indices->rank; ++d) words.place_dims[d] = indices->dims[d];
    op->services->fault_words(op, &words);
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_gather, 4, &plan, sizeof plan);
    for (uint32_t k = 0; k < 2; ++k) gantry__fake_kernel_input(&work, k, k);
    gantry__fake_kernel_output(&work, 2, 0);
    gantry__fake_kernel_span(&work, 3, &fault, sizeof(fault_t), true);
    return gantry__fake_kernel_end(&work);
}

static int32_t supports_gather(const gantry_op_call_t *op) {
    return gantry__fake_attr(op, "batch_dims") == 0;
}

/* ---- Sum ---- */

#define SUM_PARTS 8

static int32_t run_partial_sums(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const many_t *plan = work->params;
    double sums[SUM_PARTS] = {0};
    for (int64_t i = 0; i < plan->count; ++i)
        sums[i % SUM_PARTS] += load_real(plan->dtype, work->operands[0].bytes, i);
    memcpy(work->operands[1].bytes, sums, sizeof sums);
    return GANTRY_OK;
}

static int32_t run_final_sum(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const many_t *plan = work->params;
    double sum = 0;
    for (int64_t i = 0; i < SUM_PARTS; ++i)
        sum += load_real(GANTRY_FLOAT64, work->operands[0].bytes, i);
    store_real(plan->dtype, work->operands[1].bytes, 0, sum);
    return GANTRY_OK;
}

static int32_t compute_sum(gantry_op_call_t *op) {
    many_t plan = {op->outputs[0]->dtype, op->inputs[0]->element_count};
    gantry_span_t scratch;
    uint64_t bytes = SUM_PARTS * sizeof(double);
    int32_t code = op->services->scratch(op, bytes, &scratch);
    if (code != GANTRY_OK) return code;
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_partial_sums, 2, &plan, sizeof plan);
    gantry__fake_kernel_input(&work, 0, 0);
    gantry__fake_kernel_span(&work, 1, &scratch, bytes, true);
    code = gantry__fake_kernel_end(&work);
    if (code != GANTRY_OK) return code;
    gantry__fake_kernel_begin(&work, op, run_final_sum, 2, &plan, sizeof plan);
    gantry__fake_kernel_span(&work, 0, &scratch, bytes, false);
    gantry__fake_kernel_output(&work, 1, 0);
    return gantry__fake_kernel_end(&work);
}

static int32_t supports_sum(const gantry_op_call_t *op) {
    return op->outputs[0]->element_count == 1;
}

/* ---- Cast ---- */

static int32_t run_to_int(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const many_t *plan = work->params;
    for (int64_t i = 0; i < plan->count; ++i) {
        double value = load_real(GANTRY_FLOAT32, work->operands[0].bytes, i);
        double bounded = isnan(value)            ? 0
                         : value < -2147483648.0 ? -2147483648.0
                         : value > 2147483647.0  ? 2147483647.0
                                                 : value;
        store_int(GANTRY_INT32, work->operands[1].bytes, i, (uint64_t)(int64_t)bounded);
    }
    return GANTRY_OK;
}

static int32_t run_to_real(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const many_t *plan = work->params;
    for (int64_t i = 0; i < plan->count; ++i) {
        int64_t value = (int64_t)load_int(GANTRY_INT32, work->operands[0].bytes, i);
        store_real(GANTRY_FLOAT32, work->operands[1].bytes, i, (double)value);
    }
    return GANTRY_OK;
}

static int32_t compute_cast(gantry_op_call_t *op) {
    many_t plan = {op->outputs[0]->dtype, op->outputs[0]->element_count};
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, plan.dtype == GANTRY_INT32 ? run_to_int : run_to_real, 2,
                              &plan, sizeof plan);
    gantry__fake_kernel_input(&work, 0, 0);
    gantry__fake_kernel_output(&work, 1, 0);
    return gantry__fake_kernel_end(&work);
}

/* ---- table ---- */

#define BIT(dtype) (UINT64_C(1) << (dtype))
#define REALS (BIT(GANTRY_FLOAT32) | BIT(GANTRY_FLOAT64))
#define INTS (BIT(GANTRY_INT32) | BIT(GANTRY_INT64))

static const gantry_type_constraint_t numbers[] = {{"T", REALS | INTS}};
static const gantry_type_constraint_t reals[] = {{"T", REALS}};
static const gantry_type_constraint_t singles[] = {{"T", BIT(GANTRY_FLOAT32)}};
static const gantry_type_constraint_t gathered[] = {{"Tparams", REALS | INTS}, {"Tindices", INTS}};
static const gantry_type_constraint_t to_int[] = {{"SrcT", BIT(GANTRY_FLOAT32)},
                                                  {"DstT", BIT(GANTRY_INT32)}};
static const gantry_type_constraint_t to_real[] = {{"SrcT", BIT(GANTRY_INT32)},
                                                   {"DstT", BIT(GANTRY_FLOAT32)}};
static const char *const axis_names[] = {"axis"};
static const char *const sum_names[] = {"reduction_indices"};

#define KERNEL(name_, types_, compute_, ...)                                                     \
    &(const gantry_kernel_def_t) {                                                               \
        .struct_size = sizeof(gantry_kernel_def_t), .priority = 1, .op = name_, .types = types_, \
        .type_count = sizeof types_ / sizeof types_[0], .compute = compute_, __VA_ARGS__         \
    }

const gantry_kernel_def_t *const gantry__fake_kernels[] = {
    KERNEL("Add", numbers, compute_binary, .data = "+", .flags = GANTRY_KERNEL_IN_PLACE),
    KERNEL("Sub", numbers, compute_binary, .data = "-", .flags = GANTRY_KERNEL_IN_PLACE),
    KERNEL("Mul", numbers, compute_binary, .data = "*", .flags = GANTRY_KERNEL_IN_PLACE),
    KERNEL("AddN", numbers, compute_add_n, .data = NULL),
    KERNEL("MatMul", reals, compute_matmul, .data = NULL),
    KERNEL("Gather", gathered, compute_gather, .supports = supports_gather, .host_args = axis_names,
           .host_arg_count = 1),
    KERNEL("Sum", reals, compute_sum, .supports = supports_sum, .host_args = sum_names,
           .host_arg_count = 1),
    KERNEL("Cast", to_int, compute_cast, .data = NULL),
    KERNEL("Cast", to_real, compute_cast, .data = NULL),
    KERNEL("TestCopies", singles, gantry__fake_compute_copies, .data = NULL),
    KERNEL("TestPositive", singles, gantry__fake_compute_positive, .data = NULL),
};
const uint32_t gantry__fake_kernel_count =
    sizeof gantry__fake_kernels / sizeof gantry__fake_kernels[0];
