/* SPDX-License-Identifier: Apache-2.0 */
/* The generic call by name, and queries about kernels and programs. */
#include <gantry/op.h>

#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"
#include "run/eager.h"
#include "shared/struct_size.h"

/* ---- calls ---- */

static gantry_status_t find_op(const char *name, const char *call,
                               const gantry__op_def_t **out_op) {
    if (!name) return gantry__refuse("%s: the op's name is NULL", call);
    *out_op = gantry__op_find(name);
    if (!*out_op)
        return gantry__fail(GANTRY_NOT_FOUND,
                            "Op type not registered '%s'; gantry_op_info lists the %zu that are",
                            name, gantry_op_count());
    if ((*out_op)->flags & GANTRY__OP_SEQUENCED) {
        return gantry__refuse(
            "op %s is not called by name; gantry_constant and the functions of variable.h run it",
            name);
    }
    return GANTRY_OK;
}

static gantry_status_t check_call_lists(const gantry__op_request_t *call,
                                        const size_t *output_count) {
    const char *name = call->op->name;
    if (call->input_count > 0 && !call->inputs)
        return gantry__refuse("op %s: %zu inputs are given at NULL", name, call->input_count);
    if (call->attr_count > 0 && !call->attrs)
        return gantry__refuse("op %s: %zu attributes are given at NULL", name, call->attr_count);
    if (!call->outputs || !output_count)
        return gantry__refuse("op %s: outputs or output_count is NULL", name);
    return GANTRY_OK;
}

/* Returns the room in the outputs, all NULL now. */
static size_t empty_outputs(const gantry_tensor_t **outputs, size_t *output_count) {
    const size_t room = output_count && outputs ? *output_count : 0;
    for (size_t i = 0; i < room; ++i) outputs[i] = NULL;
    if (output_count) *output_count = 0;
    return room;
}

static gantry_status_t run_call(gantry_scope_t *scope, const gantry__op_request_t *call,
                                size_t *output_count) {
    gantry_status_t status = check_call_lists(call, output_count);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    return gantry__run_op(scope, call, output_count);
}

gantry_status_t gantry_op_call(gantry_scope_t *scope, const char *name,
                               const gantry_tensor_t *const *inputs, size_t input_count,
                               const gantry_attr_value_t *attrs, size_t attr_count,
                               const gantry_tensor_t **outputs, size_t *output_count) {
    gantry__op_request_t call = {.inputs = inputs,
                                 .input_count = input_count,
                                 .attrs = attrs,
                                 .attr_count = attr_count,
                                 .outputs = outputs,
                                 .room = empty_outputs(outputs, output_count)};
    GANTRY__TRY(gantry__scope_check(scope));
    gantry_status_t status = find_op(name, "gantry_op_call", &call.op);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    return run_call(scope, &call, output_count);
}

gantry_status_t gantry_op_call_parts(gantry_scope_t *scope, const char *name,
                                     const gantry_tensor_t *const *inputs, size_t input_count,
                                     const gantry_attr_value_t *attrs, size_t attr_count,
                                     const gantry_tensor_t **outputs, size_t *output_count) {
    if (scope) scope->takes_parts = true;
    const gantry_status_t status =
        gantry_op_call(scope, name, inputs, input_count, attrs, attr_count, outputs, output_count);
    if (scope) scope->takes_parts = false;
    return status;
}

/* ---- prepared ops ---- */

#define MOST_PREPARED_NUMBERS 65536 /* in a list; fused programs are the longest */

/* One block of memory: the struct, the lists of attributes, their texts. */
struct gantry_prepared_op_t {
    gantry_runtime_t *runtime; /* held */
    size_t bytes;              /* the size of the block */
    const gantry__op_def_t *op;
    gantry__draws_t **draws; /* &own: a prepared op is const, its draws go on */
    gantry__draws_t *own;    /* NULL: it did not draw */
    size_t attr_count;
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    int64_t lists[];
};

static size_t length_of_list(const gantry_attr_t *attr) {
    return attr->kind == GANTRY_ATTR_INTS || attr->kind == GANTRY_ATTR_SHAPE ? (size_t)attr->i : 0;
}

/* The caller's list may be shorter than it says; no op takes so many numbers. */
static gantry_status_t check_list_lengths(const gantry__infer_t *call) {
    for (uint32_t i = 0; i < call->op->attr_count; ++i) {
        if (length_of_list(&call->attrs[i]) <= MOST_PREPARED_NUMBERS) continue;
        return gantry__refuse("%s: attribute '%s' has %lld entries; accepted are 0 to %d",
                              call->op->name, call->op->attrs[i].name, (long long)call->attrs[i].i,
                              MOST_PREPARED_NUMBERS);
    }
    return GANTRY_OK;
}

/* The bytes of the block for the given attributes. */
static size_t bytes_of_prepared(const gantry__infer_t *call) {
    size_t bytes = sizeof(gantry_prepared_op_t);
    for (uint32_t i = 0; i < call->op->attr_count; ++i) {
        const gantry_attr_t *attr = &call->attrs[i];
        if (!(call->given >> i & 1)) continue;
        bytes += length_of_list(attr) * sizeof *attr->list;
        if (attr->kind == GANTRY_ATTR_STRING) bytes += strlen(attr->s) + 1;
    }
    return bytes;
}

static void copy_prepared_texts(gantry_prepared_op_t *prepared, char *place) {
    for (size_t i = 0; i < prepared->attr_count; ++i) {
        gantry_attr_value_t *attr = &prepared->attrs[i];
        if (attr->kind != GANTRY_ATTR_STRING) continue;
        const size_t bytes = strlen(attr->s) + 1;
        attr->s = memcpy(place, attr->s, bytes);
        place += bytes;
    }
}

/* Copies the attributes, lists first, so that each is aligned. */
static void copy_prepared_attrs(gantry_prepared_op_t *prepared, const gantry__infer_t *call) {
    int64_t *list = prepared->lists;
    for (uint32_t i = 0; i < call->op->attr_count; ++i) {
        const gantry_attr_t *attr = &call->attrs[i];
        const size_t length = length_of_list(attr);
        if (!(call->given >> i & 1)) continue;
        gantry_attr_value_t *copy = &prepared->attrs[prepared->attr_count++];
        *copy = (gantry_attr_value_t){.name = call->op->attrs[i].name,
                                      .kind = (gantry_attr_kind_t)attr->kind,
                                      .i = attr->i,
                                      .f = attr->f,
                                      .s = attr->s,
                                      .list = list};
        if (length > 0) memcpy(list, attr->list, length * sizeof *list);
        list += length;
    }
    copy_prepared_texts(prepared, (char *)list);
}

gantry_status_t gantry_op_prepare(gantry_runtime_t *runtime, const char *name,
                                  const gantry_attr_value_t *attrs, size_t attr_count,
                                  gantry_prepared_op_t **out_prepared) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__infer_t call = {.shapes = NULL};
    if (!out_prepared) return gantry__refuse("gantry_op_prepare: out_prepared is NULL");
    *out_prepared = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    GANTRY__TRY(find_op(name, "gantry_op_prepare", &call.op));
    call.input_count = call.op->input_count;
    GANTRY__TRY(gantry__op_infer(&call, attrs, attr_count));
    GANTRY__TRY(check_list_lengths(&call));
    const size_t bytes = bytes_of_prepared(&call);
    gantry_prepared_op_t *prepared = gantry__heap_alloc(&runtime->heap, bytes);
    if (!prepared) return GANTRY_RESOURCE_EXHAUSTED;
    prepared->runtime = gantry__runtime_retain(runtime, 1);
    prepared->bytes = bytes;
    prepared->op = call.op;
    prepared->draws = &prepared->own;
    prepared->own = NULL;
    prepared->attr_count = 0;
    copy_prepared_attrs(prepared, &call);
    *out_prepared = prepared;
    return GANTRY_OK;
}

gantry_status_t gantry_op_call_prepared(gantry_scope_t *scope, const gantry_prepared_op_t *prepared,
                                        const gantry_tensor_t *const *inputs, size_t input_count,
                                        const gantry_tensor_t **outputs, size_t *output_count) {
    const size_t room = empty_outputs(outputs, output_count);
    GANTRY__TRY(gantry__scope_check(scope));
    if (!prepared || prepared->runtime != scope->runtime)
        return gantry__scope_fail(
            scope,
            gantry__refuse(
                "gantry_op_call_prepared: prepared %s; one of the scope's runtime is accepted",
                prepared ? "belongs to another runtime" : "is NULL"));
    const gantry__op_request_t call = {.op = prepared->op,
                                       .inputs = inputs,
                                       .input_count = input_count,
                                       .attrs = prepared->attrs,
                                       .attr_count = prepared->attr_count,
                                       .outputs = outputs,
                                       .room = room};
    scope->own_draws = prepared->draws;
    const gantry_status_t status = run_call(scope, &call, output_count);
    scope->own_draws = NULL;
    return status;
}

void gantry_prepared_op_release(gantry_prepared_op_t *prepared) {
    if (!prepared || !gantry__runtime_is_ours(prepared->runtime)) return;
    gantry_runtime_t *runtime = prepared->runtime;
    gantry__draws_release(prepared->own);
    gantry__heap_free(&runtime->heap, prepared, prepared->bytes);
    gantry__runtime_drop(runtime, 1);
}

/* ---- kernels ---- */

/* Type attributes come first; an op without one takes one type only. */
static const gantry__op_attr_t *first_type_attr(const gantry__op_def_t *op) {
    return op->attr_count > 0 && op->attrs[0].kind == GANTRY_ATTR_TYPE ? &op->attrs[0] : NULL;
}

static bool op_takes_type(const gantry__op_def_t *op, gantry_dtype_t dtype) {
    const gantry__op_attr_t *type = first_type_attr(op);
    if ((unsigned)dtype > 63) return false;
    if (type) return type->dtype_mask >> dtype & 1;
    return op->input_count == 0 || op->inputs[0].type == GANTRY__TYPE_FIXED(dtype);
}

static const char *who_has_kernel(const gantry__kernel_registry_t *registry,
                                  const gantry__op_def_t *op, gantry_dtype_t dtype) {
    const gantry__op_attr_t *type = first_type_attr(op);
    const gantry_attr_t attr = {.struct_size = sizeof attr,
                                .kind = GANTRY_ATTR_TYPE,
                                .name = type ? type->name : "T",
                                .i = (int64_t)dtype};
    size_t count;
    const gantry__kernel_entry_t *entries =
        gantry__kernel_registry_find(registry, op->name, &count);
    for (size_t i = 0; i < count; ++i) {
        if (!op_takes_type(op, dtype) || gantry__kernel_takes_types(&entries[i], &attr, 1, NULL))
            return entries[i].source;
    }
    return NULL;
}

/* A composed op runs where all its parts run, without the optional ones. Its parts may be composed
 * again, but no op is a part of itself. A part that does not take the type works on other types. */
static const char *who_runs(const gantry__kernel_registry_t *registry, const gantry__op_def_t *op,
                            gantry_dtype_t dtype) {
    if (!(op->flags & GANTRY__OP_COMPOSED)) return who_has_kernel(registry, op, dtype);
    uint32_t count;
    const uint16_t *parts = gantry__op_parts(op, &count);
    for (uint32_t i = 0; i < count; ++i) {
        const gantry__op_def_t *part = gantry__op_get((gantry__op_id_t)parts[i]);
        if (!(part->flags & GANTRY__OP_OPTIONAL) && !who_runs(registry, part, dtype)) return NULL;
    }
    return "composed";
}

gantry_status_t gantry_op_has_kernel(gantry_runtime_t *runtime, const char *op_name,
                                     const gantry_logical_device_t *device, gantry_dtype_t dtype,
                                     bool *out_has, const char **out_source) {
    if (out_has) *out_has = false;
    if (out_source) *out_source = "";
    GANTRY__TRY(gantry__runtime_check(runtime));
    const gantry__op_def_t *op = op_name ? gantry__op_find(op_name) : NULL;
    if (!op_name) return gantry__refuse("gantry_op_has_kernel: the op's name is NULL");
    if (!op) return gantry__fail(GANTRY_NOT_FOUND, "Op type not registered '%s'", op_name);
    if (!device || !out_has)
        return gantry__refuse("gantry_op_has_kernel: %s is NULL", device ? "out_has" : "device");
    if (device->table != &runtime->devices)
        return gantry__refuse("gantry_op_has_kernel: device %s belongs to another runtime",
                              device->name);
    GANTRY__TRY(gantry__runtime_initialize(runtime, "gantry_op_has_kernel"));
    const gantry__kernel_registry_t *registry =
        &runtime->registries[gantry__logical_view(device)->position];
    const char *source = op_takes_type(op, dtype) ? who_runs(registry, op, dtype) : NULL;
    *out_has = source != NULL;
    if (source && out_source) *out_source = source;
    return GANTRY_OK;
}

gantry_status_t gantry_get_program_stats(gantry_runtime_t *runtime,
                                         gantry_program_stats_t *out_stats) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    const gantry__program_counters_t *counters = &runtime->counters;
    gantry_program_stats_t all = {.built = atomic_load(&counters->built),
                                  .loaded = atomic_load(&counters->loaded),
                                  .reused = atomic_load(&counters->reused),
                                  .bad_entries = atomic_load(&counters->bad_entries),
                                  .launches = atomic_load(&counters->launches),
                                  .build_ns = atomic_load(&counters->build_ns)};
    return gantry__struct_fill(out_stats, &all, sizeof all, "gantry_get_program_stats: out_stats");
}
