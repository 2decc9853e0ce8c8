/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A device without double precision is reported as such, and programs that use double do
 * not build on its stand-in.
 * Promise: Float64 is the only type that an OpenCL device without double precision lacks. */
#define _GNU_SOURCE
#include "opencl_fixture.h"
#include "test.h"

TEST(float64_is_the_only_type_that_lacks) {
    fixture_t fixture;

    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        uint64_t mask = fixture.info[d].dtype_mask;

        assert_true((mask & GANTRY_DTYPE_BIT(GANTRY_FLOAT64)) == 0);
        assert_true((mask & GANTRY_DTYPE_BIT(GANTRY_FLOAT32)) != 0 &&
                    (mask & GANTRY_DTYPE_BIT(GANTRY_INT64)) != 0 &&
                    (mask & GANTRY_DTYPE_BIT(GANTRY_FLOAT16)) != 0);
    }
    fixture_close(&fixture);
}

static int32_t build(fixture_t *fixture, const char *text) {
    const char *const parts[] = {text};
    const gantry_program_source_t source = {.struct_size = sizeof source,
                                            .kinds = GANTRY_PROGRAM_OPENCL_C,
                                            .label = "test/no_double",
                                            .parts = parts,
                                            .part_count = 1};
    gantry_backend_program_t *program = NULL;
    int32_t status = fixture->backend->program->build(fixture->device[0], &source, "", &program);

    if (status == 0) {
        fixture->backend->program->destroy(program);
    }
    return status;
}

TEST(text_that_uses_double_is_not_built) {
    static const char *const uses[] = {
        "__kernel void f(__global double *x) { x[0] = 1; }\n",
        "__kernel void f(__global float *x) { double y = x[0]; x[0] = (float)(y * y); }\n",
        "__kernel void f(__global float *x) { double2 y = (double2)(x[0], x[1]); x[0] = (float)y.x; }\n",
        "__kernel void f(__global float *x) { x[0] = (float)as_double((ulong)x[1]); }\n",
        "__kernel void f(__global float *x) { x[0] = (float)convert_double(x[1]); }\n",
    };
    fixture_t fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; ++i) {
        assert_int_equal(build(&fixture, uses[i]), GANTRY_INVALID_ARGUMENT);
        assert_error_has("poisoned");
    }
    fixture_close(&fixture);
}

TEST(text_without_double_is_built) {
    static const char text[] =
        "#if defined(cl_khr_fp64) || defined(cl_khr_fp16) || defined(__opencl_c_fp64)\n"
        "#error these are not here\n"
        "#endif\n"
        "__kernel void f(__global float *x) { x[0] = x[1] * (sizeof(1.0) == 4 ? 1 : -1); }\n";
    fixture_t fixture;

    fixture_open(&fixture);
    assert_ok(build(&fixture, text));
    fixture_close(&fixture);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("OPENCL_LAYERS", GANTRY_TEST_MODULES "/opencl/no_double_layer.so", 1);
    return test_main();
}
