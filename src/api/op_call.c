/* SPDX-License-Identifier: Apache-2.0 */
/* The generic call by name, and queries about kernels and programs. */
#include <gantry/op.h>

#include "base/struct_size.h"
#include "device/logical_device.h"
#include "run/eager.h"

static gantry_status_t check_call(const char *name, const gantry_tensor_t *const *inputs,
                                  size_t input_count, const gantry__op_def_t **out_op) {
    if (!name)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_op_call: the op's name is NULL");
    *out_op = gantry__op_find(name);
    if (!*out_op)
        return gantry__fail(GANTRY_NOT_FOUND,
                            "Op type not registered '%s'; gantry_op_info lists the %zu that are",
                            name, gantry_op_count());
    if ((*out_op)->flags & GANTRY__OP_SEQUENCED) {
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "op %s is not called by name; gantry_constant and the functions of variable.h run it",
            name);
    }
    if (input_count > 0 && !inputs)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "op %s: %zu inputs are given at NULL", name,
                            input_count);
    return GANTRY_OK;
}

gantry_status_t gantry_op_call(gantry_scope_t *scope, const char *name,
                               const gantry_tensor_t *const *inputs, size_t input_count,
                               const gantry_attr_value_t *attrs, size_t attr_count,
                               const gantry_tensor_t **outputs, size_t *output_count) {
    size_t room = output_count && outputs ? *output_count : 0;
    for (size_t i = 0; i < room; ++i) outputs[i] = NULL;
    if (output_count) *output_count = 0;
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return status;
    const gantry__op_def_t *op = NULL;
    status = check_call(name, inputs, input_count, &op);
    if (status == GANTRY_OK && attr_count > 0 && !attrs)
        status = gantry__fail(GANTRY_INVALID_ARGUMENT, "op %s: %zu attributes are given at NULL",
                              name, attr_count);
    if (status == GANTRY_OK && (!outputs || !output_count))
        status =
            gantry__fail(GANTRY_INVALID_ARGUMENT, "op %s: outputs or output_count is NULL", name);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    size_t count = room;
    status = gantry__run_op_into(scope, op, inputs, input_count, attrs, attr_count, NULL, outputs,
                                 &count);
    *output_count = count;
    return status;
}

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

/* A composed op runs where all its parts run. Its parts may be composed again, but no op is a part
 * of itself. A part that does not take the type works on other types. */
static const char *who_runs(const gantry__kernel_registry_t *registry, const gantry__op_def_t *op,
                            gantry_dtype_t dtype) {
    if (!(op->flags & GANTRY__OP_COMPOSED)) return who_has_kernel(registry, op, dtype);
    uint32_t count;
    const uint16_t *parts = gantry__op_parts(op, &count);
    for (uint32_t i = 0; i < count; ++i) {
        if (!who_runs(registry, gantry__op_get((gantry__op_id_t)parts[i]), dtype)) return NULL;
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
    if (!op_name)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_op_has_kernel: the op's name is NULL");
    if (!op) return gantry__fail(GANTRY_NOT_FOUND, "Op type not registered '%s'", op_name);
    if (!device || !out_has)
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "gantry_op_has_kernel: %s is NULL",
                            device ? "out_has" : "device");
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
