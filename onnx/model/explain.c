/* SPDX-License-Identifier: Apache-2.0 */
/* The explanation of a model: its nodes with what became of them and every refusal, then that of
 * the function of the newest run, which has the devices. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/model/model_state.h"
#include "onnx/model/where.h"
#include "shared/c_locale.h"
#include "shared/printable.h"

/* The text so far; what does not fit is counted. */
typedef struct onnx_text_t {
    char *out;
    size_t bytes, used;
} onnx_text_t;

static char *room_of(const onnx_text_t *text) {
    return text->used < text->bytes ? text->out + text->used : NULL;
}

GANTRY__PRINTF(2, 3)
static void explain_put(onnx_text_t *text, const char *format, ...) {
    char *room = room_of(text);
    va_list arguments;
    va_start(arguments, format);
    const int length = gantry__format(room, room ? text->bytes - text->used : 0, format, arguments);
    va_end(arguments);
    if (length > 0) text->used += (size_t)length;
}

/* A text of the file, cut and fit for a terminal. */
static void explain_put_name(onnx_text_t *text, const char *name) {
    char printable[128];
    (void)snprintf(printable, sizeof printable, "%s", name);
    gantry__make_printable(printable, 0);
    explain_put(text, "%s", printable);
}

/* A text as a string of JSON, and of Graphviz. */
static void put_quoted(onnx_text_t *text, const char *name) {
    explain_put(text, "\"");
    for (const char *at = name; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (bytes == 0) {
            explain_put(text, "?");
        } else if (*at == '"' || *at == '\\') {
            explain_put(text, "\\%c", *at);
        } else if ((unsigned char)*at < 0x20) {
            explain_put(text, "\\u%04x", (unsigned)*at);
        } else {
            explain_put(text, "%.*s", (int)bytes, at);
        }
        at += bytes ? bytes : 1;
    }
    explain_put(text, "\"");
}

/* ---- nodes ---- */

static bool is_any_output(const gantry__onnx_node_t *node, const uint8_t *marks) {
    for (size_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] != GANTRY__ONNX_NO_VALUE && marks[node->outputs[i]]) return true;
    }
    return false;
}

/* Where a node is computed, in a word, and why. */
static const char *explain_place_of(const gantry_onnx_model_t *model,
                                    const gantry__onnx_node_t *node, size_t position,
                                    const char **out_reason) {
    const gantry__onnx_plan_t *plan = &model->constants.plan;
    const gantry__onnx_refusal_t *refusal = gantry__onnx_plan_refusal(plan, position);
    const unsigned char state = atomic_load(&model->node_states[position]);
    if (refusal) {
        *out_reason = refusal->reason;
        return "refused";
    }
    if (!is_any_output(node, plan->is_needed)) {
        *out_reason = "no output needs it";
        return "none";
    }
    if (plan->is_folded[position]) {
        *out_reason = "part of the convolution before it";
        return "folded";
    }
    if (is_any_output(node, plan->is_constant) && state != ONNX_NODE_TRACED) {
        *out_reason = "its inputs are constants: computed once";
        return "constant";
    }
    *out_reason = state == ONNX_NODE_KNOWN    ? "its inputs are sizes and constants"
                  : state == ONNX_NODE_TRACED ? "a node of the function, or several"
                                              : "not traced yet";
    return state == ONNX_NODE_KNOWN ? "host" : state == ONNX_NODE_TRACED ? "device" : "unknown";
}

/* What is said of a node. */
typedef struct onnx_said_t {
    const char *place, *reason;
    char device[64]; /* "CPU:0"; "": none, or not known. */
    char why[256];   /* The reason for the device. */
    bool is_first;
} onnx_said_t;

typedef void (*onnx_put_node_fn)(onnx_text_t *text, const gantry__onnx_node_t *node,
                                 const onnx_said_t *said);

static void explain_put_row(onnx_text_t *text, const gantry__onnx_node_t *node,
                            const onnx_said_t *said) {
    char name[32];
    (void)snprintf(name, sizeof name, "%" PRIu32, node->index);
    explain_put_name(text, *node->name ? node->name : name);
    explain_put(text, "  ");
    if (*node->domain) {
        explain_put_name(text, node->domain);
        explain_put(text, ".");
    }
    explain_put_name(text, node->op);
    explain_put(text, "  %" PRId64 "  %s  ", node->version,
                *said->device ? said->device : said->place);
    explain_put_name(text, *said->device ? said->why : said->reason);
    explain_put(text, "\n");
}

static void put_json(onnx_text_t *text, const gantry__onnx_node_t *node, const onnx_said_t *said) {
    explain_put(text, "%s{\"index\":%" PRIu32 ",\"name\":", said->is_first ? "" : ",", node->index);
    put_quoted(text, node->name);
    explain_put(text, ",\"op\":");
    put_quoted(text, node->op);
    explain_put(text, ",\"domain\":");
    put_quoted(text, node->domain);
    explain_put(text, ",\"version\":%" PRId64 ",\"place\":\"%s\",\"device\":", node->version,
                said->place);
    put_quoted(text, said->device);
    explain_put(text, ",\"reason\":");
    put_quoted(text, *said->device ? said->why : said->reason);
    explain_put(text, "}");
}

static void put_dot(onnx_text_t *text, const gantry__onnx_node_t *node, const onnx_said_t *said) {
    for (size_t i = 0; i < node->input_count; ++i) {
        for (size_t k = 0; node->inputs[i] != GANTRY__ONNX_NO_VALUE && k < node->output_count;
             ++k) {
            if (node->outputs[k] == GANTRY__ONNX_NO_VALUE) continue;
            explain_put(text, "  v%" PRIu32 " -> v%" PRIu32 " [label=", node->inputs[i],
                        node->outputs[k]);
            put_quoted(text, node->op);
            explain_put(text, "%s];\n", strcmp(said->place, "refused") == 0 ? ",color=red" : "");
        }
    }
}

static void put_nodes(gantry_onnx_model_t *model, onnx_text_t *text, onnx_put_node_fn put_node) {
    const gantry__onnx_plan_t *plan = &model->constants.plan;
    gantry_function_t *function = gantry__onnx_newest_function(model);
    onnx_where_t where;
    gantry__onnx_where_init(&where, function);
    gantry_function_release(function);
    size_t position = 0;
    for (size_t g = 0; g < plan->graph_count; ++g) {
        const gantry__onnx_graph_t *graph = plan->graphs[g].graph;
        for (size_t n = 0; n < graph->node_count; ++n, ++position) {
            const gantry__onnx_node_t *node = &graph->nodes[n];
            onnx_said_t said = {.is_first = position == 0};
            said.place = explain_place_of(model, node, position, &said.reason);
            if (strcmp(said.place, "device") == 0 &&
                !gantry__onnx_where_find(&where, node->name, said.device, said.why))
                said.device[0] = '\0';
            put_node(text, node, &said);
        }
    }
    gantry__onnx_where_deinit(&where);
}

/* ---- the function ---- */

gantry_function_t *gantry__onnx_newest_function(gantry_onnx_model_t *model) {
    const onnx_entry_t *newest = NULL;
    gantry__mutex_lock(&model->mutex);
    for (size_t i = 0; !model->is_eager && i < model->entry_count; ++i) {
        const onnx_entry_t *entry = model->entries[i];
        if (!newest || entry->last_use > newest->last_use) newest = entry;
    }
    gantry_function_t *function = newest ? gantry_function_retain(newest->function) : NULL;
    gantry__mutex_unlock(&model->mutex);
    return function;
}

gantry_status_t gantry_onnx_model_get_function(gantry_onnx_model_t *model,
                                               gantry_function_t **out_function) {
    const char *call = "gantry_onnx_model_get_function";
    if (!model || !out_function)
        return gantry__refuse("%s: the %s is NULL; %s is accepted", call,
                              model ? "out_function" : "model",
                              model ? "a place" : "one from gantry_onnx_model_load");
    gantry_function_t *function = gantry__onnx_newest_function(model);
    *out_function = function;
    gantry_function_release(function); /* the model has one */
    if (function) return GANTRY_OK;
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "%s: %s has no function: it has not run, or runs op by op", call,
                        model->name);
}

/* Writes the explanation of the newest function, if there is a trace; false: there is none. */
static bool put_function(gantry_onnx_model_t *model, onnx_text_t *text,
                         gantry_explain_form_t form) {
    gantry_function_t *function = gantry__onnx_newest_function(model);
    size_t needed = 0;
    char *room = room_of(text);
    const gantry_status_t status =
        function ? gantry_function_explain(function, form, room,
                                           room ? text->bytes - text->used : 0, &needed)
                 : GANTRY_FAILED_PRECONDITION;
    gantry_function_release(function);
    if (status == GANTRY_OK) text->used += needed;
    return status == GANTRY_OK;
}

/* ---- forms ---- */

static const char *reason_for_steps(gantry_onnx_model_t *model) {
    gantry__mutex_lock(&model->mutex);
    const char *reason = model->is_eager ? model->eager_reason : NULL; /* does not change again */
    gantry__mutex_unlock(&model->mutex);
    return reason;
}

static void put_text_form(gantry_onnx_model_t *model, onnx_text_t *text) {
    const char *steps = reason_for_steps(model);
    explain_put(text, "model ");
    explain_put_name(text, model->name);
    explain_put(text, ": %zu nodes, %zu refused\n", model->constants.plan.node_count,
                model->constants.plan.refusal_count);
    if (steps) explain_put(text, "runs op by op: %s\n", steps);
    explain_put(text, "node  op  opset  place  reason\n");
    put_nodes(model, text, explain_put_row);
    explain_put(text, "\n");
    (void)put_function(model, text, GANTRY_EXPLAIN_TEXT);
}

static void put_json_form(gantry_onnx_model_t *model, onnx_text_t *text) {
    const char *steps = reason_for_steps(model);
    explain_put(text, "{\"model\":");
    put_quoted(text, model->name);
    explain_put(text, ",\"refused\":%zu,\"op_by_op\":", model->constants.plan.refusal_count);
    if (steps) {
        put_quoted(text, steps);
    } else {
        explain_put(text, "null");
    }
    explain_put(text, ",\"nodes\":[");
    put_nodes(model, text, put_json);
    explain_put(text, "],\"function\":");
    if (!put_function(model, text, GANTRY_EXPLAIN_JSON)) explain_put(text, "null");
    explain_put(text, "}\n");
}

static void put_dot_form(gantry_onnx_model_t *model, onnx_text_t *text) {
    if (put_function(model, text, GANTRY_EXPLAIN_GRAPHVIZ)) return;
    explain_put(text, "digraph ");
    put_quoted(text, model->name);
    explain_put(text, " {\n");
    for (size_t v = 0; v < model->graph_model->value_count; ++v) {
        explain_put(text, "  v%zu [label=", v);
        put_quoted(text, model->graph_model->values[v].name);
        explain_put(text, "];\n");
    }
    put_nodes(model, text, put_dot);
    explain_put(text, "}\n");
}

gantry_status_t gantry_onnx_model_explain(gantry_onnx_model_t *model, gantry_explain_form_t form,
                                          char *out, size_t out_bytes, size_t *out_needed) {
    const char *call = "gantry_onnx_model_explain";
    onnx_text_t text = {out, out_bytes, 0};
    if (!model)
        return gantry__refuse("%s: the model is NULL; one from gantry_onnx_model_load is accepted",
                              call);
    if (!out && out_bytes > 0)
        return gantry__refuse("%s: out is NULL; room for %zu bytes is accepted", call, out_bytes);
    if (out_bytes > 0) *out = '\0';
    switch (form) {
        case GANTRY_EXPLAIN_TEXT: put_text_form(model, &text); break;
        case GANTRY_EXPLAIN_JSON: put_json_form(model, &text); break;
        case GANTRY_EXPLAIN_GRAPHVIZ: put_dot_form(model, &text); break;
        default:
            return gantry__refuse(
                "%s: form is %d; GANTRY_EXPLAIN_TEXT, _JSON and _GRAPHVIZ are "
                "accepted",
                call, (int)form);
    }
    if (out_needed) *out_needed = text.used;
    return GANTRY_OK;
}
