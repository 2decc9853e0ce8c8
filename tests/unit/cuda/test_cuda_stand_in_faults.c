/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The stand-in for NVIDIA's driver is as strict as a driver, and fails on request.
 * Promise: The stand-in for NVIDIA's driver counts what is a program's, and says when another ends
 * it.
 *
 * The tests are skipped, with the reason printed, if PoCL is missing. */
#define _POSIX_C_SOURCE 200809L
#include "stand_in_fixture.h"

/* ---- strictness ---- */

static void programs_that_are_wrong_are_refused(void **state) {
    void *module = NULL;
    char *log = NULL;
    char *image;
    int code = 0;

    (void)state;
    assert_null(compile(
        "\nGANTRY_KERNEL broken(GANTRY_SPAN_OUT(out)) { GANTRY_OUT(float, out)[0] = nothing_known; }\n",
        "--gpu-architecture=sm_90", &code, &log));
    assert_int_equal(code, 6);
    assert_non_null(strstr(log, "nothing_known"));
    free(log);
    assert_null(compile(add_text, "--gpu-architecture=sm_77", &code, &log));
    assert_int_equal(code, 5);
    free(log);
    assert_null(compile(add_text, "--gpu-architecture=compute_90", &code, NULL)); /* PTX only */
    assert_int_equal(code, 0);
    assert_code(200, cu.cuModuleLoadDataEx(&module, "no image", 0, NULL, NULL));
    image = compile(add_text, "--gpu-architecture=sm_80", &code, NULL);
    assert_code(209, cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    image[strlen(image) - 3] ^= 1;
    assert_code(200, cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    free(image);
}

static void wrong_calls_have_the_drivers_codes(void **state) {
    address_t memory = make_memory(100);
    void *other = NULL;
    float value = 0;

    (void)state;
    assert_code(1, cu.cuMemcpyHtoDAsync_v2(memory + 99, &value, 4, stream));
    assert_code(1, cu.cuMemsetD32Async(memory + 2, 0, 1, stream));
    assert_code(400, cu.cuStreamSynchronize(&value));
    assert_code(1, cu.cuMemFree_v2(memory + 4));
    assert_done(cu.cuMemFree_v2(memory));
    assert_code(1, cu.cuMemFree_v2(memory));
    assert_code(1, cu.cuMemcpyHtoDAsync_v2(memory, &value, 4, stream));
    assert_done(cu.cuCtxCreate_v2(&other, 0, 1));
    assert_code(201, cu.cuStreamSynchronize(stream)); /* of another context */
    assert_done(cu.cuCtxDestroy_v2(other));
    assert_code(201, cu.cuCtxPushCurrent_v2(other));
    assert_done(cu.cuCtxPopCurrent_v2(NULL));
    assert_code(201, cu.cuMemAlloc_v2(&memory, 4));
    assert_code(201, cu.cuCtxPopCurrent_v2(NULL));
    assert_done(cu.cuCtxPushCurrent_v2(context));
}

static void address_of_nothing_loses_the_card(void **state) {
    void *function = NULL;
    void *module = load(group_text, "last_of_group", &function);
    address_t out = make_memory(64);
    address_t wrong = out + 4096;
    uint64_t zero = 0;
    void *parameters[3] = {&wrong, &zero, &zero};
    address_t more = 0;
    char text[256];

    (void)state;
    assert_done(cu.cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64, stream, parameters, NULL));
    assert_code(700, cu.cuStreamSynchronize(stream));
    assert_code(700, cu.cuMemAlloc_v2(&more, 4));
    assert_code(700, cu.cuModuleUnload(module)); /* the context still ends */
    assert_code(700, cu.cuMemFree_v2(out));
    control->complaints(text, sizeof text);
    assert_non_null(strstr(text, "no memory of its device"));
    expected_complaints = 1;
    assert_int_equal(control->live(STAND_IN_MODULES), 0);
}

static void bytes_outside_an_allocation_are_noticed(void **state) {
    void *function = NULL;
    void *module = load(group_text, "last_of_group", &function);
    address_t out = make_memory(3 * sizeof(float));
    uint64_t zero = 0;
    void *parameters[3] = {&out, &zero, &zero};
    char text[256];

    (void)state;
    assert_done(cu.cuLaunchKernel(function, 4, 1, 1, 16, 1, 1, 64, stream, parameters, NULL));
    assert_done(cu.cuMemFree_v2(out));
    control->complaints(text, sizeof text);
    assert_non_null(strstr(text, "written behind"));
    expected_complaints = 1;
    assert_done(cu.cuModuleUnload(module));
}

/* ---- control ---- */

static void fault_hits_the_call_that_was_named(void **state) {
    address_t memory[3] = {0, 0, 0};

    (void)state;
    assert_int_equal(control->set("fail=cuMemAlloc_v2:2:2"), 0);
    assert_done(cu.cuMemAlloc_v2(&memory[0], 16));
    assert_code(2, cu.cuMemAlloc_v2(&memory[1], 16));
    assert_done(cu.cuMemAlloc_v2(&memory[2], 16));
    assert_int_equal(control->calls("cuMemAlloc_v2"), 3);
    assert_int_equal(control->live(STAND_IN_MEMORY), 2);
    assert_int_equal(control->set("colour=red"), -1);
    assert_done(cu.cuMemFree_v2(memory[0]));
    assert_done(cu.cuMemFree_v2(memory[2]));
}

static void card_is_lost_after_so_many_calls(void **state) {
    address_t memory[8];
    int made = 0;
    int code = 0;

    (void)state;
    control->reset();
    assert_int_equal(control->set("lost_after=5"), 0);
    while (code == 0 && made < 8) {
        code = cu.cuMemAlloc_v2(&memory[made], 16);
        made += code == 0;
    }
    assert_int_equal(code, 719);
    assert_int_equal(made, 5);
    assert_code(719, cu.cuStreamSynchronize(stream));
    for (int i = 0; i < made; ++i) {
        assert_code(719, cu.cuMemFree_v2(memory[i]));
    }
}

static void objects_that_end_with_their_context_are_counted(void **state) {
    void *other = NULL;
    void *event = NULL;
    address_t memory = 0;
    long before = control->abandoned(STAND_IN_MEMORY);

    (void)state;
    assert_done(cu.cuCtxCreate_v2(&other, 0, 0));
    assert_done(cu.cuEventCreate(&event, 2));
    assert_done(cu.cuMemAlloc_v2(&memory, 16));
    assert_int_equal(control->live(STAND_IN_MEMORY), 1);
    assert_done(cu.cuCtxDestroy_v2(other));
    assert_int_equal(control->live(STAND_IN_MEMORY), 0);
    assert_int_equal(control->live(STAND_IN_EVENTS), 0);
    assert_int_equal(control->abandoned(STAND_IN_MEMORY), before + 1);
}

/* ---- what is a program's ---- */

static void pointers_have_a_context_a_device_and_a_range(void **state) {
    int attributes[] = {1, 2, 9, 11, 12};
    void *of = NULL;
    unsigned type = 0;
    int ordinal = -1;
    address_t start = 0, pool = 0;
    size_t bytes = 0;
    void *values[] = {&of, &type, &ordinal, &start, &bytes};
    address_t memory = make_memory(64);

    (void)state;
    assert_done(cu.cuPointerGetAttributes(5, attributes, values, memory + 8));
    assert_ptr_equal(of, context);
    assert_int_equal(type, 2);
    assert_int_equal(ordinal, 0);
    assert_int_equal(start, memory);
    assert_int_equal(bytes, 64);
    assert_done(cu.cuMemAllocAsync(&pool, 64, stream));
    assert_done(cu.cuPointerGetAttributes(5, attributes, values, pool));
    assert_null(of);
    assert_int_equal(type, 2);
    assert_done(cu.cuMemFree_v2(pool));
    assert_done(cu.cuMemFree_v2(memory));
    assert_done(cu.cuPointerGetAttributes(5, attributes, values, memory));
    assert_int_equal(type, 0);
    assert_int_equal(bytes, 0);
}

static void streams_know_their_context(void **state) {
    void *of = NULL;

    (void)state;
    assert_done(cu.cuStreamGetCtx(stream, &of));
    assert_ptr_equal(of, context);
    of = NULL;
    assert_done(cu.cuStreamGetCtx((void *)1, &of)); /* CU_STREAM_LEGACY */
    assert_ptr_equal(of, context);
    assert_done(cu.cuStreamSynchronize((void *)1));
    assert_code(400, cu.cuStreamGetCtx((void *)2, &of));
}

static void objects_of_the_program_are_its_own_to_end(void **state) {
    void *own = NULL, *others = NULL;
    char text[256] = "";

    (void)state;
    control->program(1);
    assert_done(cu.cuEventCreate(&own, 2));
    control->program(0);
    assert_done(cu.cuEventCreate(&others, 2));
    assert_int_equal(control->live(STAND_IN_EVENTS), 2);
    assert_int_equal(control->live_of_program(STAND_IN_EVENTS), 1);
    control->program(1);
    assert_done(cu.cuEventDestroy_v2(others)); /* an event may be given away */
    control->program(0);
    assert_int_equal(control->complaints(NULL, 0), 0);
    assert_done(cu.cuEventDestroy_v2(own));
    assert_int_equal(control->live_of_program(STAND_IN_EVENTS), 0);
    assert_int_equal(control->complaints(text, sizeof text), 1);
    assert_non_null(strstr(text, "of the program was ended by another"));
    expected_complaints = 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(programs_that_are_wrong_are_refused),
        TEST(wrong_calls_have_the_drivers_codes),
        TEST(address_of_nothing_loses_the_card),
        TEST(bytes_outside_an_allocation_are_noticed),
        TEST(fault_hits_the_call_that_was_named),
        TEST(card_is_lost_after_so_many_calls),
        TEST(objects_that_end_with_their_context_are_counted),
        TEST(pointers_have_a_context_a_device_and_a_range),
        TEST(streams_know_their_context),
        TEST(objects_of_the_program_are_its_own_to_end),
    };
    int result;

    result = start();
    return result != 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
