/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (fuzz_ops.cpu): Random calls of every op on the CPU backend return the right status and
 * never crash.
 * Promise (fuzz_ops.opencl0): Random calls of every op on PoCL return the status and the results of
 * the CPU backend.
 *
 * Random calls of every op by name: golden cases, changed at random. No call may crash, hang or
 * return an internal error, and two devices must agree on whether a call succeeds and on its
 * results.
 *
 *     fuzz_ops [--device cpu:0] [--reference cpu:0] [--seconds 60 | --calls N] [--seed N]
 *              [--first N] [--only Op,Op] [--golden FOLDER] [--verbose]
 *
 * A seed always gives the same calls, and each finding prints the --seed, --first and --calls 1
 * that repeat it. Build with -fsanitize=address,undefined (preset asan) to find errors that a plain
 * build survives by luck. Exit code 1: findings; 77: the device is missing. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <gantry/gantry.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_case.h"
#include "fuzz_run.h"

enum { MOST_FILES = 512, MOST_OUTPUTS = 64, HANG_SECONDS = 60, MOST_FINDINGS = 20 };

#define MEMORY_LIMIT (UINT64_C(256) << 20) /* so that an absurd size is refused instead of filled */
/* for floats on two devices; the conformance program compares exact bits */
#define NEAR 1e-3

typedef struct options_t {
    const char *device, *reference, *only, *golden;
    double seconds;
    uint64_t calls, seed, first;
    bool verbose;
} options_t;

typedef struct outcome_t {
    gantry_status_t status;
    char message[512];
    size_t count;
    golden_tensor_t outputs[MOST_OUTPUTS];
} outcome_t;

static golden_file_t files[MOST_FILES];
static size_t file_count;
/* ---- golden files ---- */

static bool is_wanted(const options_t *options, const char *op) {
    if (!options->only) return true;
    size_t length = strlen(op);
    for (const char *at = strstr(options->only, op); at; at = strstr(at + 1, op)) {
        if ((at == options->only || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The first name in --only without a golden file; NULL when each has one. */
static const char *unknown_name(const options_t *options) {
    for (const char *at = options->only; at && *at;) {
        size_t word = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < file_count; ++i) {
            const char *op = files[i].cases[0].op;
            known = known || (strlen(op) == word && strncmp(op, at, word) == 0);
        }
        if (!known) return at;
        at += word + (at[word] == ',');
    }
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool load_files(const options_t *options) {
    char *names[MOST_FILES], path[4096], error[512];
    size_t count = 0;
    DIR *folder = opendir(options->golden);
    if (!folder) return fprintf(stderr, "fuzz_ops: %s cannot be opened\n", options->golden), false;
    for (struct dirent *entry; (entry = readdir(folder)) && count < MOST_FILES;) {
        if (strstr(entry->d_name, ".json")) names[count++] = strdup(entry->d_name);
    }
    closedir(folder);
    qsort(names, count, sizeof *names, compare_names);
    bool good = true;
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", options->golden, names[i]);
        names[i][strlen(names[i]) - 5] = '\0';
        if (is_wanted(options, names[i])) {
            good = golden_load(path, &files[file_count], error, sizeof error) == 0 && good;
            if (good && files[file_count].case_count > 0) ++file_count;
        }
        free(names[i]);
    }
    if (!good) fprintf(stderr, "fuzz_ops: %s\n", error);
    if (file_count == 0) fprintf(stderr, "fuzz_ops: no golden files\n");
    const char *unknown = unknown_name(options);
    if (unknown)
        fprintf(stderr, "fuzz_ops: --only %.*s: no golden file of this name\n",
                (int)strcspn(unknown, ","), unknown);
    return good && file_count > 0 && !unknown;
}

static const golden_case_t *pick_case(fuzz_random_t *random) {
    const golden_file_t *file = &files[fuzz_below(random, file_count)];
    return &file->cases[fuzz_below(random, file->case_count)];
}

/* ---- one call ---- */

static void free_outcome(outcome_t *outcome) {
    for (size_t i = 0; i < outcome->count; ++i) free(outcome->outputs[i].data);
}

static gantry_status_t read_output(const gantry_tensor_t *tensor, golden_tensor_t *out) {
    *out = (golden_tensor_t){.dtype = gantry_tensor_dtype(tensor),
                             .shape = *gantry_tensor_shape(tensor)};
    out->bytes = gantry_tensor_bytes(tensor);
    out->data = calloc(1, out->bytes + 1);
    if (!out->data) abort();
    return gantry_tensor_read(tensor, out->data, out->bytes);
}

static void run_in(gantry_scope_t *scope, const fuzz_case_t *c, outcome_t *out) {
    const gantry_tensor_t *inputs[FUZZ_MOST_INPUTS], *outputs[MOST_OUTPUTS];
    size_t count = MOST_OUTPUTS;
    out->count = 0;
    for (size_t i = 0; i < c->input_count; ++i) {
        const fuzz_input_t *input = &c->inputs[i];
        inputs[i] = input->is_null ? NULL
                                   : gantry_constant(scope, input->dtype, input->shape, input->data,
                                                     input->bytes);
    }
    /* random ops with a state begin anew on each device */
    (void)gantry_set_seed(gantry_scope_runtime(scope), 0);
    out->status = gantry_op_call(scope, c->op, inputs, c->input_count, c->attrs, c->attr_count,
                                 outputs, &count);
    (void)snprintf(out->message, sizeof out->message, "%s", gantry_scope_message(scope));
    for (size_t i = 0; i < count && out->status == GANTRY_OK; ++i) {
        out->status = read_output(outputs[i], &out->outputs[i]);
        out->count = i + 1;
        if (out->status != GANTRY_OK)
            (void)snprintf(out->message, sizeof out->message, "%s", gantry_last_message());
    }
}

static void run_on(gantry_runtime_t *runtime, const char *device, const fuzz_case_t *c,
                   outcome_t *out) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    memset(out, 0, sizeof *out);
    if (!scope) {
        out->status = GANTRY_INTERNAL;
        (void)snprintf(out->message, sizeof out->message, "no scope: %s", gantry_last_message());
        return;
    }
    run_in(scope, c, out);
    (void)gantry_scope_end(scope);
}

/* ---- errors of an outcome ---- */

static const char *judge(const outcome_t *outcome) {
    switch (outcome->status) {
        case GANTRY_OK:
        case GANTRY_INVALID_ARGUMENT:
        case GANTRY_NOT_FOUND:
        case GANTRY_RESOURCE_EXHAUSTED:
        case GANTRY_OUT_OF_RANGE:
        case GANTRY_UNIMPLEMENTED: break;
        default: return "a status that bad input does not explain";
    }
    if (outcome->status != GANTRY_OK && outcome->message[0] == '\0')
        return "a failure without a message";
    return NULL;
}

static bool is_near(double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return true;
    double larger = fmax(fabs(a), fabs(b));
    return isfinite(a) && isfinite(b) && (fabs(a - b) <= NEAR * larger || larger < 1e-3);
}

static bool same_values(const golden_tensor_t *a, const golden_tensor_t *b) {
    if (!golden_is_float(a->dtype)) return memcmp(a->data, b->data, a->bytes) == 0;
    for (size_t i = 0; i < a->bytes / gantry_dtype_size(a->dtype); ++i) {
        if (!is_near(golden_number_at(a->dtype, a->data, i),
                     golden_number_at(b->dtype, b->data, i)))
            return false;
    }
    return true;
}

/* Draws without a fixed seed. */
static bool is_repeatable(const char *op) {
    static const char *const ops[] = {"Random", "TruncatedNormal", "Multinomial", "Dropout",
                                      "Stateful"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        if (strncmp(op, ops[i], strlen(ops[i])) == 0) return false;
    }
    return true;
}

static const char *compare(const fuzz_case_t *c, const outcome_t *a, const outcome_t *b) {
    if (a->status == GANTRY_RESOURCE_EXHAUSTED || b->status == GANTRY_RESOURCE_EXHAUSTED)
        return NULL;
    if (a->status != b->status) return "the devices do not agree on the status";
    if (a->status != GANTRY_OK) return NULL;
    if (a->count != b->count) return "the devices do not agree on the number of outputs";
    for (size_t i = 0; i < a->count; ++i) {
        const golden_tensor_t *x = &a->outputs[i], *y = &b->outputs[i];
        if (x->dtype != y->dtype || !gantry_shape_equal(&x->shape, &y->shape))
            return "types or shapes differ";
        if (is_repeatable(c->op) && !same_values(x, y)) return "values differ";
    }
    return NULL;
}

/* ---- all calls ---- */

static void make_case(fuzz_case_t *c, const options_t *options, uint64_t number) {
    fuzz_random_t random = fuzz_random_of(options->seed, number);
    while (!fuzz_case_load(c, pick_case(&random))) {
    }
    for (uint64_t changes = fuzz_below(&random, 5); changes > 0; --changes)
        fuzz_case_change(c, pick_case(&random), &random);
    fuzz_case_print(c, fuzz_current, sizeof fuzz_current);
}

static int try_case(gantry_runtime_t *runtime, const options_t *options, const fuzz_case_t *c,
                    uint64_t number, uint64_t *good) {
    static outcome_t own, other;
    const char *finding;
    (void)alarm(HANG_SECONDS);
    if (options->verbose) printf("%" PRIu64 " %s\n", number, fuzz_current);
    run_on(runtime, options->device, c, &own);
    *good += own.status == GANTRY_OK;
    finding = judge(&own);
    if (!finding && options->reference) {
        run_on(runtime, options->reference, c, &other);
        finding = judge(&other);
        if (!finding) finding = compare(c, &own, &other);
    }
    if (options->verbose) printf("    %s %s\n", gantry_status_name(own.status), own.message);
    if (finding) {
        printf("FINDING %s\n    %s\n    %s: %s %s\n", finding, fuzz_current, options->device,
               gantry_status_name(own.status), own.message);
        if (options->reference)
            printf("    %s: %s %s\n", options->reference, gantry_status_name(other.status),
                   other.message);
        printf("    again: --seed %" PRIu64 " --first %" PRIu64 " --calls 1\n", options->seed,
               number);
    }
    free_outcome(&own);
    free_outcome(&other);
    memset(&own, 0, sizeof own);
    memset(&other, 0, sizeof other);
    return finding != NULL;
}

static int fuzz(gantry_runtime_t *runtime, const options_t *options) {
    static fuzz_case_t c;
    uint64_t number = options->first, good = 0;
    int findings = 0;
    double end = fuzz_now() + options->seconds;
    if (!fuzz_case_init(&c)) return 2;
    while ((options->calls ? number < options->first + options->calls : fuzz_now() < end) &&
           findings < MOST_FINDINGS) {
        make_case(&c, options, number);
        findings += try_case(runtime, options, &c, number, &good);
        ++number;
    }
    (void)alarm(0);
    fuzz_case_deinit(&c);
    printf("%s%s%s: seed %" PRIu64 ", %" PRIu64 " calls of %zu ops, %" PRIu64
           " succeeded, %d findings\n",
           options->device, options->reference ? " against " : "",
           options->reference ? options->reference : "", options->seed, number - options->first,
           file_count, good, findings);
    if (good == 0) printf("nothing was tried: no call succeeded\n");
    return findings > 0 || good == 0;
}

int main(int argc, char **argv) {
    options_t options = {.device = "cpu:0", .golden = GANTRY_GOLDEN_DIR, .seconds = 60, .seed = 1};
    const fuzz_word_t words[] = {
        {"--device", "NAME", FUZZ_WORD_TEXT, &options.device},
        {"--reference", "NAME", FUZZ_WORD_TEXT, &options.reference},
        {"--seconds", "N", FUZZ_WORD_SECONDS, &options.seconds},
        {"--calls", "N", FUZZ_WORD_NUMBER, &options.calls},
        {"--seed", "N", FUZZ_WORD_NUMBER, &options.seed},
        {"--first", "N", FUZZ_WORD_NUMBER, &options.first},
        {"--only", "Op,Op", FUZZ_WORD_TEXT, &options.only},
        {"--golden", "FOLDER", FUZZ_WORD_TEXT, &options.golden},
        {"--verbose", NULL, FUZZ_WORD_FLAG, &options.verbose},
    };
    if (!fuzz_parse("fuzz_ops", argc, argv, words, sizeof words / sizeof words[0]) ||
        !load_files(&options))
        return 2;
    const gantry_runtime_options_t runtime_options = {.struct_size = sizeof runtime_options,
                                                      .memory_limit_bytes = MEMORY_LIMIT};
    gantry_runtime_t *runtime = NULL;
    if (gantry_runtime_create(&runtime_options, &runtime) != GANTRY_OK) {
        fprintf(stderr, "fuzz_ops: %s\n", gantry_last_message());
        return 2;
    }
    const char *devices[] = {options.device, options.reference};
    int code = 0;
    for (size_t i = 0; i < 2 && devices[i]; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, devices[i]);
        const gantry_tensor_t *one = scope ? gantry_scalar_f32(scope, 1.0f) : NULL;
        if (!one) printf("SKIP %s: %s\n", devices[i], gantry_last_message()), code = 77;
        (void)gantry_scope_end(scope);
    }
    fuzz_watch("fuzz_ops");
    if (code == 0) code = fuzz(runtime, &options);
    gantry_runtime_release(runtime);
    for (size_t i = 0; i < file_count; ++i) golden_free(&files[i]);
    return code;
}
