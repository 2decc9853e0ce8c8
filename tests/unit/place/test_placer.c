/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The placer follows every rule, names every reason for skipping a device and every error
 * text, on machines made of tables.
 * Promise: Under GANTRY_PLACEMENT=require an op is placed where it was asked, a variable in its
 * only legal home, and each refusal names the setting.
 *
 * The cases of TensorFlow's eager placement, with those of config_test.py that place ops, are
 * here, with "Gantry:" at Gantry's deviations. An op's kernels are a mask of the machine's devices,
 * so that each case shows its subject. */
#include "placer_machine.h"
#include "test.h"

/* ---- no requested device ---- */

TEST(unasked_op_prefers_the_first_gpu) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    place_add(NULL);
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_GPU_PREFERRED, 0);
    assert_int_equal(placing.plan.dtype, GANTRY_FLOAT32);
    assert_int_equal(placing.plan.kernel_count, 1);
    assert_ptr_equal(placing.plan.kernels[0]->def, &add_float);
    place_add("");
    /* an empty text requests nothing */
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_GPU_PREFERRED, 0);
}

TEST(unasked_op_takes_the_second_gpu_when_only_it_has_a_kernel) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU1, &add_float);
    place_add(NULL);
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_GPU_PREFERRED, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL);
}

TEST(unasked_op_without_gpu_kernel_runs_on_the_cpu) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &add_float);
    add_kernel(GPU0, &add_int);
    place_add(NULL);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_ONLY_CPU_KERNEL, 2);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL_FOR_TYPE);
    expect_refusal(1, 2, GANTRY_REFUSED_NO_KERNEL);
}

TEST(unasked_op_without_gpu_runs_on_the_cpu) {
    make_cpu_only();
    add_kernel(CPU0, &add_any);
    place_add(NULL);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_NO_GPU, 0);
}

TEST(other_accelerators_come_between_gpus_and_cpus) {
    begin_machine();
    add_device("CPU", 0, 0, 0);
    add_device("ACCELERATOR", 0, 1, 0);
    add_device("GPU", 0, 1, 1);
    add_kernel(7, &add_float);
    place_add(NULL);
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_GPU_PREFERRED, 0);
    machine.registries[2].count = 0;
    place_add(NULL);
    expect_placed(LOCAL("ACCELERATOR:0"), GANTRY_PLACED_ONLY_CPU_KERNEL, 1);
}

TEST(unlisted_views_are_never_chosen_by_themselves) {
    make_cpu_only();
    add_device("GPU", -1, 2, 0);
    add_kernel(3, &add_float);
    place_add(NULL);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_NO_GPU, 0);
    place_add("GPU:0");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 1);
}

TEST(unasked_op_that_no_device_takes_is_refused) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0, &add_int);
    place_add(NULL);
    expect_refused(
        GANTRY_INVALID_ARGUMENT,
        "No supported device found in available devices [" LOCAL("CPU:0") ", " LOCAL("GPU:0") ", " LOCAL(
            "GPU:1") "]. enable_soft_placement=1. Supported devices types []. Op Add of type float32.");
    assert_int_equal(placing.plan.refusal_count, 3);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL_FOR_TYPE);
    expect_refusal(1, 2, GANTRY_REFUSED_NO_KERNEL);
    expect_refusal(2, 0, GANTRY_REFUSED_NO_KERNEL_FOR_TYPE);
}

TEST(op_without_any_kernel_is_not_found) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &sum_kernel);
    static const char *const wishes[] = {NULL, "GPU:0", "CPU:0", "GPU:7"};
    for (size_t i = 0; i < 4; ++i) {
        place_add(wishes[i]);
        expect_refused(
            GANTRY_NOT_FOUND,
            "Could not find device for node: {{node Add}} = Add[T=float32]\nAll kernels registered for op Add:");
    }
}

/* ---- a requested device ---- */

TEST(device_asked_for_is_taken_when_it_has_a_kernel) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    static const struct {
        const char *wish, *device;
    } cases[] = {{"CPU:0", LOCAL("CPU:0")},
                 {"/cpu:0", LOCAL("CPU:0")},
                 {"GPU:1", LOCAL("GPU:1")},
                 {"/device:GPU:1", LOCAL("GPU:1")},
                 {"gpu:0", LOCAL("GPU:0")},
                 {LOCAL("GPU:1"), LOCAL("GPU:1")},
                 {"fake:1", LOCAL("GPU:1")},
                 {"FAKE:0", LOCAL("GPU:0")},
                 {"/physical_device:GPU:1", LOCAL("GPU:1")},
                 {"GPU:1@fake", LOCAL("GPU:1")}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int soft = 0; soft < 2; ++soft) {
            begin_placing("Add", GANTRY_FLOAT32, cases[i].wish);
            placing.request.soft = soft != 0;
            placing.request.require = soft == 0;
            place();
            expect_placed(cases[i].device, GANTRY_PLACED_EXPLICIT, 0);
        }
    }
}

TEST(card_is_found_by_uuid_and_by_address) {
    make_cpu_and_two_gpus();
    (void)snprintf(machine.physical[2].uuid, sizeof machine.physical[2].uuid,
                   "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
    (void)snprintf(machine.physical[1].pci, sizeof machine.physical[1].pci, "0000:65:00.0");
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    place_add("GPU-8932f");
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_EXPLICIT, 0);
    place_add("PCI:65:00.0");
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
}

TEST(partial_name_takes_the_first_device_with_a_kernel) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU1, &add_float);
    static const struct {
        const char *wish, *device;
        uint32_t refusals;
    } cases[] = {{"GPU", LOCAL("GPU:1"), 1},
                 {"/gpu:*", LOCAL("GPU:1"), 1},
                 {"/device:GPU:*", LOCAL("GPU:1"), 1},
                 {"CPU", LOCAL("CPU:0"), 0},
                 {"/job:localhost", LOCAL("GPU:1"), 1},
                 {"/task:0", LOCAL("GPU:1"), 1},
                 {"/replica:0", LOCAL("GPU:1"), 1},
                 {"/task:0/cpu:*", LOCAL("CPU:0"), 0},
                 {"fake", LOCAL("GPU:1"), 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        place_add(cases[i].wish);
        expect_placed(cases[i].device, GANTRY_PLACED_PARTIAL, cases[i].refusals);
        if (cases[i].refusals) expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL);
    }
}

TEST(alias_reaches_a_view_that_no_number_names) {
    make_cpu_and_two_gpus();
    int view = add_device("GPU", -1, 2, 0);
    machine.physical[view].served_by = &machine.physical[1];
    add_kernel(CPU0 | GPU0 | GPU1 | 8, &add_float);
    place_add("other:0");
    expect_placed("other:0", GANTRY_PLACED_EXPLICIT, 0);
    place_add("other");
    expect_placed("other:0", GANTRY_PLACED_PARTIAL, 0);
    place_add("GPU:0@other");
    expect_placed("other:0", GANTRY_PLACED_EXPLICIT, 0);
    place_add("GPU:0");
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
    place_add("GPU:1@other"); /* that card has no such view */
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
    expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
}

/* ---- soft placement ---- */

TEST(missing_device_falls_to_its_own_type_first) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    static const char *const gpus[] = {"GPU:2", "GPU:42", "GPU:110", "/physical_device:GPU:2"};
    for (size_t i = 0; i < 4; ++i) {
        place_add(gpus[i]);
        expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
        expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
    }
    place_add("CPU:2"); /* Gantry: TensorFlow takes the best device of all, GPU:0 */
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
    expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
}

TEST(missing_kernel_falls_to_its_own_type_first) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU1, &add_float);
    place_add("GPU:0");
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL);
}

TEST(cpu_only_op_asked_on_a_gpu_falls_to_the_cpu) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &add_float);
    place_add("GPU:0");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 2);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL);
    expect_refusal(1, 2, GANTRY_REFUSED_NO_KERNEL);
    place_add("GPU:*");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 2);
}

TEST(gpu_only_op_asked_on_the_cpu_falls_to_a_gpu) {
    make_cpu_and_two_gpus();
    add_kernel(GPU1, &add_float);
    place_add("CPU:0");
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_SOFT_OTHER_TYPE, 2);
    expect_refusal(0, 0, GANTRY_REFUSED_NO_KERNEL);
    expect_refusal(1, 1, GANTRY_REFUSED_NO_KERNEL);
}

TEST(gpu_asked_where_there_is_none_falls_to_the_cpu) {
    make_cpu_only();
    add_kernel(CPU0, &add_float);
    static const char *const wishes[] = {"GPU:0", "GPU:42",    "GPU:*", "fake:0",
                                         "fake",  "GPU-8932f", "CPU:2"};
    for (size_t i = 0; i < 6; ++i) {
        place_add(wishes[i]);
        expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 1);
        expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
    }
    place_add("CPU:2");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
}

TEST(hidden_card_is_told_apart_from_a_missing_one) {
    make_cpu_and_two_gpus();
    /* GPU:1 exists but is not a logical device; cards and logical devices have separate numbers */
    machine.table.logical_count = machine.table.listed_count = 2;
    add_kernel(CPU0 | GPU0, &add_float);
    place_add("/physical_device:GPU:1");
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_SOFT_SAME_TYPE, 1);
    expect_refusal(0, -1, GANTRY_REFUSED_NOT_VISIBLE);
    place_add("/physical_device:GPU:2");
    expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
}

TEST(device_passed_over_twice_counts_once) {
    begin_machine();
    add_device("CPU", 0, 0, 0);
    for (int i = 0; i < 12; ++i) add_device("GPU", i, 1, (uint32_t)i);
    add_kernel(1, &add_float);
    place_add("GPU:3");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 12);
    expect_refusal(0, 4, GANTRY_REFUSED_NO_KERNEL);
    expect_refusal(7, 8, GANTRY_REFUSED_NO_KERNEL); /* the record keeps the first eight */
}

/* ---- without soft placement ---- */

static void expect_refused_hard(const char *wish, const char *text) {
    begin_placing("Add", GANTRY_FLOAT32, wish);
    placing.request.soft = false;
    place();
    expect_refused(GANTRY_INVALID_ARGUMENT, text);
}

#define ALL_DEVICES \
    "All available devices [" LOCAL("CPU:0") ", " LOCAL("GPU:0") ", " LOCAL("GPU:1") "]."

TEST(missing_device_without_soft_placement_is_refused) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    expect_refused_hard(
        LOCAL("GPU:2"),
        "Could not satisfy device specification '" LOCAL(
            "GPU:2") "'. enable_soft_placement=0. Supported device types [CPU, GPU]. " ALL_DEVICES
                     " Op Add");
    assert_int_equal(placing.plan.refusal_count, 1);
    expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
    expect_refused_hard("CPU:2", "Could not satisfy device specification");
    expect_refused_hard("fake:9", "Could not satisfy device specification 'fake:9'.");
}

TEST(missing_kernel_without_soft_placement_is_refused) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &add_float);
    expect_refused_hard(
        LOCAL("GPU:0"),
        "Could not satisfy device specification '" LOCAL(
            "GPU:0") "'. enable_soft_placement=0. Supported device types [CPU]. " ALL_DEVICES);
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL);
    expect_refused_hard("GPU:*", "Could not satisfy device specification");
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &add_float);
    add_kernel(GPU0, &add_int);
    expect_refused_hard("GPU:0", "Supported device types [CPU].");
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL_FOR_TYPE);
}

TEST(place_that_is_not_here_is_unknown_even_softly) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0 | GPU1, &add_float);
    static const char *const wishes[] = {
        "/job:worker/replica:0/task:0/device:GPU:0", "/job:localhost/replica:1/task:0/device:CPU:0",
        "/job:localhost/replica:0/task:3/device:CPU:0", "/job:worker", "/task:1"};
    for (size_t i = 0; i < 5; ++i) {
        for (int soft = 0; soft < 2; ++soft) {
            begin_placing("Add", GANTRY_FLOAT32, wishes[i]);
            placing.request.soft = soft != 0;
            place();
            expect_refused(GANTRY_INVALID_ARGUMENT, " unknown device.");
            assert_memory_equal(gantry__message(), wishes[i], 5);
            expect_refusal(0, -1, GANTRY_REFUSED_NO_SUCH_DEVICE);
        }
    }
}

/* ---- require ---- */

static void place_required(const char *wish) {
    begin_placing("Add", GANTRY_FLOAT32, wish);
    placing.request.require = true;
    place();
}

TEST(required_placement_never_falls_back) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU1, &add_float);
    place_required("GPU:0");
    expect_refused(
        GANTRY_INVALID_ARGUMENT,
        "GANTRY_PLACEMENT=require (option placement_mode, gantry_set_placement_mode) allows no fall-back");
    place_required("GPU:7");
    expect_refused(GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    place_required("CPU:0"); /* the program itself requests the CPU */
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_EXPLICIT, 0);
    place_required(NULL);
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_GPU_PREFERRED, 1);
}

TEST(required_placement_without_gpu_is_an_error) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0, &add_float);
    place_required(NULL);
    expect_refused(
        GANTRY_INVALID_ARGUMENT,
        "GANTRY_PLACEMENT=require (option placement_mode, gantry_set_placement_mode) allows no fall-back");
    make_cpu_only();
    add_kernel(CPU0, &add_float);
    place_required(NULL);
    expect_refused(GANTRY_INVALID_ARGUMENT, "No supported device found");
    place_required("CPU:0");
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_EXPLICIT, 0);
}

TEST(required_integer_variable_has_its_one_home) {
    make_cpu_and_two_gpus();
    begin_placing("VarHandleOp", GANTRY_INT32, NULL);
    placing.request.require = placing.request.integer_variable = true;
    place();
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_ONLY_CPU_KERNEL, 2);
    expect_refusal(0, 1, GANTRY_REFUSED_INTEGER_VARIABLE);
    begin_placing("VarHandleOp", GANTRY_INT32, "GPU:0"); /* the requested GPU is refused */
    placing.request.require = placing.request.integer_variable = true;
    place();
    expect_refused(
        GANTRY_INVALID_ARGUMENT,
        "GANTRY_PLACEMENT=require (option placement_mode, gantry_set_placement_mode) allows no fall-back; "
        "accepted: for an integer variable other than int64, a scope that requests the CPU or no device.");
}

/* ---- variables ---- */

static void place_variable(const char *wish, bool soft) {
    begin_placing("VarHandleOp", GANTRY_INT32, wish);
    placing.request.integer_variable = true;
    placing.request.soft = soft;
    place();
}

TEST(integer_variable_lives_on_the_cpu) {
    make_cpu_and_two_gpus();
    place_variable(NULL, true);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_ONLY_CPU_KERNEL, 2);
    expect_refusal(0, 1, GANTRY_REFUSED_INTEGER_VARIABLE);
    place_variable("GPU:0", true);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 2);
    expect_refusal(0, 1, GANTRY_REFUSED_INTEGER_VARIABLE);
    place_variable("CPU:0", false);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_EXPLICIT, 0);
}

TEST(integer_variable_on_a_gpu_without_soft_placement_is_the_guides_error) {
    make_cpu_and_two_gpus();
    place_variable(LOCAL("GPU:0"), false);
    expect_refused(
        GANTRY_INVALID_ARGUMENT,
        "Cannot assign a device for operation VarHandleOp: Could not satisfy explicit device specification '" LOCAL(
            "GPU:0") "' because no supported kernel for GPU devices is available");
    expect_refusal(0, 1, GANTRY_REFUSED_INTEGER_VARIABLE);
}

TEST(other_variables_live_where_they_are_asked) {
    make_cpu_and_two_gpus();
    /* int64 does not count as an integer variable here */
    begin_placing("VarHandleOp", GANTRY_INT64, "GPU:1");
    place();
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_EXPLICIT, 0);
    begin_placing("VarHandleOp", GANTRY_FLOAT32, NULL);
    place();
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_GPU_PREFERRED, 0);
}

TEST(op_on_a_variable_runs_where_it_lives) {
    make_cpu_and_two_gpus();
    add_kernel(CPU0 | GPU0, &add_float);
    static const char *const wishes[] = {NULL, "GPU:0", "GPU:1", "CPU:0", "/job:worker"};
    for (size_t i = 0; i < 5; ++i) {
        begin_placing("Add", GANTRY_FLOAT32, wishes[i]);
        placing.request.pinned = &machine.logical[0];
        place();
        expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_WITH_VARIABLE, 0);
    }
    begin_placing("Add", GANTRY_FLOAT32, NULL);
    /* no kernel there, and no fallback: the variable is on that device */
    placing.request.pinned = &machine.logical[2];
    place();
    expect_refused(GANTRY_INVALID_ARGUMENT, "No supported device found");
    expect_refusal(0, 2, GANTRY_REFUSED_NO_KERNEL);
}

/* ---- kernels ---- */

TEST(kernel_that_declines_is_passed_over_only_when_shapes_are_known) {
    make_cpu_and_two_gpus();
    add_kernel(GPU0, &add_picky);
    add_kernel(CPU0 | GPU1, &add_willing);
    place_add(NULL);
    /* the kernel decides when it sees the shapes */
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_GPU_PREFERRED, 0);
    begin_placing("Add", GANTRY_FLOAT32, NULL);
    placing.request.call = &placing.call;
    place();
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_GPU_PREFERRED, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_KERNEL_DECLINED);
}

TEST(candidates_keep_the_registrys_order) {
    make_cpu_only();
    add_kernel(CPU0, &add_picky);
    add_kernel(CPU0, &add_int);
    add_kernel(CPU0, &add_float);
    add_kernel(CPU0, &add_any);
    add_kernel(CPU0, &add_willing);
    for (int i = 0; i < GANTRY__MAX_CANDIDATES; ++i) add_kernel(CPU0, &add_float);
    place_add(NULL);
    assert_int_equal(placing.plan.kernel_count, GANTRY__MAX_CANDIDATES);
    const gantry_kernel_def_t *const wanted[] = {&add_picky, &add_float, &add_any, &add_willing};
    for (size_t i = 0; i < 4; ++i) assert_ptr_equal(placing.plan.kernels[i]->def, wanted[i]);
}

TEST(host_inputs_are_those_of_op_and_kernel) {
    make_cpu_only();
    add_kernel(CPU0, &add_float);
    place_add(NULL);
    assert_int_equal(placing.plan.host_inputs[0], 0);
    make_cpu_only();
    add_kernel(CPU0, &add_host_y);
    place_add(NULL);
    assert_int_equal(placing.plan.host_inputs[0], 2);
    make_cpu_only();
    add_kernel(CPU0, &sum_kernel);
    begin_placing("Sum", GANTRY_FLOAT32, NULL);
    place();
    assert_int_equal(placing.plan.host_inputs[0], 2);
}

/* ---- types that a device does not support ---- */

static void make_gpu_without_float64(void) {
    begin_machine();
    add_device("CPU", 0, 0, 0);
    int gpu = add_device("GPU", 0, 1, 0);
    machine.physical[gpu].info.dtype_mask = ~DOUBLE_BIT;
    add_kernel(CPU0 | GPU0, &add_floats);
    add_kernel(CPU0 | GPU0, &transpose_any);
    for (size_t i = 0; i < machine.registries[gpu].count; ++i)
        machine.entries[gpu][i].dtype_mask = ~DOUBLE_BIT;
}

static void place_on_gpu(const char *op, gantry_dtype_t dtype, bool soft) {
    begin_placing(op, dtype, "GPU:0");
    placing.request.soft = soft;
    place();
}

TEST(op_on_a_type_that_the_device_lacks_runs_on_the_cpu) {
    make_gpu_without_float64();
    place_on_gpu("Add", GANTRY_FLOAT64, true);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_DEVICE_LACKS_TYPE);
    assert_int_equal(placing.plan.refusals[0].lacking, GANTRY_FLOAT64);
    begin_placing("Add", GANTRY_FLOAT64, NULL);
    place();
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_ONLY_CPU_KERNEL, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_DEVICE_LACKS_TYPE);
    place_on_gpu("Add", GANTRY_FLOAT32, true);
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
    place_on_gpu("Add", GANTRY_INT32, true); /* its kernels accept no such type on any device */
    expect_refusal(0, 1, GANTRY_REFUSED_NO_KERNEL_FOR_TYPE);
}

TEST(type_that_the_device_lacks_is_moved_there) {
    make_gpu_without_float64();
    place_on_gpu("Transpose", GANTRY_FLOAT64, false);
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
}

TEST(type_that_the_device_lacks_is_named_without_soft_placement) {
    make_gpu_without_float64();
    place_on_gpu("Add", GANTRY_FLOAT64, false);
    expect_refused(GANTRY_INVALID_ARGUMENT,
                   " Op Add. Device " LOCAL("GPU:0") " does not compute with float64.");
    expect_refusal(0, 1, GANTRY_REFUSED_DEVICE_LACKS_TYPE);
    begin_placing("Add", GANTRY_FLOAT64, NULL);
    placing.request.require = true;
    place();
    expect_refused(GANTRY_INVALID_ARGUMENT,
                   " does not compute with float64. GANTRY_PLACEMENT=require ");
}

TEST(variable_lives_where_its_type_is_computed_with) {
    make_gpu_without_float64();
    place_on_gpu("VarHandleOp", GANTRY_FLOAT64, true);
    expect_placed(LOCAL("CPU:0"), GANTRY_PLACED_SOFT_OTHER_TYPE, 1);
    expect_refusal(0, 1, GANTRY_REFUSED_DEVICE_LACKS_TYPE);
    place_on_gpu("VarHandleOp", GANTRY_FLOAT64, false);
    expect_refused(GANTRY_INVALID_ARGUMENT,
                   "Supported device types [CPU]. All available devices [" LOCAL(
                       "CPU:0") ", " LOCAL("GPU:0") "].");
    expect_refused(GANTRY_INVALID_ARGUMENT,
                   "Device " LOCAL("GPU:0") " does not compute with float64.");
    place_on_gpu("VarHandleOp", GANTRY_FLOAT32, false);
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
    place_on_gpu("Const", GANTRY_FLOAT64, false); /* a constant may be on any device */
    expect_placed(LOCAL("GPU:0"), GANTRY_PLACED_EXPLICIT, 0);
}

TEST(constant_needs_no_kernel) {
    make_cpu_and_two_gpus();
    begin_placing("Const", GANTRY_FLOAT32, "GPU:1");
    place();
    expect_placed(LOCAL("GPU:1"), GANTRY_PLACED_EXPLICIT, 0);
    begin_placing("Const", GANTRY_INT32, "GPU:9");
    placing.request.soft = false;
    place();
    expect_refused(GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
}

TEST(every_reason_has_its_own_text) {
    for (int i = 0; i <= GANTRY_PLACED_CROSSOVER; ++i) {
        for (int j = 0; j < i; ++j) {
            assert_string_not_equal(gantry_placement_reason_text((gantry_placement_reason_t)i),
                                    gantry_placement_reason_text((gantry_placement_reason_t)j));
        }
    }
    for (int i = 1; i <= GANTRY_REFUSED_BATCH_DEPENDENT; ++i) {
        for (int j = 1; j < i; ++j)
            assert_string_not_equal(gantry_refusal_text((gantry_refusal_t)i),
                                    gantry_refusal_text((gantry_refusal_t)j));
    }
    assert_string_equal(gantry_placement_reason_text((gantry_placement_reason_t)99),
                        "invalid reason");
    assert_string_equal(gantry_refusal_text((gantry_refusal_t)99), "invalid refusal");
}

int main(void) { return test_main(); }
