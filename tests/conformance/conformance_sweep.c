/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep runs each op with random inputs of many sizes, around the borders of vectors,
 * work-groups and blocks.
 *
 * Alone, a device must give the same bits twice and leave the neighbours of its result alone; with
 * --compare, two devices must give the same bits, independent of the order in which their hardware
 * adds. Golden files give right values; the sweep covers sizes too large for golden files. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "conformance_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    F32 = 1,
    F64 = 2,
    I32 = 4,
    I64 = 8,
    BOOL = 16,
    HALVES = 96,
    FLOATS = 3,
    NUMBERS = 15,
    ALL = 31
};

static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_INT32,
                                        GANTRY_INT64,   GANTRY_BOOL,    GANTRY_FLOAT16,
                                        GANTRY_BFLOAT16};

static const int64_t sizes[] = {1,   2,    3,    7,    16,   63,    64,    65,    127,
                                256, 1000, 4095, 4096, 4097, 10007, 65536, 100000};
static const int64_t pairs[][2] = {{3, 1},     {1, 5},     {17, 65},  {64, 64},
                                   {130, 257}, {2, 30011}, {20011, 3}};

/* The case being built. */
typedef struct sweep_t {
    conformance_t *c;
    uint64_t number, seed;
    golden_case_t item;
    char name[128], op[64];
    golden_tensor_t inputs[8];
    golden_attr_t attr;
    char attr_name[32];
} sweep_t;

typedef struct sweep_spec_t {
    const char *op;
    unsigned types;
    sweep_domain_t domain;
    void (*run)(sweep_t *s, const struct sweep_spec_t *spec, gantry_dtype_t dtype);
} sweep_spec_t;

/* ---- one case ---- */

static bool start(sweep_t *s, const char *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool start(sweep_t *s, const char *op, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int used = snprintf(s->name, sizeof s->name, "random_");
    vsnprintf(s->name + used, sizeof s->name - (size_t)used, format, list);
    va_end(list);
    if (s->number++ % s->c->options.every || !conformance_begin(s->c, op, s->name)) return false;
    snprintf(s->op, sizeof s->op, "%s", op);
    s->item = (golden_case_t){.name = s->name, .op = s->op, .inputs = s->inputs, .attrs = &s->attr};
    s->seed = sweep_hash(s->name) ^ sweep_hash(op);
    return true;
}

static void add(sweep_t *s, golden_tensor_t tensor) { s->inputs[s->item.input_count++] = tensor; }

static void add_random(sweep_t *s, gantry_dtype_t dtype, gantry_shape_t shape,
                       sweep_domain_t domain) {
    add(s, sweep_tensor(s->seed + 1000003 * s->item.input_count, dtype, shape, domain));
}

static void add_type_attr(sweep_t *s, const char *name, gantry_dtype_t dtype) {
    snprintf(s->attr_name, sizeof s->attr_name, "%s", name);
    s->attr = (golden_attr_t){.name = s->attr_name, .kind = GOLDEN_ATTR_TYPE, .type_value = dtype};
    s->item.attr_count = 1;
}

static void add_flag(sweep_t *s, const char *name, bool value) {
    snprintf(s->attr_name, sizeof s->attr_name, "%s", name);
    s->attr = (golden_attr_t){.name = s->attr_name, .kind = GOLDEN_ATTR_BOOL, .bool_value = value};
    s->item.attr_count = 1;
}

/* The second run on the same device, with sentinels. A third of the cases uses the same inputs, a
 * third lets the op overwrite its inputs, and a third takes pieces of larger tensors. */
static void run_again(conformance_t *c, const golden_case_t *item, const golden_tensor_t *first,
                      size_t count) {
    const gantry_tensor_t *inputs[CONFORMANCE_MAX_INPUTS], *outputs[CONFORMANCE_MAX_OUTPUTS];
    conformance_sentinels_t sentinels;
    size_t again_count = 0;
    gantry_scope_t *scope = conformance_scope(c);
    const uint64_t third = sweep_hash(item->name) % 3;
    const bool made = third == 2 ? conformance_make_pieces(c, scope, item, inputs)
                                 : conformance_make_inputs(c, scope, item, inputs);
    if (!made) goto done;
    for (size_t i = 0; i < item->input_count && third == 1; ++i)
        (void)gantry_tensor_donate(scope, inputs[i]);
    conformance_sentinels_place(c, scope, first[0].bytes, &sentinels);
    if (conformance_call(c, scope, item, inputs, outputs, &again_count) != GANTRY_OK) {
        conformance_fail(c, "the second call failed: %s", gantry_scope_message(scope));
        goto done;
    }
    conformance_check_placement(c, item->op, outputs[0]);
    for (size_t i = 0; i < count && i < again_count; ++i) {
        golden_tensor_t again;
        gantry_status_t status = conformance_read(outputs[i], &again);
        if (status != GANTRY_OK)
            conformance_fail(c, "second run: %s", conformance_last_error(status));
        else
            conformance_check_same(c, "the second run differs from the first", &first[i], &again);
        conformance_free_outputs(&again, 1);
    }
    conformance_sentinels_check(c, scope, &sentinels);
done:
    gantry_scope_end(scope);
}

static void run_elsewhere(conformance_t *c, const golden_case_t *item, const golden_tensor_t *first,
                          size_t count) {
    golden_tensor_t second[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    size_t second_count = 0;
    conformance_evaluate(c, c->options.compare, item, second, &second_count);
    CHECK(c, count == second_count, "%zu outputs and %zu", count, second_count);
    for (size_t i = 0; c->reasons == 0 && i < count; ++i) {
        conformance_check_same(c, c->options.compare, &first[i], &second[i]);
    }
    conformance_free_outputs(second, CONFORMANCE_MAX_OUTPUTS);
}

void sweep_run(conformance_t *c, const golden_case_t *item) {
    golden_tensor_t first[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    size_t count = 0;
    conformance_evaluate(c, c->options.device, item, first, &count);
    if (c->reasons == 0) {
        if (c->bits)
            conformance_check_bits(c, first, count);
        else if (c->options.compare)
            run_elsewhere(c, item, first, count);
        else if (!c->options.once)
            run_again(c, item, first, count);
    }
    conformance_free_outputs(first, CONFORMANCE_MAX_OUTPUTS);
    conformance_end(c);
}

static void finish(sweep_t *s) {
    sweep_run(s->c, &s->item);
    conformance_free_outputs(s->inputs, s->item.input_count);
}

/* ---- elementwise ---- */

static void sweep_unary(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); ++i) {
        if (!start(s, spec->op, "%s_%" PRId64, gantry_dtype_name(dtype), sizes[i])) continue;
        add_random(s, dtype, GANTRY_SHAPE(sizes[i]), spec->domain);
        finish(s);
    }
}

/* Two inputs of the shapes; domain of the second. */
static void binary_case(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype,
                        const char *form, gantry_shape_t x, gantry_shape_t y) {
    char text[2][64];
    gantry_shape_format(&x, text[0], sizeof text[0]);
    gantry_shape_format(&y, text[1], sizeof text[1]);
    if (!start(s, spec->op, "%s_%s_%s_%s", gantry_dtype_name(dtype), form, text[0], text[1]))
        return;
    add_random(s, dtype, x, spec->domain);
    add_random(s, dtype, y, spec->domain);
    finish(s);
}

static void sweep_binary(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); ++i) {
        binary_case(s, spec, dtype, "same", GANTRY_SHAPE(sizes[i]), GANTRY_SHAPE(sizes[i]));
    }
    if (sweep_spares_broadcast(s->c, spec->op, dtype)) return;
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        binary_case(s, spec, dtype, "scalar", GANTRY_SHAPE(a * b), GANTRY_SCALAR);
        binary_case(s, spec, dtype, "scalar_first", GANTRY_SCALAR, GANTRY_SHAPE(a * b));
        binary_case(s, spec, dtype, "row", GANTRY_SHAPE(a, b), GANTRY_SHAPE(b));
        binary_case(s, spec, dtype, "column", GANTRY_SHAPE(a, b), GANTRY_SHAPE(a, 1));
        binary_case(s, spec, dtype, "outer", GANTRY_SHAPE(a, 1), GANTRY_SHAPE(b));
    }
    binary_case(s, spec, dtype, "middle", GANTRY_SHAPE(5, 7, 33), GANTRY_SHAPE(5, 1, 33));
    binary_case(s, spec, dtype, "rank8", GANTRY_SHAPE(2, 1, 3, 1, 2, 1, 5, 1),
                GANTRY_SHAPE(1, 3, 1, 2, 1, 2, 1, 7));
}

/* Gradients: two inputs of one shape. Their parts have sweeps of their own. */
static void sweep_gradient(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); i += 4) {
        binary_case(s, spec, dtype, "same", GANTRY_SHAPE(sizes[i]), GANTRY_SHAPE(sizes[i]));
    }
}

/* The variant that an attribute chooses. */
static void sweep_chosen(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype,
                         const char *attr, bool is_binary) {
    for (size_t i = 0; i < COUNT(sizes); i += 3) {
        if (!start(s, spec->op, "%s_%s_%" PRId64, gantry_dtype_name(dtype), attr, sizes[i]))
            continue;
        add_random(s, dtype, GANTRY_SHAPE(sizes[i]), spec->domain);
        if (is_binary) add_random(s, dtype, GANTRY_SHAPE(sizes[i]), spec->domain);
        add_flag(s, attr, true);
        finish(s);
    }
}

static void sweep_never_fails(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    sweep_chosen(s, spec, dtype, "never_fails", true);
}

static void sweep_signed_zero(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    sweep_chosen(s, spec, dtype, "signed_zero", strcmp(spec->op, "Sign") != 0);
}

static void sweep_shifts_out(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    sweep_chosen(s, spec, dtype, "shifts_out", true);
}

static void sweep_ties_away(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    sweep_chosen(s, spec, dtype, "ties_away", false);
}

static void sweep_select(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); ++i) {
        const gantry_shape_t all = GANTRY_SHAPE(sizes[i]), others[] = {GANTRY_SCALAR, all};
        for (size_t k = 0; k < COUNT(others) && (k == 0 || sizes[i] > 1); ++k) {
            if (!start(s, spec->op, "%s_%" PRId64 "%s", gantry_dtype_name(dtype), sizes[i],
                       k ? "_dense" : ""))
                continue;
            add_random(s, GANTRY_BOOL, all, spec->domain);
            add_random(s, dtype, all, spec->domain);
            add_random(s, dtype, others[k], spec->domain);
            finish(s);
        }
    }
}

static void sweep_cast(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t to = 0; to < COUNT(dtypes); ++to) {
        for (size_t i = 0; i < COUNT(sizes); i += 3) {
            const char *from_name = gantry_dtype_name(dtype),
                       *to_name = gantry_dtype_name(dtypes[to]);
            if (!start(s, spec->op, "%s_to_%s_%" PRId64, from_name, to_name, sizes[i])) continue;
            add_random(s, dtype, GANTRY_SHAPE(sizes[i]), spec->domain);
            add_type_attr(s, "DstT", dtypes[to]);
            finish(s);
        }
    }
}

static void sweep_add_n(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); i += 2) {
        if (!start(s, spec->op, "%s_%" PRId64, gantry_dtype_name(dtype), sizes[i])) continue;
        for (int k = 0; k < 5; ++k) add_random(s, dtype, GANTRY_SHAPE(sizes[i]), spec->domain);
        finish(s);
    }
}

static void sweep_bias(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        binary_case(s, spec, dtype, "bias", GANTRY_SHAPE(pairs[i][0], pairs[i][1]),
                    GANTRY_SHAPE(pairs[i][1]));
    }
}

/* ---- along axes ---- */

static bool takes_one_axis(const sweep_spec_t *spec) { return strncmp(spec->op, "Arg", 3) == 0; }

static void reduce_case(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype,
                        gantry_shape_t shape, const int32_t *axes, size_t axis_count) {
    char text[64];
    gantry_shape_format(&shape, text, sizeof text);
    int32_t last = axis_count ? axes[axis_count - 1] : -1;
    if (!start(s, spec->op, "%s_%s_%zu_axes_last_%" PRId32, gantry_dtype_name(dtype), text,
               axis_count, last))
        return;
    add_random(s, dtype, shape, spec->domain);
    add(s, takes_one_axis(spec) ? sweep_scalar_int(last) : sweep_ints(axes, axis_count));
    finish(s);
}

/* Around the borders of the device forms: the elements that one work-item has in flight (8 elements
 * of 64, 32 or 8 lanes), chunks of 4096, two levels in one launch (up to 16384), columns for small
 * and large work-groups and single items. */
static void sweep_long_reductions(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    static const int64_t lengths[] = {8, 9, 512, 513, 1023, 8192, 8193, 12289, 16384, 16385};
    static const int64_t rows[] = {7, 33, 64, 100, 256, 257, 4097};
    static const int64_t columns[] = {2, 8, 40, 4111};
    const int32_t first = 0, second = 1;
    for (size_t i = 0; i < COUNT(lengths); ++i) {
        reduce_case(s, spec, dtype, GANTRY_SHAPE(lengths[i]), &first, 1);
        reduce_case(s, spec, dtype, GANTRY_SHAPE(2, lengths[i]), &second, 1);
    }
    for (size_t i = 0; i < COUNT(rows); ++i) {
        for (size_t k = 0; k < COUNT(columns); ++k) {
            /* would show nothing more and take seconds */
            if (rows[i] * columns[k] > 500000) continue;
            reduce_case(s, spec, dtype, GANTRY_SHAPE(rows[i], columns[k]), &first, 1);
        }
    }
}

static void sweep_reduce(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    const int32_t axes[][2] = {{0, 0}, {1, 0}, {0, 2}, {2, 0}};
    for (size_t i = 0; i < COUNT(sizes); ++i)
        reduce_case(s, spec, dtype, GANTRY_SHAPE(sizes[i]), axes[0], 1);
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        gantry_shape_t shape = GANTRY_SHAPE(pairs[i][0], pairs[i][1]);
        reduce_case(s, spec, dtype, shape, axes[0], 1);
        reduce_case(s, spec, dtype, shape, axes[1], 1);
    }
    gantry_shape_t box = GANTRY_SHAPE(7, 129, 65);
    for (int i = 0; i < 4; ++i) {
        if (i != 2)
            reduce_case(s, spec, dtype, box, axes[i], 1);
        else if (!takes_one_axis(spec))
            reduce_case(s, spec, dtype, box, axes[i], 2);
    }
    if (!takes_one_axis(spec)) reduce_case(s, spec, dtype, box, axes[0], 0);
    sweep_long_reductions(s, spec, dtype);
}

static void sweep_rows(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        if (!start(s, spec->op, "%s_%" PRId64 "x%" PRId64, gantry_dtype_name(dtype), a, b))
            continue;
        add_random(s, dtype, GANTRY_SHAPE(a, b), spec->domain);
        finish(s);
    }
}

/* Around the borders of chunks of 128; in rows and in columns; the last three have so many
 * sequences that processors handle each as a whole. */
static void sweep_scan(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    static const gantry_shape_t shapes[] = {{1, {129}},      {1, {16385}},     {2, {3, 127}},
                                            {2, {257, 5}},   {2, {128, 300}},  {3, {2, 1000, 3}},
                                            {2, {1, 20000}}, {2, {300, 7}},    {2, {40, 100}},
                                            {2, {66, 300}},  {3, {9, 140, 3}}, {2, {65, 260}}};
    for (size_t i = 0; i < COUNT(shapes); ++i) {
        const bool is_last = shapes[i].rank == 1 || shapes[i].dims[1] > shapes[i].dims[0];
        if (!start(s, spec->op, "%s_%zu", gantry_dtype_name(dtype), i)) continue;
        add_random(s, dtype, shapes[i], spec->domain);
        add(s, sweep_scalar_int(shapes[i].rank == 3 ? 1 : is_last ? -1 : 0));
        add_flag(s, i % 2 == 0 ? "exclusive" : "reverse", i % 4 >= 2);
        finish(s);
    }
}

/* ---- random numbers and movement ---- */

static void sweep_generator(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(sizes); ++i) {
        if (!start(s, spec->op, "%s_%" PRId64, gantry_dtype_name(dtype), sizes[i])) continue;
        int32_t shape = (int32_t)sizes[i];
        add(s, sweep_ints(&shape, 1));
        add_random(s, GANTRY_INT64, GANTRY_SHAPE(2), SWEEP_ANY);
        add_type_attr(s, "dtype", dtype);
        finish(s);
    }
}

static void sweep_transpose(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    const int32_t perms[][3] = {{1, 0, 2}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}};
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        if (!start(s, spec->op, "%s_%" PRId64 "x%" PRId64, gantry_dtype_name(dtype), a, b))
            continue;
        add_random(s, dtype, GANTRY_SHAPE(a, b), spec->domain);
        add(s, sweep_ints(perms[0], 2));
        finish(s);
    }
    for (size_t i = 0; i < COUNT(perms); ++i) {
        if (!start(s, spec->op, "%s_rank3_perm%zu", gantry_dtype_name(dtype), i)) continue;
        add_random(s, dtype, GANTRY_SHAPE(33, 17, 65), spec->domain);
        add(s, sweep_ints(perms[i], 3));
        finish(s);
    }
}

static void sweep_gather(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    /* small elements, which cards may handle two or four at a time */
    static const int64_t rows[] = {2, 4, 6, 48};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        if (!start(s, spec->op, "%s_rows_of_%" PRId64, gantry_dtype_name(dtype), rows[i])) continue;
        add_random(s, dtype, GANTRY_SHAPE(37, rows[i]), spec->domain);
        add(s, sweep_indices(s->seed, GANTRY_INT32, GANTRY_SHAPE(5, 7), 37));
        add(s, sweep_scalar_int(0));
        finish(s);
    }
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        for (int32_t axis = 0; axis < 2; ++axis) {
            if (!start(s, spec->op, "%s_%" PRId64 "x%" PRId64 "_axis%d", gantry_dtype_name(dtype),
                       a, b, (int)axis))
                continue;
            add_random(s, dtype, GANTRY_SHAPE(a, b), spec->domain);
            add(s, sweep_indices(s->seed, axis ? GANTRY_INT64 : GANTRY_INT32, GANTRY_SHAPE(3, 11),
                                 axis ? b : a));
            add(s, sweep_scalar_int(axis));
            finish(s);
        }
    }
}

static void sweep_concat(sweep_t *s, const sweep_spec_t *spec, gantry_dtype_t dtype) {
    for (size_t i = 0; i < COUNT(pairs); ++i) {
        int64_t a = pairs[i][0], b = pairs[i][1];
        for (int32_t axis = 0; axis < 2; ++axis) {
            if (!start(s, spec->op, "%s_%" PRId64 "x%" PRId64 "_axis%d", gantry_dtype_name(dtype),
                       a, b, (int)axis))
                continue;
            add_random(s, dtype, GANTRY_SHAPE(a, b), spec->domain);
            add_random(s, dtype, axis ? GANTRY_SHAPE(a, 2) : GANTRY_SHAPE(2, b), spec->domain);
            add_random(s, dtype, GANTRY_SHAPE(a, b), spec->domain);
            add(s, sweep_scalar_int(axis));
            finish(s);
        }
    }
}

/* Math functions: float64 with those whose bits are the same on every device. */
#define OF_SAME(op) {#op, FLOATS, SWEEP_ANY, sweep_unary},
#define OF_NEAR(op) {#op, F32, SWEEP_ANY, sweep_unary}, {#op, F64, SWEEP_MODERATE, sweep_unary},
#define OF_LIBRARY(op) {#op, F32, SWEEP_ANY, sweep_unary},
#define OF_PARTLY OF_LIBRARY
#define SPEC_OP(op, float64) OF_##float64(op)
#define SPEC_VARIANT(op, float64)
#define SPEC_PART(op, float64)
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) SPEC_##form(op, float64)
#define GANTRY_MATH_PAIR(op, name, float64) {#op, F32, SWEEP_ANY, sweep_binary},

static const sweep_spec_t specs[] = {
#include "functions.def"
    {"Abs", NUMBERS, SWEEP_ANY, sweep_unary},
    {"Add", NUMBERS, SWEEP_ANY, sweep_binary},
    {"AddN", NUMBERS, SWEEP_ANY, sweep_add_n},
    {"ArgMax", NUMBERS | HALVES, SWEEP_MODERATE, sweep_reduce},
    {"ArgMin", F32, SWEEP_MODERATE, sweep_reduce},
    {"BiasAdd", NUMBERS, SWEEP_ANY, sweep_bias},
    {"BiasAddGrad", F32 | I32, SWEEP_MODERATE, sweep_rows},
    {"BitwiseAnd", I32, SWEEP_ANY, sweep_binary},
    {"BitwiseOr", I32, SWEEP_ANY, sweep_binary},
    {"BitwiseXor", I32, SWEEP_ANY, sweep_binary},
    {"Cast", ALL | HALVES, SWEEP_ANY, sweep_cast},
    {"Ceil", F32, SWEEP_ANY, sweep_unary},
    {"Concat", ALL | HALVES, SWEEP_ANY, sweep_concat},
    {"CountLeadingZeros", I32 | I64, SWEEP_ANY, sweep_unary},
    {"Cumprod", F32 | I32, SWEEP_UNIT, sweep_scan},
    {"Cumsum", NUMBERS | HALVES, SWEEP_MODERATE, sweep_scan},
    {"CumulativeLogsumexp", FLOATS | HALVES, SWEEP_MODERATE, sweep_scan},
    {"Div", NUMBERS, SWEEP_NONZERO, sweep_binary},
    {"Div", I32 | I64, SWEEP_ANY, sweep_never_fails},
    {"DivNoNan", F32, SWEEP_ANY, sweep_binary},
    {"EluGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Equal", ALL, SWEEP_MODERATE, sweep_binary},
    {"EuclideanNorm", F32, SWEEP_MODERATE, sweep_reduce},
    {"Floor", F32, SWEEP_ANY, sweep_unary},
    {"FloorDiv", F32 | I32, SWEEP_NONZERO, sweep_binary},
    {"FloorMod", F32 | I32, SWEEP_NONZERO, sweep_binary},
    {"FloorMod", I32 | I64, SWEEP_ANY, sweep_never_fails},
    {"Gather", ALL | HALVES, SWEEP_ANY, sweep_gather},
    {"Greater", NUMBERS, SWEEP_ANY, sweep_binary},
    {"GreaterEqual", NUMBERS, SWEEP_ANY, sweep_binary},
    {"Invert", I32, SWEEP_ANY, sweep_unary},
    {"IsFinite", F32, SWEEP_ANY, sweep_unary},
    {"IsInf", F32, SWEEP_ANY, sweep_unary},
    {"IsNan", F32, SWEEP_ANY, sweep_unary},
    {"LeakyRelu", F32, SWEEP_ANY, sweep_unary},
    {"LeakyReluGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"LeftShift", I32, SWEEP_ANY, sweep_binary},
    {"LeftShift", I32 | I64, SWEEP_ANY, sweep_shifts_out},
    {"Less", NUMBERS, SWEEP_ANY, sweep_binary},
    {"LessEqual", NUMBERS, SWEEP_ANY, sweep_binary},
    {"LogSoftmax", FLOATS | HALVES, SWEEP_MODERATE, sweep_rows},
    {"LogicalAnd", BOOL, SWEEP_ANY, sweep_binary},
    {"LogicalNot", BOOL, SWEEP_ANY, sweep_unary},
    {"LogicalOr", BOOL, SWEEP_ANY, sweep_binary},
    {"LogicalXor", BOOL, SWEEP_ANY, sweep_binary},
    {"Max", NUMBERS | HALVES, SWEEP_ANY, sweep_reduce},
    {"Maximum", NUMBERS, SWEEP_ANY, sweep_binary},
    {"Maximum", FLOATS | HALVES, SWEEP_ANY, sweep_signed_zero},
    {"Mean", NUMBERS, SWEEP_MODERATE, sweep_reduce},
    {"Min", NUMBERS, SWEEP_ANY, sweep_reduce},
    {"Minimum", NUMBERS, SWEEP_ANY, sweep_binary},
    {"Minimum", FLOATS | HALVES, SWEEP_ANY, sweep_signed_zero},
    {"Mul", NUMBERS, SWEEP_ANY, sweep_binary},
    {"MulNoNan", F32, SWEEP_ANY, sweep_binary},
    {"Neg", NUMBERS, SWEEP_ANY, sweep_unary},
    {"NotEqual", ALL, SWEEP_MODERATE, sweep_binary},
    {"PopulationCount", I32 | I64, SWEEP_ANY, sweep_unary},
    {"Pow", I32 | I64, SWEEP_ANY, sweep_never_fails},
    {"Prod", F32, SWEEP_UNIT, sweep_reduce},
    {"Reciprocal", F32, SWEEP_ANY, sweep_unary},
    {"ReciprocalGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Relu", NUMBERS, SWEEP_ANY, sweep_unary},
    {"Relu6", F32 | I32, SWEEP_ANY, sweep_unary},
    {"Relu6Grad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"ReluGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"RightShift", I32, SWEEP_ANY, sweep_binary},
    {"RightShift", I32 | I64, SWEEP_ANY, sweep_shifts_out},
    {"Rint", F32, SWEEP_ANY, sweep_unary},
    {"Round", F32 | I32, SWEEP_ANY, sweep_unary},
    {"Round", FLOATS | HALVES, SWEEP_ANY, sweep_ties_away},
    {"RsqrtGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Select", ALL | HALVES, SWEEP_ANY, sweep_select},
    {"SeluGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"SigmoidGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Sign", F32 | I32, SWEEP_ANY, sweep_unary},
    {"Sign", FLOATS | HALVES, SWEEP_ANY, sweep_signed_zero},
    {"Softmax", FLOATS | HALVES, SWEEP_MODERATE, sweep_rows},
    {"SoftplusGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"SoftsignGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"SqrtGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Square", NUMBERS, SWEEP_ANY, sweep_unary},
    {"SquaredDifference", F32 | I32, SWEEP_ANY, sweep_binary},
    {"StatelessRandomNormal", FLOATS | HALVES, SWEEP_ANY, sweep_generator},
    {"StatelessRandomUniform", FLOATS | HALVES, SWEEP_ANY, sweep_generator},
    {"StatelessRandomUniformFullInt", I32 | I64, SWEEP_ANY, sweep_generator},
    {"StatelessTruncatedNormal", FLOATS | HALVES, SWEEP_ANY, sweep_generator},
    {"Sub", NUMBERS, SWEEP_ANY, sweep_binary},
    {"Sum", NUMBERS | HALVES, SWEEP_MODERATE, sweep_reduce},
    {"TanhGrad", FLOATS | HALVES, SWEEP_ANY, sweep_gradient},
    {"Transpose", ALL | HALVES, SWEEP_ANY, sweep_transpose},
    {"TruncateDiv", F32 | I32, SWEEP_NONZERO, sweep_binary},
    {"TruncateMod", F32 | I32, SWEEP_NONZERO, sweep_binary},
    {"Xdivy", F32, SWEEP_ANY, sweep_binary},
    {"Xlog1py", F32, SWEEP_ANY, sweep_binary},
    {"Xlogy", F32, SWEEP_ANY, sweep_binary},
};

static const sweep_spec_t *binary_spec(const char *op) {
    for (size_t i = 0; i < COUNT(specs); ++i) {
        if (specs[i].run == sweep_binary && strcmp(specs[i].op, op) == 0) return &specs[i];
    }
    return NULL;
}

bool sweep_spares_broadcast(const conformance_t *c, const char *op, gantry_dtype_t dtype) {
    const sweep_spec_t *spec = binary_spec(op);
    size_t first = 0;
    if (!spec || !conformance_spares_some(c)) return false;
    while (!(spec->types >> first & 1)) ++first;
    return dtype != dtypes[first] && (sweep_hash(op) + dtype) % 3 != 0;
}

void conformance_run_sweep(conformance_t *c) {
    sweep_t s = {.c = c};
    for (size_t i = 0; i < COUNT(specs); ++i) {
        if (!conformance_wants(c, specs[i].op)) continue;
        s.number = 0; /* the first case of every op always runs */
        for (size_t t = 0; t < COUNT(dtypes); ++t) {
            if (!(specs[i].types >> t & 1) || conformance_spares_type(c, specs[i].op, dtypes[t]) ||
                (c->options.further_types &&
                 !conformance_is_further_type(c, specs[i].op, dtypes[t])))
                continue;
            specs[i].run(&s, &specs[i], dtypes[t]);
        }
    }
}
