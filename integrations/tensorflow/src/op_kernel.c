/* SPDX-License-Identifier: Apache-2.0 */
/* The one kernel of every op of the op table: its inputs go to gantry_op_call under Gantry's name,
 * and its results go to TensorFlow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "op_flat.h"
#include "op_many.h"
#include "op_move.h"
#include "op_rank.h"
#include "op_table.h"
#include "status.h"

/* A computation with TensorFlow's inputs, which sets output 0. attrs are Gantry's. */
typedef void op_deep_t(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                       size_t attr_count);

/* The values of a node's attributes, read when TensorFlow makes its kernel. */
typedef struct op_kernel_t {
    const op_row_t *row;
    op_deep_t *deep; /* for tensors with more dimensions than Gantry's; NULL: an error */
    gantry_prepared_op_t *prepared; /* NULL: an adapter changes the attributes of each call */
    size_t attr_count;
    gantry_attr_value_t attrs[OP_ATTRS];
    void *owned[OP_ATTRS]; /* texts and lists of attrs */
} op_kernel_t;

static void op_kernel_destroy(void *data) {
    op_kernel_t *kernel = data;
    if (!kernel) return;
    if (!device_is_forked()) gantry_prepared_op_release(kernel->prepared);
    for (size_t i = 0; i < OP_ATTRS; ++i) free(kernel->owned[i]);
    free(kernel);
}

/* ---- attributes ---- */

static void read_list(TF_OpKernelConstruction *construction, gantry_attr_value_t *value,
                      void **out_owned, int32_t count, TF_Status *status) {
    if (count < 1) return;
    int64_t *list = calloc((size_t)count, sizeof *list);
    if (!list) {
        status_set_memory(status);
        return;
    }
    *out_owned = list;
    value->i = count;
    value->list = list;
    TF_OpKernelConstruction_GetAttrInt64List(construction, value->name, list, count, status);
}

static void op_kernel_read_text(TF_OpKernelConstruction *construction, gantry_attr_value_t *value,
                                void **out_owned, int32_t bytes, TF_Status *status) {
    char *text = calloc((size_t)bytes + 1, 1);
    if (!text) {
        status_set_memory(status);
        return;
    }
    *out_owned = text;
    value->s = text;
    TF_OpKernelConstruction_GetAttrString(construction, value->name, text, (size_t)bytes, status);
}

static void read_plain(TF_OpKernelConstruction *construction, gantry_attr_value_t *value,
                       TF_Status *status) {
    TF_Bool flag = 0;
    float number = 0;
    TF_DataType type = 0;
    if (value->kind == GANTRY_ATTR_BOOL) {
        TF_OpKernelConstruction_GetAttrBool(construction, value->name, &flag, status);
        value->i = flag;
    } else if (value->kind == GANTRY_ATTR_INT) {
        TF_OpKernelConstruction_GetAttrInt64(construction, value->name, &value->i, status);
    } else if (value->kind == GANTRY_ATTR_FLOAT) {
        TF_OpKernelConstruction_GetAttrFloat(construction, value->name, &number, status);
        value->f = (double)number;
    } else {
        TF_OpKernelConstruction_GetAttrType(construction, value->name, &type, status);
        value->i = type;
    }
}

static void read_attr(op_kernel_t *kernel, TF_OpKernelConstruction *construction,
                      const op_attr_t *attr, TF_Status *status) {
    gantry_attr_value_t *value = &kernel->attrs[kernel->attr_count];
    void **owned = &kernel->owned[kernel->attr_count];
    int32_t count = 0, bytes = 0;
    *value = (gantry_attr_value_t){.name = attr->name, .kind = attr->kind, .s = attr->text};
    if (attr->text) ++kernel->attr_count;
    if (attr->text || !TF_OpKernelConstruction_HasAttr(construction, attr->name, status)) return;
    TF_OpKernelConstruction_GetAttrSize(construction, attr->name, &count, &bytes, status);
    if (TF_GetCode(status) != TF_OK) return;
    ++kernel->attr_count;
    if (attr->kind == GANTRY_ATTR_INTS) {
        read_list(construction, value, owned, count, status);
    } else if (attr->kind == GANTRY_ATTR_STRING) {
        op_kernel_read_text(construction, value, owned, bytes, status);
    } else {
        read_plain(construction, value, status);
    }
}

/* Whether the number of outputs is one that no call of Gantry takes (op_many.h). */
static bool has_many_outputs(const op_kernel_t *kernel) {
    for (size_t i = 0; i < kernel->attr_count; ++i) {
        const gantry_attr_value_t *attr = &kernel->attrs[i];
        const bool is_count = !strcmp(attr->name, "num") || !strcmp(attr->name, "num_split");
        if (is_count && attr->i > GANTRY_MAX_OP_OUTPUTS) return true;
    }
    return false;
}

/* Finds the op and checks its attributes once for all calls. */
static void op_kernel_prepare(op_kernel_t *kernel, TF_OpKernelConstruction *construction) {
    if (device_is_forked()) {
        bridge_refuse(construction, GANTRY_FAILED_PRECONDITION, device_fork_text());
        return;
    }
    const gantry_status_t status =
        gantry_op_prepare(device_runtime(), kernel->row->gantry, kernel->attrs, kernel->attr_count,
                          &kernel->prepared);
    if (status) bridge_refuse(construction, status, gantry_last_message());
}

static void cut_deep(bridge_call_t *call, const op_row_t *row, const gantry_attr_value_t *attrs,
                     size_t attr_count) {
    op_many_compute(call, row, attrs, attr_count, TF_NumInputs(call->context),
                    TF_NumOutputs(call->context));
}

static op_deep_t *find_deep(const op_row_t *row) {
    if (op_rank_is_reduction(row)) return op_rank_compute;
    if (row->is_elementwise) return op_flat_compute;
    if (!strcmp(row->op, "Fill")) return op_flat_fill;
    if (!strcmp(row->gantry, "Concat")) return op_move_concat;
    if (!strcmp(row->gantry, "Pack")) return op_move_pack;
    if (!strcmp(row->gantry, "Unpack") || !strncmp(row->gantry, "Split", 5)) return cut_deep;
    return strcmp(row->gantry, "Transpose") ? NULL : op_move_transpose;
}

static bool takes_types(TF_OpKernelConstruction *construction, const op_row_t *row,
                        TF_Status *status) {
    for (size_t i = 0; i < REGISTER_TYPES && row->types[i].attr; ++i) {
        TF_DataType type = 0;
        TF_OpKernelConstruction_GetAttrType(construction, row->types[i].attr, &type, status);
        if (TF_GetCode(status) != TF_OK || !(row->types[i].types >> type & 1)) return false;
    }
    return true;
}

/* The row of the node's op. Rows of a second op of Gantry, which serves further types, come
 * later. */
static const op_row_t *find_typed_row(TF_OpKernelConstruction *construction, const char *op,
                                      TF_Status *status) {
    const op_row_t *first = op_row_find(op);
    for (const op_row_t *row = first; row && !strcmp(row->op, op); row = op_row_next(row)) {
        if (strcmp(row->gantry, first->gantry) && takes_types(construction, row, status))
            return row;
    }
    return first;
}

static void *op_kernel_create(TF_OpKernelConstruction *construction) {
    char op[128];
    if (!bridge_op_name(construction, op, sizeof op)) return NULL;
    op_kernel_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    TF_Status *status = TF_NewStatus();
    kernel->row = find_typed_row(construction, op, status);
    kernel->deep = find_deep(kernel->row);
    for (const op_attr_t *attr = kernel->row->attrs; attr->name; ++attr) {
        read_attr(kernel, construction, attr, status);
        if (TF_GetCode(status) == TF_OK) continue;
        TF_OpKernelConstruction_Failure(construction, status);
        break;
    }
    if (TF_GetCode(status) == TF_OK && !kernel->row->adapt && !has_many_outputs(kernel))
        op_kernel_prepare(kernel, construction);
    TF_DeleteStatus(status);
    return kernel;
}

/* ---- the call ---- */

/* Whether output 0 may have the memory of input 0. The result is a tensor of its own, so any op may
 * do it. */
static bool fits_in_place(const gantry_tensor_t *input, const gantry_tensor_t *output) {
    return gantry_tensor_dtype(input) == gantry_tensor_dtype(output) &&
           gantry_shape_equal(gantry_tensor_shape(input), gantry_tensor_shape(output));
}

static void call_gantry(const op_kernel_t *kernel, bridge_call_t *call,
                        const gantry_tensor_t **inputs, size_t input_count,
                        const gantry_tensor_t **outputs, size_t *count) {
    const op_row_t *row = kernel->row;
    if (bridge_has_failed(call)) return;
    if (!row->adapt) {
        (void)gantry_op_call_prepared(call->scope, kernel->prepared, inputs, input_count, outputs,
                                      count);
        return;
    }
    op_args_t args = {
        .inputs = inputs, .input_count = input_count, .attr_count = kernel->attr_count};
    memcpy(args.attrs, kernel->attrs, sizeof args.attrs);
    row->adapt(call, &args);
    if (bridge_has_failed(call)) return;
    (void)gantry_op_call(call->scope, row->gantry, inputs, args.input_count, args.attrs,
                         args.attr_count, outputs, count);
}

/* Whether an input, or the result of Fill or Pack, has more dimensions than Gantry's. */
static bool is_deep(const op_kernel_t *kernel, const bridge_call_t *call,
                    const gantry_tensor_t *const *inputs) {
    if (!inputs[0]) return call->is_deep;
    const gantry_shape_t *shape = gantry_tensor_shape(inputs[0]);
    if (kernel->deep == op_flat_fill) return shape->rank == 1 && shape->dims[0] > GANTRY_MAX_RANK;
    return call->is_deep || (kernel->deep == op_move_pack && shape->rank == GANTRY_MAX_RANK);
}

static void op_kernel_compute(void *data, TF_OpKernelContext *context) {
    const op_kernel_t *kernel = data;
    const gantry_tensor_t *inputs[GANTRY_MAX_OP_INPUTS], *outputs[GANTRY_MAX_OP_OUTPUTS];
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    const int input_count = TF_NumInputs(context), output_count = TF_NumOutputs(context);
    if (op_many_is_needed(input_count, output_count)) {
        op_many_compute(&call, kernel->row, kernel->attrs, kernel->attr_count, input_count,
                        output_count);
        bridge_end(&call);
        return;
    }
    call.takes_any_rank = kernel->deep && kernel->deep != op_flat_fill;
    for (int i = 0; i < input_count; ++i) inputs[i] = bridge_input(&call, i);
    if (kernel->deep && is_deep(kernel, &call, inputs)) {
        kernel->deep(&call, kernel->row, kernel->attrs, kernel->attr_count);
        bridge_end(&call);
        return;
    }
    size_t count = GANTRY_MAX_OP_OUTPUTS;
    call_gantry(kernel, &call, inputs, (size_t)input_count, outputs, &count);
    for (int i = 0; !bridge_has_failed(&call) && i < output_count && i < (int)count; ++i) {
        if (!i && input_count && fits_in_place(inputs[0], outputs[0])) {
            bridge_output_in_place(&call, 0, 0, outputs[0]);
        } else {
            bridge_output(&call, i, outputs[i]);
        }
    }
    bridge_end(&call);
}

void op_kernel_register(void) {
    for (size_t i = 0; op_row_at(i); ++i) {
        const op_row_t *row = op_row_at(i);
        register_kernel_t kernel = {.op = row->op,
                                    .priority = row->priority,
                                    .create = op_kernel_create,
                                    .compute = op_kernel_compute,
                                    .destroy = op_kernel_destroy};
        memcpy(kernel.types, row->types, sizeof kernel.types);
        memcpy(kernel.host_args, row->host_args, sizeof kernel.host_args);
        register_kernel(&kernel);
    }
}
