/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: One of two drivers (the stand-in for NVIDIA's and PoCL) serves a card, the other one
 * computes if the first cannot, and both copy to each other.
 * Promise: A card of two drivers has one name `/GPU:N` and its other view the name `GPU:N@opencl`,
 * and copies between the views keep every bit.
 *
 * Settings hold for either driver. */
#define _XOPEN_SOURCE 700

#include "icd_folder.h"
#include "two_drivers.h"

#define GPU_0 "/physical_device:GPU:0"

/* ---- one card, one number ---- */

static void one_card_has_one_number_and_two_views(void **state) {
    two_drivers_t t;
    gantry_device_details_t cuda, opencl;
    const gantry_physical_device_t *gpus[4];
    size_t count = 0;
    (void)state;
    two_drivers_open(&t, NULL);
    assert_int_equal(gantry_list_physical_devices(t.runtime, "GPU", 4, gpus, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    (void)two_drivers_record(&t, "cuda:0", &cuda);
    (void)two_drivers_record(&t, "opencl:0", &opencl);
    assert_string_equal(cuda.name, GPU_0);
    assert_string_equal(cuda.other_view, "opencl:0");
    assert_string_equal(opencl.other_view, "cuda:0");
    assert_false(opencl.listed);
    assert_string_equal(cuda.pci_address, opencl.pci_address);
    assert_string_equal(cuda.uuid, opencl.uuid);
    assert_string_equal(cuda.compute_capability, opencl.compute_capability);
    assert_string_equal(cuda.platform, "NVIDIA CUDA 12.9");
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0");
    two_drivers_expect_product(&t, "GPU:0@opencl", "opencl:0");
    two_drivers_expect_product(&t, "GPU:0@cuda", "/device:GPU:0");
    two_drivers_expect_served(&t, GPU_0, "cuda:0", REASONS(""));
    two_drivers_close(&t);
}

/* Otherwise OpenCL had two cards with one address, which identifies neither, and the machine had
 * three. */
static void one_card_stays_one_when_two_icd_files_name_its_driver(void **state) {
    icd_folder_t folder;
    char pocl[256];
    if (!icd_folder_find_pocl(pocl, sizeof pocl)) {
        print_message("skipped: /etc/OpenCL/vendors/pocl.icd leads to no PoCL\n");
        skip();
    }
    icd_folder_make(&folder);
    icd_folder_add(&folder, "a.icd", pocl);
    icd_folder_add(&folder, "b.icd", pocl);
    assert_int_equal(setenv("OCL_ICD_VENDORS", folder.path, 1), 0);
    one_card_has_one_number_and_two_views(state);
    icd_folder_remove(&folder);
}

static void two_cards_have_two_numbers(void **state) {
    static const char *const names[][2] = {{"/GPU:0", "/device:GPU:0"},
                                           {"/GPU:1", "/device:GPU:1"},
                                           {"GPU:0@opencl", "opencl:0"},
                                           {"GPU:1@opencl", "opencl:1"}};
    two_drivers_t t;
    gantry_device_details_t details;
    (void)state;
    two_drivers_open(&t, NULL);
    for (size_t i = 0; i < 4; ++i) two_drivers_expect_product(&t, names[i][0], names[i][1]);
    (void)two_drivers_record(&t, "cuda:1", &details);
    assert_string_equal(details.pci_address, CARD_1);
    assert_string_equal(details.other_view, "opencl:1");
    two_drivers_close(&t);
}

/* ---- fail-over at initialisation ---- */

/* Depends on the state of CUDA's backend. */
static void opencl_serves_without_a_usable_cuda(void **state) {
    two_drivers_t t;
    gantry_backend_status_t status = {.struct_size = sizeof status};
    (void)state;
    two_drivers_open(&t, NULL);
    for (size_t i = 0; i < gantry_backend_status_count(t.runtime); ++i) {
        assert_int_equal(gantry_backend_status(t.runtime, i, &status), GANTRY_OK);
        if (strcmp(status.name, "cuda") == 0) break;
    }
    assert_int_equal(status.state, GANTRY_BACKEND_UNAVAILABLE);
    assert_non_null(
        strstr(status.reason, "is too old: it supports CUDA 11.8, and 12.0 or newer is needed"));
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0");
    two_drivers_expect_served(&t, GPU_0, "opencl:0",
                              REASONS("served without CUDA: ", "is too old"));
    two_drivers_close(&t);
}

static void expect_taken_over(const char *const *reasons) {
    two_drivers_t t;
    gantry_device_details_t failed;
    two_drivers_open(&t, NULL);
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0");
    two_drivers_expect_served(&t, GPU_0, "opencl:0",
                              REASONS("opencl:0 serves this card in place of cuda:0: "));
    two_drivers_expect_served(&t, GPU_0, "opencl:0", reasons);
    (void)two_drivers_record(&t, "cuda:0", &failed);
    assert_non_null(strstr(failed.note, "cannot be used, opencl:0 serves this card in its place"));
    assert_int_equal(
        log_lines_with(&t.log, "opencl:0 serves this card in place of cuda:0", reasons[0]), 1);
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0"); /* and OpenCL keeps serving */
    two_drivers_close(&t);
}

static void opencl_takes_over_from_a_busy_card(void **state) {
    (void)state;
    expect_taken_over(REASONS("CUDA_ERROR_DEVICE_UNAVAILABLE (46)"));
}

static void opencl_takes_over_where_nvrtc_is_missing(void **state) {
    (void)state;
    expect_taken_over(REASONS("cuda:0 builds no programs", "/nonexistent/libnvrtc.so"));
}

static void opencl_takes_over_when_the_first_launch_fails(void **state) {
    (void)state;
    expect_taken_over(REASONS("the first launch on cuda:0 failed at the launch",
                              "CUDA_ERROR_LAUNCH_FAILED (719)"));
}

static void opencl_takes_over_when_the_first_launch_runs_into_an_error(void **state) {
    (void)state;
    expect_taken_over(
        REASONS("the first launch on cuda:0 failed at", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

/* One of two cards: CUDA still serves the other one. */
static void other_card_stays_with_cuda(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0");
    two_drivers_expect_product(&t, "/GPU:1", "/device:GPU:1");
    two_drivers_expect_served(&t, GPU_0, "opencl:0", REASONS("CUDA_ERROR_DEVICE_UNAVAILABLE (46)"));
    two_drivers_expect_served(&t, "/physical_device:GPU:1", "cuda:1", REASONS(""));
    two_drivers_close(&t);
}

/* ---- copies between both views ---- */

static uint8_t *noise(size_t bytes) {
    uint8_t *data = malloc(bytes);
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) ^ bytes;
    assert_non_null(data);
    for (size_t i = 0; i < bytes; ++i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[i] = (uint8_t)(state >> 56);
    }
    return data;
}

/* There and back, with equal bits. */
static void expect_copied(two_drivers_t *t, const char *from, const char *to, size_t bytes) {
    uint8_t *data = noise(bytes), *got = malloc(bytes);
    gantry_scope_t *source = two_drivers_scope(t, from), *target = two_drivers_scope(t, to);
    const gantry_tensor_t *x =
        gantry_constant(source, GANTRY_UINT8, GANTRY_SHAPE((int64_t)bytes), data, bytes);
    assert_non_null(got);
    const gantry_tensor_t *first = gantry_identity(source, x),
                          *there = gantry_identity(target, first);
    if (!there) fail_msg("%s to %s: %s", from, to, gantry_scope_message(target));
    assert_ptr_not_equal(gantry_tensor_device(first), gantry_tensor_device(there));
    const gantry_tensor_t *back = gantry_identity(source, there);
    if (!back || gantry_tensor_read(back, got, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (memcmp(got, data, bytes) != 0)
        fail_msg("%zu bytes from %s to %s and back differ", bytes, from, to);
    two_drivers_end_scope(target);
    two_drivers_end_scope(source);
    free(got);
    free(data);
}

static void copies_between_the_views_keep_every_bit(void **state) {
    static const size_t sizes[] = {1,       255,         65536,       65537,           4 * MIB - 1,
                                   4 * MIB, 4 * MIB + 1, 8 * MIB + 3, 4 * MIB + 65536, 1000003};
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        expect_copied(&t, "GPU:0", "GPU:0@opencl", sizes[i]);
        expect_copied(&t, "GPU:0@opencl", "GPU:0", sizes[i]);
    }
    expect_copied(&t, "GPU:1@opencl", "GPU:0", 5 * MIB);
    expect_copied(&t, "GPU:1", "GPU:0@opencl", 5 * MIB);
    two_drivers_close(&t);
}

/* ---- settings belong to the card ---- */

static void expect_limit_binds(two_drivers_t *t, const char *device, uint64_t limit) {
    gantry_scope_t *scope = two_drivers_scope(t, device);
    assert_int_equal(two_drivers_memory(t, device).limit_bytes, limit);
    assert_null(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(limit / 4) + 1)));
    assert_int_equal(gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED);
    gantry_scope_clear(scope);
    assert_non_null(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(limit / 16))));
    two_drivers_end_scope(scope);
    gantry_memory_info_t info = two_drivers_memory(t, device);
    assert_true(info.pool_bytes + info.staging_bytes <= limit);
}

static void expect_settings_hold(const char *alias) {
    static const char *const extra[] = {"GANTRY_LOGICAL_DEVICES=GPU:0=12M,20M",
                                        "GANTRY_MEMORY_LIMIT=GPU:1=24M", NULL};
    two_drivers_t t;
    gantry_device_details_t details;
    two_drivers_open(&t, extra);
    two_drivers_expect_product(&t, "/GPU:0", "/device:GPU:0");
    two_drivers_expect_product(&t, "/GPU:1", "/device:GPU:1");
    two_drivers_expect_product(&t, "/GPU:2", "/device:GPU:2");
    expect_limit_binds(&t, "GPU:0", 12 * MIB);
    expect_limit_binds(&t, "GPU:1", 20 * MIB);
    expect_limit_binds(&t, "GPU:2", 24 * MIB);
    (void)two_drivers_record(&t, alias, &details);
    assert_string_equal(details.name, GPU_0);
    expect_copied(&t, "GPU:0", "GPU:1", 2 * MIB + 1); /* the result stays on the card */
    two_drivers_close(&t);
}

static void settings_hold_for_the_cuda_view(void **state) {
    (void)state;
    expect_settings_hold("cuda:0");
}

static void settings_hold_for_the_opencl_view(void **state) {
    (void)state;
    expect_settings_hold("opencl:0");
}

#define ONE "memory=256M"
#define TWO "devices=2;memory=256M"

int main(void) {
    const two_drivers_case_t cases[] = {
#define CASE(body, ...) {#body, body, __VA_ARGS__}
        CASE(one_card_has_one_number_and_two_views, ONE, NULL, NULL, NULL),
        CASE(one_card_stays_one_when_two_icd_files_name_its_driver, ONE, NULL, NULL, NULL),
        CASE(two_cards_have_two_numbers, TWO, NULL, NULL, NULL),
        CASE(opencl_serves_without_a_usable_cuda, ONE ";driver=11080", NULL, NULL, NULL),
        CASE(opencl_takes_over_from_a_busy_card, ONE ";busy=1", NULL, NULL, NULL),
        CASE(opencl_takes_over_where_nvrtc_is_missing, ONE, NULL, "/nonexistent/libnvrtc.so", NULL),
        CASE(opencl_takes_over_when_the_first_launch_fails, ONE ";fail=cuLaunchKernel:1:719", NULL,
             NULL, NULL),
        CASE(opencl_takes_over_when_the_first_launch_runs_into_an_error,
             ONE ";fail=cuStreamSynchronize:1:700", NULL, NULL, NULL),
        CASE(other_card_stays_with_cuda, TWO ";busy=1,0", NULL, NULL, NULL),
        CASE(copies_between_the_views_keep_every_bit, TWO, NULL, NULL, NULL),
        CASE(settings_hold_for_the_cuda_view, TWO, NULL, NULL, NULL),
        CASE(settings_hold_for_the_opencl_view, TWO ";busy=1", NULL, NULL, NULL),
    };
    return two_drivers_run(cases, sizeof cases / sizeof cases[0]);
}
