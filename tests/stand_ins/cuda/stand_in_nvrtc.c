/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in NVRTC compiles with PoCL to get the log and the sizes of parameters, and returns the
 * source as "cubin" or "PTX". */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in_image.h"

enum {
    RTC_OK,
    RTC_OUT_OF_MEMORY,
    RTC_CREATION_FAILURE,
    RTC_INVALID_INPUT,
    RTC_INVALID_PROGRAM,
    RTC_INVALID_OPTION,
    RTC_COMPILATION
};

typedef struct program_t {
    stand_in_object_t object;
    char *source;
    char *log;
    char *image;
    size_t image_bytes;
    int is_real;
} program_t;

typedef struct architecture_t {
    int number;
    int first; /* first version of NVRTC that supports the architecture */
    int last;
} architecture_t;

static const architecture_t architectures[] = {
    {50, 0, 12999},      {52, 0, 12999},      {53, 0, 12999},      {60, 0, 12999},
    {61, 0, 12999},      {62, 0, 12999},      {70, 0, 12999},      {72, 0, 12999},
    {75, 0, 99999},      {80, 0, 99999},      {86, 11010, 99999},  {87, 11040, 99999},
    {89, 11080, 99999},  {90, 11080, 99999},  {100, 12080, 99999}, {101, 12080, 12999},
    {103, 12090, 99999}, {110, 13000, 99999}, {120, 12080, 99999}, {121, 12090, 99999},
};

static int is_known(const architecture_t *architecture) {
    int version = stand_in__machine()->nvrtc;

    return architecture->first <= version && version <= architecture->last;
}

STAND_IN_API int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (major == NULL || minor == NULL) return RTC_INVALID_INPUT;
    *major = stand_in__machine()->nvrtc / 1000;
    *minor = stand_in__machine()->nvrtc % 1000 / 10;
    return RTC_OK;
}

STAND_IN_API int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetNumSupportedArchs(int *count) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (count == NULL) return RTC_INVALID_INPUT;
    *count = 0;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; ++i) {
        *count += is_known(&architectures[i]);
    }
    return RTC_OK;
}

STAND_IN_API int nvrtcGetSupportedArchs(int *list);
int nvrtcGetSupportedArchs(int *list) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (list == NULL) return RTC_INVALID_INPUT;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; ++i) {
        if (is_known(&architectures[i])) {
            *list++ = architectures[i].number;
        }
    }
    return RTC_OK;
}

STAND_IN_API const char *nvrtcGetErrorString(int error);
const char *nvrtcGetErrorString(int error) {
    static const char *const names[] = {"NVRTC_SUCCESS",
                                        "NVRTC_ERROR_OUT_OF_MEMORY",
                                        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVRTC_ERROR_INVALID_INPUT",
                                        "NVRTC_ERROR_INVALID_PROGRAM",
                                        "NVRTC_ERROR_INVALID_OPTION",
                                        "NVRTC_ERROR_COMPILATION",
                                        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                        "NVRTC_ERROR_INTERNAL_ERROR"};

    return error >= 0 && error < (int)(sizeof names / sizeof names[0]) ? names[error]
                                                                       : "NVRTC_ERROR unknown";
}

static void end_program(stand_in_object_t *object) {
    program_t *program = (program_t *)object;

    free(program->source);
    free(program->log);
    free(program->image);
    free(program);
}

STAND_IN_API int nvrtcCreateProgram(void **out_program, const char *source, const char *name,
                                    int headers, const char *const *texts,
                                    const char *const *names);
int nvrtcCreateProgram(void **out_program, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names) {
    program_t *program;

    (void)name;
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (out_program == NULL || source == NULL || headers != 0 || texts != NULL || names != NULL)
        return RTC_INVALID_INPUT;
    program = calloc(1, sizeof *program);
    if (program == NULL) return RTC_OUT_OF_MEMORY;
    program->source = strdup(source);
    if (program->source == NULL) {
        free(program);
        return RTC_OUT_OF_MEMORY;
    }
    program->object.kind = STAND_IN_PROGRAMS;
    program->object.end = end_program;
    stand_in__list(&program->object);
    *out_program = program;
    return RTC_OK;
}

STAND_IN_API int nvrtcDestroyProgram(void **handle);
int nvrtcDestroyProgram(void **handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING);
    program_t *program = handle != NULL ? stand_in__find(*handle, STAND_IN_PROGRAMS) : NULL;

    if (program == NULL || !stand_in__unlist(&program->object)) return RTC_INVALID_PROGRAM;
    end_program(&program->object);
    *handle = NULL;
    return code;
}

/* ---- options ---- */

static void set_log(program_t *program, const char *format, const char *detail) {
    size_t bytes = strlen(format) + strlen(detail) + 1;

    free(program->log);
    program->log = malloc(bytes);
    if (program->log != NULL) {
        snprintf(program->log, bytes, format, detail);
    }
}

/* The text after one of the names; NULL: the option has none of the names. */
static const char *value_after(const char *option, const char *const *names) {
    for (; *names != NULL; ++names) {
        if (strncmp(option, *names, strlen(*names)) == 0) return option + strlen(*names);
    }
    return NULL;
}

static const char *const architecture_names[] = {"--gpu-architecture=", "-arch=", NULL};
static const char *const definition_names[] = {"--define-macro=", "-D", NULL};
static const char *const switch_names[] = {
    "--fmad=",    "-fmad=",       "--prec-div=",
    "-prec-div=", "--prec-sqrt=", "-prec-sqrt=",
    "--ftz=",     "-ftz=",        "--extra-device-vectorization=",
    NULL};
static const char *const other_names[] = {"-default-device",
                                          "--device-as-default-execution-space",
                                          "-std=c++",
                                          "--std=c++",
                                          "-lineinfo",
                                          "--generate-line-info",
                                          "-w",
                                          "--disable-warnings",
                                          "--restrict",
                                          "-restrict",
                                          "--maxrregcount=",
                                          "-maxrregcount=",
                                          "-no-source-include",
                                          "--no-source-include",
                                          "-diag-suppress=",
                                          "--diag-suppress=",
                                          NULL};

static int read_architecture(const char *text, stand_in_image_t *image) {
    int is_real = strncmp(text, "sm_", 3) == 0;
    const char *digits = text + (is_real ? 3 : strncmp(text, "compute_", 8) == 0 ? 8 : 0);
    char *end = NULL;
    long number = digits == text ? -1 : strtol(digits, &end, 10);

    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; ++i) {
        if (architectures[i].number == number && is_known(&architectures[i]) &&
            (*end == '\0' || ((*end == 'a' || *end == 'f') && end[1] == '\0' && number >= 90))) {
            image->architecture = (int)number;
            image->is_real = is_real;
            return RTC_OK;
        }
    }
    return RTC_INVALID_OPTION;
}

static int read_option(const char *option, stand_in_image_t *image, char *definitions,
                       size_t room) {
    const char *value = value_after(option, architecture_names);
    size_t length = strlen(definitions);

    if (value != NULL) return read_architecture(value, image);
    value = value_after(option, definition_names);
    if (value != NULL) {
        int name_is_good = isalpha((unsigned char)*value) || *value == '_';

        if (!name_is_good || strpbrk(value, " \t\"\\") != NULL || length + strlen(value) + 4 > room)
            return RTC_INVALID_OPTION;
        snprintf(definitions + length, room - length, " -D%s", value);
        return RTC_OK;
    }
    value = value_after(option, switch_names);
    if (value != NULL)
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ? RTC_OK
                                                                         : RTC_INVALID_OPTION;
    return value_after(option, other_names) != NULL ? RTC_OK : RTC_INVALID_OPTION;
}

/* ---- compiling ---- */

static int compile(program_t *program, stand_in_image_t *image) {
    cl_program built;
    char *log = NULL;
    int status = RTC_OK;

    built = stand_in__build(image->source, image->options, &log);
    free(program->log);
    program->log = log;
    if (built == NULL) {
        if (log == NULL || log[0] == '\0')
            set_log(program, "%s", "error: the compiler behind the stand-in left no log");
        return RTC_COMPILATION;
    }
    if (stand_in__find_types(built, image->source, image->options, image) != 0) {
        set_log(program, "%s", "error: the size of a kernel's parameter could not be learned");
        status = RTC_COMPILATION;
    } else {
        program->image = stand_in__write_image(image, &program->image_bytes);
        program->is_real = image->is_real;
        if (program->image == NULL) status = RTC_OUT_OF_MEMORY;
    }
    stand_in__pocl()->clReleaseProgram(built);
    return status;
}

STAND_IN_API int nvrtcCompileProgram(void *handle, int count, const char *const *options);
int nvrtcCompileProgram(void *handle, int count, const char *const *options) {
    char definitions[4096] = "";
    stand_in_image_t image = {.architecture = 52};
    program_t *program;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    program = stand_in__find(handle, STAND_IN_PROGRAMS);
    if (program == NULL) return RTC_INVALID_PROGRAM;
    if (count < 0 || (count > 0 && options == NULL)) return RTC_INVALID_INPUT;
    free(program->image);
    program->image = NULL;
    for (int i = 0; i < count; ++i) {
        if (read_option(options[i], &image, definitions, sizeof definitions) != RTC_OK) {
            set_log(program, "nvrtc: error: invalid value or unknown option: '%s'\n", options[i]);
            return RTC_INVALID_OPTION;
        }
    }
    if (stand_in__pocl() == NULL) {
        set_log(program, "error: no PoCL behind the stand-in: %s", stand_in__pocl_reason());
        return RTC_COMPILATION;
    }
    image.options = definitions;
    image.source = program->source;
    return compile(program, &image);
}

/* ---- results ---- */

static int give_size(void *handle, size_t *bytes, int is_real) {
    const program_t *program = stand_in__find(handle, STAND_IN_PROGRAMS);

    if (program == NULL) return RTC_INVALID_PROGRAM;
    if (bytes == NULL) return RTC_INVALID_INPUT;
    *bytes = program->image != NULL && (program->is_real || !is_real) ? program->image_bytes : 0;
    return program->image != NULL ? RTC_OK : RTC_INVALID_PROGRAM;
}

static int give_image(void *handle, char *image, int is_real) {
    const program_t *program = stand_in__find(handle, STAND_IN_PROGRAMS);

    if (program == NULL || program->image == NULL) return RTC_INVALID_PROGRAM;
    if (image == NULL || (is_real && !program->is_real)) return RTC_INVALID_INPUT;
    memcpy(image, program->image, program->image_bytes);
    return RTC_OK;
}

STAND_IN_API int nvrtcGetCUBINSize(void *handle, size_t *bytes);
int nvrtcGetCUBINSize(void *handle, size_t *bytes) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    return give_size(handle, bytes, 1);
}

STAND_IN_API int nvrtcGetCUBIN(void *handle, char *image);
int nvrtcGetCUBIN(void *handle, char *image) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    return give_image(handle, image, 1);
}

STAND_IN_API int nvrtcGetPTXSize(void *handle, size_t *bytes);
int nvrtcGetPTXSize(void *handle, size_t *bytes) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    return give_size(handle, bytes, 0);
}

STAND_IN_API int nvrtcGetPTX(void *handle, char *image);
int nvrtcGetPTX(void *handle, char *image) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    return give_image(handle, image, 0);
}

STAND_IN_API int nvrtcGetProgramLogSize(void *handle, size_t *bytes);
int nvrtcGetProgramLogSize(void *handle, size_t *bytes) {
    const program_t *program;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    program = stand_in__find(handle, STAND_IN_PROGRAMS);
    if (program == NULL) return RTC_INVALID_PROGRAM;
    if (bytes == NULL) return RTC_INVALID_INPUT;
    *bytes = (program->log != NULL ? strlen(program->log) : 0) + 1;
    return RTC_OK;
}

STAND_IN_API int nvrtcGetProgramLog(void *handle, char *log);
int nvrtcGetProgramLog(void *handle, char *log) {
    const program_t *program;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    program = stand_in__find(handle, STAND_IN_PROGRAMS);
    if (program == NULL) return RTC_INVALID_PROGRAM;
    if (log == NULL) return RTC_INVALID_INPUT;
    memcpy(log, program->log != NULL ? program->log : "",
           program->log != NULL ? strlen(program->log) + 1 : 1);
    return RTC_OK;
}
