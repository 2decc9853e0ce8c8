/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for ops that tests define. "TestCopies" copies x to each of its outputs. "TestPositive"
 * gives the elements of x (float32) that are greater than 0, and a mark (int32) for each element.
 * One piece of work counts these elements. The kernel reads the count back and only then makes the
 * first output. Attribute "wrong" (0: nothing) makes the kernel break one rule of
 * gantry_call_services_t. */
#include "fake_kernels.h"

#include <string.h>

enum {
    WRONG_RANK = 1,
    WRONG_NONE_MADE,
    WRONG_MADE_TWICE,
    WRONG_MADE_ALREADY,
    WRONG_NO_SUCH_OUTPUT,
    WRONG_TOO_LONG_READ,
    WRONG_COPY_SIZES,
    WRONG_COPY_OVERLAP,
    WRONG_PATTERN,
    WRONG_FILL_SIZE
};

typedef struct positive_t {
    int64_t count; /* of x */
} positive_t;

static float element(const unsigned char *bytes, int64_t index) {
    float value;
    memcpy(&value, bytes + index * 4, sizeof value);
    return value;
}

static int32_t run_count(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const positive_t *plan = work->params;
    int64_t found = 0;
    for (int64_t i = 0; i < plan->count; ++i) found += element(work->operands[0].bytes, i) > 0;
    memcpy(work->operands[1].bytes, &found, sizeof found);
    return GANTRY_OK;
}

static int32_t run_move(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    const positive_t *plan = work->params;
    int64_t at = 0;
    for (int64_t i = 0; i < plan->count; ++i) {
        float value = element(work->operands[0].bytes, i);
        int32_t mark = value > 0;
        memcpy(work->operands[1].bytes + i * 4, &mark, sizeof mark);
        if (mark) memcpy(work->operands[2].bytes + at++ * 4, &value, sizeof value);
    }
    return GANTRY_OK;
}

static int32_t submit_count(gantry_op_call_t *op, const positive_t *plan,
                            const gantry_span_t *scratch) {
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_count, 2, plan, sizeof *plan);
    gantry__fake_kernel_input(&work, 0, 0);
    gantry__fake_kernel_span(&work, 1, scratch, sizeof(int64_t), true);
    return gantry__fake_kernel_end(&work);
}

static int32_t submit_move(gantry_op_call_t *op, const positive_t *plan, bool any) {
    fake_kernel_work_t work;
    gantry__fake_kernel_begin(&work, op, run_move, any ? 3 : 2, plan, sizeof *plan);
    gantry__fake_kernel_input(&work, 0, 0);
    gantry__fake_kernel_output(&work, 1, 1);
    if (any) gantry__fake_kernel_output(&work, 2, 0);
    return gantry__fake_kernel_end(&work);
}

/* Makes transfers that the core refuses before a backend sees them. */
static int32_t transfer_wrong(gantry_op_call_t *op, const gantry_span_t *scratch, int64_t wrong) {
    static const uint64_t pattern = 0;
    gantry_span_t half = {scratch->region, scratch->offset_bytes, 4};
    gantry_span_t other = {scratch->region, scratch->offset_bytes + 2, 4};
    switch (wrong) {
        case WRONG_COPY_SIZES: return op->services->copy(op, scratch, &half);
        case WRONG_COPY_OVERLAP: return op->services->copy(op, &other, &half);
        case WRONG_PATTERN: return op->services->fill(op, scratch, &pattern, 3);
        case WRONG_FILL_SIZE: return op->services->fill(op, &half, &pattern, 8);
        default: return GANTRY_OK;
    }
}

int32_t gantry__fake_compute_positive(gantry_op_call_t *op) {
    const gantry_call_services_t *services = op->services;
    const positive_t plan = {op->inputs[0]->element_count};
    const int64_t wrong = gantry__fake_attr(op, "wrong");
    int64_t found = 0;
    if (!GANTRY_ABI_HAS(services, read)) return GANTRY_FAILED_PRECONDITION;
    if (plan.count > 0) {
        gantry_span_t scratch;
        int32_t code = services->scratch(op, sizeof found, &scratch);
        if (code == GANTRY_OK) code = transfer_wrong(op, &scratch, wrong);
        if (code == GANTRY_OK) code = submit_count(op, &plan, &scratch);
        if (code == GANTRY_OK)
            code = services->read(op, &scratch, &found, wrong == WRONG_TOO_LONG_READ ? 1 << 20 : 8);
        if (code != GANTRY_OK) return code;
    }
    if (wrong == WRONG_NONE_MADE) return GANTRY_OK;
    if (wrong == WRONG_NO_SUCH_OUTPUT) return services->allocate_output(op, 2, 1, &found);
    if (wrong == WRONG_MADE_ALREADY) return services->allocate_output(op, 1, 1, &plan.count);
    int32_t code =
        services->allocate_output(op, 0, wrong == WRONG_RANK ? 2 : 1, (const int64_t[]){found, 1});
    if (code == GANTRY_OK && wrong == WRONG_MADE_TWICE)
        code = services->allocate_output(op, 0, 1, &found);
    return code == GANTRY_OK && plan.count > 0 ? submit_move(op, &plan, found > 0) : code;
}

int32_t gantry__fake_compute_copies(gantry_op_call_t *op) {
    for (uint32_t i = 0; i < op->output_count; ++i) {
        int32_t code = op->services->copy(op, &op->outputs[i]->span, &op->inputs[0]->span);
        if (code != GANTRY_OK) return code;
    }
    return GANTRY_OK;
}
