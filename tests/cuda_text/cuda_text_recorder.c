/* SPDX-License-Identifier: Apache-2.0 */
/* Services of a call that record the requests and do nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_text.h"

static text_recorder_t *recorder_of(const gantry_op_call_t *call) { return call->core; }

static int32_t refuse(gantry_op_call_t *call, const char *why, const char *what) {
    printf("FAIL %s: %s %s\n", recorder_of(call)->what, why, what);
    recorder_of(call)->list->failures++;
    return 13;
}

static int32_t scratch(gantry_op_call_t *call, uint64_t size_bytes, gantry_span_t *out_span) {
    (void)call;
    *out_span = (gantry_span_t){.region = 2, .size_bytes = size_bytes};
    return 0;
}

static bool is_made(const gantry_program_source_t *source) {
    return GANTRY_ABI_HAS(source, make) && source->make;
}

/* Sources with one label differ if their texts are made. */
static bool is_same(const gantry_program_source_t *a, const gantry_program_source_t *b) {
    if (strcmp(a->label, b->label) != 0) return false;
    return !is_made(a) || !is_made(b) ||
           (a->key_bytes == b->key_bytes && memcmp(a->key, b->key, (size_t)a->key_bytes) == 0);
}

/* A copy of a source whose text is made, with the text as the last part. NULL: memory is out. */
static gantry_program_source_t *make_source(const gantry_program_source_t *source) {
    const size_t bytes = (size_t)source->make(source->key, NULL, 0) + 1;
    gantry_program_source_t *kept = malloc(sizeof *kept);
    const char **parts = malloc((source->part_count + 1) * sizeof *parts);
    char *text = malloc(bytes), *key = malloc((size_t)source->key_bytes);
    if (!kept || !parts || !text || !key) {
        free(key);
        free(text);
        free((void *)parts);
        free(kept);
        return NULL;
    }
    (void)source->make(source->key, text, bytes);
    memcpy(key, source->key, (size_t)source->key_bytes);
    for (uint32_t i = 0; i < source->part_count; ++i) parts[i] = source->parts[i];
    parts[source->part_count] = text;
    *kept = *source;
    kept->key = key;
    kept->parts = parts;
    kept->part_count++;
    return kept;
}

static void free_const(const void *memory) {
    void *owned;
    memcpy(&owned, &memory, sizeof owned); /* its owner sees it as const */
    free(owned);
}

void cuda_text_free(text_list_t *list) {
    for (uint32_t i = 0; i < list->count; ++i) {
        gantry_program_source_t *made = list->programs[i].made;
        if (!made) continue;
        free_const(made->parts[made->part_count - 1]);
        free_const(made->parts);
        free_const(made->key);
        free(made);
    }
    free(list);
}

static text_program_t *find_program(text_list_t *list, const gantry_program_source_t *source,
                                    const char *options) {
    text_program_t *program = list->programs;
    for (; program < list->programs + list->count; ++program) {
        if (is_same(program->source, source) && strcmp(program->options, options) == 0)
            return program;
    }
    if (list->count == TEXT_MOST_PROGRAMS || strlen(options) >= sizeof program->options)
        return NULL;
    list->count++;
    program->made = is_made(source) ? make_source(source) : NULL;
    program->source = program->made ? program->made : source;
    snprintf(program->options, sizeof program->options, "%s", options);
    return program;
}

static int32_t find_kernel(gantry_op_call_t *call, const gantry_program_source_t *source,
                           const char *options, const char *name,
                           gantry_backend_kernel_t **out_kernel) {
    text_program_t *program = find_program(recorder_of(call)->list, source, options);
    if (!(source->kinds & GANTRY_PROGRAM_CUDA_C))
        return refuse(call, "not written for CUDA:", source->label);
    if (!program) return refuse(call, "no room for the program", source->label);
    text_kernel_t *kernel = program->kernels;
    while (kernel < program->kernels + program->kernel_count && strcmp(kernel->name, name) != 0)
        kernel++;
    if (kernel == program->kernels + TEXT_MOST_KERNELS)
        return refuse(call, "no room for the kernel", name);
    if (kernel == program->kernels + program->kernel_count) {
        program->kernel_count++;
        snprintf(kernel->name, sizeof kernel->name, "%s", name);
    }
    *out_kernel = (gantry_backend_kernel_t *)(void *)kernel;
    return 0;
}

/* A span is a pointer and a 64-bit offset, a LOCAL its 64-bit size. */
static uint32_t list_parameters(const gantry_launch_t *launch, uint32_t *parameters,
                                uint32_t *out_dynamic) {
    uint32_t count = 0;
    *out_dynamic = 0;
    for (uint32_t i = 0; i < launch->arg_count && count + 2 <= TEXT_MOST_PARAMETERS; ++i) {
        const gantry_launch_arg_t *arg = &launch->args[i];
        if (arg->kind == GANTRY_LAUNCH_SPAN) parameters[count++] = 8;
        if (arg->kind == GANTRY_LAUNCH_LOCAL) *out_dynamic += arg->size_bytes;
        parameters[count++] = arg->kind == GANTRY_LAUNCH_SCALAR ? arg->size_bytes : 8;
    }
    return count;
}

static int32_t launch(gantry_op_call_t *call, gantry_backend_kernel_t *handle,
                      const gantry_launch_t *launch_) {
    text_kernel_t *kernel = (text_kernel_t *)(void *)handle;
    recorder_of(call)->counts.launches++;
    uint32_t parameters[TEXT_MOST_PARAMETERS] = {0}, dynamic;
    uint32_t count = list_parameters(launch_, parameters, &dynamic);
    uint64_t local = 1;
    for (uint32_t d = 0; d < launch_->dimensions; ++d) {
        uint64_t size = launch_->local_size[d];
        if (size == 0 || launch_->global_size[d] % size != 0 || launch_->global_size[d] == 0)
            return refuse(call, "work-items are no multiple of the group:", kernel->name);
        local *= size;
    }
    if (launch_->global_size[0] / launch_->local_size[0] > INT32_MAX)
        return refuse(call, "more than 2^31 - 1 groups:", kernel->name);
    if (local > call->device_info->max_work_group_size)
        return refuse(call, "group too large:", kernel->name);
    if (kernel->launched && (count != kernel->parameter_count ||
                             memcmp(parameters, kernel->parameters, sizeof parameters) != 0))
        return refuse(call, "launched with other arguments than before:", kernel->name);
    memcpy(kernel->parameters, parameters, sizeof parameters);
    kernel->parameter_count = count;
    kernel->launched = true;
    kernel->local = local > kernel->local ? (uint32_t)local : kernel->local;
    kernel->dynamic = dynamic > kernel->dynamic ? dynamic : kernel->dynamic;
    return 0;
}

static int32_t copy(gantry_op_call_t *call, const gantry_span_t *target,
                    const gantry_span_t *source) {
    recorder_of(call)->counts.copies++;
    (void)target;
    (void)source;
    return 0;
}

static int32_t fill(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern,
                    uint32_t pattern_bytes) {
    recorder_of(call)->counts.fills++;
    (void)target;
    (void)pattern;
    (void)pattern_bytes;
    return 0;
}

static int32_t fault(gantry_op_call_t *call, gantry_span_t *out_span) {
    return scratch(call, 16, out_span);
}

static int32_t fail(gantry_op_call_t *call, int32_t code, const char *text) {
    (void)refuse(call, "the kernel fails:", text);
    return code;
}

/* Results whose shape depends on data have a few elements, and the data read back gives the same
 * number. */
static int32_t allocate_output(gantry_op_call_t *call, uint32_t index, int32_t rank,
                               const int64_t *dims) {
    gantry_arg_t *out = call->outputs[index];
    out->rank = rank;
    out->element_count = 1;
    for (int32_t d = 0; d < rank; ++d) out->element_count *= dims[d];
    return scratch(call, (uint64_t)out->element_count * 8, &out->span);
}

static int32_t read_back(gantry_op_call_t *call, const gantry_span_t *source, void *target,
                         uint64_t size_bytes) {
    recorder_of(call)->counts.reads++;
    (void)source;
    memset(target, 0, size_bytes);
    ((unsigned char *)target)[0] = 3;
    return 0;
}

const gantry_call_services_t cuda_text_services = {
    .struct_size = sizeof cuda_text_services,
    .scratch = scratch,
    .allocate_output = allocate_output,
    .kernel = find_kernel,
    .launch = launch,
    .copy = copy,
    .fill = fill,
    .fault = fault,
    .fail = fail,
    .read = read_back,
};
