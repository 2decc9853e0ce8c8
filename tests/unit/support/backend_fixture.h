/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the tests of a backend's plug-in interface: a host that counts memory, keeps
 * errors and hands out options, and two devices opened through that interface alone.
 *
 * Each backend's own fixture includes this one and defines the four functions that are only
 * declared here. If a backend cannot be opened, its tests fail; without OpenCL they may be skipped
 * (need_opencl.h).
 * Owner: a fixture holds what it opened until fixture_close. Threads: the host's slots are
 * thread-safe. */
#ifndef GANTRY_BACKEND_FIXTURE_H
#define GANTRY_BACKEND_FIXTURE_H

#include <gantry/backend_abi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "need_opencl.h"

#define FIXTURE_DEVICES 2
#define FIXTURE_OPTIONS 12

typedef struct fixture_t {
    gantry_host_t host;
    const gantry_backend_t *backend;
    gantry_backend_instance_t *instance;
    uint32_t index[FIXTURE_DEVICES];
    gantry_device_info_t info[FIXTURE_DEVICES];
    gantry_backend_device_t *device[FIXTURE_DEVICES];
    gantry_backend_stream_t *stream[FIXTURE_DEVICES]; /* one on each device */
    const char *names[FIXTURE_OPTIONS];
    const char *values[FIXTURE_OPTIONS];
    atomic_llong bytes;     /* held by the backend */
    atomic_int allocations; /* allocations so far */
    atomic_int fail_at;     /* the allocation with this number fails; 0: none */
} fixture_t;

static _Thread_local char fixture_error[8192];

/* ---- defined by each backend's fixture ---- */

/* A host and the backend's table, with the options that every test needs; nothing is opened. */
static inline void fixture_init(fixture_t *fixture);
/* Ends the test if this machine lacks what the driver needs. */
static inline void fixture_need_driver(void);
/* Finds the two devices of an open instance, and fills index and info. */
static inline void fixture_find_devices(fixture_t *fixture);
/* After everything was freed, the driver holds no object, if it can report that. */
static inline void fixture_expect_nothing_lives(void);

/* ---- the host ---- */

static inline void fixture_log(void *self, int32_t level, const char *text) {
    (void)self;
    if (level >= GANTRY_LEVEL_WARNING && getenv("GANTRY_TEST_VERBOSE") != NULL) {
        printf("  backend: %s\n", text);
    }
}

static inline int32_t fixture_set_error(void *self, int32_t code, const char *domain,
                                        int64_t native, const char *text) {
    (void)self;
    (void)domain;
    (void)native;
    snprintf(fixture_error, sizeof fixture_error, "%s", text);
    return code;
}

static inline void *fixture_reallocate(void *self, void *ptr, uint64_t old_bytes,
                                       uint64_t new_bytes) {
    fixture_t *fixture = self;
    void *result;

    if (new_bytes == 0) {
        free(ptr);
        atomic_fetch_sub(&fixture->bytes, (long long)old_bytes);
        return NULL;
    }
    if (atomic_fetch_add(&fixture->allocations, 1) + 1 == atomic_load(&fixture->fail_at)) {
        return NULL;
    }
    result = realloc(ptr, (size_t)new_bytes);
    if (result != NULL) {
        atomic_fetch_add(&fixture->bytes,
                         (long long)new_bytes - (long long)(ptr != NULL ? old_bytes : 0));
    }
    return result;
}

static inline const char *fixture_option(void *self, const char *name) {
    const fixture_t *fixture = self;

    for (int i = 0; i < FIXTURE_OPTIONS; ++i) {
        if (fixture->names[i] != NULL && strcmp(fixture->names[i], name) == 0) {
            return fixture->values[i];
        }
    }
    return NULL;
}

/* Sets an option, or changes it. */
static inline void fixture_set(fixture_t *fixture, const char *name, const char *value) {
    int i = 0;

    while (i < FIXTURE_OPTIONS && fixture->names[i] != NULL &&
           strcmp(fixture->names[i], name) != 0) {
        i++;
    }
    assert_true(i < FIXTURE_OPTIONS);
    fixture->names[i] = name;
    fixture->values[i] = value;
}

/* The beginning of fixture_init. */
static inline void fixture_init_host(fixture_t *fixture,
                                     int32_t (*query)(uint32_t max_abi,
                                                      const gantry_backend_t **out_backend)) {
    memset(fixture, 0, sizeof *fixture);
    fixture->host = (gantry_host_t){
        .struct_size = sizeof fixture->host,
        .abi_version = GANTRY_ABI_VERSION,
        .self = fixture,
        .log = fixture_log,
        .set_error = fixture_set_error,
        .reallocate = fixture_reallocate,
        .option = fixture_option,
    };
    fixture_error[0] = '\0';
    assert_int_equal(query(GANTRY_ABI_VERSION, &fixture->backend), 0);
}

#define assert_ok(expression)                                                          \
    do {                                                                               \
        int32_t assert_status_ = (expression);                                         \
        if (assert_status_ != 0)                                                       \
            fail_msg("%s: status %d: %s", #expression, assert_status_, fixture_error); \
    } while (0)

#define assert_error_has(part)                                     \
    do {                                                           \
        if (strstr(fixture_error, part) == NULL)                   \
            fail_msg("\"%s\" is not in: %s", part, fixture_error); \
    } while (0)

/* ---- opening and closing ---- */

/* Opens the instance and finds its devices. */
static inline void fixture_open_instance(fixture_t *fixture) {
    fixture_need_driver();
    assert_ok(fixture->backend->open(&fixture->host, &fixture->instance));
    fixture_find_devices(fixture);
}

static inline void fixture_open_devices(fixture_t *fixture) {
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        assert_ok(fixture->backend->device_open(fixture->instance, fixture->index[d],
                                                &fixture->device[d]));
        assert_ok(fixture->backend->stream->create(fixture->device[d], GANTRY_STREAM_COMPUTE,
                                                   &fixture->stream[d]));
    }
}

static inline void fixture_open(fixture_t *fixture) {
    fixture_init(fixture);
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
}

/* Frees everything; the backend must hold no memory afterwards. */
static inline void fixture_close(fixture_t *fixture) {
    for (int d = 0; d < FIXTURE_DEVICES; ++d) {
        if (fixture->stream[d] != NULL) {
            fixture->backend->stream->destroy(fixture->stream[d]);
        }
        if (fixture->device[d] != NULL) {
            fixture->backend->device_close(fixture->device[d]);
        }
    }
    if (fixture->instance != NULL) {
        fixture->backend->close(fixture->instance);
    }
    assert_int_equal(atomic_load(&fixture->bytes), 0);
    fixture_expect_nothing_lives();
}

/* ---- memory ---- */

static inline gantry_span_t fixture_region(fixture_t *fixture, int d, uint64_t bytes) {
    gantry_span_t span = {0, 0, bytes};

    assert_ok(fixture->backend->memory->region_alloc(fixture->device[d], bytes, &span.region));
    assert_true(span.region != 0);
    return span;
}

static inline void fixture_region_free(fixture_t *fixture, int d, gantry_span_t span) {
    fixture->backend->memory->region_free(fixture->device[d], span.region,
                                          span.offset_bytes + span.size_bytes);
}

/* The core transfers no empty spans either: drivers may refuse them. */
static inline void fixture_write(fixture_t *fixture, int d, gantry_span_t span, const void *bytes) {
    if (span.size_bytes == 0) return;
    assert_ok(fixture->backend->transfer->to_device(fixture->stream[d], &span, bytes));
    assert_ok(fixture->backend->stream->synchronize(fixture->stream[d]));
}

static inline void fixture_read(fixture_t *fixture, int d, gantry_span_t span, void *bytes) {
    assert_ok(fixture->backend->transfer->to_host(fixture->stream[d], bytes, &span));
    assert_ok(fixture->backend->stream->synchronize(fixture->stream[d]));
}

#endif
