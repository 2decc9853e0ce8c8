/* SPDX-License-Identifier: Apache-2.0 */
/* The program of _FusedMatMul, where it is a bias, a Relu, or both. Kernels that cannot run
 * programs compute these, too.
 *
 * Owner: plain values; bias is the call's, and must outlive the epilogue. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_EPILOGUE_H
#define GANTRY_KERNELS_MATMUL_EPILOGUE_H

#include "kernels/elementwise/fused_shape.h"

typedef struct gantry__epilogue_t {
    const gantry_arg_t *bias; /* a vector along the rows; NULL: none */
    bool has_relu;
} gantry__epilogue_t;

/* The places of an image, whose results have their channels first (attribute "places"); 0: the
 * result is the product, row by row. */
static inline int64_t gantry__epilogue_area(const gantry_op_call_t *call) {
    const gantry_attr_t *places = gantry__k_attr(call, "places");
    return places && places->i == 2 ? places->list[0] * places->list[1] : 0;
}

/* Whether the result of a product or a convolution has its channels first. */
static inline bool gantry__epilogue_is_first(const gantry_op_call_t *call) {
    const gantry_attr_t *format = gantry__k_attr(call, "output_format");
    return gantry__epilogue_area(call) > 0 || (format && format->s && format->s[1] == 'C');
}

/* Whether the instruction is the sum of the product, input 0, and a vector along its rows, input
 * 1. */
static inline bool gantry__epilogue_is_bias(const gantry_op_call_t *call,
                                            const gantry__k_instruction_t *in) {
    const gantry_arg_t *c = call->outputs[0], *bias = call->inputs[2];
    const int64_t columns = c->dims[gantry__epilogue_is_first(call) ? 1 : c->rank - 1];
    return in->id == GANTRY_K_ROW_Add && in->operands[0] + in->operands[1] == 1 &&
           in->operands[0] * in->operands[1] == 0 && bias->element_count == columns &&
           (columns == 1 || bias->dims[bias->rank - 1] == columns);
}

/* Reads the program of a call of MatMul, BatchMatMul or _FusedMatMul. Returns false for another
 * program. */
static inline bool gantry__epilogue_read_any(const gantry_op_call_t *call,
                                             gantry__epilogue_t *out_epilogue) {
    const gantry_attr_t *program = gantry__k_attr(call, "program");
    *out_epilogue = (gantry__epilogue_t){.has_relu = false};
    if (!program) return true;
    const gantry__k_instruction_t *in =
        (const gantry__k_instruction_t *)(const void *)program->list;
    const int64_t count = program->i * (int64_t)sizeof(int64_t) / (int64_t)sizeof *in;
    int64_t done = 0;
    if (call->input_count > 3) return false;
    if (call->input_count == 3) {
        if (!gantry__epilogue_is_bias(call, &in[0])) return false;
        out_epilogue->bias = call->inputs[2];
        ++done;
    }
    if (done < count) {
        out_epilogue->has_relu = true;
        return in[done].id == GANTRY_K_ROW_Relu && in[done].operands[0] == -done &&
               done + 1 == count;
    }
    return done == count;
}

/* The same for kernels that write the product row by row: false, too, if its channels come first.
 */
static inline bool gantry__epilogue_read(const gantry_op_call_t *call,
                                         gantry__epilogue_t *out_epilogue) {
    return gantry__epilogue_read_any(call, out_epilogue) && gantry__epilogue_area(call) == 0;
}

#endif
