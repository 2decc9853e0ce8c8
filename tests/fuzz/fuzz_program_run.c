/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs: each block in a frame of its own, inside that of the block around it. Gradients
 * run a body again in a new frame, with the values around it that it had. */
#include <stdlib.h>

#include "fuzz_program.h"

typedef const gantry_tensor_t tensor;

typedef struct fuzz_frame_t {
    struct fuzz_frame_t *older; /* of the run */
    struct fuzz_frame_t *outer;
    fuzz_run_t *run;
    tensor *values[FUZZ_MOST_VALUES];
    int count;
} fuzz_frame_t;

/* What the bodies of a step get. */
typedef struct closure_t {
    fuzz_frame_t frame; /* without values: the run frees it with the others */
    const fuzz_step_t *step;
} closure_t;

static void run_block(gantry_scope_t *s, fuzz_run_t *run, const fuzz_block_t *block,
                      fuzz_frame_t *outer, tensor *const *in, tensor **out);

/* ---- values ---- */

static void *add_frame(fuzz_run_t *run, size_t bytes) {
    fuzz_frame_t *frame = calloc(1, bytes);
    if (!frame) abort();
    frame->older = run->frames;
    frame->run = run;
    run->frames = frame;
    return frame;
}

static tensor *value_of(const fuzz_frame_t *frame, fuzz_ref_t ref) {
    for (int i = 0; i < ref.up; ++i) frame = frame->outer;
    return frame->values[ref.at];
}

static tensor *number(gantry_scope_t *s, double value) {
    return gantry_constant(s, GANTRY_FLOAT64, GANTRY_SCALAR, &value, sizeof value);
}

static tensor *total(gantry_scope_t *s, tensor *x) { return gantry_sum(s, x, NULL); }

static tensor *bound(gantry_scope_t *s, tensor *x) { return gantry_tanh(s, x); }

/* ---- plain steps ---- */

static tensor *run_unary(gantry_scope_t *s, int op, tensor *x) {
    switch (op % 8) {
        case 0: return gantry_sin(s, x);
        case 1: return gantry_tanh(s, x);
        case 2: return gantry_sigmoid(s, x);
        case 3: return gantry_neg(s, x);
        case 4: return gantry_identity(s, x);
        case 5: return bound(s, gantry_mul(s, x, x));
        case 6: return gantry_mul(s, x, number(s, 0.7));
        default: return gantry_cos(s, x);
    }
}

static tensor *run_binary(gantry_scope_t *s, int op, tensor *a, tensor *b) {
    switch (op % 8) {
        case 0: return gantry_mul(s, gantry_add(s, a, b), number(s, 0.6));
        case 1: return gantry_mul(s, gantry_sub(s, a, b), number(s, 0.8));
        case 2: return gantry_maximum(s, a, b);
        case 3: return gantry_minimum(s, a, b);
        case 4: return gantry_add(s, bound(s, a), gantry_mul(s, b, number(s, 0.3)));
        default: return bound(s, gantry_mul(s, a, b));
    }
}

/* Of a smaller type it is repeated, of a larger one summed. */
static tensor *run_convert(gantry_scope_t *s, int type, tensor *x) {
    const int32_t rank = gantry_tensor_shape(x)->rank;
    static const int32_t first = 0;
    if (rank == type) return gantry_identity(s, x);
    if (rank < type) return gantry_broadcast_to(s, x, fuzz_shape(type));
    if (type == 0) return bound(s, total(s, x));
    return bound(s, gantry_sum(s, x, &(gantry_reduce_options_t){.axes = &first, .axis_count = 1}));
}

static void custom_forward(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_mul(s, gantry_sin(s, in[0]), in[1]);
}

static void custom_backward(gantry_scope_t *s, tensor *const *in, tensor *const *out,
                            tensor *const *dy, tensor **dx, void *user) {
    (void)out;
    (void)user;
    dx[0] = gantry_mul(s, dy[0], gantry_mul(s, gantry_cos(s, in[0]), in[1]));
    dx[1] = gantry_mul(s, dy[0], gantry_sin(s, in[0]));
}

static tensor *run_custom(gantry_scope_t *s, tensor *const *in) {
    tensor *out = NULL;
    (void)gantry_custom_gradient(s, custom_forward, custom_backward, NULL, in, 2, &out, 1);
    return out;
}

/* ---- bodies ---- */

static void run_body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user, int body) {
    closure_t *closure = user;
    const fuzz_block_t *block = closure->step->bodies[body];
    closure->frame.run->path = closure->frame.run->path * 31 + (uint64_t)block->number + 1;
    run_block(s, closure->frame.run, block, closure->frame.outer, in, out);
}

static void body_0(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    run_body(s, in, out, user, 0);
}
static void body_1(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    run_body(s, in, out, user, 1);
}
static void body_2(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    run_body(s, in, out, user, 2);
}

static const gantry_function_body_fn bodies[FUZZ_MOST_BODIES] = {body_0, body_1, body_2};

/* Variables of a loop: a count, the program's, and in the body the count as a value. */
static void loop_body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const closure_t *closure = user;
    const int count = closure->step->input_count;
    tensor *values[FUZZ_MOST_LIST + 1];
    for (int i = 0; i < count; ++i) values[i] = in[1 + i];
    values[count] = gantry_mul(s, gantry_cast(s, in[0], GANTRY_FLOAT64), number(s, 0.3));
    out[0] = gantry_add(s, in[0], gantry_scalar_i32(s, 1));
    run_body(s, values, out + 1, user, 0);
}

/* The steps are a number, depend on a value from outside, or on a variable of the loop, too. */
static void loop_goes_on(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const closure_t *closure = user;
    const fuzz_step_t *step = closure->step;
    tensor *outside = value_of(closure->frame.outer, step->selector);
    tensor *most = gantry_scalar_i32(s, step->type);
    if (step->op == 1)
        most = gantry_cast(
            s, gantry_mul(s, gantry_sigmoid(s, total(s, outside)), number(s, step->type)),
            GANTRY_INT32);
    out[0] = gantry_less(s, in[0], most);
    if (step->op == 2)
        out[0] = gantry_logical_and(
            s, out[0],
            gantry_less(s, total(s, in[1]),
                        gantry_add(s, total(s, outside), number(s, step->number))));
}

static void run_branch(gantry_scope_t *s, closure_t *closure, tensor *selector, tensor *const *in,
                       tensor **out) {
    const fuzz_step_t *step = closure->step;
    const size_t inputs = (size_t)step->input_count, outputs = (size_t)step->output_count;
    tensor *sum = total(s, selector);
    if (step->kind == FUZZ_COND) {
        (void)gantry_cond(s, gantry_greater(s, sum, number(s, step->number)), body_0, body_1,
                          closure, in, inputs, out, outputs);
        return;
    }
    tensor *index =
        gantry_cast(s, gantry_mul(s, gantry_sigmoid(s, sum), number(s, 3)), GANTRY_INT32);
    (void)gantry_case(s, index, bodies, (size_t)step->body_count, closure, in, inputs, out,
                      outputs);
}

static void run_loop(gantry_scope_t *s, closure_t *closure, tensor *const *in, tensor **out) {
    const int count = closure->step->input_count;
    tensor *values[FUZZ_MOST_LIST + 1] = {gantry_scalar_i32(s, 0)},
                                    *results[FUZZ_MOST_LIST + 1] = {NULL};
    for (int i = 0; i < count; ++i) values[1 + i] = in[i];
    (void)gantry_while(s, loop_goes_on, loop_body, closure, values, (size_t)count + 1, NULL,
                       results);
    for (int i = 0; i < count; ++i) out[i] = results[1 + i];
}

/* Each input is an object of its own, as in the body of a trace. */
static void run_gradient(gantry_scope_t *s, closure_t *closure, tensor *const *in, tensor **out) {
    const fuzz_step_t *step = closure->step;
    const gantry_gradient_options_t zeros = {.struct_size = sizeof zeros,
                                             .zeros_where_unconnected = true};
    gantry_source_t sources[FUZZ_MOST_LIST] = {{NULL, NULL}};
    tensor *inputs[FUZZ_MOST_LIST], *y = NULL, *gradients[FUZZ_MOST_LIST] = {NULL};
    for (int i = 0; i < step->input_count; ++i) {
        inputs[i] = gantry_identity(s, in[i]);
        sources[i].tensor = inputs[i];
    }
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    for (int i = 0; i < step->input_count; ++i) (void)gantry_tape_watch(tape, inputs[i]);
    run_body(s, inputs, &y, closure, 0);
    (void)gantry_tape_gradient(tape, total(s, y), NULL, sources, (size_t)step->input_count, &zeros,
                               gradients);
    gantry_tape_end(tape);
    for (int i = 0; i < step->input_count; ++i) out[i] = bound(s, gradients[i]);
}

/* ---- blocks ---- */

static void run_nest(gantry_scope_t *s, fuzz_frame_t *frame, const fuzz_step_t *step,
                     tensor *const *in, tensor **out) {
    closure_t *closure = add_frame(frame->run, sizeof *closure);
    closure->frame.outer = frame;
    closure->step = step;
    if (step->kind == FUZZ_WHILE)
        run_loop(s, closure, in, out);
    else if (step->kind == FUZZ_GRADIENT)
        run_gradient(s, closure, in, out);
    else
        run_branch(s, closure, value_of(frame, step->selector), in, out);
}

static void run_step(gantry_scope_t *s, fuzz_frame_t *frame, const fuzz_step_t *step,
                     tensor **out) {
    fuzz_run_t *run = frame->run;
    tensor *in[FUZZ_MOST_LIST] = {NULL};
    for (int i = 0; i < step->input_count; ++i) in[i] = value_of(frame, step->inputs[i]);
    switch (step->kind) {
        case FUZZ_UNARY: out[0] = run_unary(s, step->op, in[0]); break;
        case FUZZ_BINARY: out[0] = run_binary(s, step->op, in[0], in[1]); break;
        case FUZZ_CONVERT: out[0] = run_convert(s, step->type, in[0]); break;
        case FUZZ_VARIABLE:
            out[0] = gantry_variable_read(s, run->variables[step->op % FUZZ_VARIABLES]);
            break;
        case FUZZ_CAPTURED: out[0] = run->captured; break;
        case FUZZ_CUSTOM: out[0] = run_custom(s, in); break;
        case FUZZ_STOP: out[0] = gantry_stop_gradient(s, in[0]); break;
        case FUZZ_CALL:
            (void)gantry_function_call(s, run->functions[step->op], in, (size_t)step->input_count,
                                       out, (size_t)step->output_count);
            break;
        default: run_nest(s, frame, step, in, out); break;
    }
}

static void run_block(gantry_scope_t *s, fuzz_run_t *run, const fuzz_block_t *block,
                      fuzz_frame_t *outer, tensor *const *in, tensor **out) {
    fuzz_frame_t *frame = add_frame(run, sizeof *frame);
    frame->outer = outer;
    for (int i = 0; i < block->input_count; ++i) frame->values[frame->count++] = in[i];
    for (int i = 0; i < block->step_count && gantry_scope_status(s) == GANTRY_OK; ++i) {
        run_step(s, frame, &block->steps[i], frame->values + frame->count);
        frame->count += block->steps[i].output_count;
    }
    for (int i = 0; i < block->output_count; ++i) out[i] = value_of(frame, block->outputs[i]);
}

/* ---- the program ---- */

typedef struct callee_t {
    fuzz_frame_t frame;
    const fuzz_block_t *block;
} callee_t;

static void function_body(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    const callee_t *callee = user;
    run_block(s, callee->frame.run, callee->block, NULL, in, out);
}

static gantry_status_t trace_function(fuzz_run_t *run, int i) {
    const fuzz_block_t *block = run->program->functions[i];
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = run->program->runs_eagerly[i]};
    gantry_input_spec_t inputs[FUZZ_MOST_LIST];
    callee_t *callee = add_frame(run, sizeof *callee);
    callee->block = block;
    for (int k = 0; k < block->input_count; ++k)
        inputs[k] = (gantry_input_spec_t){NULL, GANTRY_FLOAT64, fuzz_shape(block->types[k])};
    return gantry_function_trace(run->runtime, "callee", function_body, callee, inputs,
                                 (size_t)block->input_count, (size_t)block->output_count, &options,
                                 &run->functions[i]);
}

gantry_status_t fuzz_run_begin(fuzz_run_t *run, const fuzz_program_t *program,
                               gantry_runtime_t *runtime) {
    run->program = program;
    run->runtime = runtime;
    for (int i = 0; i < FUZZ_FUNCTIONS; ++i) {
        const gantry_status_t status = trace_function(run, i);
        if (status != GANTRY_OK) return status;
    }
    return GANTRY_OK;
}

void fuzz_run_end(fuzz_run_t *run) {
    for (int i = 0; i < FUZZ_FUNCTIONS; ++i) {
        gantry_function_release(run->functions[i]);
        run->functions[i] = NULL;
    }
    while (run->frames) {
        fuzz_frame_t *frame = run->frames;
        run->frames = frame->older;
        free(frame);
    }
}

tensor *fuzz_run_main(fuzz_run_t *run, gantry_scope_t *s, tensor *const *inputs) {
    const fuzz_block_t *block = run->program->main;
    tensor *outputs[FUZZ_MOST_LIST] = {NULL}, *y = NULL;
    run_block(s, run, block, NULL, inputs, outputs);
    for (int i = 0; i < block->output_count && gantry_scope_status(s) == GANTRY_OK; ++i) {
        tensor *part = gantry_mul(s, total(s, outputs[i]), number(s, 1 + 0.5 * i));
        y = y ? gantry_add(s, y, part) : part;
    }
    return gantry_scope_status(s) == GANTRY_OK ? y : NULL;
}
