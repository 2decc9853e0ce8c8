/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of _FusedElementwise, _FusedParts and _FusedRows as kernels read them, and how their
 * inputs broadcast. Nothing is checked here, because src/op has checked the program.
 * src/op/fused_program.h explains its form.
 *
 * Owner: plain values of the caller; the instructions are the attribute's, which must outlive them.
 * Threads: thread-safe. */
#ifndef GANTRY_KERNELS_FUSED_SHAPE_H
#define GANTRY_KERNELS_FUSED_SHAPE_H

#include "kernels/elementwise/elementwise_kernels.h"

/* Instructions that have no row of ops/elementwise.def; those that have are GANTRY_K_ROW_.... */
enum {
    GANTRY_K_BEFORE_FUSED_OTHERS = GANTRY_K_ROWS - 1,
#define GANTRY_FUSED_OTHER(name) GANTRY_K_FUSED_##name,
#include "ops/fused.def"
#undef GANTRY_FUSED_OTHER
    GANTRY_K_FUSED_COUNT, /* the instructions that _FusedElementwise may have */
#define GANTRY_FUSED_REDUCTION(name) GANTRY_K_FUSED_##name,
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
    GANTRY_K_FUSED_ROWS_COUNT
};

enum {
#define GANTRY_FUSED_LIMIT(name, value) GANTRY_K_FUSED_MOST_##name = value,
#include "ops/fused.def"
#undef GANTRY_FUSED_LIMIT
};

typedef struct gantry__k_instruction_t {
    int64_t id;
    int64_t dtype;
    /* An operand >= 0 is an input, -1 - k is the result of instruction k. The second one of a Cast
     * is the type of the result, and the third is Truncate. */
    int64_t operands[3];
} gantry__k_instruction_t;

typedef struct gantry__k_fused_t {
    const gantry__k_instruction_t *instructions;
    uint32_t instruction_count;
    uint32_t input_count;
    uint32_t output_count;
    const int64_t *outputs; /* numbers of instructions */
} gantry__k_fused_t;

static inline gantry__k_fused_t gantry__k_fused(const gantry_op_call_t *call) {
    const gantry_attr_t *program = call->attrs[0];

    return (gantry__k_fused_t){
        .instructions = (const gantry__k_instruction_t *)(const void *)program->list,
        .instruction_count =
            (uint32_t)((uint64_t)program->i * sizeof(int64_t) / sizeof(gantry__k_instruction_t)),
        .input_count = call->input_count,
        .output_count = call->output_count,
        .outputs = call->attrs[1]->list};
}

/* Properties of instructions. */
typedef struct gantry__k_fused_row_t {
    uint8_t operands; /* how many are tensors: 1 to 3 */
    uint8_t result;   /* the result's type; 0: that of the operands */
    bool costly;      /* the row takes several dozen machine instructions */
} gantry__k_fused_row_t;

#define GANTRY_K_FUSED_OPERANDS_UNARY 1
#define GANTRY_K_FUSED_OPERANDS_ACTIVATION 1
#define GANTRY_K_FUSED_OPERANDS_CHOICE 1
#define GANTRY_K_FUSED_OPERANDS_VARIANT 1
#define GANTRY_K_FUSED_OPERANDS_BINARY 2
#define GANTRY_K_FUSED_OPERANDS_ANGLE 2
#define GANTRY_K_FUSED_OPERANDS_EQUALITY 2
#define GANTRY_K_FUSED_OPERANDS_VALUE 2
#define GANTRY_K_FUSED_OPERANDS_PRECISION 2
#define GANTRY_K_FUSED_OPERANDS_UNARY_CHOICE 1
#define GANTRY_K_FUSED_OPERANDS_BINARY_CHOICE 2
#define GANTRY_K_FUSED_OPERANDS_BINARY_VARIANT 2
#define GANTRY_K_FUSED_RESULT_SAME 0
#define GANTRY_K_FUSED_RESULT_BOOL GANTRY_BOOL
#define GANTRY_K_FUSED_RESULT_BYTE GANTRY_UINT8

static const gantry__k_fused_row_t gantry__k_fused_rows[GANTRY_K_FUSED_ROWS_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {GANTRY_K_FUSED_OPERANDS_##form, GANTRY_K_FUSED_RESULT_##result, GANTRY_K_COSTLY_##math},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    [GANTRY_K_FUSED_Cast] = {1, 0, false},
    [GANTRY_K_FUSED_Select] = {3, 0, false},
    [GANTRY_K_FUSED_ClipByValue] = {3, 0, false},
#define GANTRY_FUSED_REDUCTION(name) [GANTRY_K_FUSED_##name] = {1, 0, false},
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
};

static inline int32_t gantry__k_fused_result(const gantry__k_instruction_t *instruction) {
    if (instruction->id == GANTRY_K_FUSED_Cast) return (int32_t)instruction->operands[1];
    const uint8_t result = gantry__k_fused_rows[instruction->id].result;
    return result != 0 ? result : (int32_t)instruction->dtype;
}

/* ---- broadcasting ----
 *
 * The output's dimensions, as few as the shapes of all inputs allow, and for each input the
 * dimensions along which it varies. Tensors are dense, so this says where its elements are:
 *
 *     output [8, 6, 5], inputs [8, 6, 5], [6, 5], [1, 6, 1]
 *         dims {8, 6, 5}, varies 111, 110, 010 (bit d: dimension d)
 *     output [8, 6, 5], inputs [8, 6, 5], [6, 5]
 *         dims {8, 30}, varies 11, 10
 */
typedef struct gantry__k_fused_plan_t {
    int32_t rank; /* at least 1 */
    int64_t dims[GANTRY_MAX_RANK];
    uint8_t varies[GANTRY_K_FUSED_MOST_INPUTS];
} gantry__k_fused_plan_t;

static inline uint8_t gantry__k_fused_all(const gantry__k_fused_plan_t *plan) {
    return (uint8_t)((1u << plan->rank) - 1);
}

static inline bool gantry__k_fused_varies(const gantry_arg_t *input, int32_t out_rank, int32_t d) {
    const int32_t own = d - (out_rank - input->rank);

    return own >= 0 && input->dims[own] != 1;
}

/* Makes the plan of shapes that broadcast to out, which must not be empty. */
static inline void gantry__k_fused_plan(gantry__k_fused_plan_t *plan, const gantry_arg_t *out,
                                        const gantry_arg_t *const *inputs, uint32_t count) {
    int32_t last = -1;

    memset(plan->varies, 0, sizeof plan->varies);
    for (int32_t d = 0; d < out->rank; ++d) {
        bool joins = last >= 0;

        if (out->dims[d] == 1) continue;
        for (uint32_t k = 0; k < count; ++k) {
            const bool varies = gantry__k_fused_varies(inputs[k], out->rank, d);

            joins = joins && varies == (plan->varies[k] >> last & 1);
        }
        if (joins) {
            plan->dims[last] *= out->dims[d];
            continue;
        }
        plan->dims[++last] = out->dims[d];
        for (uint32_t k = 0; k < count; ++k) {
            const bool varies = gantry__k_fused_varies(inputs[k], out->rank, d);

            plan->varies[k] = (uint8_t)(plan->varies[k] | (uint32_t)varies << last);
        }
    }
    plan->rank = last + 1;
    if (plan->rank == 0) {
        plan->rank = 1;
        plan->dims[0] = 1;
        memset(plan->varies, 1, sizeof plan->varies);
    }
}

/* The element of an input at the start of a row, which is a run along the last dimension; rows are
 * counted through the output. */
static inline int64_t gantry__k_fused_row_start(const gantry__k_fused_plan_t *plan, uint8_t varies,
                                                int64_t row) {
    const int32_t inner = plan->rank - 1;
    int64_t step = varies >> inner & 1 ? plan->dims[inner] : 1;
    int64_t start = 0;

    for (int32_t d = inner - 1; d >= 0; --d) {
        if (varies >> d & 1) {
            start += row % plan->dims[d] * step;
            step *= plan->dims[d];
        }
        row /= plan->dims[d];
    }
    return start;
}

/* ---- rows ----
 *
 * The rows of _FusedRows: how the inputs broadcast over all dimensions but the last, and which of
 * them, and of the results, have all elements of a row. */
typedef struct gantry__k_rows_t {
    int64_t rows, length;
    gantry__k_fused_plan_t lead; /* how the rows broadcast */
    bool is_wide[GANTRY_K_FUSED_MOST_INPUTS];
    bool makes_wide[GANTRY_K_FUSED_MOST_INSTRUCTIONS];
} gantry__k_rows_t;

static inline bool gantry__k_fused_reduces(const gantry__k_instruction_t *instruction) {
    return instruction->id > GANTRY_K_FUSED_COUNT;
}

static inline bool gantry__k_rows_is_wide(const gantry__k_rows_t *rows, int64_t operand) {
    return operand >= 0 ? rows->is_wide[operand] : rows->makes_wide[-1 - operand];
}

/* Writes the shape to which all inputs broadcast without their last dimension; dims must have room
 * for the largest rank. */
static inline void gantry__k_rows_lead(const gantry_arg_t *leads, uint32_t count, gantry_arg_t *out,
                                       int64_t *dims) {
    out->rank = 0;
    out->dims = dims;
    for (uint32_t k = 0; k < count; ++k) {
        if (leads[k].rank > out->rank) out->rank = leads[k].rank;
    }
    for (int32_t d = 0; d < out->rank; ++d) dims[d] = 1;
    for (uint32_t k = 0; k < count; ++k) {
        for (int32_t d = 0; d < leads[k].rank; ++d) {
            if (leads[k].dims[d] != 1) dims[d + out->rank - leads[k].rank] = leads[k].dims[d];
        }
    }
}

static inline void gantry__k_rows(gantry__k_rows_t *rows, const gantry_op_call_t *call,
                                  const gantry__k_fused_t *program) {
    gantry_arg_t leads[GANTRY_K_FUSED_MOST_INPUTS], out;
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_INPUTS];
    int64_t dims[GANTRY_MAX_RANK];

    rows->length = rows->rows = 1;
    for (uint32_t k = 0; k < call->input_count; ++k) {
        const gantry_arg_t *input = call->inputs[k];

        leads[k].rank = input->rank > 0 ? input->rank - 1 : 0;
        leads[k].dims = input->dims;
        inputs[k] = &leads[k];
        rows->is_wide[k] = input->rank > 0 && input->dims[input->rank - 1] != 1;
        if (rows->is_wide[k]) rows->length = input->dims[input->rank - 1];
    }
    gantry__k_rows_lead(leads, call->input_count, &out, dims);
    for (int32_t d = 0; d < out.rank; ++d) rows->rows *= dims[d];
    gantry__k_fused_plan(&rows->lead, &out, inputs, call->input_count);
    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];
        bool is_wide = false;

        for (uint32_t i = 0; i < gantry__k_fused_rows[in->id].operands; ++i) {
            is_wide = is_wide || gantry__k_rows_is_wide(rows, in->operands[i]);
        }
        rows->makes_wide[k] = is_wide && !gantry__k_fused_reduces(in);
    }
}

/* The row of an input that the output's row reads, counted in the input's own rows. */
static inline int64_t gantry__k_rows_of_input(const gantry__k_rows_t *rows, uint32_t input,
                                              int64_t row) {
    const gantry__k_fused_plan_t *lead = &rows->lead;
    int64_t at = 0, step = 1;

    if (lead->varies[input] == 0) return 0;
    if (lead->varies[input] == gantry__k_fused_all(lead)) return row;
    for (int32_t d = lead->rank - 1; d >= 0; --d) {
        if (lead->varies[input] >> d & 1) {
            at += row % lead->dims[d] * step;
            step *= lead->dims[d];
        }
        row /= lead->dims[d];
    }
    return at;
}

/* ---- parts ----
 *
 * The calls of _FusedElementwise that a call of _FusedParts replaces. */
typedef struct gantry__k_parts_t {
    uint32_t count;
    uint32_t shared;  /* inputs of the program that are the same for all parts: the first ones */
    uint32_t own;     /* its other inputs */
    uint32_t largest; /* the part with the most elements */
    gantry__k_fused_t program; /* the program of one part */
} gantry__k_parts_t;

static inline int64_t gantry__k_part_elements(const gantry__k_parts_t *parts,
                                              const gantry_op_call_t *call, uint32_t part) {
    return call->outputs[part * parts->program.output_count]->element_count;
}

static inline gantry__k_parts_t gantry__k_parts(const gantry_op_call_t *call) {
    gantry__k_parts_t parts = {.count = (uint32_t)call->attrs[2]->i,
                               .shared = (uint32_t)call->attrs[3]->i,
                               .program = gantry__k_fused(call)};

    parts.own = (call->input_count - parts.shared) / parts.count;
    parts.program.input_count = parts.shared + parts.own;
    parts.program.output_count = call->output_count / parts.count;
    for (uint32_t part = 1; part < parts.count; ++part) {
        if (gantry__k_part_elements(&parts, call, part) >
            gantry__k_part_elements(&parts, call, parts.largest)) {
            parts.largest = part;
        }
    }
    return parts;
}

/* The number of the op's input that is input i of the program in a part. */
static inline uint32_t gantry__k_part_input(const gantry__k_parts_t *parts, uint32_t part,
                                            uint32_t i) {
    return i < parts->shared ? i : i + part * parts->own;
}

/* Makes the call of a part; inputs must have room for those of the program, and outlive the
 * call. */
static inline gantry_op_call_t gantry__k_part_call(const gantry__k_parts_t *parts,
                                                   const gantry_op_call_t *call, uint32_t part,
                                                   const gantry_arg_t **inputs) {
    gantry_op_call_t own = *call;

    for (uint32_t i = 0; i < parts->program.input_count; ++i) {
        inputs[i] = call->inputs[gantry__k_part_input(parts, part, i)];
    }
    own.inputs = inputs;
    own.input_count = parts->program.input_count;
    own.outputs = call->outputs + part * parts->program.output_count;
    own.output_count = parts->program.output_count;
    return own;
}

/* The names of the ops whose kernels both sides have. */
#define GANTRY_K_FUSED_OP "_FusedElementwise"
#define GANTRY_K_FUSED_PARTS_OP "_FusedParts"
#define GANTRY_K_FUSED_ROWS_OP "_FusedRows"

#endif
