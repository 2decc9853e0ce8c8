/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops of the CPU backend that move elements follow the definition of each element of the
 * result, with random shapes and numbers.
 *
 * Kernels get only calls that inference accepts, so no call here is wrong. */
#include "cpu_move_case.h"

/* ---- calls ---- */

static const gantry_kernel_def_t *find(const char *op) {
    const struct {
        const gantry_kernel_def_t *const *kernels;
        uint32_t count;
    } families[] = {{gantry__cpu_move_kernels, gantry__cpu_move_kernel_count},
                    {gantry__cpu_pad_tile_roll_kernels, gantry__cpu_pad_tile_roll_kernel_count},
                    {gantry__cpu_matrix_kernels, gantry__cpu_matrix_kernel_count},
                    {gantry__cpu_permutation_kernels, gantry__cpu_permutation_kernel_count},
                    {gantry__cpu_space_batch_kernels, gantry__cpu_space_batch_kernel_count}};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) {
        const gantry_kernel_def_t *kernel = cpu_kernel(families[i].kernels, families[i].count, op);
        if (kernel) return kernel;
    }
    return NULL;
}

/* Half of the calls use the kernels' forms for cards. attrs end with an attribute without a
 * name. */
static int32_t compute(cpu_call_t *owner, const char *op, const gantry_arg_t *const *inputs,
                       uint32_t count, gantry_arg_t *out, const gantry_attr_t *attrs) {
    const gantry_attr_t *list[8];
    uint32_t attr_count = 0;
    for (; attrs[attr_count].name; ++attr_count) list[attr_count] = &attrs[attr_count];
    const gantry_kernel_def_t *kernel = find(op);
    assert_non_null(kernel);
    owner->device_type = draw(2) ? GANTRY_DEVICE_TYPE_CPU : GANTRY_DEVICE_TYPE_GPU;
    return cpu_compute(owner, kernel, inputs, count, out, list, attr_count);
}

static void run(cpu_call_t *owner, const char *op, const gantry_arg_t *const *inputs,
                uint32_t count, gantry_arg_t *out, const gantry_attr_t *attrs) {
    if (compute(owner, op, inputs, count, out, attrs) != 0) fail_msg("%s: %s", op, owner->message);
    expect_nothing_behind(out);
}

static gantry_attr_t string_attr(const char *name, const char *value) {
    return (gantry_attr_t){
        .struct_size = sizeof(gantry_attr_t), .kind = GANTRY_ATTR_STRING, .name = name, .s = value};
}

static int32_t draw_type(void) { return some_types[draw(SOME_TYPES)]; }

static int64_t draw_between(int64_t least, int64_t most) {
    return least + (int64_t)draw((uint64_t)(most - least + 1));
}

static gantry_arg_t *host_value(cpu_call_t *owner, int32_t dtype) {
    const int64_t two = 2;
    gantry_arg_t *value = draw_tensor(owner, dtype, 1, &two);
    value->rank = 0;
    value->element_count = 1;
    value->data = (char *)value->data + gantry__k_size(dtype); /* differs from any first element */
    return value;
}

static const uint64_t zero;

/* ---- StridedSlice, Reverse ---- */

/* One entry per dimension, or an ellipsis for several, with new axes between them. */
static void draw_strided_slice(cpu_call_t *owner, int64_t limit) {
    int32_t rank = 1 + (int32_t)draw(6), dtype = draw_type(), out_rank = 0, entries = 0;
    int64_t dims[8], out_dims[8], index[8], start[8], step[8], given[3][24], masks[5] = {0};
    int32_t axis_of[8]; /* the input's dimension for each of the result's; -1: a new one */
    draw_dims(rank, limit, dims);
    int32_t skipped = (int32_t)draw((uint64_t)rank + 1),
            skip_at = (int32_t)draw((uint64_t)(rank - skipped) + 1);
    for (int32_t axis = 0; axis <= rank; ++axis) {
        if (axis == skip_at) {
            masks[2] |= INT64_C(1) << entries++;
            for (int32_t k = 0; k < skipped; ++k, ++axis) {
                start[axis] = 0;
                step[axis] = 1;
                axis_of[out_rank] = axis;
                out_dims[out_rank++] = dims[axis];
            }
        }
        if (axis == rank) break;
        if (out_rank + rank - axis < 8 && draw(4) == 0) {
            masks[3] |= INT64_C(1) << entries++;
            axis_of[out_rank] = -1;
            out_dims[out_rank++] = 1;
        }
        const int64_t first = draw_between(0, dims[axis] - 1),
                      stride = (draw(2) ? 1 : -1) * draw_between(1, 4);
        const int shrinks = draw(4) == 0, is_open = !shrinks && draw(2);
        start[axis] = is_open ? (stride > 0 ? 0 : dims[axis] - 1) : first;
        step[axis] = stride;
        given[0][entries] = draw(2) ? first : first - dims[axis];
        given[1][entries] = 0; /* inference has used it */
        given[2][entries] = shrinks ? 1 : stride;
        masks[0] |= (int64_t)is_open << entries;
        masks[4] |= (int64_t)shrinks << entries++;
        if (shrinks) continue;
        const int64_t most = (stride > 0 ? dims[axis] - 1 - start[axis] : start[axis]) /
                             (stride > 0 ? stride : -stride);
        axis_of[out_rank] = axis;
        out_dims[out_rank++] = 1 + draw_between(0, most);
    }
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    int wide = (int)draw(2);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, entries, given[0], wide),
                                    host_ints(owner, entries, given[1], wide),
                                    host_ints(owner, entries, given[2], wide)};
    const gantry_attr_t attrs[] = {
        int_attr("begin_mask", masks[0]),       int_attr("end_mask", masks[1]),
        int_attr("ellipsis_mask", masks[2]),    int_attr("new_axis_mask", masks[3]),
        int_attr("shrink_axis_mask", masks[4]), {.name = NULL}};
    gantry_arg_t *out = cpu_tensor(owner, dtype, out_rank, out_dims);
    run(owner, "StridedSlice", inputs, 4, out, attrs);
    for (int64_t i = 0; i < out->element_count; ++i) {
        int64_t from[8];
        memcpy(from, start, sizeof from);
        index_of(out, i, index);
        for (int32_t d = 0; d < out_rank; ++d) {
            if (axis_of[d] >= 0) from[axis_of[d]] += index[d] * step[axis_of[d]];
        }
        expect_element(out, i, at(x, flat_of(x, from)), "StridedSlice");
    }
    cpu_call_clear(owner);
}

static void draw_reverse(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(9), dtype = draw_type();
    int64_t dims[8], axes[8], count = 0, index[8];
    const gantry_attr_t none = {.name = NULL};
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < rank; ++d) {
        if (draw(2)) axes[count++] = draw(2) ? d : d - rank;
    }
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, count, axes, (int)draw(2))};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, dims);
    run(owner, "Reverse", inputs, 2, out, &none);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        for (int64_t k = 0; k < count; ++k) {
            const int64_t d = axes[k] < 0 ? axes[k] + rank : axes[k];
            index[d] = dims[d] - 1 - index[d];
        }
        expect_element(out, i, at(x, flat_of(x, index)), "Reverse");
    }
    cpu_call_clear(owner);
}

/* ---- Pad, MirrorPad, Tile, Roll ---- */

enum { CONSTANT, REFLECT, SYMMETRIC };

/* The input's index; -1 in the border. */
static int64_t padded_from(int mode, int64_t place, int64_t size) {
    if (mode == CONSTANT) return place >= 0 && place < size ? place : -1;
    if (place < 0) return mode == REFLECT ? -place : -1 - place;
    if (place >= size) return mode == REFLECT ? 2 * size - 2 - place : 2 * size - 1 - place;
    return place;
}

static void draw_pad(cpu_call_t *owner, int64_t limit) {
    const int mode = (int)draw(3), has_value = mode == CONSTANT && draw(2);
    int32_t rank = (int32_t)draw(9), dtype = draw_type();
    int64_t dims[8], out_dims[8], index[8], paddings[16];
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < 2 * rank; ++d) {
        const int64_t size = dims[d / 2], most = mode == CONSTANT  ? 3
                                                 : mode == REFLECT ? size - 1
                                                                   : size;
        paddings[d] =
            draw(rank > 4 ? 8 : 2) ? 0 : draw_between(0, most < 3 || draw(8) == 0 ? most : 3);
    }
    for (int32_t d = 0; d < rank; ++d)
        out_dims[d] = paddings[2 * d] + dims[d] + paddings[2 * d + 1];
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims),
                       *value = host_value(owner, dtype);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, 2 * rank, paddings, (int)draw(2)), value};
    const gantry_attr_t attrs[] = {string_attr("mode", mode == REFLECT ? "REFLECT" : "SYMMETRIC"),
                                   {.name = NULL}};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, out_dims);
    run(owner, mode == CONSTANT ? "Pad" : "MirrorPad", inputs, has_value ? 3 : 2, out,
        &attrs[mode == CONSTANT]);
    for (int64_t i = 0; i < out->element_count; ++i) {
        int is_inside = 1;
        index_of(out, i, index);
        for (int32_t d = 0; d < rank; ++d) {
            index[d] = padded_from(mode, index[d] - paddings[2 * d], dims[d]);
            is_inside = is_inside && index[d] >= 0;
        }
        const void *border = has_value ? value->data : &zero;
        expect_element(out, i, is_inside ? at(x, flat_of(x, index)) : border, "Pad");
    }
    cpu_call_clear(owner);
}

static void pad_of_nothing_is_the_value(void **state) {
    (void)state;
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 2);
    const int64_t dims[] = {2, 0}, out_dims[] = {4, 70}, paddings[] = {1, 1, 30, 40};
    const gantry_attr_t none = {.name = NULL};
    const gantry_arg_t *value = host_value(&owner, GANTRY_FLOAT32);
    gantry_arg_t *x = draw_tensor(&owner, GANTRY_FLOAT32, 2, dims);
    x->span = (gantry_span_t){0, 0, 0}; /* an empty tensor has no memory */
    const gantry_arg_t *inputs[] = {x, host_ints(&owner, 4, paddings, 0), value};
    gantry_arg_t *out = cpu_tensor(&owner, GANTRY_FLOAT32, 2, out_dims);
    run(&owner, "Pad", inputs, 3, out, &none);
    for (int64_t i = 0; i < out->element_count; ++i) expect_element(out, i, value->data, "Pad");
    cpu_call_close(&owner);
}

static void draw_tile(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(9), dtype = draw_type();
    int64_t dims[8], out_dims[8], index[8], multiples[8], times = 1;
    const gantry_attr_t none = {.name = NULL};
    draw_dims(rank, limit / 3 + 1, dims);
    for (int32_t d = 0; d < rank; ++d) {
        /* keeps the product small */
        multiples[d] = draw(2) ? 1 : draw_between(1, times > 3 ? 1 : 3);
        times *= multiples[d];
        out_dims[d] = dims[d] * multiples[d];
    }
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, rank, multiples, (int)draw(2))};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, out_dims);
    run(owner, "Tile", inputs, 2, out, &none);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        for (int32_t d = 0; d < rank; ++d) index[d] %= dims[d];
        expect_element(out, i, at(x, flat_of(x, index)), "Tile");
    }
    cpu_call_clear(owner);
}

static void draw_roll(cpu_call_t *owner, int64_t limit) {
    int32_t rank = 1 + (int32_t)draw(8), dtype = draw_type();
    int64_t dims[8], index[8], shifts[4], axes[4], count = (int64_t)draw(5);
    const gantry_attr_t none = {.name = NULL};
    draw_dims(rank, limit, dims);
    for (int64_t k = 0; k < count; ++k) { /* an axis may repeat */
        shifts[k] = draw(2) ? draw_between(-3, 3) : draw_between(-100000, 100000);
        axes[k] = draw_between(-rank, rank - 1);
    }
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, count, shifts, (int)draw(2)),
                                    host_ints(owner, count, axes, (int)draw(2))};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, dims);
    run(owner, "Roll", inputs, 3, out, &none);
    for (int64_t i = 0; i < x->element_count; ++i) {
        index_of(x, i, index);
        for (int64_t k = 0; k < count; ++k) {
            const int64_t d = axes[k] < 0 ? axes[k] + rank : axes[k];
            index[d] = ((index[d] + shifts[k]) % dims[d] + dims[d]) % dims[d];
        }
        expect_element(out, flat_of(out, index), at(x, i), "Roll");
    }
    cpu_call_clear(owner);
}

/* ---- blocks ---- */

static void draw_blocks(cpu_call_t *owner, int64_t limit) {
    const int is_nchw = (int)draw(2), to_depth = (int)draw(2);
    const int64_t block = draw_between(2, 4);
    int32_t dtype = draw_type();
    int64_t sizes[4], space[4], depth[4], index[4], from[4];
    draw_dims(4, limit / (block * block) + 1, sizes); /* n, h, w, c of the cells */
    const int32_t h = is_nchw ? 2 : 1, w = h + 1, c = is_nchw ? 1 : 3;
    space[0] = depth[0] = sizes[0];
    space[h] = (depth[h] = sizes[1]) * block;
    space[w] = (depth[w] = sizes[2]) * block;
    depth[c] = (space[c] = sizes[3]) * block * block;
    const gantry_arg_t *x = draw_tensor(owner, dtype, 4, to_depth ? space : depth);
    gantry_arg_t *out = cpu_tensor(owner, dtype, 4, to_depth ? depth : space);
    const gantry_attr_t attrs[] = {int_attr("block_size", block),
                                   string_attr("data_format", is_nchw ? "NCHW" : "NHWC"),
                                   {.name = NULL}};
    run(owner, to_depth ? "SpaceToDepth" : "DepthToSpace", &x, 1, out, attrs);
    const gantry_arg_t *wide = to_depth ? x : out;
    for (int64_t i = 0; i < wide->element_count; ++i) {
        index_of(wide, i, index);
        from[0] = index[0];
        from[h] = index[h] / block;
        from[w] = index[w] / block;
        from[c] = (index[h] % block * block + index[w] % block) * sizes[3] + index[c];
        const gantry_arg_t *deep = to_depth ? out : x;
        const int64_t place = flat_of(deep, from);
        expect_element(out, to_depth ? place : i, at(x, to_depth ? i : place), "SpaceToDepth");
    }
    cpu_call_clear(owner);
}

static void draw_batch_blocks(cpu_call_t *owner, int64_t limit) {
    const int to_batch = (int)draw(2);
    int32_t cut = (int32_t)draw(4), rank = 1 + cut + (int32_t)draw(3), dtype = draw_type();
    int64_t cells[8], space[8], blocks[4], ends[8], index[8], from[8], places = 1;
    draw_dims(rank, limit / 27 + 1, cells);
    for (int32_t d = 0; d < cut; ++d) {
        blocks[d] = draw_between(1, 3);
        places *= blocks[d];
        ends[2 * d] = draw_between(0, cells[d + 1] * blocks[d] - 1); /* part of the input remains */
        ends[2 * d + 1] = draw_between(0, cells[d + 1] * blocks[d] - 1 - ends[2 * d]);
    }
    for (int32_t d = 0; d < rank; ++d) {
        const int is_cut = d > 0 && d <= cut;
        space[d] = is_cut ? cells[d] * blocks[d - 1] - ends[2 * d - 2] - ends[2 * d - 1] : cells[d];
    }
    cells[0] = space[0] * places;
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, to_batch ? space : cells);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, cut, blocks, (int)draw(2)),
                                    host_ints(owner, 2 * cut, ends, (int)draw(2))};
    const gantry_attr_t none = {.name = NULL};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, to_batch ? cells : space);
    run(owner, to_batch ? "SpaceToBatchND" : "BatchToSpaceND", inputs, 3, out, &none);
    const gantry_arg_t *many = to_batch ? out : x;
    for (int64_t i = 0; i < many->element_count; ++i) {
        int is_inside = 1;
        index_of(many, i, index);
        memcpy(from, index, sizeof from);
        int64_t place = index[0] / space[0];
        from[0] = index[0] % space[0];
        for (int32_t d = cut; d > 0; --d) {
            from[d] = index[d] * blocks[d - 1] + place % blocks[d - 1] - ends[2 * d - 2];
            place /= blocks[d - 1];
            is_inside = is_inside && from[d] >= 0 && from[d] < space[d];
        }
        if (to_batch) {
            expect_element(out, i, is_inside ? at(x, flat_of(x, from)) : &zero, "SpaceToBatchND");
        } else if (is_inside) {
            expect_element(out, flat_of(out, from), at(x, i), "BatchToSpaceND");
        }
    }
    cpu_call_clear(owner);
}

/* ---- matrices ---- */

typedef struct diagonals_t {
    int64_t batch, rows, columns, lower, upper, length;
    const char *align;
    gantry_arg_t *k;
} diagonals_t;

/* The cells with column - row = d. */
static int64_t length_of(const diagonals_t *m, int64_t d) {
    const int64_t first = d < 0 ? -d : 0, end = m->columns - d < m->rows ? m->columns - d : m->rows;
    return end - first;
}

static diagonals_t draw_diagonals(cpu_call_t *owner, int64_t limit) {
    static const char *const alignments[] = {"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT",
                                             "RIGHT_RIGHT"};
    int64_t dims[3];
    draw_dims(3, limit > 5000 ? 5000 : limit, dims);
    diagonals_t m = {
        .batch = dims[0], .rows = dims[1], .columns = dims[2], .align = alignments[draw(4)]};
    m.lower = draw_between(1 - m.rows, m.columns - 1);
    m.upper = draw(3) ? draw_between(m.lower, m.columns - 1) : m.lower;
    for (int64_t d = m.lower; d <= m.upper; ++d)
        m.length = length_of(&m, d) > m.length ? length_of(&m, d) : m.length;
    const int64_t band[] = {m.lower, m.upper};
    m.k = host_ints(owner, m.lower == m.upper ? 1 : 2, band, 0);
    if (m.lower == m.upper && draw(2)) m.k->rank = 0;
    return m;
}

static gantry_arg_t *band_tensor(cpu_call_t *owner, const diagonals_t *m, int32_t dtype,
                                 int is_drawn) {
    const int64_t dims[] = {m->batch, m->upper - m->lower + 1, m->length},
                  one[] = {m->batch, m->length};
    const int is_one = m->lower == m->upper;
    return (is_drawn ? draw_tensor : cpu_tensor)(owner, dtype, is_one ? 2 : 3, is_one ? one : dims);
}

/* The position of a cell among its matrix's diagonals; -1 on none of them. */
static int64_t place_of(const diagonals_t *m, int64_t row, int64_t column) {
    const int64_t d = column - row;
    if (d < m->lower || d > m->upper) return -1;
    const int left_above = strncmp(m->align, "LEFT", 4) == 0,
              left_below = strstr(m->align, "_LEFT") != NULL;
    const int is_left = d > 0 ? left_above : d < 0 ? left_below : left_above || left_below;
    return (m->upper - d) * m->length + (row < column ? row : column) +
           (is_left ? 0 : m->length - length_of(m, d));
}

/* MatrixDiag, MatrixSetDiag: cells outside all diagonals are `other`, or x's. */
static void expect_matrices(const diagonals_t *m, const gantry_arg_t *out, const gantry_arg_t *band,
                            const gantry_arg_t *x, const void *other) {
    for (int64_t i = 0; i < out->element_count; ++i) {
        const int64_t batch = i / (m->rows * m->columns), row = i / m->columns % m->rows;
        const int64_t place = place_of(m, row, i % m->columns);
        const int64_t from = batch * (m->upper - m->lower + 1) * m->length + place;
        expect_element(out, i, place >= 0 ? at(band, from) : x ? at(x, i) : other, "MatrixDiag");
    }
}

static void draw_matrix_diag(cpu_call_t *owner, int64_t limit) {
    const diagonals_t m = draw_diagonals(owner, limit);
    const int32_t dtype = draw_type();
    const int64_t dims[] = {m.batch, m.rows, m.columns};
    const gantry_attr_t attrs[] = {string_attr("align", m.align), {.name = NULL}};
    /* inference has used it */
    const gantry_arg_t *side = host_ints(owner, 1, (const int64_t[]){-1}, 0);
    const gantry_arg_t *band = band_tensor(owner, &m, dtype, 1), *value = host_value(owner, dtype);
    gantry_arg_t *out = cpu_tensor(owner, dtype, 3, dims);
    if (draw(2)) {
        const gantry_arg_t *inputs[] = {band, m.k, side, side, value};
        const int has_value = (int)draw(2);
        run(owner, "MatrixDiag", inputs, has_value ? 5 : 4, out, attrs);
        expect_matrices(&m, out, band, NULL, has_value ? value->data : &zero);
    } else {
        const gantry_arg_t *x = draw_tensor(owner, dtype, 3, dims), *inputs[] = {x, band, m.k};
        run(owner, "MatrixSetDiag", inputs, 3, out, attrs);
        expect_matrices(&m, out, band, x, NULL);
    }
    cpu_call_clear(owner);
}

static void draw_matrix_diag_part(cpu_call_t *owner, int64_t limit) {
    const diagonals_t m = draw_diagonals(owner, limit);
    const int32_t dtype = draw_type();
    const int64_t dims[] = {m.batch, m.rows, m.columns}, size = (m.upper - m.lower + 1) * m.length;
    const gantry_attr_t attrs[] = {string_attr("align", m.align), {.name = NULL}};
    const gantry_arg_t *x = draw_tensor(owner, dtype, 3, dims), *value = host_value(owner, dtype);
    const gantry_arg_t *inputs[] = {x, m.k, value};
    gantry_arg_t *out = band_tensor(owner, &m, dtype, 0);
    int64_t *source = cpu_call_block(owner, (size_t)out->element_count * sizeof *source);
    run(owner, "MatrixDiagPart", inputs, 3, out, attrs);
    for (int64_t i = 0; i < out->element_count; ++i) source[i] = -1;
    for (int64_t i = 0; i < x->element_count; ++i) {
        const int64_t place = place_of(&m, i / m.columns % m.rows, i % m.columns);
        if (place >= 0) source[i / (m.rows * m.columns) * size + place] = i;
    }
    for (int64_t i = 0; i < out->element_count; ++i) {
        expect_element(out, i, source[i] >= 0 ? at(x, source[i]) : value->data, "MatrixDiagPart");
    }
    cpu_call_clear(owner);
}

static void draw_band_part(cpu_call_t *owner, int64_t limit) {
    int64_t dims[3];
    const int32_t dtype = draw_type();
    const gantry_attr_t none = {.name = NULL};
    draw_dims(3, limit, dims);
    const int64_t lower = draw_between(-1, dims[1]), upper = draw_between(-1, dims[2]);
    const gantry_arg_t *x = draw_tensor(owner, dtype, 3, dims);
    const gantry_arg_t *inputs[] = {x, host_scalar(owner, lower), host_scalar(owner, upper)};
    gantry_arg_t *out = cpu_tensor(owner, dtype, 3, dims);
    run(owner, "MatrixBandPart", inputs, 3, out, &none);
    for (int64_t i = 0; i < out->element_count; ++i) {
        const int64_t row = i / dims[2] % dims[1], column = i % dims[2];
        const int is_kept =
            (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
        expect_element(out, i, is_kept ? at(x, i) : &zero, "MatrixBandPart");
    }
    cpu_call_clear(owner);
}

/* ---- InvertPermutation ---- */

static void draw_permutation(cpu_call_t *owner, int64_t limit) {
    const int64_t count = 1 + (int64_t)draw((uint64_t)limit);
    const gantry_attr_t none = {.name = NULL};
    gantry_arg_t *x = cpu_tensor(owner, GANTRY_INT64, 1, &count),
                 *out = cpu_tensor(owner, GANTRY_INT64, 1, &count);
    int64_t *values = x->data;
    const gantry_arg_t *inputs[] = {x};
    for (int64_t i = 0; i < count; ++i) {
        const int64_t other = (int64_t)draw((uint64_t)i + 1);
        values[i] = values[other];
        values[other] = i;
    }
    run(owner, "InvertPermutation", inputs, 1, out, &none);
    for (int64_t i = 0; i < count; ++i) assert_int_equal(((int64_t *)out->data)[values[i]], i);
    const int64_t place = (int64_t)draw((uint64_t)count), kept = values[place];
    values[place] = draw(2) ? count : -1;
    assert_int_equal(compute(owner, "InvertPermutation", inputs, 1, out, &none),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(owner->message, " is not between 0 and "));
    values[place] = (kept + 1) % count;
    if (count > 1) {
        char text[64];
        (void)snprintf(text, sizeof text, " = %" PRId64 " is duplicated in the input.",
                       values[place]);
        assert_int_equal(compute(owner, "InvertPermutation", inputs, 1, out, &none),
                         GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(owner->message, text));
    }
    cpu_call_clear(owner);
}

/* ---- tests ---- */

#define TEST(subject, draw_case)                                       \
    static void subject##_random_cases_match_reference(void **state) { \
        (void)state;                                                   \
        run_random(draw_case);                                         \
    }
TEST(strided_slice, draw_strided_slice)
TEST(reverse, draw_reverse)
TEST(pad, draw_pad)
TEST(tile, draw_tile)
TEST(roll, draw_roll)
TEST(blocks, draw_blocks)
TEST(batch_blocks, draw_batch_blocks)
TEST(matrix_diag, draw_matrix_diag)
TEST(matrix_diag_part, draw_matrix_diag_part)
TEST(band_part, draw_band_part)
TEST(permutation, draw_permutation)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strided_slice_random_cases_match_reference),
        cmocka_unit_test(reverse_random_cases_match_reference),
        cmocka_unit_test(pad_random_cases_match_reference),
        cmocka_unit_test(pad_of_nothing_is_the_value),
        cmocka_unit_test(tile_random_cases_match_reference),
        cmocka_unit_test(roll_random_cases_match_reference),
        cmocka_unit_test(blocks_random_cases_match_reference),
        cmocka_unit_test(batch_blocks_random_cases_match_reference),
        cmocka_unit_test(matrix_diag_random_cases_match_reference),
        cmocka_unit_test(matrix_diag_part_random_cases_match_reference),
        cmocka_unit_test(band_part_random_cases_match_reference),
        cmocka_unit_test(permutation_random_cases_match_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
