/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (cuda_text): The CUDA text compiles through NVRTC and ptxas for chosen architectures: no
 * failure, no spill.
 * Promise (cuda_text.clang): clang parses the device text as CUDA, where there is no NVRTC.
 * Promise (cuda_text.launches): Ops submit to a card the kernels, fills and copies that a table
 * counts.
 * Promise (cuda_text.opencl): clang parses every device text as OpenCL C 1.2 without extensions.
 *
 * gantry_cuda_text: compiles all device text of the portable pack for NVIDIA's architectures,
 * without a card.
 *
 *   gantry_cuda_text                       every program for one architecture
 *   gantry_cuda_text --every 3             of each source the first program, and every third of all
 *   gantry_cuda_text --all                 for all architectures, and the PTX through ptxas where
 *                                          there is one
 *   gantry_cuda_text --clang clang-15      clang parses every program; NVRTC is not needed
 *   gantry_cuda_text --launches FILE       compares a table of launches, and compiles nothing
 *
 * Exit code: 0 all right, 1 something failed, 2 wrong usage, 77 no NVRTC here. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_text.h"

#ifndef GANTRY_CUDA_FOLDER
#define GANTRY_CUDA_FOLDER "build/cuda"
#endif
#ifndef GANTRY_CUDA_TEXT_CASES
#define GANTRY_CUDA_TEXT_CASES "tests/cuda_text/cuda_text_cases.txt"
#endif

enum { MOST_ARCHITECTURES = 8, SKIPPED = 77 };

static const char usage[] =
    "usage: gantry_cuda_text [options]\n"
    "  --all               all architectures (75, 80, 90, 100, 120), not only 90; also through ptxas\n"
    "  --arch N[,N]        these architectures\n"
    "  --only TEXT         programs whose label contains TEXT\n"
    "  --every N           the first program of each source, and every N-th of all\n"
    "  --jobs N            processes (default: 2)\n"
    "  --nvrtc FILE        default: GANTRY_CUDA_NVRTC, or build/cuda/lib/libnvrtc.so.12\n"
    "  --clang PROGRAM     parse with this clang, instead of compiling with NVRTC\n"
    "  --opencl            parse as OpenCL C 1.2 without extensions, with --clang\n"
    "  --cases FILE        calls that request the programs\n"
    "  --list              print the programs and their kernels, compile nothing\n";

typedef struct options_t {
    int architectures[MOST_ARCHITECTURES];
    int architecture_count;
    int jobs, every;
    bool all, list;
    const char *only, *nvrtc, *cases, *launches;
    text_clang_t clang;
} options_t;

/* State shared by the processes. */
typedef struct shared_t {
    atomic_uint next; /* program * architectures + architecture */
    text_report_t reports[];
} shared_t;

static int refuse(const char *what, const char *word) {
    fprintf(stderr, "gantry_cuda_text: %s %s\n%s", what, word, usage);
    return 2;
}

static bool read_architectures(const char *text, options_t *o) {
    o->architecture_count = 0;
    while (*text && o->architecture_count < MOST_ARCHITECTURES) {
        char *end;
        long value = strtol(text, &end, 10);
        if (value < 50 || value > 999 || (*end && *end != ',')) return false;
        o->architectures[o->architecture_count++] = (int)value;
        text = end + (*end == ',');
    }
    return o->architecture_count > 0 && *text == '\0';
}

static int read_options(int argc, char **argv, options_t *o) {
    const char *environment = getenv("GANTRY_CUDA_NVRTC");
    *o = (options_t){.jobs = 2, .every = 1, .cases = GANTRY_CUDA_TEXT_CASES};
    o->nvrtc = environment && *environment ? environment : GANTRY_CUDA_FOLDER "/lib/libnvrtc.so.12";
    (void)read_architectures("90", o);
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--all") == 0) {
            o->all = read_architectures("75,80,90,100,120", o);
            continue;
        }
        if (strcmp(word, "--opencl") == 0) {
            o->clang.as_opencl = true;
            continue;
        }
        if (strcmp(word, "--list") == 0) {
            o->list = true;
            continue;
        }
        if (!value) return refuse("unknown option, or no value after", word);
        if (strcmp(word, "--only") == 0)
            o->only = value;
        else if (strcmp(word, "--nvrtc") == 0)
            o->nvrtc = value;
        else if (strcmp(word, "--clang") == 0)
            o->clang.program = value;
        else if (strcmp(word, "--cases") == 0)
            o->cases = value;
        else if (strcmp(word, "--launches") == 0)
            o->launches = value;
        else if (strcmp(word, "--jobs") == 0)
            o->jobs = atoi(value);
        else if (strcmp(word, "--every") == 0)
            o->every = atoi(value);
        else if (strcmp(word, "--arch") != 0)
            return refuse("unknown option", word);
        else if (!read_architectures(value, o))
            return refuse("not architectures:", value);
        i++;
    }
    if (o->every < 1) return refuse("--every takes 1 or more", "");
    return o->jobs >= 1 && o->jobs <= 64 ? 0 : refuse("--jobs takes 1 to 64", "");
}

/* ---- work ---- */

/* Tensor cores support TF32 from architecture 80 on. */
static int least_architecture(const text_program_t *program) {
    return strcmp(program->source->label, "opencl/tensor_matmul") == 0 ? 80 : 0;
}

static bool is_chosen(const options_t *o, const text_list_t *list, uint32_t i) {
    const char *label = list->programs[i].source->label;
    uint32_t before = 0;
    if (o->only && !strstr(label, o->only)) return false;
    while (strcmp(list->programs[before].source->label, label) != 0) before++;
    return before == i || i % (uint32_t)o->every == 0;
}

static void work(const options_t *o, const text_list_t *list, const text_compiler_t *compiler,
                 shared_t *shared) {
    const char *ptxas = o->all && access(GANTRY_CUDA_FOLDER "/bin/ptxas", X_OK) == 0
                            ? GANTRY_CUDA_FOLDER "/bin/ptxas"
                            : NULL;
    const uint32_t kinds = (uint32_t)o->architecture_count, units = list->count * kinds;
    for (uint32_t unit; (unit = atomic_fetch_add(&shared->next, 1)) < units;) {
        const text_program_t *program = &list->programs[unit / kinds];
        if (!is_chosen(o, list, unit / kinds)) continue;
        if (o->architectures[unit % kinds] < least_architecture(program)) continue;
        const int architecture = o->architectures[unit % kinds];
        cuda_text_compile(compiler, list, program, architecture, ptxas, &shared->reports[unit]);
        fflush(stdout);
    }
}

/* clang parses each program once, whatever the architecture. */
static void parse(const options_t *o, const text_list_t *list, shared_t *shared) {
    enum { BATCH = 24 };
    const uint32_t kinds = (uint32_t)o->architecture_count;
    for (uint32_t first; (first = atomic_fetch_add(&shared->next, BATCH)) < list->count;) {
        const text_program_t *programs[BATCH];
        text_report_t *reports[BATCH];
        uint32_t count = 0;
        for (uint32_t i = first; i < list->count && i < first + BATCH; ++i) {
            if (!is_chosen(o, list, i)) continue;
            programs[count] = &list->programs[i];
            reports[count++] = &shared->reports[i * kinds];
        }
        if (count == 0) continue;
        const bool are_good = cuda_text_clang_accepts(&o->clang, programs, count);
        for (uint32_t i = 0; i < count; ++i) {
            if (are_good)
                *reports[i] = (text_report_t){.done = true, .kernels = programs[i]->kernel_count};
            else
                cuda_text_clang_check(&o->clang, programs[i], reports[i]);
        }
        fflush(stdout);
    }
}

/* Each process opens its own compiler; a process that dies counts as a failure. */
static int work_in_processes(const options_t *o, const text_list_t *list, shared_t *shared) {
    int failures = 0;
    for (int job = 0; job < o->jobs; ++job) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            text_compiler_t *compiler = o->clang.program ? NULL : cuda_text_open_compiler(o->nvrtc);
            if (compiler) work(o, list, compiler, shared);
            if (o->clang.program) parse(o, list, shared);
            cuda_text_close_compiler(compiler);
            fflush(stdout);
            _exit(!compiler && !o->clang.program);
        }
        failures += child < 0;
    }
    for (int status; wait(&status) > 0;) failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (failures > 0) printf("FAIL %d processes failed\n", failures);
    return failures;
}

/* ---- the table ---- */

static void add(text_report_t *sum, const text_report_t *one) {
    sum->failures += one->failures;
    sum->kernels += one->kernels;
    sum->spills += one->spills;
    sum->seconds += one->seconds;
    if (one->most_registers > sum->most_registers) sum->most_registers = one->most_registers;
    if (one->most_stack > sum->most_stack) sum->most_stack = one->most_stack;
    if (one->most_shared > sum->most_shared) sum->most_shared = one->most_shared;
}

static void print_row(const char *label, uint32_t variants, const text_report_t *sum) {
    printf("%-38s %8u %8u %9u %8u %7u %7u %8.1f\n", label, variants, sum->kernels,
           sum->most_registers, sum->most_stack, sum->most_shared, sum->spills, sum->seconds);
}

/* One row per source; programs of one source follow each other or not. Returns failures. */
static uint32_t print_table(const options_t *o, const text_list_t *list, const shared_t *shared) {
    const uint32_t kinds = (uint32_t)o->architecture_count;
    text_report_t total = {0};
    uint32_t programs = 0;
    printf("\n%-38s %8s %8s %9s %8s %7s %7s %8s\n", "source", "variants", "kernels", "registers",
           "stack B", "smem B", "spill B", "seconds");
    for (uint32_t i = 0; i < list->count; ++i) {
        const char *label = list->programs[i].source->label;
        text_report_t sum = {0};
        uint32_t variants = 0, before = 0;
        while (strcmp(list->programs[before].source->label, label) != 0) before++;
        if (before < i) continue;
        for (uint32_t unit = 0; unit < list->count * kinds; ++unit) {
            if (!shared->reports[unit].done ||
                strcmp(list->programs[unit / kinds].source->label, label) != 0)
                continue;
            variants++;
            add(&sum, &shared->reports[unit]);
        }
        if (variants > 0) print_row(label, variants, &sum);
        add(&total, &sum);
        programs += variants;
    }
    print_row("all (variants x architectures)", programs, &total);
    if (programs == 0)
        printf("nothing was compiled: no program's source is called %s\n",
               o->only ? o->only : "anything");
    return total.failures + (programs == 0);
}

static void print_list(const text_list_t *list) {
    for (uint32_t i = 0; i < list->count; ++i) {
        const text_program_t *program = &list->programs[i];
        printf("%s \"%s\":", program->source->label, program->options);
        for (uint32_t k = 0; k < program->kernel_count; ++k)
            printf(" %s/%u", program->kernels[k].name, program->kernels[k].local);
        printf("\n");
    }
}

static int compile_all(const options_t *o, text_list_t *list) {
    const size_t units = (size_t)list->count * (size_t)o->architecture_count;
    const size_t bytes = sizeof(shared_t) + units * sizeof(text_report_t);
    shared_t *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    int failed = work_in_processes(o, list, shared);
    uint32_t failures = print_table(o, list, shared) + list->failures;
    munmap(shared, bytes);
    printf("%u programs, %u failures\n", list->count, failures + (uint32_t)failed);
    return failures > 0 || failed > 0;
}

static int parse_all(const options_t *o, text_list_t *list) {
    printf("%s, %u programs\n", o->clang.program, list->count);
    if (cuda_text_clang_refuses(&o->clang, &list->programs[0])) return compile_all(o, list);
    printf("FAIL %s does not run, or accepts a program with an error\n", o->clang.program);
    return 1;
}

int main(int argc, char **argv) {
    options_t o;
    int major, minor, code = read_options(argc, argv, &o);
    if (code != 0) return code;
    if (o.launches) return !cuda_text_check_launches(o.launches);
    text_list_t *list = calloc(1, sizeof *list);
    if (!list) return 1;
    cuda_text_record(o.cases, list);
    if (o.list) {
        print_list(list);
        code = list->failures > 0;
    } else if (o.clang.program) {
        code = parse_all(&o, list);
    } else {
        text_compiler_t *compiler = cuda_text_open_compiler(o.nvrtc);
        if (compiler) {
            cuda_text_version(compiler, &major, &minor);
            printf("NVRTC %d.%d, %u programs for %d architectures\n", major, minor, list->count,
                   o.architecture_count);
            cuda_text_close_compiler(compiler);
            code = compile_all(&o, list);
        } else {
            printf("SKIP: no NVRTC; scripts/fetch-cuda gets one\n");
            code = list->failures > 0 ? 1 : SKIPPED;
        }
    }
    cuda_text_free(list);
    return code;
}
