/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of gantry_cuda_text: the programs that the portable pack
 * requests, and the reports of NVRTC and ptxas about each program.
 *
 * The pack's own host code runs on a described device that does not exist. Its requests for kernels
 * and launches are recorded, and no kernel runs. Owner: the lists belong to main. Single-threaded;
 * compiling is done in forked processes that share the reports. */
#ifndef TESTS_CUDA_TEXT_H
#define TESTS_CUDA_TEXT_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TEXT_MOST_KERNELS = 16,
    TEXT_MOST_PARAMETERS = 32,
    TEXT_MOST_PROGRAMS = 1024,
    TEXT_NAME_BYTES = 64
};

/* A requested kernel, with the parameters that its launches pass. */
typedef struct text_kernel_t {
    char name[TEXT_NAME_BYTES];
    uint32_t parameters[TEXT_MOST_PARAMETERS]; /* bytes of each */
    uint32_t parameter_count;
    uint32_t local;   /* largest number of work-items in a group */
    uint32_t dynamic; /* largest number of bytes in LOCAL arguments */
    bool launched;
} text_kernel_t;

typedef struct text_program_t {
    const gantry_program_source_t *source;
    gantry_program_source_t *made; /* the source, if its text was made: heap memory; or NULL */
    char options[128];
    text_kernel_t kernels[TEXT_MOST_KERNELS];
    uint32_t kernel_count;
} text_program_t;

typedef struct text_list_t {
    text_program_t programs[TEXT_MOST_PROGRAMS];
    uint32_t count;
    uint32_t failures; /* each with a line printed */
} text_list_t;

/* Runs every kernel definition of the packs over its lines of the case file, as if on GPUs of
 * several sizes. Errors are printed and counted in list->failures. */
void cuda_text_record(const char *case_file, text_list_t *list);

/* What a call submits to the device. For a number read back the host waits. */
typedef struct text_counts_t {
    uint32_t launches, fills, copies, reads;
} text_counts_t;

/* Runs one line of the case file's form, of one op, as if on a large card, and counts. False: the
 * line cannot be read, or no pack has the op; that is printed. */
bool cuda_text_count(const char *line, text_list_t *list, text_counts_t *out_counts);

/* Whether each line of the table, which begins with four counts, has the counts of its call; each
 * other line is printed (cuda_text_launches.c). */
bool cuda_text_check_launches(const char *table);

/* Frees the list, and what its programs hold. */
void cuda_text_free(text_list_t *list);

/* ---- kernels of the CUDA backend with device text of their own (cuda_text_cudnn.c) ---- */

enum { TEXT_MOST_CONV_PLAIN = 8 };

/* Writes the definitions, at most TEXT_MOST_CONV_PLAIN, and returns how many there are. */
size_t cuda_text_list_conv_plain(const gantry_kernel_def_t **out_list);
/* The card on which they run; NULL: the definition is none of them. */
gantry_backend_device_t *cuda_text_conv_plain_card(const gantry_kernel_def_t *def);

/* ---- one call, recorded (cuda_text_recorder.c) ---- */

typedef struct text_recorder_t {
    text_list_t *list;
    const char *what; /* for messages: the case */
    text_counts_t counts;
} text_recorder_t;

/* For gantry_op_call_t.services, with a text_recorder_t in its core. */
extern const gantry_call_services_t cuda_text_services;

/* ---- compiling ---- */

/* The result of one program on one architecture. */
typedef struct text_report_t {
    bool done;
    uint32_t failures; /* printed */
    uint32_t kernels;
    uint32_t most_registers;
    uint32_t most_stack;  /* bytes of one work-item: private arrays, spills included */
    uint32_t most_shared; /* static bytes */
    uint32_t spills;      /* bytes stored and loaded, all kernels */
    double seconds;
} text_report_t;

typedef struct text_compiler_t text_compiler_t;

/* Opens NVRTC; NULL on failure, with the reason printed to stdout. */
text_compiler_t *cuda_text_open_compiler(const char *library);
void cuda_text_close_compiler(text_compiler_t *compiler);
void cuda_text_version(const text_compiler_t *compiler, int *out_major, int *out_minor);
/* Compiles for sm_<architecture> with the options of the CUDA backend; ptxas: path of an assembler
 * that assembles the PTX again, or NULL. */
void cuda_text_compile(const text_compiler_t *compiler, const text_list_t *list,
                       const text_program_t *program, int architecture, const char *ptxas,
                       text_report_t *report);

/* ---- checking with clang, where there is no NVRTC (cuda_text_clang.c) ---- */

typedef struct text_clang_t {
    const char *program; /* NULL: NVRTC compiles */
    bool as_opencl;      /* parses OpenCL C 1.2, not CUDA */
} text_clang_t;

/* Whether clang refuses the program with an unknown name in one more kernel, by itself and after
 * another. */
bool cuda_text_clang_refuses(const text_clang_t *clang, const text_program_t *program);
/* Parses the programs in one process. False: an error in one of them, which cuda_text_clang_check
 * names, or clang has no such process. */
bool cuda_text_clang_accepts(const text_clang_t *clang, const text_program_t *const *programs,
                             uint32_t count);
/* Parses the program; prints clang's messages if it fails. */
void cuda_text_clang_check(const text_clang_t *clang, const text_program_t *program,
                           text_report_t *report);

/* Reads the assembler's log and the PTX's entries into the report; prints values beyond the bounds,
 * and kernels that no variant of the source in the list requests, because such kernels waste space
 * on a GPU. */
void cuda_text_judge(const text_list_t *list, const text_program_t *program, int architecture,
                     const char *log, const char *ptx, text_report_t *report);

#endif
