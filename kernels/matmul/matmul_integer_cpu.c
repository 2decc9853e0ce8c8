/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger of the CPU backend: shapes, batches, zero points, threads. The loops are in
 * matmul_integer_cpu_simd.c.
 *
 * The operand with fewer lines is kept: all its panels are packed first, with the sums of its
 * lines. The other one streams: threads share its lines, and a thread packs a few panels of them at
 * a time, which stay in its L1 or L2 cache while they meet all kept panels.
 *
 *     kept: all columns of B, packed        streamed: rows of A, a block of words at a time
 *
 * A constant is packed once for all calls, on either side: kept panels stay as they are, and
 * streamed ones are read where they stay. Those of a B of bytes are short, because the time of few
 * rows is that of reading them.
 *
 * Zero points leave that product as it is. With a' and b', the elements as they are packed, and z
 * and y, their zero points,
 *
 *     sum (a' - z)(b' - y) = sum a' b' - z sum b' - y (sum a' - k z)
 *
 * and all of it is modulo 2^32, so the result is exact. An operand of four bytes whose type has not
 * the sign that the processor multiplies is packed with its highest bits inverted: that adds or
 * subtracts 128, and so it does to its zero points. So are unsigned bytes of a short panel.
 *
 * Cost: m n k operations, the kept operand packed once in scratch, and one pass over C if there is
 * anything to correct. */
#include "kernels/matmul/matmul_integer_cpu.h"

#include <string.h>

#include "host/try.h"
#include "kernels/common/cpu_form.h"
#include "kernels/common/cpu_prefetch.h"
#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/matmul/matmul_integer_shape.h"

/* Words on the stack; the words of a line in a block, at most; the lines of a unit, at most. */
#define BUFFER_WORDS 9216
#define BLOCK_WORDS 256
#define UNIT_LINES 256
/* With so few kept lines the time is that of reading the streamed side. If its lines are
 * contiguous, they meet few kept ones line by line. If its elements across lines are, a block is
 * wide and has few words, so that it uses whole cache lines. */
#define FEW_LINES 4
#define THIN_LINES 16
#define THIN_WORDS 32
/* Words of kept panels that one batch of small products packs at once. */
#define KEPT_WORDS (INT64_C(1) << 20)
/* Multiplications that pay for another thread. */
#define WORTH_A_THREAD (INT64_C(1) << 21)

/* One operand: its matrices, lines and zero points. */
typedef struct integer_side_t {
    const char *elements;
    int32_t dtype;
    int64_t count; /* lines of a matrix */
    int64_t width; /* lines of a panel */
    int64_t across, along;
    const int64_t *batch; /* strides, in elements */
    const gantry__zero_points_t *zero;
    bool inverts;
    int32_t offset; /* what inverting adds */
    /* All panels and the sums of their lines: of the kept side, and of a constant. NULL: a side
     * that is packed as it streams. */
    char *panels;
    int32_t *sums;
    bool is_packed;     /* an earlier call has packed them */
    bool is_short;      /* panels are short ones */
    bool is_plain;      /* panels are plain ones */
    int64_t word_bytes; /* of a word of a panel */
    void (*sum)(const uint32_t *panel, int64_t words, int32_t *sums);
} integer_side_t;

typedef struct integer_job_t {
    const gantry__integer_product_t *product;
    const gantry__integer_loops_t *loops;
    const gantry__integer_panels_t *panel; /* of the loops */
    gantry__integer_multiply_fn multiply;  /* of the panels */
    integer_side_t side[2];                /* A, B */
    int kept;                              /* the side that is packed first: 0 or 1 */
    bool corrects;
    int64_t words;      /* of a line */
    int64_t block;      /* words of a line in a block */
    int64_t kept_lines; /* of a matrix, with those that fill the last panel */
    int64_t unit_lines; /* of the streamed side */
    int64_t units;      /* of a matrix */
    int32_t *c;
    int64_t first;  /* the first matrix of the batch that is computed now */
    int packed;     /* the side that is packed now */
    int32_t *zeros; /* of the kept side, for each matrix */
} integer_job_t;

static int64_t integer_least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t integer_panels(const integer_side_t *side) {
    return (side->count + side->width - 1) / side->width;
}

static int64_t batch_place(const integer_job_t *job, const int64_t *strides, int64_t matrix) {
    const gantry__matmul_shape_t *shape = &job->product->shape;
    int64_t place = 0;
    for (int32_t i = shape->batch_rank - 1; i >= 0; --i) {
        place += matrix % shape->batch_dims[i] * strides[i];
        matrix /= shape->batch_dims[i];
    }
    return place;
}

/* The zero points of `count` lines from `first` on, as the packed elements have them. */
static void read_zeros(const integer_job_t *job, const integer_side_t *side, int64_t matrix,
                       int64_t first, int64_t count, int32_t *out) {
    const gantry__zero_points_t *zero = side->zero;
    const int64_t start =
        zero->arg ? batch_place(job, zero->batch, matrix) + first * zero->line : 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = start + i * zero->line;
        int32_t value = 0;
        if (zero->arg && side->dtype == GANTRY_INT8)
            value = ((const int8_t *)zero->arg->data)[at];
        else if (zero->arg && side->dtype == GANTRY_INT16)
            value = ((const int16_t *)zero->arg->data)[at];
        else if (zero->arg)
            value = ((const uint8_t *)zero->arg->data)[at];
        out[i] = value + side->offset;
    }
}

/* Packs `count` lines of words [word, word + words) as panels, and adds their elements to sums. */
static void pack_lines(const integer_job_t *job, const integer_side_t *side, int64_t matrix,
                       int64_t first, int64_t count, int64_t word, int64_t words, uint32_t *target,
                       int32_t *sums) {
    const int64_t group = job->loops->group, size = gantry__k_size(side->dtype);
    const int64_t k = integer_least(words * group, job->product->shape.k - word * group);
    for (int64_t done = 0; done < count; done += side->width) {
        uint32_t *panel = target + done * words;
        const gantry__integer_lines_t lines = {
            .elements =
                side->elements + (batch_place(job, side->batch, matrix) +
                                  (first + done) * side->across + word * group * side->along) *
                                     size,
            .across = side->across,
            .along = side->along,
            .dtype = side->dtype};
        job->loops->pack(&lines, integer_least(count - done, side->width), side->width,
                         side->is_plain, k, side->inverts, panel);
        if (job->corrects) side->sum(panel, words, sums + done);
    }
}

/* ---- a whole side ---- */

/* The place of a word in the panel of a line of the side, which is the first one of a panel. */
static char *panel_at(const integer_job_t *job, const integer_side_t *side, int64_t line,
                      int64_t word) {
    return side->panels +
           (line * job->words + word * (side->is_plain ? 1 : side->width)) * side->word_bytes;
}

/* Packs a short panel: words of numbers of 16 bits lose their high bytes. */
static void pack_short(const integer_job_t *job, const integer_side_t *side, int64_t matrix,
                       int64_t first, int64_t count, uint16_t *target, int32_t *sums) {
    const uint32_t flip = side->offset ? 0x8080 : 0;
    uint32_t buffer[BUFFER_WORDS];
    for (int64_t word = 0, words; word < job->words; word += words) {
        words = integer_least(job->words - word, BLOCK_WORDS);
        pack_lines(job, side, matrix, first, count, word, words, buffer, sums);
        for (int64_t i = 0; i < words * side->width; ++i)
            *target++ = (uint16_t)(((buffer[i] & 0xff) | (buffer[i] >> 8 & 0xff00)) ^ flip);
    }
    for (int64_t i = 0; i < count; ++i)
        sums[i] =
            (int32_t)((uint32_t)sums[i] + (uint32_t)side->offset * (uint32_t)job->product->shape.k);
}

/* Packs panels [begin, end), which are numbered through the matrices. */
static void pack_side(void *context, int64_t begin, int64_t end) {
    const integer_job_t *job = context;
    const integer_side_t *side = &job->side[job->packed];
    const int64_t panels = integer_panels(side);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / panels, first = i % panels * side->width;
        const int64_t count = integer_least(side->count - first, side->width);
        const int64_t line = i * side->width;
        void *panel = panel_at(job, side, line, 0);
        int32_t sums[UNIT_LINES] = {0};
        if (side->is_short)
            pack_short(job, side, job->first + matrix, first, count, panel, sums);
        else
            pack_lines(job, side, job->first + matrix, first, count, 0, job->words, panel, sums);
        if (job->corrects) memcpy(side->sums + line, sums, (size_t)side->width * sizeof *sums);
    }
}

static void pack_all(gantry_op_call_t *call, integer_job_t *job, int packed, int64_t matrices) {
    const integer_side_t *side = &job->side[packed];
    job->packed = packed;
    if (!side->is_packed)
        gantry__cpu_parallel_for(call->device, matrices * integer_panels(side),
                                 WORTH_A_THREAD / (16 * side->width * job->words) + 1, pack_side,
                                 job);
}

/* ---- the streamed side ---- */

/* Some lines of the streamed side of one matrix, and a block of their words. */
typedef struct integer_unit_t {
    int64_t matrix; /* of the present part of the batch */
    int64_t first, count;
    int64_t word, words;
    const char *panels; /* from the word on */
    int64_t line_words; /* from a line of them to the next */
    int32_t *c;         /* of the matrix */
} integer_unit_t;

/* While a block of a streamed constant meets the kept panels, each of them fetches a piece of what
 * follows it: the next block, or after the last one the next panel. */
static void prefetch_after(const integer_job_t *job, const integer_unit_t *unit, const char *panel,
                           int64_t kept_line) {
    const integer_side_t *kept = &job->side[job->kept], *streamed = &job->side[!job->kept];
    const int64_t pieces = integer_panels(kept);
    if (!streamed->panels || streamed->is_plain || pieces == 1) return;
    const int64_t bytes = unit->words * streamed->width * streamed->word_bytes;
    const int64_t piece = (bytes / pieces + GANTRY__CPU_LINE_BYTES) & -GANTRY__CPU_LINE_BYTES;
    gantry__cpu_prefetch((uintptr_t)panel + (uintptr_t)(bytes + kept_line / kept->width * piece),
                         (uint64_t)piece);
}

static void multiply_unit(const integer_job_t *job, const integer_unit_t *unit) {
    const integer_side_t *kept = &job->side[job->kept], *streamed = &job->side[!job->kept];
    const int64_t n = job->product->shape.n;
    for (int64_t k = 0; k < kept->count; k += kept->width) {
        const void *kept_panel =
            panel_at(job, kept, unit->matrix * job->kept_lines + k, unit->word);
        const int64_t kept_count = integer_least(kept->count - k, kept->width);
        for (int64_t s = 0; s < unit->count; s += streamed->width) {
            const char *panel = unit->panels + s * unit->line_words * streamed->word_bytes;
            const int64_t count = integer_least(unit->count - s, streamed->width);
            const bool by_rows = job->kept == 1;
            prefetch_after(job, unit, panel, k);
            const int64_t row = by_rows ? unit->first + s : k,
                          column = by_rows ? k : unit->first + s;
            const gantry__integer_part_t part = {.c = unit->c + row * n + column,
                                                 .c_row = n,
                                                 .rows = by_rows ? count : kept_count,
                                                 .columns = by_rows ? kept_count : count,
                                                 .add = unit->word > 0};
            if (by_rows)
                job->multiply((const void *)panel, unit->line_words, kept_panel, unit->words,
                              &part);
            else
                job->multiply(kept_panel, job->words, panel, unit->words, &part);
        }
    }
}

/* Subtracts what zero points and inverted bits added to the unit's part of C. */
static void correct_unit(const integer_job_t *job, const integer_unit_t *unit, const int32_t *sums,
                         const int32_t *zeros) {
    const gantry__matmul_shape_t *shape = &job->product->shape;
    const int32_t *kept_sums = job->side[job->kept].sums + unit->matrix * job->kept_lines,
                  *kept_zeros = job->zeros + unit->matrix * job->kept_lines;
    const bool by_rows = job->kept == 1;
    const int64_t rows = by_rows ? unit->count : shape->m;
    for (int64_t i = 0; i < rows; ++i) {
        const uint32_t zero = (uint32_t)(by_rows ? zeros[i] : kept_zeros[i]);
        const uint32_t sum = (uint32_t)(by_rows ? sums[i] : kept_sums[i]);
        const int32_t rest = (int32_t)(sum - (uint32_t)shape->k * zero);
        int32_t *c =
            unit->c + (by_rows ? (unit->first + i) * shape->n : i * shape->n + unit->first);
        job->loops->correct(c, by_rows ? shape->n : unit->count, (int32_t)zero,
                            by_rows ? kept_sums : sums, rest, by_rows ? kept_zeros : zeros);
    }
}

/* Computes units [begin, end), which are numbered through the matrices. */
static void compute_units(void *context, int64_t begin, int64_t end) {
    const integer_job_t *job = context;
    const gantry__matmul_shape_t *shape = &job->product->shape;
    const integer_side_t *side = &job->side[!job->kept];
    _Alignas(64) uint32_t buffer[BUFFER_WORDS];
    for (int64_t i = begin; i < end; ++i) {
        int32_t sums[UNIT_LINES] = {0}, zeros[UNIT_LINES];
        integer_unit_t unit = {.matrix = i / job->units, .first = i % job->units * job->unit_lines};
        unit.count = integer_least(side->count - unit.first, job->unit_lines);
        unit.c = job->c + (job->first + unit.matrix) * shape->m * shape->n;
        for (; unit.word < job->words; unit.word += job->block) {
            unit.words = integer_least(job->words - unit.word, job->block);
            unit.line_words = side->panels ? job->words : unit.words;
            unit.panels =
                side->panels ? panel_at(job, side, unit.first, unit.word) : (char *)buffer;
            if (!side->panels)
                pack_lines(job, side, job->first + unit.matrix, unit.first, unit.count, unit.word,
                           unit.words, buffer, sums);
            multiply_unit(job, &unit);
        }
        if (!job->corrects) continue;
        read_zeros(job, side, job->first + unit.matrix, unit.first, unit.count, zeros);
        correct_unit(job, &unit, side->panels ? side->sums + unit.first : sums, zeros);
    }
}

/* ---- entry ---- */

static integer_side_t integer_side_of(const gantry_op_call_t *call, const integer_job_t *job,
                                      int place) {
    const gantry__matmul_shape_t *shape = &job->product->shape;
    const gantry__integer_loops_t *loops = job->loops;
    const gantry_arg_t *arg = call->inputs[place];
    const bool is_a = place == 0, wants_unsigned = is_a && loops->a_is_unsigned;
    integer_side_t side = {.elements = arg->data,
                           .dtype = arg->dtype,
                           .count = is_a ? shape->m : shape->n,
                           .across = is_a ? shape->a_row : shape->b_column,
                           .along = is_a ? shape->a_column : shape->b_row,
                           .batch = is_a ? shape->a_batch : shape->b_batch,
                           .zero = &job->product->zero[place],
                           .word_bytes = sizeof(uint32_t)};
    side.inverts = loops->group == 4 && arg->dtype == (wants_unsigned ? GANTRY_INT8 : GANTRY_UINT8);
    side.offset = !side.inverts ? 0 : wants_unsigned ? 128 : -128;
    return side;
}

/* Chooses the panels and the kept side. A form has no panels of one line. */
static void choose_panels(integer_job_t *job, bool may_be_lines) {
    job->kept = job->product->shape.m >= job->product->shape.n ? 1 : 0;
    const integer_side_t *kept = &job->side[job->kept], *streamed = &job->side[!job->kept];
    const bool by_lines = may_be_lines && kept->count <= FEW_LINES && streamed->along == 1;
    job->panel = by_lines ? &job->loops->lines : &job->loops->panels;
    job->multiply = job->side[1].is_short ? job->panel->multiply_short : job->panel->multiply;
    job->corrects = false;
    for (int i = 0; i < 2; ++i) {
        integer_side_t *side = &job->side[i];
        side->width = i == 0 ? job->panel->rows : job->panel->columns;
        side->is_plain = i == 0 && job->panel->a_is_plain;
        side->sum = i == 0 ? job->panel->sum_a : job->panel->sum_b;
        job->corrects = job->corrects || side->offset != 0 || side->zero->arg != NULL;
    }
    job->words = (job->product->shape.k + job->loops->group - 1) / job->loops->group;
    job->block =
        !by_lines && kept->count <= THIN_LINES && streamed->across == 1 ? THIN_WORDS : BLOCK_WORDS;
    job->kept_lines = integer_panels(kept) * kept->width;
}

/* Cuts the streamed side into units: enough for all threads, and each as large as the buffer
 * allows. */
static void cut_units(const gantry_op_call_t *call, integer_job_t *job) {
    const int64_t threads = call->device->pool ? gantry__cpu_pool_threads(call->device->pool) : 1;
    const integer_side_t *side = &job->side[!job->kept];
    int64_t panels = BUFFER_WORDS / (integer_least(job->words, job->block) * side->width);
    panels = integer_least(panels, UNIT_LINES / side->width);
    panels = integer_least(panels, (integer_panels(side) + 2 * threads - 1) / (2 * threads));
    job->unit_lines = panels * side->width;
    job->units = (side->count + job->unit_lines - 1) / job->unit_lines;
}

/* A place of so many words for panels, with their sums after it. */
static void place_panels(integer_side_t *side, void *memory, int64_t words) {
    side->panels = memory;
    side->sums = (int32_t *)(void *)(side->panels + words * side->word_bytes);
}

/* Makes the panels of B short, or not, if they can be. */
static void set_short(integer_job_t *job, bool is_short) {
    integer_side_t *side = &job->side[1];
    if (!job->loops->panels.multiply_short || gantry__k_size(side->dtype) != 1) return;
    side->is_short = is_short;
    side->word_bytes = is_short ? sizeof(uint16_t) : sizeof(uint32_t);
    side->offset = is_short && side->dtype == GANTRY_UINT8 ? -128 : 0;
    choose_panels(job, false);
}

/* Finds the form of a constant. */
static void find_integer_form(gantry_op_call_t *call, integer_job_t *job, int place) {
    integer_side_t *side = &job->side[place];
    const int64_t lines = integer_panels(side) * side->width, words = lines * job->words;
    const uint64_t number = (uint64_t)side->dtype << 48 | (uint64_t)side->count << 3 |
                            (uint64_t)place << 2 | (uint64_t)job->corrects << 1 |
                            (side->along == 1);
    char *memory;
    if (job->product->shape.batches > 1 || job->side[!place].count > GANTRY_CPU_FORM_LINES) return;
    memory = gantry__cpu_form(call, (uint32_t)place, number,
                              (uint64_t)(words * side->word_bytes) +
                                  (uint64_t)(job->corrects ? lines : 0) * sizeof(int32_t),
                              &side->is_packed);
    if (!memory) return;
    place_panels(side, memory, words);
    pack_all(call, job, place, 1);
    side->is_packed = true;
    job->block = BLOCK_WORDS;
}

static void read_kept_zeros(const integer_job_t *job, int64_t matrices) {
    const integer_side_t *side = &job->side[job->kept];
    for (int64_t i = 0; i < matrices && job->corrects; ++i)
        read_zeros(job, side, job->first + i, 0, side->count, job->zeros + i * job->kept_lines);
}

/* Computes the batch, as many matrices at a time as the kept panels of KEPT_WORDS are. */
static int32_t run_job(gantry_op_call_t *call, integer_job_t *job) {
    const gantry__matmul_shape_t *shape = &job->product->shape;
    integer_side_t *kept = &job->side[job->kept];
    const int64_t words = job->kept_lines * job->words;
    const int64_t fit = words < KEPT_WORDS ? KEPT_WORDS / words : 1,
                  most = integer_least(fit, shape->batches);
    const int64_t lines = most * job->kept_lines;
    const int64_t zeros = job->corrects ? lines : 0,
                  packed = kept->panels ? 0 : most * words + zeros;
    gantry_span_t span;
    GANTRY__TRY(
        call->services->scratch(call, (uint64_t)(zeros + packed) * sizeof(uint32_t), &span));
    char *memory = (char *)(uintptr_t)(span.region + span.offset_bytes);
    job->zeros = (int32_t *)(void *)memory + packed;
    if (!kept->panels) place_panels(kept, memory, most * words);
    const int64_t unit = job->unit_lines * kept->count * shape->k;
    for (job->first = 0; job->first < shape->batches; job->first += most) {
        const int64_t matrices = integer_least(shape->batches - job->first, most);
        pack_all(call, job, job->kept, matrices);
        read_kept_zeros(job, matrices);
        gantry__cpu_parallel_for(call->device, matrices * job->units, WORTH_A_THREAD / unit + 1,
                                 compute_units, job);
    }
    return GANTRY_OK;
}

/* Products of bool are computed as numbers of int32. */
static int32_t place_results(gantry_op_call_t *call, int32_t **out) {
    const gantry_arg_t *output = call->outputs[0];
    gantry_span_t span;
    *out = output->data;
    if (output->dtype == GANTRY_INT32) return GANTRY_OK;
    GANTRY__TRY(
        call->services->scratch(call, (uint64_t)output->element_count * sizeof(int32_t), &span));
    *out = (int32_t *)(uintptr_t)(span.region + span.offset_bytes);
    return GANTRY_OK;
}

static int32_t matmul_integer_cpu_compute(gantry_op_call_t *call) {
    const gantry_arg_t *output = call->outputs[0];
    gantry__integer_product_t product;
    if (output->element_count == 0) return GANTRY_OK;
    if (call->inputs[0]->element_count == 0) { /* sums of no terms */
        memset(output->data, 0, (size_t)output->element_count * gantry__k_size(output->dtype));
        return GANTRY_OK;
    }
    gantry__integer_product_of(call, &product);
    integer_job_t job = {
        .product = &product,
        .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), integer_loops)(
            call->inputs[0]->dtype, gantry__cpu_has_dots(call->device))};
    for (int i = 0; i < 2; ++i) job.side[i] = integer_side_of(call, &job, i);
    choose_panels(&job, false);
    set_short(&job, true);
    find_integer_form(call, &job, 1);
    if (!job.side[1].panels) {
        set_short(&job, false);
        find_integer_form(call, &job, 0);
    }
    if (!job.side[0].panels && !job.side[1].panels) choose_panels(&job, true);
    cut_units(call, &job);
    GANTRY__TRY(place_results(call, &job.c));
    GANTRY__TRY(run_job(call, &job));
    if (output->dtype != GANTRY_INT32) {
        gantry__cpu_convert(call->device, GANTRY_INT32, job.c, output->dtype, output->data,
                            output->element_count, 0);
    }
    return GANTRY_OK;
}

static const gantry_kernel_def_t matmul_integer = GANTRY_K_DEFINITION(
    "MatMulInteger", gantry__matmul_integer_types, GANTRY_K_COUNT_OF(gantry__matmul_integer_types),
    NULL, 0, .compute = matmul_integer_cpu_compute);
const gantry_kernel_def_t *const gantry__cpu_matmul_integer_kernels[] = {&matmul_integer};
const uint32_t gantry__cpu_matmul_integer_kernel_count =
    GANTRY_K_COUNT_OF(gantry__cpu_matmul_integer_kernels);
