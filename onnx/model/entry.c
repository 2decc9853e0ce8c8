/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a model, one for each signature; the one that was not used for longest makes
 * room. An entry is attached to its function, which frees it. */
#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/model/model_state.h"

/* The most functions that are kept; each keeps traces for sizes. */
#define MOST_ENTRIES 16

static const char entry_key; /* Its address is the key under which an entry is attached. */

static void entry_free(void *data) {
    onnx_entry_t *entry = data;
    const size_t count = entry->model->graph_model->graph->input_count;
    for (size_t i = 0; entry->bound && i < count; ++i) gantry_tensor_release(entry->bound[i]);
    gantry__free(entry->bound);
    gantry__free(entry->passing);
    gantry__free(entry->key);
    gantry__onnx_model_drop(entry->model);
    gantry__free(entry);
}

/* ---- the signature ---- */

/* Bytes of a key that are written so far; data NULL: they are only counted. */
typedef struct key_writer_t {
    uint8_t *data;
    size_t used;
} key_writer_t;

static void *key_room(key_writer_t *key, size_t bytes) {
    void *room = key->data ? key->data + key->used : NULL;
    key->used += bytes;
    return room;
}

static void key_number(key_writer_t *key, int64_t number) {
    void *room = key_room(key, sizeof number);
    if (room) memcpy(room, &number, sizeof number);
}

/* Writes how each input is passed: type and rank where the file does not say them, and all elements
 * of a bound one. */
static gantry_status_t entry_write_key(const gantry_onnx_model_t *model, const uint8_t *passing,
                                       const gantry_tensor_t *const *inputs, key_writer_t *key) {
    for (size_t i = 0; i < model->graph_model->graph->input_count; ++i) {
        key_number(key, passing[i]);
        if (passing[i] == ONNX_LEFT_OUT) continue;
        const gantry_shape_t *shape = gantry_tensor_shape(inputs[i]);
        key_number(key, gantry_tensor_dtype(inputs[i]));
        key_number(key, shape->rank);
        if (passing[i] == ONNX_PASSED) continue;
        for (int32_t k = 0; k < shape->rank; ++k) key_number(key, shape->dims[k]);
        const size_t bytes = gantry_tensor_bytes(inputs[i]);
        void *room = key_room(key, bytes);
        if (room && bytes > 0) GANTRY__TRY(gantry_tensor_read(inputs[i], room, bytes));
    }
    return GANTRY_OK;
}

static gantry_status_t entry_check_bound(const gantry_onnx_model_t *model, size_t index,
                                         const gantry_tensor_t *input) {
    if (gantry_tensor_device(input)) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: sizes depend on the elements of input '%.200s', which is a tensor of a "
        "traced body; one with elements is accepted",
        model->name, gantry__onnx_input_info(model, index)->name);
}

/* The mutex is held. */
static gantry_status_t decide_passing(const gantry_onnx_model_t *model,
                                      const gantry_tensor_t *const *inputs, uint8_t *passing) {
    for (size_t i = 0; i < model->graph_model->graph->input_count; ++i) {
        passing[i] = !inputs[i]                               ? ONNX_LEFT_OUT
                     : model->is_bound[i] && !model->is_eager ? ONNX_BOUND
                                                              : ONNX_PASSED;
        if (passing[i] == ONNX_BOUND) GANTRY__TRY(entry_check_bound(model, i, inputs[i]));
    }
    return GANTRY_OK;
}

/* ---- making one ---- */

/* Makes the function of an entry; specs are those of the inputs that are passed. */
static gantry_status_t entry_make_function(onnx_entry_t *entry, const gantry_input_spec_t *specs,
                                           size_t count) {
    gantry_onnx_model_t *model = entry->model;
    gantry_function_options_t options = model->function_options;
    options.struct_size = sizeof options;
    options.output_names = model->output_names;
    if (entry->is_eager) options.runs_eagerly = true;
    return gantry_function_trace(model->runtime, model->name, gantry__onnx_body, entry, specs,
                                 count, model->graph_model->graph->output_count, &options,
                                 &entry->function);
}

/* The signature has open sizes, so that the first trace is that of the first call, on its
 * device. */
static gantry_status_t make_open_function(onnx_entry_t *entry,
                                          const gantry_tensor_t *const *inputs) {
    const gantry__onnx_graph_t *graph = entry->model->graph_model->graph;
    gantry_input_spec_t *specs = gantry__alloc(graph->input_count, sizeof *specs);
    size_t passed = 0;
    if (!specs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < graph->input_count; ++i) {
        if (entry->passing[i] != ONNX_PASSED) continue;
        gantry_input_spec_t *spec = &specs[passed++];
        *spec =
            (gantry_input_spec_t){gantry__onnx_input_info(entry->model, i)->name,
                                  gantry_tensor_dtype(inputs[i]), *gantry_tensor_shape(inputs[i])};
        for (int32_t k = 0; k < spec->shape.rank; ++k) spec->shape.dims[k] = -1;
    }
    const gantry_status_t status = entry_make_function(entry, specs, passed);
    gantry__free(specs);
    return status;
}

static gantry_status_t entry_init(onnx_entry_t *entry, const gantry_tensor_t *const *inputs,
                                  const uint8_t *passing, const key_writer_t *key) {
    const size_t count = entry->model->graph_model->graph->input_count;
    entry->passing = gantry__alloc(count, 1);
    entry->bound = gantry__alloc(count, sizeof *entry->bound);
    entry->key = gantry__alloc(key->used, 1);
    if (!entry->passing || !entry->bound || !entry->key) return GANTRY_RESOURCE_EXHAUSTED;
    entry->key_bytes = key->used;
    if (key->data) memcpy(entry->key, key->data, key->used);
    memcpy(entry->passing, passing, count);
    for (size_t i = 0; inputs && i < count; ++i) {
        if (passing[i] == ONNX_BOUND) entry->bound[i] = gantry_tensor_retain(inputs[i]);
    }
    return GANTRY_OK;
}

static onnx_entry_t *entry_new(gantry_onnx_model_t *model, bool is_eager) {
    onnx_entry_t *entry = gantry__alloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->model = model;
    entry->is_eager = is_eager;
    atomic_fetch_add(&model->uses, 1);
    return entry;
}

/* Gives the entry to its function, which then frees it; after a failure nothing is left. */
static gantry_status_t attach_entry(onnx_entry_t *entry, gantry_status_t status) {
    if (status == GANTRY_OK &&
        gantry_function_attach(entry->function, &entry_key, entry, entry_free) != entry)
        status = GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry_function_release(entry->function);
    entry_free(entry);
    return status;
}

static gantry_status_t entry_create(gantry_onnx_model_t *model,
                                    const gantry_tensor_t *const *inputs, const uint8_t *passing,
                                    bool is_eager, const key_writer_t *key,
                                    onnx_entry_t **out_entry) {
    onnx_entry_t *entry = entry_new(model, is_eager);
    if (!entry) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = entry_init(entry, inputs, passing, key);
    if (status == GANTRY_OK) status = make_open_function(entry, inputs);
    GANTRY__TRY(attach_entry(entry, status));
    *out_entry = entry;
    return GANTRY_OK;
}

/* ---- a function of fixed sizes ---- */

/* Fills what each input is given, how it is passed, and the specs of those that are. */
static gantry_status_t entry_describe_given(const gantry_onnx_model_t *model,
                                            const gantry_shape_t *shapes, onnx_given_t *given,
                                            uint8_t *passing, gantry_input_spec_t *specs,
                                            size_t *out_passed) {
    *out_passed = 0;
    for (size_t i = 0; i < model->graph_model->graph->input_count; ++i) {
        gantry_onnx_value_t value;
        gantry__onnx_describe_value(model, true, i, &value);
        passing[i] = (uint8_t)(shapes[i].rank < 0 ? ONNX_LEFT_OUT : ONNX_PASSED);
        given[i] = (onnx_given_t){value.dtype, passing[i] == ONNX_PASSED ? &shapes[i] : NULL};
        if (passing[i] == ONNX_LEFT_OUT) continue;
        if (value.dtype == GANTRY_DTYPE_NONE)
            return gantry__fail(GANTRY_FAILED_PRECONDITION,
                                "%s: the file does not say the type of input '%.200s'; a run does",
                                model->name, value.name);
        specs[(*out_passed)++] = (gantry_input_spec_t){value.name, value.dtype, shapes[i]};
    }
    return GANTRY_OK;
}

static gantry_status_t make_fixed_function(gantry_onnx_model_t *model, const gantry_shape_t *shapes,
                                           onnx_given_t *given, uint8_t *passing,
                                           gantry_input_spec_t *specs,
                                           gantry_function_t **out_function) {
    const size_t count = model->graph_model->graph->input_count;
    const key_writer_t no_key = {NULL, 0};
    size_t passed;
    GANTRY__TRY(entry_describe_given(model, shapes, given, passing, specs, &passed));
    GANTRY__TRY(gantry__onnx_check_inputs(model, given, count));
    onnx_entry_t *entry = entry_new(model, false);
    if (!entry) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = entry_init(entry, NULL, passing, &no_key);
    if (status == GANTRY_OK) status = entry_make_function(entry, specs, passed);
    gantry_function_t *function = entry->function;
    GANTRY__TRY(attach_entry(entry, status));
    *out_function = function;
    return GANTRY_OK;
}

/* A clone has the device. */
static gantry_status_t put_on_device(gantry_function_t *function, const char *device,
                                     gantry_function_t **out_function) {
    const gantry_clone_options_t options = {.struct_size = sizeof options, .device = device};
    const gantry_status_t status = gantry_function_clone(function, &options, out_function);
    gantry_function_release(function);
    return status;
}

gantry_status_t gantry_onnx_model_trace(gantry_onnx_model_t *model, const gantry_shape_t *shapes,
                                        size_t shape_count, const char *device,
                                        gantry_function_t **out_function) {
    const char *call = "gantry_onnx_model_trace";
    if (!model || !out_function)
        return gantry__refuse("%s: the %s is NULL; %s is accepted", call,
                              model ? "out_function" : "model",
                              model ? "a place" : "one from gantry_onnx_model_load");
    *out_function = NULL;
    const size_t count = model->graph_model->graph->input_count;
    if (shape_count != count || (count > 0 && !shapes))
        return gantry__refuse("%s: %s has %zu inputs; %zu shapes at %s are given", call,
                              model->name, count, shape_count, shapes ? "an address" : "NULL");
    onnx_given_t *given = gantry__alloc(count, sizeof *given);
    uint8_t *passing = gantry__alloc(count, 1);
    gantry_input_spec_t *specs = gantry__alloc(count, sizeof *specs);
    gantry_function_t *function = NULL;
    gantry_status_t status =
        given && passing && specs
            ? make_fixed_function(model, shapes, given, passing, specs, &function)
            : GANTRY_RESOURCE_EXHAUSTED;
    gantry__free(given);
    gantry__free(passing);
    gantry__free(specs);
    if (!device) device = model->device;
    if (status == GANTRY_OK && device) return put_on_device(function, device, out_function);
    *out_function = function;
    return status;
}

/* ---- finding one; the mutex is held ---- */

static onnx_entry_t *find_entry(gantry_onnx_model_t *model, const key_writer_t *key) {
    for (size_t i = 0; i < model->entry_count; ++i) {
        onnx_entry_t *entry = model->entries[i];
        if (entry->is_eager == model->is_eager && entry->key_bytes == key->used &&
            memcmp(entry->key, key->data, key->used) == 0)
            return entry;
    }
    return NULL;
}

/* Makes room for one more; *out_gone is the function that goes, if one does. */
static bool entry_make_room(gantry_onnx_model_t *model, gantry_function_t **out_gone) {
    size_t oldest = 0;
    *out_gone = NULL;
    if (model->entry_count < MOST_ENTRIES)
        return gantry__grow(&model->entries, model->entry_count, &model->entry_capacity,
                            sizeof(onnx_entry_t *));
    for (size_t i = 1; i < model->entry_count; ++i) {
        if (model->entries[i]->last_use < model->entries[oldest]->last_use) oldest = i;
    }
    *out_gone = model->entries[oldest]->function;
    model->entries[oldest] = model->entries[--model->entry_count];
    return true;
}

static onnx_entry_t *use_entry(gantry_onnx_model_t *model, onnx_entry_t *entry) {
    entry->last_use = ++model->clock;
    (void)gantry_function_retain(entry->function);
    return entry;
}

/* Another thread may have been faster: then its entry is taken. */
static gantry_status_t add_entry(gantry_onnx_model_t *model, onnx_entry_t *made,
                                 const key_writer_t *key, onnx_entry_t **out_entry) {
    gantry_function_t *gone = NULL;
    gantry__mutex_lock(&model->mutex);
    onnx_entry_t *entry = find_entry(model, key);
    const bool has_room = entry || entry_make_room(model, &gone);
    if (entry) {
        gone = made->function;
    } else if (has_room) {
        entry = model->entries[model->entry_count++] = made;
    } else {
        gone = made->function;
    }
    *out_entry = entry ? use_entry(model, entry) : NULL;
    gantry__mutex_unlock(&model->mutex);
    gantry_function_release(gone);
    return entry ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t take_by_key(gantry_onnx_model_t *model, const gantry_tensor_t *const *inputs,
                                   const uint8_t *passing, bool is_eager,
                                   onnx_entry_t **out_entry) {
    key_writer_t key = {NULL, 0};
    GANTRY__TRY(entry_write_key(model, passing, inputs, &key));
    uint8_t *data = gantry__alloc(key.used, 1);
    if (!data) return GANTRY_RESOURCE_EXHAUSTED;
    key = (key_writer_t){data, 0};
    gantry_status_t status = entry_write_key(model, passing, inputs, &key);
    *out_entry = NULL;
    gantry__mutex_lock(&model->mutex);
    onnx_entry_t *found = status == GANTRY_OK ? find_entry(model, &key) : NULL;
    if (found) *out_entry = use_entry(model, found);
    gantry__mutex_unlock(&model->mutex);
    if (status == GANTRY_OK && !found) {
        onnx_entry_t *made = NULL;
        status = entry_create(model, inputs, passing, is_eager, &key, &made);
        if (status == GANTRY_OK) status = add_entry(model, made, &key, out_entry);
    }
    gantry__free(data);
    return status;
}

uint64_t gantry__onnx_changes(const gantry_onnx_model_t *model) {
    return model->changes + atomic_load(&model->constants.left_count);
}

gantry_status_t gantry__onnx_take_entry(gantry_onnx_model_t *model,
                                        const gantry_tensor_t *const *inputs,
                                        onnx_entry_t **out_entry, uint64_t *out_changes) {
    uint8_t *passing = gantry__alloc(model->graph_model->graph->input_count, 1);
    if (!passing) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__mutex_lock(&model->mutex);
    gantry_status_t status = decide_passing(model, inputs, passing);
    const bool is_eager = model->is_eager;
    *out_changes = gantry__onnx_changes(model);
    gantry__mutex_unlock(&model->mutex);
    if (status == GANTRY_OK) status = take_by_key(model, inputs, passing, is_eager, out_entry);
    gantry__free(passing);
    return status;
}

void gantry__onnx_drop_entries(gantry_onnx_model_t *model) {
    for (size_t i = 0; i < model->entry_count; ++i)
        gantry_function_release(model->entries[i]->function);
    model->entry_count = 0;
}
