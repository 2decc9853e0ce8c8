/* SPDX-License-Identifier: Apache-2.0 */
/* Checks programs with clang instead of NVRTC: it parses CUDA and knows its types, but makes no
 * machine code. cuda_text_clang.h declares what the text uses of CUDA. As OpenCL, without any
 * extension: NVIDIA's compiler refuses what clang takes as one, such as variadic macros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_text.h"

#ifndef GANTRY_CUDA_TEXT_HEADER
#define GANTRY_CUDA_TEXT_HEADER "tests/cuda_text/cuda_text_clang.h"
#endif

/* Writes the parts to a temporary file, whose name is the template `name`. */
static bool write_parts(char *name, const char *const *parts, uint32_t count) {
    const int number = mkstemp(name);
    FILE *file = number >= 0 ? fdopen(number, "w") : NULL;
    bool is_written = file != NULL;
    for (uint32_t i = 0; is_written && i < count; ++i) is_written = fputs(parts[i], file) >= 0;
    if (file) return fclose(file) == 0 && is_written;
    if (number >= 0) close(number);
    return false;
}

/* clang's exit status for the file; its messages go to `log`. Old clangs know no architecture above
 * 80, and the text is the same for all. */
static int run_clang(const text_clang_t *clang, const char *options, const char *file, char *log,
                     size_t log_bytes) {
    static const char opencl[] =
        "'%s' -x cl -cl-std=CL1.2 -target nvptx64--nvidiacl -Xclang -finclude-default-header"
        " -fsyntax-only -pedantic-errors -Wno-bitwise-conditional-parentheses"
        " -D__OPENCL_VERSION__=120 -Dasm=__asm__ %s '%s' 2>&1";
    static const char cuda[] =
        "'%s' -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc"
        " -nocudalib -fsyntax-only -w -D__CUDACC__ -include '" GANTRY_CUDA_TEXT_HEADER
        "' %s '%s' 2>&1";
    char command[1024];
    snprintf(command, sizeof command, clang->as_opencl ? opencl : cuda, clang->program, options,
             file);
    FILE *pipe = popen(command, "r");
    const size_t length = pipe ? fread(log, 1, log_bytes - 1, pipe) : 0;
    log[length] = '\0';
    return pipe ? pclose(pipe) : -1;
}

static int check_parts(const text_clang_t *clang, const char *options, const char *const *parts,
                       uint32_t count, char *log, size_t log_bytes) {
    char name[] = "/tmp/gantry_cuda_text_XXXXXX";
    int status = -1;
    snprintf(log, log_bytes, "cannot write %s\n", name);
    if (write_parts(name, parts, count)) status = run_clang(clang, options, name, log, log_bytes);
    unlink(name);
    return status;
}

bool cuda_text_clang_refuses(const text_clang_t *clang, const text_program_t *program) {
    enum { MOST_PARTS = 32 };
    const char *parts[MOST_PARTS];
    char log[1024];
    const uint32_t count = program->source->part_count;
    if (count >= MOST_PARTS) return false;
    memcpy(parts, program->source->parts, count * sizeof *parts);
    parts[count] = "\nGANTRY_KERNEL wrong(GANTRY_SPAN_OUT(out)) { out_base[0] = nothing; }\n";

    return check_parts(clang, program->options, parts, count + 1, log, sizeof log) != 0 &&
           strstr(log, "nothing") != NULL;
}

void cuda_text_clang_check(const text_clang_t *clang, const text_program_t *program,
                           text_report_t *report) {
    char log[4096];
    *report = (text_report_t){.done = true, .kernels = program->kernel_count};
    if (check_parts(clang, program->options, program->source->parts, program->source->part_count,
                    log, sizeof log) == 0)
        return;
    printf("FAIL %s \"%s\" by clang: does not compile\n%s\n", program->source->label,
           program->options, log);
    report->failures++;
}
