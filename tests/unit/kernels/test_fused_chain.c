/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On OpenCL's processors, a fused program that is a chain of steps stores only results
 * that are read again, in lanes of the widest type.
 *
 * test_fused.c and test_fused_opencl.c have the bits. */

#include "kernels/elementwise/fused_cpu.h"
#include "kernels/elementwise/fused_text.h"
#include "test.h"

/* A step over float32. */
static gantry__cpu_fused_step_t chain_step(int row, int x, int y, int out, int form) {
    return (gantry__cpu_fused_step_t){.row = (uint8_t)row,
                                      .x = (uint8_t)x,
                                      .y = (uint8_t)y,
                                      .out = (uint8_t)out,
                                      .form = (uint8_t)(GANTRY__CPU_FUSED_MAY_CHAIN | form)};
}

TEST(a_chain_stores_only_results_that_are_read_again) {
    enum { A = GANTRY__CPU_FUSED_SLOT, B, OUT = GANTRY__CPU_FUSED_OUTPUT };
    static gantry__cpu_fused_job_t job; /* large */
    static const gantry__cpu_fused_link_t links[] = {
        {GANTRY__CPU_LINK_LOAD, 0},     {GANTRY__CPU_LINK_mul, 1},
        {GANTRY__CPU_LINK_add, 0},      {GANTRY__CPU_LINK_STORE, B},
        {GANTRY__CPU_LINK_sub_from, 1}, {GANTRY__CPU_LINK_STORE, A},
        {GANTRY__CPU_LINK_mul, A},      {GANTRY__CPU_LINK_div_SINGLE, 2},
        {GANTRY__CPU_LINK_STORE, OUT}};
    job.steps[0] = chain_step(GANTRY_K_ROW_Mul, 0, 1, A, 0);
    job.steps[1] = chain_step(GANTRY_K_ROW_Add, A, 0, B, GANTRY__CPU_FUSED_IS_KEPT);
    job.steps[2] = chain_step(GANTRY_K_ROW_Sub, 1, B, A, 0);
    job.steps[3] = chain_step(GANTRY_K_ROW_Mul, A, A, B, 0);
    job.steps[4] = chain_step(GANTRY_K_ROW_Div, B, 2, OUT, GANTRY__CPU_FUSED_Y_SINGLE);
    job.steps[5] = chain_step(GANTRY_K_ROW_Exp, OUT, OUT, A, 0); /* no link */
    job.step_count = 6;
    gantry__cpu_fused_find_chains(&job);
    assert_int_equal(job.chain_count, 1);
    assert_int_equal(job.chains[0].first_step, 0);
    assert_int_equal(job.chains[0].end_step, 5);
    assert_int_equal(job.chains[0].end_link, sizeof links / sizeof links[0]);
    assert_memory_equal(job.links, links, sizeof links);
    job.step_count = 3; /* too few */
    job.chain_count = 0;
    gantry__cpu_fused_find_chains(&job);
    assert_int_equal(job.chain_count, 0);
}

TEST(lanes_are_those_of_the_widest_type) {
    static const struct {
        int32_t types[2]; /* of an Add, and of a Cast to the other type */
        uint32_t lanes;
    } cases[] = {{{GANTRY_FLOAT32, GANTRY_FLOAT32}, 16}, {{GANTRY_FLOAT64, GANTRY_FLOAT64}, 8},
                 {{GANTRY_FLOAT32, GANTRY_FLOAT64}, 8},  {{GANTRY_INT64, GANTRY_INT8}, 8},
                 {{GANTRY_BFLOAT16, GANTRY_INT8}, 16},   {{GANTRY_INT8, GANTRY_FLOAT16}, 16},
                 {{GANTRY_INT8, GANTRY_INT16}, 0},       {{GANTRY_BOOL, GANTRY_UINT8}, 0}};
    const gantry_device_info_t wide = {.type = GANTRY_DEVICE_TYPE_CPU, .native_vector_width = 16};
    gantry_device_info_t other[3] = {wide, wide, wide};
    other[0].native_vector_width = 8;
    other[1].type = GANTRY_DEVICE_TYPE_GPU;
    other[2].sub_group_size = 16;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        const uint8_t from = (uint8_t)cases[c].types[0];
        const gantry__k_fused_key_t key = {
            .instruction_count = 2,
            .words = {{.id = GANTRY_K_ROW_Add, .dtype = from},
                      {.id = GANTRY_K_FUSED_Cast,
                       .dtype = from,
                       .operands = {-1, (int8_t)cases[c].types[1], 0}}}};
        assert_int_equal(gantry__k_fused_lanes(&key, &wide), cases[c].lanes);
        for (int i = 0; i < 3; ++i) assert_int_equal(gantry__k_fused_lanes(&key, &other[i]), 0);
    }
}

int main(void) { return test_main(); }
