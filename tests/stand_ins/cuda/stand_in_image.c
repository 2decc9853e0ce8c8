/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "stand_in_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* magic, total bytes with the zero, hash of the text after the line, is_real, architecture, types,
 * bytes of options and source */
#define HEADER_WRITE "STAND-IN-IMAGE %016zx %016llx %d %d %d %zu %zu\n"
#define HEADER_READ "STAND-IN-IMAGE %16zx %16llx %d %d %d %zu %zu"
#define MAGIC "STAND-IN-IMAGE "

static unsigned long long hash_of(const char *text, size_t bytes) {
    unsigned long long hash = 14695981039346656037ull; /* FNV-1a */

    for (size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
    }
    return hash;
}

char *stand_in__write_image(const stand_in_image_t *image, size_t *out_bytes) {
    size_t room = strlen(image->options) + strlen(image->source) + 512 +
                  (size_t)image->type_count * (STAND_IN_TYPE_BYTES + 32);
    char *body = malloc(room);
    char *text = malloc(room + 256);
    size_t length = 0;
    char header[256];
    int header_length;

    if (body == NULL || text == NULL) {
        free(body);
        free(text);
        return NULL;
    }
    for (int i = 0; i < image->type_count; ++i) {
        length +=
            (size_t)snprintf(body + length, room - length, "%u %u %s\n", image->types[i].bytes,
                             image->types[i].alignment, image->types[i].name);
    }
    length +=
        (size_t)snprintf(body + length, room - length, "%s\n%s", image->options, image->source);
    header_length = snprintf(header, sizeof header, HEADER_WRITE, (size_t)0, hash_of(body, length),
                             image->is_real, image->architecture, image->type_count,
                             strlen(image->options), strlen(image->source));
    *out_bytes = (size_t)header_length + length + 1;
    snprintf(header, sizeof header, HEADER_WRITE, *out_bytes, hash_of(body, length), image->is_real,
             image->architecture, image->type_count, strlen(image->options), strlen(image->source));
    memcpy(text, header, (size_t)header_length);
    memcpy(text + header_length, body, length + 1);
    free(body);
    return text;
}

static const char *read_types(const char *at, stand_in_image_t *image) {
    for (int i = 0; i < image->type_count; ++i) {
        const char *end = strchr(at, '\n');

        if (end == NULL || sscanf(at, "%u %u %95[^\n]", &image->types[i].bytes,
                                  &image->types[i].alignment, image->types[i].name) != 3) {
            return NULL;
        }
        at = end + 1;
    }
    return at;
}

int stand_in__read_image(const char *text, stand_in_image_t *out_image) {
    size_t bytes = 0;
    size_t options_bytes = 0;
    size_t source_bytes = 0;
    unsigned long long hash = 0;
    const char *body;

    memset(out_image, 0, sizeof *out_image);
    if (strncmp(text, MAGIC, sizeof MAGIC - 1) != 0 ||
        sscanf(text, HEADER_READ, &bytes, &hash, &out_image->is_real, &out_image->architecture,
               &out_image->type_count, &options_bytes, &source_bytes) != 7 ||
        out_image->type_count < 0 || out_image->type_count > STAND_IN_TYPES) {
        return -1;
    }
    body = strchr(text, '\n') + 1;
    if (strlen(text) + 1 != bytes || hash_of(body, strlen(body)) != hash) return -1;
    body = read_types(body, out_image);
    if (body == NULL || strlen(body) != options_bytes + 1 + source_bytes) return -1;
    out_image->options = strndup(body, options_bytes);
    out_image->source = strdup(body + options_bytes + 1);
    if (out_image->options == NULL || out_image->source == NULL) {
        stand_in__release_image(out_image);
        return -1;
    }
    return 0;
}

void stand_in__release_image(stand_in_image_t *image) {
    free(image->options);
    free(image->source);
    image->options = NULL;
    image->source = NULL;
}

/* ---- the types that kernels take ---- */

static const struct {
    const char *name;
    uint32_t bytes;
} scalars[] = {
    {"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},   {"int", 4},
    {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}, {"size_t", 8},
};

uint32_t stand_in__scalar_bytes(const char *type) {
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; ++i) {
        if (strcmp(scalars[i].name, type) == 0) return scalars[i].bytes;
    }
    return 0;
}

static void note_type(stand_in_image_t *image, const char *name) {
    for (int i = 0; i < image->type_count; ++i) {
        if (strcmp(image->types[i].name, name) == 0) return;
    }
    if (image->type_count < STAND_IN_TYPES) {
        snprintf(image->types[image->type_count++].name, STAND_IN_TYPE_BYTES, "%s", name);
    }
}

static void note_parameters(cl_kernel kernel, stand_in_image_t *image) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_uint count = 0;

    cl->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    for (cl_uint i = 0; i < count; ++i) {
        cl_kernel_arg_address_qualifier space = 0;
        char name[STAND_IN_TYPE_BYTES] = "";

        cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space,
                               NULL);
        cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof name, name, NULL);
        if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE && stand_in__scalar_bytes(name) == 0) {
            note_type(image, name);
        }
    }
}

/* The compiler evaluates sizeof in a kernel's required work-group size, so the size of a type is
 * known without running a kernel. */
static char *probe_text(const char *source, const stand_in_image_t *image) {
    size_t room = strlen(source) + (size_t)image->type_count * (2 * STAND_IN_TYPE_BYTES + 192) + 1;
    char *text = malloc(room);
    size_t length;

    if (text == NULL) return NULL;
    length = (size_t)snprintf(text, room, "%s", source);
    for (int i = 0; i < image->type_count; ++i) {
        length += (size_t)snprintf(
            text + length, room - length,
            "\n__kernel __attribute__((reqd_work_group_size(sizeof(%s), __alignof__(%s), 1))) void stand_in_size_%d(__global uchar *p) { (void)p; }",
            image->types[i].name, image->types[i].name, i);
    }
    return text;
}

static int ask_probe(cl_program probe, stand_in_image_t *image) {
    const stand_in_pocl_t *cl = stand_in__pocl();

    for (int i = 0; i < image->type_count; ++i) {
        char name[32];
        size_t size[3] = {0, 0, 0};
        cl_int native;
        cl_kernel kernel;

        snprintf(name, sizeof name, "stand_in_size_%d", i);
        kernel = cl->clCreateKernel(probe, name, &native);
        if (native != CL_SUCCESS) return -1;
        cl->clGetKernelWorkGroupInfo(kernel, cl->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                     sizeof size, size, NULL);
        cl->clReleaseKernel(kernel);
        if (size[0] == 0) return -1;
        image->types[i].bytes = (uint32_t)size[0];
        image->types[i].alignment = (uint32_t)size[1];
    }
    return 0;
}

int stand_in__find_types(cl_program program, const char *source, const char *options,
                         stand_in_image_t *image) {
    const stand_in_pocl_t *cl = stand_in__pocl();
    cl_kernel kernels[64];
    cl_uint count = 0;
    char *text;
    cl_program probe;
    int status = -1;

    if (cl->clCreateKernelsInProgram(program, 64, kernels, &count) != CL_SUCCESS) return -1;
    for (cl_uint i = 0; i < count; ++i) {
        note_parameters(kernels[i], image);
        cl->clReleaseKernel(kernels[i]);
    }
    if (image->type_count == 0) return 0;
    text = probe_text(source, image);
    probe = text != NULL ? stand_in__build(text, options, NULL) : NULL;
    free(text);
    if (probe != NULL) {
        status = ask_probe(probe, image);
        cl->clReleaseProgram(probe);
    }
    return status;
}
