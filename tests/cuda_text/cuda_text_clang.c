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

/* The command before its options and files. Old clangs know no architecture above 80, and the text
 * is the same for all. */
static const char as_opencl[] =
    "'%s' -x cl -cl-std=CL1.2 -target nvptx64--nvidiacl -Xclang -finclude-default-header"
    " -fsyntax-only -pedantic-errors -Wno-bitwise-conditional-parentheses"
    " -D__OPENCL_VERSION__=120 -Dasm=__asm__";
static const char as_cuda[] =
    "'%s' -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc"
    " -nocudalib -fsyntax-only -w -D__CUDACC__ -include '" GANTRY_CUDA_TEXT_HEADER "'";

static void write_command(const text_clang_t *clang, char *out, size_t bytes) {
    snprintf(out, bytes, clang->as_opencl ? as_opencl : as_cuda, clang->program);
}

/* clang's exit status for the file; its messages go to `log`. */
static int run_clang(const text_clang_t *clang, const char *options, const char *file, char *log,
                     size_t log_bytes) {
    char command[1024], line[2048];
    write_command(clang, command, sizeof command);
    snprintf(line, sizeof line, "%s %s '%s' 2>&1", command, options, file);
    FILE *pipe = popen(line, "r");
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

/* Writes the program with its options, which are definitions, as lines before its text. */
static bool write_program(const char *name, const text_program_t *program) {
    char options[sizeof program->options], *rest = options;
    FILE *file = fopen(name, "w");
    bool is_written = file != NULL;
    memcpy(options, program->options, sizeof options);
    for (const char *word; is_written && (word = strtok_r(rest, " ", &rest)) != NULL;) {
        const char *value = strchr(word, '=');
        is_written =
            strncmp(word, "-D", 2) == 0 && value != NULL &&
            fprintf(file, "#define %.*s %s\n", (int)(value - word - 2), word + 2, value + 1) > 0;
    }
    for (uint32_t i = 0; is_written && i < program->source->part_count; ++i)
        is_written = fputs(program->source->parts[i], file) >= 0;
    if (file) return fclose(file) == 0 && is_written;
    return false;
}

/* clang's driver starts a process for each file, whose start takes longer than most files. The
 * process itself, whose arguments the driver prints, takes any number of files. */
static bool parses_files(const text_clang_t *clang, const char *folder, uint32_t count) {
    char command[1024], line[4096];
    write_command(clang, command, sizeof command);
    int length = snprintf(line, sizeof line,
                          "cd '%s' && line=$(%s 0 -### 2>&1 | grep '\"-cc1\"') && eval \"$line",
                          folder, command);
    for (uint32_t i = 1; i < count; ++i)
        length += snprintf(line + length, sizeof line - (size_t)length, " %u", i);
    snprintf(line + length, sizeof line - (size_t)length, "\" >log 2>&1");
    return system(line) == 0;
}

bool cuda_text_clang_accepts(const text_clang_t *clang, const text_program_t *const *programs,
                             uint32_t count) {
    char folder[] = "/tmp/gantry_cuda_text_XXXXXX", name[64];
    if (!mkdtemp(folder)) return false;
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < count; ++i) {
        snprintf(name, sizeof name, "%s/%u", folder, i);
        is_good = write_program(name, programs[i]);
    }
    is_good = is_good && parses_files(clang, folder, count);
    for (uint32_t i = 0; i < count; ++i) {
        snprintf(name, sizeof name, "%s/%u", folder, i);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/log", folder);
    unlink(name);
    rmdir(folder);
    return is_good;
}

bool cuda_text_clang_refuses(const text_clang_t *clang, const text_program_t *program) {
    enum { MOST_PARTS = 32 };
    const char *parts[MOST_PARTS];
    char log[1024];
    gantry_program_source_t source = *program->source;
    text_program_t wrong = *program;
    const text_program_t *const both[] = {program, &wrong};
    const uint32_t count = source.part_count;
    if (count >= MOST_PARTS) return false;
    memcpy(parts, source.parts, count * sizeof *parts);
    parts[count] = "\nGANTRY_KERNEL wrong(GANTRY_SPAN_OUT(out)) { out_base[0] = nothing; }\n";
    source.parts = parts;
    source.part_count = count + 1;
    wrong.source = &source;
    return check_parts(clang, program->options, parts, count + 1, log, sizeof log) != 0 &&
           strstr(log, "nothing") != NULL && !cuda_text_clang_accepts(clang, both, 2);
}
