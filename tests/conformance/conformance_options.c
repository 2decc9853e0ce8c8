/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#ifndef GANTRY_GOLDEN_DIR
#define GANTRY_GOLDEN_DIR "tests/golden/cases"
#endif
#ifndef GANTRY_EXPECTATIONS
#define GANTRY_EXPECTATIONS "tests/conformance/expectations.txt"
#endif

static const char usage[] =
    "usage: gantry_conformance --device NAME [options]\n"
    "  --device NAME          the device to check: cpu:0, opencl:1, /GPU:0, ...\n"
    "  --compare NAME         run the same inputs there too and require equal bits; nothing else is checked\n"
    "  --write-bits FILE      write a hash of the bits of each case with equal bits on all devices; nothing else is checked\n"
    "  --compare-bits FILE    require these bits, which may be of another machine; nothing else is checked\n"
    "  --opencl-cpu-as-gpu    count OpenCL devices of type CPU as GPUs\n"
    "  --adopted              open it over a context and queue of the program's own\n"
    "  --gpu-forms            imitate a card on the first GPU: a processor runs the kernels' forms for GPUs\n"
    "  --platform TEXT        exit 77 unless the platform of the device contains TEXT\n"
    "  --only NAME[,NAME]     these ops and groups only\n"
    "  --case TEXT            cases whose name contains TEXT\n"
    "  --every N              the first of every N cases of an op in golden files and sweep, and of matrix products\n"
    "  --all-types            cases of every type; without it, on a device that builds programs, each op runs one of\n"
    "                         float16, bfloat16 and float64, and one of int8, uint8, int16, uint16, uint32 and uint64,\n"
    "                         chosen by the op's name, and broadcasts of each binary op in its first type and a third\n"
    "                         of the others\n"
    "  --few-types            none of these\n"
    "  --further-types        what a run without --few-types adds, and nothing else\n"
    "  --once                 run each case once instead of comparing the bits of two runs: when calls are made to fail,\n"
    "                         another kernel may run the second time\n"
    "  --no-float64           the device must lack float64; on such a device all its cases are run, elsewhere\n"
    "  --golden DIR           folder of golden files\n"
    "  --expectations FILE    kernels known to be missing: backend op dtype reason\n"
    "  --skip-file FILE       cases to leave out: op case-text reason (* is any case, /X one that begins with X)\n"
    "  --allow-missing        exit 77, not 1, when the device's backend is unavailable\n"
    "  --expect-warm          fail when a program had to be built\n"
    "  --list                 print the cases\n"
    "  --verbose              log of the library, every reason, table per op\n";

typedef struct text_option_t {
    const char *name;
    const char **value;
} text_option_t;

typedef struct flag_option_t {
    const char *name;
    bool *value;
} flag_option_t;

static int refuse(const char *what, const char *word) {
    fprintf(stderr, "gantry_conformance: %s %s\n%s", what, word, usage);
    return -1;
}

static int parse_every(const char *text, uint64_t *out) {
    char *end;
    *out = strtoull(text, &end, 10);
    if (*end || *out == 0 || *text == '-')
        return refuse("--every takes a number from 1 up, not", text);
    return 0;
}

/* 1 when word was a flag or took value, 0 when it is unknown, -1 when its value is missing. */
static int take_word(conformance_options_t *o, const char *word, const char *value,
                     bool *out_took_value) {
    const flag_option_t flags[] = {
        {"--opencl-cpu-as-gpu", &o->opencl_cpu_as_gpu},
        {"--adopted", &o->adopted},
        {"--gpu-forms", &o->gpu_forms},
        {"--allow-missing", &o->allow_missing},
        {"--expect-warm", &o->expect_warm},
        {"--all-types", &o->all_types},
        {"--few-types", &o->few_types},
        {"--further-types", &o->further_types},
        {"--no-float64", &o->no_float64},
        {"--once", &o->once},
        {"--list", &o->list},
        {"--verbose", &o->verbose},
    };
    const text_option_t texts[] = {
        {"--device", &o->device},
        {"--compare", &o->compare},
        {"--only", &o->only},
        {"--case", &o->case_part},
        {"--golden", &o->golden},
        {"--expectations", &o->expectations},
        {"--skip-file", &o->skip_file},
        {"--platform", &o->platform},
        {"--write-bits", &o->write_bits},
        {"--compare-bits", &o->compare_bits},
    };
    *out_took_value = false;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i) {
        if (strcmp(word, flags[i].name) == 0) return *flags[i].value = true;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        if (strcmp(word, texts[i].name) != 0) continue;
        if (!value) return refuse("no value after", word);
        *texts[i].value = value;
        *out_took_value = true;
        return 1;
    }
    return 0;
}

int conformance_options_parse(int argc, char **argv, conformance_options_t *out_options) {
    *out_options = (conformance_options_t){
        .golden = GANTRY_GOLDEN_DIR, .expectations = GANTRY_EXPECTATIONS, .every = 1};
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(word, "--every") == 0) {
            if (!value || parse_every(value, &out_options->every))
                return value ? -1 : refuse("no value after", word);
            i++;
            continue;
        }
        bool took_value;
        int result = take_word(out_options, word, value, &took_value);
        if (result < 0) return -1;
        if (result == 0) return refuse("unknown option", word);
        i += took_value;
    }
    if (!out_options->device && !out_options->list) return refuse("no", "--device");
    return 0;
}
