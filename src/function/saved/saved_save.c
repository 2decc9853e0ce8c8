/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_function_save: the graph of the function becomes bytes, then the header is made, and only
 * then is the file created. A weight on a device is read into host memory when it is its turn. */
#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "base/new_file.h"
#include "function/call/function.h"
#include "function/saved/saved_format.h"
#include "function/saved/saved_memory.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"
#include "shared/printable.h"
#include "shared/safetensors_types.h"
#include "shared/struct_size.h"

enum { OWN_TEXTS = 3 };

typedef struct saving_t {
    gantry_function_t *function;
    gantry__saved_graph_t saved;
    gantry__safetensors_tensor_t *tensors; /* of the weights, and of the graph */
    size_t tensor_count;
    gantry__safetensors_text_t *texts;
    size_t text_count, text_room;
} saving_t;

/* ---- texts ---- */

static gantry_status_t saved_save_check_text(const char *what, const char *text) {
    for (const char *at = text; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (bytes == 0)
            return gantry__refuse("the %s \"%s\" of metadata is no UTF-8, which is accepted", what,
                                  gantry__graph_label(text).text);
        at += bytes;
    }
    return GANTRY_OK;
}

/* A text replaces the one of the same key. */
static gantry_status_t saved_save_add_text(saving_t *saving, const gantry_metadata_t *given) {
    if (!given->key || !*given->key || !given->text)
        return gantry__refuse(
            "metadata has a %s; keys that are not empty, with texts, are accepted",
            given->key && *given->key ? "text that is NULL"
            : given->key              ? "key that is empty"
                                      : "key that is NULL");
    if (strlen(given->key) > GANTRY_MAX_GRAPH_TEXT)
        return gantry__refuse("metadata has a key of %zu bytes; 1 to %d bytes are accepted",
                              strlen(given->key), GANTRY_MAX_GRAPH_TEXT);
    GANTRY__TRY(saved_save_check_text("key", given->key));
    GANTRY__TRY(saved_save_check_text("text", given->text));
    const size_t bytes = strlen(given->key) + sizeof GANTRY__SAVED_USER;
    char *key = gantry__arena_zalloc(&saving->saved.arena, bytes, 1);
    if (!key) return GANTRY_RESOURCE_EXHAUSTED;
    (void)snprintf(key, bytes, GANTRY__SAVED_USER "%s", given->key);
    size_t at = OWN_TEXTS;
    while (at < saving->text_count && strcmp(saving->texts[at].key, key) != 0) ++at;
    saving->texts[at] = (gantry__safetensors_text_t){key, given->text};
    if (at == saving->text_count) ++saving->text_count;
    return GANTRY_OK;
}

static gantry_status_t add_texts(saving_t *saving, const gantry_function_save_options_t *options) {
    const gantry__safetensors_text_t own[OWN_TEXTS] = {
        {"format", GANTRY__SAVED_KIND},
        {"gantry_format", saving->saved.format == 1 ? "1" : "2"},
        {"gantry_version", GANTRY_VERSION}};
    _Static_assert(GANTRY_SAVED_FORMAT == 2, "the texts of the formats");
    const size_t count = gantry_function_metadata_count(saving->function);
    saving->text_room = OWN_TEXTS + count + options->metadata_count;
    saving->texts =
        gantry__heap_zalloc(saving->saved.heap, saving->text_room * sizeof *saving->texts);
    if (!saving->texts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(saving->texts, own, sizeof own);
    saving->text_count = OWN_TEXTS;
    for (size_t i = 0; i < count; ++i) {
        gantry_metadata_t metadata;
        GANTRY__TRY(gantry_function_get_metadata(saving->function, i, &metadata));
        GANTRY__TRY(saved_save_add_text(saving, &metadata));
    }
    for (size_t i = 0; i < options->metadata_count; ++i)
        GANTRY__TRY(saved_save_add_text(saving, &options->metadata[i]));
    return GANTRY_OK;
}

/* ---- tensors ---- */

static gantry_status_t saved_save_add_tensors(saving_t *saving) {
    const gantry__saved_graph_t *saved = &saving->saved;
    const size_t count = saved->weight_count;
    saving->tensors = gantry__heap_zalloc(saved->heap, (count + 1) * sizeof *saving->tensors);
    if (!saving->tensors) return GANTRY_RESOURCE_EXHAUSTED;
    saving->tensor_count = count + 1;
    for (size_t i = 0; i < count; ++i) {
        const gantry__saved_weight_t *weight = &saved->weights[i];
        if (!gantry__safetensors_type_name(weight->dtype))
            return gantry__fail(
                GANTRY_UNIMPLEMENTED,
                "\"%s\" is %s, which has no name in safetensors; tensors of every other type, and constants of up to %d bytes, are accepted",
                gantry__graph_label(weight->name).text, gantry_dtype_name(weight->dtype),
                GANTRY__SAVED_INLINE_BYTES);
        saving->tensors[i] = (gantry__safetensors_tensor_t){
            .name = weight->name, .dtype = weight->dtype, .shape = weight->shape, .source = i};
    }
    saving->tensors[count] =
        (gantry__safetensors_tensor_t){.name = GANTRY__SAVED_TENSOR,
                                       .dtype = GANTRY_UINT8,
                                       .shape = GANTRY_SHAPE((int64_t)saved->size),
                                       .source = count};
    gantry__safetensors_lay_out(saving->tensors, saving->tensor_count);
    return GANTRY_OK;
}

static gantry_status_t write_weight(const saving_t *saving, size_t index, gantry_new_file_t *file) {
    const gantry__saved_graph_t *saved = &saving->saved;
    if (index == saved->weight_count)
        return gantry__new_file_write(file, saved->bytes, saved->size);
    const gantry__saved_weight_t *weight = &saved->weights[index];
    const void *data;
    void *owned;
    gantry_status_t status = gantry__tensor_host_data(weight->tensor, &data, &owned);
    if (status != GANTRY_OK)
        return gantry__fail_prefix(status, "\"%s\": ", gantry__graph_label(weight->name).text);
    status = gantry__new_file_write(file, data, weight->tensor->size_bytes);
    gantry__heap_free(saved->heap, owned, weight->tensor->size_bytes);
    return status;
}

static gantry_status_t saved_save_write_file(const saving_t *saving, const char *path,
                                             const char *front, size_t front_bytes) {
    gantry_new_file_t file;
    gantry_status_t status = gantry__new_file_begin(path, GANTRY__FILE_DURABLE, &file);
    if (status == GANTRY_OK) status = gantry__new_file_write(&file, front, front_bytes);
    for (size_t i = 0; i < saving->tensor_count && status == GANTRY_OK; ++i)
        status = write_weight(saving, saving->tensors[i].source, &file);
    if (status == GANTRY_OK) status = gantry__new_file_end(&file);
    gantry__new_file_abandon(&file);
    return status;
}

/* ---- the call ---- */

static gantry_status_t save_graph(saving_t *saving, const gantry_graph_t *graph, const char *path,
                                  const gantry_function_save_options_t *options) {
    const gantry__safetensors_memory_t memory = gantry__saved_memory(saving->saved.heap);
    char *front;
    size_t front_bytes, capacity;
    GANTRY__TRY(gantry__saved_write(graph, gantry__function_newest_keeps_rows(saving->function),
                                    &saving->saved));
    GANTRY__TRY(add_texts(saving, options));
    GANTRY__TRY(saved_save_add_tensors(saving));
    GANTRY__TRY(gantry__safetensors_write(&memory, saving->tensors, saving->tensor_count,
                                          saving->texts, saving->text_count, &front, &front_bytes,
                                          &capacity));
    const gantry_status_t status = saved_save_write_file(saving, path, front, front_bytes);
    gantry__heap_free(saving->saved.heap, front, capacity);
    return status;
}

static gantry_status_t save_function(gantry_function_t *function, const char *path,
                                     const gantry_function_save_options_t *options) {
    const gantry__heap_t *heap = &function->runtime->heap;
    saving_t saving = {.function = function, .saved.heap = heap};
    gantry_graph_t *graph;
    GANTRY__TRY(gantry__safetensors_check_machine());
    GANTRY__TRY(gantry_function_get_graph(function, &graph));
    const gantry_status_t status = save_graph(&saving, graph, path, options);
    gantry__heap_free(heap, saving.tensors, saving.tensor_count * sizeof *saving.tensors);
    gantry__heap_free(heap, saving.texts, saving.text_room * sizeof *saving.texts);
    gantry__saved_graph_deinit(&saving.saved);
    gantry_graph_release(graph);
    return status;
}

gantry_status_t gantry_function_save(gantry_function_t *function, const char *path,
                                     const gantry_function_save_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_function_save_options_t chosen;
    if (!function)
        return gantry__refuse("gantry_function_save: the function is NULL; a function is accepted");
    GANTRY__TRY(gantry__runtime_check(function->runtime));
    if (!path) return gantry__refuse("gantry_function_save: the path is NULL; a path is accepted");
    GANTRY__TRY(
        gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_function_save: options"));
    if (!chosen.metadata && chosen.metadata_count > 0)
        return gantry__refuse("gantry_function_save: metadata is NULL; an array of %zu is accepted",
                              chosen.metadata_count);
    const gantry_status_t status = save_function(function, path, &chosen);
    if (status == GANTRY_OK) return GANTRY_OK;
    return gantry__fail_prefix(status, "cannot save function %s to '%s': ", function->name, path);
}
