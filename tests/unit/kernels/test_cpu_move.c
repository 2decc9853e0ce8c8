/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Transpose, BroadcastTo, Slice, Concat, Gather and OneHot of the CPU backend agree with
 * plain loops, over random shapes. */
#include "cpu_move_case.h"
#include "test.h"

static int32_t compute(cpu_call_t *owner, const char *op, const gantry_arg_t *const *inputs,
                       uint32_t count, gantry_arg_t *out, const gantry_attr_t *attr) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_move_kernels, gantry__cpu_move_kernel_count, op);
    if (!kernel)
        kernel = cpu_kernel(gantry__cpu_gather_kernels, gantry__cpu_gather_kernel_count, op);
    assert_non_null(kernel);
    return cpu_compute(owner, kernel, inputs, count, out, &attr, attr ? 1 : 0);
}

/* ---- one random case of each op ---- */

static void check_transpose(cpu_call_t *owner, int32_t rank, const int64_t *dims,
                            const int64_t *perm, int32_t dtype) {
    int64_t out_dims[8], index[8], from[8];
    for (int32_t d = 0; d < rank; ++d) out_dims[d] = dims[perm[d]];
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, rank, perm, (int)draw(2))};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, out_dims);
    assert_int_equal(compute(owner, "Transpose", inputs, 2, out, NULL), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        for (int32_t d = 0; d < rank; ++d) from[perm[d]] = index[d];
        expect_element(out, i, at(x, flat_of(x, from)), "Transpose");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

static void draw_transpose(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(9);
    int64_t dims[8], perm[8] = {0};
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < rank; ++d) {
        int32_t other = (int32_t)draw((uint64_t)d + 1);
        perm[d] = perm[other];
        perm[other] = d;
    }
    check_transpose(owner, rank, dims, perm, some_types[draw(SOME_TYPES)]);
}

static void draw_broadcast(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(9);
    int32_t in_rank = (int32_t)draw((uint64_t)rank + 1);
    int32_t dtype = some_types[draw(SOME_TYPES)];
    int64_t dims[8], in_dims[8], index[8], from[8];
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < in_rank; ++d) in_dims[d] = draw(2) ? 1 : dims[rank - in_rank + d];
    const gantry_arg_t *x = draw_tensor(owner, dtype, in_rank, in_dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, rank, dims, (int)draw(2))};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, dims);
    assert_int_equal(compute(owner, "BroadcastTo", inputs, 2, out, NULL), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        for (int32_t d = 0; d < in_rank; ++d)
            from[d] = in_dims[d] == 1 ? 0 : index[rank - in_rank + d];
        expect_element(out, i, at(x, flat_of(x, from)), "BroadcastTo");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

static void draw_slice(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(9);
    int32_t dtype = some_types[draw(SOME_TYPES)];
    int64_t dims[8], begin[8], size[8], given[8], index[8];
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < rank; ++d) {
        begin[d] = draw(2) ? 0 : (int64_t)draw((uint64_t)dims[d]);
        size[d] = draw(2) ? dims[d] - begin[d] : 1 + (int64_t)draw((uint64_t)(dims[d] - begin[d]));
        given[d] = size[d] == dims[d] - begin[d] && draw(2) ? -1 : size[d];
    }
    int wide = (int)draw(2);
    const gantry_arg_t *x = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *inputs[] = {x, host_ints(owner, rank, begin, wide),
                                    host_ints(owner, rank, given, wide)};
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, size);
    assert_int_equal(compute(owner, "Slice", inputs, 3, out, NULL), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        for (int32_t d = 0; d < rank; ++d) index[d] += begin[d];
        expect_element(out, i, at(x, flat_of(x, index)), "Slice");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

static void draw_concat(cpu_call_t *owner, int64_t limit) {
    enum { MOST = 5 };
    int32_t rank = 1 + (int32_t)draw(8), axis = (int32_t)draw((uint64_t)rank);
    uint32_t count = 1 + (uint32_t)draw(MOST);
    int32_t dtype = some_types[draw(SOME_TYPES)];
    int64_t dims[8], index[8], sizes[MOST], total = 0;
    const gantry_arg_t *inputs[MOST + 1];
    draw_dims(rank, limit, dims);
    for (uint32_t k = 0; k < count; ++k) {
        sizes[k] = draw(4) == 0 ? 0 : 1 + (int64_t)draw((uint64_t)dims[axis]);
        if (k == count - 1 && total == 0) sizes[k] = 1; /* an empty result never reaches a kernel */
        total += sizes[k];
    }
    for (uint32_t k = 0; k < count; ++k) {
        dims[axis] = sizes[k];
        inputs[k] = draw_tensor(owner, dtype, rank, dims);
    }
    dims[axis] = total;
    inputs[count] = host_scalar(owner, draw(2) ? axis : axis - rank);
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank, dims);
    assert_int_equal(compute(owner, "Concat", inputs, count + 1, out, NULL), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        uint32_t k = 0;
        index_of(out, i, index);
        while (index[axis] >= sizes[k]) index[axis] -= sizes[k++];
        expect_element(out, i, at(inputs[k], flat_of(inputs[k], index)), "Concat");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

static gantry_arg_t *draw_indices(cpu_call_t *owner, int32_t rank, const int64_t *dims, int64_t low,
                                  int64_t high) {
    gantry_arg_t *arg = cpu_tensor(owner, draw(2) ? GANTRY_INT64 : GANTRY_INT32, rank, dims);
    for (int64_t i = 0; i < arg->element_count; ++i) {
        int64_t value = low + (int64_t)draw((uint64_t)(high - low));
        if (arg->dtype == GANTRY_INT64) {
            ((int64_t *)arg->data)[i] = value;
        } else {
            ((int32_t *)arg->data)[i] = (int32_t)value;
        }
    }
    return arg;
}

/* params [batch.., outer.., limit, inner..], indices [batch.., picks..], result [batch..,
 * outer.., picks.., inner..] */
static void draw_gather(cpu_call_t *owner, int64_t limit) {
    int32_t batch = (int32_t)draw(3), outer = (int32_t)draw(3), picks = (int32_t)draw(3),
            inner = (int32_t)draw(2);
    int32_t rank = batch + outer + 1 + inner, axis = batch + outer,
            dtype = some_types[draw(SOME_TYPES)];
    int64_t dims[8], index_dims[8], out_dims[8], index[8], from[8];
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d < batch; ++d) index_dims[d] = dims[d];
    draw_dims(picks, 20, index_dims + batch);
    memcpy(out_dims, dims, (size_t)axis * sizeof dims[0]);
    memcpy(out_dims + axis, index_dims + batch, (size_t)picks * sizeof dims[0]);
    memcpy(out_dims + axis + picks, dims + axis + 1, (size_t)inner * sizeof dims[0]);
    const gantry_arg_t *params = draw_tensor(owner, dtype, rank, dims);
    const gantry_arg_t *indices = draw_indices(owner, batch + picks, index_dims, 0, dims[axis]);
    const gantry_arg_t *inputs[] = {params, indices,
                                    host_scalar(owner, draw(2) ? axis : axis - rank)};
    /* a negative batch_dims counts from the end of indices; 0 has no such form */
    gantry_attr_t attr = int_attr("batch_dims", batch > 0 && picks > 0 && draw(2) ? -picks : batch);
    gantry_arg_t *out = cpu_tensor(owner, dtype, axis + picks + inner, out_dims);
    assert_int_equal(compute(owner, "Gather", inputs, 3, out, &attr), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        int64_t place[8];
        index_of(out, i, index);
        memcpy(place, index, (size_t)batch * sizeof index[0]);
        memcpy(place + batch, index + axis, (size_t)picks * sizeof index[0]);
        memcpy(from, index, (size_t)axis * sizeof index[0]);
        from[axis] = gantry__k_host_int(indices, flat_of(indices, place));
        memcpy(from + axis + 1, index + axis + picks, (size_t)inner * sizeof index[0]);
        expect_element(out, i, at(params, flat_of(params, from)), "Gather");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

static void draw_one_hot(cpu_call_t *owner, int64_t limit) {
    int32_t rank = (int32_t)draw(8), axis = (int32_t)draw((uint64_t)rank + 1),
            dtype = some_types[draw(SOME_TYPES)];
    int64_t dims[8] = {0}, out_dims[8], index[8], depth = 1 + (int64_t)draw(12);
    draw_dims(rank, limit, dims);
    for (int32_t d = 0; d <= rank; ++d)
        out_dims[d] = d < axis ? dims[d] : d == axis ? depth : dims[d - 1];
    /* some indices are out of range */
    const gantry_arg_t *indices = draw_indices(owner, rank, dims, -2, depth + 2);
    const int64_t two = 2;
    const gantry_arg_t *values = draw_tensor(owner, dtype, 1, &two);
    gantry_arg_t on = *values, off = *values;
    on.rank = off.rank = 0;
    on.element_count = off.element_count = 1;
    off.data = (char *)values->data + gantry__k_size(dtype);
    const gantry_arg_t *inputs[] = {indices, host_scalar(owner, depth), &on, &off};
    gantry_attr_t attr = int_attr("axis", axis == rank && draw(2) ? -1 : axis);
    gantry_arg_t *out = cpu_tensor(owner, dtype, rank + 1, out_dims);
    assert_int_equal(compute(owner, "OneHot", inputs, 4, out, &attr), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        index_of(out, i, index);
        int64_t place = index[axis];
        memmove(index + axis, index + axis + 1, (size_t)(rank - axis) * sizeof index[0]);
        int hit = gantry__k_host_int(indices, flat_of(indices, index)) == place;
        expect_element(out, i, hit ? on.data : off.data, "OneHot");
    }
    expect_nothing_behind(out);
    cpu_call_clear(owner);
}

/* ---- tests ---- */

TEST(transpose_random_shapes_match_reference) { run_random(draw_transpose); }

TEST(broadcast_random_shapes_match_reference) { run_random(draw_broadcast); }

TEST(slice_random_shapes_match_reference) { run_random(draw_slice); }

TEST(concat_random_shapes_match_reference) { run_random(draw_concat); }

TEST(gather_random_shapes_match_reference) { run_random(draw_gather); }

TEST(one_hot_random_shapes_match_reference) { run_random(draw_one_hot); }

TEST(transpose_matrices_match_reference) {
    static const int64_t sides[][2] = {{1, 77},  {2, 50000}, {50000, 3}, {31, 33},   {32, 32},
                                       {33, 65}, {7, 4099},  {512, 512}, {100, 1000}};
    static const int64_t perm[] = {1, 0};
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 3);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; ++i) {
        for (size_t t = 0; t < SOME_TYPES; t += 2)
            check_transpose(&owner, 2, sides[i], perm, some_types[t]);
    }
    cpu_call_close(&owner);
}

TEST(transpose_permutations_of_four_match_reference) {
    static const int64_t dims[][4] = {{3, 5, 4, 6}, {2, 40, 1, 35}, {1, 1, 34, 33}, {40, 3, 2, 40}};
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 1);
    for (int64_t p = 0; p < 256; ++p) {
        const int64_t perm[] = {p / 64, p / 16 % 4, p / 4 % 4, p % 4};
        if ((1 << perm[0] | 1 << perm[1] | 1 << perm[2] | 1 << perm[3]) != 15) continue;
        for (int i = 0; i < 4; ++i) check_transpose(&owner, 4, dims[i], perm, GANTRY_FLOAT32);
    }
    cpu_call_close(&owner);
}

static void expect_bad_index(cpu_call_t *owner, const gantry_arg_t *indices, int64_t limit,
                             const char *message) {
    const int64_t dims[] = {limit, 2};
    const gantry_arg_t *params = draw_tensor(owner, GANTRY_FLOAT32, 2, dims);
    const gantry_arg_t *inputs[] = {params, indices, host_scalar(owner, 0)};
    int64_t out_dims[8];
    memcpy(out_dims, indices->dims, (size_t)indices->rank * sizeof out_dims[0]);
    out_dims[indices->rank] = 2;
    gantry_arg_t *out = cpu_tensor(owner, GANTRY_FLOAT32, indices->rank + 1, out_dims);
    gantry_attr_t attr = int_attr("batch_dims", 0);
    owner->message[0] = '\0';
    assert_int_equal(compute(owner, "Gather", inputs, 3, out, &attr), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(owner->message, message);
    /* good rows are copied, bad ones are 0 */
    for (int64_t i = 0; i < indices->element_count; ++i) {
        static const float zeros[2] = {0, 0};
        int64_t index = gantry__k_host_int(indices, i);
        int good = index >= 0 && index < limit;
        assert_memory_equal(at(out, 2 * i), good ? at(params, 2 * index) : (const void *)zeros,
                            sizeof zeros);
    }
}

TEST(gather_index_out_of_range_is_named) {
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 1);
    const int32_t values[] = {0, 4, 2, 7, -1, 1};
    gantry_arg_t *indices = cpu_ints(&owner, 6, values);
    expect_bad_index(&owner, indices, 5, "indices[3] = 7 is not in [0, 5)");
    const int64_t matrix[] = {2, 3};
    indices->rank = 2;
    indices->dims = matrix;
    expect_bad_index(&owner, indices, 8, "indices[1,1] = -1 is not in [0, 8)");
    expect_bad_index(&owner, indices, 0, "indices[0,0] = 0 is not in [0, 0)");
    gantry_arg_t *scalar = host_scalar(&owner, -3);
    expect_bad_index(&owner, scalar, 5, "indices = -3 is not in [0, 5)");
    const int64_t huge = INT64_MAX, one = 1;
    gantry_arg_t *wide = host_ints(&owner, 1, &huge, 1);
    wide->dims = &one;
    expect_bad_index(&owner, wide, 5, "indices[0] = 9223372036854775807 is not in [0, 5)");
    cpu_call_close(&owner);
}

TEST(gather_on_threads_names_the_first_bad_index) {
    cpu_call_t owner;
    cpu_call_open(&owner, -1, 3);
    const int64_t count = 200000;
    gantry_arg_t *indices = draw_indices(&owner, 1, &count, 0, 100);
    const int64_t bad[] = {199999, 123456, 54321, 54322};
    for (int i = 0; i < 4; ++i) {
        if (indices->dtype == GANTRY_INT64) {
            ((int64_t *)indices->data)[bad[i]] = 1000 + i;
        } else {
            ((int32_t *)indices->data)[bad[i]] = 1000 + i;
        }
    }
    expect_bad_index(&owner, indices, 100, "indices[54321] = 1002 is not in [0, 100)");
    cpu_call_close(&owner);
}

int main(void) { return test_main(); }
