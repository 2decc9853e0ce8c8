/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, in order:
 *
 *   out of memory         another device: the first CPU with a kernel
 *   pinned                that device (a variable's, a colocated node's), or nothing
 *   requested             the first device that matches the wish and has a kernel
 *   requested, none, soft another device of the requested type, then any other: GPUs before CPUs
 *   no request            the first GPU with a kernel, then other types, then CPUs
 *
 * Each device that was tried and not chosen leaves a refusal with its own reason.
 *
 * Crossover (place/crossover.h) chooses among the devices that the last rule leaves free. Its
 * choice comes as a pinned device, and the device that it passes over as a refusal.
 *
 * Two callers share them: the eager path for each op, and function/place/place_graph.c for each
 * node. A graph adds only which devices a node's colocation group allows, and who pinned a node. */
#include "place/placer.h"

#include "device/device_table.h"
#include "device/loss.h"
#include "device/physical_device.h"

#include <stdio.h>
#include <string.h>

typedef gantry_logical_device_t logical_t;

static gantry_dtype_t first_dtype(const gantry__place_request_t *request) {
    for (uint32_t i = 0; i < request->op->attr_count; ++i) {
        if (request->attrs[i].kind == GANTRY_ATTR_TYPE) return (gantry_dtype_t)request->attrs[i].i;
    }
    return GANTRY_DTYPE_NONE;
}

/* Adds a refusal; lacking: the type that the device does not compute with. */
static void placer_refuse(gantry__plan_t *plan, const logical_t *device, gantry_refusal_t why,
                          gantry_dtype_t lacking) {
    uint32_t kept =
        plan->refusal_count < GANTRY_MAX_REFUSALS ? plan->refusal_count : GANTRY_MAX_REFUSALS;
    for (uint32_t i = 0; i < kept; ++i) {
        if (plan->refusals[i].device == device) return; /* its first reason is kept */
    }
    if (kept < GANTRY_MAX_REFUSALS) {
        plan->refusals[kept].device = device;
        plan->refusals[kept].why = why;
        plan->refusals[kept].lacking = lacking;
    }
    ++plan->refusal_count;
}

static uint64_t host_inputs_of(const gantry__op_def_t *op, const gantry_kernel_def_t *def) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < op->input_count; ++i) {
        if (op->inputs[i].flags & GANTRY__ARG_HOST ||
            gantry__kernel_has_host_arg(def, op->inputs[i].name))
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

/* Whether a kernel takes these shapes, by a call on its own device. A device that is not open yet
 * cannot judge shapes and counts as willing. */
static bool takes_call(const gantry__place_request_t *request, const logical_t *device,
                       const struct gantry_physical_device_t *view,
                       const gantry_kernel_def_t *def) {
    if (!request->call || !def->supports) return true;
    if (!atomic_load_explicit(&device->is_open, memory_order_acquire)) return true;
    if (gantry__logical_view(device) != view)
        return true; /* another view opened meanwhile: the caller plans again */
    gantry_op_call_t call = *request->call;
    call.device = device->handle;
    call.device_info = &device->info;
    call.stream = device->streams[GANTRY_STREAM_COMPUTE].handle;
    call.kernel = def;
    return def->supports(&call) != 0;
}

/* A variable is updated where it lives, but not on a device that does not compute with its type. */
static bool cannot_update(const struct gantry_physical_device_t *view,
                          const gantry__place_request_t *request) {
    return request->op->flags & GANTRY__OP_VARIABLE &&
           !(view->info.dtype_mask >> first_dtype(request) & 1);
}

/* Whether the kernel may take the op, by what it promises about batches. Notes in the plan the
 * library that is left for such a promise. */
static bool keeps_batches(const gantry__place_request_t *request, const gantry_kernel_def_t *def,
                          gantry__plan_t *plan) {
    if (!request->batch_invariant) return true;
    if (!plan->left_library && GANTRY_ABI_HAS(def, library)) plan->left_library = def->library;
    return (def->promises & GANTRY_KERNEL_BATCH_INVARIANT) != 0;
}

/* Puts the device's kernels into the plan. If there is none, *out_why gives the reason, and
 * *out_lacking the type that the device lacks. */
static bool find_kernels(const gantry__place_request_t *request, const logical_t *device,
                         gantry__plan_t *plan, gantry_refusal_t *out_why,
                         gantry_dtype_t *out_lacking) {
    size_t count;
    const gantry__kernel_entry_t *entries = gantry__kernel_registry_find(
        &request->registries[plan->view->position], request->op->name, &count);
    *out_why = count == 0 ? GANTRY_REFUSED_NO_KERNEL : GANTRY_REFUSED_NO_KERNEL_FOR_TYPE;
    *out_lacking = GANTRY_DTYPE_NONE;
    plan->kernel_count = 0;
    plan->left_library = NULL;
    for (size_t i = 0; i < count && plan->kernel_count < GANTRY__MAX_CANDIDATES; ++i) {
        gantry_dtype_t lacking;
        if (!gantry__kernel_takes_types(&entries[i], request->attrs, request->op->attr_count,
                                        &lacking)) {
            if (lacking == GANTRY_DTYPE_NONE || *out_why != GANTRY_REFUSED_NO_KERNEL_FOR_TYPE)
                continue;
            *out_why = GANTRY_REFUSED_DEVICE_LACKS_TYPE;
            *out_lacking = lacking;
        } else if (!keeps_batches(request, entries[i].def, plan)) {
            *out_why = GANTRY_REFUSED_BATCH_DEPENDENT;
        } else if (takes_call(request, device, plan->view, entries[i].def)) {
            plan->kernels[plan->kernel_count++] = &entries[i];
        } else {
            *out_why = GANTRY_REFUSED_KERNEL_DECLINED;
        }
    }
    return plan->kernel_count > 0;
}

static bool is_core_op(const gantry__op_def_t *op) {
    return (op->flags & (GANTRY__OP_SEQUENCED | GANTRY__OP_ON_HOST)) != 0;
}

static bool is_allowed(const gantry__place_request_t *request, const logical_t *device) {
    return !request->allowed ||
           (request->allowed[device->position / 64] >> device->position % 64 & 1);
}

/* Takes the device into the plan if it has a kernel; otherwise records why not. */
static bool try_device(const gantry__place_request_t *request, logical_t *device,
                       gantry__plan_t *plan) {
    gantry_refusal_t why;
    gantry_dtype_t lacking = GANTRY_DTYPE_NONE;
    plan->view = gantry__logical_view(device);
    if (gantry__device_is_lost(device)) {
        why = GANTRY_REFUSED_DEVICE_LOST;
    } else if (request->integer_variable && strcmp(device->physical->type, "CPU") != 0) {
        why = GANTRY_REFUSED_INTEGER_VARIABLE;
    } else if (cannot_update(plan->view, request)) {
        why = GANTRY_REFUSED_DEVICE_LACKS_TYPE;
        lacking = first_dtype(request);
    } else if (is_core_op(request->op)) { /* the core runs it on any device */
        plan->device = device;
        return true;
    } else if (find_kernels(request, device, plan, &why, &lacking)) {
        for (uint32_t i = 0; i < plan->kernel_count; ++i)
            plan->host_inputs[i] = host_inputs_of(request->op, plan->kernels[i]->def);
        plan->device = is_allowed(request, device) ? device : NULL;
        why = GANTRY_REFUSED_COLOCATED;
        if (plan->device) return true;
    }
    placer_refuse(plan, device, why, lacking);
    return false;
}

/* GPUs, then other accelerators, then CPUs; each in logical order. */
static int type_rank(const logical_t *device) {
    if (strcmp(device->physical->type, "GPU") == 0) return 0;
    return strcmp(device->physical->type, "CPU") == 0 ? 2 : 1;
}

typedef bool (*device_filter_t)(const gantry__place_request_t *request, const logical_t *device);

static bool try_all(const gantry__place_request_t *request, device_filter_t filter,
                    gantry__plan_t *plan) {
    for (int rank = 0; rank < 3; ++rank) {
        for (size_t i = 0; i < request->devices->logical_count; ++i) {
            logical_t *device = request->devices->logical[i];
            if (type_rank(device) == rank && filter(request, device) &&
                try_device(request, device, plan))
                return true;
        }
    }
    return false;
}

static bool is_listed(const gantry__place_request_t *request, const logical_t *device) {
    (void)request;
    return device->index >= 0;
}

static bool is_asked(const gantry__place_request_t *request, const logical_t *device) {
    return gantry__device_reference_matches(&request->wish->reference, device);
}

static bool is_of_asked_type(const gantry__place_request_t *request, const logical_t *device) {
    const gantry__device_name_t *name = &request->wish->reference.name;
    return device->index >= 0 && name->has_type &&
           strcmp(name->type, device->physical->type) == 0 && !is_asked(request, device);
}

static bool is_another(const gantry__place_request_t *request, const logical_t *device) {
    return device->index >= 0 && !is_asked(request, device) && !is_of_asked_type(request, device);
}

/* ---- errors ---- */

static void list_types(const gantry__place_request_t *request, char *out, size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < request->devices->listed_count && used < out_bytes; ++i) {
        gantry__plan_t probe = {.op = request->op};
        logical_t *device = request->devices->logical[i];
        if (strstr(out, device->physical->type) || !try_device(request, device, &probe)) continue;
        int length = snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "",
                              device->physical->type);
        used += length > 0 ? (size_t)length : 0;
    }
}

static bool has_any_kernel(const gantry__place_request_t *request) {
    for (size_t i = 0; i < request->devices->logical_count; ++i) {
        size_t count;
        size_t position = gantry__logical_view(request->devices->logical[i])->position;
        (void)gantry__kernel_registry_find(&request->registries[position], request->op->name,
                                           &count);
        if (count > 0) return true;
    }
    return false;
}

static gantry_status_t explain_refusal(const gantry__place_request_t *request,
                                       gantry__plan_t *plan) {
    plan->reason = GANTRY_PLACED_REFUSED;
    plan->device = NULL;
    char names[768], types[96];
    gantry__device_table_format_names(request->devices, names, sizeof names);
    list_types(request, types, sizeof types);
    const char *op = request->op->name, *dtype = gantry_dtype_name(plan->dtype);
    const char *asked = request->wish && !request->wish->is_empty ? request->wish->text : NULL;
    if (request->integer_variable) {
        return gantry__refuse(
            "Cannot assign a device for operation %s: Could not satisfy explicit device specification '%s' because no supported kernel for %s devices is available for a variable of type %s. All available devices [%s].",
            op, asked ? asked : "", "GPU", dtype, names);
    }
    if (!has_any_kernel(request) && !is_core_op(request->op)) {
        return gantry__fail(
            GANTRY_NOT_FOUND,
            "Could not find device for node: {{node %s}} = %s[T=%s]\nAll kernels registered for op %s:\n  <no registered kernels>\n",
            op, op, dtype, op);
    }
    if (asked) {
        return gantry__refuse(
            "Could not satisfy device specification '%s'. enable_soft_placement=%d. Supported device types [%s]. All available devices [%s]. Op %s.",
            asked, request->soft ? 1 : 0, types, names, op);
    }
    return gantry__refuse(
        "No supported device found in available devices [%s]. enable_soft_placement=%d. Supported devices types [%s]. Op %s of type %s.",
        names, request->soft ? 1 : 0, types, op, dtype);
}

/* TensorFlow's text, and which of the refused devices is lost or lacks a type, or why the requested
 * backend is not used. */
static gantry_status_t refuse_op(const gantry__place_request_t *request, gantry__plan_t *plan) {
    gantry_status_t status = explain_refusal(request, plan);
    for (uint32_t i = 0; i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        const logical_t *device = plan->refusals[i].device;
        if (plan->refusals[i].why == GANTRY_REFUSED_DEVICE_LOST) {
            return gantry__fail(status, "%s Device %s was lost: %s.", gantry__message(),
                                device->full_name, device->card->lost_text);
        }
        if (plan->refusals[i].why == GANTRY_REFUSED_DEVICE_LACKS_TYPE) {
            return gantry__fail(status, "%s Device %s does not compute with %s.", gantry__message(),
                                device->full_name, gantry_dtype_name(plan->refusals[i].lacking));
        }
        if (plan->refusals[i].why == GANTRY_REFUSED_BATCH_DEPENDENT)
            return gantry__fail(
                status,
                "%s The option batch_invariant is on, and no kernel of %s promises rows that do not depend on the batch; a kernel with GANTRY_KERNEL_BATCH_INVARIANT is accepted.",
                gantry__message(), device->full_name);
    }
    char unused[GANTRY__DEVICE_UNUSED_BYTES];
    if (request->wish &&
        *gantry__device_tell_unused(request->devices, &request->wish->reference, unused))
        return gantry__fail(status, "%s %s", gantry__message(), unused);
    return status;
}

/* The error of an op that would run elsewhere in another mode. */
static gantry_status_t refuse_required(const gantry__place_request_t *request,
                                       gantry__plan_t *plan) {
    gantry_status_t status = refuse_op(request, plan);
    const char *accepted =
        request->integer_variable
            ? "for an integer variable other than int64, a scope that requests the CPU or no device"
            : "a GPU with a kernel, or the requested device if it has one";
    return gantry__fail(
        status,
        "%s GANTRY_PLACEMENT=require (option placement_mode, gantry_set_placement_mode) allows no fall-back; accepted: %s.",
        gantry__message(), accepted);
}

/* ---- the five ways ---- */

static bool is_spare_cpu(const gantry__place_request_t *request, const logical_t *device) {
    return device->index >= 0 && device != request->exhausted &&
           strcmp(device->physical->type, "CPU") == 0;
}

static gantry_status_t place_exhausted(const gantry__place_request_t *request,
                                       gantry__plan_t *plan) {
    placer_refuse(plan, request->exhausted, GANTRY_REFUSED_OUT_OF_MEMORY, GANTRY_DTYPE_NONE);
    if (!try_all(request, is_spare_cpu, plan)) return refuse_op(request, plan);
    plan->reason = GANTRY_PLACED_OUT_OF_MEMORY;
    return GANTRY_OK;
}

static gantry_status_t place_pinned(const gantry__place_request_t *request, gantry__plan_t *plan) {
    logical_t *device = request->devices->logical[request->pinned->position];
    if (!try_device(request, device, plan)) {
        gantry_status_t status = refuse_op(request, plan);
        return gantry__device_is_lost(device) ? gantry__loss_fail(device) : status;
    }
    plan->reason = request->pin_reason ? request->pin_reason : GANTRY_PLACED_WITH_VARIABLE;
    return GANTRY_OK;
}

static gantry_status_t place_unasked(const gantry__place_request_t *request, gantry__plan_t *plan) {
    if (!try_all(request, is_listed, plan)) return refuse_op(request, plan);
    if (type_rank(plan->device) == 0) {
        plan->reason = GANTRY_PLACED_GPU_PREFERRED;
        return GANTRY_OK;
    }
    plan->reason = plan->refusal_count > 0 ? GANTRY_PLACED_ONLY_CPU_KERNEL : GANTRY_PLACED_NO_GPU;
    /* every program keeps integer variables on the CPU: that is no fallback */
    return request->require && !request->integer_variable ? refuse_required(request, plan)
                                                          : GANTRY_OK;
}

static bool is_wish_elsewhere(const gantry__wish_t *wish) {
    const gantry__device_name_t *name = &wish->reference.name;
    return (name->has_job && strcmp(name->job, "localhost") != 0) ||
           (name->has_replica && name->replica != 0) || (name->has_task && name->task != 0);
}

static bool is_wish_exact(const gantry__wish_t *wish) {
    const gantry__device_reference_t *reference = &wish->reference;
    return reference->kind == GANTRY__DEVICE_UUID_PREFIX ||
           reference->kind == GANTRY__DEVICE_PCI_ADDRESS || reference->name.has_index;
}

static void note_missing_device(const gantry__place_request_t *request, gantry__plan_t *plan) {
    for (size_t i = 0; i < request->devices->logical_count; ++i) {
        /* the device exists, and its refusal is recorded */
        if (is_asked(request, request->devices->logical[i])) return;
    }
    const gantry__device_name_t *name = &request->wish->reference.name;
    gantry_refusal_t why = GANTRY_REFUSED_NO_SUCH_DEVICE;
    for (size_t i = 0; i < request->devices->physical_count; ++i) {
        const struct gantry_physical_device_t *device = request->devices->physical[i];
        if (request->wish->reference.kind == GANTRY__DEVICE_PHYSICAL && device->listed &&
            strcmp(device->type, name->type) == 0 && device->number == name->index) {
            why = GANTRY_REFUSED_NOT_VISIBLE;
        }
    }
    placer_refuse(plan, NULL, why, GANTRY_DTYPE_NONE);
}

static gantry_status_t place_asked(const gantry__place_request_t *request, gantry__plan_t *plan) {
    if (is_wish_elsewhere(request->wish)) {
        plan->reason = GANTRY_PLACED_REFUSED;
        placer_refuse(plan, NULL, GANTRY_REFUSED_NO_SUCH_DEVICE, GANTRY_DTYPE_NONE);
        return gantry__refuse("%s unknown device.", request->wish->text);
    }
    if (try_all(request, is_asked, plan)) {
        plan->reason =
            is_wish_exact(request->wish) ? GANTRY_PLACED_EXPLICIT : GANTRY_PLACED_PARTIAL;
        return GANTRY_OK;
    }
    note_missing_device(request, plan);
    if (request->require) return refuse_required(request, plan);
    if (!request->soft) return refuse_op(request, plan);
    if (try_all(request, is_of_asked_type, plan)) {
        plan->reason = GANTRY_PLACED_SOFT_SAME_TYPE;
        return GANTRY_OK;
    }
    if (try_all(request, is_another, plan)) {
        plan->reason = GANTRY_PLACED_SOFT_OTHER_TYPE;
        return GANTRY_OK;
    }
    return refuse_op(request, plan);
}

static gantry_status_t place_by_rule(const gantry__place_request_t *request, gantry__plan_t *plan) {
    if (request->exhausted) return place_exhausted(request, plan);
    if (request->pinned) return place_pinned(request, plan);
    if (request->wish && !request->wish->is_empty) return place_asked(request, plan);
    return place_unasked(request, plan);
}

/* What becomes of the option any_order for the plan's first kernel. */
static gantry_any_order_t any_order_of(const gantry__place_request_t *request,
                                       const gantry__plan_t *plan) {
    if (!request->any_order) return GANTRY_ANY_ORDER_OFF;
    if (request->batch_invariant) return GANTRY_ANY_ORDER_BATCH_INVARIANT;
    if (plan->kernel_count == 0 || !(plan->kernels[0]->def->promises & GANTRY_KERNEL_ANY_ORDER))
        return GANTRY_ANY_ORDER_NOT_OF_OP;
    if (plan->dtype != GANTRY_FLOAT32) return GANTRY_ANY_ORDER_NOT_OF_TYPE;
    return plan->view->info.flags & GANTRY_DEVICE_FLOAT_ATOMICS ? GANTRY_ANY_ORDER_USED
                                                                : GANTRY_ANY_ORDER_NO_ATOMICS;
}

gantry_status_t gantry__place(const gantry__place_request_t *request, gantry__plan_t *out_plan) {
    *out_plan = (gantry__plan_t){.op = request->op,
                                 .dtype = first_dtype(request),
                                 .wish = request->wish,
                                 .batch_invariant = request->batch_invariant};
    GANTRY__TRY(place_by_rule(request, out_plan));
    out_plan->any_order = any_order_of(request, out_plan);
    if (request->passed_over && request->passed_over != out_plan->device)
        placer_refuse(out_plan, request->passed_over, request->passed_why, GANTRY_DTYPE_NONE);
    return GANTRY_OK;
}
