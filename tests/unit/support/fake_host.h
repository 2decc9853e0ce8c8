/* SPDX-License-Identifier: Apache-2.0 */
/* A host for the fake backend without the core: memory comes from a counting heap, failures are the
 * thread's last message. Header only; thread-safe. */
#ifndef TESTS_FAKE_HOST_H
#define TESTS_FAKE_HOST_H

#include "base/failure.h"
#include "fake_module.h"
#include "locked_heap.h"

typedef struct fake_host_t {
    gantry_host_t host;
    locked_heap_t heap;
} fake_host_t;

static inline void *fake_host_reallocate(void *self, void *ptr, uint64_t old_bytes,
                                         uint64_t new_bytes) {
    const fake_host_t *host = self;
    return host->heap.heap.reallocate(host->heap.heap.user, ptr, (size_t)old_bytes,
                                      (size_t)new_bytes);
}

static inline int32_t fake_host_set_error(void *self, int32_t code, const char *domain,
                                          int64_t native_code, const char *text) {
    (void)self;
    (void)domain;
    (void)native_code;
    return (int32_t)gantry__fail((gantry_status_t)code, "%s", text);
}

static inline void fake_host_log(void *self, int32_t level, const char *text) {
    (void)self;
    (void)level;
    (void)text;
}

static inline const char *fake_host_option(void *self, const char *name) {
    (void)self;
    (void)name;
    return NULL;
}

static inline void fake_host_init(fake_host_t *self) {
    locked_heap_init(&self->heap, -1);
    self->host = (gantry_host_t){.struct_size = sizeof self->host,
                                 .abi_version = GANTRY_ABI_VERSION,
                                 .self = self,
                                 .log = fake_host_log,
                                 .set_error = fake_host_set_error,
                                 .reallocate = fake_host_reallocate,
                                 .option = fake_host_option};
}

static inline void fake_host_deinit(fake_host_t *self) {
    assert_int_equal(self->heap.inner.live_blocks, 0);
    assert_false(self->heap.inner.wrong_size);
    locked_heap_deinit(&self->heap);
}

#endif
