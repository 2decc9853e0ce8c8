/* SPDX-License-Identifier: Apache-2.0 */
/* Fused programs over a few elements: their loops take less time than making steps, so instructions
 * run as they are read. Each result has a slot of its own, and outputs are copied at the end, so
 * nothing is written before that, and another way can still run the program. */
#include "kernels/elementwise/fused_cpu.h"

enum {
    SLOT_BYTES = GANTRY__CPU_FUSED_SMALL * 8,
    INSTRUCTIONS = GANTRY_K_FUSED_MOST_INSTRUCTIONS,
    VALUES = INSTRUCTIONS + GANTRY_K_FUSED_MOST_INPUTS
};

/* Values by their operand numbers: results are below the middle, inputs above it. */
typedef struct values_t {
    const void *at[VALUES];
    bool is_single[VALUES]; /* whether it has one element, while the output has more */
} values_t;

static void set_inputs(values_t *values, const gantry_op_call_t *call, int64_t count) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        values->at[INSTRUCTIONS + i] = call->inputs[i]->data;
        values->is_single[INSTRUCTIONS + i] = call->inputs[i]->element_count != count;
    }
}

/* The loop for the operands. NULL: another way must run the program. */
static inline gantry__cpu_loop_fn small_loop(const gantry__cpu_loops_t *loops, bool is_unary,
                                             bool x_single, bool y_single) {
    if (!x_single) return is_unary || !y_single ? loops->dense : loops->y_scalar;
    return is_unary || y_single ? NULL : loops->x_scalar;
}

bool gantry__cpu_fused_run_small(const gantry_op_call_t *call, const gantry__k_fused_t *program,
                                 int64_t count) {
    const int level = call->device->simd_level;
    _Alignas(64) char slots[INSTRUCTIONS * SLOT_BYTES];
    const gantry__cpu_loops_t *loops = NULL;
    int64_t dtype = GANTRY_DTYPE_NONE;
    values_t values;
    const void **const at = values.at + INSTRUCTIONS;
    bool *const is_single = values.is_single + INSTRUCTIONS;

    set_inputs(&values, call, count);
    for (int64_t k = 0; k < (int64_t)program->instruction_count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];

        if (in->id >= GANTRY_K_ROWS) return false;
        if (in->dtype != dtype) {
            const uint32_t column = gantry__cpu_type_column((int32_t)in->dtype);

            if (column >= GANTRY_CPU_TYPES) return false;
            loops = GANTRY_CPU_PICK(level, element_loops)(column);
            dtype = in->dtype;
        }
        const bool is_unary = gantry__k_fused_rows[in->id].operands == 1;
        const int64_t x = in->operands[0], y = in->operands[1];
        const gantry__cpu_loop_fn loop =
            small_loop(&loops[in->id], is_unary, is_single[x], is_single[y]);
        if (!loop) return false;
        char *out = slots + k * SLOT_BYTES;
        (void)loop(at[x], is_unary ? at[x] : at[y], out, count);
        at[-1 - k] = out;
        is_single[-1 - k] = false;
    }
    for (uint32_t i = 0; i < call->output_count; ++i) {
        const gantry_arg_t *out = call->outputs[i];

        memcpy(out->data, slots + program->outputs[i] * SLOT_BYTES,
               (size_t)(count * gantry__k_size(out->dtype)));
    }
    return true;
}
