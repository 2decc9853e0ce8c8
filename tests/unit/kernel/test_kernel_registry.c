/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A device gets the kernels that its types allow, on devices made of tables. */

#include "failing_heap.h"
#include "kernel/kernel_registry.h"
#include "test.h"

#define ALL_TYPES UINT64_MAX
#define BIT(dtype) (UINT64_C(1) << (dtype))
#define NO_FLOAT64 (ALL_TYPES & ~BIT(GANTRY_FLOAT64))
#define NO_FLOATS (NO_FLOAT64 & ~BIT(GANTRY_FLOAT32))

/* ---- a backend with a kernel of its own ---- */

static int32_t compute_nothing(gantry_op_call_t *call) {
    (void)call;
    return 0;
}

static const gantry_type_constraint_t floats[] = {{"T", BIT(GANTRY_FLOAT32) | BIT(GANTRY_FLOAT64)}};
static const gantry_kernel_def_t own_matmul = {.struct_size = sizeof own_matmul,
                                               .priority = 9,
                                               .op = "MatMul",
                                               .types = floats,
                                               .type_count = 1,
                                               .compute = compute_nothing};
/* A kernel that computes with complex numbers, as Add's does. */
static const gantry_type_constraint_t with_complex[] = {
    {"T", GANTRY_DTYPES_NUMERIC | BIT(GANTRY_COMPLEX64)}};
static const gantry_kernel_def_t own_angle = {.struct_size = sizeof own_angle,
                                              .priority = 9,
                                              .op = "Angle",
                                              .types = with_complex,
                                              .type_count = 1,
                                              .compute = compute_nothing};

static const gantry_kernel_def_t without_compute = {
    .struct_size = sizeof without_compute, .priority = 99, .op = "MatMul"};
static bool has_list = true;

static uint32_t own_kernels(gantry_backend_instance_t *instance, uint32_t index,
                            const gantry_kernel_def_t *const **out_kernels) {
    static const gantry_kernel_def_t *const list[] = {&own_matmul, &own_angle, &without_compute};
    (void)instance;
    (void)index;
    *out_kernels = has_list ? list : NULL;
    return 3;
}

static failing_heap_t heap;
static gantry__kernel_registry_t registry;

static void open_registry(uint64_t dtype_mask) {
    static const gantry_program_ops_t programs = {.struct_size = sizeof programs};
    static const gantry_backend_t table = {
        .struct_size = sizeof table, .name = "own", .kernels = own_kernels, .program = &programs};
    const gantry__backend_t backend = {.table = &table};
    const gantry_device_info_t info = {.struct_size = sizeof info,
                                       .dtype_mask = dtype_mask,
                                       .program_kinds = GANTRY_PROGRAM_OPENCL_C};
    const gantry__log_t log = {0};
    failing_heap_init(&heap, -1);
    assert_int_equal(gantry__kernel_registry_init(&registry, &heap.heap, &log, &backend, 0, &info),
                     GANTRY_OK);
}

static void close_registry(void) {
    gantry__kernel_registry_deinit(&registry);
    assert_int_equal(heap.live_blocks, 0);
}

/* ---- accepted types ---- */

/* Whether the op's first kernel accepts first and second as types of these names. */
static bool takes(const char *op, const char *first_name, gantry_dtype_t first,
                  const char *second_name, gantry_dtype_t second, gantry_dtype_t *out_lacking) {
    const gantry_attr_t attrs[] = {
        {.struct_size = sizeof attrs[0], .kind = GANTRY_ATTR_TYPE, .name = first_name, .i = first},
        {.struct_size = sizeof attrs[0],
         .kind = GANTRY_ATTR_TYPE,
         .name = second_name,
         .i = second}};
    size_t count;
    const gantry__kernel_entry_t *entries = gantry__kernel_registry_find(&registry, op, &count);
    if (count == 0) fail_msg("%s has no kernel", op);
    return gantry__kernel_takes_types(&entries[0], attrs, second_name ? 2 : 1, out_lacking);
}

static bool takes_one(const char *op, gantry_dtype_t dtype, gantry_dtype_t *out_lacking) {
    return takes(op, "T", dtype, NULL, GANTRY_DTYPE_NONE, out_lacking);
}

static void expect_lacking(const char *op, gantry_dtype_t dtype) {
    gantry_dtype_t lacking = GANTRY_DTYPE_NONE;
    assert_false(takes_one(op, dtype, &lacking));
    assert_int_equal(lacking, dtype);
    assert_false(takes_one(op, dtype, NULL));
}

TEST(device_with_all_types_takes_what_kernels_take) {
    gantry_dtype_t lacking = GANTRY_FLOAT64;
    open_registry(ALL_TYPES);
    assert_true(takes_one("Add", GANTRY_FLOAT64, &lacking));
    assert_int_equal(lacking, GANTRY_DTYPE_NONE);
    assert_true(takes_one("MatMul", GANTRY_FLOAT64, NULL));
    close_registry();
}

TEST(device_without_float64_has_no_kernel_that_computes_with_it) {
    static const char *const ops[] = {"Add", "Exp", "Sum", "Softmax", "Cumsum", "Sort", "MatMul"};
    open_registry(NO_FLOAT64);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        gantry_dtype_t lacking;
        expect_lacking(ops[i], GANTRY_FLOAT64);
        assert_true(takes_one(ops[i], GANTRY_FLOAT32, &lacking));
        assert_int_equal(lacking, GANTRY_DTYPE_NONE);
    }
    close_registry();
}

TEST(either_type_of_a_cast_may_be_lacking) {
    gantry_dtype_t lacking;
    open_registry(NO_FLOAT64);
    assert_false(takes("Cast", "SrcT", GANTRY_FLOAT32, "DstT", GANTRY_FLOAT64, &lacking));
    assert_int_equal(lacking, GANTRY_FLOAT64);
    assert_false(takes("Cast", "SrcT", GANTRY_FLOAT64, "DstT", GANTRY_INT32, &lacking));
    assert_int_equal(lacking, GANTRY_FLOAT64);
    assert_true(takes("Cast", "SrcT", GANTRY_FLOAT32, "DstT", GANTRY_INT32, &lacking));
    close_registry();
}

TEST(bits_are_moved_whatever_the_device_computes_with) {
    static const char *const ops[] = {"Transpose", "Pad", "Select", "Reshape"};
    open_registry(NO_FLOATS & ~BIT(GANTRY_COMPLEX64));
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        assert_true(takes_one(ops[i], GANTRY_FLOAT64, NULL));
        assert_true(takes_one(ops[i], GANTRY_COMPLEX64, NULL));
    }
    assert_true(takes("Gather", "Tparams", GANTRY_FLOAT64, "Tindices", GANTRY_INT32, NULL));
    close_registry();
}

TEST(kernel_of_complex_numbers_is_not_one_that_moves_bits) {
    open_registry(ALL_TYPES);
    assert_true(takes_one("Angle", GANTRY_COMPLEX64, NULL));
    close_registry();
    open_registry(NO_FLOAT64 & ~BIT(GANTRY_COMPLEX64));
    expect_lacking("Angle", GANTRY_COMPLEX64);
    expect_lacking("Angle", GANTRY_FLOAT64);
    assert_true(takes_one("Angle", GANTRY_FLOAT32, NULL));
    close_registry();
}

TEST(kernel_that_takes_the_type_nowhere_lacks_nothing) {
    gantry_dtype_t lacking = GANTRY_FLOAT64;
    open_registry(NO_FLOAT64);
    assert_false(takes_one("Exp", GANTRY_INT32, &lacking));
    assert_int_equal(lacking, GANTRY_DTYPE_NONE);
    /* not even with float64 */
    assert_false(takes("Cast", "SrcT", GANTRY_FLOAT64, "DstT", GANTRY_COMPLEX64, &lacking));
    assert_int_equal(lacking, GANTRY_DTYPE_NONE);
    close_registry();
}

TEST(type_that_is_computed_with_unasked_may_be_lacking) {
    gantry_dtype_t lacking;
    open_registry(NO_FLOAT64);
    assert_false(
        takes("StatelessMultinomial", "T", GANTRY_FLOAT32, "output_dtype", GANTRY_INT64, &lacking));
    assert_int_equal(lacking, GANTRY_FLOAT64);
    close_registry();
    open_registry(ALL_TYPES);
    assert_true(
        takes("StatelessMultinomial", "T", GANTRY_FLOAT32, "output_dtype", GANTRY_INT64, NULL));
    close_registry();
}

TEST(kernels_that_cannot_run_are_left_out) {
    size_t count;
    open_registry(ALL_TYPES);
    assert_ptr_equal(gantry__kernel_registry_find(&registry, "MatMul", &count)->def, &own_matmul);
    close_registry();
    has_list = false;
    open_registry(ALL_TYPES);
    const gantry__kernel_entry_t *entries =
        gantry__kernel_registry_find(&registry, "MatMul", &count);
    assert_true(count > 0);
    assert_ptr_not_equal(entries->def, &own_matmul);
    close_registry();
    has_list = true;
}

int main(void) { return test_main(); }
