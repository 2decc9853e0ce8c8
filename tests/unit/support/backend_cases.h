/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that hold for every backend, each against the backend's own fixture, which the test
 * includes before this file; and a case that opens in another environment. */
#ifndef GANTRY_BACKEND_CASES_H
#define GANTRY_BACKEND_CASES_H

#include <sys/wait.h>
#include <unistd.h>

#include "backend_fixture.h"

/* ---- opening ---- */

static inline int32_t just_open(fixture_t *fixture) {
    return fixture->backend->open(&fixture->host, &fixture->instance);
}

/* A failed opening holds nothing. */
static inline void open_with_option(fixture_t *fixture, const char *name, const char *value,
                                    int32_t expected) {
    fixture_init(fixture);
    fixture_set(fixture, name, value);
    assert_int_equal(just_open(fixture), expected);
    assert_null(fixture->instance);
    assert_int_equal(atomic_load(&fixture->bytes), 0);
}

static inline void check_older_core_is_refused(
    int32_t (*query)(uint32_t max_abi, const gantry_backend_t **out_backend)) {
    const gantry_backend_t *backend = (const gantry_backend_t *)&backend;

    assert_int_equal(query(0, &backend), GANTRY_FAILED_PRECONDITION);
    assert_null(backend);
}

/* A driver reads its environment once per process. Another environment needs a process of its own,
 * made before this process opens the driver. The child prints the error. */
static inline void check_in_child(const char *variable, const char *value,
                                  int32_t (*body)(fixture_t *), int32_t expected,
                                  const char *part) {
    int result = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture_t fixture;
        int32_t status;

        setenv(variable, value, 1);
        fixture_init(&fixture);
        status = body(&fixture);
        if (status != expected || strstr(fixture_error, part) == NULL ||
            atomic_load(&fixture.bytes) != 0) {
            printf("status %d, %lld bytes held: %s\n", status, atomic_load(&fixture.bytes),
                   fixture_error);
            fflush(stdout);
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

/* Every allocation of open, device_open and the first stream fails once. */
static inline void open_out_of_memory_gives_all_back(void **state) {
    (void)state;
    for (int fail_at = 1; fail_at < 300; ++fail_at) {
        fixture_t fixture;
        int32_t status;

        fixture_init(&fixture);
        if (fail_at == 1) { /* skips the test if the backend does not open */
            fixture_open_instance(&fixture);
            fixture_close(&fixture);
            fixture_init(&fixture);
        }
        atomic_store(&fixture.fail_at, fail_at);
        status = just_open(&fixture);
        if (status == 0) {
            status = fixture.backend->device_open(fixture.instance, 0, &fixture.device[0]);
        }
        if (status == 0) {
            status = fixture.backend->stream->create(fixture.device[0], GANTRY_STREAM_COMPUTE,
                                                     &fixture.stream[0]);
        }
        fixture_close(&fixture);
        if (status == 0) {
            assert_true(fail_at > 3);
            return;
        }
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    }
    fail_msg("still failing after 300 allocations");
}

/* ---- devices ---- */

static inline void device_info_small_struct_is_not_written_beyond(void **state) {
    fixture_t fixture;
    gantry_device_info_t info;

    (void)state;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(gantry_device_info_t, hardware_name);
    assert_ok(fixture.backend->device_info(fixture.instance, 0, &info));
    assert_int_equal(info.struct_size, offsetof(gantry_device_info_t, hardware_name));
    for (size_t i = offsetof(gantry_device_info_t, hardware_name); i < sizeof info; ++i) {
        assert_int_equal(((unsigned char *)&info)[i], 0x5a);
    }
    info.struct_size = sizeof info;
    assert_int_equal(fixture.backend->device_info(fixture.instance, 1000, &info),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("1000");
    fixture_close(&fixture);
}

/* ---- transfers ---- */

static inline void transfers_with_offsets_hit_their_bytes_only(void **state) {
    fixture_t fixture;
    unsigned char in[1000];
    unsigned char out[1000];
    gantry_span_t all;
    gantry_span_t part;
    gantry_span_t other;

    (void)state;
    fixture_open(&fixture);
    for (int i = 0; i < 1000; ++i) {
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
    part = (gantry_span_t){all.region, 333, 3};
    fixture_read(&fixture, 0, part, out);
    assert_memory_equal(in + 333, out, 3);
    fixture_region_free(&fixture, 0, all);
    fixture_close(&fixture);
}

static inline void fill_of_each_pattern_size_repeats_it(void **state) {
    static const unsigned char patterns[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8},
                                                 {9, 8, 7, 6, 9, 8, 7, 6}};
    static const uint64_t lengths[] = {160, 8, 16, 24, 200};
    fixture_t fixture;
    unsigned char out[256];
    gantry_span_t all;

    (void)state;
    fixture_open(&fixture);
    all = fixture_region(&fixture, 0, 256);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        for (int p = 0; p < 2; ++p) {
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l) {
                gantry_span_t span = {all.region, 40, lengths[l]};
                unsigned char zero = 0;

                assert_ok(fixture.backend->transfer->fill(fixture.stream[0], &all, &zero, 1));
                assert_ok(
                    fixture.backend->transfer->fill(fixture.stream[0], &span, patterns[p], bytes));
                fixture_read(&fixture, 0, all, out);
                for (uint32_t i = 0; i < 256; ++i) {
                    assert_int_equal(
                        out[i], i >= 40 && i < 40 + lengths[l] ? patterns[p][(i - 40) % bytes] : 0);
                }
            }
        }
    }
    fixture_region_free(&fixture, 0, all);
    fixture_close(&fixture);
}

#endif
