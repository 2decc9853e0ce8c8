/* SPDX-License-Identifier: Apache-2.0 */
/* The units of one level of a reduction, whatever the type: which rows, lanes and columns the loops
 * (reduce_cpu_body.h) take, and where results go.
 *
 * Three forms give the same bits:
 *   small   rows of less than 64 elements: 64 rows are transposed, the lanes of the tree
 *           are then whole vectors
 *   narrow  up to 512 bytes of columns: 64 rows of the input have in memory the order that the
 *           lanes have in acc
 *   wide    more columns: lane by lane in the order in which the fold needs them, so that seven
 *           rows of sums are enough:
 *
 *             fold of lanes 0..63:      ((0 + 32) + (16 + 48)) + ...
 *                                        `--v--'   `---v---'
 *                                     node(0, 32)  node(16, 32)
 *
 *             node(l, h) = node(l, 2h) + node(l + h, 2h)
 *             node(l, 64) = rows l, l + 64, l + 128, ...
 *
 * Owner: the entry point owns what a plan points to. Threads: thread-safe for units that differ. */
#include "kernels/reduce/reduce_cpu.h"

#define LANES GANTRY_REDUCE_LANES

/* The work of a unit: the plan, the loops, and sizes that follow from them. */
typedef struct {
    const gantry__cpu_reduce_loops_t *loops;
    const gantry__cpu_reduce_plan_t *plan;
    int64_t ahead; /* the `ahead` of loops->line */
} work_t;

static const char *input_at(const work_t *work, int64_t element) {
    return (const char *)work->plan->in + element * work->loops->in_bytes;
}

static int64_t rows_of_chunk(const gantry__cpu_reduce_plan_t *plan, int64_t row) {
    return plan->shape.length - row < GANTRY_REDUCE_CHUNK ? plan->shape.length - row
                                                          : GANTRY_REDUCE_CHUNK;
}

/* ---- small ---- */

/* Transposes some rows at a time, so few that the ends of all stay in the first-level cache. */
#define TURNED 8
#define TURN(type)                                                                          \
    static void transpose_##type(type *restrict out, const type *restrict in, int64_t rows, \
                                 int64_t length) {                                          \
        int64_t k = 0;                                                                      \
        for (; k + TURNED <= length; k += TURNED) {                                         \
            for (int64_t i = 0; i < rows; ++i) {                                            \
                for (int64_t j = 0; j < TURNED; ++j) {                                      \
                    out[(k + j) * LANES + i] = in[i * length + k + j];                      \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
        for (; k < length; ++k) {                                                           \
            for (int64_t i = 0; i < rows; ++i) {                                            \
                out[k * LANES + i] = in[i * length + k];                                    \
            }                                                                               \
        }                                                                                   \
    }
TURN(uint8_t)
TURN(uint16_t)
TURN(uint32_t)
TURN(uint64_t)

static void transpose_units(int64_t bytes, void *out, const void *in, int64_t rows,
                            int64_t length) {
    switch (bytes) {
        case 1: transpose_uint8_t(out, in, rows, length); break;
        case 2: transpose_uint16_t(out, in, rows, length); break;
        case 4: transpose_uint32_t(out, in, rows, length); break;
        default: transpose_uint64_t(out, in, rows, length); break;
    }
}

static void run_small_rows(const work_t *work, int64_t row, int64_t rows) {
    _Alignas(64) char entered[LANES * LANES * sizeof(float)],
        transposed[LANES * LANES * sizeof(double)];
    const gantry__cpu_reduce_loops_t *loops = work->loops;
    const int64_t length = work->plan->shape.length, width_bytes = LANES * loops->acc_bytes;
    int64_t half = 1;
    if (rows < LANES) {
        loops->fill(transposed, length * LANES);
    }
    /* all rows, except for long rows of wide types */
    for (int64_t i = 0, some; i < rows; i += some) {
        some = rows - i;
        if (some * length * loops->acc_bytes > (int64_t)sizeof entered) {
            some = (int64_t)sizeof entered / (length * loops->acc_bytes);
        }
        loops->enter(entered, input_at(work, (row + i) * length), some * length);
        transpose_units(loops->acc_bytes, transposed + i * loops->acc_bytes, entered, some, length);
    }
    while (half * 2 < length) {
        half *= 2;
    }
    for (; half > 0; half /= 2) {
        const int64_t count = length - half < half ? length - half : half;
        if (count > 0) {
            loops->join(transposed, transposed + half * width_bytes, count * LANES);
        }
    }
    loops->put(work->plan, transposed, rows, row);
}

static void run_small(const work_t *work, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row += LANES) {
        run_small_rows(work, row, end - row < LANES ? end - row : LANES);
    }
}

/* ---- one column ---- */

enum { RESULTS = 64 }; /* results that are written together */

static const char *line_of(const work_t *work, int64_t unit, int64_t *out_count) {
    const gantry__cpu_reduce_plan_t *plan = work->plan;
    const int64_t sequence = plan->chunks == 1 ? unit : unit / plan->chunks;
    const int64_t row = (unit - sequence * plan->chunks) * GANTRY_REDUCE_CHUNK;
    *out_count = rows_of_chunk(plan, row);
    return input_at(work, gantry__reduce_offset(&plan->shape.kept, sequence) + row);
}

static void run_lines(const work_t *work, int64_t begin, int64_t end) {
    _Alignas(64) char results[RESULTS * sizeof(double)];
    for (int64_t unit = begin; unit < end;) {
        const int64_t some = end - unit < RESULTS ? end - unit : RESULTS;
        for (int64_t i = 0; i < some; ++i) {
            int64_t count;
            const char *x = line_of(work, unit + i, &count);
            work->loops->line(results + i * work->loops->acc_bytes, x, count, work->ahead);
        }
        work->loops->put(work->plan, results, some, unit);
        unit += some;
    }
}

/* Reduces the first half of the lines together with the second half. */
static void run_pairs(const work_t *work, int64_t begin, int64_t end) {
    _Alignas(64) char results[RESULTS * sizeof(double)], others[RESULTS * sizeof(double)];
    const int64_t apart = (end - begin) / 2, middle = begin + apart;
    for (int64_t unit = begin; unit < middle;) {
        const int64_t some = middle - unit < RESULTS ? middle - unit : RESULTS;
        for (int64_t i = 0; i < some; ++i) {
            int64_t count;
            const char *x = line_of(work, unit + i, &count),
                       *y = line_of(work, unit + apart + i, &count);
            const int64_t at = i * work->loops->acc_bytes;
            work->loops->pair(results + at, others + at, x, y, count);
        }
        work->loops->put(work->plan, results, some, unit);
        work->loops->put(work->plan, others, some, unit + apart);
        unit += some;
    }
    run_lines(work, middle + apart, end);
}

/* Whether all lines have the same number of whole rows of lanes. */
static bool lines_are_even(const gantry__cpu_reduce_plan_t *plan) {
    return plan->shape.length % (plan->chunks == 1 ? LANES : GANTRY_REDUCE_CHUNK) == 0;
}

/* ---- narrow ---- */

/* Adds adjacent rows, the first of which belongs to lane 0. */
static void add_rows(const work_t *work, char *acc, const char *x, int64_t rows) {
    const int64_t columns = work->plan->shape.columns, period = LANES * columns;
    const int64_t rounds = rows / LANES, rest = rows % LANES;
    if (rounds > 0) {
        work->loops->add(acc, x, rounds, period, period);
    }
    if (rest > 0) {
        work->loops->add(acc, x + rounds * period * work->loops->in_bytes, 1, 0, rest * columns);
    }
}

/* Sums such rows. If there are few, their first elements are copied rather than added. */
static void sum_rows(const work_t *work, char *acc, const char *x, int64_t rows, int64_t lanes) {
    const int64_t columns = work->plan->shape.columns;
    if (rows < lanes || rows >= 2 * LANES) {
        work->loops->fill(acc, lanes * columns);
        add_rows(work, acc, x, rows);
        return;
    }
    work->loops->enter(acc, x, lanes * columns);
    if (rows > lanes) {
        work->loops->add(acc, x + lanes * columns * work->loops->in_bytes, 1, 0,
                         (rows - lanes) * columns);
    }
}

/* Adds rows of a sequence in which only runs are adjacent. */
static void add_runs(const work_t *work, char *acc, int64_t base, int64_t row, int64_t rows) {
    const gantry__reduce_axes_t *reduced = &work->plan->shape.reduced;
    const int64_t columns = work->plan->shape.columns;
    const int64_t run = reduced->dims[reduced->rank - 1];
    int64_t lane = 0;
    while (rows > 0) {
        const char *x = input_at(work, base + gantry__reduce_offset(reduced, row));
        int64_t piece = run - row % run < rows ? run - row % run : rows;
        row += piece;
        rows -= piece;
        if (lane > 0) {
            const int64_t head = LANES - lane < piece ? LANES - lane : piece;
            work->loops->add(acc + lane * columns * work->loops->acc_bytes, x, 1, 0,
                             head * columns);
            x += head * columns * work->loops->in_bytes;
            piece -= head;
            lane = (lane + head) % LANES;
        }
        if (piece > 0) {
            add_rows(work, acc, x, piece);
            lane = piece % LANES;
        }
    }
}

static void run_narrow(const work_t *work, int64_t begin, int64_t end) {
    _Alignas(64) char acc[LANES * GANTRY_CPU_REDUCE_NARROW_BYTES];
    const gantry__cpu_reduce_plan_t *plan = work->plan;
    const gantry__reduce_shape_t *shape = &plan->shape;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t row = unit % plan->chunks * GANTRY_REDUCE_CHUNK,
                      rows = rows_of_chunk(plan, row);
        const int64_t base = gantry__reduce_offset(&shape->kept, unit / plan->chunks);
        int64_t lanes = LANES;
        while (lanes / 2 >= rows && shape->columns > 1) {
            lanes /= 2;
        }
        if (shape->reduced.rank > 1) {
            work->loops->fill(acc, lanes * shape->columns);
            add_runs(work, acc, base, row, rows);
        } else {
            sum_rows(work, acc, input_at(work, base + row * shape->columns), rows, lanes);
        }
        work->loops->fold(acc, lanes, shape->columns);
        work->loops->put(plan, acc, shape->columns, unit * shape->columns);
    }
}

/* ---- wide ---- */

typedef struct {
    work_t work;
    int64_t base; /* an element of the unit's column 0 */
    int64_t row;  /* the chunk's first row */
    int64_t rows;
    int64_t width; /* columns of the unit */
} wide_t;

static const char *reduce_cpu_units_row_of(const wide_t *wide, int64_t row) {
    const gantry__reduce_axes_t *reduced = &wide->work.plan->shape.reduced;
    return input_at(&wide->work, wide->base + gantry__reduce_offset(reduced, wide->row + row));
}

/* Sums the rows of one lane into target. */
static void sum_lane(const wide_t *wide, int64_t lane, char *target) {
    const gantry__cpu_reduce_loops_t *loops = wide->work.loops;
    const gantry__reduce_axes_t *reduced = &wide->work.plan->shape.reduced;
    loops->fill(target, wide->width);
    if (reduced->rank == 1) {
        const int64_t rounds = (wide->rows - lane + LANES - 1) / LANES;
        loops->add(target, reduce_cpu_units_row_of(wide, lane), rounds, reduced->strides[0] * LANES,
                   wide->width);
        return;
    }
    for (int64_t row = lane; row < wide->rows; row += LANES) {
        loops->add(target, reduce_cpu_units_row_of(wide, row), 1, 0, wide->width);
    }
}

/* Folds up to four lanes of one row each, first, first + apart, ..., in one pass. */
static void fold_few(const wide_t *wide, int64_t first, int64_t apart, int64_t count,
                     char *target) {
    const void *rows[4];
    for (int64_t i = 0; i < count; ++i) {
        rows[i] = reduce_cpu_units_row_of(wide, first + i * apart);
    }
    if (count == 1) {
        wide->work.loops->enter(target, rows[0], wide->width);
        return;
    }
    wide->work.loops->few(target, rows, count, wide->width);
}

/* Folds lanes first, first + apart, first + 2 apart, ... into target. stack must have room for one
 * row for each open fold. */
static void fold_node(const wide_t *wide, int64_t first, int64_t apart, char *target, char *stack) {
    const int64_t count = (wide->rows - first + apart - 1) / apart;
    if (wide->work.loops->few && wide->rows <= LANES && count <= 4) {
        fold_few(wide, first, apart, count, target);
        return;
    }
    if (apart == LANES) {
        sum_lane(wide, first, target);
        return;
    }
    fold_node(wide, first, 2 * apart, target, stack);
    if (first + apart < wide->rows) {
        fold_node(wide, first + apart, 2 * apart, stack,
                  stack + wide->width * wide->work.loops->acc_bytes);
        wide->work.loops->join(target, stack, wide->width);
    }
}

static void run_wide(const work_t *work, int64_t begin, int64_t end) {
    _Alignas(64) char stack[7 * GANTRY_CPU_REDUCE_ROW_BYTES]; /* the result and six open folds */
    const gantry__cpu_reduce_plan_t *plan = work->plan;
    const gantry__reduce_shape_t *shape = &plan->shape;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t column = unit % plan->blocks * plan->block, sequence = unit / plan->blocks;
        const int64_t row = sequence % plan->chunks * GANTRY_REDUCE_CHUNK;
        const wide_t wide = {
            .work = *work,
            .base = gantry__reduce_offset(&shape->kept, sequence / plan->chunks) + column,
            .row = row,
            .rows = rows_of_chunk(plan, row),
            .width = shape->columns - column < plan->block ? shape->columns - column : plan->block};
        fold_node(&wide, 0, 1, stack, stack + wide.width * work->loops->acc_bytes);
        work->loops->put(plan, stack, wide.width, sequence * shape->columns + column);
    }
}

void gantry__cpu_reduce_units(const gantry__cpu_reduce_loops_t *loops,
                              const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end) {
    const gantry__reduce_shape_t *shape = &plan->shape;
    const int64_t bytes = shape->outer * shape->length * shape->columns * loops->in_bytes;
    const bool is_far = bytes > GANTRY_CPU_REDUCE_FAR_BYTES,
               prefetches = is_far && !plan->reads_ahead;
    const work_t work = {loops, plan, prefetches ? GANTRY_CPU_REDUCE_AHEAD / loops->in_bytes : 0};
    if (shape->columns * loops->acc_bytes > GANTRY_CPU_REDUCE_NARROW_BYTES) {
        run_wide(&work, begin, end);
    } else if (shape->columns > 1 || shape->reduced.rank > 1) {
        run_narrow(&work, begin, end);
    } else if (shape->length < LANES && end - begin > 4 && shape->kept.rank == 1) {
        run_small(&work, begin, end);
    } else if (is_far && !prefetches && loops->pair && lines_are_even(plan)) {
        run_pairs(&work, begin, end);
    } else {
        run_lines(&work, begin, end);
    }
}
