/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops that are not an expression of one type: Cast, Select, Fill, ZerosLike, OnesLike,
 * Range, LinSpace, AddN, BiasAdd. */
#include <string.h>

#include "kernels/elementwise/elementwise_cpu.h"

#define BLOCK_ELEMENTS 2048 /* for AddN, LinSpace and Select: fits in the first-level cache */
#define CAST_ELEMENTS 1024  /* for a Cast in two steps */

/* ---- Cast ----
 *
 * Most pairs of types have a loop. The rarer integers go through int64, block by block: their sign
 * is kept on the way to it, and on the way back they take its lowest bits, or the nearest value if
 * a float was converted to int64. uint64 has loops of its own from and to floats, so halves are
 * converted to it by way of float32. */

typedef struct cast_t {
    gantry__cpu_loop_fn first;
    gantry__cpu_loop_fn second; /* NULL: one step is enough */
    const char *x;
    char *out;
    uint32_t x_bytes;
    uint32_t out_bytes;
} cast_t;

void gantry__cpu_cast_loops(int level, int32_t from, int32_t to, bool truncate,
                            gantry__cpu_loop_fn *out_first, gantry__cpu_loop_fn *out_second) {
    const uint32_t x = gantry__cpu_type_column(from), out = gantry__cpu_type_column(to);
    const bool in_float32 =
        (GANTRY__TYPE_IS(from, NARROW_FLOATS) || GANTRY__TYPE_IS(to, NARROW_FLOATS)) &&
        GANTRY_CPU_PICK(level, convert_loop)(x, GANTRY_CPU_COLUMN_f32, 0) &&
        GANTRY_CPU_PICK(level, convert_loop)(GANTRY_CPU_COLUMN_f32, out, 0);
    const uint32_t between = gantry__cpu_type_column(in_float32 ? GANTRY_FLOAT32 : GANTRY_INT64);

    *out_first = GANTRY_CPU_PICK(level, convert_loop)(x, out, truncate);
    *out_second = NULL;
    if (!*out_first) {
        *out_first = GANTRY_CPU_PICK(level, convert_loop)(x, between, 0);
        *out_second = gantry__type_exponent_bits(from) > 0 && !in_float32
                          ? GANTRY_CPU_PICK(level, clamp_loop)(out)
                          : GANTRY_CPU_PICK(level, convert_loop)(between, out, 0);
    }
}

static void cast_part(void *context, int64_t begin, int64_t end) {
    const cast_t *cast = context;
    _Alignas(64) char block[CAST_ELEMENTS * 8];

    for (; begin < end; begin += CAST_ELEMENTS) {
        const int64_t count = end - begin < CAST_ELEMENTS ? end - begin : CAST_ELEMENTS;

        cast->first(cast->x + begin * cast->x_bytes, NULL, block, count);
        cast->second(block, NULL, cast->out + begin * cast->out_bytes, count);
    }
}

void gantry__cpu_convert(gantry_backend_device_t *device, int32_t from, const void *x, int32_t to,
                         void *out, int64_t count, bool truncate) {
    cast_t cast = {
        .x = x, .out = out, .x_bytes = gantry__k_size(from), .out_bytes = gantry__k_size(to)};

    gantry__cpu_cast_loops(device->simd_level, from, to, truncate, &cast.first, &cast.second);
    if (cast.second) {
        gantry__cpu_parallel_for(device, count, GANTRY_CPU_CHEAP_GRAIN, cast_part, &cast);
        return;
    }
    gantry__cpu_map_t map = {.loop = cast.first,
                             .x = x,
                             .y = x,
                             .out = out,
                             .x_bytes = cast.x_bytes,
                             .y_bytes = 0,
                             .out_bytes = cast.out_bytes,
                             .simd_level = device->simd_level};
    gantry__cpu_map_dense(device, &map, count, GANTRY_CPU_CHEAP_GRAIN);
}

static int32_t cpu_compute_cast(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *out = call->outputs[0];

    gantry__cpu_convert(call->device, x->dtype, x->data, out->dtype, out->data, out->element_count,
                        gantry__k_attr_int(call, "Truncate", 0) != 0);
    return GANTRY_OK;
}

/* ---- Select ---- */

typedef struct select_t {
    gantry__k_plan_t plan; /* its operands are condition, x, y */
    const gantry_arg_t *inputs[3];
    char *out;
    uint32_t bytes; /* bytes of an element of out */
    int level;
    bool is_dense[3];
} select_t;

/* Returns the operand's elements [begin, begin + count) as the output sees them: in place, or
 * gathered into block. */
static const char *select_operand(const select_t *select, int32_t k, int64_t begin, int64_t count,
                                  char *block) {
    const uint32_t bytes = k == 0 ? 1 : select->bytes;
    const char *data = select->inputs[k]->data;

    if (select->is_dense[k]) return data + begin * bytes;
    gantry__cpu_gather(&select->plan, k, data, bytes, begin, count, block);
    return block;
}

static void select_part(void *context, int64_t begin, int64_t end) {
    const select_t *select = context;
    _Alignas(64) char conditions[BLOCK_ELEMENTS], blocks[2][BLOCK_ELEMENTS * 8];

    const int64_t most = select->bytes > 8 ? BLOCK_ELEMENTS / 2 : BLOCK_ELEMENTS;
    while (begin < end) {
        const int64_t count = end - begin < most ? end - begin : most;
        const char *condition = select_operand(select, 0, begin, count, conditions);
        const char *x = select_operand(select, 1, begin, count, blocks[0]);
        const char *y = select_operand(select, 2, begin, count, blocks[1]);

        GANTRY_CPU_PICK(select->level, select_loop)
        (select->bytes, (const uint8_t *)condition, x, y, select->out + begin * select->bytes,
         count);
        begin += count;
    }
}

static int32_t cpu_compute_select(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    select_t select = {
        .out = out->data, .bytes = gantry__k_size(out->dtype), .level = call->device->simd_level};

    gantry__k_plan_broadcast(&select.plan, out, call->inputs, 3);
    for (int32_t k = 0; k < 3; ++k) {
        select.inputs[k] = call->inputs[k];
        select.is_dense[k] = call->inputs[k]->element_count == out->element_count;
    }
    gantry__cpu_parallel_for(call->device, out->element_count, GANTRY_CPU_CHEAP_GRAIN, select_part,
                             &select);
    return GANTRY_OK;
}

/* ---- Fill, ZerosLike, OnesLike ---- */

typedef struct fill_t {
    const void *value;
    char *out;
    uint32_t bytes;
    int level;
    bool stream;
} fill_t;

static void elementwise_cpu_other_fill_part(void *context, int64_t begin, int64_t end) {
    const fill_t *fill = context;

    GANTRY_CPU_PICK(fill->level, fill_loop)
    (fill->bytes, fill->value, fill->out + begin * fill->bytes, end - begin, fill->stream);
}

static int32_t fill_output(gantry_op_call_t *call, const void *value) {
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry__k_size(out->dtype);
    fill_t fill = {value, out->data, bytes, call->device->simd_level,
                   out->element_count * bytes >= GANTRY_CPU_STREAM_BYTES};

    gantry__cpu_parallel_for(call->device, out->element_count, 4 * GANTRY_CPU_CHEAP_GRAIN,
                             elementwise_cpu_other_fill_part, &fill);
    return GANTRY_OK;
}

static int32_t cpu_compute_fill(gantry_op_call_t *call) {
    return fill_output(call, call->inputs[1]->data);
}

static int32_t cpu_compute_zeros_like(gantry_op_call_t *call) {
    static const uint64_t zero[2] = {0};

    return fill_output(call, zero);
}

static int32_t cpu_compute_ones_like(gantry_op_call_t *call) {
    const uint64_t one[2] = {gantry__type_placed_one(call->outputs[0]->dtype)};

    return fill_output(call, one);
}

/* ---- Range ---- */

typedef struct range_t {
    const void *start;
    const void *delta;
    char *out;
    uint32_t column;
    uint32_t bytes;
    int level;
} range_t;

static void range_part(void *context, int64_t begin, int64_t end) {
    const range_t *range = context;

    GANTRY_CPU_PICK(range->level, range_loop)
    (range->column, range->start, range->delta, begin, range->out + begin * range->bytes,
     end - begin);
}

static int32_t cpu_compute_range(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    range_t range = {call->inputs[0]->data,
                     call->inputs[2]->data,
                     out->data,
                     gantry__cpu_type_column(out->dtype),
                     gantry__k_size(out->dtype),
                     call->device->simd_level};

    gantry__cpu_parallel_for(call->device, out->element_count, GANTRY_CPU_CHEAP_GRAIN, range_part,
                             &range);
    return GANTRY_OK;
}

/* ---- LinSpace: a Range, of halves in float32, whose ends are start and stop themselves ---- */

typedef union computed_t {
    float f32;
    double f64;
} computed_t;

typedef struct lin_space_t {
    range_t range; /* range_t of the type that is computed in */
    char *out;
    uint32_t bytes;
    gantry__cpu_loop_fn narrow; /* NULL: the range has out's type */
} lin_space_t;

static void lin_space_part(void *context, int64_t begin, int64_t end) {
    const lin_space_t *space = context;
    _Alignas(64) char block[BLOCK_ELEMENTS * sizeof(float)];

    for (int64_t count = end - begin; begin < end; begin += count) {
        char *out = space->out + begin * space->bytes;

        count = space->narrow && end - begin > BLOCK_ELEMENTS ? BLOCK_ELEMENTS : end - begin;
        GANTRY_CPU_PICK(space->range.level, range_loop)
        (space->range.column, space->range.start, space->range.delta, begin,
         space->narrow ? block : out, count);
        if (space->narrow) {
            space->narrow(block, NULL, out, count);
        }
    }
}

static int32_t cpu_compute_lin_space(gantry_op_call_t *call) {
    const gantry_arg_t *start = call->inputs[0], *stop = call->inputs[1], *out = call->outputs[0];
    const bool is_half = gantry__k_is_half(out->dtype);
    const int level = call->device->simd_level;
    const uint32_t column = gantry__cpu_type_column(out->dtype);
    const uint32_t computed = is_half ? gantry__cpu_type_column(GANTRY_FLOAT32) : column;
    const gantry__cpu_loop_fn widen = GANTRY_CPU_PICK(level, convert_loop)(column, computed, 0);
    const int64_t last = out->element_count - 1;
    computed_t from, to, step;
    lin_space_t space = {
        .range = {.start = &from, .delta = &step, .column = computed, .level = level},
        .out = out->data,
        .bytes = gantry__k_size(out->dtype),
        .narrow = is_half ? GANTRY_CPU_PICK(level, convert_loop)(computed, column, 0) : NULL};

    widen(start->data, NULL, &from, 1);
    widen(stop->data, NULL, &to, 1);
    if (out->dtype == GANTRY_FLOAT64) {
        step.f64 = (to.f64 - from.f64) / (double)last;
    } else {
        step.f32 = (to.f32 - from.f32) / (float)last;
    }
    gantry__cpu_parallel_for(call->device, out->element_count, GANTRY_CPU_CHEAP_GRAIN,
                             lin_space_part, &space);
    memcpy(space.out + last * space.bytes, stop->data, space.bytes);
    memcpy(space.out, start->data, space.bytes);
    return GANTRY_OK;
}

/* ---- AddN: from left to right, block by block so that the sum stays in the cache ---- */

/* further inputs between two roundings of a half, as in kernels/elementwise/add_n.cl */
#define SUMMED_AT_ONCE 7

typedef struct add_n_t {
    const gantry_op_call_t *call;
    gantry__cpu_map_t add;
} add_n_t;

/* Returns `source` in the type of the loop. */
static const char *widened(const gantry__cpu_map_t *add, const char *source, char *block,
                           int64_t count) {
    if (!add->widen) return source;
    add->widen(source, NULL, block, count);
    return block;
}

static void add_n_part(void *context, int64_t begin, int64_t end) {
    const add_n_t *job = context;
    const gantry__cpu_map_t *add = &job->add;
    const uint32_t inputs = job->call->input_count;
    char *out = job->call->outputs[0]->data;
    /* the output may be an input that is read later */
    _Alignas(64) char sum[BLOCK_ELEMENTS * 8];
    _Alignas(64) char rounded[BLOCK_ELEMENTS * 2];
    _Alignas(64) char wide[BLOCK_ELEMENTS * 4];

    while (begin < end) {
        const int64_t count = end - begin < BLOCK_ELEMENTS ? end - begin : BLOCK_ELEMENTS;
        const int64_t offset = begin * add->x_bytes;
        const char *first =
            widened(add, (const char *)job->call->inputs[0]->data + offset, sum, count);

        for (uint32_t k = 1; k < inputs; ++k) {
            add->loop(first,
                      widened(add, (const char *)job->call->inputs[k]->data + offset, wide, count),
                      sum, count);
            first = sum;
            if (add->narrow && (k % SUMMED_AT_ONCE == 0 || k + 1 == inputs)) {
                add->narrow(sum, NULL, rounded, count);
                first = k + 1 == inputs ? rounded : widened(add, rounded, sum, count);
            }
        }
        if (inputs == 1) {
            first = (const char *)job->call->inputs[0]->data + offset;
        }
        memmove(out + offset, first, (size_t)(count * add->x_bytes));
        begin += count;
    }
}

static int32_t cpu_compute_add_n(gantry_op_call_t *call) {
    add_n_t job = {.call = call};

    gantry__cpu_map_find(&job.add, call, GANTRY_K_ROW_Add);
    gantry__cpu_parallel_for(call->device, call->outputs[0]->element_count, GANTRY_CPU_CHEAP_GRAIN,
                             add_n_part, &job);
    return GANTRY_OK;
}

/* ---- BiasAdd ---- */

static int32_t cpu_compute_bias_add(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__k_plan_t plan;
    gantry__cpu_map_t map = {
        .x = call->inputs[0]->data, .y = call->inputs[1]->data, .out = out->data};

    gantry__cpu_map_find(&map, call, GANTRY_K_ROW_Add);
    gantry__k_plan_bias(&plan, call);
    gantry__cpu_map_broadcast(call->device, &map, &plan, out->element_count,
                              GANTRY_CPU_CHEAP_GRAIN);
    return GANTRY_OK;
}

GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_CPU_KERNEL)
