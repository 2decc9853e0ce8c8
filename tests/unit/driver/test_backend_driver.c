/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The code that the driver backends share gives back programs and kernels when memory runs
 * out, and names a refused argument, a failed transfer and a missing library. */
#define _POSIX_C_SOURCE 200809L
#include "backend_fixture.h"
#include "test.h"

#include "driver/driver_program.h"
#include "driver/driver_record.h"
#include "driver/library_open.h"

static int32_t no_backend(uint32_t max_abi, const gantry_backend_t **out_backend) {
    (void)max_abi;
    *out_backend = NULL;
    return 0;
}

static inline void fixture_init(fixture_t *fixture) { fixture_init_host(fixture, no_backend); }
static inline void fixture_need_driver(void) {}
static inline void fixture_find_devices(fixture_t *fixture) { (void)fixture; }
static inline void fixture_expect_nothing_lives(void) {}

static const gantry__native_error_t known[] = {{-5, GANTRY_RESOURCE_EXHAUSTED, "TEST_FULL"}};
static const gantry__native_errors_t errors = {"Test", "unknown Test error", known, 1};

/* ---- programs ---- */

typedef struct program_t {
    gantry__program_head_t head;
    int own;
} program_t;

TEST(program_and_kernel_are_made_and_given_back) {
    fixture_t fixture;
    fixture_init(&fixture);
    program_t *program = gantry__program_make(&fixture.host, &errors, sizeof *program, NULL, "p");
    assert_non_null(program);
    assert_string_equal(program->head.label, "p");
    assert_int_equal(program->own, 0);
    gantry__kernel_head_t *kernel =
        gantry__kernel_make(&fixture.host, &errors, sizeof *kernel, "k");
    assert_non_null(kernel);
    assert_int_equal(kernel->info.struct_size, sizeof kernel->info);
    gantry__kernel_list_add(&program->head.kernels, kernel);
    assert_ptr_equal(gantry__kernel_list_find(&program->head.kernels, "k"), kernel);
    assert_ptr_equal(gantry__kernel_list_take(&program->head.kernels), kernel);
    gantry__kernel_free(&fixture.host, kernel, sizeof *kernel);
    gantry__program_free(&fixture.host, &program->head, sizeof *program);
    assert_int_equal(atomic_load(&fixture.bytes), 0);
}

TEST(program_without_memory_gives_all_back) {
    for (int fail_at = 1; fail_at <= 2; ++fail_at) {
        fixture_t fixture;
        fixture_init(&fixture);
        atomic_store(&fixture.fail_at, fail_at);
        assert_null(gantry__program_make(&fixture.host, &errors, sizeof(program_t), NULL, "p"));
        assert_error_has("no host memory for");
        assert_int_equal(atomic_load(&fixture.bytes), 0);
        atomic_store(&fixture.fail_at, atomic_load(&fixture.allocations) + fail_at);
        assert_null(gantry__kernel_make(&fixture.host, &errors, 100, "k"));
        assert_int_equal(atomic_load(&fixture.bytes), 0);
    }
}

TEST(program_arguments_are_refused_with_the_label) {
    const gantry_program_source_t source = {.struct_size = sizeof source,
                                            .kinds = GANTRY_PROGRAM_OPENCL_C,
                                            .label = "test/p",
                                            .parts = NULL,
                                            .part_count = 0};
    fixture_t fixture;
    fixture_init(&fixture);
    const gantry_host_t *host = &fixture.host;
    assert_ok(gantry__program_check_source(host, &errors, &source, GANTRY_PROGRAM_OPENCL_C, "C"));
    assert_int_equal(
        gantry__program_check_source(host, &errors, &source, GANTRY_PROGRAM_CUDA_C, "CUDA C"),
        GANTRY_INVALID_ARGUMENT);
    assert_string_equal(fixture_error, "program \"test/p\" is not written in CUDA C");
    assert_ok(gantry__program_check_options(host, &errors, "test/p", 1023));
    assert_int_equal(gantry__program_check_options(host, &errors, "test/p", 1024),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("build options of \"test/p\" take 1024 bytes; at most 1023 are accepted");
    assert_ok(gantry__program_check_binary(host, &errors, "test/p", 1));
    assert_int_equal(gantry__program_check_binary(host, &errors, "test/p", 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_string_equal(fixture_error, "the binary of \"test/p\" is empty");
    assert_ok(gantry__program_check_room(host, &errors, "test/p", 5, 5));
    assert_int_equal(gantry__program_check_room(host, &errors, "test/p", 5, 4),
                     GANTRY_OUT_OF_RANGE);
    assert_string_equal(fixture_error, "the binary of \"test/p\" has 5 bytes; there is room for 4");
}

/* ---- records ---- */

TEST(record_writes_addresses_in_one_form) {
    static const unsigned char bytes[16] = {0x89, 0x32, 0xf9, 0x37, 0xd7, 0x2c, 0x41, 0x06,
                                            0xc1, 0x2f, 0x20, 0xbd, 0x9f, 0xae, 0xd9, 0xf6};
    gantry__record_texts_t texts = {.compute_capability = "9.0"};
    gantry_device_info_t info = {0};
    gantry__record_set_pci(&texts, 0x10000, 0x65, 0x3f, 0x8);
    gantry__record_set_uuid(&texts, bytes);
    gantry__record_point(&info, &texts);
    assert_int_equal(info.struct_size, sizeof info);
    /* clouds number PCI domains like this */
    assert_string_equal(info.pci_address, "10000:65:1f.0");
    assert_string_equal(info.uuid, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
    assert_string_equal(info.compute_capability, "9.0");
}

TEST(record_hash_keeps_neighbouring_texts_apart) {
    gantry__record_texts_t a, b;
    gantry__record_set_hash(&a, (const char *const[]){"ab", "c"}, 2);
    gantry__record_set_hash(&b, (const char *const[]){"a", "bc"}, 2);
    assert_string_not_equal(a.build_hash, b.build_hash);
    assert_int_equal(strlen(a.build_hash), 16);
}

TEST(record_index_beyond_the_devices_is_refused) {
    fixture_t fixture;
    fixture_init(&fixture);
    assert_ok(gantry__record_check_index(&fixture.host, &errors, 1, 2));
    assert_int_equal(gantry__record_check_index(&fixture.host, &errors, 2, 2),
                     GANTRY_INVALID_ARGUMENT);
    assert_string_equal(fixture_error, "Test device 2 does not exist; there are 2, from 0");
}

/* ---- texts ---- */

TEST(span_of_a_failed_transfer_is_told) {
    const gantry_span_t span = {1, 64, 128};
    fixture_t fixture;
    fixture_init(&fixture);
    assert_int_equal(
        gantry__native_check_span(&fixture.host, &errors, -5, "writing", &span, "a card"),
        GANTRY_RESOURCE_EXHAUSTED);
    assert_string_equal(fixture_error,
                        "writing 128 bytes at offset 64 on \"a card\": TEST_FULL (-5)");
}

TEST(library_line_says_what_is_found_and_what_is_missing) {
    char line[64] = "driver found";
    gantry__library_line_add(line, sizeof line, ", ", "BLAS", "BLAS 1.5", NULL);
    gantry__library_line_add(line, sizeof line, "; ", "FFT", NULL, "no file");
    assert_string_equal(line, "driver found, BLAS 1.5 found; FFT missing (no file)");
    gantry__library_line_add(line, sizeof line, ", ", "another", NULL, "has no room");
    assert_int_equal(strlen(line), sizeof line - 1);
}

int main(void) { return test_main(); }
