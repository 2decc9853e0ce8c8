/* SPDX-License-Identifier: Apache-2.0 */
/* Why a node has no device, in TensorFlow's words, with every refused device and its reason. */
#include <stdio.h>
#include <string.h>

#include "device/device_table.h"
#include "device/logical_device.h"
#include "device/physical_device.h"
#include "function/place/place_parts.h"

/* A text that is cut to fit. */
typedef struct cut_text_t {
    size_t used;
    char text[640];
} cut_text_t;

static void cut_add(cut_text_t *out, const char *before, const char *word) {
    const int length =
        snprintf(out->text + out->used, sizeof out->text - out->used, "%s%s", before, word);
    out->used += length > 0 ? (size_t)length : 0;
    if (out->used >= sizeof out->text) out->used = sizeof out->text - 1;
}

/* ---- what there is ---- */

static const gantry__kernel_entry_t *kernels_on(const gantry__graph_place_t *request,
                                                const gantry__node_t *node,
                                                const gantry_logical_device_t *device,
                                                size_t *out_count) {
    return gantry__kernel_registry_find(
        &request->rules.registries[gantry__logical_view(device)->position], node->op->name,
        out_count);
}

static void list_kernel(const gantry_logical_device_t *device, const gantry__kernel_entry_t *entry,
                        cut_text_t *out) {
    cut_add(out, "\n  device='", device->physical->type);
    cut_add(out, "'", "");
    for (uint32_t i = 0; i < entry->def->type_count; ++i) {
        cut_add(out, "; ", entry->def->types[i].attr ? entry->def->types[i].attr : "computes with");
        for (gantry_dtype_t type = 1; gantry_dtype_size(type) > 0; ++type) {
            if (entry->def->types[i].dtype_mask & GANTRY_DTYPE_BIT(type))
                cut_add(out, " ", gantry_dtype_name(type));
        }
    }
}

/* Lists the kernels of each type of device once; returns whether there is one. */
static bool list_kernels(const gantry__graph_place_t *request, const gantry__node_t *node,
                         cut_text_t *out) {
    const gantry__device_table_t *devices = request->rules.devices;
    bool has_any = false;
    for (size_t i = 0; i < devices->logical_count; ++i) {
        const gantry_logical_device_t *device = devices->logical[i];
        bool is_known = false;
        for (size_t k = 0; k < i; ++k)
            is_known |= strcmp(devices->logical[k]->physical->type, device->physical->type) == 0;
        size_t count;
        const gantry__kernel_entry_t *entries = kernels_on(request, node, device, &count);
        has_any |= count > 0;
        for (size_t k = 0; k < count && !is_known; ++k) list_kernel(device, &entries[k], out);
    }
    return has_any;
}

static void list_refusals(const gantry__kept_plan_t *refused, const gantry__wish_t *wish,
                          cut_text_t *out) {
    const gantry__plan_t *plan = &refused->plan;
    for (uint32_t i = 0; i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        const gantry_logical_device_t *device = plan->refusals[i].device;
        cut_add(out, "\n  ", device ? device->full_name : wish ? wish->text : "");
        cut_add(out, ": ", gantry_refusal_text(plan->refusals[i].why));
        if (plan->refusals[i].why == GANTRY_REFUSED_DEVICE_LACKS_TYPE)
            cut_add(out, ", ", gantry_dtype_name(plan->refusals[i].lacking));
        if (plan->refusals[i].why == GANTRY_REFUSED_DEVICE_LOST && device)
            cut_add(out, ": ", device->card->lost_text);
    }
}

static const gantry_logical_device_t *find_wished(const gantry__graph_place_t *request,
                                                  const gantry__wish_t *wish) {
    const gantry__device_table_t *devices = request->rules.devices;
    for (size_t i = 0; i < devices->logical_count; ++i) {
        if (gantry__device_reference_matches(&wish->reference, devices->logical[i]))
            return devices->logical[i];
    }
    return NULL;
}

static bool has_type(const gantry__graph_place_t *request, const char *type) {
    const gantry__device_table_t *devices = request->rules.devices;
    for (size_t i = 0; i < devices->logical_count; ++i) {
        if (strcmp(devices->logical[i]->physical->type, type) == 0) return true;
    }
    return false;
}

/* ---- the texts ---- */

static gantry_status_t refuse_unknown(const gantry__graph_place_t *request,
                                      const gantry__node_t *node, const gantry__wish_t *wish) {
    char names[768];
    const bool is_gpu = wish->reference.name.has_type &&
                        strcmp(wish->reference.name.type, "GPU") == 0 && !has_type(request, "GPU");
    gantry__device_table_format_names(request->rules.devices, names, sizeof names);
    return gantry__refuse(
        "{{node %s}} was explicitly assigned to %s but available devices are [ %s ]. Make sure the device specification refers to a valid device.%s",
        node->name, wish->text, names,
        is_gpu ? " The requested device appears to be a GPU, but no GPU is visible." : "");
}

static gantry_status_t refuse_unregistered(const gantry__node_t *node,
                                           const gantry__kept_plan_t *refused,
                                           const cut_text_t *kernels, const cut_text_t *refusals) {
    return gantry__refuse(
        "No OpKernel was registered to support Op '%s' used by {{node %s}} with these attrs: [T=%s]\nRegistered kernels:%s\nRefused devices:%s",
        node->op->name, node->name, gantry_dtype_name(refused->plan.dtype),
        kernels->used > 0 ? kernels->text : "\n  <no registered kernels>", refusals->text);
}

static void list_group(const gantry__place_groups_t *groups, uint32_t node, cut_text_t *out,
                       const char **out_required) {
    const gantry__graph_place_t *request = groups->request;
    const gantry__device_table_t *devices = request->rules.devices;
    uint32_t at = node;
    *out_required = "";
    do {
        cut_add(out, "\n  ", request->graph->nodes[at].name);
        cut_add(out, " (", request->graph->nodes[at].op->name);
        cut_add(out, ")", "");
        at = groups->next[at];
    } while (at != node);
    while (groups->parents[at] != at) at = groups->parents[at];
    const gantry__place_group_t *group = groups->groups[at];
    for (size_t i = devices->logical_count; i-- > 0;) {
        if (group->allowed[i / 64] >> i % 64 & 1) *out_required = devices->logical[i]->full_name;
    }
}

static gantry_status_t refuse_colocated(const gantry__graph_place_t *request, uint32_t index,
                                        const gantry__wish_t *wish,
                                        const gantry__place_groups_t *groups,
                                        const cut_text_t *refusals) {
    char names[768];
    cut_text_t members = {.used = 0};
    const char *required;
    gantry__device_table_format_names(request->rules.devices, names, sizeof names);
    list_group(groups, index, &members, &required);
    return gantry__refuse(
        "Could not satisfy explicit device specification '%s' because the node {{colocation_node %s}} was colocated with a group of nodes that required incompatible device '%s'. All available devices [%s].\nColocation group:%s\nRefused devices:%s",
        wish->text, request->graph->nodes[index].name, required, names, members.text,
        refusals->text);
}

static gantry_status_t refuse_asked(const gantry__node_t *node, const gantry__wish_t *wish,
                                    const gantry_logical_device_t *wished,
                                    const cut_text_t *kernels, const cut_text_t *refusals) {
    return gantry__refuse(
        "Could not satisfy explicit device specification '%s' because no supported kernel for %s devices is available.\nOp: %s\nNode: {{node %s}}\nRegistered kernels:%s\nRefused devices:%s",
        wish->text, wished->physical->type, node->op->name, node->name,
        kernels->used > 0 ? kernels->text : "\n  <no registered kernels>", refusals->text);
}

static bool is_refused_by_group(const gantry__kept_plan_t *refused) {
    for (uint32_t i = 0; i < refused->plan.refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        if (refused->plan.refusals[i].why == GANTRY_REFUSED_COLOCATED) return true;
    }
    return false;
}

gantry_status_t gantry__place_refuse(const gantry__graph_place_t *request, uint32_t node,
                                     const gantry__node_ask_t *ask,
                                     const gantry__kept_plan_t *refused,
                                     const gantry__place_groups_t *groups, gantry_status_t status) {
    const gantry__node_t *of = &request->graph->nodes[node];
    const gantry__wish_t *wish = ask->wish && !ask->wish->is_empty ? ask->wish : NULL;
    cut_text_t kernels = {.used = 0}, refusals = {.used = 0};
    /* the eager placer's texts say what the mode accepts */
    const bool is_core = (of->op->flags & (GANTRY__OP_SEQUENCED | GANTRY__OP_ON_HOST)) != 0;
    if (!refused || refused->plan.device || (request->rules.require && !is_core)) return status;
    const bool has_any = list_kernels(request, of, &kernels) || is_core;
    list_refusals(refused, wish, &refusals);
    if (!has_any || !wish) return refuse_unregistered(of, refused, &kernels, &refusals);
    const gantry_logical_device_t *wished = find_wished(request, wish);
    if (!wished) return refuse_unknown(request, of, wish);
    if (groups && is_refused_by_group(refused))
        return refuse_colocated(request, node, wish, groups, &refusals);
    return refuse_asked(of, wish, wished, &kernels, &refusals);
}
