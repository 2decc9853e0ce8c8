/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of the ops that move elements: random shapes with random valid numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CASES = 24, MOST_ELEMENTS = 200000 };

static const gantry_dtype_t dtypes[] = {GANTRY_UINT8, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                        GANTRY_INT64};

/* The case being built. */
typedef struct shape_case_t {
    golden_case_t item;
    golden_tensor_t inputs[4];
    golden_attr_t attrs[8];
    gantry_shape_t shape; /* of the first input */
    uint64_t state;
} shape_case_t;

static int64_t pick(shape_case_t *s, int64_t least, int64_t most) {
    return least + (int64_t)(sweep_next(&s->state) % (uint64_t)(most - least + 1));
}

/* Few large dimensions or many small ones. */
static gantry_shape_t pick_shape(shape_case_t *s) {
    gantry_shape_t shape = {.rank = (int32_t)pick(s, 1, 8)};
    int64_t left = MOST_ELEMENTS;
    for (int32_t d = 0; d < shape.rank; ++d) {
        const int64_t most = shape.rank == 1   ? left
                             : shape.rank == 2 ? 400
                             : shape.rank < 5  ? 40
                                               : 5;
        shape.dims[d] = pick(s, 1, most < left ? most : left);
        left /= shape.dims[d];
    }
    return shape;
}

static void add_ints(shape_case_t *s, const int32_t *values, size_t count, int32_t columns) {
    golden_tensor_t *t = &s->inputs[s->item.input_count++];
    *t = sweep_ints(values, count);
    if (columns > 0) t->shape = GANTRY_SHAPE((int64_t)count / columns, columns);
}

static void add_int_attr(shape_case_t *s, char *name, int64_t value) {
    s->attrs[s->item.attr_count++] =
        (golden_attr_t){.name = name, .kind = GOLDEN_ATTR_INT, .int_value = value};
}

static void add_text_attr(shape_case_t *s, char *name, char *value) {
    s->attrs[s->item.attr_count++] =
        (golden_attr_t){.name = name, .kind = GOLDEN_ATTR_STRING, .string_value = value};
}

static void make_strided_slice(shape_case_t *s) {
    int32_t begin[8], end[8], strides[8];
    const int32_t entries = (int32_t)pick(s, 0, s->shape.rank);
    for (int32_t i = 0; i < entries; ++i) {
        const int64_t size = s->shape.dims[i];
        begin[i] = (int32_t)pick(s, -size, size - 1);
        end[i] = (int32_t)pick(s, -size - 1, size);
        strides[i] = (int32_t)(pick(s, 0, 1) ? pick(s, 1, 3) : -pick(s, 1, 3));
    }
    add_ints(s, begin, (size_t)entries, 0);
    add_ints(s, end, (size_t)entries, 0);
    add_ints(s, strides, (size_t)entries, 0);
    add_int_attr(s, "begin_mask", pick(s, 0, 255));
    add_int_attr(s, "end_mask", pick(s, 0, 255));
}

static void make_paddings(shape_case_t *s, int64_t most_of_size, int64_t less) {
    int32_t paddings[16];
    for (int32_t i = 0; i < 2 * s->shape.rank; ++i) {
        const int64_t size = s->shape.dims[i / 2] - less, most = s->shape.rank < 4 ? 70 : 2;
        const int64_t limit = most_of_size && size < most ? size : most;
        paddings[i] = pick(s, 0, 2) ? 0 : (int32_t)pick(s, 0, limit);
    }
    add_ints(s, paddings, 2 * (size_t)s->shape.rank, 2);
}

static void make_pad(shape_case_t *s) {
    make_paddings(s, 0, 0);
    s->inputs[s->item.input_count++] =
        sweep_tensor(sweep_next(&s->state), s->inputs[0].dtype, GANTRY_SCALAR, SWEEP_ANY);
}

static void make_mirror_pad(shape_case_t *s) {
    const int64_t reflects = pick(s, 0, 1);
    make_paddings(s, 1, reflects);
    add_text_attr(s, "mode", reflects ? "REFLECT" : "SYMMETRIC");
}

/* The shape so far is the result's. */
static void make_mirror_pad_grad(shape_case_t *s) {
    const gantry_shape_t result = s->shape;
    make_mirror_pad(s);
    for (int32_t d = 0; d < result.rank; ++d) {
        int32_t pair[2];
        memcpy(pair, (const char *)s->inputs[1].data + (size_t)d * sizeof pair, sizeof pair);
        s->shape.dims[d] += (int64_t)pair[0] + pair[1];
    }
}

static void make_tile(shape_case_t *s) {
    int32_t multiples[8];
    for (int32_t d = 0; d < s->shape.rank; ++d)
        multiples[d] = pick(s, 0, 1) ? 1 : (int32_t)pick(s, 1, 3);
    add_ints(s, multiples, (size_t)s->shape.rank, 0);
}

/* Some of the dimensions. */
static size_t pick_axes(shape_case_t *s, int32_t *axes) {
    size_t count = 0;
    for (int32_t d = 0; d < s->shape.rank; ++d) {
        if (pick(s, 0, 1)) axes[count++] = pick(s, 0, 1) ? d : d - s->shape.rank;
    }
    return count;
}

static void make_reverse(shape_case_t *s) {
    int32_t axes[8];
    add_ints(s, axes, pick_axes(s, axes), 0);
}

static void make_roll(shape_case_t *s) {
    int32_t axes[8], shifts[8];
    const size_t count = pick_axes(s, axes);
    for (size_t k = 0; k < count; ++k) shifts[k] = (int32_t)pick(s, -1000, 1000);
    add_ints(s, shifts, count, 0);
    add_ints(s, axes, count, 0);
}

static void make_blocks(shape_case_t *s) {
    static const char *const formats[] = {"NHWC", "NCHW"};
    const int64_t block = pick(s, 2, 5), format = pick(s, 0, 1);
    const int to_depth = strcmp(s->item.op, "SpaceToDepth") == 0;
    int64_t h = pick(s, 1, 17), w = pick(s, 1, 17), c = pick(s, 1, 9);
    const int64_t n = pick(s, 1, 3);
    if (to_depth)
        h *= block, w *= block;
    else
        c *= block * block;
    s->shape = format ? GANTRY_SHAPE(n, c, h, w) : GANTRY_SHAPE(n, h, w, c);
    add_int_attr(s, "block_size", block);
    add_text_attr(s, "data_format", (char *)(uintptr_t)formats[format]);
}

/* Few dimensions in blocks of up to 4; paddings or crops make the sizes whole. */
static void make_batch_blocks(shape_case_t *s) {
    const int to_batch = strcmp(s->item.op, "SpaceToBatchND") == 0;
    const size_t count = (size_t)pick(s, 1, 3);
    int32_t blocks[3], ends[6];
    int64_t places = 1;
    s->shape = GANTRY_SHAPE(pick(s, 1, 3), 1, 1, 1, pick(s, 1, 9));
    for (size_t d = 0; d < count; ++d) {
        const int64_t cells = pick(s, 2, 9);
        blocks[d] = (int32_t)pick(s, 1, 4);
        ends[2 * d] = (int32_t)pick(s, 0, blocks[d] - 1);
        ends[2 * d + 1] = (int32_t)pick(s, 0, blocks[d] - 1);
        s->shape.dims[d + 1] = to_batch ? cells * blocks[d] - ends[2 * d] - ends[2 * d + 1] : cells;
        if (s->shape.dims[d + 1] < 0) s->shape.dims[d + 1] += blocks[d];
        places *= blocks[d];
    }
    if (!to_batch) s->shape.dims[0] *= places;
    add_ints(s, blocks, count, 0);
    add_ints(s, ends, 2 * count, 2);
}

static void pick_band(shape_case_t *s, int64_t rows, int64_t columns, int32_t *band) {
    band[0] = (int32_t)pick(s, 1 - rows, columns - 1);
    band[1] = (int32_t)pick(s, band[0], columns - 1);
    if (pick(s, 0, 3) == 0) band[1] = band[0];
}

static void add_align(shape_case_t *s) {
    static char *const words[] = {"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"};
    add_text_attr(s, "align", words[pick(s, 0, 3)]);
}

/* Matrices of moderate size, one of their bands and its shape. */
static gantry_shape_t pick_matrices(shape_case_t *s, int32_t *band, gantry_shape_t *matrices) {
    const int64_t batch = pick(s, 1, 4), rows = pick(s, 1, 90), columns = pick(s, 1, 90);
    *matrices = GANTRY_SHAPE(batch, rows, columns);
    pick_band(s, rows, columns, band);
    const int64_t down = rows + (band[1] < 0 ? band[1] : 0),
                  along = columns - (band[0] > 0 ? band[0] : 0);
    const int64_t length = down < along ? down : along;
    return band[0] == band[1] ? GANTRY_SHAPE(batch, length)
                              : GANTRY_SHAPE(batch, band[1] - band[0] + 1, length);
}

static void make_diag(shape_case_t *s) {
    int32_t band[2];
    gantry_shape_t matrices;
    s->shape = pick_matrices(s, band, &matrices);
    add_ints(s, band, 2, 0);
    s->inputs[s->item.input_count++] = sweep_scalar_int(-1);
    s->inputs[s->item.input_count++] = sweep_scalar_int(-1);
    add_align(s);
}

static void make_diag_part(shape_case_t *s) {
    int32_t band[2];
    (void)pick_matrices(s, band, &s->shape);
    add_ints(s, band, 2, 0);
    s->inputs[s->item.input_count++] =
        sweep_tensor(sweep_next(&s->state), s->inputs[0].dtype, GANTRY_SCALAR, SWEEP_ANY);
    add_align(s);
}

static void make_set_diag(shape_case_t *s) {
    int32_t band[2];
    const gantry_shape_t diagonals = pick_matrices(s, band, &s->shape);
    s->inputs[s->item.input_count++] =
        sweep_tensor(sweep_next(&s->state), s->inputs[0].dtype, diagonals, SWEEP_ANY);
    add_ints(s, band, 2, 0);
    add_align(s);
}

static const struct {
    char *op;
    /* adds the inputs after the first, and attributes; may choose another shape */
    void (*make)(shape_case_t *s);
} specs[] = {
    {"StridedSlice", make_strided_slice},
    {"Pad", make_pad},
    {"MirrorPad", make_mirror_pad},
    {"MirrorPadGrad", make_mirror_pad_grad},
    {"Tile", make_tile},
    {"Reverse", make_reverse},
    {"Roll", make_roll},
    {"SpaceToDepth", make_blocks},
    {"DepthToSpace", make_blocks},
    {"SpaceToBatchND", make_batch_blocks},
    {"BatchToSpaceND", make_batch_blocks},
    {"MatrixDiag", make_diag},
    {"MatrixDiagPart", make_diag_part},
    {"MatrixSetDiag", make_set_diag},
};

static void run_case(conformance_t *c, size_t spec, gantry_dtype_t dtype, int number) {
    char name[64];
    snprintf(name, sizeof name, "random_%s_%d", gantry_dtype_name(dtype), number);
    if ((uint64_t)number % c->options.every || !conformance_begin(c, specs[spec].op, name)) return;
    shape_case_t s = {.item = {.name = name,
                               .op = specs[spec].op,
                               .inputs = s.inputs,
                               .input_count = 1,
                               .attrs = s.attrs},
                      .state = sweep_hash(name) ^ sweep_hash(specs[spec].op)};
    s.inputs[0].dtype = dtype;
    s.shape = pick_shape(&s);
    specs[spec].make(&s);
    s.inputs[0] = sweep_tensor(sweep_next(&s.state), dtype, s.shape, SWEEP_ANY);
    sweep_run(c, &s.item);
    conformance_free_outputs(s.inputs, s.item.input_count);
}

void conformance_run_sweep_shape(conformance_t *c) {
    for (size_t spec = 0; spec < COUNT(specs); ++spec) {
        if (!conformance_wants(c, specs[spec].op)) continue;
        for (int number = 0; number < CASES; ++number) {
            run_case(c, spec, dtypes[number % (int)COUNT(dtypes)], number);
        }
    }
}
