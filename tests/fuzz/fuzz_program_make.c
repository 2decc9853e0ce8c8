/* SPDX-License-Identifier: Apache-2.0 */
/* Makes random programs. A block is complete before the next step of the block around it, so that
 * each value that it may use is one that was made before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_program.h"

typedef struct maker_t {
    fuzz_program_t *program;
    fuzz_random_t *random;
    int left;      /* steps that may still be made */
    int functions; /* that are complete */
} maker_t;

static int below(maker_t *m, int bound) { return (int)fuzz_below(m->random, (uint64_t)bound); }

static bool one_in(maker_t *m, int count) { return below(m, count) == 0; }

/* ---- values ---- */

static int type_of(const fuzz_block_t *block, fuzz_ref_t ref) {
    for (int i = 0; i < ref.up; ++i) block = block->parent;
    return block->types[ref.at];
}

static bool has_room(const fuzz_block_t *block) {
    return block->value_count + 12 < FUZZ_MOST_VALUES && block->step_count + 8 < FUZZ_MOST_STEPS;
}

static fuzz_ref_t add_value(fuzz_block_t *block, int type) {
    block->types[block->value_count] = type;
    return (fuzz_ref_t){0, block->value_count++};
}

static fuzz_step_t *add_step(maker_t *m, fuzz_block_t *block, fuzz_kind_t kind) {
    fuzz_step_t *step = &block->steps[block->step_count++];
    *step = (fuzz_step_t){.kind = kind, .output_count = 1};
    ++m->program->step_count;
    --m->left;
    return step;
}

/* Any value that the block sees: of its own or of one around it. */
static fuzz_ref_t pick_any(maker_t *m, const fuzz_block_t *block) {
    fuzz_ref_t ref = {0, 0};
    const fuzz_block_t *at = block;
    while (at->parent && (at->value_count == 0 || one_in(m, 3))) {
        at = at->parent;
        ++ref.up;
    }
    ref.at = below(m, at->value_count);
    return ref;
}

/* A value of a type; makes one where chance finds none. */
static fuzz_ref_t pick(maker_t *m, fuzz_block_t *block, int type) {
    fuzz_ref_t ref = pick_any(m, block);
    for (int tries = 0; tries < 6 && type_of(block, ref) != type; ++tries) ref = pick_any(m, block);
    if (type_of(block, ref) == type) return ref;
    fuzz_step_t *step = add_step(m, block, FUZZ_CONVERT);
    step->type = type;
    step->inputs[step->input_count++] = ref;
    return add_value(block, type);
}

/* ---- blocks ---- */

static void make_steps(maker_t *m, fuzz_block_t *block, int count, int depth);

static fuzz_block_t *begin_block(maker_t *m, fuzz_block_t *parent, const int *types, int count) {
    fuzz_program_t *program = m->program;
    fuzz_block_t *block = &program->blocks[program->block_count];
    *block = (fuzz_block_t){.parent = parent, .number = program->block_count++};
    for (int i = 0; i < count; ++i) (void)add_value(block, types[i]);
    block->input_count = count;
    return block;
}

static void end_block(maker_t *m, fuzz_block_t *block, const int *types, int count) {
    for (int i = 0; i < count; ++i) block->outputs[i] = pick(m, block, types[i]);
    block->output_count = count;
}

/* A body of a step: its inputs have the types of the step's inputs, its outputs these. */
static void add_body(maker_t *m, fuzz_block_t *block, fuzz_step_t *step, const int *types,
                     int count, int more, int depth) {
    int inputs[FUZZ_MOST_LIST + 1];
    for (int i = 0; i < step->input_count; ++i) inputs[i] = type_of(block, step->inputs[i]);
    for (int i = 0; i < more; ++i) inputs[step->input_count + i] = 0;
    fuzz_block_t *body = begin_block(m, block, inputs, step->input_count + more);
    make_steps(m, body, 1 + below(m, 4), depth + 1);
    end_block(m, body, types, count);
    step->bodies[step->body_count++] = body;
}

/* ---- steps; a step is filled in before it is added, since it may need others first ---- */

static void commit(maker_t *m, fuzz_block_t *block, const fuzz_step_t *step, const int *types) {
    fuzz_step_t *added = add_step(m, block, step->kind);
    *added = *step;
    for (int i = 0; i < step->output_count; ++i) (void)add_value(block, types[i]);
}

static void add_inputs(maker_t *m, fuzz_block_t *block, fuzz_step_t *step, int count) {
    for (int i = 0; i < count; ++i) step->inputs[i] = pick_any(m, block);
    step->input_count = count;
}

/* Often one value several times. */
static void repeat_input(maker_t *m, fuzz_step_t *step) {
    if (step->input_count > 1 && one_in(m, 3))
        step->inputs[below(m, step->input_count)] = step->inputs[below(m, step->input_count)];
}

static void make_plain(maker_t *m, fuzz_block_t *block) {
    static const fuzz_kind_t kinds[] = {FUZZ_UNARY,    FUZZ_UNARY,    FUZZ_BINARY, FUZZ_BINARY,
                                        FUZZ_BINARY,   FUZZ_BINARY,   FUZZ_BINARY, FUZZ_VARIABLE,
                                        FUZZ_CAPTURED, FUZZ_VARIABLE, FUZZ_CUSTOM, FUZZ_CUSTOM};
    fuzz_step_t step = {.kind = one_in(m, 60) ? FUZZ_STOP : kinds[below(m, 12)], .output_count = 1};
    int type = 0;
    step.op = below(m, 64);
    if (step.kind == FUZZ_VARIABLE || step.kind == FUZZ_CAPTURED) {
        type = step.kind == FUZZ_CAPTURED ? 1 : step.op % FUZZ_VARIABLES;
    } else {
        add_inputs(m, block, &step, step.kind == FUZZ_BINARY || step.kind == FUZZ_CUSTOM ? 2 : 1);
        type = type_of(block, step.inputs[0]);
        if (step.kind == FUZZ_CUSTOM)
            step.inputs[1] = pick(m, block, type);
        else if (step.input_count > 1 && type_of(block, step.inputs[1]) > type)
            type = type_of(block, step.inputs[1]);
    }
    m->program->is_stopped |= step.kind == FUZZ_STOP;
    commit(m, block, &step, &type);
}

static void make_branch(maker_t *m, fuzz_block_t *block, int depth) {
    fuzz_step_t step = {.kind = one_in(m, 2) ? FUZZ_CASE : FUZZ_COND};
    int types[FUZZ_MOST_LIST];
    step.selector = pick_any(m, block);
    step.number = below(m, 9) * 0.3 - 1.2;
    step.output_count = 1 + below(m, 2);
    for (int i = 0; i < step.output_count; ++i) types[i] = below(m, FUZZ_TYPES);
    add_inputs(m, block, &step, below(m, 4));
    repeat_input(m, &step);
    const int bodies = step.kind == FUZZ_COND ? 2 : 1 + below(m, FUZZ_MOST_BODIES);
    for (int i = 0; i < bodies; ++i) add_body(m, block, &step, types, step.output_count, 0, depth);
    commit(m, block, &step, types);
}

/* The variables of a loop, and in the body the number of the step as a scalar. */
static void make_loop(maker_t *m, fuzz_block_t *block, int depth) {
    fuzz_step_t step = {.kind = FUZZ_WHILE, .op = below(m, 3), .type = below(m, 5)};
    int types[FUZZ_MOST_LIST];
    step.selector = pick_any(m, block);
    step.number = below(m, 9) * 0.5;
    add_inputs(m, block, &step, 1 + below(m, 3));
    repeat_input(m, &step);
    for (int i = 0; i < step.input_count; ++i) types[i] = type_of(block, step.inputs[i]);
    step.output_count = step.input_count;
    add_body(m, block, &step, types, step.output_count, 1, depth);
    fuzz_block_t *body = step.bodies[0];
    for (int i = 0; i < step.output_count; ++i) { /* often one that does not change */
        if (one_in(m, 3)) body->outputs[i] = (fuzz_ref_t){0, i};
    }
    commit(m, block, &step, types);
}

static void make_call(maker_t *m, fuzz_block_t *block) {
    fuzz_step_t step = {.kind = FUZZ_CALL, .op = below(m, m->functions)};
    const fuzz_block_t *function = m->program->functions[step.op];
    int types[FUZZ_MOST_LIST];
    for (int i = 0; i < function->input_count; ++i)
        step.inputs[i] = pick(m, block, function->types[i]);
    step.input_count = function->input_count;
    step.output_count = function->output_count;
    for (int i = 0; i < function->output_count; ++i)
        types[i] = type_of(function, function->outputs[i]);
    commit(m, block, &step, types);
}

static void make_gradient(maker_t *m, fuzz_block_t *block, int depth) {
    fuzz_step_t step = {.kind = FUZZ_GRADIENT};
    int types[FUZZ_MOST_LIST];
    add_inputs(m, block, &step, 1 + below(m, 2));
    repeat_input(m, &step);
    for (int i = 0; i < step.input_count; ++i) types[i] = type_of(block, step.inputs[i]);
    step.output_count = step.input_count;
    const int type = below(m, FUZZ_TYPES);
    add_body(m, block, &step, &type, 1, 0, depth + 1);
    commit(m, block, &step, types);
}

/* Blocks in blocks cost their product: at most three deep. */
static void make_step(maker_t *m, fuzz_block_t *block, int depth) {
    const bool may_nest =
        depth < 3 && m->left > 0 && m->program->block_count + FUZZ_MOST_BODIES < FUZZ_MOST_BLOCKS;
    const int way = may_nest ? below(m, 10) : 9;
    if (way < 2)
        make_branch(m, block, depth);
    else if (way < 5)
        make_loop(m, block, depth);
    else if (way < 6 && depth < 2)
        make_gradient(m, block, depth);
    else if (way < 7 && m->functions > 0)
        make_call(m, block);
    else
        make_plain(m, block);
}

static void make_steps(maker_t *m, fuzz_block_t *block, int count, int depth) {
    for (int i = 0; i < count && has_room(block); ++i) make_step(m, block, depth);
}

/* ---- the program ---- */

static void make_function(maker_t *m, int number) {
    int types[FUZZ_MOST_LIST];
    const int inputs = 1 + below(m, 2), outputs = 1 + below(m, 2);
    for (int i = 0; i < inputs; ++i) types[i] = below(m, FUZZ_TYPES);
    fuzz_block_t *block = begin_block(m, NULL, types, inputs);
    make_steps(m, block, 1 + below(m, 3), 1);
    for (int i = 0; i < outputs; ++i) types[i] = below(m, FUZZ_TYPES);
    end_block(m, block, types, outputs);
    m->program->functions[number] = block;
    m->program->runs_eagerly[number] = one_in(m, 4);
    m->functions = number + 1;
}

static void make_main(maker_t *m) {
    static const int inputs[FUZZ_INPUTS] = {1, 2};
    int outputs[2];
    fuzz_block_t *block = begin_block(m, NULL, inputs, FUZZ_INPUTS);
    m->program->main = block;
    while (m->left > 0 && has_room(block)) make_step(m, block, 0);
    for (int i = 0; i < 2; ++i) outputs[i] = below(m, FUZZ_TYPES);
    end_block(m, block, outputs, 1 + below(m, 2));
    /* what was made last is used */
    block->outputs[0] = (fuzz_ref_t){0, block->value_count - 1};
}

bool fuzz_program_make(fuzz_program_t *program, fuzz_random_t *random, int size) {
    maker_t m = {.program = program, .random = random};
    *program = (fuzz_program_t){.blocks = calloc(FUZZ_MOST_BLOCKS, sizeof *program->blocks)};
    if (!program->blocks) return false;
    for (int i = 0; i < FUZZ_FUNCTIONS; ++i) {
        m.left = 4;
        make_function(&m, i);
    }
    m.left = 2 + below(&m, size);
    make_main(&m);
    return true;
}

void fuzz_program_free(fuzz_program_t *program) { free(program->blocks); }

gantry_shape_t fuzz_shape(int type) {
    return type == 0 ? GANTRY_SCALAR : type == 1 ? GANTRY_SHAPE(2) : GANTRY_SHAPE(3, 2);
}

/* ---- the text ---- */

static void print_refs(const fuzz_ref_t *refs, int count) {
    for (int i = 0; i < count; ++i) {
        printf("%s", i > 0 ? ", " : "");
        for (int up = 0; up < refs[i].up; ++up) printf("^");
        printf("v%d", refs[i].at);
    }
}

static void print_block(const fuzz_block_t *block, int indent) {
    static const char *const names[FUZZ_KINDS] = {"unary",    "binary", "convert", "variable",
                                                  "captured", "custom", "stop",    "cond",
                                                  "case",     "while",  "call",    "gradient"};
    int value = block->input_count;
    for (int i = 0; i < block->step_count; ++i) {
        const fuzz_step_t *step = &block->steps[i];
        printf("%*sv%d = %s op %d type %d number %g (", indent, "", value, names[step->kind],
               step->op, step->type, step->number);
        print_refs(step->inputs, step->input_count);
        printf(") selector ");
        print_refs(&step->selector, 1);
        printf("\n");
        for (int k = 0; k < step->body_count; ++k) {
            printf("%*sbody %d of %d inputs:\n", indent + 4, "", step->bodies[k]->number,
                   step->bodies[k]->input_count);
            print_block(step->bodies[k], indent + 8);
        }
        value += step->output_count;
    }
    printf("%*sout ", indent, "");
    print_refs(block->outputs, block->output_count);
    printf("\n");
}

void fuzz_program_print(const fuzz_program_t *program) {
    for (int i = 0; i < FUZZ_FUNCTIONS; ++i) {
        printf("function %d of %d inputs%s:\n", i, program->functions[i]->input_count,
               program->runs_eagerly[i] ? ", eager" : "");
        print_block(program->functions[i], 4);
    }
    printf("main:\n");
    print_block(program->main, 4);
}
