/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the first convolutions of a body read images whose channels come first, and the last ones
 * give such results:
 *
 *     x -> Transpose -> ConvolveImages      becomes      x -> ConvolveImages, input_format "NCHW"
 *     ConvolveImages -> Transpose -> y      becomes      ConvolveImages, output_format "NCHW" -> y
 *
 * The first holds for images of at most GANTRY__WINDOW_MOST_PLANES channels, and if all that use
 * the transposed images are such convolutions, or patches of them; the second if nothing else uses
 * the result. ConvolveImages reads and writes planes only on the CPU backend. The second walk comes
 * after fusing, because an epilogue has its channels last. No bit changes.
 *
 * Before the walk of the pass, notes the depthwise convolutions that read planes as fast as pixels.
 */
#include <string.h>

#include "device/logical_device.h"
#include "function/pass/layout_node.h"
#include "function/pass/pass.h"
#include "op/op_infer_window.h"
#include "run/dispatch.h"

#define FEW_CHANNELS 16 /* fill no vector */
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
    return GANTRY_OK;
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

/* Replaces the results of transposes by those of convolutions. `values` is by value. */
static gantry_status_t planes_give(const planes_pass_t *pass, uint32_t *values,
                                   bool *out_is_changed) {
    gantry__graph_t *graph = pass->graph;
    const gantry_logical_device_t *device;
    for (uint32_t i = 0; i < graph->value_count; ++i) values[i] = i;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k) node->inputs[k] = values[node->inputs[k]];
        gantry__node_t *made = planes_convolution_of(pass, i);
        if (!made) continue;
        GANTRY__TRY(planes_find_device(pass->runtime, graph, made, &device));
        if (!device || !device->synchronous) continue;
        GANTRY__TRY(planes_set_format(pass, made, "output_format"));
        graph->values[made->first_output].shape = graph->values[node->first_output].shape;
        values[node->first_output] = made->first_output;
        *out_is_changed = true;
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = values[graph->outputs[i]];
    return GANTRY_OK;
}

/* ---- depthwise convolutions ---- */

/* The kernel for planes takes neighbours of a row together, that for pixels channels: the faster
 * one has more of them. */
static bool planes_are_faster(const gantry__graph_t *graph, const gantry__node_t *node) {
    if (!gantry__node_is_pure(node) || node->op->id != GANTRY__OP_ID_DepthwiseConv2dNative ||
        !gantry__layout_is_channels_first(node))
        return false;
    const gantry__value_t *result = &graph->values[node->first_output];
    const int64_t *filter = graph->values[node->inputs[1]].shape.dims, *dims = result->shape.dims;
    return result->dtype == GANTRY_FLOAT32 && filter[1] <= MOST_COLUMNS &&
           filter[0] * filter[1] <= MOST_TAPS && (dims[1] < FEW_CHANNELS || dims[1] < dims[3]);
}

gantry_status_t gantry__layout_find_planes(const gantry__layout_t *layout) {
    const gantry_logical_device_t *device;
    for (size_t i = 0; i < layout->node_count; ++i) {
        const gantry__node_t *node = &layout->graph->nodes[i];
        if (!layout->is_free[i] || !planes_are_faster(layout->graph, node)) continue;
        GANTRY__TRY(planes_find_device(layout->runtime, layout->graph, node, &device));
        layout->reads_planes[i] = device && device->synchronous;
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
    bool has_convolution = false;
    *out_is_changed = false;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        has_convolution |=
            node->kind == GANTRY__NODE_OP && (node->op->id == GANTRY__OP_ID_ConvolveImages ||
                                              node->op->id == GANTRY__OP_ID__FusedConvolveImages);
    }
    return has_convolution ? planes_run(runtime, graph, true, out_is_changed) : GANTRY_OK;
}
