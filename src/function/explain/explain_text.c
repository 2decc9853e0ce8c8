/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation for people:
 *
 *     a headline with the counts
 *     a line for each node that is used, in order; below it what else decided its place
 *     the copies between devices
 *     the same for each body of a branch or a loop
 *     the memory of each device */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device/logical_device.h"
#include "function/explain/explain.h"
#include "shared/c_locale.h"

typedef gantry__explained_t explained_t;

/* ---- cells ---- */

enum { MOST_CELL = 160, COLUMNS = 4 };

/* name, op, type and shape, device */
typedef struct cells_t {
    char text[COLUMNS][MOST_CELL];
} cells_t;

static void fill_op(const gantry__node_t *node, char *out) {
    const char *op = node->kind == GANTRY__NODE_INPUT ? "argument" : node->op->name;
    if (node->part_of) {
        (void)snprintf(out, MOST_CELL, "%s of %s", op, node->part_of->name);
    } else {
        (void)snprintf(out, MOST_CELL, "%s", op);
    }
}

static void fill_type(const explained_t *explained, const gantry__node_t *node, char *out) {
    if (node->output_count == 0 && node->input_count == 0) return;
    const gantry__value_t *value =
        &explained->graph->values[node->output_count > 0 ? node->first_output : node->inputs[0]];
    char shape[GANTRY_MAX_RANK * 21 + 3], others[24] = "";
    (void)gantry_shape_format(&value->shape, shape, sizeof shape);
    if (node->output_count > 1)
        (void)snprintf(others, sizeof others, " and %u more", node->output_count - 1);
    (void)snprintf(out, MOST_CELL, "%s%.100s%s", gantry_dtype_name(value->dtype), shape, others);
}

/* Its own, or those on which its values are used. */
static void fill_device(const explained_t *explained, size_t index, char *out) {
    const gantry__node_t *node = &explained->graph->nodes[index];
    const gantry_logical_device_t *own = gantry__explained_home(explained, index);
    size_t used = 0;
    if (own) (void)snprintf(out, MOST_CELL, "%s", gantry__explained_short(own));
    if (own) return;
    for (size_t i = 0; i < explained->device_count; ++i) {
        const gantry_logical_device_t *device = explained->devices[i].device;
        bool is_there = false;
        for (uint32_t k = 0; !is_there && k < node->output_count; ++k)
            is_there = gantry__explained_lies_on(explained, node->first_output + k, device);
        if (is_there && used + strlen(device->name) + 1 < MOST_CELL)
            used += (size_t)snprintf(out + used, MOST_CELL - used, "%s%s", used > 0 ? "," : "",
                                     gantry__explained_short(device));
    }
    if (used == 0) (void)snprintf(out, MOST_CELL, "-");
}

static cells_t make_cells(const explained_t *explained, size_t index) {
    const gantry__node_t *node = &explained->graph->nodes[index];
    cells_t cells = {.text = {""}};
    (void)snprintf(cells.text[0], MOST_CELL, "%s", node->name);
    fill_op(node, cells.text[1]);
    fill_type(explained, node, cells.text[2]);
    fill_device(explained, index, cells.text[3]);
    return cells;
}

/* ---- nodes ---- */

static void write_cells(const cells_t *cells, const int *widths, const char *last,
                        gantry__text_t *out) {
    for (int i = 0; i < COLUMNS; ++i) gantry__text_append(out, "%-*s  ", widths[i], cells->text[i]);
    gantry__text_append(out, "%s\n", last);
}

static void fill_reason(const gantry__node_place_t *place, char *out) {
    const char *reason = gantry_placement_reason_text(place->reason);
    (void)snprintf(out, MOST_CELL, "%s", reason);
    if (!place->other) return;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)snprintf(out, MOST_CELL, "%s: %.2f us against %.2f us on %s", reason,
                   1e-3 * place->cost_ns, 1e-3 * place->other_cost_ns,
                   gantry__explained_short(place->other));
    gantry__c_locale_end(&locale);
}

/* The nodes that come first though the node takes no value of them. */
static void write_controls(const explained_t *explained, const gantry__node_t *node,
                           gantry__text_t *out) {
    const char *before = "    after ";
    for (uint32_t i = 0; i < node->control_count; ++i) {
        if (!explained->is_used[node->controls[i]]) continue; /* a pass made it a constant */
        gantry__text_append(out, "%s%s", before, explained->graph->nodes[node->controls[i]].name);
        before = ", ";
    }
    if (*before == ',') gantry__text_append(out, "\n");
}

static void write_refusals(const gantry__node_place_t *place, const char *wish,
                           gantry__text_t *out) {
    if (!place->kept) return;
    const gantry__plan_t *plan = &place->kept->plan;
    for (uint32_t i = 0; i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        if (plan->refusals[i].device == place->other && place->other) continue; /* in the reason */
        const gantry_logical_device_t *device = plan->refusals[i].device;
        gantry__text_append(out, "    not %s: ", device ? gantry__explained_short(device) : wish);
        gantry__explained_refusal(plan, i, out);
        gantry__text_append(out, "\n");
    }
}

static void write_fused(const gantry__node_t *node, gantry__text_t *out) {
    for (uint32_t i = 0; i < node->fused_count; ++i)
        gantry__text_append(out, "%s%s", i > 0 ? ", " : "    one pass over ", node->fused[i]);
    if (node->fused_count > 0) gantry__text_append(out, "\n");
    if (node->apart)
        gantry__text_append(out, "    apart from what follows: %s\n",
                            gantry__explained_apart[node->apart]);
    if (node->recomputes)
        gantry__text_append(out, "    recomputed: %s again, for the memory budget\n",
                            node->recomputes);
}

static void write_left_library(const gantry__node_place_t *place, gantry__text_t *out) {
    if (place->kept && place->kept->plan.left_library)
        gantry__text_append(out, "    without %s: batch_invariant\n",
                            place->kept->plan.left_library);
}

static void write_colocation(const explained_t *explained, const gantry__node_place_t *place,
                             gantry__text_t *out) {
    if (place->decided_by > 0)
        gantry__text_append(out, "    with %s\n",
                            explained->graph->nodes[place->decided_by - 1].name);
    if (place->is_apart)
        gantry__text_append(out, "    apart from a node that it is colocated with\n");
}

static void explain_text_write_node(const explained_t *explained, size_t index, const int *widths,
                                    gantry__text_t *out) {
    const gantry__node_t *node = &explained->graph->nodes[index];
    const gantry__node_place_t *place = &explained->schedule->places[index];
    const char *wish = gantry__explained_wish(node);
    const cells_t cells = make_cells(explained, index);
    char reason[MOST_CELL];
    fill_reason(place, reason);
    write_cells(&cells, widths, reason, out);
    if (*wish && place->kept && place->reason != GANTRY_PLACED_EXPLICIT)
        gantry__text_append(out, "    asked for %s\n", wish);
    write_fused(node, out);
    if (node->kind == GANTRY__NODE_EAGER)
        gantry__text_append(out, "    runs at once in each call\n");
    write_refusals(place, wish, out);
    write_left_library(place, out);
    write_colocation(explained, place, out);
    write_controls(explained, node, out);
}

static void measure_cells(const cells_t *cells, int *widths) {
    for (int i = 0; i < COLUMNS; ++i) {
        const int width = (int)strlen(cells->text[i]);
        if (width > widths[i]) widths[i] = width;
    }
}

static void explain_text_write_nodes(const explained_t *explained, gantry__text_t *out) {
    const cells_t head = {.text = {"node", "op", "type", "device"}};
    int widths[COLUMNS] = {0};
    measure_cells(&head, widths);
    for (size_t i = 0; i < explained->graph->node_count; ++i) {
        if (!explained->is_used[i]) continue;
        const cells_t cells = make_cells(explained, i);
        measure_cells(&cells, widths);
    }
    write_cells(&head, widths, "reason", out);
    for (size_t i = 0; i < explained->graph->node_count; ++i) {
        if (explained->is_used[i]) explain_text_write_node(explained, i, widths, out);
    }
}

static void explain_text_write_left_out(const char *name, bool is_first, gantry__text_t *out) {
    gantry__text_append(out, "%s%s",
                        is_first ? "\nleft out, since no result or assignment needs them: " : ", ",
                        name);
}

static void write_unused(const explained_t *explained, gantry__text_t *out) {
    gantry__explained_left_out(explained, explain_text_write_left_out, out);
    if (explained->unused_count + explained->graph->dropped_count > 0)
        gantry__text_append(out, "\n");
}

static void write_cancelled(const explained_t *explained, gantry__text_t *out) {
    const gantry__graph_t *graph = explained->graph;
    for (uint32_t i = 0; i < graph->cancelled_count; ++i)
        gantry__text_append(
            out, "%s%s",
            i == 0 ? "\ncancelled, since what is between transposes has its axes in another order: "
                   : ", ",
            graph->cancelled[i]);
    if (graph->cancelled_count > 0) gantry__text_append(out, "\n");
}

/* ---- copies and memory ---- */

static void explain_text_write_copy(const explained_t *explained,
                                    const gantry__explained_copy_t *copy, gantry__text_t *out) {
    const gantry__value_name_t name = gantry__explained_name(explained, copy->value);
    gantry__text_append(out, "%s from %s to %s: %" PRIu64 " bytes%s\n", name.text,
                        gantry__explained_short(copy->from),
                        copy->to ? gantry__explained_short(copy->to) : "host memory",
                        explained->graph->values[copy->value].bytes,
                        copy->is_constant ? ", once for all calls" : "");
}

static void explain_text_write_copies(const explained_t *explained, gantry__text_t *out) {
    if (explained->copy_count > 0) gantry__text_append(out, "\ncopies\n");
    for (size_t i = 0; i < explained->copy_count; ++i)
        explain_text_write_copy(explained, &explained->copies[i], out);
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static void write_run_reason(const explained_t *explained, gantry__replay_why_t why,
                             gantry__text_t *out) {
    const char *refusal =
        why == GANTRY__REPLAY_REFUSED ? gantry__replay_refusal(explained->schedule) : "";
    gantry__text_append(out, "launched one by one: %s%s%s\n", gantry__replay_text(why),
                        *refusal ? ": " : "", refusal);
}

static void explain_text_write_run(const explained_t *explained, const gantry__explained_run_t *run,
                                   bool is_first, gantry__text_t *out) {
    if (is_first) gantry__text_append(out, "\nlaunches\n");
    if (!*run->first) {
        gantry__text_append(out, "%s: ", gantry__explained_short(run->run.device));
        write_run_reason(explained, run->run.why, out);
        return;
    }
    gantry__text_append(out, "%s", run->first);
    if (run->run.kernels > 1) gantry__text_append(out, " to %s", run->last);
    gantry__text_append(out, " on %s: %u kernel%s, ", gantry__explained_short(run->run.device),
                        run->run.kernels, plural(run->run.kernels));
    if (run->run.why != GANTRY__REPLAYS) {
        write_run_reason(explained, run->run.why, out);
    } else if (run->captures == 0) {
        gantry__text_append(out, "replayed as one graph once its addresses come again\n");
    } else {
        gantry__text_append(
            out, "replayed as one graph: recorded %u time%s, launched %" PRIu64 " time%s\n",
            run->captures, plural(run->captures), run->replays, plural(run->replays));
    }
}

static void write_memory(const explained_t *explained, gantry__text_t *out) {
    if (explained->device_count == 0) return;
    gantry__text_append(out, "\n%-8s  %12s  %12s  %12s  %12s\n", "bytes", "planned", "unplanned",
                        "constants", "results");
    for (size_t i = 0; i < explained->device_count; ++i) {
        const gantry__device_bytes_t *at = &explained->devices[i];
        gantry__text_append(out,
                            "%-8s  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64 "\n",
                            gantry__explained_short(at->device), at->planned_bytes,
                            at->unplanned_bytes, at->constant_bytes, at->result_bytes);
    }
}

static void explain_text_write_graph(const explained_t *explained, gantry__text_t *out);

static void explain_text_write_block(const explained_t *explained, const gantry__block_t *block,
                                     gantry__text_t *out) {
    const gantry__node_t *node = &explained->graph->nodes[block->node];
    for (uint32_t i = 0; i < block->body_count; ++i) {
        explained_t body;
        if (gantry__explained_init_body(&body, explained, &block->bodies[i]) != GANTRY_OK) {
            out->failed = true;
            return;
        }
        gantry__text_append(out, "\n%s of %s\n", gantry__explained_body(node, i).text, node->name);
        explain_text_write_graph(&body, out);
        gantry__explained_deinit(&body);
    }
}

/* Nodes and copies, and those of bodies below. */
static void explain_text_write_graph(const explained_t *explained, gantry__text_t *out) {
    explain_text_write_nodes(explained, out);
    write_unused(explained, out);
    write_cancelled(explained, out);
    if (explained->graph->gave_layout_up)
        gantry__text_append(out, "\nthe layout pass was left out, for the memory budget\n");
    explain_text_write_copies(explained, out);
    gantry__explained_runs(explained, true, explain_text_write_run, out);
    for (size_t i = 0; i < explained->schedule->block_count; ++i)
        explain_text_write_block(explained, &explained->schedule->blocks[i], out);
}

void gantry__explain_as_text(const explained_t *explained, gantry__text_t *out) {
    const size_t nodes = explained->graph->node_count - explained->unused_count;
    gantry__text_append(out, "function %s: %zu node%s on %zu device%s", explained->name, nodes,
                        plural(nodes), explained->device_count, plural(explained->device_count));
    if (explained->schedule->lane_count > 1)
        gantry__text_append(out, " and %u threads", explained->schedule->lane_count);
    gantry__text_append(out, "; %" PRIu64 " bytes copied between devices in each call\n",
                        explained->copied_bytes);
    explain_text_write_graph(explained, out);
    write_memory(explained, out);
}
