/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of an explanation, read off the trace's schedule, and the public calls that give
 * them. */
#include "function/explain/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"
#include "shared/struct_size.h"

/* ---- nodes ---- */

/* A needed node has a slot for each of its values that something uses. */
static bool has_slot(const gantry__explained_t *explained, const gantry__node_t *node) {
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (explained->schedule->first_slots[node->first_output + i] != GANTRY__NO_SLOT)
            return true;
    }
    return node->output_count == 0;
}

static void explain_nodes(gantry__explained_t *explained) {
    for (size_t i = 0; i < explained->graph->node_count; ++i) {
        explained->is_used[i] = has_slot(explained, &explained->graph->nodes[i]);
        explained->unused_count += !explained->is_used[i];
    }
    for (size_t i = 0; i < explained->schedule->action_count; ++i) {
        const gantry__action_t *action = &explained->schedule->actions[i];
        if (action->kind == GANTRY__ACTION_CALL) explained->calls[action->node] = (uint32_t)i + 1;
    }
}

/* ---- copies ---- */

static void explain_copy(gantry__explained_t *explained, const gantry__action_t *action) {
    const gantry__slot_t *source = &explained->schedule->slots[action->inputs[0]];
    explained->copies[explained->copy_count++] = (gantry__explained_copy_t){
        .value = source->value,
        .from = source->device,
        .to = action->kind == GANTRY__ACTION_HOST ? NULL : action->device,
        .is_constant = source->kind == GANTRY__SLOT_CONSTANT};
    explained->copied_bytes += explained->graph->values[source->value].bytes;
}

static void explain_constant(gantry__explained_t *explained, const gantry__slot_t *slot) {
    const gantry__value_t *value = &explained->graph->values[slot->value];
    const gantry_tensor_t *given = explained->graph->nodes[value->node].tensor;
    if (!given || given->device == slot->device) return;
    explained->copies[explained->copy_count++] = (gantry__explained_copy_t){
        .value = slot->value, .from = given->device, .to = slot->device, .is_constant = true};
}

static void explain_copies(gantry__explained_t *explained) {
    const gantry__schedule_t *schedule = explained->schedule;
    for (size_t i = 0; i < schedule->slot_count; ++i) {
        if (schedule->slots[i].kind == GANTRY__SLOT_CONSTANT)
            explain_constant(explained, &schedule->slots[i]);
    }
    for (size_t i = 0; i < schedule->action_count; ++i) {
        const gantry__action_kind_t kind = schedule->actions[i].kind;
        if (kind == GANTRY__ACTION_COPY || kind == GANTRY__ACTION_HOST)
            explain_copy(explained, &schedule->actions[i]);
    }
}

/* ---- devices and their memory ---- */

static void explain_devices(gantry__explained_t *explained, size_t all_count) {
    gantry__schedule_sum_bytes(explained->schedule, explained->devices);
    for (size_t i = 0; i < all_count; ++i) {
        if (explained->devices[i].device)
            explained->devices[explained->device_count++] = explained->devices[i];
    }
}

/* ---- all facts ---- */

static gantry_status_t explain_all(gantry__explained_t *explained, const char *name,
                                   const gantry__schedule_t *schedule) {
    *explained =
        (gantry__explained_t){.name = name, .graph = schedule->graph, .schedule = schedule};
    gantry__arena_t *memory = &explained->memory;
    gantry__arena_init(memory, &schedule->runtime->heap);
    explained->is_used = gantry__arena_zalloc(memory, schedule->graph->node_count, sizeof(bool));
    explained->calls = gantry__arena_zalloc(memory, schedule->graph->node_count, sizeof(uint32_t));
    explained->copies = gantry__arena_zalloc(memory, schedule->slot_count + schedule->action_count,
                                             sizeof *explained->copies);
    if (!explained->is_used || !explained->calls || !explained->copies) {
        gantry__arena_deinit(memory);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    explain_nodes(explained);
    explain_copies(explained);
    return GANTRY_OK;
}

static gantry_status_t explain_init(gantry__explained_t *explained, const char *name,
                                    const gantry__schedule_t *schedule) {
    const size_t all_count = schedule->runtime->devices.logical_count;
    GANTRY__TRY(explain_all(explained, name, schedule));
    explained->devices =
        gantry__arena_zalloc(&explained->memory, all_count, sizeof *explained->devices);
    if (!explained->devices) {
        gantry__arena_deinit(&explained->memory);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    explain_devices(explained, all_count);
    return GANTRY_OK;
}

gantry_status_t gantry__explained_init_body(gantry__explained_t *explained,
                                            const gantry__explained_t *outer,
                                            const gantry__schedule_t *schedule) {
    GANTRY__TRY(explain_all(explained, outer->name, schedule));
    explained->devices = outer->devices;
    explained->device_count = outer->device_count;
    return GANTRY_OK;
}

void gantry__explained_deinit(gantry__explained_t *explained) {
    gantry__arena_deinit(&explained->memory);
}

/* ---- for the written forms ---- */

const char *const gantry__explained_apart[] = {"", "the kernel computes only the product",
                                               "the kernel writes channels last"};

const char *gantry__explained_short(const gantry_logical_device_t *device) {
    return strncmp(device->name, "/device:", 8) == 0 ? device->name + 8 : device->name;
}

size_t gantry__explained_device(const gantry__explained_t *explained,
                                const gantry_logical_device_t *device) {
    size_t i = 0;
    while (i < explained->device_count && explained->devices[i].device != device) ++i;
    return i;
}

const gantry_logical_device_t *gantry__explained_home(const gantry__explained_t *explained,
                                                      size_t node) {
    const gantry__node_place_t *place = &explained->schedule->places[node];
    return place->reason == GANTRY_PLACED_WITH_CONSUMER && !place->device ? NULL : place->home;
}

bool gantry__explained_lies_on(const gantry__explained_t *explained, uint32_t value,
                               const gantry_logical_device_t *device) {
    uint32_t at = explained->schedule->first_slots[value];
    while (at != GANTRY__NO_SLOT && explained->schedule->slots[at].device != device)
        at = explained->schedule->slots[at].next_of_value;
    return at != GANTRY__NO_SLOT;
}

static bool reads_on_host(const gantry__explained_t *explained, uint32_t node, uint32_t i) {
    if (explained->calls[node] == 0) return false;
    const gantry__action_t *action = &explained->schedule->actions[explained->calls[node] - 1];
    return explained->schedule->slots[action->inputs[i]].kind == GANTRY__SLOT_HOST;
}

const gantry__explained_copy_t *gantry__explained_copy_of(const gantry__explained_t *explained,
                                                          uint32_t node, uint32_t i) {
    const uint32_t value = explained->graph->nodes[node].inputs[i];
    const bool on_host = reads_on_host(explained, node, i);
    const gantry_logical_device_t *to = on_host ? NULL : explained->schedule->places[node].device;
    if (!to && !on_host) return NULL; /* a view of an argument or a constant */
    for (size_t k = 0; k < explained->copy_count; ++k) {
        if (explained->copies[k].value == value && explained->copies[k].to == to)
            return &explained->copies[k];
    }
    return NULL;
}

gantry__value_name_t gantry__explained_name(const gantry__explained_t *explained, uint32_t value) {
    const gantry__node_t *node = &explained->graph->nodes[explained->graph->values[value].node];
    gantry__value_name_t name;
    if (value == node->first_output) {
        (void)snprintf(name.text, sizeof name.text, "%s", node->name);
    } else {
        (void)snprintf(name.text, sizeof name.text, "%s:%u", node->name,
                       value - node->first_output);
    }
    return name;
}

const gantry__block_t *gantry__explained_block(const gantry__explained_t *explained,
                                               uint32_t node) {
    const gantry__schedule_t *schedule = explained->schedule;
    for (size_t i = 0; i < schedule->block_count; ++i) {
        if (schedule->blocks[i].node == node) return &schedule->blocks[i];
    }
    return NULL;
}

gantry__value_name_t gantry__explained_body(const gantry__node_t *node, uint32_t body) {
    static const char *const loop[] = {"condition", "body"}, *const branch[] = {"then", "else"};
    gantry__value_name_t name;
    const char *const *names = node->kind == GANTRY__NODE_WHILE ? loop
                               : node->op == &gantry__op_if     ? branch
                                                                : NULL;
    if (names && body < 2) {
        (void)snprintf(name.text, sizeof name.text, "%s", names[body]);
    } else {
        (void)snprintf(name.text, sizeof name.text, "body %u", body);
    }
    return name;
}

void gantry__explained_left_out(const gantry__explained_t *explained,
                                void (*write)(const char *name, bool is_first, gantry__text_t *out),
                                gantry__text_t *out) {
    const gantry__graph_t *graph = explained->graph;
    bool is_first = true;
    for (uint32_t i = 0; i < graph->dropped_count; ++i, is_first = false)
        write(graph->dropped[i], is_first, out);
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (explained->is_used[i]) continue;
        write(graph->nodes[i].name, is_first, out);
        is_first = false;
    }
}

static const char *node_of_action(const gantry__explained_t *explained, uint32_t action) {
    return explained->graph->nodes[explained->schedule->actions[action].node].name;
}

static gantry__explained_run_t explain_run(const gantry__explained_t *explained,
                                           const gantry__run_t *run) {
    gantry__explained_run_t explained_run = {.run = *run, .first = "", .last = ""};
    if (gantry__replay_ask_device(explained->schedule, run->device) != GANTRY__REPLAYS)
        return explained_run;
    explained_run.first = node_of_action(explained, run->first);
    explained_run.last = node_of_action(explained, run->end - 1);
    gantry__replay_notes_t *notes = explained->schedule->notes;
    if (!notes) return explained_run;
    explained_run.captures = (uint32_t)atomic_load(&notes->actions[run->first].captures);
    explained_run.replays = atomic_load(&notes->actions[run->first].replays);
    return explained_run;
}

void gantry__explained_runs(const gantry__explained_t *explained, bool without_few,
                            void (*write)(const gantry__explained_t *explained,
                                          const gantry__explained_run_t *run, bool is_first,
                                          gantry__text_t *out),
                            gantry__text_t *out) {
    uint64_t told = 0; /* bits of devices whose reason is already written */
    bool is_first = true;
    gantry__run_t run;
    for (uint32_t from = 0; gantry__replay_next_run(explained->schedule, from, &run);
         from = run.end) {
        if (run.device->synchronous || (without_few && run.why == GANTRY__REPLAY_FEW)) continue;
        const gantry__explained_run_t explained_run = explain_run(explained, &run);
        const uint64_t bit = UINT64_C(1) << (gantry__explained_device(explained, run.device) % 64);
        if (!*explained_run.first && (told & bit)) continue;
        if (!*explained_run.first) told |= bit;
        write(explained, &explained_run, is_first, out);
        is_first = false;
    }
}

const char *gantry__explained_wish(const gantry__node_t *node) {
    return node->wish && !node->wish->is_empty ? node->wish->text : "";
}

void gantry__explained_refusal(const gantry__plan_t *plan, uint32_t i, gantry__text_t *out) {
    const gantry_refusal_t why = plan->refusals[i].why;
    gantry__text_append(out, "%s", gantry_refusal_text(why));
    if (why == GANTRY_REFUSED_DEVICE_LACKS_TYPE && plan->refusals[i].lacking != GANTRY_DTYPE_NONE)
        gantry__text_append(out, ": %s", gantry_dtype_name(plan->refusals[i].lacking));
}

/* ---- public calls ---- */

/* The newest trace, which the caller leaves. */
static gantry_status_t take_newest(gantry_function_t *function, const char *call,
                                   gantry__specialization_t **out_specialization) {
    if (!function)
        return gantry__refuse(
            "%s: the function is NULL; one from gantry_function_trace is accepted", call);
    GANTRY__TRY(gantry__runtime_check_well(function->runtime));
    GANTRY__TRY(gantry__function_newest(function, out_specialization));
    if (*out_specialization) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION, "%s: function %s has no trace yet; %s", call, function->name,
        function->runs_eagerly
            ? "it runs its body op by op in each call, since its option runs_eagerly is set"
            : "its signature leaves sizes open, so that the first call makes one");
}

static gantry_status_t explain_call(gantry_function_t *function, const char *call,
                                    gantry__specialization_t **out_specialization,
                                    gantry__explained_t *out_explained) {
    GANTRY__TRY(take_newest(function, call, out_specialization));
    gantry_status_t status =
        explain_init(out_explained, function->name, &(*out_specialization)->schedule);
    if (status != GANTRY_OK) gantry__function_leave(function, *out_specialization);
    return status;
}

static gantry_status_t write_explanation(const gantry__explained_t *explained,
                                         gantry_explain_form_t form, char *out, size_t out_bytes,
                                         size_t *out_needed) {
    gantry__text_t text;
    gantry__text_init(&text, explained->memory.heap);
    switch (form) {
        case GANTRY_EXPLAIN_TEXT: gantry__explain_as_text(explained, &text); break;
        case GANTRY_EXPLAIN_JSON: gantry__explain_as_json(explained, &text); break;
        case GANTRY_EXPLAIN_GRAPHVIZ: gantry__explain_as_graphviz(explained, &text); break;
    }
    gantry_status_t status = gantry__text_status(&text);
    if (status == GANTRY_OK && out_bytes > 0) {
        const size_t copied = text.length < out_bytes - 1 ? text.length : out_bytes - 1;
        memcpy(out, gantry__text_get(&text), copied);
        out[copied] = '\0';
    }
    if (status == GANTRY_OK && out_needed) *out_needed = text.length;
    gantry__text_deinit(&text);
    return status;
}

gantry_status_t gantry_function_explain(gantry_function_t *function, gantry_explain_form_t form,
                                        char *out, size_t out_bytes, size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__explained_t explained;
    gantry__specialization_t *specialization;
    if (out && out_bytes > 0) out[0] = '\0';
    if (out_needed) *out_needed = 0;
    if (form != GANTRY_EXPLAIN_TEXT && form != GANTRY_EXPLAIN_JSON &&
        form != GANTRY_EXPLAIN_GRAPHVIZ)
        return gantry__refuse(
            "gantry_function_explain: form is %d; GANTRY_EXPLAIN_TEXT, GANTRY_EXPLAIN_JSON and GANTRY_EXPLAIN_GRAPHVIZ are accepted",
            (int)form);
    if (!out && out_bytes > 0)
        return gantry__refuse("gantry_function_explain: out is NULL, but out_bytes is %zu",
                              out_bytes);
    GANTRY__TRY(explain_call(function, "gantry_function_explain", &specialization, &explained));
    gantry_status_t status = write_explanation(&explained, form, out, out_bytes, out_needed);
    gantry__explained_deinit(&explained);
    gantry__function_leave(function, specialization);
    return status;
}

static void put_memory(const gantry__device_bytes_t *from, gantry_function_memory_t *list, size_t i,
                       uint32_t struct_size) {
    gantry_function_memory_t memory = {.planned_bytes = from->planned_bytes,
                                       .unplanned_bytes = from->unplanned_bytes,
                                       .constant_bytes = from->constant_bytes,
                                       .result_bytes = from->result_bytes};
    (void)snprintf(memory.device, sizeof memory.device, "%s", from->device->full_name);
    gantry__struct_fill_at(list, i, struct_size, &memory);
}

gantry_status_t gantry_function_get_memory(gantry_function_t *function, size_t capacity,
                                           gantry_function_memory_t *out_memory,
                                           size_t *out_count) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__explained_t explained;
    gantry__specialization_t *specialization;
    uint32_t struct_size = sizeof *out_memory;
    if (!out_count) return gantry__refuse("gantry_function_get_memory: out_count is NULL");
    if (capacity > 0)
        GANTRY__TRY(gantry__struct_check(out_memory, sizeof *out_memory,
                                         "gantry_function_get_memory: out_memory", &struct_size));
    GANTRY__TRY(explain_call(function, "gantry_function_get_memory", &specialization, &explained));
    for (size_t i = 0; i < explained.device_count && i < capacity; ++i)
        put_memory(&explained.devices[i], out_memory, i, struct_size);
    *out_count = explained.device_count;
    gantry__explained_deinit(&explained);
    gantry__function_leave(function, specialization);
    return GANTRY_OK;
}
