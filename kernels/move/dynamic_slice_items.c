/* SPDX-License-Identifier: Apache-2.0 */
/* XlaDynamicSlice and XlaDynamicUpdateSlice (kernels/move/dynamic_slice.cl). The update needs the
 * time of the box only, where its result takes the whole's memory. */
#include "kernels/common/item_kernel.h"
#include "kernels/move/dynamic_slice.cl"
#include "kernels/move/dynamic_slice_items.h"

GANTRY_K_ITEM_TEXTS(dynamic_slice, GANTRY_DYNAMIC_SLICE_ITEMS, gantry__text_dynamic_slice);

#define LONGEST_RUN INT64_C(1024)

static void add_start(gantry__box_t *box, int64_t place, int64_t limit, int64_t step) {
    box->places[box->start_count] = place;
    box->limits[box->start_count] = limit;
    box->steps[box->start_count++] = step;
}

/* Collapses the dimensions, from the last one on. */
static void set_dimensions(gantry__box_t *box, const gantry_arg_t *whole,
                           const gantry_arg_t *part) {
    int64_t dims[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK], stride = 1;
    int32_t count = 0;
    bool is_whole = false; /* the dimension after this one, and it has an entry */
    for (int32_t d = whole->rank - 1; d >= 0; --d) {
        if (part->dims[d] < whole->dims[d])
            add_start(box, d, whole->dims[d] - part->dims[d], stride);
        if (is_whole) {
            dims[count - 1] *= part->dims[d];
        } else if (part->dims[d] > 1 || count == 0) {
            dims[count] = part->dims[d];
            strides[count++] = stride;
        }
        is_whole = count > 0 && dims[count - 1] * strides[count - 1] == stride * whole->dims[d];
        stride *= whole->dims[d];
    }
    if (count == 0) dims[count++] = strides[0] = 1;
    box->rank = count;
    for (int32_t d = 0; d < count; ++d) {
        box->dims[d] = dims[count - 1 - d];
        box->strides[d] = strides[count - 1 - d];
    }
}

static int32_t run_box(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *whole,
                       const gantry_arg_t *part, const gantry_arg_t *starts) {
    if (part->element_count == 0) return GANTRY_OK;
    const int64_t most = gantry__k_is_serial(call) ? LONGEST_RUN : 1;
    const bool takes = item == ITEM_take_box;
    gantry__box_t box = {
        .start_bytes = (int64_t)gantry__k_size(starts->dtype),
        .start_signed = (GANTRY_DTYPE_BIT(starts->dtype) & GANTRY_DTYPES_SIGNED) != 0};
    set_dimensions(&box, whole, part);
    const int64_t size = box.dims[box.rank - 1], length = size < most ? size : most;
    box.runs =
        (gantry__runs_t){.size = size, .length = length, .count = (size + length - 1) / length};
    gantry__k_item_launch_t launch = {
        .item = item,
        .t = gantry__k_twin(whole->dtype),
        .count = part->element_count / size * box.runs.count,
        .item_bytes = length * (int64_t)gantry__k_size(whole->dtype),
        .elements = length,
        .is_costly = length > 1,
        .parameters = &box,
        .parameter_bytes = sizeof box,
        /* no starts may have no memory; the kernel does not read them */
        .spans = {starts->element_count > 0 ? starts->span : part->span,
                  takes ? whole->span : part->span, takes ? part->span : whole->span},
        .span_count = 3};
    return gantry__k_run_items(call, &launch);
}

static int32_t compute_dynamic_slice(gantry_op_call_t *call) {
    return run_box(call, ITEM_take_box, call->inputs[0], call->outputs[0], call->inputs[1]);
}

static int32_t compute_dynamic_update_slice(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0], *update = call->inputs[1], *out = call->outputs[0];
    const bool is_whole = update->element_count == out->element_count;
    if (!is_whole) GANTRY__TRY(call->services->copy(call, &out->span, &input->span));
    return run_box(call, ITEM_put_box, out, update, call->inputs[2]);
}

static const gantry_type_constraint_t box_types[] = {{"T", GANTRY_DTYPES_ANY},
                                                     {"Tindices", GANTRY_DTYPES_INTEGERS}};
static const char *const slice_hosts[] = {"size_indices"};

GANTRY_K_ITEM_KERNEL_HOST(slice, dynamic_slice, "XlaDynamicSlice", box_types, slice_hosts,
                          compute_dynamic_slice);
GANTRY_K_ITEM_KERNEL_IN_PLACE(update, dynamic_slice, "XlaDynamicUpdateSlice", box_types,
                              compute_dynamic_update_slice);

#define OPS(OP) \
    OP(slice)   \
    OP(update)
GANTRY_K_ITEM_PACK(dynamic_slice, OPS);
