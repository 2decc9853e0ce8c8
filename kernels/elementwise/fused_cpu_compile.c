/* SPDX-License-Identifier: Apache-2.0 */
/* From the instructions of a fused program to steps over blocks.
 *
 * Each instruction becomes the loop that its op's own kernel runs, so results have the same bits.
 * An instruction on halves becomes several: its operands are widened to float32, the loop runs, and
 * the result is narrowed. Results are kept in slots, which are allocated as registers are: the slot
 * of a result is free after its last use.
 *
 *     x * exp(x) + b    Exp  input 0           -> slot 0
 *                       Mul  input 0, slot 0   -> slot 1      slot 0 is free from here on
 *                       Add  slot 1, input 1   -> output 0    no slot for the last result
 *
 * A result gets its slot before the slots of its operands are free, because operands of another
 * size must not overlap it. One pass finds the last uses, a second one makes the steps.
 *
 * A program over rows (job->rows) has two kinds of slots: wide ones with all elements of the rows
 * of a block, and narrow ones with one element for each row. A loop over a wide operand takes a
 * narrow one as its scalar, row by row. Where a loop has no scalar form, a step fills a wide slot
 * with the narrow operand first. */
#include "kernels/elementwise/fused_cpu.h"

#define NO_PLACE UINT8_MAX
_Static_assert(GANTRY__CPU_FUSED_PLACES < NO_PLACE, "places are numbers of 8 bits");

typedef struct compiler_t {
    gantry__cpu_fused_job_t *job;
    uint8_t last_use[GANTRY_K_FUSED_MOST_INSTRUCTIONS];  /* instructions; NEVER_FREE for outputs */
    uint8_t place[GANTRY_K_FUSED_MOST_INSTRUCTIONS];     /* the places of results */
    uint8_t output_of[GANTRY_K_FUSED_MOST_INSTRUCTIONS]; /* the first output that the result is */
    uint8_t loaded[GANTRY_K_FUSED_MOST_INPUTS];          /* the place of an input's copy */
    uint8_t wide[3];                                     /* slots for operands as float32 */
    uint8_t free[2][GANTRY__CPU_FUSED_PLACES];           /* stacks of free slots; [1]: narrow */
    uint32_t free_count[2];
    uint8_t filled[3]; /* slots with filled narrow operands of one instruction */
    uint32_t filled_count;
    bool is_narrow;                   /* whether the instruction's result is narrow */
    const gantry__cpu_loops_t *loops; /* those of the column below */
    uint32_t column;
} compiler_t;

#define NEVER_FREE UINT8_MAX
/* Marks a function in which small calls spend their time, because a program is compiled for each
 * call. */
#define HOT static inline __attribute__((always_inline))
#define SHORT_ROW 256 /* elements; a vector is repeated in a slot where rows are shorter */

/* ---- slots ---- */

HOT uint8_t fused_take_slot(compiler_t *c, bool is_narrow) {
    if (c->free_count[is_narrow] > 0) return c->free[is_narrow][--c->free_count[is_narrow]];
    const uint8_t place = (uint8_t)(GANTRY__CPU_FUSED_SLOT + c->job->slot_count++);
    c->job->form[place] = is_narrow ? GANTRY__CPU_FUSED_NARROW : GANTRY__CPU_FUSED_WIDE;
    return place;
}

HOT void free_slot(compiler_t *c, uint8_t place) {
    const bool is_narrow = c->job->form[place] == GANTRY__CPU_FUSED_NARROW;
    c->free[is_narrow][c->free_count[is_narrow]++] = place;
}

HOT void free_result(compiler_t *c, int64_t operand, uint32_t k) {
    if (operand >= 0) return;
    const uint32_t number = (uint32_t)(-1 - operand);
    if (c->last_use[number] != k || c->place[number] < GANTRY__CPU_FUSED_SLOT) return;
    free_slot(c, c->place[number]);
    c->last_use[number] = NEVER_FREE; /* two operands of an instruction may be this one */
}

HOT void note_bytes(compiler_t *c, int32_t dtype) {
    const uint32_t bytes = gantry__k_size(dtype);

    if (bytes > c->job->slot_bytes) c->job->slot_bytes = bytes;
}

static uint8_t wide_slot(compiler_t *c, uint32_t which) {
    note_bytes(c, GANTRY_FLOAT32);
    if (c->wide[which] == NO_PLACE) c->wide[which] = fused_take_slot(c, false);
    return c->wide[which];
}

/* ---- operands ---- */

/* What the operand has of a row, in a program over rows. */
static uint8_t form_of(const compiler_t *c, int64_t operand) {
    return c->job->form[operand >= 0 ? operand : c->place[-1 - operand]];
}

/* The kernels of single ops gather an operand with one element for each short row. A program must
 * do so, too, because the loops with a scalar may take the payload of the other one of two NaN
 * operands. */
static bool gathers_narrow(const gantry__k_rows_t *rows) {
    return rows->length < GANTRY_CPU_SHORT_ROW && rows->rows > 1;
}

static bool is_single_in_row(const compiler_t *c, int64_t operand) {
    const uint8_t form = form_of(c, operand);
    return form == GANTRY__CPU_FUSED_SCALAR ||
           (form == GANTRY__CPU_FUSED_NARROW && !c->is_narrow && !gathers_narrow(c->job->rows));
}

/* Whether the operand's address has a single element for each call of a loop. */
HOT bool is_single(const compiler_t *c, int64_t operand) {
    if (c->job->rows) return is_single_in_row(c, operand);
    if (operand < 0) return false;
    const gantry__k_fused_plan_t *plan = &c->job->plan;
    const uint8_t varies = plan->varies[operand];

    return c->job->by_rows ? !(varies >> (plan->rank - 1) & 1) : varies == 0;
}

/* Whether the operand's elements are adjacent, in the output's order. */
static bool is_adjacent(const compiler_t *c, int64_t operand) {
    if (operand < 0) return true;
    const gantry__k_fused_plan_t *plan = &c->job->plan;

    return c->job->by_rows ? (plan->varies[operand] >> (plan->rank - 1) & 1) != 0
                           : plan->varies[operand] == gantry__k_fused_all(plan);
}

/* Whether the input is a vector that repeats within a block, as in [N, C] + [C]. */
static bool is_pattern(const gantry__k_fused_plan_t *plan, uint8_t varies) {
    return plan->rank == 2 && varies == 2;
}

/* The slot with an input's elements for the rows of a block, in a program over rows. */
static uint8_t gathered_place(compiler_t *c, int64_t input) {
    gantry__cpu_fused_job_t *job = c->job;
    if (c->loaded[input] == NO_PLACE) {
        note_bytes(c, job->call->inputs[input]->dtype);
        c->loaded[input] = (uint8_t)(GANTRY__CPU_FUSED_SLOT + job->slot_count++); /* never freed */
        job->form[c->loaded[input]] =
            job->rows->is_wide[input] ? GANTRY__CPU_FUSED_WIDE : GANTRY__CPU_FUSED_NARROW;
        job->loads[job->load_count++] =
            (gantry__cpu_fused_load_t){.input = (uint8_t)input,
                                       .place = c->loaded[input],
                                       .once = job->rows->lead.varies[input] == 0};
    }
    return c->loaded[input];
}

/* Where the operand is as the program has it, over rows. */
static uint8_t own_place(compiler_t *c, int64_t operand) {
    if (operand < 0) return c->place[-1 - operand];
    const uint8_t varies = c->job->rows->lead.varies[operand];
    const bool is_regular = varies == 0 || varies == gantry__k_fused_all(&c->job->rows->lead);
    return is_regular ? (uint8_t)operand : gathered_place(c, operand);
}

/* A wide slot that a step fills with a narrow operand, or a narrow slot that it fills with a
 * scalar. */
static uint8_t filled_place(compiler_t *c, int64_t operand, uint8_t from) {
    const int32_t dtype = operand >= 0
                              ? c->job->call->inputs[operand]->dtype
                              : gantry__k_fused_result(&c->job->program.instructions[-1 - operand]);
    const uint8_t place = fused_take_slot(c, c->is_narrow);
    const bool by_row = !c->is_narrow && c->job->form[from] == GANTRY__CPU_FUSED_NARROW;

    note_bytes(c, dtype);
    c->filled[c->filled_count++] = place;
    c->job->steps[c->job->step_count++] =
        (gantry__cpu_fused_step_t){.kind = GANTRY__CPU_FUSED_FILL,
                                   .x = from,
                                   .y = from,
                                   .z = from,
                                   .out = place,
                                   .bytes = (uint8_t)gantry__k_size(dtype),
                                   .out_bytes = (uint8_t)gantry__k_size(dtype),
                                   .span = by_row         ? GANTRY__CPU_FUSED_A_ROW
                                           : c->is_narrow ? GANTRY__CPU_FUSED_ONE_PER_ROW
                                                          : GANTRY__CPU_FUSED_ELEMENTS};
    return place;
}

static uint8_t dense_row_place(compiler_t *c, int64_t operand) {
    const uint8_t place = own_place(c, operand), form = c->job->form[place];
    if (form == GANTRY__CPU_FUSED_VECTOR) return gathered_place(c, operand);
    if (form == (c->is_narrow ? GANTRY__CPU_FUSED_NARROW : GANTRY__CPU_FUSED_WIDE)) return place;
    return filled_place(c, operand, place);
}

/* The place where the operand is dense; adds the load or the steps that make it so. */
HOT uint8_t dense_place(compiler_t *c, int64_t operand) {
    gantry__cpu_fused_job_t *job = c->job;
    if (job->rows) return dense_row_place(c, operand);
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

static uint8_t operand_place_in_row(compiler_t *c, int64_t operand) {
    const uint8_t place = own_place(c, operand);
    const bool is_long_vector =
        c->job->form[place] == GANTRY__CPU_FUSED_VECTOR && c->job->rows->length >= SHORT_ROW;
    return is_single(c, operand) || is_long_vector ? place : dense_row_place(c, operand);
}

/* The place where the operand's single element is, if is_single, or where its elements are adjacent
 * for each call of a loop that takes a row at a time. */
HOT uint8_t operand_place(compiler_t *c, int64_t operand) {
    if (c->job->rows) return operand_place_in_row(c, operand);
    return is_single(c, operand) ? (uint8_t)operand : dense_place(c, operand);
}

/* ---- steps ---- */

/* How many elements a call of a step of the instruction takes, with operands in these places:
 * GANTRY__CPU_FUSED_ELEMENTS and so on. */
static uint8_t span_of(const compiler_t *c, uint8_t x, uint8_t y) {
    const uint8_t *form = c->job->form;
    if (c->is_narrow) return GANTRY__CPU_FUSED_ONE_PER_ROW;
    const bool by_row = form[x] == GANTRY__CPU_FUSED_NARROW ||
                        form[x] == GANTRY__CPU_FUSED_VECTOR ||
                        form[y] == GANTRY__CPU_FUSED_NARROW || form[y] == GANTRY__CPU_FUSED_VECTOR;
    return by_row ? GANTRY__CPU_FUSED_A_ROW : GANTRY__CPU_FUSED_ELEMENTS;
}

HOT void add_step(compiler_t *c, gantry__cpu_loop_fn loop, uint8_t x, uint8_t y, uint8_t out,
                  uint8_t row, uint8_t form) {
    c->job->steps[c->job->step_count++] = (gantry__cpu_fused_step_t){
        .as.loop = loop,
        .kind = GANTRY__CPU_FUSED_LOOP,
        .x = x,
        .y = y,
        .z = x,
        .out = out,
        .span = c->job->rows ? span_of(c, x, y) : (uint8_t)GANTRY__CPU_FUSED_ELEMENTS,
        .row = row,
        .form = form};
}

HOT void add_loop(compiler_t *c, gantry__cpu_loop_fn loop, uint8_t x, uint8_t y, uint8_t out) {
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

/* What chains must know of the step (fused_cpu_chain.c). */
static inline uint8_t loop_form(const compiler_t *c, const gantry__k_instruction_t *in,
                                uint32_t column, bool x_single, bool y_single) {
    const ptrdiff_t k = in - c->job->program.instructions;

    return (uint8_t)((column == GANTRY_CPU_COLUMN_f32 ? GANTRY__CPU_FUSED_MAY_CHAIN : 0) |
                     (x_single ? GANTRY__CPU_FUSED_X_SINGLE : 0) |
                     (y_single ? GANTRY__CPU_FUSED_Y_SINGLE : 0) |
                     (c->last_use[k] != k + 1 ? GANTRY__CPU_FUSED_IS_KEPT : 0));
}

/* Notes what a step needs that takes a row at a time, in a program over rows. */
static void note_row_step(const compiler_t *c, const gantry__k_instruction_t *in) {
    gantry__cpu_fused_step_t *step = &c->job->steps[c->job->step_count - 1];

    step->bytes = (uint8_t)gantry__k_size((int32_t)in->dtype);
    step->out_bytes = (uint8_t)gantry__k_size(gantry__k_fused_result(in));
}

/* Adds a row of ops/elementwise.def for a type that has loops with a scalar operand. */
static void add_common_row(compiler_t *c, const gantry__k_instruction_t *in, uint32_t column,
                           uint32_t operands, uint8_t out) {
    const gantry__cpu_loops_t *loops = loops_of(c, column, in->id);
    const int64_t first = in->operands[0], second = in->operands[operands - 1];
    const bool y_single = operands == 2 && is_single(c, second);
    const bool x_single = operands == 2 && !y_single && is_single(c, first);
    /* only one operand of two may be single */
    const bool fills_x = !x_single && (!c->job->rows || is_single(c, first));
    const uint8_t x = fills_x ? dense_place(c, first) : operand_place(c, first);
    const uint8_t y = operands == 1 ? x : operand_place(c, second);

    const gantry__cpu_loop_fn loop = y_single   ? loops->y_scalar
                                     : x_single ? loops->x_scalar
                                                : loops->dense;
    add_step(c, loop, x, y, out, (uint8_t)in->id, loop_form(c, in, column, x_single, y_single));
    if (c->job->rows) note_row_step(c, in);
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
    uint8_t places[3];

    for (uint32_t i = 0; i < 3; ++i) places[i] = dense_place(c, in->operands[i]);
    c->job->steps[c->job->step_count++] = (gantry__cpu_fused_step_t){
        .kind = GANTRY__CPU_FUSED_SELECT,
        .x = places[0],
        .y = places[1],
        .z = places[2],
        .out = out,
        .bytes = (uint8_t)gantry__k_size((int32_t)in->dtype),
        .span = c->is_narrow ? GANTRY__CPU_FUSED_ONE_PER_ROW : GANTRY__CPU_FUSED_ELEMENTS};
}

static void add_clip(compiler_t *c, const gantry__k_instruction_t *in, uint8_t out) {
    const bool is_half = gantry__k_is_half((int32_t)in->dtype);
    const uint32_t column =
        is_half ? GANTRY_CPU_COLUMN_f32 : gantry__cpu_type_column((int32_t)in->dtype);
    uint8_t places[3];

    for (uint32_t i = 0; i < 3; ++i) {
        places[i] = is_half ? widened_operand(c, in, i) : dense_place(c, in->operands[i]);
    }
    c->job->steps[c->job->step_count++] = (gantry__cpu_fused_step_t){
        .as.clip = GANTRY_CPU_PICK(c->job->level, clip_loop)(column),
        .kind = GANTRY__CPU_FUSED_CLIP,
        .x = places[0],
        .y = places[1],
        .z = places[2],
        .out = is_half ? places[0] : out,
        .span = c->is_narrow ? GANTRY__CPU_FUSED_ONE_PER_ROW : GANTRY__CPU_FUSED_ELEMENTS};
    if (is_half)
        add_loop(c, conversion(c, GANTRY_FLOAT32, (int32_t)in->dtype), places[0], places[0], out);
}

static const int32_t reduction_rows[] = {
#define GANTRY_FUSED_REDUCTION(name) GANTRY_REDUCE_ROW_##name,
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
};

static void add_reduction(compiler_t *c, const gantry__k_instruction_t *in, uint8_t out) {
    gantry__cpu_fused_job_t *job = c->job;
    gantry__cpu_fused_reduction_t *reduction = &job->reductions[job->reduction_count];

    reduction->way = gantry__reduce_way(reduction_rows[in->id - GANTRY_K_FUSED_COUNT - 1],
                                        (int32_t)in->dtype, job->rows->length);
    (void)gantry__cpu_reduce_find(job->level, &reduction->way, &reduction->loops);
    c->is_narrow = false; /* so is its operand */
    const uint8_t x = dense_place(c, in->operands[0]);
    job->steps[job->step_count++] =
        (gantry__cpu_fused_step_t){.kind = GANTRY__CPU_FUSED_REDUCE,
                                   .x = x,
                                   .y = x,
                                   .z = x,
                                   .out = out,
                                   .reduction = (uint8_t)job->reduction_count++};
}

static void add_instruction(compiler_t *c, const gantry__k_instruction_t *in, uint32_t operands,
                            uint8_t out) {
    const uint32_t column = gantry__cpu_type_column((int32_t)in->dtype);

    if (gantry__k_fused_reduces(in)) {
        add_reduction(c, in, out);
    } else if (in->id == GANTRY_K_FUSED_Cast) {
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

bool gantry__cpu_fused_shares(const gantry_op_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        for (uint32_t k = 0; k < call->output_count; ++k) {
            if (call->inputs[i]->data == call->outputs[k]->data) return true;
        }
    }
    return false;
}

static void find_last_uses(compiler_t *c) {
    const gantry__k_fused_t *program = &c->job->program;

    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];
        const uint32_t operands = gantry__k_fused_rows[in->id].operands;

        c->last_use[k] = (uint8_t)k; /* no instruction uses the result */
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

/* Adds copies for outputs that no step writes. */
static void add_copies(compiler_t *c) {
    gantry__cpu_fused_job_t *job = c->job;

    for (uint32_t i = 0; i < job->program.output_count; ++i) {
        const uint8_t place = c->place[job->program.outputs[i]];

        if (place == GANTRY__CPU_FUSED_OUTPUT + i) continue;
        job->copies[job->copy_count++] =
            (gantry__cpu_fused_copy_t){.place = place, .output = (uint8_t)i};
    }
}

/* Takes the instruction's place, adds its steps, and gives back the places whose last use it
 * was. */
HOT void compile_instruction(compiler_t *c, uint32_t k) {
    gantry__cpu_fused_job_t *job = c->job;
    const gantry__k_instruction_t *in = &job->program.instructions[k];
    const gantry__k_fused_row_t *row = &gantry__k_fused_rows[in->id];
    const bool is_direct = c->output_of[k] != NO_PLACE && !job->streams &&
                           (k + 1 == job->program.instruction_count || !job->shares);

    c->is_narrow = job->rows && !job->rows->makes_wide[k];
    c->filled_count = 0;
    note_bytes(c, gantry__k_fused_result(in));
    if (is_direct) {
        c->place[k] = (uint8_t)(GANTRY__CPU_FUSED_OUTPUT + c->output_of[k]);
        job->form[c->place[k]] = c->is_narrow ? GANTRY__CPU_FUSED_NARROW : GANTRY__CPU_FUSED_WIDE;
    } else {
        c->place[k] = fused_take_slot(c, c->is_narrow);
    }
    add_instruction(c, in, row->operands, c->place[k]);
    for (uint32_t i = 0; i < c->filled_count; ++i) free_slot(c, c->filled[i]);
    for (uint32_t i = 0; i < row->operands; ++i) free_result(c, in->operands[i], k);
    if (c->last_use[k] == k) free_result(c, -1 - (int64_t)k, k);
    job->weight += row->costly ? 8 : 1;
}

static uint32_t count_reductions(const gantry__k_fused_t *program) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < program->instruction_count; ++k)
        count += gantry__k_fused_reduces(&program->instructions[k]);
    return count;
}

bool gantry__cpu_fused_compile(gantry__cpu_fused_job_t *job) {
    compiler_t c;

    c.job = job;
    c.free_count[0] = c.free_count[1] = 0;
    c.column = GANTRY_CPU_ALL_TYPES;
    memset(c.wide, NO_PLACE, sizeof c.wide);
    memset(c.loaded, NO_PLACE, sizeof c.loaded);
    job->slot_count = job->step_count = job->load_count = job->copy_count = 0;
    job->chain_count = 0;
    job->reduction_count = 0;
    job->slot_bytes = 1;
    job->weight = 0;
    if (job->rows && count_reductions(&job->program) > GANTRY__CPU_FUSED_REDUCTIONS) return false;
    find_last_uses(&c);
    for (uint32_t k = 0; k < job->program.instruction_count; ++k) compile_instruction(&c, k);
    add_copies(&c);
    return true;
}
