/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NVRTC by path; the declarations are our own, from NVRTC's documentation. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_text.h"

typedef struct nvrtc_program_t nvrtc_program_t;

struct text_compiler_t {
    void *library;
    int (*version)(int *major, int *minor);
    int (*create)(nvrtc_program_t **out_program, const char *source, const char *name,
                  int header_count, const char *const *headers, const char *const *header_names);
    int (*destroy)(nvrtc_program_t **program);
    int (*compile)(nvrtc_program_t *program, int option_count, const char *const *options);
    int (*log_size)(nvrtc_program_t *program, size_t *out_bytes);
    int (*log)(nvrtc_program_t *program, char *text);
    int (*ptx_size)(nvrtc_program_t *program, size_t *out_bytes);
    int (*ptx)(nvrtc_program_t *program, char *text);
    int (*cubin_size)(nvrtc_program_t *program, size_t *out_bytes);
};

static bool find(text_compiler_t *compiler, const char *name, void *slot) {
    void *address = dlsym(compiler->library, name);
    if (!address) printf("NVRTC has no %s\n", name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

text_compiler_t *cuda_text_open_compiler(const char *library) {
    text_compiler_t *compiler = calloc(1, sizeof *compiler);
    if (!compiler) return NULL;
    compiler->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!compiler->library) printf("%s\n", dlerror());
    if (compiler->library && find(compiler, "nvrtcVersion", &compiler->version) &&
        find(compiler, "nvrtcCreateProgram", &compiler->create) &&
        find(compiler, "nvrtcDestroyProgram", &compiler->destroy) &&
        find(compiler, "nvrtcCompileProgram", &compiler->compile) &&
        find(compiler, "nvrtcGetProgramLogSize", &compiler->log_size) &&
        find(compiler, "nvrtcGetProgramLog", &compiler->log) &&
        find(compiler, "nvrtcGetPTXSize", &compiler->ptx_size) &&
        find(compiler, "nvrtcGetPTX", &compiler->ptx) &&
        find(compiler, "nvrtcGetCUBINSize", &compiler->cubin_size)) {
        return compiler;
    }
    cuda_text_close_compiler(compiler);
    return NULL;
}

void cuda_text_close_compiler(text_compiler_t *compiler) {
    if (compiler && compiler->library) dlclose(compiler->library);
    free(compiler);
}

void cuda_text_version(const text_compiler_t *compiler, int *out_major, int *out_minor) {
    *out_major = *out_minor = 0;
    (void)compiler->version(out_major, out_minor);
}

/* ---- one program ---- */

static char *join_source(const gantry_program_source_t *source) {
    size_t bytes = 1;
    for (uint32_t i = 0; i < source->part_count; ++i) bytes += strlen(source->parts[i]);
    char *text = malloc(bytes), *at = text;
    for (uint32_t i = 0; text && i < source->part_count; ++i) {
        size_t length = strlen(source->parts[i]);
        memcpy(at, source->parts[i], length);
        at += length;
    }
    if (text) *at = '\0';
    return text;
}

/* The text from a pair of NVRTC's functions; NULL without a text. */
static char *take(nvrtc_program_t *program, int (*size)(nvrtc_program_t *, size_t *),
                  int (*get)(nvrtc_program_t *, char *)) {
    size_t bytes = 0;
    if (size(program, &bytes) != 0) return NULL;
    char *text = calloc(1, bytes + 1);
    if (text && bytes > 0 && get(program, text) != 0) text[0] = '\0';
    return text;
}

static void fail(const text_program_t *program, int architecture, const char *what,
                 const char *text, text_report_t *report) {
    printf("FAIL %s \"%s\" sm_%d: %s\n%s\n", program->source->label, program->options, architecture,
           what, text ? text : "");
    report->failures++;
}

/* Assembles the PTX again with the assembler itself. */
static void assemble(const text_program_t *program, int architecture, const char *ptxas,
                     const char *ptx, text_report_t *report) {
    char name[] = "/tmp/gantry_cuda_text_XXXXXX", command[1024], line[256];
    int file = mkstemp(name);
    if (file < 0 || write(file, ptx, strlen(ptx)) != (ssize_t)strlen(ptx)) {
        fail(program, architecture, "no temporary file", name, report);
        return;
    }
    close(file);
    snprintf(command, sizeof command,
             "'%s' --gpu-name=sm_%d --warn-on-spills -o /dev/null '%s' 2>&1", ptxas, architecture,
             name);
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        fail(program, architecture, "ptxas says", line, report);
    if (!pipe || pclose(pipe) != 0) fail(program, architecture, "ptxas failed", NULL, report);
    unlink(name);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* NVRTC's own cache, which a driver brings along, keeps no log: from 12.9 on it can be left out. */
static bool keeps_results(const text_compiler_t *compiler) {
    int major = 0, minor = 0;
    cuda_text_version(compiler, &major, &minor);
    return major > 12 || (major == 12 && minor >= 9);
}

/* The options of the CUDA backend, the program's own, and the assembler's figures in the log. */
static int compile(const text_compiler_t *compiler, nvrtc_program_t *program, int architecture,
                   const char *own) {
    char gpu[32], words[128];
    const char *options[16] = {
        gpu,           "--fmad=false",    "--prec-div=true",   "--prec-sqrt=true",
        "--ftz=false", "-default-device", "--ptxas-options=-v"};
    int count = 7;
    if (keeps_results(compiler)) options[count++] = "--no-cache";
    snprintf(gpu, sizeof gpu, "--gpu-architecture=sm_%d", architecture);
    snprintf(words, sizeof words, "%s", own);
    for (char *word = strtok(words, " "); word && count < 16; word = strtok(NULL, " "))
        options[count++] = word;
    return compiler->compile(program, count, options);
}

void cuda_text_compile(const text_compiler_t *compiler, const text_list_t *list,
                       const text_program_t *program, int architecture, const char *ptxas,
                       text_report_t *report) {
    nvrtc_program_t *built = NULL;
    char *source = join_source(program->source), *log = NULL, *ptx = NULL;
    size_t cubin_bytes = 0;
    double start = now();
    *report = (text_report_t){.done = true};
    if (!source || compiler->create(&built, source, "portable.cu", 0, NULL, NULL) != 0) {
        fail(program, architecture, "no program object", NULL, report);
        goto done;
    }
    int status = compile(compiler, built, architecture, program->options);
    log = take(built, compiler->log_size, compiler->log);
    if (status != 0) {
        fail(program, architecture, "does not compile", log, report);
        goto done;
    }
    ptx = take(built, compiler->ptx_size, compiler->ptx);
    if (compiler->cubin_size(built, &cubin_bytes) != 0 || cubin_bytes == 0 || !log || !ptx)
        fail(program, architecture, "no machine code, log or PTX", NULL, report);
    else
        cuda_text_judge(list, program, architecture, log, ptx, report);
    if (ptxas && ptx) assemble(program, architecture, ptxas, ptx, report);
done:
    if (built) (void)compiler->destroy(&built);
    free(source);
    free(log);
    free(ptx);
    report->seconds = now() - start;
}
