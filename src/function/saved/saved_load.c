/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_function_load: the header is parsed, the graph's bytes are read, and its weights are
 * loaded when the reader has their table (saved_weights.c). What the header says was checked by its
 * parser; that the graph wants just that is checked here. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/fp_mode.h"
#include "device/device_open.h"
#include "function/call/function.h"
#include "function/saved/saved_format.h"
#include "function/saved/saved_memory.h"
#include "function/saved/saved_weights.h"
#include "io/file_kind.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"
#include "shared/printable.h"
#include "shared/struct_size.h"

#define FRONT_BYTES 16384 /* that are read at once: of most files the header and small weights */
#define KIND_BYTES 512    /* that show what a file is */
#define MOST_FILE_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 46 : 30))

typedef gantry__saved_file_t loading_t;

/* ---- bytes ---- */

static gantry_status_t saved_load_read_front(loading_t *loading) {
    loading->front_bytes = loading->size < FRONT_BYTES ? (size_t)loading->size : FRONT_BYTES;
    loading->front = gantry__heap_alloc(&loading->runtime->heap, loading->front_bytes);
    if (!loading->front) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry__file_read_at(loading->file, loading->path, 0, loading->front,
                                loading->front_bytes);
}

/* Reads what is not in the front from the file. */
static gantry_status_t read_part(const loading_t *loading, uint64_t offset, void *out,
                                 size_t bytes) {
    const size_t left = offset < loading->front_bytes ? loading->front_bytes - (size_t)offset : 0;
    const size_t known = bytes < left ? bytes : left;
    if (known > 0) memcpy(out, loading->front + offset, known);
    return gantry__file_read_at(loading->file, loading->path, offset + known, (char *)out + known,
                                bytes - known);
}

/* ---- the header ---- */

static gantry_status_t saved_load_check_kind(const loading_t *loading) {
    const size_t bytes = loading->front_bytes;
    const char *kind = gantry__file_kind(loading->front, bytes < KIND_BYTES ? bytes : KIND_BYTES);
    if (kind) return gantry__refuse("it is no safetensors file: %s", kind);
    if (loading->size >= GANTRY__SAFETENSORS_LENGTH_BYTES) return GANTRY_OK;
    return gantry__refuse("it is no safetensors file: it has %" PRIu64
                          " bytes; at least 8 are accepted",
                          loading->size);
}

static gantry_status_t saved_load_parse_header(loading_t *loading, size_t length) {
    const gantry__heap_t *heap = &loading->runtime->heap;
    const gantry__safetensors_memory_t memory = gantry__saved_memory(heap);
    char *text = gantry__heap_alloc(heap, length);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = read_part(loading, GANTRY__SAFETENSORS_LENGTH_BYTES, text, length);
    if (status == GANTRY_OK)
        status = gantry__safetensors_parse(&memory, text, length,
                                           loading->size - loading->data_offset, &loading->header);
    gantry__heap_free(heap, text, length);
    return status;
}

static gantry_status_t load_header(loading_t *loading) {
    uint64_t length;
    GANTRY__TRY(saved_load_read_front(loading));
    GANTRY__TRY(saved_load_check_kind(loading));
    GANTRY__TRY(gantry__safetensors_length(loading->front, loading->size, &length));
    loading->data_offset = GANTRY__SAFETENSORS_LENGTH_BYTES + length;
    return saved_load_parse_header(loading, (size_t)length);
}

static const char *saved_load_text_of(const loading_t *loading, const char *key) {
    for (size_t i = 0; i < loading->header.text_count; ++i) {
        if (strcmp(loading->header.texts[i].key, key) == 0) return loading->header.texts[i].value;
    }
    return NULL;
}

static GANTRY__COLD gantry_status_t saved_load_fail_format(const char *kind, const char *format,
                                                           const char *version) {
    const gantry__graph_label_t label = gantry__graph_label(kind ? kind : "missing");
    const gantry__graph_label_t number = gantry__graph_label(format ? format : "missing");
    const gantry__graph_label_t writer = gantry__graph_label(version ? version : "?");
    if (!kind || strcmp(kind, GANTRY__SAVED_KIND) != 0)
        return gantry__refuse(
            "it is a safetensors file, and no saved function: the format in its metadata is %s; " GANTRY__SAVED_KIND
            " is accepted",
            label.text);
    if (!format) return gantry__fail(GANTRY_DATA_LOSS, "its metadata has no gantry_format");
    return gantry__fail(
        GANTRY_UNIMPLEMENTED,
        "its gantry_format is \"%s\", and Gantry %s wrote it; this library, Gantry %s, reads formats 1 to %d",
        number.text, writer.text, gantry_version(), GANTRY_SAVED_FORMAT);
}

/* A newer file is refused by its metadata, whatever else it has. */
static gantry_status_t saved_load_read_format(const loading_t *loading, uint32_t *out_format) {
    const char *kind = saved_load_text_of(loading, "format"),
               *format = saved_load_text_of(loading, "gantry_format");
    *out_format = !format ? 0 : strcmp(format, "1") == 0 ? 1 : strcmp(format, "2") == 0 ? 2 : 0;
    return kind && strcmp(kind, GANTRY__SAVED_KIND) == 0 && *out_format != 0
               ? GANTRY_OK
               : saved_load_fail_format(kind, format,
                                        saved_load_text_of(loading, "gantry_version"));
}

/* ---- the graph ---- */

static void saved_destroy(gantry__saved_t *saved) {
    const gantry__heap_t *heap = saved->arena.heap;
    gantry_graph_release(saved->graph);
    for (uint32_t i = 0; i < saved->weight_count; ++i) {
        gantry_tensor_release(saved->weights[i].tensor);
        gantry_variable_release(saved->weights[i].variable);
    }
    for (uint32_t i = 0; i < saved->stream_count; ++i) gantry__draws_release(saved->streams[i]);
    gantry__heap_free(heap, saved->bytes, saved->size);
    gantry__arena_deinit(&saved->arena);
    gantry__mutex_deinit(&saved->lock);
    gantry__heap_free(heap, saved, sizeof *saved);
}

static gantry_status_t saved_make(gantry_runtime_t *runtime, gantry__saved_t **out_saved) {
    gantry__saved_t *saved = gantry__heap_zalloc(&runtime->heap, sizeof *saved);
    if (!saved) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&saved->lock) != 0) {
        gantry__heap_free(&runtime->heap, saved, sizeof *saved);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    saved->runtime = runtime;
    gantry__arena_init(&saved->arena, &runtime->heap);
    *out_saved = saved;
    return GANTRY_OK;
}

/* The header ends before the function. */
static gantry_status_t keep_metadata(const loading_t *loading, gantry__saved_t *saved) {
    const size_t prefix = sizeof GANTRY__SAVED_USER - 1, count = loading->header.text_count;
    saved->metadata = gantry__arena_zalloc(&saved->arena, count, sizeof *saved->metadata);
    if (!saved->metadata) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        const gantry__safetensors_text_t *text = &loading->header.texts[i];
        if (strncmp(text->key, GANTRY__SAVED_USER, prefix) != 0) continue;
        const size_t bytes = strlen(text->key) - prefix;
        if (bytes == 0 || bytes > GANTRY_MAX_GRAPH_TEXT)
            return gantry__fail(GANTRY_DATA_LOSS,
                                "a key of its metadata has %zu bytes after \"" GANTRY__SAVED_USER
                                "\"; 1 to %d are accepted",
                                bytes, GANTRY_MAX_GRAPH_TEXT);
        gantry_metadata_t *kept = &saved->metadata[saved->metadata_count++];
        kept->key = gantry__arena_strdup(&saved->arena, text->key + prefix);
        kept->text = gantry__arena_strdup(&saved->arena, text->value);
        if (!kept->key || !kept->text) return GANTRY_RESOURCE_EXHAUSTED;
    }
    return GANTRY_OK;
}

static gantry_status_t load_bytes(loading_t *loading, gantry__saved_t *saved) {
    const gantry__heap_t *heap = &loading->runtime->heap;
    const gantry__safetensors_tensor_t *tensor =
        gantry__safetensors_find(&loading->header, GANTRY__SAVED_TENSOR);
    if (!tensor || tensor->dtype != GANTRY_UINT8)
        return gantry__fail(GANTRY_DATA_LOSS,
                            "its tensor \"" GANTRY__SAVED_TENSOR "\" is %s; one of U8 is accepted",
                            tensor ? tensor->type_name : "missing");
    saved->size = (size_t)(tensor->end - tensor->begin);
    saved->bytes = gantry__heap_alloc(heap, saved->size);
    if (!saved->bytes) return GANTRY_RESOURCE_EXHAUSTED;
    return read_part(loading, loading->data_offset + tensor->begin, saved->bytes, saved->size);
}

static gantry_status_t load_graph(loading_t *loading, gantry__saved_t *saved) {
    GANTRY__TRY(load_bytes(loading, saved));
    GANTRY__TRY(keep_metadata(loading, saved));
    GANTRY__TRY(gantry__logical_device_open(loading->runtime->host));
    return gantry__saved_read_tables(saved, gantry__saved_load_weights, loading);
}

static gantry_status_t load_scoped(loading_t *loading, const char *device, gantry__saved_t *saved) {
    GANTRY__TRY(load_header(loading));
    GANTRY__TRY(saved_load_read_format(loading, &saved->format));
    GANTRY__TRY(gantry__runtime_initialize(loading->runtime, "gantry_function_load"));
    loading->scope = gantry_scope_begin(loading->runtime, device);
    loading->host = device ? NULL : gantry_scope_begin(loading->runtime, "CPU:0");
    gantry_status_t status = loading->scope && (device || loading->host)
                                 ? gantry_scope_status(loading->scope)
                                 : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) status = load_graph(loading, saved);
    if (loading->host) status = gantry__scope_end_body(loading->host, status);
    return loading->scope ? gantry__scope_end_body(loading->scope, status) : status;
}

static gantry_status_t saved_load_from_file(gantry_runtime_t *runtime, const char *path,
                                            const gantry_function_load_options_t *options,
                                            gantry__saved_t *saved) {
    loading_t loading = {.runtime = runtime, .path = path, .maps = options->maps};
    GANTRY__TRY(gantry__safetensors_check_machine());
    GANTRY__TRY(gantry__file_open(path, MOST_FILE_BYTES, &loading.file, &loading.size));
    const gantry_status_t status = load_scoped(&loading, options->device, saved);
    gantry__safetensors_deinit(&loading.header);
    gantry__heap_free(&runtime->heap, loading.front, loading.front_bytes);
    gantry__file_close(loading.file);
    return status;
}

/* ---- the function ---- */

static void saved_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    gantry_graph_t *graph;
    const gantry_status_t status = gantry__saved_describe(user, &graph);
    if (status == GANTRY_OK)
        gantry__graph_body(scope, inputs, outputs, graph);
    else
        (void)gantry__scope_fail(scope, status);
}

static gantry_status_t saved_record(void *user, gantry__specialization_t *specialization,
                                    bool *out_is_recorded) {
    return gantry__saved_record(user, specialization, out_is_recorded);
}

static gantry_status_t saved_describe(void *user, gantry_graph_t **out_graph) {
    return gantry__saved_describe(user, out_graph);
}

static void saved_release(void *user) { saved_destroy(user); }

/* A function that is not traced yet is checked by its description. */
static gantry_status_t check_untraced(const gantry_function_t *function, gantry__saved_t *saved) {
    gantry_graph_t *graph;
    return !function->runs_eagerly && gantry__function_is_known(function)
               ? GANTRY_OK
               : gantry__saved_describe(saved, &graph);
}

static gantry_status_t saved_load_make_function(gantry__saved_t *saved,
                                                const gantry_function_options_t *options,
                                                gantry_function_t **out_function) {
    const gantry__saved_body_t *body = &saved->body;
    const gantry__graph_label_t name = gantry__graph_label(body->name);
    static const gantry__function_origin_t origin = {.record = saved_record,
                                                     .describe = saved_describe};
    const gantry__function_source_t source = {.call = "gantry_function_load",
                                              .name = name.text,
                                              .body = saved_body,
                                              .user = saved,
                                              .release_user = saved_release,
                                              .origin = &origin,
                                              .inputs = body->inputs,
                                              .input_count = body->input_count,
                                              .output_count = body->output_count,
                                              .output_names = body->output_names,
                                              .metadata = saved->metadata,
                                              .metadata_count = saved->metadata_count};
    GANTRY__TRY(gantry__function_make(saved->runtime, &source, options, out_function));
    const gantry_status_t status = check_untraced(*out_function, saved);
    if (status == GANTRY_OK) return GANTRY_OK;
    (*out_function)->body.release_user = NULL; /* the caller has it */
    gantry_function_release(*out_function);
    *out_function = NULL;
    return status;
}

static gantry_status_t fail_load(const char *path, gantry_status_t status) {
    char text[GANTRY__MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry__message());
    gantry__make_printable(text, '\n');
    return gantry__fail(status, "cannot load the function of '%s': %s", path, text);
}

static gantry_status_t load_function(gantry_runtime_t *runtime, const char *path,
                                     const gantry_function_load_options_t *options,
                                     gantry_function_t **out_function) {
    gantry__saved_t *saved = NULL;
    GANTRY__TRY(saved_make(runtime, &saved));
    gantry_status_t status = saved_load_from_file(runtime, path, options, saved);
    if (status == GANTRY_OK)
        status = saved_load_make_function(saved, options->function, out_function);
    if (status == GANTRY_OK) return GANTRY_OK;
    saved_destroy(saved);
    return fail_load(path, status);
}

gantry_status_t gantry_function_load(gantry_runtime_t *runtime, const char *path,
                                     const gantry_function_load_options_t *options,
                                     gantry_function_t **out_function) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_function_load_options_t chosen;
    if (!out_function)
        return gantry__refuse("gantry_function_load: out_function is NULL; an address is accepted");
    *out_function = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    if (!path) return gantry__refuse("gantry_function_load: the path is NULL; a path is accepted");
    GANTRY__TRY(
        gantry__struct_read(options, 0, &chosen, sizeof chosen, "gantry_function_load: options"));
    return load_function(runtime, path, &chosen, out_function);
}
