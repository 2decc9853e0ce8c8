/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/matmul/matmul_cpu_epilogue.h"

void gantry__cpu_epilogue_init(gantry__cpu_epilogue_t *epilogue, const gantry_op_call_t *call) {
    epilogue->call = *call;
    epilogue->inputs[0] = call->outputs[0];
    for (uint32_t i = 2; i < call->input_count; ++i) epilogue->inputs[i - 1] = call->inputs[i];
    epilogue->attrs[0] = gantry__k_attr(call, "program");
    epilogue->attrs[1] = &epilogue->outputs;
    epilogue->call.inputs = epilogue->inputs;
    epilogue->call.input_count = call->input_count - 1;
    epilogue->call.attrs = epilogue->attrs;
    epilogue->call.attr_count = 2;
    epilogue->outputs = (gantry_attr_t){.struct_size = sizeof(gantry_attr_t),
                                        .kind = GANTRY_ATTR_INTS,
                                        .name = "outputs",
                                        .i = 1,
                                        .list = &epilogue->last};
    epilogue->program = gantry__k_fused(&epilogue->call);
    epilogue->last = epilogue->program.instruction_count - 1;
}

void gantry__cpu_epilogue_run(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                              int64_t column, int64_t columns) {
    const gantry_arg_t *c = epilogue->call.outputs[0];
    const int64_t width = c->dims[c->rank - 1];
    if (columns == width) {
        gantry__cpu_fused_part(&epilogue->job, row * width, (row + rows) * width);
        return;
    }
    for (int64_t i = row; i < row + rows; ++i)
        gantry__cpu_fused_part(&epilogue->job, i * width + column, i * width + column + columns);
}
