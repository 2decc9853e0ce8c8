/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation for programs: the facts of the text form, and the nodes' inputs, as one JSON
 * object on one line. */
#include <inttypes.h>

#include "base/json_text.h"
#include "device/logical_device.h"
#include "function/explain/explain.h"

typedef gantry__explained_t explained_t;

/* ---- pieces ---- */

static void write_value_name(const explained_t *explained, uint32_t value, gantry__text_t *out) {
    const gantry__value_name_t name = gantry__explained_name(explained, value);
    gantry__json_string(name.text, out);
}

static void write_values(const explained_t *explained, const char *name, const uint32_t *values,
                         uint32_t count, gantry__text_t *out) {
    gantry__text_append(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) gantry__text_append(out, ",");
        write_value_name(explained, values[i], out);
    }
    gantry__text_append(out, "]");
}

/* ---- nodes ---- */

static const char *node_kind_name(gantry__node_kind_t kind) {
    switch (kind) {
        case GANTRY__NODE_INPUT: return "input";
        case GANTRY__NODE_CONST: return "constant";
        case GANTRY__NODE_READ: return "read";
        case GANTRY__NODE_ASSIGN: return "assign";
        case GANTRY__NODE_CASE: return "branch";
        case GANTRY__NODE_WHILE: return "loop";
        case GANTRY__NODE_DRAW: return "draw";
        case GANTRY__NODE_EAGER: return "eager";
        default: return "op";
    }
}

static void explain_json_write_outputs(const explained_t *explained, const gantry__node_t *node,
                                       gantry__text_t *out) {
    gantry__text_append(out, ",\"outputs\":[");
    for (uint32_t i = 0; i < node->output_count; ++i) {
        const gantry__value_t *value = &explained->graph->values[node->first_output + i];
        char shape[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&value->shape, shape, sizeof shape);
        gantry__text_append(out, "%s{\"type\":\"%s\",\"shape\":%s", i > 0 ? "," : "",
                            gantry_dtype_name(value->dtype), shape);
        gantry__json_number_member("bytes", value->bytes, out);
        gantry__text_append(out, "}");
    }
    gantry__text_append(out, "]");
}

static void write_after(const explained_t *explained, const gantry__node_t *node,
                        gantry__text_t *out) {
    gantry__text_append(out, ",\"after\":[");
    for (uint32_t i = 0; i < node->control_count; ++i) {
        if (i > 0) gantry__text_append(out, ",");
        gantry__json_string(explained->graph->nodes[node->controls[i]].name, out);
    }
    gantry__text_append(out, "]");
}

static void write_refused(const gantry__node_t *node, const gantry__node_place_t *place,
                          gantry__text_t *out) {
    gantry__text_append(out, ",\"refused\":[");
    const gantry__plan_t *plan = place->kept ? &place->kept->plan : NULL;
    for (uint32_t i = 0; plan && i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        const gantry_logical_device_t *device = plan->refusals[i].device;
        gantry__text_append(out, "%s{\"device\":", i > 0 ? "," : "");
        gantry__json_string(device ? device->full_name : gantry__explained_wish(node), out);
        gantry__text_append(out, ",\"why\":\"");
        gantry__explained_refusal(plan, i, out);
        gantry__text_append(out, "\"}");
    }
    gantry__text_append(out, "]");
}

static void explain_json_write_place(const explained_t *explained, const gantry__node_t *node,
                                     const gantry__node_place_t *place, gantry__text_t *out) {
    const char *decided =
        place->decided_by > 0 ? explained->graph->nodes[place->decided_by - 1].name : "";
    gantry__json_text_member("asked", gantry__explained_wish(node), out);
    gantry__json_text_member("device", place->home ? place->home->full_name : "", out);
    gantry__json_text_member("reason", gantry_placement_reason_text(place->reason), out);
    gantry__json_text_member("with", decided, out);
    if (place->other) {
        gantry__json_number_member("cost_ns", (uint64_t)place->cost_ns, out);
        gantry__json_text_member("other", place->other->full_name, out);
        gantry__json_number_member("other_cost_ns", (uint64_t)place->other_cost_ns, out);
    }
    if (place->kept && place->kept->plan.left_library)
        gantry__json_text_member("left_library", place->kept->plan.left_library, out);
    write_refused(node, place, out);
}

static void write_graph(const explained_t *explained, gantry__text_t *out);

static void write_fused_names(const gantry__node_t *node, gantry__text_t *out) {
    gantry__text_append(out, ",\"fused\":[");
    for (uint32_t i = 0; i < node->fused_count; ++i) {
        if (i > 0) gantry__text_append(out, ",");
        gantry__json_string(node->fused[i], out);
    }
    gantry__text_append(out, "]");
    if (node->apart) gantry__json_text_member("apart", gantry__explained_apart[node->apart], out);
}

static void write_bodies(const explained_t *explained, uint32_t index, gantry__text_t *out) {
    const gantry__block_t *block = gantry__explained_block(explained, index);
    gantry__text_append(out, ",\"bodies\":[");
    for (uint32_t i = 0; block && i < block->body_count && !out->failed; ++i) {
        explained_t body;
        if (gantry__explained_init_body(&body, explained, &block->bodies[i]) != GANTRY_OK) {
            out->failed = true;
            return;
        }
        gantry__text_append(out, "%s{\"name\":\"%s\"", i > 0 ? "," : "",
                            gantry__explained_body(&explained->graph->nodes[index], i).text);
        write_graph(&body, out);
        gantry__text_append(out, "}");
        gantry__explained_deinit(&body);
    }
    gantry__text_append(out, "]");
}

static void explain_json_write_node(const explained_t *explained, size_t index,
                                    gantry__text_t *out) {
    const gantry__node_t *node = &explained->graph->nodes[index];
    const gantry__node_place_t *place = &explained->schedule->places[index];
    const bool has_kernel = explained->calls[index] > 0 && place->kept;
    gantry__text_append(out, "%s{\"name\":", index > 0 ? "," : "");
    gantry__json_string(node->name, out);
    gantry__text_append(out, ",\"kind\":\"%s\",\"used\":%s", node_kind_name(node->kind),
                        explained->is_used[index] ? "true" : "false");
    gantry__json_text_member("op", node->op->name, out);
    gantry__json_text_member("part_of", node->part_of ? node->part_of->name : "", out);
    gantry__json_text_member(
        "kernel", has_kernel ? place->kept->plan.kernels[place->choice]->source : "", out);
    explain_json_write_place(explained, node, place, out);
    write_values(explained, "inputs", node->inputs, node->input_count, out);
    write_after(explained, node, out);
    explain_json_write_outputs(explained, node, out);
    write_fused_names(node, out);
    if (node->recomputes) gantry__json_text_member("recomputes", node->recomputes, out);
    write_bodies(explained, (uint32_t)index, out);
    gantry__text_append(out, "}");
}

/* ---- copies and memory ---- */

static void explain_json_write_copy(const explained_t *explained, size_t i, gantry__text_t *out) {
    const gantry__explained_copy_t *copy = &explained->copies[i];
    gantry__text_append(out, "%s{\"value\":", i > 0 ? "," : "");
    write_value_name(explained, copy->value, out);
    gantry__json_text_member("from", copy->from->full_name, out);
    gantry__json_text_member("to", copy->to ? copy->to->full_name : "host memory", out);
    gantry__json_number_member("bytes", explained->graph->values[copy->value].bytes, out);
    gantry__text_append(out, ",\"once\":%s}", copy->is_constant ? "true" : "false");
}

static void explain_json_write_device(const explained_t *explained, size_t i, gantry__text_t *out) {
    const gantry__device_bytes_t *at = &explained->devices[i];
    gantry__text_append(out, "%s{\"device\":", i > 0 ? "," : "");
    gantry__json_string(at->device->full_name, out);
    gantry__json_number_member("planned_bytes", at->planned_bytes, out);
    gantry__json_number_member("unplanned_bytes", at->unplanned_bytes, out);
    gantry__json_number_member("constant_bytes", at->constant_bytes, out);
    gantry__json_number_member("result_bytes", at->result_bytes, out);
    gantry__text_append(out, "}");
}

static void explain_json_write_left_out(const char *name, bool is_first, gantry__text_t *out) {
    if (!is_first) gantry__text_append(out, ",");
    gantry__json_string(name, out);
}

static void explain_json_write_run(const explained_t *explained, const gantry__explained_run_t *run,
                                   bool is_first, gantry__text_t *out) {
    const gantry__replay_why_t why = run->run.why;
    gantry__text_append(out, "%s{\"device\":", is_first ? "" : ",");
    gantry__json_string(run->run.device->full_name, out);
    gantry__json_text_member("first", run->first, out);
    gantry__json_text_member("last", run->last, out);
    gantry__json_number_member("kernels", *run->first ? run->run.kernels : 0, out);
    gantry__text_append(out, ",\"replayed\":%s",
                        why == GANTRY__REPLAYS && run->captures > 0 ? "true" : "false");
    gantry__json_text_member("why", gantry__replay_word(why), out);
    gantry__json_text_member(
        "detail", why == GANTRY__REPLAY_REFUSED ? gantry__replay_refusal(explained->schedule) : "",
        out);
    gantry__json_number_member("recorded", run->captures, out);
    gantry__json_number_member("launched", run->replays, out);
    gantry__text_append(out, "}");
}

/* Writes members of an object, after its first one. */
static void write_graph(const explained_t *explained, gantry__text_t *out) {
    const gantry__graph_t *graph = explained->graph;
    gantry__json_number_member("copied_bytes", explained->copied_bytes, out);
    gantry__text_append(out, ",\"nodes\":[");
    for (size_t i = 0; i < graph->node_count; ++i) explain_json_write_node(explained, i, out);
    gantry__text_append(out, "],\"left_out\":[");
    gantry__explained_left_out(explained, explain_json_write_left_out, out);
    gantry__text_append(out, "],\"cancelled\":[");
    for (uint32_t i = 0; i < graph->cancelled_count; ++i)
        explain_json_write_left_out(graph->cancelled[i], i == 0, out);
    gantry__text_append(out, graph->gave_layout_up ? "],\"without_layout\":true" : "]");
    write_values(explained, "results", graph->outputs, graph->output_count, out);
    gantry__text_append(out, ",\"copies\":[");
    for (size_t i = 0; i < explained->copy_count; ++i) explain_json_write_copy(explained, i, out);
    gantry__text_append(out, "],\"launches\":[");
    gantry__explained_runs(explained, false, explain_json_write_run, out);
    gantry__text_append(out, "]");
}

void gantry__explain_as_json(const explained_t *explained, gantry__text_t *out) {
    gantry__text_append(out, "{\"function\":");
    gantry__json_string(explained->name, out);
    gantry__json_number_member("threads", explained->schedule->lane_count, out);
    write_graph(explained, out);
    gantry__text_append(out, ",\"memory\":[");
    for (size_t i = 0; i < explained->device_count; ++i)
        explain_json_write_device(explained, i, out);
    gantry__text_append(out, "]}");
}
