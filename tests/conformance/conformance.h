/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance program: checks the required behaviour of every op, scope, variable and allocator
 * on one device of any kind.
 *
 * The program uses the public API only. One process checks one device (or compares two). The list
 * of ops comes from the golden files; all other checks are tables of functions, one table (group)
 * per subject.
 * Ownership: main owns the conformance_t and all it points to; a check releases what it makes.
 * Threads: externally synchronised; checks run one after the other on the main thread. */
#ifndef GANTRY_TESTS_CONFORMANCE_H
#define GANTRY_TESTS_CONFORMANCE_H

#include <gantry/gantry.h>
#include <stdatomic.h>

#include "golden.h"

#define CONFORMANCE_SKIPPED 77 /* exit code that ctest takes as "skipped" */
#define CONFORMANCE_MAX_OUTPUTS 64
#define CONFORMANCE_MAX_INPUTS 64
#define CONFORMANCE_MAX_ATTRS 16
#define CONFORMANCE_MAX_GROUPS 400

/* How often a case repeats one call, and how large its tensors are. The fault tool (tests/faults)
 * runs a case again for each fault in it; a few small calls reach the same call sites. */
#ifdef CONFORMANCE_FOR_FAULTS
#define CONFORMANCE_TIMES(usually, for_faults) for_faults
#else
#define CONFORMANCE_TIMES(usually, for_faults) usually
#endif

/* Of calls that differ in their numbers, for a sanitizer that looks at their accesses. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FEWER_FOR_SANITIZERS(all, some) some
#else
#define FEWER_FOR_SANITIZERS(all, some) all
#endif

/* ---- options ---- */

typedef struct conformance_options_t {
    const char *device;  /* as the user wrote it */
    const char *compare; /* a second device whose bits must equal the first's; NULL: none */
    /* files of the bits of all cases: the one to write, and the one to compare with; NULL: none */
    const char *write_bits, *compare_bits;
    const char *only;      /* comma list of ops and groups; NULL: all */
    const char *case_part; /* text that a case's name must contain; NULL: any */
    const char *golden;    /* folder of *.json */
    const char *skip_file; /* NULL: none */
    /* the platform's name must contain this, else nothing runs; NULL: any */
    const char *platform;
    const char *expectations; /* file of kernels known to be missing */
    /* run only each n-th case of golden files, sweep and matrix products */
    uint64_t every;
    bool opencl_cpu_as_gpu;
    bool adopted; /* the device is opened over a context and queue of the program */
    /* the first GPU is one part that imitates small work-groups, so kernels use their forms for
     * GPUs */
    bool gpu_forms;
    bool all_types; /* see conformance_spares_type */
    bool few_types;
    bool further_types;
    bool once;
    bool no_float64;    /* the device must lack float64 */
    bool list;          /* print the cases, run nothing */
    bool verbose;       /* log of the library, all reasons of a failure, table per op */
    bool allow_missing; /* exit 77 when the device's backend is unavailable */
    bool expect_warm;   /* fail when a program had to be built */
} conformance_options_t;

/* 0: continue; -1: a usage error was printed; 1: help was printed. */
int conformance_options_parse(int argc, char **argv, conformance_options_t *out_options);

/* ---- files of rules: some words, then a reason, one a line; # begins a comment ---- */

#define CONFORMANCE_RULE_WORDS 3

typedef struct conformance_rule_t {
    char words[CONFORMANCE_RULE_WORDS][64];
    char reason[200];
    bool used;
} conformance_rule_t;

typedef struct conformance_rules_t {
    conformance_rule_t *items;
    size_t count;
} conformance_rules_t;

/* Reads lines of word_count words and a required reason. 0, or -1 with a text in error. */
int conformance_rules_load(const char *path, size_t word_count, conformance_rules_t *out_rules,
                           char *error, size_t error_bytes);
void conformance_rules_free(conformance_rules_t *rules);

/* ---- the run ---- */

typedef struct conformance_row_t {
    char group[40]; /* an op, or a subject such as "scope" */
    size_t passed, failed, skipped;
    int64_t largest_ulp; /* over golden cases that allow a distance; INT64_MAX: not comparable */
} conformance_row_t;

typedef struct conformance_bits_t conformance_bits_t;

typedef struct conformance_t {
    conformance_options_t options;
    conformance_bits_t *bits; /* of options.write_bits and options.compare_bits; NULL */
    gantry_runtime_t *runtime;
    const gantry_logical_device_t *device;
    const gantry_logical_device_t *other; /* of options.compare; NULL */
    /* a device other than `device`; NULL: none */
    const gantry_logical_device_t *elsewhere;
    gantry_adopted_context_t adopted; /* of options.adopted */
    const gantry_adopted_context_t *adopted_list[1];
    const char *backend; /* of device: "cpu", "opencl" */
    bool lacks_float64;  /* the device does not compute with float64 */
    conformance_rules_t expectations, skips;
    conformance_row_t rows[CONFORMANCE_MAX_GROUPS];
    size_t row_count;
    /* per name in options.only: a group with this name exists */
    bool is_met[CONFORMANCE_MAX_GROUPS];
    /* the running case */
    conformance_row_t *row;
    char case_name[160];
    size_t reasons;
    char skip_reason[256];
    /* the newest placement record; op is "" when no record came since it was emptied */
    bool prepares; /* calls go by prepared ops */
    gantry_placement_record_t record;
    size_t record_count;
    atomic_uint warnings; /* of the library's log */
} conformance_t;

typedef void (*conformance_check_fn)(conformance_t *c);

typedef struct conformance_check_t {
    const char *name;
    conformance_check_fn run;
} conformance_check_t;

/* Fills runtime options from the command line; the caller may set more before create. The log goes
 * to c. */
gantry_runtime_options_t conformance_runtime_options(conformance_t *c);
/* Makes the runtime and finds the devices. 0, else the exit code after printing the reason. */
int conformance_open(conformance_t *c);
/* Makes the context and queue of options.adopted. 0, else the exit code after printing why. */
int conformance_adopt(conformance_t *c);
/* Whether the device is over them, in the same way. */
int conformance_check_adopted(conformance_t *c);
/* Releases them, after all runtimes. */
void conformance_give_back(conformance_t *c);
/* Directs placement records to c->record (conformance_open calls this). */
void conformance_watch_placements(conformance_t *c);
void conformance_close(conformance_t *c);

/* ---- report ---- */

/* Starts a case. False when filters, the skip file or --list leave the case out: then the caller
 * makes no further call for the case. No case filter hides a name in brackets, such as one for a
 * damaged file. */
bool conformance_begin(conformance_t *c, const char *group, const char *name);
/* Fails the case. The first reason is printed, the others only when verbose. */
void conformance_fail(conformance_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Skips the case with a reason. */
void conformance_skip(conformance_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void conformance_end(conformance_t *c);
/* True when --only names the group, or names nothing. */
bool conformance_wants(conformance_t *c, const char *group);
conformance_row_t *conformance_row(conformance_t *c, const char *group); /* created when missing */
void conformance_run_checks(conformance_t *c, const char *group, const conformance_check_t *checks,
                            size_t count);
/* Prints the table, totals, and built programs. Returns the exit code. */
int conformance_summary(conformance_t *c);

/* For checks: fails the case and continues. */
#define CHECK(c, condition, ...)                              \
    do {                                                      \
        if (!(condition)) conformance_fail((c), __VA_ARGS__); \
    } while (0)

/* "Status: text of the last failure on this thread". Valid until the next call. */
const char *conformance_last_error(gantry_status_t status);
/* Fails unless status is the wanted one and the text contains part ("" accepts any text). */
void conformance_check_status(conformance_t *c, const char *what, gantry_status_t status,
                              gantry_status_t wanted, const char *text, const char *part);
/* Ends the scope, fails unless its status is wanted. */
void conformance_end_scope(conformance_t *c, gantry_scope_t *scope, gantry_status_t wanted);

/* ---- calls ---- */

/* Opens a scope on the device under test; never NULL (out of memory ends the program). */
gantry_scope_t *conformance_scope(conformance_t *c);
gantry_scope_t *conformance_scope_on(conformance_t *c, const char *device);

/* n float32 values 0, 1, 2, ... in a vector. */
const gantry_tensor_t *conformance_iota(gantry_scope_t *scope, int64_t n);
/* Fails unless the tensor is a float32 one with these values. */
void conformance_check_floats(conformance_t *c, const char *what, const gantry_tensor_t *tensor,
                              const float *values, size_t count);

/* True when the run leaves out cases that other types of an op repeat, since the device builds a
 * program for each. */
bool conformance_spares_some(const conformance_t *c);
/* True when the run leaves out cases of this type for this op: see --all-types and --few-types. */
bool conformance_spares_type(const conformance_t *c, const char *op, gantry_dtype_t dtype);
/* True when a run with --few-types leaves out cases of this type for this op, and one without runs
 * them. */
bool conformance_is_further_type(const conformance_t *c, const char *op, gantry_dtype_t dtype);
/* Makes constants of the case's inputs in the scope. False after failing the case. */
bool conformance_make_inputs(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                             const gantry_tensor_t **inputs);
/* The same, with each constant in the middle of a larger tensor. */
bool conformance_make_pieces(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                             const gantry_tensor_t **inputs);
/* The same, with each constant as a view of a larger tensor, aligned for its elements alone. */
bool conformance_make_views(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                            const gantry_tensor_t **inputs);
/* The case's attributes; returns how many. They point to the case. */
size_t conformance_make_attrs(const golden_case_t *item,
                              gantry_attr_value_t attrs[CONFORMANCE_MAX_ATTRS]);
/* Calls the case's op; empties and fills c->record. */
gantry_status_t conformance_call(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                                 const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, size_t *output_count);
/* Copies a tensor to the host; data is malloced, also on an empty tensor. */
gantry_status_t conformance_read(const gantry_tensor_t *tensor, golden_tensor_t *out);
/* The same by an asynchronous read. */
gantry_status_t conformance_read_later(const gantry_tensor_t *tensor, golden_tensor_t *out);
/* Opens a scope, makes the inputs, calls the op and reads the results. *out_count is 0 after
 * failing the case. */
void conformance_evaluate(conformance_t *c, const char *device, const golden_case_t *item,
                          golden_tensor_t *outputs, size_t *out_count);
void conformance_free_outputs(golden_tensor_t *outputs, size_t count);
/* Fails unless type, shape and bits are the same; NaN equals NaN. */
void conformance_check_same(conformance_t *c, const char *what, const golden_tensor_t *expected,
                            const golden_tensor_t *actual);
/* Opens the file of options.write_bits or options.compare_bits. 0, or 1 after printing why not. */
int conformance_bits_open(conformance_t *c);
void conformance_bits_close(conformance_t *c);
/* Writes a case's results to this file, or fails unless it has the same; NaN equals NaN. */
void conformance_check_bits(conformance_t *c, const golden_tensor_t *outputs, size_t count);
/* True when the run only compares or writes bits. */
bool conformance_only_bits(const conformance_t *c);
/* False when there is no op of that name. */
bool conformance_find_op(const char *name, gantry_op_info_t *out_info);
/* Checks the placement of the newest call of op on the device under test: the right device, a
 * listed expectation, or another device because this one lacks float64. For a composed op, checks
 * its parts. */
void conformance_check_placement(conformance_t *c, const char *op, const gantry_tensor_t *output);

/* If the op updates variables: makes them of the case's first inputs, updates them at once and in a
 * function, and compares their values with the op's results. */
void conformance_check_update(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                              const gantry_tensor_t *const *inputs, const golden_tensor_t *results);

/* ---- sentinels: tensors on both sides of the expected place of a result ---- */

typedef struct conformance_sentinels_t {
    const gantry_tensor_t *sides[2];
} conformance_sentinels_t;

/* Leaves a hole of `bytes` between two constants, so that a best-fit allocator puts the next
 * result there. */
void conformance_sentinels_place(conformance_t *c, gantry_scope_t *scope, size_t bytes,
                                 conformance_sentinels_t *out);
void conformance_sentinels_check(conformance_t *c, gantry_scope_t *scope,
                                 conformance_sentinels_t *sentinels);

/* ---- groups ---- */

/* golden files; with --compare: the bits of both devices; with --write-bits: bits only */
void conformance_run_golden(conformance_t *c);
/* random inputs of many sizes; with --compare likewise */
void conformance_run_sweep(conformance_t *c);
void conformance_run_sweep_shape(conformance_t *c);
void conformance_run_sweep_index(conformance_t *c);
/* Runs the case. Each element of its one result is a sum of k products of numbers up to 1; float
 * types may differ by k eps. */
void conformance_check_sums(conformance_t *c, const golden_case_t *item, int64_t k,
                            const golden_tensor_t *expected);
void conformance_run_conv(conformance_t *c);   /* larger convolutions against a plain loop */
void conformance_run_matmul(conformance_t *c); /* larger products against a plain loop */
/* More products at once than a grid of CUDA has in its third dimension, by a library and by a
 * kernel. */
void conformance_run_matmul_grid(conformance_t *c);
void conformance_run_coverage(conformance_t *c);
void conformance_run_tensors(conformance_t *c);
void conformance_run_transfers(conformance_t *c);
void conformance_run_large(conformance_t *c); /* outputs beyond the caches */
void conformance_run_faults(conformance_t *c);
void conformance_run_fault_words(conformance_t *c);
void conformance_run_variables(conformance_t *c);
void conformance_run_draws(conformance_t *c); /* random ops with a state, generators */
void conformance_run_scopes(conformance_t *c);
void conformance_run_calls(conformance_t *c);
void conformance_run_calls_shape(conformance_t *c);
/* for a device without float64; does nothing on others */
void conformance_run_lacking(conformance_t *c);
void conformance_run_views(conformance_t *c); /* parts and other shapes of tensors as operands */
void conformance_run_memory(conformance_t *c);
void conformance_run_memory_control(conformance_t *c);
void conformance_run_threads(conformance_t *c);

#endif
