/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of branches, loops, functions and gradients, for a differential test.
 *
 * A program is a tree of blocks. A step of a block adds values of type float64 to those of the
 * block; it takes values of the block and of the blocks around it, any of them several times.
 * Values stay near 1, so that differences show their slope.
 *
 *     main        two inputs; one or two outputs
 *     functions   blocks of their own, which use their inputs, variables and captured tensors
 *
 * Ownership: a fuzz_program_t holds its blocks; a fuzz_run_t holds what bodies use, until the
 * gradients of the run are computed. Threads: one. */
#ifndef GANTRY_TESTS_FUZZ_PROGRAM_H
#define GANTRY_TESTS_FUZZ_PROGRAM_H

#include <gantry_train/train.h>

#include "fuzz_random.h"

enum {
    FUZZ_MOST_VALUES = 48, /* of a block */
    FUZZ_MOST_STEPS = 24,
    FUZZ_MOST_BLOCKS = 160, /* of a program */
    FUZZ_MOST_LIST = 4,     /* inputs or outputs of a step or a block */
    FUZZ_MOST_BODIES = 3,
    FUZZ_TYPES = 3, /* [], [2] and [3, 2] */
    FUZZ_FUNCTIONS = 3,
    FUZZ_VARIABLES = 2,
    FUZZ_INPUTS = 2
};

typedef enum fuzz_kind_t {
    FUZZ_UNARY,
    FUZZ_BINARY,
    FUZZ_CONVERT,  /* to a type: a sum or a broadcast */
    FUZZ_VARIABLE, /* a read */
    FUZZ_CAPTURED, /* the tensor that was there before the program */
    FUZZ_CUSTOM,   /* a gradient of the program's own */
    FUZZ_STOP,     /* no gradient */
    FUZZ_COND,
    FUZZ_CASE,
    FUZZ_WHILE,
    FUZZ_CALL,
    FUZZ_GRADIENT, /* of a block, by a tape inside */
    FUZZ_KINDS
} fuzz_kind_t;

/* Value `at` of the block `up` blocks outwards. */
typedef struct fuzz_ref_t {
    int up, at;
} fuzz_ref_t;

typedef struct fuzz_block_t fuzz_block_t;

typedef struct fuzz_step_t {
    fuzz_kind_t kind;
    int op;        /* which unary, binary, variable, function, or way of a loop */
    int type;      /* of a conversion; the number of steps of a loop */
    double number; /* a threshold */
    fuzz_ref_t selector, inputs[FUZZ_MOST_LIST];
    int input_count, output_count;
    fuzz_block_t *bodies[FUZZ_MOST_BODIES];
    int body_count;
} fuzz_step_t;

struct fuzz_block_t {
    fuzz_block_t *parent; /* NULL: of a function or of the program */
    int number, input_count, value_count, step_count, output_count;
    int types[FUZZ_MOST_VALUES];
    fuzz_step_t steps[FUZZ_MOST_STEPS];
    fuzz_ref_t outputs[FUZZ_MOST_LIST];
};

typedef struct fuzz_program_t {
    fuzz_block_t *blocks; /* FUZZ_MOST_BLOCKS */
    int block_count, step_count;
    fuzz_block_t *main, *functions[FUZZ_FUNCTIONS];
    bool runs_eagerly[FUZZ_FUNCTIONS];
    bool is_stopped; /* a gradient is held back: differences show another slope */
} fuzz_program_t;

/* Makes the program of a random state with about `size` steps; false when memory is out. */
bool fuzz_program_make(fuzz_program_t *program, fuzz_random_t *random, int size);
void fuzz_program_free(fuzz_program_t *program);
void fuzz_program_print(const fuzz_program_t *program);
gantry_shape_t fuzz_shape(int type);

/* ---- running ---- */

typedef struct fuzz_run_t {
    const fuzz_program_t *program;
    gantry_runtime_t *runtime;
    gantry_function_t *functions[FUZZ_FUNCTIONS];
    gantry_variable_t *variables[FUZZ_VARIABLES];
    const gantry_tensor_t *captured;
    struct fuzz_frame_t *frames; /* of all blocks that ran */
    uint64_t path;               /* of the bodies that ran */
} fuzz_run_t;

/* Traces the functions. variables and captured are set. Returns the first failure. */
gantry_status_t fuzz_run_begin(fuzz_run_t *run, const fuzz_program_t *program,
                               gantry_runtime_t *runtime);
/* Releases the functions. */
void fuzz_run_end(fuzz_run_t *run);
/* Runs the program in a scope: a scalar made of its outputs; NULL: the scope failed. */
const gantry_tensor_t *fuzz_run_main(fuzz_run_t *run, gantry_scope_t *scope,
                                     const gantry_tensor_t *const *inputs);

#endif
