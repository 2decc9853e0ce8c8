/* SPDX-License-Identifier: Apache-2.0 */
/* From the instructions of a fused program to steps over blocks.
 *
 * Each instruction becomes the loop that its op's own kernel runs, so results have the same bits.
 * An instruction on halves becomes several: operands widened to float32, the loop, the result
 * narrowed. Results lie in slots, which are allocated as registers are: the slot of a result is
 * free behind its last use.
 *
 *     x * exp(x) + b    Exp  input 0           -> slot 0
 *                       Mul  input 0, slot 0   -> slot 1      slot 0 is free from here on
 *                       Add  slot 1, input 1   -> output 0    no slot for the last result
 *
 * A result gets its slot before the slots of its operands are free: operands of another size must
 * not overlap it. One pass finds the last uses, a second one makes the steps. */
#include "kernels/elementwise/fused_cpu.h"

#define NO_PLACE UINT8_MAX
_Static_assert(GANTRY__CPU_FUSED_PLACES < NO_PLACE, "places are numbers of 8 bits");

typedef struct compiler_t {
    gantry__cpu_fused_job_t *job;
    uint8_t last_use[GANTRY_K_FUSED_MOST_INSTRUCTIONS];  /* instruction; NEVER_FREE for outputs */
    uint8_t place[GANTRY_K_FUSED_MOST_INSTRUCTIONS];     /* of results */
    uint8_t output_of[GANTRY_K_FUSED_MOST_INSTRUCTIONS]; /* the first output that it is */
    uint8_t loaded[GANTRY_K_FUSED_MOST_INPUTS];          /* the place of an input's copy */
    uint8_t wide[3];                                     /* slots for operands as float32 */
    uint8_t free[GANTRY__CPU_FUSED_PLACES];              /* a stack of slots */
    uint32_t free_count;
    const gantry__cpu_loops_t *loops; /* of the column below */
    uint32_t column;
} compiler_t;

#define NEVER_FREE UINT8_MAX

/* ---- slots ---- */

static uint8_t fused_take_slot(compiler_t *c) {
    if (c->free_count > 0) return c->free[--c->free_count];
    return (uint8_t)(GANTRY__CPU_FUSED_SLOT + c->job->slot_count++);
}

static void free_result(compiler_t *c, int64_t operand, uint32_t k) {
    if (operand >= 0) return;
    const uint32_t number = (uint32_t)(-1 - operand);
    if (c->last_use[number] != k || c->place[number] < GANTRY__CPU_FUSED_SLOT) return;
    c->free[c->free_count++] = c->place[number];
    c->last_use[number] = NEVER_FREE; /* an instruction may have it as two operands */
}

static void note_bytes(compiler_t *c, int32_t dtype) {
    const uint32_t bytes = gantry__k_size(dtype);

    if (bytes > c->job->slot_bytes) c->job->slot_bytes = bytes;
}

static uint8_t wide_slot(compiler_t *c, uint32_t which) {
    note_bytes(c, GANTRY_FLOAT32);
    if (c->wide[which] == NO_PLACE) c->wide[which] = fused_take_slot(c);
    return c->wide[which];
}

/* ---- operands ---- */

/* Whether the input's address has one element for the whole block. */
static bool is_single(const compiler_t *c, int64_t operand) {
    if (operand < 0) return false;
    const gantry__k_fused_plan_t *plan = &c->job->plan;
    const uint8_t varies = plan->varies[operand];

    return c->job->by_rows ? !(varies >> (plan->rank - 1) & 1) : varies == 0;
}

/* Whether its elements lie side by side, in the output's order. */
static bool is_adjacent(const compiler_t *c, int64_t operand) {
    if (operand < 0) return true;
    const gantry__k_fused_plan_t *plan = &c->job->plan;

    return c->job->by_rows ? (plan->varies[operand] >> (plan->rank - 1) & 1) != 0
                           : plan->varies[operand] == gantry__k_fused_all(plan);
}

/* A vector that repeats within a block, as in [N, C] + [C]. */
static bool is_pattern(const gantry__k_fused_plan_t *plan, uint8_t varies) {
    return plan->rank == 2 && varies == 2;
}

/* The place where the operand is dense. */
static uint8_t dense_place(compiler_t *c, int64_t operand) {
    gantry__cpu_fused_job_t *job = c->job;
    if (operand < 0) return c->place[-1 - operand];
    if (is_adjacent(c, operand)) return (uint8_t)operand;
    if (c->loaded[operand] == NO_PLACE) {
        const uint8_t varies = job->plan.varies[operand];

        note_bytes(c, job->call->inputs[operand]->dtype);
        /* never freed: some loads are for all blocks */
        c->loaded[operand] = (uint8_t)(GANTRY__CPU_FUSED_SLOT + job->slot_count++);
        job->loads[job->load_count++] = (gantry__cpu_fused_load_t){
            .input = (uint8_t)operand,
            .place = c->loaded[operand],
            .once = varies == 0 || (!job->by_rows && is_pattern(&job->plan, varies)),
            .is_fill = is_single(c, operand)};
    }
    return c->loaded[operand];
}

/* The place where it is dense, or where its single element is if is_single. */
static uint8_t operand_place(compiler_t *c, int64_t operand) {
    return is_single(c, operand) ? (uint8_t)operand : dense_place(c, operand);
}

/* ---- steps ---- */

static inline void add_step(compiler_t *c, gantry__cpu_loop_fn loop, uint8_t x, uint8_t y,
                            uint8_t out, uint8_t row, uint8_t form) {
    c->job->steps[c->job->step_count++] = (gantry__cpu_fused_step_t){.as.loop = loop,
                                                                     .kind = GANTRY__CPU_FUSED_LOOP,
                                                                     .x = x,
                                                                     .y = y,
                                                                     .z = x,
                                                                     .out = out,
                                                                     .row = row,
                                                                     .form = form};
}

static void add_loop(compiler_t *c, gantry__cpu_loop_fn loop, uint8_t x, uint8_t y, uint8_t out) {
    add_step(c, loop, x, y, out, 0, 0);
}

static gantry__cpu_loop_fn conversion(const compiler_t *c, int32_t from, int32_t to) {
    return GANTRY_CPU_PICK(c->job->level, convert_loop)(gantry__cpu_type_column(from),
                                                        gantry__cpu_type_column(to), 0);
}

/* Operand `which` of a half's instruction, as float32. */
static uint8_t widened_operand(compiler_t *c, const gantry__k_instruction_t *in, uint32_t which) {
    const uint8_t place = dense_place(c, in->operands[which]);
    const uint8_t wide = wide_slot(c, which);

    add_loop(c, conversion(c, (int32_t)in->dtype, GANTRY_FLOAT32), place, place, wide);
    return wide;
}

static const gantry__cpu_loops_t *loops_of(compiler_t *c, uint32_t column, int64_t row) {
    if (c->column != column) {
        c->loops = GANTRY_CPU_PICK(c->job->level, element_loops)(column);
        c->column = column;
    }
    return &c->loops[row];
}

/* What chains must know (fused_cpu_chain.c). */
static inline uint8_t loop_form(const compiler_t *c, const gantry__k_instruction_t *in,
                                uint32_t column, bool x_single, bool y_single) {
    const ptrdiff_t k = in - c->job->program.instructions;

    return (uint8_t)((column == GANTRY_CPU_COLUMN_f32 ? GANTRY__CPU_FUSED_MAY_CHAIN : 0) |
                     (x_single ? GANTRY__CPU_FUSED_X_SINGLE : 0) |
                     (y_single ? GANTRY__CPU_FUSED_Y_SINGLE : 0) |
                     (c->last_use[k] != k + 1 ? GANTRY__CPU_FUSED_IS_KEPT : 0));
}

/* A row of ops/elementwise.def for a type that has loops with a scalar operand. */
static void add_common_row(compiler_t *c, const gantry__k_instruction_t *in, uint32_t column,
                           uint32_t operands, uint8_t out) {
    const gantry__cpu_loops_t *loops = loops_of(c, column, in->id);
    const int64_t first = in->operands[0], second = in->operands[operands - 1];
    const bool y_single = operands == 2 && is_single(c, second);
    const bool x_single = operands == 2 && is_single(c, first) && !y_single;
    const uint8_t x = x_single ? operand_place(c, first) : dense_place(c, first);
    const uint8_t y = operands == 1 ? x
                      : y_single    ? operand_place(c, second)
                                    : dense_place(c, second);

    const gantry__cpu_loop_fn loop = y_single   ? loops->y_scalar
                                     : x_single ? loops->x_scalar
                                                : loops->dense;
    add_step(c, loop, x, y, out, (uint8_t)in->id, loop_form(c, in, column, x_single, y_single));
}

static void add_rare_row(compiler_t *c, const gantry__k_instruction_t *in, uint32_t column,
                         uint32_t operands, uint8_t out) {
    const uint8_t x = dense_place(c, in->operands[0]);
    const uint8_t y = operands == 2 ? dense_place(c, in->operands[1]) : x;

    add_loop(c, GANTRY_CPU_PICK(c->job->level, dense_loop)((uint32_t)in->id, column), x, y, out);
}

static void add_half_row(compiler_t *c, const gantry__k_instruction_t *in, uint32_t operands,
                         uint8_t out) {
    const gantry__cpu_loop_fn loop = loops_of(c, GANTRY_CPU_COLUMN_f32, in->id)->dense;
    const uint8_t x = widened_operand(c, in, 0);
    const uint8_t y = operands == 2 ? widened_operand(c, in, 1) : x;
    const bool is_half = gantry__k_is_half(gantry__k_fused_result(in));

    add_loop(c, loop, x, y, is_half ? x : out);
    if (is_half) add_loop(c, conversion(c, GANTRY_FLOAT32, (int32_t)in->dtype), x, x, out);
}

static void add_cast(compiler_t *c, const gantry__k_instruction_t *in, uint8_t out) {
    const uint8_t x = dense_place(c, in->operands[0]);
    gantry__cpu_loop_fn first, second;

    gantry__cpu_cast_loops(c->job->level, (int32_t)in->dtype, (int32_t)in->operands[1],
                           in->operands[2] != 0, &first, &second);
    if (!second) {
        add_loop(c, first, x, x, out);
        return;
    }
    note_bytes(c, GANTRY_INT64);
    const uint8_t between = wide_slot(c, 0);
    add_loop(c, first, x, x, between);
    add_loop(c, second, between, between, out);
}

static void add_select(compiler_t *c, const gantry__k_instruction_t *in, uint8_t out) {
    c->job->steps[c->job->step_count++] =
        (gantry__cpu_fused_step_t){.kind = GANTRY__CPU_FUSED_SELECT,
                                   .x = dense_place(c, in->operands[0]),
                                   .y = dense_place(c, in->operands[1]),
                                   .z = dense_place(c, in->operands[2]),
                                   .out = out,
                                   .bytes = (uint8_t)gantry__k_size((int32_t)in->dtype)};
}

static void add_clip(compiler_t *c, const gantry__k_instruction_t *in, uint8_t out) {
    const bool is_half = gantry__k_is_half((int32_t)in->dtype);
    const uint32_t column =
        is_half ? GANTRY_CPU_COLUMN_f32 : gantry__cpu_type_column((int32_t)in->dtype);
    uint8_t places[3];

    for (uint32_t i = 0; i < 3; ++i) {
        places[i] = is_half ? widened_operand(c, in, i) : dense_place(c, in->operands[i]);
    }
    c->job->steps[c->job->step_count++] =
        (gantry__cpu_fused_step_t){.as.clip = GANTRY_CPU_PICK(c->job->level, clip_loop)(column),
                                   .kind = GANTRY__CPU_FUSED_CLIP,
                                   .x = places[0],
                                   .y = places[1],
                                   .z = places[2],
                                   .out = is_half ? places[0] : out};
    if (is_half)
        add_loop(c, conversion(c, GANTRY_FLOAT32, (int32_t)in->dtype), places[0], places[0], out);
}

static void add_instruction(compiler_t *c, const gantry__k_instruction_t *in, uint32_t operands,
                            uint8_t out) {
    const uint32_t column = gantry__cpu_type_column((int32_t)in->dtype);

    if (in->id == GANTRY_K_FUSED_Cast) {
        add_cast(c, in, out);
    } else if (in->id == GANTRY_K_FUSED_Select) {
        add_select(c, in, out);
    } else if (in->id == GANTRY_K_FUSED_ClipByValue) {
        add_clip(c, in, out);
    } else if (column < GANTRY_CPU_TYPES) {
        add_common_row(c, in, column, operands, out);
    } else if (column < GANTRY_CPU_RARE_END) {
        add_rare_row(c, in, column, operands, out);
    } else {
        add_half_row(c, in, operands, out);
    }
}

/* ---- results ---- */

/* An output may share the memory of an input. */
static bool has_shared_output(const gantry_op_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (call->inputs[i]->data == call->outputs[0]->data) return true;
    }
    return false;
}

static void find_last_uses(compiler_t *c) {
    const gantry__k_fused_t *program = &c->job->program;

    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];
        const uint32_t operands = gantry__k_fused_rows[in->id].operands;

        c->last_use[k] = (uint8_t)k; /* a result that nothing uses */
        c->output_of[k] = NO_PLACE;
        for (uint32_t i = 0; i < operands; ++i) {
            if (in->operands[i] < 0) c->last_use[-1 - in->operands[i]] = (uint8_t)k;
        }
    }
    for (uint32_t i = program->output_count; i-- > 0;) {
        c->last_use[program->outputs[i]] = NEVER_FREE;
        c->output_of[program->outputs[i]] = (uint8_t)i;
    }
}

/* Outputs that no step writes. */
static void add_copies(compiler_t *c) {
    gantry__cpu_fused_job_t *job = c->job;

    for (uint32_t i = 0; i < job->program.output_count; ++i) {
        const uint8_t place = c->place[job->program.outputs[i]];

        if (place == GANTRY__CPU_FUSED_OUTPUT + i) continue;
        job->copies[job->copy_count++] =
            (gantry__cpu_fused_copy_t){.place = place, .output = (uint8_t)i};
    }
}

void gantry__cpu_fused_compile(gantry__cpu_fused_job_t *job) {
    const gantry__k_fused_t *program = &job->program;
    const uint32_t count = program->instruction_count;
    compiler_t c;

    c.job = job;
    c.free_count = 0;
    c.column = GANTRY_CPU_ALL_TYPES;
    memset(c.wide, NO_PLACE, sizeof c.wide);
    memset(c.loaded, NO_PLACE, sizeof c.loaded);
    job->slot_count = job->step_count = job->load_count = job->copy_count = 0;
    job->chain_count = 0;
    job->slot_bytes = 1;
    job->weight = 0;
    find_last_uses(&c);
    const bool is_shared = has_shared_output(job->call);
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];
        const gantry__k_fused_row_t *row = &gantry__k_fused_rows[in->id];
        const bool is_direct =
            c.output_of[k] != NO_PLACE && !job->streams && (k + 1 == count || !is_shared);

        note_bytes(&c, gantry__k_fused_result(in));
        c.place[k] =
            is_direct ? (uint8_t)(GANTRY__CPU_FUSED_OUTPUT + c.output_of[k]) : fused_take_slot(&c);
        add_instruction(&c, in, row->operands, c.place[k]);
        for (uint32_t i = 0; i < row->operands; ++i) free_result(&c, in->operands[i], k);
        if (c.last_use[k] == k) free_result(&c, -1 - (int64_t)k, k);
        job->weight += row->costly ? 8 : 1;
    }
    add_copies(&c);
}
