/* SPDX-License-Identifier: Apache-2.0 */
/* conv_filter.cl on processors: a lane is a work-item, which is one core. It must come after
 * opencl_cpu_tile.cl; conv_filter.cl is included between this text's two halves. */
#define GANTRY_FILTER_T T
#define GANTRY_FILTER_SPACE __global
#define GANTRY_FILTER_NAME(name) name
#define GANTRY_FILTER_PACK(q, grad, columns, places, to) \
    pack_columns(to, grad, columns, places, 1, (q)->n, 0)
#define GANTRY_FILTER_MULTIPLY(q, a, a_step, b, b_panel, places, c, rows, columns) \
    multiply_steps(a, a_step, b, b_panel, places, c, (q)->n, rows, columns)
#define STEPS_STEP         \
    {                      \
        VECTORS(READ_B, 0) \
        ROWS(ROW_STEP)     \
        a += a_step;       \
        b += NR;           \
    }

/* Adds to MR x NR of c, or as much of it as exists, a panel of A, whose columns are a_step elements
 * apart, times a packed panel of B. */
static void steps_tile(long depth, __global const T *a, long a_step, __global const T *b,
                       __global T *c, long c_row, long rows, long columns) {
    ROWS(ROW_CLEAR)
    for (; depth >= 4; depth -= 4) {
        STEPS_STEP STEPS_STEP STEPS_STEP STEPS_STEP
    }
    for (; depth > 0; --depth) {
        STEPS_STEP
    }
    TILE_STORE(c, c_row, 1, rows, columns, 0)
}

BODY_FN void multiply_steps(__global const T *a, long a_step, __global const T *b, long b_panel,
                            long depth, __global T *c, long c_row, long rows, long columns) {
    for (long j = 0; j < columns; j += NR, b += b_panel) {
        steps_tile(depth, a, a_step, b, c + j, c_row, rows, columns - j);
    }
}
