/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in memory that no code can write, and that no code can read beyond: a write, and a read
 * after the last element, end the test. Header only; thread-safe. */
#ifndef TESTS_LOCKED_MEMORY_H
#define TESTS_LOCKED_MEMORY_H

#ifndef _DEFAULT_SOURCE
#error "a test with locked memory begins with #define _DEFAULT_SOURCE, for MAP_ANONYMOUS"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <gantry/gantry.h>

/* gantry_constant, or locked_constant in its place. */
typedef const gantry_tensor_t *locked_constant_fn(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                  gantry_shape_t shape, const void *data,
                                                  size_t bytes);

static atomic_int locked_live; /* memories that are not free again */

typedef struct locked_memory_t {
    void *data;
    unsigned char *pages;
    size_t bytes; /* of the pages */
} locked_memory_t;

/* For gantry_tensor_from_memory. */
static inline void locked_free(void *memory) {
    locked_memory_t *self = memory;
    (void)munmap(self->pages, self->bytes);
    free(self);
    atomic_fetch_sub(&locked_live, 1);
}

static inline locked_memory_t *locked_copy(const void *data, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (bytes + page - 1) / page * page;
    locked_memory_t *self = malloc(sizeof *self);
    assert_non_null(self);
    self->bytes = used + page;
    self->pages =
        mmap(NULL, self->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(self->pages, MAP_FAILED);
    self->data = self->pages + used - bytes;
    if (bytes > 0) memcpy(self->data, data, bytes);
    assert_int_equal(mprotect(self->pages, used, PROT_READ), 0);
    assert_int_equal(mprotect(self->pages + used, page, PROT_NONE), 0);
    atomic_fetch_add(&locked_live, 1);
    return self;
}

/* A tensor on /CPU:0 over a copy of the elements in such memory, which ends with it; what cannot be
 * used in place is copied by Gantry. The arguments are those of gantry_constant. */
static inline const gantry_tensor_t *locked_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                     gantry_shape_t shape, const void *data,
                                                     size_t bytes) {
    locked_memory_t *memory = locked_copy(data, bytes);
    const gantry_tensor_t *tensor = gantry_tensor_from_memory(
        scope, dtype, shape, memory->data, bytes,
        &(gantry_from_memory_options_t){.struct_size = sizeof(gantry_from_memory_options_t),
                                        .release = locked_free,
                                        .user = memory});
    if (!tensor) {
        locked_free(memory);
        fail_msg("%s", gantry_scope_message(scope));
    }
    return tensor;
}

#endif
