/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "stand_in_pocl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stand_in_pocl_t table;
static int is_there;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int is_opening;

int stand_in__is_opening(void) { return is_opening; }

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(function) {#function, offsetof(stand_in_pocl_t, function)},
    STAND_IN_OPENCL(SYMBOL)
#undef SYMBOL
};

static int resolve(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        snprintf(reason, sizeof reason, "%s", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
        void *address = dlsym(library, symbols[i].name);

        if (address == NULL) {
            snprintf(reason, sizeof reason, "libOpenCL.so.1 has no %s", symbols[i].name);
            return 0;
        }
        memcpy((char *)&table + symbols[i].offset, &address, sizeof address);
    }
    return 1;
}

static int is_pocl(cl_platform_id platform) {
    char name[128] = "";

    return table.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, "Portable Computing Language") == 0;
}

static int find_device(void) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_device_svm_capabilities shared = 0;

    if (table.clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) {
        count = 0;
    }
    for (cl_uint i = 0; i < count && i < 16; ++i) {
        if (is_pocl(platforms[i]) && table.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1,
                                                          &table.device, NULL) == CL_SUCCESS) {
            table.clGetDeviceInfo(table.device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared,
                                  NULL);
            if ((shared & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) {
                snprintf(reason, sizeof reason, "PoCL's device has no fine-grain shared memory");
                return 0;
            }
            return 1;
        }
    }
    snprintf(reason, sizeof reason,
             "no platform \"Portable Computing Language\" with a CPU among %u", count);
    return 0;
}

/* ---- PoCL's built-in functions, as backends/opencl/opencl_program.c declares them: its own header
 * would take most of the time of a build ---- */

static char *builtins; /* "": the files are not there */

static size_t read_builtins(const char *name, char *out, size_t out_bytes) {
    FILE *file = fopen(name, "r");
    size_t length = file != NULL ? fread(out, 1, out_bytes - 1, file) : 0;

    if (file != NULL) fclose(file);
    out[length] = '\0';
    return length;
}

static void find_builtins(void) {
    enum { BYTES = 1 << 16 };
    size_t length = 0;

    builtins = malloc(BYTES);
    if (builtins == NULL) return;
    length = read_builtins(STAND_IN_BUILTINS ".cl", builtins, BYTES);
    if (length > 0) read_builtins(STAND_IN_BUILTINS "_rare.cl", builtins + length, BYTES - length);
}

static void open_pocl(void) {
    cl_int native = CL_SUCCESS;

    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0",
           0); /* one kernel for all work-group sizes: see the build options */
    if (!resolve() || !find_device()) {
        return;
    }
    is_opening = 1;
    table.context = table.clCreateContext(NULL, 1, &table.device, NULL, NULL, &native);
    is_opening = 0;
    if (native != CL_SUCCESS) {
        snprintf(reason, sizeof reason, "PoCL cannot make a context (%d)", (int)native);
        return;
    }
    find_builtins();
    is_there = 1;
}

const stand_in_pocl_t *stand_in__pocl(void) {
    pthread_once(&once, open_pocl);
    return is_there ? &table : NULL;
}

const char *stand_in__pocl_reason(void) {
    pthread_once(&once, open_pocl);
    return reason;
}

static char *log_of(cl_program program) {
    size_t bytes = 0;
    char *log;

    table.clGetProgramBuildInfo(program, table.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    log = calloc(1, bytes + 1);
    if (log != NULL && bytes > 0) {
        table.clGetProgramBuildInfo(program, table.device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    }
    return log;
}

/* ---- cache of recent programs: a text is loaded after it is compiled, and again by the next
 * runtime ---- */

#define KEPT 128

typedef struct kept_t {
    cl_program program; /* NULL: free */
    char *source;
    char *options;
} kept_t;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static kept_t kept[KEPT];
static int kept_next;

static cl_program take_kept(const char *source, const char *options) {
    cl_program program = NULL;

    pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < KEPT && kept[i].program != NULL && program == NULL; ++i) {
        if (strcmp(kept[i].options, options) == 0 && strcmp(kept[i].source, source) == 0) {
            program = kept[i].program;
            table.clRetainProgram(program);
        }
    }
    pthread_mutex_unlock(&kept_lock);
    return program;
}

/* Replaces the oldest program. */
static void keep(cl_program program, const char *source, const char *options) {
    kept_t made = {program, strdup(source), strdup(options)};
    kept_t old = made;

    pthread_mutex_lock(&kept_lock);
    if (made.source != NULL && made.options != NULL) {
        table.clRetainProgram(program);
        old = kept[kept_next];
        kept[kept_next] = made;
        kept_next = (kept_next + 1) % KEPT;
    } else {
        old.program = NULL;
    }
    pthread_mutex_unlock(&kept_lock);
    if (old.program != NULL) {
        table.clReleaseProgram(old.program);
    }
    free(old.source);
    free(old.options);
}

/* A function of CUDA C that the device text calls on cards that have it. */
static const char dp4a[] =
    "static int __dp4a(int a, int b, int sum) {\n"
    "    for (int i = 24; i >= 0; i -= 8) sum += ((a << i) >> 24) * ((b << i) >> 24);\n"
    "    return sum;\n"
    "}\n";

/* NULL: the compiler refuses the text; *out_log, unless NULL, is its log. */
static cl_program build(const char *before, const char *source, const char *first_options,
                        const char *options, char **out_log) {
    const char *parts[] = {before, dp4a, source};
    cl_int native = CL_SUCCESS;
    size_t all_bytes = strlen(first_options) + strlen(options) + 2;
    char *all = malloc(all_bytes);
    cl_program program = table.clCreateProgramWithSource(table.context, 3, parts, NULL, &native);

    if (all == NULL || native != CL_SUCCESS) {
        free(all);
        return NULL;
    }
    snprintf(all, all_bytes, "%s %s", first_options, options);
    native = table.clBuildProgram(program, 1, &table.device, all, NULL, NULL);
    free(all);
    if (out_log != NULL) {
        *out_log = log_of(program);
    }
    if (native != CL_SUCCESS) {
        table.clReleaseProgram(program);
        return NULL;
    }
    return program;
}

cl_program stand_in__build(const char *source, const char *options, char **out_log) {
    cl_program program;

    if (stand_in__pocl() == NULL) {
        return NULL;
    }
    program = out_log == NULL ? take_kept(source, options) : NULL;
    if (program != NULL) {
        return program;
    }
    if (builtins != NULL && builtins[0] != '\0') {
        program = build(builtins, source, STAND_IN_BUILD_OPTIONS " -D_OPENCL_H_", options, NULL);
        if (program != NULL && out_log != NULL) *out_log = log_of(program);
    }
    if (program == NULL) program = build("", source, STAND_IN_BUILD_OPTIONS, options, out_log);
    if (program != NULL) keep(program, source, options);
    return program;
}
