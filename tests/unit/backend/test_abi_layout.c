/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The binary interface keeps its layout: the size and offsets of every struct of
 * backend_abi.h on LP64 systems.
 *
 * Modules in the field were built with them. A struct may only grow at its end: its size here
 * grows, a line is added, and the other lines stay. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"

#include <gantry/backend_abi.h>

#include "device/buffer.h"
#include "device/transfer.h"

#if defined(__LP64__)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")
#define SLOT(type, slot, at) \
    _Static_assert(offsetof(type, slot) == (at), #type "." #slot " has moved")

SIZE(gantry_span_t, 24);
SLOT(gantry_span_t, region, 0);
SLOT(gantry_span_t, offset_bytes, 8);
SLOT(gantry_span_t, size_bytes, 16);

SIZE(gantry_tuning_t, 32);
SLOT(gantry_tuning_t, struct_size, 0);
SLOT(gantry_tuning_t, line, 4);
SLOT(gantry_tuning_t, values, 8);
SLOT(gantry_tuning_t, measured, 16);
SLOT(gantry_tuning_t, file, 24);

SIZE(gantry_host_t, 72);
SLOT(gantry_host_t, struct_size, 0);
SLOT(gantry_host_t, abi_version, 4);
SLOT(gantry_host_t, self, 8);
SLOT(gantry_host_t, log, 16);
SLOT(gantry_host_t, set_error, 24);
SLOT(gantry_host_t, reallocate, 32);
SLOT(gantry_host_t, option, 40);
SLOT(gantry_host_t, tuning, 48);
SLOT(gantry_host_t, driver_enter, 56);
SLOT(gantry_host_t, check_writers, 64);

SIZE(gantry_device_info_t, 176);
SLOT(gantry_device_info_t, struct_size, 0);
SLOT(gantry_device_info_t, type, 4);
SLOT(gantry_device_info_t, flags, 8);
SLOT(gantry_device_info_t, compute_units, 12);
SLOT(gantry_device_info_t, hardware_name, 16);
SLOT(gantry_device_info_t, vendor, 24);
SLOT(gantry_device_info_t, driver_version, 32);
SLOT(gantry_device_info_t, platform_name, 40);
SLOT(gantry_device_info_t, platform_version, 48);
SLOT(gantry_device_info_t, pci_address, 56);
SLOT(gantry_device_info_t, uuid, 64);
SLOT(gantry_device_info_t, compute_capability, 72);
SLOT(gantry_device_info_t, build_hash, 80);
SLOT(gantry_device_info_t, total_bytes, 88);
SLOT(gantry_device_info_t, largest_allocation_bytes, 96);
SLOT(gantry_device_info_t, base_alignment_bytes, 104);
SLOT(gantry_device_info_t, local_memory_bytes, 112);
SLOT(gantry_device_info_t, dtype_mask, 120);
SLOT(gantry_device_info_t, max_work_group_size, 128);
SLOT(gantry_device_info_t, parameter_bytes, 132);
SLOT(gantry_device_info_t, native_vector_width, 136);
SLOT(gantry_device_info_t, sub_group_size, 140);
SLOT(gantry_device_info_t, program_kinds, 144);
SLOT(gantry_device_info_t, clock_mhz, 148);
SLOT(gantry_device_info_t, least_priority, 152);
SLOT(gantry_device_info_t, greatest_priority, 156);
SLOT(gantry_device_info_t, no_programs, 160);
SLOT(gantry_device_info_t, driver, 168);

SIZE(gantry_memory_ops_t, 48);
SLOT(gantry_memory_ops_t, struct_size, 0);
SLOT(gantry_memory_ops_t, region_alloc, 8);
SLOT(gantry_memory_ops_t, region_free, 16);
SLOT(gantry_memory_ops_t, host_alloc, 24);
SLOT(gantry_memory_ops_t, host_free, 32);
SLOT(gantry_memory_ops_t, memory_info, 40);

SIZE(gantry_stream_ops_t, 64);
SLOT(gantry_stream_ops_t, struct_size, 0);
SLOT(gantry_stream_ops_t, create, 8);
SLOT(gantry_stream_ops_t, destroy, 16);
SLOT(gantry_stream_ops_t, flush, 24);
SLOT(gantry_stream_ops_t, synchronize, 32);
SLOT(gantry_stream_ops_t, wait_event, 40);
SLOT(gantry_stream_ops_t, create_with_priority, 48);
SLOT(gantry_stream_ops_t, set_timed, 56);

SIZE(gantry_event_ops_t, 64);
SLOT(gantry_event_ops_t, struct_size, 0);
SLOT(gantry_event_ops_t, create, 8);
SLOT(gantry_event_ops_t, destroy, 16);
SLOT(gantry_event_ops_t, record, 24);
SLOT(gantry_event_ops_t, query, 32);
SLOT(gantry_event_ops_t, synchronize, 40);
SLOT(gantry_event_ops_t, create_timed, 48);
SLOT(gantry_event_ops_t, elapsed, 56);

SIZE(gantry_transfer_ops_t, 48);
SLOT(gantry_transfer_ops_t, struct_size, 0);
SLOT(gantry_transfer_ops_t, to_device, 8);
SLOT(gantry_transfer_ops_t, to_host, 16);
SLOT(gantry_transfer_ops_t, copy, 24);
SLOT(gantry_transfer_ops_t, fill, 32);
SLOT(gantry_transfer_ops_t, copy_peer, 40);

SIZE(gantry_program_source_t, 56);
SLOT(gantry_program_source_t, struct_size, 0);
SLOT(gantry_program_source_t, kinds, 4);
SLOT(gantry_program_source_t, label, 8);
SLOT(gantry_program_source_t, parts, 16);
SLOT(gantry_program_source_t, part_count, 24);
SLOT(gantry_program_source_t, reserved, 28);
SLOT(gantry_program_source_t, key, 32);
SLOT(gantry_program_source_t, key_bytes, 40);
SLOT(gantry_program_source_t, make, 48);

SIZE(gantry_launch_arg_t, 32);
SLOT(gantry_launch_arg_t, kind, 0);
SLOT(gantry_launch_arg_t, size_bytes, 4);
SLOT(gantry_launch_arg_t, as, 8);

SIZE(gantry_launch_t, 72);
SLOT(gantry_launch_t, struct_size, 0);
SLOT(gantry_launch_t, dimensions, 4);
SLOT(gantry_launch_t, global_size, 8);
SLOT(gantry_launch_t, local_size, 32);
SLOT(gantry_launch_t, args, 56);
SLOT(gantry_launch_t, arg_count, 64);

SIZE(gantry_program_ops_t, 64);
SLOT(gantry_program_ops_t, struct_size, 0);
SLOT(gantry_program_ops_t, build, 8);
SLOT(gantry_program_ops_t, destroy, 16);
SLOT(gantry_program_ops_t, binary, 24);
SLOT(gantry_program_ops_t, load_binary, 32);
SLOT(gantry_program_ops_t, kernel_find, 40);
SLOT(gantry_program_ops_t, launch, 48);
SLOT(gantry_program_ops_t, kernel_info, 56);

SIZE(gantry_graph_ops_t, 40);
SLOT(gantry_graph_ops_t, struct_size, 0);
SLOT(gantry_graph_ops_t, begin_capture, 8);
SLOT(gantry_graph_ops_t, end_capture, 16);
SLOT(gantry_graph_ops_t, launch, 24);
SLOT(gantry_graph_ops_t, destroy, 32);

SIZE(gantry_kernel_info_t, 24);
SLOT(gantry_kernel_info_t, struct_size, 0);
SLOT(gantry_kernel_info_t, max_work_group_size, 4);
SLOT(gantry_kernel_info_t, local_bytes, 8);
SLOT(gantry_kernel_info_t, private_bytes, 16);

SIZE(gantry_arg_t, 64);
SLOT(gantry_arg_t, struct_size, 0);
SLOT(gantry_arg_t, dtype, 4);
SLOT(gantry_arg_t, rank, 8);
SLOT(gantry_arg_t, in_host_memory, 12);
SLOT(gantry_arg_t, dims, 16);
SLOT(gantry_arg_t, element_count, 24);
SLOT(gantry_arg_t, span, 32);
SLOT(gantry_arg_t, data, 56);

SIZE(gantry_attr_t, 48);
SLOT(gantry_attr_t, struct_size, 0);
SLOT(gantry_attr_t, kind, 4);
SLOT(gantry_attr_t, name, 8);
SLOT(gantry_attr_t, i, 16);
SLOT(gantry_attr_t, f, 24);
SLOT(gantry_attr_t, s, 32);
SLOT(gantry_attr_t, list, 40);

SIZE(gantry_call_services_t, 104);
SLOT(gantry_call_services_t, struct_size, 0);
SLOT(gantry_call_services_t, scratch, 8);
SLOT(gantry_call_services_t, allocate_output, 16);
SLOT(gantry_call_services_t, kernel, 24);
SLOT(gantry_call_services_t, launch, 32);
SLOT(gantry_call_services_t, copy, 40);
SLOT(gantry_call_services_t, fill, 48);
SLOT(gantry_call_services_t, fault, 56);
SLOT(gantry_call_services_t, fail, 64);
SLOT(gantry_call_services_t, read, 72);
SLOT(gantry_call_services_t, fault_words, 80);
SLOT(gantry_call_services_t, kernel_info, 88);
SLOT(gantry_call_services_t, library_took, 96);

SIZE(gantry_fault_words_t, 184);
SLOT(gantry_fault_words_t, struct_size, 0);
SLOT(gantry_fault_words_t, place_rank, 4);
SLOT(gantry_fault_words_t, accepted_count, 8);
SLOT(gantry_fault_words_t, text, 16);
SLOT(gantry_fault_words_t, place_dims, 24);
SLOT(gantry_fault_words_t, accepted, 88);
SLOT(gantry_fault_words_t, value_text, 152);
SLOT(gantry_fault_words_t, inside_text, 160);
SLOT(gantry_fault_words_t, value_end, 168);
SLOT(gantry_fault_words_t, value_input, 176);
SLOT(gantry_fault_words_t, value_count, 180);

SIZE(gantry_op_call_t, 104);
SLOT(gantry_op_call_t, struct_size, 0);
SLOT(gantry_op_call_t, input_count, 4);
SLOT(gantry_op_call_t, output_count, 8);
SLOT(gantry_op_call_t, attr_count, 12);
SLOT(gantry_op_call_t, inputs, 16);
SLOT(gantry_op_call_t, outputs, 24);
SLOT(gantry_op_call_t, attrs, 32);
SLOT(gantry_op_call_t, op, 40);
SLOT(gantry_op_call_t, kernel, 48);
SLOT(gantry_op_call_t, device_info, 56);
SLOT(gantry_op_call_t, device, 64);
SLOT(gantry_op_call_t, stream, 72);
SLOT(gantry_op_call_t, services, 80);
SLOT(gantry_op_call_t, core, 88);
SLOT(gantry_op_call_t, flags, 96);
SLOT(gantry_op_call_t, reserved, 100);

SIZE(gantry_type_constraint_t, 16);
SLOT(gantry_type_constraint_t, attr, 0);
SLOT(gantry_type_constraint_t, dtype_mask, 8);

SIZE(gantry_kernel_def_t, 80);
SLOT(gantry_kernel_def_t, struct_size, 0);
SLOT(gantry_kernel_def_t, priority, 4);
SLOT(gantry_kernel_def_t, op, 8);
SLOT(gantry_kernel_def_t, types, 16);
SLOT(gantry_kernel_def_t, type_count, 24);
SLOT(gantry_kernel_def_t, flags, 28);
SLOT(gantry_kernel_def_t, host_args, 32);
SLOT(gantry_kernel_def_t, host_arg_count, 40);
SLOT(gantry_kernel_def_t, promises, 44);
SLOT(gantry_kernel_def_t, supports, 48);
SLOT(gantry_kernel_def_t, compute, 56);
SLOT(gantry_kernel_def_t, data, 64);
SLOT(gantry_kernel_def_t, library, 72);

SIZE(gantry_backend_t, 184);
SLOT(gantry_backend_t, struct_size, 0);
SLOT(gantry_backend_t, abi_version, 4);
SLOT(gantry_backend_t, name, 8);
SLOT(gantry_backend_t, description, 16);
SLOT(gantry_backend_t, rank, 24);
SLOT(gantry_backend_t, reserved, 28);
SLOT(gantry_backend_t, open, 32);
SLOT(gantry_backend_t, close, 40);
SLOT(gantry_backend_t, device_count, 48);
SLOT(gantry_backend_t, device_info, 56);
SLOT(gantry_backend_t, device_open, 64);
SLOT(gantry_backend_t, device_close, 72);
SLOT(gantry_backend_t, kernels, 80);
SLOT(gantry_backend_t, libraries, 88);
SLOT(gantry_backend_t, memory, 96);
SLOT(gantry_backend_t, stream, 104);
SLOT(gantry_backend_t, event, 112);
SLOT(gantry_backend_t, transfer, 120);
SLOT(gantry_backend_t, program, 128);
SLOT(gantry_backend_t, interop, 136);
SLOT(gantry_backend_t, card_memory, 144);
SLOT(gantry_backend_t, graph, 152);
SLOT(gantry_backend_t, driver_files, 160);
SLOT(gantry_backend_t, set_wait_policy, 168);
SLOT(gantry_backend_t, telemetry, 176);

SIZE(gantry_kernel_pack_t, 32);
SLOT(gantry_kernel_pack_t, struct_size, 0);
SLOT(gantry_kernel_pack_t, abi_version, 4);
SLOT(gantry_kernel_pack_t, name, 8);
SLOT(gantry_kernel_pack_t, program_kinds, 16);
SLOT(gantry_kernel_pack_t, kernel_count, 20);
SLOT(gantry_kernel_pack_t, kernels, 24);

SIZE(gantry_device_telemetry_t, 360);
SLOT(gantry_device_telemetry_t, struct_size, 0);
SLOT(gantry_device_telemetry_t, known, 4);
SLOT(gantry_device_telemetry_t, total_bytes, 8);
SLOT(gantry_device_telemetry_t, used_bytes, 16);
SLOT(gantry_device_telemetry_t, free_bytes, 24);
SLOT(gantry_device_telemetry_t, utilization_percent, 32);
SLOT(gantry_device_telemetry_t, memory_busy_percent, 36);
SLOT(gantry_device_telemetry_t, temperature_celsius, 40);
SLOT(gantry_device_telemetry_t, power_milliwatts, 44);
SLOT(gantry_device_telemetry_t, power_limit_milliwatts, 48);
SLOT(gantry_device_telemetry_t, clock_mhz, 52);
SLOT(gantry_device_telemetry_t, most_clock_mhz, 56);
SLOT(gantry_device_telemetry_t, memory_clock_mhz, 60);
SLOT(gantry_device_telemetry_t, fan_percent, 64);
SLOT(gantry_device_telemetry_t, ecc_enabled, 68);
SLOT(gantry_device_telemetry_t, ecc_corrected, 72);
SLOT(gantry_device_telemetry_t, ecc_uncorrected, 80);
SLOT(gantry_device_telemetry_t, slowed_by, 88);
SLOT(gantry_device_telemetry_t, processor_percent, 92);
SLOT(gantry_device_telemetry_t, load_average, 96);
SLOT(gantry_device_telemetry_t, reason, 104);

SIZE(gantry_telemetry_ops_t, 24);
SLOT(gantry_telemetry_ops_t, struct_size, 0);
SLOT(gantry_telemetry_ops_t, read, 8);
SLOT(gantry_telemetry_ops_t, processes, 16);

SIZE(gantry_interop_ops_t, 96);
SLOT(gantry_interop_ops_t, struct_size, 0);
SLOT(gantry_interop_ops_t, reserved, 4);
SLOT(gantry_interop_ops_t, context_find, 8);
SLOT(gantry_interop_ops_t, device_adopt, 16);
SLOT(gantry_interop_ops_t, stream_adopt, 24);
SLOT(gantry_interop_ops_t, region_adopt, 32);
SLOT(gantry_interop_ops_t, region_disown, 40);
SLOT(gantry_interop_ops_t, event_adopt, 48);
SLOT(gantry_interop_ops_t, native_context, 56);
SLOT(gantry_interop_ops_t, native_device, 64);
SLOT(gantry_interop_ops_t, native_queue, 72);
SLOT(gantry_interop_ops_t, native_memory, 80);
SLOT(gantry_interop_ops_t, native_event, 88);

SIZE(gantry_device_process_t, 152);
SLOT(gantry_device_process_t, struct_size, 0);
SLOT(gantry_device_process_t, pid, 4);
SLOT(gantry_device_process_t, used_bytes, 8);
SLOT(gantry_device_process_t, is_graphics, 16);
SLOT(gantry_device_process_t, reserved, 20);
SLOT(gantry_device_process_t, name, 24);

#endif

/* Constants that cross the interface. */
_Static_assert(GANTRY_ABI_VERSION == 2, "a new version needs a new row of tests");
_Static_assert(GANTRY_LEVEL_DEBUG == 1 && GANTRY_LEVEL_INFO == 2 && GANTRY_LEVEL_WARNING == 3 &&
                   GANTRY_LEVEL_ERROR == 4,
               "log levels");
_Static_assert(GANTRY_DEVICE_TYPE_CPU == 1 && GANTRY_DEVICE_TYPE_GPU == 2 &&
                   GANTRY_DEVICE_TYPE_ACCELERATOR == 3,
               "device types");
_Static_assert(GANTRY_DEVICE_INTEGRATED == 1 && GANTRY_DEVICE_HOST_BACKED == 2 &&
                   GANTRY_DEVICE_HOST_ADDRESSABLE == 4 && GANTRY_DEVICE_LAZY_COMMIT == 8 &&
                   GANTRY_DEVICE_SYNCHRONOUS == 16 && GANTRY_DEVICE_KEEPS_PROGRAMS == 32 &&
                   GANTRY_DEVICE_WAITS_FOR_PAGEABLE == 64 && GANTRY_DEVICE_LOCAL_IS_GLOBAL == 128 &&
                   GANTRY_DEVICE_MAKERS_DRIVER == 256 && GANTRY_DEVICE_EMULATES_FMA == 512,
               "device flags");
_Static_assert(GANTRY_PROGRAM_OPENCL_C == 1 && GANTRY_PROGRAM_CUDA_C == 2, "program kinds");
_Static_assert(GANTRY_STREAM_COMPUTE == 0 && GANTRY_STREAM_TO_DEVICE == 1 &&
                   GANTRY_STREAM_TO_HOST == 2,
               "stream purposes");
_Static_assert(GANTRY_LAUNCH_SPAN == 0 && GANTRY_LAUNCH_SCALAR == 1 && GANTRY_LAUNCH_LOCAL == 2 &&
                   GANTRY_LAUNCH_BASE == 3,
               "launch arguments");
_Static_assert(GANTRY_ATTR_BOOL == 1 && GANTRY_ATTR_INT == 2 && GANTRY_ATTR_FLOAT == 3 &&
                   GANTRY_ATTR_TYPE == 4 && GANTRY_ATTR_SHAPE == 5 && GANTRY_ATTR_INTS == 6 &&
                   GANTRY_ATTR_STRING == 7,
               "attribute kinds");
_Static_assert(GANTRY_FAULT_NONE == 0 && GANTRY_FAULT_INDEX_OUT_OF_RANGE == 1 &&
                   GANTRY_FAULT_DIVISION_BY_ZERO == 2 && GANTRY_FAULT_BAD_PERMUTATION == 3 &&
                   GANTRY_FAULT_NEGATIVE_EXPONENT == 4 && GANTRY_FAULT_LABEL_OUT_OF_RANGE == 5,
               "faults");
_Static_assert(GANTRY_OK == 0 && GANTRY_INVALID_ARGUMENT == 3 && GANTRY_RESOURCE_EXHAUSTED == 8 &&
                   GANTRY_FAILED_PRECONDITION == 9 && GANTRY_UNIMPLEMENTED == 12 &&
                   GANTRY_INTERNAL == 13 && GANTRY_UNAVAILABLE == 14 && GANTRY_DATA_LOSS == 15,
               "status codes, which slots return");
_Static_assert(GANTRY_FLOAT32 == 1 && GANTRY_FLOAT64 == 2 && GANTRY_INT32 == 3 &&
                   GANTRY_INT64 == 9 && GANTRY_BOOL == 10,
               "element types");

static void slot_is_there_when_it_ends_inside(void **state) {
    (void)state;
    gantry_memory_ops_t ops = {.struct_size = sizeof ops};
    assert_true(GANTRY_ABI_HAS(&ops, memory_info));
    ops.struct_size = sizeof ops - 1;
    assert_false(GANTRY_ABI_HAS(&ops, memory_info));
    assert_true(GANTRY_ABI_HAS(&ops, host_free));
    ops.struct_size = offsetof(gantry_memory_ops_t, host_free);
    assert_false(GANTRY_ABI_HAS(&ops, host_free));
    ops.struct_size = 0;
    assert_false(GANTRY_ABI_HAS(&ops, struct_size));
}

static void symbol_keeps_its_name(void **state) {
    (void)state;
    assert_string_equal(GANTRY_BACKEND_QUERY_SYMBOL, "gantry_backend_query");
}

/* A module's tables end before their last optional slots: its device does everything that needs
 * none of them. */
static void module_of_previous_layout_works(void **state) {
    (void)state;
    device_fixture_t f;
    const gantry_fake_control_t *previous = fake_module_control(FAKE_FILE("previous", "fake"));
    previous->reset();
    gantry_fake_device_t settings;
    previous->get_device(0, &settings);
    /* it would call memory_info */
    settings.flags = GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_LAZY_COMMIT;
    previous->set_device(0, &settings);
    previous->set_device_count(2);
    device_fixture_open(&f, FAKE_FOLDER("previous"), NULL);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    gantry_logical_device_t *first = device_fixture_find(&f, "GPU:0", NULL),
                            *second = device_fixture_find(&f, "GPU:1", NULL);
    assert_int_equal(gantry__logical_device_open(first), GANTRY_OK);
    assert_int_equal(gantry__logical_device_open(second), GANTRY_OK);
    gantry__buffer_t *a, *b;
    gantry__point_t ready;
    uint32_t values[1000], results[1000];
    for (uint32_t i = 0; i < 1000; ++i) values[i] = i;
    assert_int_equal(
        gantry__buffer_create(first, sizeof values, GANTRY_STREAM_TO_DEVICE, "Test", &a),
        GANTRY_OK);
    assert_int_equal(
        gantry__buffer_create(second, sizeof values, GANTRY_STREAM_TO_DEVICE, "Test", &b),
        GANTRY_OK);
    assert_int_equal(gantry__copy_from_host(a, values, sizeof values, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_across(b, a, 0, sizeof values, ready, &ready), GANTRY_OK);
    assert_int_equal(gantry__copy_to_host(results, b, 0, sizeof results, ready), GANTRY_OK);
    assert_memory_equal(results, values, sizeof values);
    gantry__buffer_release(a);
    gantry__buffer_release(b);
    device_fixture_close(&f);
    fake_expect_nothing_lives(previous);
}

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_is_there_when_it_ends_inside),
        cmocka_unit_test(symbol_keeps_its_name),
        cmocka_unit_test_setup_teardown(module_of_previous_layout_works, set_up,
                                        device_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
