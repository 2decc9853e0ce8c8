/* SPDX-License-Identifier: Apache-2.0 */
/* Presents PoCL as a device without double precision: an OpenCL layer between the loader and PoCL.
 * PoCL's devices report neither double nor half precision, and a program whose text uses double is
 * not built. The loader loads the layer through OPENCL_LAYERS; nothing else changes. The layer's
 * only state is the table below it. Thread-safe.
 *
 * How a use of double fails: PoCL itself defines cl_khr_fp64 and its compiler always knows the
 * type, so a text before each program undefines the macros and poisons the words. Literals such as
 * 1.0 then have single precision, as OpenCL requires for such devices. */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 300
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_layer.h"

/* ---- properties of a device ---- */

static int is_hidden(const char *name) {
    return strcmp(name, "cl_khr_fp64") == 0 || strcmp(name, "cl_khr_fp16") == 0 ||
           strcmp(name, "__opencl_c_fp64") == 0;
}

/* PoCL's whole answer, owned by the caller; NULL with *out_error set. */
static void *ask(cl_device_id device, cl_device_info name, size_t *out_bytes, cl_int *out_error) {
    void *answer = NULL;

    *out_error = target->clGetDeviceInfo(device, name, 0, NULL, out_bytes);
    if (*out_error == CL_SUCCESS) {
        answer = malloc(*out_bytes + 1);
        *out_error = answer != NULL
                         ? target->clGetDeviceInfo(device, name, *out_bytes, answer, NULL)
                         : CL_OUT_OF_HOST_MEMORY;
    }
    if (*out_error != CL_SUCCESS) {
        free(answer);
        return NULL;
    }
    return answer;
}

static cl_int give_extensions(cl_device_id device, size_t size, void *value, size_t *needed) {
    size_t bytes, kept = 0;
    cl_int error;
    char *all = ask(device, CL_DEVICE_EXTENSIONS, &bytes, &error), *rest = NULL;

    if (all == NULL) {
        return error;
    }
    all[bytes] = '\0';
    for (char *word = strtok_r(all, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (!is_hidden(word)) {
            size_t length = strlen(word);

            memmove(all + kept, word, length); /* never overtakes the reading position */
            kept += length;
            all[kept++] = ' ';
        }
    }
    all[kept > 0 ? kept - 1 : 0] = '\0';
    error = give(all, strlen(all) + 1, size, value, needed);
    free(all);
    return error;
}

/* Lists of names with versions: extensions, features of OpenCL C. */
static cl_int give_versions(cl_device_id device, cl_device_info name, size_t size, void *value,
                            size_t *needed) {
    size_t bytes, kept = 0;
    cl_int error;
    cl_name_version *all = ask(device, name, &bytes, &error);

    if (all == NULL) {
        return error;
    }
    for (size_t i = 0; i < bytes / sizeof *all; ++i) {
        if (!is_hidden(all[i].name)) {
            all[kept++] = all[i];
        }
    }
    error = give(all, kept * sizeof *all, size, value, needed);
    free(all);
    return error;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device,
                                                             cl_device_info name, size_t size,
                                                             void *value, size_t *needed) {
    const cl_device_fp_config none = 0;
    const cl_uint no_lanes = 0;

    switch (name) {
        case CL_DEVICE_DOUBLE_FP_CONFIG:
        case CL_DEVICE_HALF_FP_CONFIG: return give(&none, sizeof none, size, value, needed);
        case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
        case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
        case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
        case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
            return give(&no_lanes, sizeof no_lanes, size, value, needed);
        case CL_DEVICE_EXTENSIONS: return give_extensions(device, size, value, needed);
        case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        case CL_DEVICE_OPENCL_C_FEATURES: return give_versions(device, name, size, value, needed);
        default: return target->clGetDeviceInfo(device, name, size, value, needed);
    }
}

/* ---- programs ---- */

static const char before[] =
    "#undef cl_khr_fp64\n#undef cl_khr_fp16\n#undef __opencl_c_fp64\n"
    "#undef as_double\n#undef convert_double\n" /* macros of PoCL's */
    "#pragma GCC poison double double2 double3 double4 double8 double16 as_double convert_double\n"
    "#line 1\n";

static CL_API_ENTRY cl_program CL_API_CALL layer_clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code) {
    const char **all = malloc((count + 1) * sizeof *all);
    size_t *bytes = calloc(count + 1, sizeof *bytes); /* 0: up to its end */
    cl_program program = NULL;

    if (all != NULL && bytes != NULL) {
        all[0] = before;
        memcpy(all + 1, texts, count * sizeof *all);
        if (lengths != NULL) {
            memcpy(bytes + 1, lengths, count * sizeof *bytes);
        }
        program = target->clCreateProgramWithSource(context, count + 1, all, bytes, code);
    } else if (code != NULL) {
        *code = CL_OUT_OF_HOST_MEMORY;
    }
    free(all);
    free(bytes);
    return program;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clBuildProgram(
    cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
    void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    static const char single[] = " -cl-single-precision-constant";
    size_t length = options != NULL ? strlen(options) : 0;
    char *all = malloc(length + sizeof single);
    cl_int error;

    if (all == NULL) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (length > 0) {
        memcpy(all, options, length);
    }
    memcpy(all + length, single, sizeof single);
    error = target->clBuildProgram(program, count, devices, all, notify, user);
    free(all);
    return error;
}

LAYER("PoCL without double precision, for Gantry's tests",
      TAKE(clGetDeviceInfo) TAKE(clCreateProgramWithSource) TAKE(clBuildProgram))
