/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the assembler's log and the PTX with the bounds. A log has, per kernel:
 *
 *     ptxas info    : Compiling entry function 'reduce_group' for 'sm_90'
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 44 registers, used 1 barriers, 256 bytes smem
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_text.h"

/* The driver reserves a work-item's private memory for every resident work-item, so this bounds the
 * reservation. */
#define MOST_STACK_BYTES 512
#define MOST_SPILL_BYTES 0
/* of one group, unless a kernel requests more at launch */
#define MOST_SHARED_BYTES (48 << 10)
#define MOST_REGISTERS 255
#define REGISTERS_OF_A_GROUP 65536 /* least of the architectures */

static void fail(const text_program_t *program, int architecture, const char *kernel,
                 const char *what, unsigned long value, text_report_t *report) {
    printf("FAIL %s \"%s\" sm_%d, %s: %s %lu\n", program->source->label, program->options,
           architecture, kernel, what, value);
    report->failures++;
}

static const text_kernel_t *find_kernel(const text_program_t *program, const char *name) {
    for (uint32_t i = 0; i < program->kernel_count; ++i) {
        if (strcmp(program->kernels[i].name, name) == 0) return &program->kernels[i];
    }
    return NULL;
}

static bool is_asked_for(const text_list_t *list, const text_program_t *program, const char *name) {
    for (uint32_t i = 0; i < list->count; ++i) {
        const text_program_t *other = &list->programs[i];
        if (strcmp(other->source->label, program->source->label) == 0 && find_kernel(other, name))
            return true;
    }
    return false;
}

/* The number before the words in the line; 0 without the words. */
static unsigned long number_before(const char *line, const char *words) {
    const char *at = strstr(line, words);
    if (!at || at == line) return 0;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    return strtoul(at, NULL, 10);
}

static void judge_line(const text_list_t *list, const text_program_t *program, int architecture,
                       const char *line, char *kernel, text_report_t *report) {
    const char *entry = strstr(line, "Compiling entry function '");
    if (entry) {
        (void)sscanf(entry, "Compiling entry function '%63[^']'", kernel);
        report->kernels++;
        if (!is_asked_for(list, program, kernel))
            fail(program, architecture, kernel, "calls that request it:", 0, report);
    } else if (strstr(line, " bytes stack frame")) {
        unsigned long stack = number_before(line, " bytes stack frame");
        unsigned long spills =
            number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
        report->most_stack = stack > report->most_stack ? (uint32_t)stack : report->most_stack;
        report->spills += (uint32_t)spills;
        if (stack > MOST_STACK_BYTES)
            fail(program, architecture, kernel, "bytes of stack:", stack, report);
        if (spills > MOST_SPILL_BYTES)
            fail(program, architecture, kernel, "bytes spilled:", spills, report);
    } else if (strstr(line, " registers")) {
        unsigned long registers = number_before(line, " registers");
        unsigned long shared = number_before(line, " bytes smem");
        const text_kernel_t *wanted = find_kernel(program, kernel);
        unsigned long local = wanted ? wanted->local : 0;
        report->most_registers =
            registers > report->most_registers ? (uint32_t)registers : report->most_registers;
        report->most_shared = shared > report->most_shared ? (uint32_t)shared : report->most_shared;
        if (registers > MOST_REGISTERS)
            fail(program, architecture, kernel, "registers:", registers, report);
        if (registers * local > REGISTERS_OF_A_GROUP)
            fail(program, architecture, kernel, "registers of a group:", registers * local, report);
        if (shared + (wanted ? wanted->dynamic : 0) > MOST_SHARED_BYTES)
            fail(program, architecture, kernel, "bytes of shared memory:", shared, report);
    } else if (strstr(line, "warning") || strstr(line, "error")) {
        printf("FAIL %s \"%s\" sm_%d: %s\n", program->source->label, program->options, architecture,
               line);
        report->failures++;
    }
}

/* Bytes of a ".param .u64 x" or ".param .align 8 .b8 x[24]". */
static uint32_t parameter_bytes(const char *text, size_t length) {
    char one[256];
    snprintf(one, sizeof one, "%.*s", (int)length, text);
    const char *bracket = strchr(one, '[');
    if (bracket) return (uint32_t)strtoul(bracket + 1, NULL, 10);
    if (strstr(one, ".u64") || strstr(one, ".b64") || strstr(one, ".s64") || strstr(one, ".f64"))
        return 8;
    return strstr(one, ".u32") || strstr(one, ".b32") || strstr(one, ".s32") || strstr(one, ".f32")
               ? 4
               : 0;
}

/* The entry's parameters must match the parameters that the host passes. */
static void judge_entry(const text_program_t *program, int architecture,
                        const text_kernel_t *kernel, const char *ptx, text_report_t *report) {
    char entry[TEXT_NAME_BYTES + 16];
    uint32_t count = 0;
    snprintf(entry, sizeof entry, ".entry %s(", kernel->name);
    const char *at = strstr(ptx, entry);
    if (!at) {
        fail(program, architecture, kernel->name, "kernels of this name:", 0, report);
        return;
    }
    const char *end = strchr(at, ')');
    for (at = strstr(at, ".param"); at && at < end; at = strstr(at + 1, ".param")) {
        uint32_t bytes = parameter_bytes(at, strcspn(at, ",)"));
        if (count < kernel->parameter_count && bytes != kernel->parameters[count])
            fail(program, architecture, kernel->name,
                 "bytes of a parameter, but the host passes another number:", bytes, report);
        count++;
    }
    if (count != kernel->parameter_count)
        fail(program, architecture, kernel->name, "parameters, unlike the host's launches:", count,
             report);
}

/* Float64 functions of CUDA's own library are exempt: see kernels/math/math_float64_library.cl. */
static bool uses_library(const text_program_t *program) {
    bool includes = false;
    for (uint32_t i = 0; i < program->source->part_count; ++i)
        includes |= strstr(program->source->parts[i], "gantry__canonical_f64") != NULL;
    return includes && strstr(program->options, "-DGANTRY_T=f64") != NULL;
}

/* Whether a line calls fma() or the dialect's macros; the lines that define them do not count. */
static bool calls_fma(const char *text) {
    static const char *const names[] = {"fma(", "GANTRY_FMA_F32(", "GANTRY_FMA_F64("};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        for (const char *at = strstr(text, names[i]); at; at = strstr(at + 1, names[i])) {
            const char *line = at;
            while (line > text && line[-1] != '\n') --line;
            if (strncmp(line, "#define GANTRY_FMA_F", 20) != 0) return true;
        }
    }
    return false;
}

/* Instructions that would give other bits than other devices: a product and a sum fused where the
 * text has no fma(), denormals flushed, approximations. */
static void judge_arithmetic(const text_program_t *program, int architecture, const char *ptx,
                             text_report_t *report) {
    static const char *const inexact[] = {".ftz",       "div.full",    "div.approx", "sqrt.approx",
                                          "rcp.approx", "ex2.approx",  "lg2.approx", "sin.approx",
                                          "cos.approx", "tanh.approx", "mad.f32",    "mad.rn"};
    bool fuses = false;
    if (uses_library(program)) return;
    for (uint32_t i = 0; i < program->source->part_count; ++i)
        fuses |= calls_fma(program->source->parts[i]);
    if (!fuses && strstr(ptx, "fma."))
        fail(program, architecture, "PTX", "fma without fma in the text:", 1, report);
    for (size_t i = 0; i < sizeof inexact / sizeof inexact[0]; ++i) {
        if (strstr(ptx, inexact[i]))
            fail(program, architecture, inexact[i], "in the PTX:", 1, report);
    }
}

/* A small launch has one round of the loop over a work-item's elements; a division that counts the
 * rounds would be most of its time. */
static void judge_small_add(const text_program_t *program, int architecture, const char *ptx,
                            text_report_t *report) {
    const char *at = strstr(ptx, ".entry dense(");
    if (!at || strcmp(program->source->label, "portable/elementwise/Add") != 0) return;
    const char *end = strstr(at, "\n}"), *division = strstr(at, "div.");
    if (division && (!end || division < end))
        fail(program, architecture, "dense", "divisions in an addition, at least:", 1, report);
}

void cuda_text_judge(const text_list_t *list, const text_program_t *program, int architecture,
                     const char *log, const char *ptx, text_report_t *report) {
    char kernel[TEXT_NAME_BYTES] = "", line[512];
    for (const char *at = log; *at; at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        judge_line(list, program, architecture, line, kernel, report);
        at += length;
    }
    judge_arithmetic(program, architecture, ptx, report);
    judge_small_add(program, architecture, ptx, report);
    if (report->kernels == 0) fail(program, architecture, "log", "kernels in it:", 0, report);
    for (uint32_t i = 0; i < program->kernel_count; ++i)
        judge_entry(program, architecture, &program->kernels[i], ptx, report);
}
