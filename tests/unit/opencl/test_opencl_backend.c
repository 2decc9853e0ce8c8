/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend works through its plug-in interface, on two PoCL devices.
 * Promise: Where there is no OpenCL loader, no platform or no device, the OpenCL backend is
 * Unavailable and names the reason. */
#define _GNU_SOURCE
#include "opencl_fixture.h"

#include "backend_cases.h"
#include "opencl/opencl_status.h"

/* ---- query and open ---- */

static void query_older_core_is_refused(void **state) {
    (void)state;
    check_older_core_is_refused(gantry_backend_query_opencl);
}

static void open_missing_library_is_unavailable(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so",
                     GANTRY_UNAVAILABLE);
    assert_error_has("GANTRY_OPENCL_LIBRARY");
    assert_error_has("/nonexistent/libOpenCL.so");
    assert_error_has("No such file");
}

static void open_library_without_opencl_is_unavailable(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_LIBRARY", "libm.so.6", GANTRY_UNAVAILABLE);
    assert_error_has("libm.so.6");
    assert_error_has("clGetPlatformIDs");
}

static void open_unknown_matmul_is_invalid(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_OPENCL_MATMUL", "fastest", GANTRY_INVALID_ARGUMENT);
    assert_error_has("fastest");
    assert_error_has("auto, clblast, cpu, portable, tensor and tensor_emulated");
}

static void open_without_platforms_says_what_to_install(void **state) {
    (void)state;
    fixture_need_driver();
    check_in_child("OCL_ICD_VENDORS", "/nonexistent", just_open, GANTRY_UNAVAILABLE,
                   "install pocl-opencl-icd");
}

static void open_platform_without_devices_names_it(void **state) {
    (void)state;
    fixture_need_driver();
    check_in_child("POCL_DEVICES", "none-such", just_open, GANTRY_UNAVAILABLE,
                   "Portable Computing Language");
}

/* ---- devices ---- */

static void devices_two_of_pocl_are_found(void **state) {
    fixture_t fixture;

    (void)state;
    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        const gantry_device_info_t *info = &fixture.info[d];

        assert_int_equal(info->type, GANTRY_DEVICE_TYPE_CPU);
        assert_int_equal(info->flags, GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_LAZY_COMMIT |
                                          GANTRY_DEVICE_KEEPS_PROGRAMS |
                                          GANTRY_DEVICE_GROUPS_GO_ON);
        assert_true(info->compute_units > 0 && info->total_bytes > 0 &&
                    info->largest_allocation_bytes > 0);
        assert_true(info->largest_allocation_bytes <= info->total_bytes);
        assert_true(info->base_alignment_bytes >= 128 &&
                    (info->base_alignment_bytes & (info->base_alignment_bytes - 1)) == 0);
        assert_true(info->base_alignment_bytes <= 4096);
        assert_true(info->local_memory_bytes > 0 && info->max_work_group_size > 0 &&
                    info->parameter_bytes >= 256);
        assert_true(info->native_vector_width >= 1);
        assert_int_equal(info->program_kinds, GANTRY_PROGRAM_OPENCL_C);
        assert_true((info->dtype_mask & (1u << 1)) != 0 && (info->dtype_mask & (1u << 2)) != 0 &&
                    (info->dtype_mask & (1u << 10)) != 0);
        assert_true(info->hardware_name[0] != '\0' && info->driver_version[0] != '\0' &&
                    info->vendor[0] != '\0');
        assert_string_equal(info->pci_address, "");
        assert_string_equal(info->uuid, "");
        assert_string_equal(info->compute_capability, "");
        assert_int_equal(strlen(info->build_hash), 16);
    }
    assert_string_equal(fixture.info[0].build_hash, fixture.info[1].build_hash);
    fixture_close(&fixture);
}

static void libraries_line_names_loader_and_clblast(void **state) {
    fixture_t fixture;
    const char *line;

    (void)state;
    fixture_open(&fixture);
    line = fixture.backend->libraries(fixture.instance);
    printf("  %s\n", line);
    assert_non_null(strstr(line, "libOpenCL.so"));
    assert_non_null(strstr(line, "CLBlast"));
    assert_true(strstr(line, "missing (") != NULL || strstr(line, ".") != NULL);
    assert_ptr_equal(line, fixture.backend->libraries(fixture.instance));
    fixture_close(&fixture);
}

/* ---- memory and transfers ---- */

static void region_of_wrong_size_is_refused(void **state) {
    fixture_t fixture;
    gantry_region_t region = 1;

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], 0, &region),
                     GANTRY_INVALID_ARGUMENT);
    assert_true(region == 0);
    assert_int_equal(fixture.backend->memory->region_alloc(
                         fixture.device[0], fixture.info[0].largest_allocation_bytes + 1, &region),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_error_has("are accepted");
    assert_true(region == 0);
    fixture_close(&fixture);
}

/* The bytes of this process's memory with huge pages requested; -1 if the system does not report
 * them. */
static long long advised_bytes(void) {
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    long long kib = 0, sum = 0;

    if (file == NULL || access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
        if (file != NULL) fclose(file);
        return -1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Size: %lld kB", &kib) != 1 && strncmp(line, "VmFlags:", 8) == 0 &&
            strstr(line, " hg") != NULL) {
            sum += kib * 1024;
        }
    }
    fclose(file);
    return sum;
}

static void large_region_asks_for_huge_pages(void **state) {
    const long long bytes = 64LL << 20, page = sysconf(_SC_PAGESIZE), before = advised_bytes();
    fixture_t fixture;
    gantry_region_t region;

    (void)state;
    if (before < 0) {
        print_message("SKIP: this system does not tell of huge pages\n");
        skip();
    }
    fixture_open(&fixture);
    assert_ok(fixture.backend->memory->region_alloc(fixture.device[0], (uint64_t)bytes, &region));
    assert_true(advised_bytes() - before >= bytes - 2 * page);
    fixture.backend->memory->region_free(fixture.device[0], region, (uint64_t)bytes);
    fixture_close(&fixture);
}

static void host_memory_is_given_and_taken_back(void **state) {
    fixture_t fixture;
    unsigned char *ptr = NULL;
    uint64_t free_bytes;
    uint64_t total_bytes;
    void *unused;

    (void)state;
    fixture_open(&fixture);
    assert_ok(fixture.backend->memory->host_alloc(fixture.device[0], 100000, (void **)&ptr));
    memset(ptr, 7, 100000);
    fixture.backend->memory->host_free(fixture.device[0], ptr, 100000);
    atomic_store(&fixture.fail_at, atomic_load(&fixture.allocations) + 1);
    assert_int_equal(fixture.backend->memory->host_alloc(fixture.device[0], 100000, &unused),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_null(unused);
    assert_int_equal(
        fixture.backend->memory->memory_info(fixture.device[0], &free_bytes, &total_bytes),
        GANTRY_UNIMPLEMENTED);
    assert_error_has("free memory");
    fixture_close(&fixture);
}

static void transfer_beyond_its_region_is_refused(void **state) {
    fixture_t fixture;
    unsigned char out[5000];
    gantry_span_t region;
    gantry_span_t span;

    (void)state;
    fixture_open(&fixture);
    region = fixture_region(&fixture, 0, 1000);
    span = (gantry_span_t){region.region, 333, 5000};
    assert_int_not_equal(fixture.backend->transfer->to_host(fixture.stream[0], out, &span), 0);
    assert_error_has("5000 bytes at offset 333");
    fixture_region_free(&fixture, 0, region);
    fixture_close(&fixture);
}

/* Unavailable from an open device means that the device is lost. Only errors that mean a loss may
 * have that code. */
static void only_a_dead_device_is_unavailable(void **state) {
    static const int32_t cases[][2] = {{-2 /* CL_DEVICE_NOT_AVAILABLE */, GANTRY_UNAVAILABLE},
                                       {-36 /* CL_INVALID_COMMAND_QUEUE */, GANTRY_UNAVAILABLE},
                                       {-34 /* CL_INVALID_CONTEXT */, GANTRY_UNAVAILABLE},
                                       {-3 /* CL_COMPILER_NOT_AVAILABLE */, GANTRY_UNIMPLEMENTED},
                                       {-16 /* CL_LINKER_NOT_AVAILABLE */, GANTRY_UNIMPLEMENTED},
                                       {-5 /* CL_OUT_OF_RESOURCES */, GANTRY_RESOURCE_EXHAUSTED},
                                       {-38 /* CL_INVALID_MEM_OBJECT */, GANTRY_INTERNAL},
                                       {-48 /* CL_INVALID_KERNEL */, GANTRY_INTERNAL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(gantry__driver_error_code(cases[i][0]), cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_older_core_is_refused),
        cmocka_unit_test(
            /* these two tests fork, so they run before OpenCL is opened here */
            open_without_platforms_says_what_to_install),
        cmocka_unit_test(open_platform_without_devices_names_it),
        cmocka_unit_test(open_missing_library_is_unavailable),
        cmocka_unit_test(open_library_without_opencl_is_unavailable),
        cmocka_unit_test(open_unknown_matmul_is_invalid),
        cmocka_unit_test(open_out_of_memory_gives_all_back),
        cmocka_unit_test(devices_two_of_pocl_are_found),
        cmocka_unit_test(device_info_small_struct_is_not_written_beyond),
        cmocka_unit_test(libraries_line_names_loader_and_clblast),
        cmocka_unit_test(region_of_wrong_size_is_refused),
        cmocka_unit_test(large_region_asks_for_huge_pages),
        cmocka_unit_test(host_memory_is_given_and_taken_back),
        cmocka_unit_test(transfers_with_offsets_hit_their_bytes_only),
        cmocka_unit_test(transfer_beyond_its_region_is_refused),
        cmocka_unit_test(fill_of_each_pattern_size_repeats_it),
        cmocka_unit_test(only_a_dead_device_is_unavailable),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
