/* How the loops over costly functions of float32 are run where they are made of vectors (cpu_elementwise_loops.h): the
 * loop itself takes whole blocks alone, or each function would be there a second time for the elements left over, and
 * again for each operand that may be a scalar. Included once by cpu_elementwise_simd.c. */
#define GANTRY_BLOCK_LANES 16 /* elements of a block; more vectors than one where vectors are shorter */

enum { FILLED_ELEMENTS = 256 };

/* out[i] = f(x[i], y[i]) for i < count, a multiple of GANTRY_BLOCK_LANES. */
typedef void (*whole_loop_fn)(const float *x, const float *y, float *out, int64_t count);

static void fill(float *values, float value)
{
    for (int i = 0; i < FILLED_ELEMENTS; i++) {
        values[i] = value;
    }
}

/* A step is 1, or 0 for a scalar. What is missing in the last block is its first element again. */
static void in_blocks(whole_loop_fn loop, const float *x, int64_t x_step, const float *y, int64_t y_step, float *out,
                      int64_t count)
{
    const int64_t whole = count & -(int64_t)GANTRY_BLOCK_LANES;
    const int64_t rest = count - whole;
    const int64_t most = x_step + y_step == 2 ? whole : FILLED_ELEMENTS;
    float xs[FILLED_ELEMENTS];
    float ys[FILLED_ELEMENTS];
    float few[GANTRY_BLOCK_LANES];

    if (x_step == 0) {
        fill(xs, x[0]);
    }
    if (y_step == 0) {
        fill(ys, y[0]);
    }
    for (int64_t i = 0; i < whole; i += most) {
        loop(x_step == 0 ? xs : x + i, y_step == 0 ? ys : y + i, out + i, whole - i < most ? whole - i : most);
    }
    if (rest == 0) {
        return;
    }
    for (int64_t e = 0; e < GANTRY_BLOCK_LANES; e++) {
        const int64_t at = whole + (e < rest ? e : 0);
        xs[e] = x[at * x_step];
        ys[e] = y[at * y_step];
    }
    loop(xs, ys, few, GANTRY_BLOCK_LANES);
    memcpy(out + whole, few, (size_t)rest * sizeof *few);
}
