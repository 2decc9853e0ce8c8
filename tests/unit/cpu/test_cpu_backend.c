/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* mincore */
/* Promise: The CPU backend works when it is called through the table of the backend interface, and
 * survives each failing allocation of its host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu/cpu_backend.h"
#include "kernels/common/cpu_kernels.h"
#include "test.h"

#if defined(__x86_64__)
#define SET_WITHOUT_FMA "base"
#else
#define SET_WITHOUT_FMA "" /* each 64-bit Arm processor has it */
#endif

/* ---- a host ---- */

typedef struct test_host_t {
    gantry_host_t host;
    int allocations_left; /* negative: never fails */
    int live;
    int warnings;
    char message[512];
    char warning[512];
    const char *threads;
    const char *simd;
} test_host_t;

static void host_log(void *self, int32_t level, const char *text) {
    test_host_t *host = self;
    host->warnings += level == GANTRY_LEVEL_WARNING;
    snprintf(host->warning, sizeof host->warning, "%s", text);
}

static int32_t host_set_error(void *self, int32_t code, const char *domain, int64_t native_code,
                              const char *text) {
    test_host_t *host = self;
    assert_non_null(domain);
    (void)native_code;
    snprintf(host->message, sizeof host->message, "%s", text);
    return code;
}

static void *host_reallocate(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes) {
    test_host_t *host = self;
    assert_true((ptr == NULL) == (old_bytes == 0));
    if (new_bytes == 0) {
        host->live -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (host->allocations_left == 0) {
        return NULL;
    }
    host->allocations_left -= host->allocations_left > 0;
    host->live += ptr == NULL;
    return realloc(ptr, (size_t)new_bytes);
}

static const char *host_option(void *self, const char *name) {
    test_host_t *host = self;
    return strcmp(name, "GANTRY_CPU_THREADS") == 0 ? host->threads
           : strcmp(name, "GANTRY_CPU_SIMD") == 0  ? host->simd
                                                   : NULL;
}

static void host_init(test_host_t *host) {
    *host = (test_host_t){.allocations_left = -1};
    host->host = (gantry_host_t){.struct_size = sizeof host->host,
                                 .abi_version = GANTRY_ABI_VERSION,
                                 .self = host,
                                 .log = host_log,
                                 .set_error = host_set_error,
                                 .reallocate = host_reallocate,
                                 .option = host_option};
}

typedef struct opened_t {
    test_host_t host;
    const gantry_backend_t *table;
    gantry_backend_instance_t *instance;
    gantry_backend_device_t *device;
    gantry_backend_stream_t *stream;
} opened_t;

static int set_up(void **state) {
    static opened_t o;
    host_init(&o.host);
    assert_int_equal(gantry_backend_query_cpu(GANTRY_ABI_VERSION, &o.table), 0);
    assert_int_equal(o.table->open(&o.host.host, &o.instance), 0);
    assert_int_equal(o.table->device_open(o.instance, 0, &o.device), 0);
    assert_int_equal(o.table->stream->create(o.device, GANTRY_STREAM_COMPUTE, &o.stream), 0);
    *state = &o;
    return 0;
}

static int tear_down(void **state) {
    opened_t *o = *state;
    o->table->stream->destroy(o->stream);
    o->table->device_close(o->device);
    o->table->close(o->instance);
    assert_int_equal(o->host.live, 0);
    return 0;
}

/* ---- table, device, options ---- */

TEST(query_older_core_is_refused) {
    const gantry_backend_t *table = (const void *)1;
    assert_int_equal(gantry_backend_query_cpu(0, &table), GANTRY_FAILED_PRECONDITION);
    assert_null(table);
}

TEST_WITH(device_info_is_complete, set_up, tear_down) {
    opened_t *o = *state;
    gantry_device_info_t info = {.struct_size = sizeof info};
    assert_int_equal(o->table->device_count(o->instance), 1);
    assert_int_equal(o->table->device_info(o->instance, 0, &info), 0);
    assert_int_equal(info.struct_size, sizeof info);
    assert_int_equal(info.type, GANTRY_DEVICE_TYPE_CPU);
    assert_int_equal(
        info.flags & ~(uint32_t)GANTRY_DEVICE_EMULATES_FMA,
        GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_HOST_ADDRESSABLE | GANTRY_DEVICE_SYNCHRONOUS);
    assert_int_equal((info.flags & GANTRY_DEVICE_EMULATES_FMA) != 0,
                     strcmp(info.build_hash, SET_WITHOUT_FMA) == 0);
    assert_true(info.hardware_name[0] != '\0');
    assert_true(info.compute_units >= 1);
    assert_true(info.total_bytes > (UINT64_C(1) << 20));
    assert_true(info.base_alignment_bytes >= 64);
    assert_int_equal(info.program_kinds, 0);
    assert_true((info.dtype_mask & GANTRY_DTYPES_ANY) == GANTRY_DTYPES_ANY);
    const char *const texts[] = {
        info.vendor,      info.driver_version, info.platform_name,      info.platform_version,
        info.pci_address, info.uuid,           info.compute_capability, info.build_hash};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        assert_non_null(texts[i]);
    }
    assert_non_null(strstr(o->table->libraries(o->instance), "vector code"));
}

TEST_WITH(device_info_older_caller_is_not_written_beyond_its_size, set_up, tear_down) {
    opened_t *o = *state;
    union {
        gantry_device_info_t info;
        unsigned char bytes[sizeof(gantry_device_info_t)];
    } u;
    memset(&u, 0x77, sizeof u);
    u.info.struct_size = offsetof(gantry_device_info_t, vendor);
    assert_int_equal(o->table->device_info(o->instance, 0, &u.info), 0);
    assert_int_equal(u.info.struct_size, offsetof(gantry_device_info_t, vendor));
    for (size_t i = offsetof(gantry_device_info_t, vendor); i < sizeof u; ++i) {
        assert_int_equal(u.bytes[i], 0x77);
    }
}

TEST_WITH(device_number_one_does_not_exist, set_up, tear_down) {
    opened_t *o = *state;
    gantry_device_info_t info = {.struct_size = sizeof info};
    gantry_backend_device_t *device = NULL;
    const gantry_kernel_def_t *const *kernels = NULL;
    assert_int_equal(o->table->device_info(o->instance, 1, &info), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(o->host.message, "number 0, not 1"));
    assert_int_equal(o->table->device_open(o->instance, 1, &device), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(o->table->kernels(o->instance, 1, &kernels), 0);
}

TEST_WITH(kernels_are_well_formed_and_named_once, set_up, tear_down) {
    opened_t *o = *state;
    const gantry_kernel_def_t *const *kernels = NULL;
    const uint32_t count = o->table->kernels(o->instance, 0, &kernels);
    assert_true(count > 30);
    for (uint32_t i = 0; i < count; ++i) {
        assert_int_equal(kernels[i]->struct_size, sizeof(gantry_kernel_def_t));
        assert_non_null(kernels[i]->compute);
        if ((kernels[i]->type_count == 0) != (kernels[i]->types == NULL))
            fail_msg("%s", kernels[i]->op);
    }
}

TEST(open_without_memory_fails_and_frees_all) {
    const gantry_backend_t *table;
    test_host_t host;
    int32_t status = GANTRY_RESOURCE_EXHAUSTED;
    gantry_backend_query_cpu(GANTRY_ABI_VERSION, &table);
    for (int allowed = 0; status != 0; ++allowed) {
        gantry_backend_instance_t *instance = NULL;
        gantry_backend_device_t *device = NULL;
        gantry_backend_stream_t *stream = NULL;
        gantry_backend_event_t *event = NULL;
        assert_true(allowed < 50);
        host_init(&host);
        host.allocations_left = allowed;
        status = table->open(&host.host, &instance);
        if (status == 0) status = table->device_open(instance, 0, &device);
        if (status == 0) status = table->stream->create(device, 0, &stream);
        if (status == 0) status = table->event->create(device, &event);
        assert_true(status == 0 || status == GANTRY_RESOURCE_EXHAUSTED);
        assert_true(status == 0 || host.message[0] != '\0');
        if (event != NULL) table->event->destroy(event);
        if (stream != NULL) table->stream->destroy(stream);
        if (device != NULL) table->device_close(device);
        if (instance != NULL) table->close(instance);
        assert_int_equal(host.live, 0);
    }
}

TEST(options_lower_the_level_and_bound_threads) {
    static const char *const names[] = {"base", "avx2", "avx512"};
    const gantry_backend_t *table;
    const int least = gantry__cpu_simd_detect("base"), best = gantry__cpu_simd_detect(NULL);
    gantry_backend_query_cpu(GANTRY_ABI_VERSION, &table);
    for (int i = 0; i < 3; ++i) {
        test_host_t host;
        gantry_backend_instance_t *instance;
        host_init(&host);
        host.simd = names[i];
        host.threads = "1";
        assert_int_equal(table->open(&host.host, &instance), 0);
        gantry_device_info_t info = {.struct_size = sizeof info};
        table->device_info(instance, 0, &info);
        const bool is_accepted = i >= least && i <= best;
        assert_string_equal(info.build_hash, names[is_accepted ? i : best]);
        assert_int_equal(host.warnings, !is_accepted);
        assert_non_null(strstr(table->libraries(instance), "one thread"));
        table->close(instance);
    }
}

/* Another thread may be reading it. */
TEST_WITH(line_of_libraries_stays_when_they_are_opened, set_up, tear_down) {
    opened_t *o = *state;
    const char *before = o->table->libraries(o->instance), *after;
    char copy[1024];
    assert_true((size_t)snprintf(copy, sizeof copy, "%s", before) < sizeof copy);
    assert_ptr_equal(o->table->libraries(o->instance), before);
    assert_non_null(strstr(before, "opened on first need"));
    gantry__cpu_blas_choose(o->instance->blas, 64, 64, 64);
    after = o->table->libraries(o->instance);
    assert_null(strstr(after, "opened on first need"));
    assert_string_equal(before, copy);
    assert_ptr_equal(o->table->libraries(o->instance), after);
}

TEST(options_that_mean_nothing_are_warned_about) {
    static const char *const bad[] = {"-1", "many", "3x", "1025"};
    const gantry_backend_t *table;
    gantry_backend_query_cpu(GANTRY_ABI_VERSION, &table);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        test_host_t host;
        gantry_backend_instance_t *instance;
        host_init(&host);
        host.threads = bad[i];
        assert_int_equal(table->open(&host.host, &instance), 0);
        assert_int_equal(host.warnings, 1);
        assert_non_null(strstr(host.warning, bad[i]));
        table->close(instance);
    }
}

/* ---- memory ---- */

TEST_WITH(region_is_aligned_and_writable_to_its_end, set_up, tear_down) {
    static const uint64_t sizes[] = {1,        100,           4096, 100000, (2u << 20) - 1,
                                     2u << 20, (5u << 20) + 3};
    opened_t *o = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        gantry_region_t region = 0;
        assert_int_equal(o->table->memory->region_alloc(o->device, sizes[i], &region), 0);
        assert_true(region != 0 && region % 64 == 0);
        assert_true(sizes[i] < (2u << 20) || region % (2u << 20) == 0);
        memset((void *)(uintptr_t)region, 0x11, (size_t)sizes[i]);
        o->table->memory->region_free(o->device, region, sizes[i]);
    }
}

TEST_WITH(region_is_backed_before_it_is_handed_out, set_up, tear_down) {
    static const uint64_t sizes[] = {4096, 1 << 20, 40 << 20};
    opened_t *o = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        unsigned char resident[(40 << 20) / 4096];
        gantry_region_t region = 0;
        assert_int_equal(o->table->memory->region_alloc(o->device, sizes[i], &region), 0);
        assert_int_equal(mincore((void *)(uintptr_t)region, sizes[i], resident), 0);
        for (size_t page = 0; page < sizes[i] / 4096; ++page) assert_true(resident[page] & 1);
        o->table->memory->region_free(o->device, region, sizes[i]);
    }
}

TEST_WITH(region_larger_than_the_machine_is_resource_exhausted, set_up, tear_down) {
    static const uint64_t sizes[] = {UINT64_C(1) << 62, UINT64_MAX, INT64_MAX};
    opened_t *o = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        gantry_region_t region = 7;
        assert_int_equal(o->table->memory->region_alloc(o->device, sizes[i], &region),
                         GANTRY_RESOURCE_EXHAUSTED);
        assert_true(region == 0);
        char number[32];
        snprintf(number, sizeof number, "%llu", (unsigned long long)sizes[i]);
        assert_non_null(strstr(o->host.message, number));
    }
    gantry_region_t region = 7;
    assert_int_equal(o->table->memory->region_alloc(o->device, 0, &region),
                     GANTRY_INVALID_ARGUMENT);
}

TEST_WITH(memory_info_free_is_within_total, set_up, tear_down) {
    opened_t *o = *state;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    assert_int_equal(o->table->memory->memory_info(o->device, &free_bytes, &total_bytes), 0);
    assert_true(total_bytes > (UINT64_C(1) << 20));
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
}

/* ---- events and transfers ---- */

TEST_WITH(event_recorded_is_done, set_up, tear_down) {
    opened_t *o = *state;
    gantry_backend_event_t *event;
    int32_t done = 0;
    assert_int_equal(o->table->event->create(o->device, &event), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(o->table->event->record(event, o->stream), 0);
        done = 0;
        assert_int_equal(o->table->event->query(event, &done), 0);
        assert_int_equal(done, 1);
        assert_int_equal(o->table->event->synchronize(event), 0);
        assert_int_equal(o->table->stream->wait_event(o->stream, event), 0);
        assert_int_equal(o->table->stream->synchronize(o->stream), 0);
    }
    o->table->event->destroy(event);
}

TEST_WITH(transfers_of_all_sizes_keep_the_bytes, set_up, tear_down) {
    static const uint64_t sizes[] = {1, 63, 4097, 3000001};
    opened_t *o = *state;
    const gantry_transfer_ops_t *transfer = o->table->transfer;
    const uint64_t bytes = 8000000;
    gantry_region_t region;
    unsigned char *source = malloc(3000001);
    unsigned char *back = malloc(3000001);
    assert_int_equal(o->table->memory->region_alloc(o->device, bytes, &region), 0);
    for (size_t i = 0; i < 3000001; ++i) source[i] = (unsigned char)(i * 31 >> 3);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const gantry_span_t a = {region, 64, sizes[i]};
        const gantry_span_t b = {region, 4000000, sizes[i]};
        memset(back, 0, (size_t)sizes[i]);
        assert_int_equal(transfer->to_device(o->stream, &a, source), 0);
        assert_int_equal(transfer->copy(o->stream, &b, &a), 0);
        assert_int_equal(transfer->to_host(o->stream, back, &b), 0);
        assert_memory_equal(back, source, (size_t)sizes[i]);
    }
    o->table->memory->region_free(o->device, region, bytes);
    free(source);
    free(back);
}

/* A copy of 2048 bytes or more takes a special path if its target lies this far behind a page's
 * start (cpu_copy.h). */
TEST_WITH(copy_any_distance_within_a_page_writes_its_bytes_alone, set_up, tear_down) {
    enum { PAGE = 4096, MOST = 2048 + 70 };
    opened_t *o = *state;
    const uint64_t sizes[] = {2047, 2048, 2049, 2111, 2112, MOST};
    gantry_region_t region;
    unsigned char *target = aligned_alloc(PAGE, 2 * PAGE);

    assert_non_null(target);
    assert_int_equal(o->table->memory->region_alloc(o->device, 2 * PAGE, &region), 0);
    unsigned char *memory = (unsigned char *)(uintptr_t)region;
    uint64_t page = (PAGE - region % PAGE) % PAGE;
    for (int i = 0; i < PAGE; ++i) memory[page + (uint64_t)i] = (unsigned char)(1 + i % 251);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        for (size_t apart = 1; apart <= 64; ++apart) {
            const gantry_span_t span = {region, page, sizes[s]};

            memset(target, 0, 2 * PAGE);
            assert_int_equal(o->table->transfer->to_host(o->stream, target + apart, &span), 0);
            assert_int_equal(target[apart - 1], 0);
            assert_int_equal(target[apart + sizes[s]], 0);
            assert_memory_equal(target + apart, memory + page, sizes[s]);
        }
    }
    free(target);
    o->table->memory->region_free(o->device, region, 2 * PAGE);
}

TEST_WITH(fill_every_pattern_size_repeats_it_and_stays_inside, set_up, tear_down) {
    static const unsigned char mixed[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const unsigned char equal[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    static const uint64_t counts[] = {1, 3, 1000, 500001};
    opened_t *o = *state;
    gantry_region_t region;
    assert_int_equal(o->table->memory->region_alloc(o->device, 5000000, &region), 0);
    unsigned char *bytes = (void *)(uintptr_t)region;
    for (uint32_t size = 1; size <= 8; size *= 2) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            for (int p = 0; p < 2; ++p) {
                const unsigned char *pattern = p ? mixed : equal;
                const gantry_span_t span = {region, 64, counts[c] * size};
                memset(bytes, 0xee, (size_t)span.size_bytes + 128);
                assert_int_equal(o->table->transfer->fill(o->stream, &span, pattern, size), 0);
                assert_int_equal(bytes[63], 0xee);
                assert_int_equal(bytes[64 + span.size_bytes], 0xee);
                for (uint64_t i = 0; i < span.size_bytes; ++i) {
                    if (bytes[64 + i] != pattern[i % size])
                        fail_msg("size %u count %llu byte %llu", size,
                                 (unsigned long long)counts[c], (unsigned long long)i);
                }
            }
        }
    }
    o->table->memory->region_free(o->device, region, 5000000);
}

int main(void) { return test_main(); }
