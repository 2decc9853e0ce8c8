/* The CUDA backend through its plug-in interface: without any driver, and on two cards of the stand-in for NVIDIA's
 * driver. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_fixture.h"

#include "cuda/cuda_status.h"

/* ---- without a driver ---- */

static void query_older_core_is_refused(void **state) {
    const gantry_backend_t *backend = NULL;

    (void)state;
    assert_int_equal(gantry_backend_query_cuda(0, &backend), FAILED_PRECONDITION);
    assert_null(backend);
}

static void open_with_option(fixture_t *fixture, const char *name, const char *value, int32_t expected) {
    fixture_init(fixture);
    fixture_set(fixture, name, value);
    assert_int_equal(fixture->backend->open(&fixture->host, &fixture->instance), expected);
    assert_null(fixture->instance);
    assert_int_equal(atomic_load(&fixture->bytes), 0);
}

static void open_missing_driver_is_unavailable_with_the_loaders_words(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", UNAVAILABLE);
    assert_error_has("GANTRY_CUDA_LIBRARY");
    assert_error_has("/nonexistent/libcuda.so.1");
    assert_error_has("No such file");
}

static void open_incomplete_driver_names_the_missing_function(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_LIBRARY", "libm.so.6", UNAVAILABLE);
    assert_error_has("libm.so.6");
    assert_error_has("cuInit");
}

static void open_unknown_option_is_invalid(void **state) {
    fixture_t fixture;

    (void)state;
    open_with_option(&fixture, "GANTRY_CUDA_CONTEXT", "mine", INVALID_ARGUMENT);
    assert_error_has("GANTRY_CUDA_CONTEXT is \"mine\"; primary and private are accepted");
    open_with_option(&fixture, "GANTRY_CUDA_TF32", "yes", INVALID_ARGUMENT);
    assert_error_has("GANTRY_CUDA_TF32 is \"yes\"; 0 and 1 are accepted");
}

/* The stand-in reads its settings once per process, as a driver does: another machine needs a process of its own,
 * made before this one opens the stand-in. The child prints what went wrong. */
static void check_in_child(const char *settings, int32_t (*body)(fixture_t *), int32_t expected, const char *part) {
    int result = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture_t fixture;
        int32_t status;

        setenv("GANTRY_STAND_IN_CUDA", settings, 1);
        fixture_init(&fixture);
        status = body(&fixture);
        if (status != expected || strstr(fixture_error, part) == NULL || atomic_load(&fixture.bytes) != 0) {
            printf("status %d, %lld bytes held: %s\n", status, atomic_load(&fixture.bytes), fixture_error);
            fflush(stdout);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static int32_t just_open(fixture_t *fixture) { return fixture->backend->open(&fixture->host, &fixture->instance); }

/* The driver is there, the card is another process's. */
static int32_t open_first_device(fixture_t *fixture) {
    int32_t status = just_open(fixture);

    if (status == 0) {
        status = fixture->backend->device_open(fixture->instance, 0, &fixture->device[0]);
        fixture->backend->close(fixture->instance);
    }
    return status;
}

/* An old NVRTC: programs as PTX for the newest architecture it knows. */
static int32_t build_for_a_newer_card(fixture_t *fixture) {
    static const char *const parts[] = {"__kernel void nothing(__global int *out) { out[0] = 1; }\n"};
    static const gantry_program_source_t source = {sizeof source, GANTRY_PROGRAM_CUDA_C, "test/ptx", parts, 1};
    gantry_backend_program_t *program = NULL;
    int32_t status = just_open(fixture);

    if (status == 0) {
        assert_int_equal(fixture->backend->device_open(fixture->instance, 0, &fixture->device[0]), 0);
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

static int has_stand_in(void) {
    fixture_t fixture;
    pid_t child;
    int result = -1;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        fixture_init(&fixture);
        _exit(just_open(&fixture) == 0 ? 0 : 1);
    }
    return waitpid(child, &result, 0) == child && result == 0;
}

static void open_on_other_machines_says_why_not(void **state) {
    (void)state;
    if (!has_stand_in() && getenv("GANTRY_TEST_ALLOW_NO_OPENCL") != NULL) {
        print_message("skipped: the stand-in finds no PoCL here\n");
        skip();
    }
    check_in_child("driver=11080", just_open, UNAVAILABLE, "is too old: it supports CUDA 11.8");
    check_in_child("devices=0", just_open, UNAVAILABLE, "it sees no card: CUDA_ERROR_NO_DEVICE (100)");
    check_in_child("fail=cuInit:1:999", just_open, UNAVAILABLE, "does not start: CUDA_ERROR_UNKNOWN (999)");
    check_in_child("fail=cuDeviceGetName:1:999", just_open, UNAVAILABLE, "does not describe itself");
    check_in_child("busy=1", open_first_device, UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE (46)");
    check_in_child("cc=12.0;nvrtc=12040", build_for_a_newer_card, 0, "");
    check_in_child("cc=9.0", build_without_nvrtc, UNIMPLEMENTED, "/nonexistent/libnvrtc.so");
}

/* ---- devices ---- */

static void devices_are_described_without_a_context(void **state) {
    fixture_t fixture;

    (void)state;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_int_equal(fixture.backend->device_count(fixture.instance), 2);
    assert_int_equal(fixture_control()->live(STAND_IN_CONTEXTS), 0);
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        const gantry_device_info_t *info = &fixture.info[d];

        assert_int_equal(info->type, GANTRY_DEVICE_TYPE_GPU);
        assert_int_equal(info->flags, 0);
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
        assert_true(info->local_memory_bytes >= 16384 && info->max_work_group_size >= 256);
        assert_int_equal(info->program_kinds, GANTRY_PROGRAM_CUDA_C);
        assert_true((info->dtype_mask & (1u << 1)) != 0 && (info->dtype_mask & (1u << 2)) != 0);
        assert_true(info->least_priority >= info->greatest_priority);
    }
    assert_string_not_equal(fixture.info[0].uuid, fixture.info[1].uuid);
    assert_string_not_equal(fixture.info[0].pci_address, fixture.info[1].pci_address);
    fixture_close(&fixture);
}

static void device_info_small_struct_is_not_written_beyond(void **state) {
    fixture_t fixture;
    gantry_device_info_t info;

    (void)state;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(gantry_device_info_t, hardware_name);
    assert_ok(fixture.backend->device_info(fixture.instance, 0, &info));
    for (size_t i = offsetof(gantry_device_info_t, hardware_name); i < sizeof info; i++) {
        assert_int_equal(((unsigned char *)&info)[i], 0x5a);
    }
    info.struct_size = sizeof info;
    assert_int_equal(fixture.backend->device_info(fixture.instance, 1000, &info), INVALID_ARGUMENT);
    assert_error_has("1000");
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
    assert_non_null(strstr(line, "cuBLASLt missing (cuBLASLt cannot be opened: /nonexistent/libcublasLt.so"));
    assert_non_null(strstr(line, "libnvml.so"));
    assert_non_null(strstr(line, "% busy"));
    assert_ptr_equal(line, fixture.backend->libraries(fixture.instance));
    fixture_close(&fixture);
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

/* Every allocation of open, device_open and the first stream fails once. */
static void open_out_of_memory_gives_all_back(void **state) {
    (void)state;
    for (int fail_at = 1; fail_at < 100; fail_at++) {
        fixture_t fixture;
        int32_t status;

        fixture_init(&fixture);
        atomic_store(&fixture.fail_at, fail_at);
        status = just_open(&fixture);
        if (status == 0) {
            status = fixture.backend->device_open(fixture.instance, 0, &fixture.device[0]);
        }
        if (status == 0) {
            status = fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_COMPUTE, &fixture.stream[0]);
        }
        fixture_close(&fixture);
        if (status == 0) {
            assert_true(fail_at > 3);
            return;
        }
        assert_int_equal(status, RESOURCE_EXHAUSTED);
    }
    fail_msg("still failing after 100 allocations");
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
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], 0, &region), INVALID_ARGUMENT);
    assert_true(region == 0);
    assert_int_equal(fixture.backend->memory->region_alloc(fixture.device[0], (uint64_t)1 << 30, &region),
                     RESOURCE_EXHAUSTED);
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
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 2, &is_free, &total), INVALID_ARGUMENT);
    assert_error_has("CUDA device 2 does not exist");
    assert_true(is_free == 0 && total == 0);
    fixture_close(&fixture);
}

static void card_memory_without_nvml_is_an_open_devices(void **state) {
    fixture_t fixture;
    uint64_t is_free = 1;
    uint64_t total = 1;

    (void)state;
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_NVML", "/nonexistent/libnvidia-ml.so");
    fixture_open_instance(&fixture);
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total), UNAVAILABLE);
    assert_error_has("is not known without a context: NVML cannot be opened: /nonexistent/libnvidia-ml.so");
    assert_true(is_free == 0 && total == 0);
    fixture_open_devices(&fixture);
    assert_ok(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total));
    assert_true(total == fixture.info[0].total_bytes && is_free == total - fixture_control()->used_bytes(0));
    fixture.backend->stream->destroy(fixture.stream[0]);
    fixture.backend->device_close(fixture.device[0]);
    fixture.stream[0] = NULL;
    fixture.device[0] = NULL;
    assert_int_equal(fixture.backend->card_memory(fixture.instance, 0, &is_free, &total), UNAVAILABLE);
    assert_ok(fixture.backend->card_memory(fixture.instance, 1, &is_free, &total));
    fixture_close(&fixture);
}

static void transfers_with_offsets_hit_their_bytes_only(void **state) {
    fixture_t fixture;
    unsigned char in[1000];
    unsigned char out[1000];
    gantry_span_t all;
    gantry_span_t part;
    gantry_span_t other;

    (void)state;
    fixture_open(&fixture);
    for (int i = 0; i < 1000; i++) {
        in[i] = (unsigned char)(i * 7 + 1);
    }
    all = fixture_region(&fixture, 0, 1000);
    fixture_write(&fixture, 0, all, in);
    part = (gantry_span_t){all.region, 100, 50};
    fixture_write(&fixture, 0, part, in);
    memcpy(in + 100, in, 50);
    other = (gantry_span_t){all.region, 900, 50};
    part = (gantry_span_t){all.region, 200, 50};
    assert_ok(fixture.backend->transfer->copy(fixture.stream[0], &other, &part));
    memcpy(in + 900, in + 200, 50);
    fixture_read(&fixture, 0, all, out);
    assert_memory_equal(in, out, 1000);
    part.size_bytes = 0; /* nothing to do is no error */
    fixture_read(&fixture, 0, part, out);
    assert_ok(fixture.backend->transfer->copy(fixture.stream[0], &part, &part));
    assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &part, in, 1));
    assert_int_equal(fixture.backend->transfer->copy(fixture.stream[0], &other, &part), INVALID_ARGUMENT);
    fixture_region_free(&fixture, 0, all);
    fixture_close(&fixture);
}

static void fill_of_each_pattern_size_repeats_it(void **state) {
    static const unsigned char patterns[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 8, 7, 6, 9, 8, 7, 6}};
    static const uint64_t lengths[] = {160, 8, 16, 24, 200};
    fixture_t fixture;
    unsigned char out[256];
    gantry_span_t all;

    (void)state;
    fixture_open(&fixture);
    all = fixture_region(&fixture, 0, 256);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        for (int p = 0; p < 2; p++) {
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                gantry_span_t span = {all.region, 40, lengths[l]};
                unsigned char zero = 0;

                assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &all, &zero, 1));
                assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &span, patterns[p], bytes));
                fixture_read(&fixture, 0, all, out);
                for (uint32_t i = 0; i < 256; i++) {
                    assert_int_equal(out[i], i >= 40 && i < 40 + lengths[l] ? patterns[p][(i - 40) % bytes] : 0);
                }
            }
        }
    }
    assert_int_equal(fixture.backend->transfer->fill(fixture.stream[0], &all, patterns, 3), INVALID_ARGUMENT);
    assert_error_has("3 bytes");
    fixture_region_free(&fixture, 0, all);
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
    for (int i = 0; i < 64; i++) {
        in[i] = i * i;
    }
    source = fixture_region(&fixture, 1, sizeof in);
    target = fixture_region(&fixture, 0, sizeof in);
    fixture_write(&fixture, 1, source, in);
    for (int i = 0; i < 2; i++) {
        assert_ok(fixture.backend->transfer->copy_peer(fixture.stream[0], &target, fixture.device[1], &source));
    }
    fixture_read(&fixture, 0, target, out);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(fixture_control()->calls("cuCtxEnablePeerAccess"), asked + 1); /* once a pair */
    source.size_bytes = 8;
    assert_int_equal(fixture.backend->transfer->copy_peer(fixture.stream[0], &target, fixture.device[1], &source),
                     INVALID_ARGUMENT);
    source.size_bytes = sizeof in;
    fixture_region_free(&fixture, 1, source);
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
    assert_ok(fixture.backend->event->query(event, &is_done)); /* never recorded: past */
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
    for (int32_t priority = -3; priority <= 3; priority++) {
        assert_ok(
            fixture.backend->stream->create_with_priority(fixture.device[0], GANTRY_STREAM_COMPUTE, priority, &stream));
        fixture.backend->stream->destroy(stream);
    }
    fixture_close(&fixture);
}

/* ---- loss ---- */

/* Unavailable of an open device means that it is lost: only what no context survives may have that code. */
static void only_a_dead_device_is_unavailable(void **state) {
    static const gantry__cu_result_t lost[] = {46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};

    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        assert_int_equal(gantry__cuda_error_code(lost[i]), UNAVAILABLE);
    }
    assert_int_equal(gantry__cuda_error_code(1), INVALID_ARGUMENT);
    assert_int_equal(gantry__cuda_error_code(2), RESOURCE_EXHAUSTED);
    assert_int_equal(gantry__cuda_error_code(222), INVALID_ARGUMENT);
    assert_int_equal(gantry__cuda_error_code(400), GANTRY_K_INTERNAL);
    assert_int_equal(gantry__cuda_error_code(701), RESOURCE_EXHAUSTED);
    assert_int_equal(gantry__cuda_error_code(704), FAILED_PRECONDITION);
    assert_int_equal(gantry__cuda_error_code(801), UNIMPLEMENTED);
    assert_int_equal(gantry__cuda_error_code(12345), GANTRY__CUDA_UNKNOWN);
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
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        span[d] = fixture_region(&fixture, d, 4096);
    }
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    control->lose(0, 700);
    assert_int_equal(fixture.backend->transfer->fill(fixture.stream[0], &span[0], &byte, 1), UNAVAILABLE);
    assert_error_has("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assert_int_equal(fixture.backend->stream->synchronize(fixture.stream[0]), UNAVAILABLE);
    assert_int_equal(fixture.backend->event->record(event, fixture.stream[0]), UNAVAILABLE);
    assert_int_equal(fixture.backend->event->query(event, &is_done), UNAVAILABLE);
    assert_int_equal(fixture.backend->memory->memory_info(fixture.device[0], &bytes, &bytes), UNAVAILABLE);
    assert_ok(fixture.backend->transfer->fill(fixture.stream[1], &span[1], &byte, 1));
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[1]));
    fixture.backend->event->destroy(event);
    for (int d = 0; d < FIXTURE_DEVICES; d++) {
        fixture_region_free(&fixture, d, span[d]);
    }
    fixture_close(&fixture);
    control->reset();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_older_core_is_refused),
        cmocka_unit_test(open_on_other_machines_says_why_not), /* forks: before the stand-in is opened here */
        cmocka_unit_test(open_missing_driver_is_unavailable_with_the_loaders_words),
        cmocka_unit_test(open_incomplete_driver_names_the_missing_function),
        cmocka_unit_test(open_unknown_option_is_invalid),
        cmocka_unit_test(devices_are_described_without_a_context),
        cmocka_unit_test(device_info_small_struct_is_not_written_beyond),
        cmocka_unit_test(libraries_line_names_each_one_or_why_it_is_missing),
        cmocka_unit_test(context_is_the_cards_own_or_a_private_one),
        cmocka_unit_test(open_out_of_memory_gives_all_back),
        cmocka_unit_test(memory_is_counted_and_its_end_is_said),
        cmocka_unit_test(card_memory_needs_no_context),
        cmocka_unit_test(card_memory_without_nvml_is_an_open_devices),
        cmocka_unit_test(transfers_with_offsets_hit_their_bytes_only),
        cmocka_unit_test(fill_of_each_pattern_size_repeats_it),
        cmocka_unit_test(copy_between_cards_carries_the_bytes),
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
