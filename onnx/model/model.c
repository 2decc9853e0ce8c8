/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/os/paths.h"
#include "shared/memory.h"
#include "onnx/model/model_state.h"
#include "shared/struct_size.h"

/* ---- loading ---- */

static gantry_status_t copy_dims(gantry_onnx_model_t *model, const gantry_onnx_options_t *options) {
    if (options->dim_count == 0) return GANTRY_OK;
    if (!options->dims)
        return gantry__refuse("%s: dims is NULL; an array of %zu is accepted", model->name,
                              options->dim_count);
    model->dims = gantry__alloc(options->dim_count, sizeof *model->dims);
    if (!model->dims) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < options->dim_count; ++i) {
        const gantry_onnx_dim_t *dim = &options->dims[i];
        if (!dim->name || dim->size < 1)
            return gantry__refuse("%s: dims[%zu] is '%s' of size %" PRId64
                                  "; a name and a size of 1 or more are accepted",
                                  model->name, i, dim->name ? dim->name : "NULL", dim->size);
        model->dims[i] = (gantry_onnx_dim_t){gantry__strdup(dim->name), dim->size};
        if (!model->dims[i].name) return GANTRY_RESOURCE_EXHAUSTED;
        model->dim_count = i + 1;
    }
    return GANTRY_OK;
}

/* Paddle's exporter names each size that it does not know "?". */
static const char **names_of_dims(const gantry__onnx_type_t *type) {
    if (type->rank <= 0) return NULL;
    const char **names = gantry__alloc((size_t)type->rank, sizeof *names);
    for (int32_t i = 0; names && i < type->rank; ++i) {
        const char *name = type->dims[i].name;
        names[i] = name && *name && strcmp(name, "?") != 0 ? name : NULL;
    }
    return names;
}

/* The names of dimensions, and of the outputs, as lists for callers. */
static gantry_status_t model_list_names(gantry_onnx_model_t *model) {
    const gantry__onnx_graph_t *graph = model->graph_model->graph;
    const size_t inputs = graph->input_count, outputs = graph->output_count;
    model->dim_names = gantry__alloc(inputs + outputs, sizeof *model->dim_names);
    model->output_names = gantry__alloc(outputs, sizeof *model->output_names);
    model->is_bound = gantry__alloc(inputs, 1);
    if (!model->dim_names || !model->output_names || !model->is_bound)
        return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < inputs + outputs; ++i) {
        const gantry__onnx_value_t value =
            i < inputs ? graph->inputs[i] : graph->outputs[i - inputs];
        const gantry__onnx_value_info_t *info = &model->graph_model->values[value];
        model->dim_names[i] = names_of_dims(&info->type);
        if (info->type.rank > 0 && !model->dim_names[i]) return GANTRY_RESOURCE_EXHAUSTED;
        if (i >= inputs) model->output_names[i - inputs] = info->name;
    }
    return GANTRY_OK;
}

static gantry_status_t check_refusals(const gantry_onnx_model_t *model) {
    const gantry__onnx_plan_t *plan = &model->constants.plan;
    for (size_t i = 0; i < plan->refusal_count; ++i) {
        const gantry__onnx_refusal_t *refusal = &plan->refusals[i];
        char node[512];
        if (refusal->graph != model->graph_model->graph) continue;
        gantry__onnx_describe_node(refusal->node, node, sizeof node);
        return gantry__fail(refusal->status, "%s: %s: %s", model->graph_model->path, node,
                            refusal->reason);
    }
    return GANTRY_OK;
}

static gantry_status_t model_check_values(const gantry_onnx_model_t *model) {
    const gantry__onnx_graph_t *graph = model->graph_model->graph;
    for (size_t i = 0; i < graph->input_count; ++i) {
        const gantry__onnx_value_info_t *info = gantry__onnx_input_info(model, i);
        const char *name = NULL;
        if (info->type.kind != GANTRY__ONNX_TENSOR && info->type.kind != GANTRY__ONNX_UNTYPED)
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "%s: input '%.200s' is no tensor; this library has tensors only",
                                model->graph_model->path, info->name);
        if (info->type.element &&
            gantry__onnx_dtype(info->type.element, &name) == GANTRY_DTYPE_NONE &&
            gantry__onnx_stored_dtype(info->type.element) == GANTRY_DTYPE_NONE)
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "%s: input '%.200s' has elements of %s, which this library lacks",
                                model->graph_model->path, info->name, name);
        if (info->type.rank > GANTRY_MAX_RANK)
            return gantry__fail(GANTRY_UNIMPLEMENTED,
                                "%s: input '%.200s' has rank %" PRId32 "; up to %d are accepted",
                                model->graph_model->path, info->name, info->type.rank,
                                GANTRY_MAX_RANK);
    }
    return GANTRY_OK;
}

static const char *name_in_path(const char *path) {
    const char *name = gantry__os_path_name(path);
    return *name ? name : path;
}

/* Takes the file over, also if it fails. */
static gantry_status_t model_init(gantry_onnx_model_t *model, gantry__onnx_file_t *file,
                                  const gantry_onnx_options_t *options) {
    GANTRY__TRY(gantry__onnx_constants_init(&model->constants, model->runtime, file));
    model->graph_model = gantry__onnx_file_model(file);
    model->name = name_in_path(model->graph_model->path);
    GANTRY__TRY(gantry__struct_read(options->function, 0, &model->function_options,
                                    sizeof model->function_options,
                                    "gantry_onnx_model_load: options.function"));
    GANTRY__TRY(copy_dims(model, options));
    if (options->device && !(model->device = gantry__strdup(options->device)))
        return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(model_list_names(model));
    GANTRY__TRY(gantry__onnx_list_ops(model));
    model->node_states =
        gantry__alloc(model->constants.plan.node_count, sizeof *model->node_states);
    if (!model->node_states) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(model_check_values(model));
    return options->keeps_refused ? GANTRY_OK : check_refusals(model);
}

static gantry_status_t model_create(gantry_runtime_t *runtime, gantry__onnx_file_t *file,
                                    const gantry_onnx_options_t *options,
                                    gantry_onnx_model_t **out_model) {
    gantry_onnx_model_t *model = gantry__alloc(1, sizeof *model);
    if (!model) {
        gantry__onnx_file_release(file);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    atomic_init(&model->uses, 1);
    (void)gantry__mutex_init(&model->mutex);
    model->runtime = runtime;
    gantry_status_t status = model_init(model, file, options);
    if (status == GANTRY_OK) {
        *out_model = model;
        return GANTRY_OK;
    }
    gantry__onnx_model_drop(model);
    return status;
}

/* Checks what each way of loading gets. */
static gantry_status_t check_load(gantry_runtime_t *runtime, const void *text, const char *call,
                                  const gantry_onnx_options_t *given, gantry_onnx_options_t *out,
                                  gantry_onnx_model_t **out_model) {
    size_t count;
    if (!out_model) return gantry__refuse("%s: out_model is NULL; a place is accepted", call);
    *out_model = NULL;
    if (!text) return gantry__refuse("%s: the name is NULL; a text is accepted", call);
    /* the cheapest call that needs the runtime */
    GANTRY__TRY(gantry_list_physical_devices(runtime, "CPU", 0, NULL, &count));
    return gantry__struct_read(given, 0, out, sizeof *out, call);
}

gantry_status_t gantry_onnx_model_load(gantry_runtime_t *runtime, const char *path,
                                       const gantry_onnx_options_t *options,
                                       gantry_onnx_model_t **out_model) {
    gantry_onnx_options_t own;
    gantry__onnx_file_t *file = NULL;
    GANTRY__TRY(check_load(runtime, path, "gantry_onnx_model_load", options, &own, out_model));
    GANTRY__TRY(gantry__onnx_read_path(path, own.reads_file, own.follows_links, &file));
    return model_create(runtime, file, &own, out_model);
}

gantry_status_t gantry_onnx_model_load_bytes(gantry_runtime_t *runtime, const char *name,
                                             const void *bytes, size_t size,
                                             const gantry_onnx_options_t *options,
                                             gantry_onnx_model_t **out_model) {
    gantry_onnx_options_t own;
    gantry__onnx_file_t *file = NULL;
    GANTRY__TRY(
        check_load(runtime, name, "gantry_onnx_model_load_bytes", options, &own, out_model));
    if (!bytes)
        return gantry__refuse("gantry_onnx_model_load_bytes: bytes is NULL; %zu are accepted",
                              size);
    GANTRY__TRY(gantry__onnx_read_bytes(name, bytes, size, own.folder, own.follows_links, &file));
    return model_create(runtime, file, &own, out_model);
}

/* ---- ending ---- */

static void model_end(gantry_onnx_model_t *model) {
    const gantry__onnx_graph_t *graph = model->dim_names ? model->graph_model->graph : NULL;
    for (size_t i = 0; graph && i < graph->input_count + graph->output_count; ++i)
        gantry__free(model->dim_names[i]);
    gantry__free(model->dim_names);
    gantry__free(model->output_names);
    gantry__free(model->ops);
    gantry__free(model->node_states);
    gantry__free(model->is_bound);
    gantry__free(model->eager_reason);
    for (size_t i = 0; i < model->dim_count; ++i) gantry__free((char *)model->dims[i].name);
    gantry__free(model->dims);
    gantry__free(model->entries);
    gantry__free(model->device);
    gantry__onnx_constants_deinit(&model->constants);
    gantry__mutex_deinit(&model->mutex);
    gantry__free(model);
}

void gantry__onnx_model_drop(gantry_onnx_model_t *model) {
    if (atomic_fetch_sub(&model->uses, 1) == 1) model_end(model);
}

void gantry_onnx_model_release(gantry_onnx_model_t *model) {
    if (!model) return;
    gantry__onnx_drop_entries(model);
    gantry__onnx_model_drop(model);
}

/* ---- inputs and outputs ---- */

const gantry__onnx_value_info_t *gantry__onnx_input_info(const gantry_onnx_model_t *model,
                                                         size_t index) {
    return &model->graph_model->values[model->graph_model->graph->inputs[index]];
}

size_t gantry_onnx_model_input_count(const gantry_onnx_model_t *model) {
    return model ? model->graph_model->graph->input_count : 0;
}

size_t gantry_onnx_model_output_count(const gantry_onnx_model_t *model) {
    return model ? model->graph_model->graph->output_count : 0;
}

static gantry_status_t get_value(const gantry_onnx_model_t *model, bool is_input, size_t index,
                                 gantry_onnx_value_t *out_value) {
    gantry_onnx_value_t value = {0};
    const char *call = is_input ? "gantry_onnx_model_get_input" : "gantry_onnx_model_get_output";
    if (!model)
        return gantry__refuse("%s: the model is NULL; one from gantry_onnx_model_load is accepted",
                              call);
    const size_t count =
        is_input ? gantry_onnx_model_input_count(model) : gantry_onnx_model_output_count(model);
    if (index >= count)
        return gantry__fail(GANTRY_OUT_OF_RANGE, "%s: %s has %zu; %zu is not below", call,
                            model->name, count, index);
    gantry__onnx_describe_value(model, is_input, index, &value);
    return gantry__struct_fill(out_value, &value, sizeof value, call);
}

gantry_status_t gantry_onnx_model_get_input(const gantry_onnx_model_t *model, size_t index,
                                            gantry_onnx_value_t *out_value) {
    return get_value(model, true, index, out_value);
}

gantry_status_t gantry_onnx_model_get_output(const gantry_onnx_model_t *model, size_t index,
                                             gantry_onnx_value_t *out_value) {
    return get_value(model, false, index, out_value);
}
