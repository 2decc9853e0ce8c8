/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a product and the group of elementwise nodes after it into one node:
 *
 *     relu(x @ w + b)      _FusedMatMul of x, w, b; program = {Add 0 1, Relu -1}
 *
 * The program's input 0 is the product. A convolution becomes _FusedConvolveImages, products of
 * groups _FusedGroupedMatMul. A view between the product and the group, as convolutions by patches
 * have it, moves to after the node.
 *
 * The node has the bits of its members: it is made only if the kernel that computes the product
 * without a program is the one that takes the program, too. Such a kernel has the product's
 * definition as `data`. Elsewhere the nodes stay apart. */
#include <string.h>

#include "function/pass/fused_node.h"
#include "function/pass/layout_ops.h"
#include "function/place/place_parts.h"

/* A product further away stays apart: each node between is looked at. */
#define MOST_APART 256
/* The same limit as in pass_fuse.c. */
#define MOST_HELD_BYTES ((uint64_t)64 << 10)
#define NONE UINT32_MAX

/* The op of a product with a program; GANTRY__OP_COUNT: the op is no product. A convolution that
 * writes channels first is none, because a program runs over rows of channels. */
static gantry__op_id_t fused_op_of(const gantry__node_t *node) {
    switch (node->op->id) {
        case GANTRY__OP_ID_MatMul: return GANTRY__OP_ID__FusedMatMul;
        case GANTRY__OP_ID_ConvolveImages:
            return strcmp(gantry__layout_attr(node, "output_format")->s, "NCHW") == 0
                       ? GANTRY__OP_COUNT
                       : GANTRY__OP_ID__FusedConvolveImages;
        case GANTRY__OP_ID__GroupedMatMul: return GANTRY__OP_ID__FusedGroupedMatMul;
        default: return GANTRY__OP_COUNT;
    }
}

bool gantry__fusing_is_product(const gantry__node_t *node) {
    return node->kind == GANTRY__NODE_OP && fused_op_of(node) != GANTRY__OP_COUNT;
}

/* ---- which product ---- */

typedef struct product_t {
    uint32_t node;
    uint32_t view;  /* the node between it and the members; NONE: there is none */
    uint32_t input; /* of the program; NONE: there is no product */
} product_t;

static product_t product_behind(const gantry__fusing_t *fusing, uint32_t value) {
    const gantry__graph_t *graph = fusing->graph;
    product_t product = {.node = graph->values[value].node, .view = NONE, .input = NONE};
    const gantry__node_t *node = &graph->nodes[product.node];
    if (gantry__node_is_reshape(node)) {
        product.view = product.node;
        product.node = graph->values[node->inputs[0]].node;
    }
    return product;
}

static bool follows_product(const gantry__fusing_t *fusing, const uint32_t *members,
                            uint32_t count) {
    const gantry__graph_t *graph = fusing->graph;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &graph->nodes[members[k]];
        for (uint32_t i = 0; i < node->input_count; ++i) {
            const product_t product = product_behind(fusing, node->inputs[i]);
            if (gantry__fusing_is_product(&graph->nodes[product.node])) return true;
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

/* The product as the fused op has it: groups are parts of a row. */
static gantry__value_t product_result(const gantry__fusing_t *fusing, const gantry__node_t *node) {
    gantry__value_t result = fusing->graph->values[node->first_output];
    const int64_t *dims = result.shape.dims;
    if (node->op->id == GANTRY__OP_ID__GroupedMatMul)
        result.shape = GANTRY_SHAPE(dims[0], dims[1] * dims[2]);
    return result;
}

/* Whether the view of the product keeps rows, and may be made of the members' result instead. */
static bool can_move_view(const gantry__fusing_t *fusing, const product_t *product, uint32_t last) {
    const gantry__graph_t *graph = fusing->graph;
    const gantry__node_t *view = &graph->nodes[product->view], *node = &graph->nodes[product->node];
    const gantry_shape_t *shape = &graph->values[view->first_output].shape,
                         own = product_result(fusing, node).shape;
    return !fusing->is_colocated[product->view] && view->control_count == 0 &&
           (!gantry__node_is_asked(view) || view->wish == graph->nodes[last].wish) &&
           fusing->uses[node->first_output] == 1 && shape->rank > 0 &&
           shape->dims[shape->rank - 1] == own.dims[own.rank - 1] &&
           !is_waited_for(fusing, product->view, last);
}

static bool can_take(const gantry__fusing_t *fusing, const product_t *product, uint32_t value,
                     const uint32_t *members, uint32_t count) {
    const gantry__node_t *node = &fusing->graph->nodes[product->node];
    const uint32_t last = members[count - 1];
    const gantry__value_t *given = &fusing->graph->values[value],
                          *result = gantry__fusing_result(fusing, last);
    return gantry__fusing_is_product(node) && !fusing->is_colocated[product->node] &&
           given->dtype == result->dtype && gantry_shape_equal(&given->shape, &result->shape) &&
           last - product->node <= MOST_APART &&
           is_used_by_members_alone(fusing, value, members, count) &&
           (product->view == NONE ? node->op->id != GANTRY__OP_ID__GroupedMatMul
                                  : can_move_view(fusing, product, last)) &&
           !is_waited_for(fusing, product->node, last) &&
           !product_holds_more(fusing, product->node, last);
}

/* The last such product among the program's inputs. */
static product_t find_product(const gantry__fusing_t *fusing, const gantry__program_t *program,
                              const uint32_t *members, uint32_t count) {
    product_t found = {.input = NONE};
    for (uint32_t i = 0; i < program->input_count; ++i) {
        if (program->inputs[i] == GANTRY__FUSED_ALPHA) continue;
        product_t product = product_behind(fusing, program->inputs[i]);
        if ((found.input != NONE && product.node < found.node) ||
            !can_take(fusing, &product, program->inputs[i], members, count))
            continue;
        product.input = i;
        found = product;
    }
    return found;
}

/* ---- the program over it ---- */

/* Whether an operand is a scalar, a vector along the rows, or as large as the product. */
static bool is_plain_operand(const gantry_shape_t *shape, const gantry_shape_t *product) {
    const int64_t elements = gantry_shape_elements(shape);
    if (shape->rank > product->rank) return false;
    return elements == 1 || gantry_shape_equal(shape, product) ||
           (shape->dims[shape->rank - 1] == elements &&
            elements == product->dims[product->rank - 1]);
}

/* Whether the operands are plain; at: the input that is the product, or its view. */
static bool has_plain_operands(const gantry__fusing_t *fusing, const gantry__program_t *program,
                               uint32_t at, const gantry__value_t *product) {
    for (uint32_t i = 0; i < program->input_count; ++i) {
        if (i == at || program->inputs[i] == GANTRY__FUSED_ALPHA) continue;
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

/* The kernel of the product without a program. */
static gantry_status_t find_product_kernel(const gantry__fusing_t *fusing, uint32_t product,
                                           const gantry_logical_device_t *device,
                                           const gantry_kernel_def_t **out_kernel) {
    const gantry__node_t *node = &fusing->graph->nodes[product];
    const gantry__value_t *out = &fusing->graph->values[node->first_output];
    gantry__asked_call_t call;
    const gantry__program_t program = {.inputs = {node->inputs[0], node->inputs[1]},
                                       .input_count = 2};
    gantry__fused_begin_call(fusing, &program, (gantry__op_id_t)node->op->id, &call);
    for (uint32_t i = 0; i < node->op->attr_count; ++i) call.infer.attrs[i] = node->attrs[i];
    call.infer.output_count = 1;
    call.out_shapes[0] = out->shape;
    call.out_dtypes[0] = out->dtype;
    return gantry__fused_find_kernel(fusing, &call, node->wish, device, out_kernel);
}

size_t gantry__fused_copy_attrs(const gantry__node_t *product, gantry__op_id_t fused,
                                gantry_attr_value_t *attrs) {
    const gantry__op_def_t *op = gantry__op_get(fused);
    size_t count = 0;
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        for (uint32_t k = 0; k < product->op->attr_count; ++k) {
            const gantry_attr_t *from = &product->attrs[k];
            if (from->kind == GANTRY_ATTR_TYPE || strcmp(from->name, op->attrs[i].name) != 0)
                continue;
            attrs[count++] = (gantry_attr_value_t){.name = from->name,
                                                   .kind = (gantry_attr_kind_t)from->kind,
                                                   .i = from->i,
                                                   .f = from->f,
                                                   .s = from->s,
                                                   .list = from->list};
        }
    }
    return count;
}

static gantry_status_t infer_product(const gantry__fusing_t *fusing,
                                     const gantry__program_t *program,
                                     const gantry__node_t *product, gantry__asked_call_t *call) {
    const gantry__op_id_t fused = fused_op_of(product);
    gantry_attr_value_t attrs[GANTRY__FUSED_NODE_ATTRS];
    size_t count = gantry__fused_copy_attrs(product, fused, attrs);
    attrs[count++] =
        (gantry_attr_value_t){.name = "program",
                              .kind = GANTRY_ATTR_INTS,
                              .i = (int64_t)program->instruction_count * GANTRY__FUSED_WORDS,
                              .list = program->words};
    gantry__fused_begin_call(fusing, program, fused, call);
    return gantry__op_infer(&call->infer, attrs, count);
}

/* Whether one kernel computes the product both without and with the program. */
static gantry_status_t takes_program(const gantry__fusing_t *fusing,
                                     const gantry__program_t *program, uint32_t product,
                                     uint32_t last, gantry__asked_call_t *call, bool *out_takes) {
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

/* The view again, of the members' result. */
static gantry_status_t fused_product_add_view(gantry__fusing_t *fusing, uint32_t view,
                                              uint32_t last) {
    gantry__graph_t *graph = fusing->graph;
    const gantry__value_t given = graph->values[graph->nodes[view].first_output];
    const uint32_t result = graph->nodes[last].first_output, fused = fusing->new_nodes[last];
    gantry__node_t node = graph->nodes[view];
    uint32_t inputs[GANTRY__MAX_INPUTS], index;
    memcpy(inputs, node.inputs, node.input_count * sizeof *inputs);
    inputs[0] = fusing->new_values[result];
    node.inputs = inputs;
    GANTRY__TRY(gantry__graph_add(graph, &node, &given.dtype, &given.shape, &index));
    fusing->new_values[result] = graph->nodes[index].first_output;
    fusing->new_nodes[view] = fused;
    fusing->views[last] = index;
    return GANTRY_OK;
}

static gantry_status_t add_product(gantry__fusing_t *fusing, gantry__program_t *program,
                                   const gantry__asked_call_t *call, const product_t *product,
                                   const uint32_t *members, uint32_t count) {
    uint32_t all[GANTRY__FUSED_MOST_INSTRUCTIONS + 1] = {product->node};
    for (uint32_t k = 0; k < count; ++k) all[k + 1] = members[k];
    ++program->output_members[0]; /* the product comes first */
    GANTRY__TRY(gantry__fused_add(fusing, program, call, all, count + 1));
    return product->view == NONE
               ? GANTRY_OK
               : fused_product_add_view(fusing, product->view, members[count - 1]);
}

gantry_status_t gantry__fusing_join_product(gantry__fusing_t *fusing, const uint32_t *members,
                                            uint32_t count) {
    gantry__program_t program;
    gantry__asked_call_t call;
    bool takes;
    if (!follows_product(fusing, members, count) ||
        gantry__fused_write(fusing, &program, members, count) != count ||
        program.output_count != 1 || program.results[count - 1] != program.outputs[0])
        return GANTRY_OK;
    const product_t product = find_product(fusing, &program, members, count);
    if (product.input == NONE) return GANTRY_OK;
    const gantry__value_t own = product_result(fusing, &fusing->graph->nodes[product.node]);
    if (!has_plain_operands(fusing, &program, product.input, &own)) return GANTRY_OK;
    exchange_inputs(&program, product.input);
    insert_operands(&program, &fusing->graph->nodes[product.node]);
    GANTRY__TRY(takes_program(fusing, &program, product.node, members[count - 1], &call, &takes));
    if (takes) return add_product(fusing, &program, &call, &product, members, count);
    fusing->graph->nodes[product.node].apart = GANTRY__APART_PROGRAM;
    return GANTRY_OK;
}
