/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend works through its plug-in interface, without a driver and on two cards
 * of the stand-in for NVIDIA's driver.
 * Promise: The CUDA module needs no toolkit: driver, NVRTC, cuBLASLt and NVML are opened at run
 * time, and each that is absent is named with the reason.
 * Promise: The CUDA backend uses a card's primary context, or a private one by option.
 * Promise: Streams with priorities, events between two cards and copies between them work on the
 * stand-in for NVIDIA's driver. */
#define _GNU_SOURCE
#include "cuda_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend_cases.h"
#include "cuda/cuda_driver.h"

/* ---- without a driver ---- */

static void query_older_core_is_refused(void **state) {
    (void)state;
    check_older_core_is_refused(gantry_backend_query_cuda);
}

static void open_missing_driver_is_unavailable_with_the_loaders_words(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_LIBRARY", "/nonexistent/libcuda.so.1",
                     GANTRY_UNAVAILABLE);
    assert_error_has("GANTRY_CUDA_LIBRARY");
    assert_error_has("/nonexistent/libcuda.so.1");
    assert_error_has("No such file");
}

static void open_incomplete_driver_names_the_missing_function(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_LIBRARY", "libm.so.6", GANTRY_UNAVAILABLE);
    assert_error_has("libm.so.6");
    assert_error_has("cuInit");
}

static void open_unknown_option_is_invalid(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_CONTEXT", "mine", GANTRY_INVALID_ARGUMENT);
    assert_error_has("GANTRY_CUDA_CONTEXT is \"mine\"; primary and private are accepted");
    open_with_option(&fixture, "GANTRY_CUDA_MATMUL_PRECISION", "TF32", GANTRY_INVALID_ARGUMENT);
    assert_error_has(
        "GANTRY_CUDA_MATMUL_PRECISION is \"TF32\"; float32, tf32, bfloat16 and float16 are accepted");
}

/* The driver is there, but another process has exclusive use of the card. */
static int32_t open_first_device(fixture_t *fixture) {
    int32_t status = just_open(fixture);

    if (status == 0) {
        status = fixture->backend->device_open(fixture->instance, 0, &fixture->device[0]);
        fixture->backend->close(fixture->instance);
    }
    return status;
}

/* An old NVRTC compiles programs to PTX for the newest architecture that it knows. */
static int32_t build_for_a_newer_card(fixture_t *fixture) {
    static const char *const parts[] = {
        "__kernel void nothing(__global int *out) { out[0] = 1; }\n"};
    static const gantry_program_source_t source = {.struct_size = sizeof source,
                                                   .kinds = GANTRY_PROGRAM_CUDA_C,
                                                   .label = "test/ptx",
                                                   .parts = parts,
                                                   .part_count = 1};
    gantry_backend_program_t *program = NULL;
    int32_t status = just_open(fixture);

    if (status == 0) {
        assert_int_equal(fixture->backend->device_open(fixture->instance, 0, &fixture->device[0]),
                         0);
        status = fixture->backend->program->build(fixture->device[0], &source, "", &program);
        if (status == 0) fixture->backend->program->destroy(program);
        fixture->backend->device_close(fixture->device[0]);
        fixture->backend->close(fixture->instance);
    }
    return status;
}

static int32_t build_without_nvrtc(fixture_t *fixture) {
    fixture_set(fixture, "GANTRY_CUDA_NVRTC", "/nonexistent/libnvrtc.so");
    return build_for_a_newer_card(fixture);
}

static void open_on_other_machines_says_why_not(void **state) {
    (void)state;
    fixture_need_driver();
    check_in_child("GANTRY_STAND_IN_CUDA", "driver=11080", just_open, GANTRY_UNAVAILABLE,
                   "is too old: it supports CUDA 11.8");
    check_in_child("GANTRY_STAND_IN_CUDA", "devices=0", just_open, GANTRY_UNAVAILABLE,
                   "it sees no card: CUDA_ERROR_NO_DEVICE (100)");
    check_in_child("GANTRY_STAND_IN_CUDA", "fail=cuInit:1:999", just_open, GANTRY_UNAVAILABLE,
                   "does not start: CUDA_ERROR_UNKNOWN (999)");
    check_in_child("GANTRY_STAND_IN_CUDA", "fail=cuDeviceGetName:1:999", just_open,
                   GANTRY_UNAVAILABLE, "does not describe itself");
    check_in_child("GANTRY_STAND_IN_CUDA", "busy=1", open_first_device, GANTRY_UNAVAILABLE,
                   "CUDA_ERROR_DEVICE_UNAVAILABLE (46)");
    check_in_child("GANTRY_STAND_IN_CUDA", "cc=12.0;nvrtc=12040", build_for_a_newer_card, 0, "");
    check_in_child("GANTRY_STAND_IN_CUDA", "cc=9.0", build_without_nvrtc, GANTRY_UNIMPLEMENTED,
                   "/nonexistent/libnvrtc.so");
}

/* ---- devices ---- */

static void devices_are_described_without_a_context(void **state) {
    fixture_t fixture;

    (void)state;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_int_equal(fixture.backend->device_count(fixture.instance), 2);
    assert_int_equal(fixture_control()->live(STAND_IN_CONTEXTS), 0);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        const gantry_device_info_t *info = &fixture.info[d];

        assert_int_equal(info->type, GANTRY_DEVICE_TYPE_GPU);
        assert_int_equal(info->flags, GANTRY_DEVICE_WAITS_FOR_PAGEABLE |
                                          GANTRY_DEVICE_GROUPS_GO_ON | GANTRY_DEVICE_FLOAT_ATOMICS);
        assert_string_equal(info->hardware_name, "Stand-in for an NVIDIA GPU");
        assert_string_equal(info->driver_version, "CUDA 12.9");
        assert_string_equal(info->platform_version, "12.9");
        assert_int_equal(strlen(info->pci_address), strlen("0000:65:00.0"));
        assert_true(strncmp(info->uuid, "GPU-", 4) == 0 && strlen(info->uuid) == 40);
        assert_string_equal(info->compute_capability, "9.0");
        assert_int_equal(strlen(info->build_hash), 16);
        assert_true(info->total_bytes == (uint64_t)256 << 20);
        assert_int_equal(info->base_alignment_bytes, 256);
        assert_int_equal(info->sub_group_size, 32);
        assert_string_equal(info->no_programs, "");
        assert_true(info->local_memory_bytes >= 16384 && info->max_work_group_size >= 256);
        assert_int_equal(info->program_kinds, GANTRY_PROGRAM_CUDA_C);
        assert_true((info->dtype_mask & (1u << 1)) != 0 && (info->dtype_mask & (1u << 2)) != 0);
        assert_true(info->least_priority >= info->greatest_priority);
    }
    assert_string_not_equal(fixture.info[0].uuid, fixture.info[1].uuid);
    assert_string_not_equal(fixture.info[0].pci_address, fixture.info[1].pci_address);
    fixture_close(&fixture);
}

static void libraries_line_names_each_one_or_why_it_is_missing(void **state) {
    fixture_t fixture;
    const char *line;

    (void)state;
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_CUBLAS", "/nonexistent/libcublasLt.so");
    fixture_open_instance(&fixture);
    line = fixture.backend->libraries(fixture.instance);
    printf("  %s\n", line);
    assert_non_null(strstr(line, "libcuda.so (CUDA 12.9) found"));
    assert_non_null(strstr(line, "libnvrtc.so (12.9) found"));
    assert_non_null(
        strstr(line, "cuBLASLt missing (cuBLASLt cannot be opened: /nonexistent/libcublasLt.so"));
    assert_non_null(strstr(line, "libnvml.so"));
    assert_non_null(strstr(line, "libcudnn.so (9.19.0) found"));
    assert_non_null(strstr(line, "libnccl.so (2.28.9) found"));
    assert_null(strstr(line, "busy")); /* the line is cached, so it leaves out changing facts */
    assert_ptr_equal(line, fixture.backend->libraries(fixture.instance));
    fixture_close(&fixture);
}

/* ---- a toolkit outside the search path, found by the variable that names it ---- */

typedef struct toolkit_t {
    char folder[32];
    char paths[2][64]; /* of the toolkit's libraries */
} toolkit_t;

/* Makes a toolkit whose lib64 has these names for one library of the stand-in. other_name may be
 * NULL. */
static void make_toolkit(toolkit_t *toolkit, const char *target, const char *name,
                         const char *other_name) {
    char path[64];

    memset(toolkit, 0, sizeof *toolkit);
    snprintf(toolkit->folder, sizeof toolkit->folder, "/tmp/gantry_toolkit_XXXXXX");
    assert_non_null(mkdtemp(toolkit->folder));
    snprintf(path, sizeof path, "%s/lib64", toolkit->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < (other_name != NULL ? 2 : 1); ++i) {
        snprintf(toolkit->paths[i], sizeof toolkit->paths[i], "%s/%s", path,
                 i == 0 ? name : other_name);
        assert_int_equal(symlink(target, toolkit->paths[i]), 0);
    }
    setenv("CUDA_HOME", toolkit->folder, 1);
}

static void end_toolkit(toolkit_t *toolkit) {
    char path[64];

    unsetenv("CUDA_HOME");
    for (int i = 0; i < 2; ++i) {
        assert_true(toolkit->paths[i][0] == '\0' || unlink(toolkit->paths[i]) == 0);
    }
    snprintf(path, sizeof path, "%s/lib64", toolkit->folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(toolkit->folder), 0);
}

/* Always fails; the error is the line of libraries, which names the loaded NVRTC. */
static int32_t tell_nvrtc(fixture_t *fixture) {
    fixture_set(fixture, "GANTRY_CUDA_NVRTC", "");
    if (just_open(fixture) == 0) {
        snprintf(fixture_error, sizeof fixture_error, "%s",
                 fixture->backend->libraries(fixture->instance));
        fixture->backend->close(fixture->instance);
    }
    return GANTRY_UNAVAILABLE;
}

static void libraries_suit_the_driver_and_the_oldest_card(void **state) {
    toolkit_t toolkit;

    (void)state;
    fixture_need_driver();
    make_toolkit(&toolkit, STAND_IN("libnvrtc"), "libnvrtc.so.12", "libnvrtc.so.13");
    check_in_child("GANTRY_STAND_IN_CUDA", "driver=13000;cc=9.0", tell_nvrtc, GANTRY_UNAVAILABLE,
                   "libnvrtc.so.13");
    check_in_child("GANTRY_STAND_IN_CUDA", "driver=12090;cc=9.0", tell_nvrtc, GANTRY_UNAVAILABLE,
                   "libnvrtc.so.12");
    check_in_child("GANTRY_STAND_IN_CUDA", "driver=13000;devices=2;cc=9.0,7.0", tell_nvrtc,
                   GANTRY_UNAVAILABLE, "libnvrtc.so.12");
    end_toolkit(&toolkit);
}

static void library_in_a_toolkits_folder_is_found(void **state) {
    fixture_t fixture;
    toolkit_t toolkit;
    char found[96];
    int has_it;

    (void)state;
    if (dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) != NULL) {
        printf("  SKIP: the loader finds NVML by itself\n");
        skip();
    }
    make_toolkit(&toolkit, STAND_IN("libnvml"), "libnvidia-ml.so.1", NULL);
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_NVML", "");
    fixture_open_instance(&fixture);
    snprintf(found, sizeof found, "%s (driver 0.0.stand-in) found", toolkit.paths[0]);
    has_it = strstr(fixture.backend->libraries(fixture.instance), found) != NULL;
    if (!has_it) printf("%s\n", fixture.backend->libraries(fixture.instance));
    fixture_close(&fixture);
    end_toolkit(&toolkit);
    assert_true(has_it);
}

/* The line of libraries, with other libraries in the places of cuDNN and NCCL. */
static void expect_places(const char *cudnn, const char *nccl, const char *of_cudnn,
                          const char *of_nccl) {
    fixture_t fixture;
    const char *line;

    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_CUDNN", cudnn);
    fixture_set(&fixture, "GANTRY_CUDA_NCCL", nccl);
    fixture_open_instance(&fixture);
    line = fixture.backend->libraries(fixture.instance);
    if (strstr(line, of_cudnn) == NULL || strstr(line, of_nccl) == NULL) fail_msg("%s", line);
    fixture_close(&fixture);
}

static void places_of_cudnn_and_nccl_say_why_they_are_empty(void **state) {
    const stand_in_control_t *control = fixture_control();

    (void)state;
    expect_places("/nonexistent/libcudnn_graph.so.9", "/nonexistent/libnccl.so.2",
                  "cuDNN missing (cuDNN cannot be opened: /nonexistent/libcudnn_graph.so.9: ",
                  "NCCL missing (NCCL cannot be opened: /nonexistent/libnccl.so.2: ");
    expect_places("libm.so.6", "libm.so.6",
                  "libm.so.6 is no cuDNN: it has no function cudnnGetVersion",
                  "libm.so.6 is no NCCL: it has no function ncclGetVersion");
    assert_int_equal(control->set("cudnn=8907;nccl=2804"), 0);
    expect_places(STAND_IN("libcudnn"), STAND_IN("libnccl"),
                  "libcudnn.so is cuDNN 8.9.7, too old: 9.0.0 or newer",
                  "libnccl.so is NCCL 2.8.4, too old: 2.16.2 or newer is needed)");
    assert_int_equal(control->set("cudnn=100000;nccl=2804"), 0);
    expect_places(STAND_IN("libcudnn"), STAND_IN("libnccl"),
                  "libcudnn.so is cuDNN 10.0.0, too new: a version before 10.0.0 is needed",
                  "libnccl.so is NCCL 2.8.4, too old: 2.16.2 or newer is needed)");
    assert_int_equal(control->set("cudnn=91900;cudnn_cuda=13010"), 0);
    expect_places(STAND_IN("libcudnn"), STAND_IN("libnccl"),
                  "libcudnn.so (9.19.0) is cuDNN of CUDA 13.1, and the driver ",
                  "supports CUDA 12.9: cuDNN of CUDA 12 is needed, or a newer driver");
    assert_int_equal(control->set("cudnn_cuda=12090;fail=cudnnGraphVersionCheck:1:1002"), 0);
    expect_places(STAND_IN("libcudnn"), STAND_IN("libnccl"),
                  "libcudnn.so (9.19.0) has parts of another version: "
                  "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)",
                  "NCCL 2.8.4, too old");
    assert_int_equal(control->set("cudnn=90000;nccl=21602;fail=ncclGetVersion:1:3"), 0);
    expect_places(STAND_IN("libcudnn"), STAND_IN("libnccl"), "libcudnn.so (9.0.0) found",
                  "libnccl.so does not report its version (3)");
    control->reset();
}

static void context_is_the_cards_own_or_a_private_one(void **state) {
    fixture_t fixture;
    const stand_in_control_t *control = fixture_control();
    uint64_t retained;

    (void)state;
    fixture_open(&fixture);
    retained = control->calls("cuDevicePrimaryCtxRetain");
    assert_true(retained >= 2);
    fixture_close(&fixture);
    assert_int_equal(control->calls("cuDevicePrimaryCtxReset_v2"), 0);
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_CONTEXT", "private");
    fixture_open_instance(&fixture);
    fixture_open_devices(&fixture);
    assert_int_equal(control->live(STAND_IN_CONTEXTS), 2);
    assert_int_equal(control->calls("cuDevicePrimaryCtxRetain"), retained);
    fixture_close(&fixture);
}

/* ---- memory and transfers ---- */

static void memory_is_counted_and_its_end_is_said(void **state) {
    fixture_t fixture;
    gantry_region_t region = 1;
    gantry_span_t span;
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t total = 0;
    unsigned char *ptr = NULL;

    (void)state;
    fixture_open(&fixture);
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], 0, &region),
                     GANTRY_INVALID_ARGUMENT);
    assert_true(region == 0);
    assert_int_equal(
        fixture.backend->memory->region_alloc(fixture.device[0], (uint64_t)1 << 30, &region),
        GANTRY_RESOURCE_EXHAUSTED);
    assert_error_has("taking 1073741824 bytes");
    assert_error_has("CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_true(region == 0);
    assert_ok(fixture.backend->memory->memory_info(fixture.device[0], &before, &total));
    span = fixture_region(&fixture, 0, 1 << 20);
    assert_ok(fixture.backend->memory->memory_info(fixture.device[0], &after, &total));
    assert_true(total == fixture.info[0].total_bytes && before - after == 1 << 20);
    fixture_region_free(&fixture, 0, span);
    assert_ok(fixture.backend->memory->host_alloc(fixture.device[0], 100000, (void **)&ptr));
    memset(ptr, 7, 100000);
    fixture.backend->memory->host_free(fixture.device[0], ptr, 100000);
    fixture_close(&fixture);
}

static void card_memory_needs_no_context(void **state) {
    fixture_t fixture;
    uint64_t is_free = 0;
    uint64_t total = 0;

    (void)state;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_ok(fixture.backend->card_memory(fixture.instance, 1, &is_free, &total));
    assert_true(is_free == total && total == fixture.info[1].total_bytes);
    assert_int_equal(fixture_control()->live(STAND_IN_CONTEXTS), 0);
    /* the call may wake other cards */
    assert_int_equal(fixture_control()->calls("nvmlDeviceGetHandleByUUID"), 0);
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 2, &is_free, &total),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("CUDA device 2 does not exist");
    assert_true(is_free == 0 && total == 0);
    fixture_close(&fixture);
}

static void card_memory_of_a_part_is_the_parts_own(void **state) {
    const stand_in_control_t *control = fixture_control();
    fixture_t fixture;
    uint64_t is_free = 0;
    uint64_t total = 0;

    (void)state;
    assert_int_equal(control->set("mig=1"), 0);
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_ok(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total));
    assert_true(total == fixture.info[0].total_bytes && is_free == total);
    assert_int_equal(control->set("fail=nvmlDeviceGetHandleByUUID:0:6"), 0);
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total),
                     GANTRY_UNAVAILABLE);
    assert_error_has("NVML does not answer for this card");
    fixture_open_devices(&fixture); /* their contexts answer the same question */
    assert_ok(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total));
    assert_true(total == fixture.info[0].total_bytes && is_free == total - control->used_bytes(0));
    fixture_close(&fixture);
    control->reset();
    assert_int_equal(control->set("mig=0"), 0);
}

static void card_memory_without_nvml_is_an_open_devices(void **state) {
    fixture_t fixture;
    uint64_t is_free = 1;
    uint64_t total = 1;

    (void)state;
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_NVML", "/nonexistent/libnvidia-ml.so");
    fixture_open_instance(&fixture);
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total),
                     GANTRY_UNAVAILABLE);
    assert_error_has(
        "is not known without a context: NVML cannot be opened: /nonexistent/libnvidia-ml.so");
    assert_true(is_free == 0 && total == 0);
    fixture_open_devices(&fixture);
    assert_ok(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total));
    assert_true(total == fixture.info[0].total_bytes &&
                is_free == total - fixture_control()->used_bytes(0));
    fixture.backend->stream->destroy(fixture.stream[0]);
    fixture.backend->device_close(fixture.device[0]);
    fixture.stream[0] = NULL;
    fixture.device[0] = NULL;
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total),
                     GANTRY_UNAVAILABLE);
    assert_ok(fixture.backend->card_memory(fixture.instance, 1, &is_free, &total));
    fixture_close(&fixture);
}

static void copy_between_cards_carries_the_bytes(void **state) {
    fixture_t fixture;
    int32_t in[64];
    int32_t out[64];
    gantry_span_t source;
    gantry_span_t target;
    uint64_t asked;

    (void)state;
    fixture_open(&fixture);
    asked = fixture_control()->calls("cuCtxEnablePeerAccess");
    for (int i = 0; i < 64; ++i) {
        in[i] = i * i;
    }
    source = fixture_region(&fixture, 1, sizeof in);
    target = fixture_region(&fixture, 0, sizeof in);
    fixture_write(&fixture, 1, source, in);
    for (int i = 0; i < 2; ++i) {
        assert_ok(fixture.backend->transfer->copy_peer(fixture.stream[0], &target,
                                                       fixture.device[1], &source));
    }
    fixture_read(&fixture, 0, target, out);
    assert_memory_equal(in, out, sizeof in);
    /* one call per pair */
    assert_int_equal(fixture_control()->calls("cuCtxEnablePeerAccess"), asked + 1);
    fixture_region_free(&fixture, 1, source);
    fixture_region_free(&fixture, 0, target);
    fixture_close(&fixture);
}

/* A reopened card has another context, which knows no peer yet. */
static void copy_from_a_card_opened_again_asks_for_its_memory_again(void **state) {
    static const int32_t in[4] = {3, 1, 4, 1};
    fixture_t fixture;
    int32_t out[4];
    gantry_span_t source;
    gantry_span_t target;
    uint64_t asked;

    (void)state;
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_CONTEXT", "private");
    fixture_open_instance(&fixture);
    fixture_open_devices(&fixture);
    asked = fixture_control()->calls("cuCtxEnablePeerAccess");
    target = fixture_region(&fixture, 0, sizeof in);
    for (uint64_t i = 1; i <= 2; ++i) {
        source = fixture_region(&fixture, 1, sizeof in);
        fixture_write(&fixture, 1, source, in);
        assert_ok(fixture.backend->transfer->copy_peer(fixture.stream[0], &target,
                                                       fixture.device[1], &source));
        fixture_read(&fixture, 0, target, out);
        assert_memory_equal(in, out, sizeof in);
        assert_int_equal(fixture_control()->calls("cuCtxEnablePeerAccess"), asked + i);
        fixture_region_free(&fixture, 1, source);
        fixture.backend->stream->destroy(fixture.stream[1]);
        fixture.backend->device_close(fixture.device[1]);
        assert_ok(fixture.backend->device_open(fixture.instance, 1, &fixture.device[1]));
        assert_ok(fixture.backend->stream->create(fixture.device[1], GANTRY_STREAM_COMPUTE,
                                                  &fixture.stream[1]));
    }
    fixture_region_free(&fixture, 0, target);
    fixture_close(&fixture);
}

/* ---- events ---- */

static void events_order_streams_of_two_cards(void **state) {
    fixture_t fixture;
    gantry_backend_event_t *event = NULL;
    gantry_span_t span;
    int32_t is_done = 0;
    unsigned char byte = 5;

    (void)state;
    fixture_open(&fixture);
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    /* an event that was never recorded has passed */
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[1], event));
    span = fixture_region(&fixture, 0, 4096);
    assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &span, &byte, 1));
    assert_ok(fixture.backend->event->record(event, fixture.stream[0]));
    assert_ok(fixture.backend->stream->wait_event(fixture.stream[1], event));
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[1]));
    assert_ok(fixture.backend->event->query(event, &is_done));
    assert_int_equal(is_done, 1);
    assert_ok(fixture.backend->event->synchronize(event));
    fixture.backend->event->destroy(event);
    fixture_region_free(&fixture, 0, span);
    fixture_close(&fixture);
}

static void streams_take_priorities(void **state) {
    fixture_t fixture;
    gantry_backend_stream_t *stream = NULL;

    (void)state;
    fixture_open(&fixture);
    for (int32_t priority = -3; priority <= 3; ++priority) {
        assert_ok(fixture.backend->stream->create_with_priority(
            fixture.device[0], GANTRY_STREAM_COMPUTE, priority, &stream));
        fixture.backend->stream->destroy(stream);
    }
    fixture_close(&fixture);
}

/* ---- loss ---- */

/* Unavailable from an open device means that the device is lost. Only errors that no context
 * survives may have that code. */
static void only_a_dead_device_is_unavailable(void **state) {
    static const gantry__cu_result_t lost[] = {46,  214, 220, 226, 700, 702, 709,
                                               710, 714, 715, 716, 717, 718, 719};

    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; ++i) {
        assert_int_equal(gantry__driver_error_code(lost[i]), GANTRY_UNAVAILABLE);
    }
    assert_int_equal(gantry__driver_error_code(1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__driver_error_code(2), GANTRY_RESOURCE_EXHAUSTED);
    assert_int_equal(gantry__driver_error_code(222), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__driver_error_code(400), GANTRY_INTERNAL);
    assert_int_equal(gantry__driver_error_code(701), GANTRY_RESOURCE_EXHAUSTED);
    assert_int_equal(gantry__driver_error_code(704), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry__driver_error_code(801), GANTRY_UNIMPLEMENTED);
    assert_int_equal(gantry__driver_error_code(12345), GANTRY_UNKNOWN);
}

static void lost_card_is_unavailable_and_the_other_works_on(void **state) {
    fixture_t fixture;
    const stand_in_control_t *control = fixture_control();
    gantry_span_t span[FIXTURE_DEVICES];
    gantry_backend_event_t *event = NULL;
    uint64_t bytes = 0;
    int32_t is_done = 0;
    unsigned char byte = 5;

    (void)state;
    fixture_open(&fixture);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        span[d] = fixture_region(&fixture, d, 4096);
    }
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    control->lose(0, 700);
    assert_int_equal(fixture.backend->transfer->fill(fixture.stream[0], &span[0], &byte, 1),
                     GANTRY_UNAVAILABLE);
    assert_error_has("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assert_int_equal(fixture.backend->stream->synchronize(fixture.stream[0]), GANTRY_UNAVAILABLE);
    assert_int_equal(fixture.backend->event->record(event, fixture.stream[0]), GANTRY_UNAVAILABLE);
    assert_int_equal(fixture.backend->event->query(event, &is_done), GANTRY_UNAVAILABLE);
    assert_int_equal(fixture.backend->memory->memory_info(fixture.device[0], &bytes, &bytes),
                     GANTRY_UNAVAILABLE);
    assert_ok(fixture.backend->transfer->fill(fixture.stream[1], &span[1], &byte, 1));
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[1]));
    fixture.backend->event->destroy(event);
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        fixture_region_free(&fixture, d, span[d]);
    }
    fixture_close(&fixture);
    control->reset();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_older_core_is_refused),
        cmocka_unit_test(open_on_other_machines_says_why_not),
        /* this test forks, so it runs before the stand-in is opened here */
        cmocka_unit_test(libraries_suit_the_driver_and_the_oldest_card),
        cmocka_unit_test(open_missing_driver_is_unavailable_with_the_loaders_words),
        cmocka_unit_test(open_incomplete_driver_names_the_missing_function),
        cmocka_unit_test(open_unknown_option_is_invalid),
        cmocka_unit_test(devices_are_described_without_a_context),
        cmocka_unit_test(device_info_small_struct_is_not_written_beyond),
        cmocka_unit_test(libraries_line_names_each_one_or_why_it_is_missing),
        cmocka_unit_test(library_in_a_toolkits_folder_is_found),
        cmocka_unit_test(places_of_cudnn_and_nccl_say_why_they_are_empty),
        cmocka_unit_test(context_is_the_cards_own_or_a_private_one),
        cmocka_unit_test(open_out_of_memory_gives_all_back),
        cmocka_unit_test(memory_is_counted_and_its_end_is_said),
        cmocka_unit_test(card_memory_needs_no_context),
        cmocka_unit_test(card_memory_of_a_part_is_the_parts_own),
        cmocka_unit_test(card_memory_without_nvml_is_an_open_devices),
        cmocka_unit_test(transfers_with_offsets_hit_their_bytes_only),
        cmocka_unit_test(fill_of_each_pattern_size_repeats_it),
        cmocka_unit_test(copy_between_cards_carries_the_bytes),
        cmocka_unit_test(copy_from_a_card_opened_again_asks_for_its_memory_again),
        cmocka_unit_test(events_order_streams_of_two_cards),
        cmocka_unit_test(streams_take_priorities),
        cmocka_unit_test(only_a_dead_device_is_unavailable),
        cmocka_unit_test(lost_card_is_unavailable_and_the_other_works_on),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;cc=9.0", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
