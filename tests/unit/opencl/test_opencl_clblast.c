/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: No argument that CLBlast gets reaches 2^31 elements, and a product that would need such
 * a one is left to other kernels.
 *
 * CLBlast passes offsets and strides to its kernels as int, so no element of a call may be 2^31
 * elements or more after the buffer's start. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

#include "fake_clblast_open.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_backend.h"
#include "product_case.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)
#define REACH (UINT64_C(1) << 31)

/* ---- a simulated region of 32 GiB ---- */

#define MOST_PARTS 192

/* Sub-buffers of the region. A handle is the address of the sub-buffer's row. */
static struct {
    uint64_t origin;
    uint64_t bytes;
    bool is_held;
} parts[MOST_PARTS];
static size_t part_count;
static char far_region; /* its address is the region's handle */
static uint64_t alignment;

static CL_API_ENTRY cl_mem CL_API_CALL make_part(cl_mem buffer, cl_mem_flags flags,
                                                 cl_buffer_create_type type, const void *info,
                                                 cl_int *code) {
    const cl_buffer_region *region = info;
    (void)flags, (void)type;
    if ((void *)buffer != (void *)&far_region) { /* scratch: a real buffer */
        *code = CL_SUCCESS;
        return (cl_mem)&far_region;
    }
    assert_true(part_count < MOST_PARTS);
    assert_int_equal(region->origin % alignment, 0);
    assert_true(region->origin + region->size <= 32 * GIB);
    parts[part_count].origin = region->origin;
    parts[part_count].bytes = region->size;
    parts[part_count].is_held = true;
    *code = CL_SUCCESS;
    return (cl_mem)(void *)&parts[part_count++];
}

static CL_API_ENTRY cl_int CL_API_CALL release_part(cl_mem buffer) {
    for (size_t i = 0; i < part_count; ++i) {
        if ((void *)buffer == (void *)&parts[i]) {
            assert_true(parts[i].is_held);
            parts[i].is_held = false;
        }
    }
    return CL_SUCCESS;
}

static void open_far(core_t *core, fixture_t *fixture) {
    core_open(core, fixture, "GANTRY_OPENCL_MATMUL", "clblast");
    part_count = 0;
    alignment = fixture->info[0].base_alignment_bytes;
}

/* A product whose tensors lie at these offsets of the region. */
typedef struct far_t {
    product_t product;
    uint64_t begins[3]; /* bytes: a, b, c */
} far_t;

/* GANTRY_UNIMPLEMENTED if CLBlast's kernel declines the call. */
static int32_t run_far(core_t *core, const far_t *far) {
    const product_t *p = &far->product;
    gantry_region_t region = (gantry_region_t)(uintptr_t)&far_region;
    uint64_t item = size_of(p->dtype);
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    gantry_arg_t args[] = {
        make_arg(p, p->a_rank, p->a_dims, (gantry_span_t){region, far->begins[0], 0}),
        make_arg(p, p->b_rank, p->b_dims, (gantry_span_t){region, far->begins[1], 0}),
        make_arg(p, rank, out, (gantry_span_t){region, far->begins[2], 0})};
    for (int i = 0; i < 3; ++i) args[i].span.size_bytes = (uint64_t)args[i].element_count * item;
    const gantry_arg_t *inputs[] = {&args[0], &args[1]};
    gantry_arg_t *outputs[] = {&args[2]};
    gantry_attr_t ta = {.struct_size = sizeof ta,
                        .kind = GANTRY_ATTR_BOOL,
                        .name = p->is_batched ? "adj_x" : "transpose_a",
                        .i = p->is_a_transposed};
    gantry_attr_t tb = {.struct_size = sizeof tb,
                        .kind = GANTRY_ATTR_BOOL,
                        .name = p->is_batched ? "adj_y" : "transpose_b",
                        .i = p->is_b_transposed};
    const gantry_attr_t *attrs[] = {&ta, &tb};
    fixture_t *fixture = core->fixture;
    gantry_op_call_t call = {.struct_size = sizeof call,
                             .input_count = 2,
                             .output_count = 1,
                             .attr_count = 2,
                             .inputs = inputs,
                             .outputs = outputs,
                             .attrs = attrs,
                             .op = p->is_batched ? "BatchMatMul" : "MatMul",
                             .device_info = &fixture->info[0],
                             .device = fixture->device[0],
                             .stream = fixture->stream[0],
                             .services = &services,
                             .core = core};
    call.kernel = find_kernel(core, &call);
    if (!call.kernel) return GANTRY_UNIMPLEMENTED;
    gantry__opencl_symbols_t *cl = &fixture->instance->cl;
    __typeof__(cl->clCreateSubBuffer) create = cl->clCreateSubBuffer;
    __typeof__(cl->clReleaseMemObject) release = cl->clReleaseMemObject;
    cl->clCreateSubBuffer = make_part;
    cl->clReleaseMemObject = release_part;
    core->scratch_count = 0;
    int32_t status = call.kernel->compute(&call);
    cl->clCreateSubBuffer = create;
    cl->clReleaseMemObject = release;
    for (uint32_t i = 0; i < core->scratch_count; ++i)
        fixture_region_free(fixture, 0, core->scratch[i]);
    return status;
}

/* Where the operand begins in the region. Checks that its last element is in reach and inside its
 * buffer. */
static uint64_t check_operand(const fake_clblast_operand_t *operand, uint64_t rows,
                              uint64_t columns, size_t count, size_t item) {
    uint64_t last =
        operand->offset + (count - 1) * operand->stride + (rows - 1) * operand->ld + columns - 1;
    if (last >= REACH)
        fail_msg("offset %zu, leading dimension %zu, stride %zu: the last element is %llu",
                 operand->offset, operand->ld, operand->stride, (unsigned long long)last);
    uint64_t origin = 0;
    for (size_t i = 0; i < part_count; ++i) {
        if (operand->buffer != (void *)&parts[i]) continue;
        origin = parts[i].origin;
        assert_true((last + 1) * item <= parts[i].bytes);
    }
    return origin + operand->offset * item;
}

/* Checks that all products of the batch use the call's tensors in order; returns the number of
 * calls. */
static size_t check_far(core_t *core, const far_t *far) {
    const product_t *p = &far->product;
    uint64_t item = size_of(p->dtype);
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    fake->call_count = 0;
    assert_ok(run_far(core, far));
    int64_t batch = 0;
    for (size_t i = 0; i < fake->call_count; ++i) {
        const fake_clblast_call_t *it = &fake->calls[i];
        assert_int_equal(it->is_double, p->dtype == GANTRY_FLOAT64);
        bool ta = it->a_form == GANTRY__CLBLAST_TRANSPOSED,
             tb = it->b_form == GANTRY__CLBLAST_TRANSPOSED;
        uint64_t a = check_operand(&it->a, ta ? it->k : it->m, ta ? it->m : it->k, it->count, item),
                 b = check_operand(&it->b, tb ? it->n : it->k, tb ? it->k : it->n, it->count, item),
                 c = check_operand(&it->c, it->m, it->n, it->count, item);
        for (size_t j = 0; j < it->count; ++j, ++batch) {
            int64_t a0 = batch_begin(p->a_rank, p->a_dims, rank, out, batch);
            int64_t b0 = batch_begin(p->b_rank, p->b_dims, rank, out, batch);
            assert_int_equal(a + j * it->a.stride * item, far->begins[0] + (uint64_t)a0 * item);
            assert_int_equal(b + j * it->b.stride * item, far->begins[1] + (uint64_t)b0 * item);
            assert_int_equal(
                c + j * it->c.stride * item,
                far->begins[2] + (uint64_t)(batch * out[rank - 2] * out[rank - 1]) * item);
        }
    }
    assert_int_equal(batch, elements(rank - 2, out));
    for (size_t i = 0; i < part_count; ++i) assert_false(parts[i].is_held);
    return fake->call_count;
}

/* Behind 8 GiB an offset of float32 is 2^31 or more; float64 needs 16 GiB. */
static const uint64_t far_begins[][3] = {
    {0, 256, 512},
    {8 * GIB - 256, 8 * GIB - 64, 8 * GIB + 192},
    {31 * GIB + 64, 12 * GIB + 8, 17 * GIB + 16},
    {9 * GIB, 0, 4096},
    {512, 31 * GIB + 1024, 0},
};
#define FAR_BEGINS (sizeof far_begins / sizeof far_begins[0])

TEST(products_in_a_large_region_stay_within_reach) {
    fixture_t fixture;
    core_t core;
    open_far(&core, &fixture);
    for (size_t i = 0; i < FAR_BEGINS; ++i) {
        for (int form = 0; form < 8; ++form) {
            far_t far = {plain(form >> 2 ? GANTRY_FLOAT64 : GANTRY_FLOAT32, 13, 33, 37, form & 1,
                               form >> 1 & 1),
                         {far_begins[i][0], far_begins[i][1], far_begins[i][2]}};
            part_count = 0;
            assert_int_equal(check_far(&core, &far), 1);
            if (i == 0) assert_int_equal(part_count, 0); /* near tensors need no sub-buffer */
        }
    }
    core_close(&core);
}

TEST(batches_in_a_large_region_stay_within_reach) {
    static const product_t products[] = {
        {.a_rank = 3, .b_rank = 3, .a_dims = {5, 7, 9}, .b_dims = {5, 9, 11}},
        {.a_rank = 5, .b_rank = 4, .a_dims = {2, 1, 3, 7, 9}, .b_dims = {4, 1, 9, 5}},
        /* the offsets of the last matrices exceed the bound */
        {.a_rank = 3, .b_rank = 3, .a_dims = {6, 4096, 8192}, .b_dims = {6, 8192, 16}},
        {.a_rank = 4, .b_rank = 3, .a_dims = {8, 3, 8192, 8192}, .b_dims = {3, 8192, 16}},
    };
    fixture_t fixture;
    core_t core;
    open_far(&core, &fixture);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i) {
        for (size_t k = 0; k < FAR_BEGINS; ++k) {
            /* the largest takes 6 GiB */
            far_t far = {products[i],
                         {far_begins[k][0] % (24 * GIB), far_begins[k][1], far_begins[k][2]}};
            far.product.is_batched = 1;
            far.product.dtype = GANTRY_FLOAT32;
            part_count = 0;
            (void)check_far(&core, &far);
        }
    }
    core_close(&core);
}

TEST(product_beyond_reach_is_left_to_other_kernels) {
    static const far_t cases[] = {
        {{.a_rank = 2, .b_rank = 2, .a_dims = {1 << 16, 1 << 15}, .b_dims = {1 << 15, 1}},
         {0, 16 * GIB, 24 * GIB}},
        {{.a_rank = 2, .b_rank = 2, .a_dims = {1, 1 << 15}, .b_dims = {1 << 15, 1 << 16}},
         {0, 16 * GIB, 24 * GIB}},
        {{.a_rank = 2, .b_rank = 2, .a_dims = {1 << 16, 1}, .b_dims = {1, 1 << 15}},
         {0, GIB, 16 * GIB}},
        /* one run of matrices, each of them small */
        {{.is_batched = 1,
          .a_rank = 3,
          .b_rank = 3,
          .a_dims = {1 << 20, 64, 32},
          .b_dims = {1 << 20, 32, 1}},
         {0, 16 * GIB, 24 * GIB}},
        /* all share one b: the product of all rows */
        {{.is_batched = 1,
          .a_rank = 3,
          .b_rank = 2,
          .a_dims = {1 << 20, 64, 32},
          .b_dims = {32, 1}},
         {0, 16 * GIB, 24 * GIB}},
    };
    fixture_t fixture;
    core_t core;
    open_far(&core, &fixture);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        far_t far = cases[i];
        far.product.dtype = GANTRY_FLOAT32;
        if (run_far(&core, &far) != GANTRY_UNIMPLEMENTED) fail_msg("case %zu was taken", i);
    }
    assert_int_equal(fake->call_count, 0);
    core_close(&core);
}

/* ---- temporary memory ---- */

/* A batched call allocates its temporary memory itself, outside the device's limit. */
TEST(large_temporary_memory_of_batches_comes_from_scratch) {
    fixture_t fixture;
    core_t core;
    open_far(&core, &fixture);
    far_t far = {{.dtype = GANTRY_FLOAT32,
                  .is_batched = 1,
                  .a_rank = 3,
                  .b_rank = 3,
                  .a_dims = {4, 512, 512},
                  .b_dims = {4, 512, 512}},
                 {0, 4 * MIB, 8 * MIB}};
    assert_int_equal(check_far(&core, &far), 1);
    assert_true(fake->calls[0].is_batched);
    fake->temp_bytes = MIB / 8; /* for one product */
    assert_int_equal(check_far(&core, &far), 1);
    assert_true(fake->calls[0].is_batched);
    assert_int_equal(core.scratch_count, 0);
    fake->temp_bytes = 3 * MIB;
    assert_int_equal(check_far(&core, &far), 4);
    for (int i = 0; i < 4; ++i) {
        assert_false(fake->calls[i].is_batched);
        assert_non_null(fake->calls[i].temp);
    }
    assert_int_equal(core.scratch_count, 1); /* one after the other */
    /* a small product needs little, whatever the library reports */
    for (int i = 1; i < 3; ++i) far.product.a_dims[i] = far.product.b_dims[i] = 32;
    assert_int_equal(check_far(&core, &far), 1);
    assert_true(fake->calls[0].is_batched);
    core_close(&core);
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main_each(fake_clblast_reset, NULL);
}
