/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the first convolutions of a body read images whose channels come first, and the last ones
 * give such results:
 *
 *     x -> Transpose -> ConvolveImages      becomes      x -> ConvolveImages, input_format "NCHW"
 *     ConvolveImages -> Transpose -> y      becomes      ConvolveImages, output_format "NCHW" -> y
 *     MatMul -> Reshape -> Transpose -> y   becomes      _FusedMatMul, places {height, width} -> y
 *
 * The first holds for images of at most GANTRY__WINDOW_MOST_PLANES channels, and if all that use
 * the transposed images are such convolutions, or patches of them; the others if nothing else uses
 * the result, and if the kernel that computes it can write it so: those of vendors' libraries
 * cannot. The second walk comes after fusing, because an epilogue has its channels last. No bit
 * changes.
 *
 * Before the walk of the pass, notes the windows whose kernels for planes are about as fast as for
 * pixels: depthwise convolutions and pools. */
#include <string.h>

#include "device/logical_device.h"
#include "function/pass/fused_node.h"
#include "function/pass/layout_node.h"
#include "function/pass/pass.h"
#include "function/place/place_parts.h"
#include "op/op_infer_window.h"
#include "run/call_op.h"
#include "run/dispatch.h"

#include "ops/type_rows.h"

#define FEW_CHANNELS 16 /* fill no vector */
#define FEW_PLACES 16   /* of a row: with fewer, pools of planes take longer than two transposes */
#define MOST_COLUMNS 16 /* of a filter for planes, and MOST_TAPS elements */
#define MOST_TAPS 128

typedef struct planes_pass_t {
    gantry_runtime_t *runtime;
    gantry__graph_t *graph;
    uint32_t *uses;    /* by value */
    uint32_t *readers; /* by value: the uses that may read its operand */
    bool *is_awaited;  /* by node: another one waits for it or shares its device */
} planes_pass_t;

/* Whether the node is this Transpose, which nothing but its user knows. */
static bool planes_is_transpose(const planes_pass_t *pass, uint32_t index,
                                const gantry__wish_t *wish, gantry__order_t perm) {
    const gantry__graph_t *graph = pass->graph;
    const gantry__node_t *node = &graph->nodes[index];
    return gantry__node_is_pure(node) && node->op->id == GANTRY__OP_ID_Transpose &&
           node->control_count == 0 && !pass->is_awaited[index] && node->wish == wish &&
           graph->values[node->first_output].shape.rank == 4 &&
           gantry__layout_constant(graph, node->inputs[1]) &&
           gantry__layout_perm(graph, node) == perm;
}

/* The Transpose to channels last that makes the node's images; or NULL. */
static const gantry__node_t *planes_transpose_of(const planes_pass_t *pass,
                                                 const gantry__node_t *node) {
    const gantry__graph_t *graph = pass->graph;
    const gantry__value_t *images = &graph->values[node->inputs[0]];
    return planes_is_transpose(pass, images->node, node->wish,
                               gantry__order_invert(GANTRY__ORDER_LAST)) &&
                   images->shape.dims[3] > 0 && images->shape.dims[3] <= GANTRY__WINDOW_MOST_PLANES
               ? &graph->nodes[images->node]
               : NULL;
}

static gantry_status_t planes_find_device(gantry_runtime_t *runtime, const gantry__graph_t *graph,
                                          const gantry__node_t *node,
                                          const gantry_logical_device_t **out_device) {
    const uint32_t before = gantry__failures();
    const gantry__place_request_t request = gantry__dispatch_request(
        runtime, node->op, node->attrs, node->wish, NULL, graph->is_batch_invariant);
    gantry__kept_plan_t *kept = NULL;
    const gantry_status_t status = gantry__plan_cache_place(&runtime->plans, &request, &kept);
    *out_device = status == GANTRY_OK ? kept->plan.device : NULL;
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before);
    return GANTRY_OK;
}

/* The kernel that takes the node's call as this op, which is described; NULL: none on its device.
 */
static gantry_status_t planes_find_kernel(const planes_pass_t *pass, const gantry__node_t *node,
                                          gantry__op_id_t op, const gantry_attr_value_t *attrs,
                                          size_t count, gantry__asked_call_t *call,
                                          const gantry_kernel_def_t **out_kernel) {
    const gantry__fusing_t fusing = {.runtime = pass->runtime, .graph = pass->graph};
    const gantry_logical_device_t *device;
    *out_kernel = NULL;
    gantry__asked_init(call, op, node->input_count);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        call->shapes[i] = &pass->graph->values[node->inputs[i]].shape;
        call->dtypes[i] = pass->graph->values[node->inputs[i]].dtype;
    }
    GANTRY__TRY(gantry__op_infer(&call->infer, attrs, count));
    GANTRY__TRY(planes_find_device(pass->runtime, pass->graph, node, &device));
    return device ? gantry__fused_find_kernel(&fusing, call, node->wish, device, out_kernel)
                  : GANTRY_OK;
}

/* Whether the kernel of a convolution reads images whose channels come first, too. */
static gantry_status_t planes_find_reader(const planes_pass_t *pass, const gantry__node_t *node,
                                          bool *out_may) {
    uint32_t inputs[] = {node->inputs[0], node->inputs[1]};
    const gantry_kernel_def_t *own, *kernel;
    gantry_attr_value_t attrs[GANTRY__FUSED_NODE_ATTRS];
    gantry__asked_call_t call;
    gantry__node_t given = *node;
    const gantry__op_id_t op = (gantry__op_id_t)node->op->id;
    const size_t count = gantry__fused_copy_attrs(node, op, attrs);
    given.inputs = inputs;
    GANTRY__TRY(planes_find_kernel(pass, &given, op, attrs, count, &call, &own));
    inputs[0] = planes_transpose_of(pass, node)->inputs[0];
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(attrs[i].name, "input_format") == 0) attrs[i].s = "NCHW";
    }
    GANTRY__TRY(planes_find_kernel(pass, &given, op, attrs, count, &call, &kernel));
    *out_may = own && kernel == own;
    return GANTRY_OK;
}

/* Whether the node may read the operand of the Transpose that makes its images. */
static gantry_status_t planes_may_read(const planes_pass_t *pass, const gantry__node_t *node,
                                       bool *out_may) {
    const gantry_logical_device_t *device = NULL;
    const bool is_patches =
                   gantry__node_is_pure(node) && node->op->id == GANTRY__OP_ID_ExtractImagePatches,
               is_product =
                   gantry__node_is_pure(node) && node->op->id == GANTRY__OP_ID_ConvolveImages;
    *out_may = (is_patches || is_product) &&
               gantry__layout_attr(node, "input_format")->s[1] == 'H' &&
               planes_transpose_of(pass, node);
    if (!*out_may || is_patches) return GANTRY_OK;
    GANTRY__TRY(planes_find_device(pass->runtime, pass->graph, node, &device));
    *out_may = device && device->synchronous;
    if (!device || gantry__logical_is_processor(device)) return GANTRY_OK;
    return planes_find_reader(pass, node, out_may);
}

static gantry_status_t planes_set_format(const planes_pass_t *pass, gantry__node_t *node,
                                         const char *name) {
    const uint32_t count = node->op->attr_count;
    gantry_attr_t *attrs =
        gantry__arena_copy(&pass->graph->arena, node->attrs, count, sizeof *attrs);
    if (!attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < count; ++i) {
        if (strcmp(attrs[i].name, name) == 0) attrs[i].s = "NCHW";
    }
    node->attrs = attrs;
    return GANTRY_OK;
}

static void planes_count(const planes_pass_t *pass) {
    const gantry__graph_t *graph = pass->graph;
    gantry__pass_count_uses(graph, pass->uses);
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->control_count; ++k)
            pass->is_awaited[node->controls[k]] = true;
        for (uint32_t k = 0; k < node->colocated_count; ++k)
            pass->is_awaited[node->colocated[k]] = true;
    }
}

static gantry_status_t planes_take(const planes_pass_t *pass, bool *out_is_changed) {
    gantry__graph_t *graph = pass->graph;
    bool may;
    for (size_t i = 0; i < graph->node_count; ++i) {
        GANTRY__TRY(planes_may_read(pass, &graph->nodes[i], &may));
        if (may) ++pass->readers[graph->nodes[i].inputs[0]];
    }
    for (size_t i = 0; i < graph->node_count; ++i) {
        gantry__node_t *node = &graph->nodes[i];
        const uint32_t value = node->input_count > 0 ? node->inputs[0] : 0;
        if (node->input_count == 0 || pass->readers[value] == 0 ||
            pass->readers[value] != pass->uses[value])
            continue;
        *out_is_changed = true;
        node->inputs[0] = planes_transpose_of(pass, node)->inputs[0];
        GANTRY__TRY(planes_set_format(pass, node, "input_format"));
    }
    return GANTRY_OK;
}

/* ---- results ---- */

/* The convolution whose result only this Transpose takes; or NULL. */
static gantry__node_t *planes_convolution_of(const planes_pass_t *pass, uint32_t index) {
    const gantry__graph_t *graph = pass->graph;
    const gantry__node_t *node = &graph->nodes[index];
    if (node->input_count == 0) return NULL;
    const uint32_t value = node->inputs[0], maker = graph->values[value].node;
    gantry__node_t *made = &graph->nodes[maker];
    return planes_is_transpose(pass, index, made->wish, GANTRY__ORDER_LAST) &&
                   gantry__node_is_pure(made) &&
                   (made->op->id == GANTRY__OP_ID_ConvolveImages ||
                    made->op->id == GANTRY__OP_ID__FusedConvolveImages) &&
                   !pass->is_awaited[maker] && pass->uses[value] == 1 &&
                   gantry__layout_attr(made, "output_format")->s[1] == 'H'
               ? made
               : NULL;
}

/* Whether one node takes the result of this op, which nothing else knows. */
static bool planes_is_only_for(const planes_pass_t *pass, uint32_t index) {
    const gantry__node_t *node = &pass->graph->nodes[index];
    return gantry__node_is_pure(node) && !pass->is_awaited[index] &&
           pass->uses[node->first_output] == 1;
}

/* The product whose rows are the places of the images that only this Transpose takes; or NULL. */
static gantry__node_t *planes_product_of(const planes_pass_t *pass, uint32_t index) {
    const gantry__graph_t *graph = pass->graph;
    const gantry__node_t *node = &graph->nodes[index], *view;
    if (node->input_count == 0) return NULL;
    const gantry_shape_t *images = &graph->values[node->inputs[0]].shape;
    view = &graph->nodes[graph->values[node->inputs[0]].node];
    if (!gantry__node_is_reshape(view) || view->control_count > 0 || images->rank != 4 ||
        !planes_is_only_for(pass, graph->values[node->inputs[0]].node))
        return NULL;
    const uint32_t maker = graph->values[view->inputs[0]].node;
    gantry__node_t *made = &graph->nodes[maker];
    if (!planes_is_only_for(pass, maker) ||
        (made->op->id != GANTRY__OP_ID_MatMul && made->op->id != GANTRY__OP_ID__FusedMatMul))
        return NULL;
    const int64_t *rows = graph->values[made->first_output].shape.dims;
    return images->dims[1] > 0 && images->dims[2] > 0 && images->dims[3] > 0 &&
                   graph->values[made->first_output].shape.rank == 2 &&
                   rows[1] == images->dims[3] && view->wish == made->wish &&
                   planes_is_transpose(pass, index, made->wish, GANTRY__ORDER_LAST)
               ? made
               : NULL;
}

/* The op and attributes of a convolution or a product whose result has its channels first; returns
 * how many. */
static size_t planes_first_attrs(const gantry__node_t *node, const int64_t places[2],
                                 gantry_attr_value_t *attrs, gantry__op_id_t *out_op) {
    const bool is_alone = node->op->id == GANTRY__OP_ID_MatMul;
    *out_op = is_alone ? GANTRY__OP_ID__FusedMatMul : (gantry__op_id_t)node->op->id;
    size_t count = gantry__fused_copy_attrs(node, *out_op, attrs);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(attrs[i].name, "output_format") == 0) attrs[i].s = "NCHW";
        if (strcmp(attrs[i].name, "places") == 0) attrs[i] = gantry__attr_ints("places", places, 2);
    }
    if (!is_alone) return count;
    attrs[count++] = gantry__attr_ints("program", NULL, 0);
    attrs[count++] = gantry__attr_ints("places", places, 2);
    return count;
}

/* Makes the node's result one of channels first, if the kernel that computes it takes that. */
static gantry_status_t planes_turn_result(const planes_pass_t *pass, gantry__node_t *node,
                                          const int64_t places[2], bool *out_is_set) {
    const gantry_kernel_def_t *own, *kernel;
    gantry_attr_value_t given[GANTRY__FUSED_NODE_ATTRS];
    gantry__asked_call_t call;
    gantry__op_id_t op = (gantry__op_id_t)node->op->id;
    size_t count = gantry__fused_copy_attrs(node, op, given);
    GANTRY__TRY(planes_find_kernel(pass, node, op, given, count, &call, &own));
    count = planes_first_attrs(node, places, given, &op);
    GANTRY__TRY(planes_find_kernel(pass, node, op, given, count, &call, &kernel));
    *out_is_set = own && kernel && (kernel == own || kernel->data == own);
    if (!*out_is_set) node->apart = GANTRY__APART_TRANSPOSE;
    if (!*out_is_set) return GANTRY_OK;
    const uint32_t attr_count = call.infer.op->attr_count;
    gantry_attr_t *attrs =
        gantry__arena_copy(&pass->graph->arena, call.infer.attrs, attr_count, sizeof *attrs);
    int64_t *list = gantry__arena_copy(&pass->graph->arena, places, 2, sizeof *list);
    if (!attrs || !list) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < attr_count; ++i) {
        if (attrs[i].list == places) attrs[i].list = list;
    }
    node->op = call.infer.op;
    node->attrs = attrs;
    return GANTRY_OK;
}

/* The node that gives the Transpose's result; NULL: none can. */
static gantry_status_t planes_give_images(const planes_pass_t *pass, uint32_t index,
                                          gantry__node_t **out_made) {
    const gantry__graph_t *graph = pass->graph;
    gantry__node_t *made = planes_convolution_of(pass, index);
    bool is_set = false;
    if (!made) made = planes_product_of(pass, index);
    if (made) {
        const int64_t *images = graph->values[graph->nodes[index].inputs[0]].shape.dims;
        GANTRY__TRY(planes_turn_result(pass, made, &images[1], &is_set));
    }
    *out_made = is_set ? made : NULL;
    return GANTRY_OK;
}

/* Replaces the results of transposes by those of convolutions. `values` is by value. */
static gantry_status_t planes_give(const planes_pass_t *pass, uint32_t *values,
                                   bool *out_is_changed) {
    gantry__graph_t *graph = pass->graph;
    gantry__node_t *made;
    for (uint32_t i = 0; i < graph->value_count; ++i) values[i] = i;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k) node->inputs[k] = values[node->inputs[k]];
        GANTRY__TRY(planes_give_images(pass, i, &made));
        if (!made) continue;
        graph->values[made->first_output].shape = graph->values[node->first_output].shape;
        values[node->first_output] = made->first_output;
        *out_is_changed = true;
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = values[graph->outputs[i]];
    return GANTRY_OK;
}

/* ---- windows of planes ---- */

/* The kernel for planes takes neighbours of a row together, that for pixels channels: the faster
 * one has more of them. */
static bool planes_are_faster(const gantry__graph_t *graph, const gantry__node_t *node) {
    const gantry__value_t *result = &graph->values[node->first_output];
    const int64_t *filter = graph->values[node->inputs[1]].shape.dims, *dims = result->shape.dims;
    return result->dtype == GANTRY_FLOAT32 && filter[1] <= MOST_COLUMNS &&
           filter[0] * filter[1] <= MOST_TAPS && (dims[1] < FEW_CHANNELS || dims[1] < dims[3]);
}

static gantry__layout_planes_t planes_compare(const gantry__graph_t *graph,
                                              const gantry__node_t *node,
                                              const gantry_logical_device_t *device) {
    const gantry__value_t *result = &graph->values[node->first_output];
    switch (node->op->id) {
        case GANTRY__OP_ID_DepthwiseConv2dNative:
            return device->synchronous && planes_are_faster(graph, node) ? GANTRY__PLANES_FASTER
                                                                         : GANTRY__PLANES_SLOW;
        case GANTRY__OP_ID_MaxPool:
        case GANTRY__OP_ID_AvgPool:
            if (device->info.type != GANTRY_DEVICE_TYPE_CPU) return GANTRY__PLANES_ALIKE;
            return GANTRY__TYPE_IS(result->dtype, FLOATING) &&
                           (result->shape.dims[3] < 0 || result->shape.dims[3] >= FEW_PLACES)
                       ? GANTRY__PLANES_SLOWER
                       : GANTRY__PLANES_SLOW;
        default: return GANTRY__PLANES_SLOW;
    }
}

gantry_status_t gantry__layout_find_planes(const gantry__layout_t *layout) {
    const gantry_logical_device_t *device;
    for (size_t i = 0; i < layout->node_count; ++i) {
        const gantry__node_t *node = &layout->graph->nodes[i];
        if (!layout->is_free[i] || !gantry__node_is_pure(node) || !gantry__layout_is_window(node) ||
            !gantry__layout_is_channels_first(node))
            continue;
        GANTRY__TRY(planes_find_device(layout->runtime, layout->graph, node, &device));
        if (device) layout->planes[i] = planes_compare(layout->graph, node, device);
    }
    return GANTRY_OK;
}

/* ---- walks ---- */

static gantry_status_t planes_run(gantry_runtime_t *runtime, gantry__graph_t *graph, bool gives,
                                  bool *out_is_changed) {
    const gantry__heap_t *heap = graph->heap;
    const size_t values = graph->value_count, nodes = graph->node_count;
    const planes_pass_t pass = {.runtime = runtime,
                                .graph = graph,
                                .uses = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                                .readers = gantry__heap_zalloc(heap, values * sizeof(uint32_t)),
                                .is_awaited = gantry__heap_zalloc(heap, nodes)};
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (pass.uses && pass.readers && pass.is_awaited) {
        planes_count(&pass);
        status = gives ? planes_give(&pass, pass.readers, out_is_changed)
                       : planes_take(&pass, out_is_changed);
    }
    gantry__heap_free(heap, pass.uses, values * sizeof(uint32_t));
    gantry__heap_free(heap, pass.readers, values * sizeof(uint32_t));
    gantry__heap_free(heap, pass.is_awaited, nodes);
    return status;
}

gantry_status_t gantry__layout_read_planes(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                           bool *out_is_changed) {
    return planes_run(runtime, graph, false, out_is_changed);
}

gantry_status_t gantry__pass_give_planes(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                         bool *out_is_changed) {
    bool has_transpose = false;
    *out_is_changed = false;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        has_transpose |= node->kind == GANTRY__NODE_OP && node->op->id == GANTRY__OP_ID_Transpose;
    }
    return has_transpose ? planes_run(runtime, graph, true, out_is_changed) : GANTRY_OK;
}
