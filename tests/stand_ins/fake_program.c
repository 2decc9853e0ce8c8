/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler that understands one word. A text has the kernel X when it contains "kernel X";
 * "kernel X local=N" declares N bytes of local memory. "#error" anywhere fails the build, with the
 * rest of its line as the log. A binary is a mark followed by the options and the text. Three
 * kernels do something: "copy_words" (target span, source span), "fill_words" (span, uint32 value),
 * and the core's "gantry_probe", which is the same; all others only touch their spans. */
#include "fake_internal.h"

#include <stdio.h>
#include <string.h>

#define BINARY_MARK "fake binary 1\n"
#define MOST_ARGS 64u

typedef struct fake_program_t {
    fake_object_t object;
    fake_device_t *device;
    uint64_t text_bytes; /* terminator included */
    char text[];         /* mark, options, newline, the source's parts */
} fake_program_t;

typedef struct fake_kernel_t {
    fake_object_t object;
    fake_program_t *program;
    char name[64];
} fake_kernel_t;

/* ---- programs ---- */

static fake_program_t *make_program(fake_call_t *call, fake_device_t *device, uint64_t text_bytes,
                                    gantry_backend_program_t **out_program) {
    fake_program_t *program =
        gantry__fake_create(call, device->object.instance, GANTRY_FAKE_PROGRAM, 0,
                            sizeof *program + (size_t)text_bytes);
    if (!program) return NULL;
    program->device = device;
    program->text_bytes = text_bytes;
    ++device->live_objects;
    *out_program = (gantry_backend_program_t *)(uintptr_t)program->object.number;
    return program;
}

static uint64_t source_bytes(const gantry_program_source_t *source, const char *options) {
    uint64_t bytes = strlen(BINARY_MARK) + strlen(options) + 2;
    for (uint32_t i = 0; i < source->part_count; ++i) bytes += strlen(source->parts[i]);
    return bytes;
}

static void compile(fake_call_t *call, const gantry_program_source_t *source, const char *options,
                    fake_program_t *program) {
    char *at = program->text;
    at += sprintf(at, "%s%s\n", BINARY_MARK, options);
    for (uint32_t i = 0; i < source->part_count; ++i) at += sprintf(at, "%s", source->parts[i]);
    const char *error = strstr(program->text, "#error");
    if (!error) return;
    gantry__fake_refuse(call, GANTRY_INVALID_ARGUMENT, "%s cannot be built with \"%s\": %.*s",
                        source->label, options, (int)strcspn(error, "\n"), error);
}

static void drop_program(fake_program_t *program) {
    --program->device->live_objects;
    gantry__fake_forget(&program->object);
    gantry__fake_release(&program->object);
}

static int32_t build(gantry_backend_device_t *device, const gantry_program_source_t *source,
                     const char *options, gantry_backend_program_t **out_program) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_build);
    *out_program = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    if (!options) options = "";
    if (self && (source->kinds & self->settings->program_kinds) == 0) {
        gantry__fake_violate(&call, "%s is not written for this device", source->label);
    } else if (self) {
        fake_program_t *program =
            make_program(&call, self, source_bytes(source, options), out_program);
        if (program) compile(&call, source, options, program);
        if (program && call.error.code != GANTRY_OK) {
            drop_program(program);
            *out_program = NULL;
        }
    }
    return gantry__fake_end(&call);
}

static void destroy_kernels(const fake_program_t *program) {
    for (uint32_t i = 0; i < FAKE_BUCKETS; ++i) {
        for (fake_object_t *object = gantry__fake.buckets[i]; object;) {
            fake_object_t *next = object->next;
            if (object->kind == GANTRY_FAKE_KERNEL &&
                ((fake_kernel_t *)(void *)object)->program == program) {
                gantry__fake_forget(object);
                gantry__fake_release(object);
            }
            object = next;
        }
    }
}

static void program_destroy(gantry_backend_program_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_program_destroy);
    fake_program_t *program =
        gantry__fake_find(&call, GANTRY_FAKE_PROGRAM, gantry__fake_number(handle));
    if (program) {
        destroy_kernels(program);
        drop_program(program);
    }
    (void)gantry__fake_end(&call);
}

static int32_t binary(gantry_backend_program_t *handle, void *bytes, uint64_t *size_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_binary);
    const fake_program_t *program =
        gantry__fake_find(&call, GANTRY_FAKE_PROGRAM, gantry__fake_number(handle));
    if (program && call.error.code == GANTRY_OK) {
        if (bytes && *size_bytes < program->text_bytes) {
            gantry__fake_violate(&call, "a binary of %llu bytes does not fit into %llu",
                                 (unsigned long long)program->text_bytes,
                                 (unsigned long long)*size_bytes);
        } else if (bytes) {
            memcpy(bytes, program->text, (size_t)program->text_bytes);
        }
        *size_bytes = program->text_bytes;
    }
    return gantry__fake_end(&call);
}

static int32_t load_binary(gantry_backend_device_t *device, const void *bytes, uint64_t size_bytes,
                           const char *label, gantry_backend_program_t **out_program) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_load_binary);
    *out_program = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    size_t mark = strlen(BINARY_MARK);
    if (size_bytes <= mark || memcmp(bytes, BINARY_MARK, mark) != 0 ||
        ((const char *)bytes)[size_bytes - 1] != '\0') {
        gantry__fake_refuse(&call, GANTRY_INVALID_ARGUMENT,
                            "%s: %llu bytes are no binary of the fake backend", label,
                            (unsigned long long)size_bytes);
    } else if (self) {
        fake_program_t *program = make_program(&call, self, size_bytes, out_program);
        if (program) memcpy(program->text, bytes, (size_t)size_bytes);
    }
    return gantry__fake_end(&call);
}

/* ---- kernels ---- */

static bool has_kernel(const fake_program_t *program, const char *name) {
    static const char word[] = "kernel ";
    for (const char *at = strstr(program->text, word); at; at = strstr(at, word)) {
        at += sizeof word - 1;
        size_t length = strlen(name);
        if (strncmp(at, name, length) == 0 && strcspn(at, " \t\n(") == length) return true;
    }
    return false;
}

static int32_t kernel_find(gantry_backend_program_t *handle, const char *name,
                           gantry_backend_kernel_t **out_kernel) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_kernel_find);
    *out_kernel = NULL;
    fake_program_t *program =
        gantry__fake_find(&call, GANTRY_FAKE_PROGRAM, gantry__fake_number(handle));
    if (program && !has_kernel(program, name))
        gantry__fake_refuse(&call, 5 /* NotFound */, "the program has no kernel %s", name);
    if (program && call.error.code == GANTRY_OK) {
        fake_kernel_t *kernel = gantry__fake_create(&call, program->object.instance,
                                                    GANTRY_FAKE_KERNEL, 0, sizeof *kernel);
        if (kernel) {
            kernel->program = program;
            (void)snprintf(kernel->name, sizeof kernel->name, "%s", name);
            *out_kernel = (gantry_backend_kernel_t *)(uintptr_t)kernel->object.number;
        }
    }
    return gantry__fake_end(&call);
}

/* The number after " local=" on the line of the kernel's name; 0 without. */
static uint64_t declared_local_bytes(const fake_kernel_t *kernel) {
    static const char word[] = "kernel ";
    unsigned long long bytes = 0;
    for (const char *at = strstr(kernel->program->text, word); at; at = strstr(at, word)) {
        at += sizeof word - 1;
        size_t length = strlen(kernel->name);
        if (strncmp(at, kernel->name, length) == 0 &&
            sscanf(at + length, " local=%llu", &bytes) == 1)
            return bytes;
    }
    return 0;
}

static int32_t kernel_info(gantry_backend_kernel_t *handle, gantry_kernel_info_t *out_info) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_kernel_info);
    gantry__fake_check_layout(&call);
    const fake_kernel_t *kernel =
        gantry__fake_find(&call, GANTRY_FAKE_KERNEL, gantry__fake_number(handle));
    if (kernel && call.error.code == GANTRY_OK) {
        gantry_kernel_info_t info = {.struct_size = out_info->struct_size,
                                     .max_work_group_size = 256,
                                     .local_bytes = declared_local_bytes(kernel)};
        memcpy(out_info, &info,
               out_info->struct_size < sizeof info ? out_info->struct_size : sizeof info);
    }
    return gantry__fake_end(&call);
}

/* ---- launches ---- */

static int32_t run_copy_words(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    uint64_t bytes = work->operands[0].size_bytes;
    if (work->operands[1].size_bytes < bytes) bytes = work->operands[1].size_bytes;
    memmove(work->operands[0].bytes, work->operands[1].bytes, (size_t)bytes);
    return GANTRY_OK;
}

static int32_t run_fill_words(fake_work_t *work, fake_error_t *out_error) {
    (void)out_error;
    for (uint64_t i = 0; i + 4 <= work->operands[0].size_bytes; i += 4)
        memcpy(work->operands[0].bytes + i, work->pattern, 4);
    return GANTRY_OK;
}

static int32_t run_nothing(fake_work_t *work, fake_error_t *out_error) {
    (void)work;
    (void)out_error;
    return GANTRY_OK;
}

static void check_launch(fake_call_t *call, const gantry_launch_t *launch) {
    if (launch->struct_size < sizeof *launch || launch->dimensions < 1 || launch->dimensions > 3 ||
        launch->arg_count > MOST_ARGS) {
        gantry__fake_violate(call, "a launch of %u dimensions and %u arguments", launch->dimensions,
                             launch->arg_count);
        return;
    }
    for (uint32_t i = 0; i < launch->dimensions; ++i) {
        uint64_t local = launch->local_size[i];
        if (launch->global_size[i] == 0 || (local != 0 && launch->global_size[i] % local != 0)) {
            gantry__fake_violate(call, "global size %llu, local size %llu in dimension %u",
                                 (unsigned long long)launch->global_size[i],
                                 (unsigned long long)local, i);
        }
    }
}

static void submit_launch(fake_call_t *call, fake_stream_t *stream, const fake_kernel_t *kernel,
                          const gantry_launch_t *launch) {
    bool copies = strcmp(kernel->name, "copy_words") == 0,
         fills = strcmp(kernel->name, "fill_words") == 0;
    fills = fills || strcmp(kernel->name, "gantry_probe") == 0;
    fake_run_fn run = copies ? run_copy_words : fills ? run_fill_words : run_nothing;
    fake_work_t *work = gantry__fake_work_create(call, stream, "launch", run, launch->arg_count, 0);
    uint32_t spans = 0;
    for (uint32_t i = 0; i < launch->arg_count && work; ++i) {
        const gantry_launch_arg_t *arg = &launch->args[i];
        if (arg->kind == GANTRY_LAUNCH_SPAN || arg->kind == GANTRY_LAUNCH_BASE) {
            bool writes = !(copies && spans == 1);
            gantry__fake_work_operand(call, work, spans++, stream->device, &arg->as.span,
                                      arg->as.span.size_bytes, writes);
        } else if (arg->kind == GANTRY_LAUNCH_SCALAR && arg->size_bytes == 4) {
            memcpy(work->pattern, arg->as.value, 4);
            for (int byte = 0; byte < 4 && gantry__fake_card(stream->device)->wrong; ++byte)
                work->pattern[byte] = (unsigned char)~work->pattern[byte];
        }
    }
    if (work && spans < (copies ? 2u : fills ? 1u : 0u))
        gantry__fake_violate(call, "kernel %s has %u spans", kernel->name, spans);
    gantry__fake_submit(call, stream, work);
}

static int32_t launch_kernel(gantry_backend_stream_t *handle,
                             gantry_backend_kernel_t *kernel_handle,
                             const gantry_launch_t *launch) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_launch);
    check_launch(&call, launch);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    const fake_kernel_t *kernel =
        gantry__fake_find(&call, GANTRY_FAKE_KERNEL, gantry__fake_number(kernel_handle));
    if (stream && kernel && kernel->program->device != stream->device)
        gantry__fake_violate(&call, "the kernel is another device's");
    if (stream && kernel) submit_launch(&call, stream, kernel, launch);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

const gantry_program_ops_t gantry__fake_program_ops = {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    .struct_size = offsetof(gantry_program_ops_t, kernel_info),
#else
    .struct_size = sizeof gantry__fake_program_ops,
#endif
    .build = build,
    .destroy = program_destroy,
    .binary = binary,
    .load_binary = load_binary,
    .kernel_find = kernel_find,
    .launch = launch_kernel,
    .kernel_info = kernel_info,
};
