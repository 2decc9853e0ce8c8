/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a matrix product and the group of elementwise nodes behind it into one node, _FusedMatMul:
 *
 *     relu(x @ w + b)      a = x, b = w, args = {b}, program = {Add 0 1, Relu -1}
 *
 * The program's input 0 is the product. The node has the bits of its members: it is made only if
 * the kernel that computes the product alone is the one that takes the program, too. Such a kernel
 * of _FusedMatMul has the product's definition as `data`. Elsewhere the nodes stay apart. */
#include "function/fused_node.h"

/* A product further away stays apart: each node between is looked at. */
#define MOST_APART 256
/* As in pass_fuse.c. */
#define MOST_HELD_BYTES ((uint64_t)64 << 10)
#define NO_PRODUCT UINT32_MAX

/* ---- which product ---- */

static bool follows_product(const gantry__fusing_t *fusing, const uint32_t *members,
                            uint32_t count) {
    const gantry__graph_t *graph = fusing->graph;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &graph->nodes[members[k]];
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (graph->nodes[graph->values[node->inputs[i]].node].op->id == GANTRY__OP_ID_MatMul)
                return true;
        }
    }
    return false;
}

static bool is_used_by_members_alone(const gantry__fusing_t *fusing, uint32_t value,
                                     const uint32_t *members, uint32_t count) {
    uint32_t uses = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &fusing->graph->nodes[members[k]];
        for (uint32_t i = 0; i < node->input_count; ++i) uses += node->inputs[i] == value;
    }
    return uses == fusing->uses[value];
}

/* Whether a node between the product and the last member comes after the product by request. */
static bool is_waited_for(const gantry__fusing_t *fusing, uint32_t product, uint32_t last) {
    for (uint32_t i = product + 1; i < last; ++i) {
        const gantry__node_t *node = &fusing->graph->nodes[i];
        for (uint32_t k = 0; k < node->control_count; ++k) {
            if (node->controls[k] == product) return true;
        }
    }
    return false;
}

/* Whether the product's operands, held until the last member, take more memory than its result. */
static bool product_holds_more(const gantry__fusing_t *fusing, uint32_t product, uint32_t last) {
    const gantry__graph_t *graph = fusing->graph;
    const gantry__node_t *node = &graph->nodes[product];
    uint64_t held = 0;
    if (fusing->kernels[last] <= fusing->kernels[product] + 1) return false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = node->inputs[i];
        if (fusing->last_use[value] == product && gantry__fusing_is_temporary(graph, value))
            held += graph->values[value].bytes;
    }
    return held > graph->values[node->first_output].bytes + MOST_HELD_BYTES;
}

static bool can_take(const gantry__fusing_t *fusing, uint32_t product, const uint32_t *members,
                     uint32_t count) {
    const gantry__node_t *node = &fusing->graph->nodes[product];
    const uint32_t last = members[count - 1];
    const gantry__value_t *own = &fusing->graph->values[node->first_output],
                          *result = gantry__fusing_result(fusing, last);
    return gantry__node_is_pure(node) && node->op->id == GANTRY__OP_ID_MatMul &&
           !fusing->is_colocated[product] && own->dtype == result->dtype &&
           gantry_shape_equal(&own->shape, &result->shape) && last - product <= MOST_APART &&
           is_used_by_members_alone(fusing, node->first_output, members, count) &&
           !is_waited_for(fusing, product, last) && !product_holds_more(fusing, product, last);
}

/* The program's input that is the last such product; NO_PRODUCT: none is. */
static uint32_t find_product(const gantry__fusing_t *fusing, const gantry__program_t *program,
                             const uint32_t *members, uint32_t count) {
    uint32_t found = NO_PRODUCT, newest = 0;
    for (uint32_t i = 0; i < program->input_count; ++i) {
        if (program->inputs[i] == GANTRY__FUSED_ALPHA) continue;
        const uint32_t maker = fusing->graph->values[program->inputs[i]].node;
        if ((found != NO_PRODUCT && maker < newest) || !can_take(fusing, maker, members, count))
            continue;
        found = i;
        newest = maker;
    }
    return found;
}

/* ---- the program over it ---- */

/* Whether an operand is a scalar, a vector along the rows, or as large as the product. */
static bool is_plain_operand(const gantry_shape_t *shape, const gantry_shape_t *product) {
    const int64_t elements = gantry_shape_elements(shape);
    return elements == 1 || gantry_shape_equal(shape, product) ||
           (shape->dims[shape->rank - 1] == elements && elements == product->dims[1]);
}

static bool has_plain_operands(const gantry__fusing_t *fusing, const gantry__program_t *program,
                               const gantry__value_t *product) {
    for (uint32_t i = 0; i < program->input_count; ++i) {
        if (program->inputs[i] == GANTRY__FUSED_ALPHA) continue;
        const gantry__value_t *value = &fusing->graph->values[program->inputs[i]];
        if (value->dtype != product->dtype || !is_plain_operand(&value->shape, &product->shape))
            return false;
    }
    return true;
}

static void exchange_inputs(gantry__program_t *program, uint32_t at) {
    const uint32_t value = program->inputs[at];
    program->inputs[at] = program->inputs[0];
    program->inputs[0] = value;
    program->alpha_types[at] = program->alpha_types[0];
    program->alphas[at] = program->alphas[0];
    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        int64_t *words = &program->words[k * GANTRY__FUSED_WORDS];
        const uint32_t operands = gantry__fused_operands((gantry__fused_id_t)words[0]);
        for (uint32_t i = 0; i < operands; ++i) {
            int64_t *operand = &words[2 + i];
            if (*operand == 0 || *operand == (int64_t)at) *operand = (int64_t)at - *operand;
        }
    }
}

/* The product's operands in the place of input 0. */
static void insert_operands(gantry__program_t *program, const gantry__node_t *product) {
    for (uint32_t i = program->input_count++; i > 1; --i) {
        program->inputs[i] = program->inputs[i - 1];
        program->alpha_types[i] = program->alpha_types[i - 1];
        program->alphas[i] = program->alphas[i - 1];
    }
    program->inputs[0] = product->inputs[0];
    program->inputs[1] = product->inputs[1];
}

/* ---- the node ---- */

/* The kernel of the product alone. */
static gantry_status_t find_product_kernel(const gantry__fusing_t *fusing, uint32_t product,
                                           const gantry_logical_device_t *device,
                                           const gantry_kernel_def_t **out_kernel) {
    const gantry__node_t *node = &fusing->graph->nodes[product];
    const gantry__value_t *out = &fusing->graph->values[node->first_output];
    gantry__fused_call_t call;
    const gantry__program_t program = {.inputs = {node->inputs[0], node->inputs[1]},
                                       .input_count = 2};
    gantry__fused_begin_call(fusing, &program, GANTRY__OP_ID_MatMul, &call);
    for (uint32_t i = 0; i < node->op->attr_count; ++i) call.infer.attrs[i] = node->attrs[i];
    call.infer.output_count = 1;
    call.out_shapes[0] = out->shape;
    call.out_dtypes[0] = out->dtype;
    return gantry__fused_find_kernel(fusing, &call, node->wish, device, out_kernel);
}

static gantry_status_t infer_product(const gantry__fusing_t *fusing,
                                     const gantry__program_t *program,
                                     const gantry__node_t *product, gantry__fused_call_t *call) {
    const gantry_attr_value_t attrs[] = {
        {.name = "transpose_a", .kind = GANTRY_ATTR_BOOL, .i = product->attrs[1].i},
        {.name = "transpose_b", .kind = GANTRY_ATTR_BOOL, .i = product->attrs[2].i},
        {.name = "program",
         .kind = GANTRY_ATTR_INTS,
         .i = (int64_t)program->instruction_count * GANTRY__FUSED_WORDS,
         .list = program->words}};
    gantry__fused_begin_call(fusing, program, GANTRY__OP_ID__FusedMatMul, call);
    return gantry__op_infer(&call->infer, attrs, 3);
}

static gantry_status_t add_product(gantry__fusing_t *fusing, gantry__program_t *program,
                                   const gantry__fused_call_t *call, uint32_t product,
                                   const uint32_t *members, uint32_t count) {
    uint32_t all[GANTRY__FUSED_MOST_INSTRUCTIONS + 1] = {product};
    for (uint32_t k = 0; k < count; ++k) all[k + 1] = members[k];
    ++program->output_members[0]; /* the product comes first */
    return gantry__fused_add(fusing, program, call, all, count + 1);
}

/* Whether one kernel computes the product alone and with the program. */
static gantry_status_t takes_program(const gantry__fusing_t *fusing,
                                     const gantry__program_t *program, uint32_t product,
                                     uint32_t last, gantry__fused_call_t *call, bool *out_takes) {
    const uint32_t before = gantry__failures();
    const gantry_logical_device_t *device = fusing->devices[last];
    const gantry_kernel_def_t *alone, *fused;
    *out_takes = false;
    gantry_status_t status = infer_product(fusing, program, &fusing->graph->nodes[product], call);
    if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED) {
        gantry__forget_since(before);
        return GANTRY_OK;
    }
    GANTRY__TRY(status);
    GANTRY__TRY(find_product_kernel(fusing, product, device, &alone));
    if (!alone) return GANTRY_OK;
    GANTRY__TRY(
        gantry__fused_find_kernel(fusing, call, fusing->graph->nodes[last].wish, device, &fused));
    *out_takes = fused && fused->data == alone;
    return GANTRY_OK;
}

gantry_status_t gantry__fusing_join_product(gantry__fusing_t *fusing, const uint32_t *members,
                                            uint32_t count) {
    gantry__program_t program;
    gantry__fused_call_t call;
    bool takes;
    if (!follows_product(fusing, members, count) ||
        gantry__fused_write(fusing, &program, members, count) != count ||
        program.output_count != 1 || program.results[count - 1] != program.outputs[0])
        return GANTRY_OK;
    const uint32_t at = find_product(fusing, &program, members, count);
    if (at == NO_PRODUCT) return GANTRY_OK;
    const uint32_t product = fusing->graph->values[program.inputs[at]].node;
    const gantry__value_t result =
        fusing->graph->values[fusing->graph->nodes[product].first_output];
    if (!has_plain_operands(fusing, &program, &result)) return GANTRY_OK;
    exchange_inputs(&program, at);
    insert_operands(&program, &fusing->graph->nodes[product]);
    GANTRY__TRY(takes_program(fusing, &program, product, members[count - 1], &call, &takes));
    if (takes) return add_product(fusing, &program, &call, product, members, count);
    fusing->graph->nodes[product].is_apart = true;
    return GANTRY_OK;
}
