/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A program whose text a call makes is built from its parts and that text, found again by
 * its key, by several threads at once, and leaks nothing when memory runs out.
 * Promise: Threads find a kernel in the program cache while another thread adds kernels to it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "failing_heap.h"
#include "kernel/program_cache.h"
#include "test.h"

/* ---- a backend that keeps the text ---- */

static char built_text[256];
static int built, destroyed;

static int32_t build(gantry_backend_device_t *device, const gantry_program_source_t *source,
                     const char *options, gantry_backend_program_t **out_program) {
    (void)device;
    (void)options;
    assert_false(GANTRY_ABI_HAS(source, make) && source->make);
    built_text[0] = '\0';
    for (uint32_t i = 0; i < source->part_count; ++i)
        strncat(built_text, source->parts[i], sizeof built_text - strlen(built_text) - 1);
    *out_program = (gantry_backend_program_t *)(void *)(built_text + ++built);
    return GANTRY_OK;
}

static void destroy(gantry_backend_program_t *program) {
    assert_non_null(program);
    ++destroyed;
}

/* One kernel for each program. */
static int32_t kernel_find(gantry_backend_program_t *program, const char *name,
                           gantry_backend_kernel_t **out_kernel) {
    assert_string_equal(name, "fused");
    *out_kernel = (gantry_backend_kernel_t *)(void *)program;
    return GANTRY_OK;
}

static const gantry_program_ops_t programs = {
    .struct_size = sizeof programs, .build = build, .destroy = destroy, .kernel_find = kernel_find};
static const gantry_backend_t backend = {
    .struct_size = sizeof backend, .name = "test", .program = &programs};

/* ---- a source ---- */

static uint64_t make(const void *key, char *text, uint64_t capacity) {
    return (uint64_t)snprintf(text, (size_t)capacity, "made of %s", (const char *)key);
}

static const char *const parts[] = {"one, ", "two, "};

static gantry_status_t ask(gantry__program_cache_t *cache, const char *key,
                           gantry_backend_kernel_t **out_kernel) {
    char ends_with_the_call[32];
    (void)snprintf(ends_with_the_call, sizeof ends_with_the_call, "%s", key);
    const gantry_program_source_t source = {.struct_size = sizeof source,
                                            .kinds = GANTRY_PROGRAM_OPENCL_C,
                                            .label = "test/made",
                                            .parts = parts,
                                            .part_count = 2,
                                            .key = ends_with_the_call,
                                            .key_bytes = strlen(key) + 1,
                                            .make = make};
    gantry_status_t status =
        gantry__program_cache_kernel(cache, &source, "-DA=1", "fused", NULL, out_kernel);
    memset(ends_with_the_call, '?', sizeof ends_with_the_call);
    return status;
}

typedef struct test_t {
    failing_heap_t heap;
    gantry__binary_store_t store;
    gantry__program_counters_t counters;
    gantry_device_info_t info;
    gantry__program_cache_t cache;
} test_t;

static void begin(test_t *t, long fail_at) {
    memset(t, 0, sizeof *t);
    failing_heap_init(&t->heap, fail_at);
    built = destroyed = 0;
    assert_int_equal(gantry__program_cache_init(&t->cache, &t->heap.heap, NULL, &t->store,
                                                &t->counters, &backend, NULL, &t->info),
                     GANTRY_OK);
}

static void end(test_t *t) {
    gantry__program_cache_deinit(&t->cache);
    assert_int_equal(t->heap.live_blocks, 0);
    assert_false(t->heap.wrong_size);
    assert_int_equal(built, destroyed);
}

TEST(made_text_is_the_last_part) {
    static test_t t;
    gantry_backend_kernel_t *kernel;
    begin(&t, -1);
    assert_int_equal(ask(&t.cache, "a", &kernel), GANTRY_OK);
    assert_string_equal(built_text, "one, two, made of a");
    end(&t);
}

TEST(equal_keys_share_a_program) {
    static test_t t;
    gantry_backend_kernel_t *a, *b, *longer, *again;
    begin(&t, -1);
    assert_int_equal(ask(&t.cache, "a", &a), GANTRY_OK);
    assert_int_equal(ask(&t.cache, "b", &b), GANTRY_OK);
    assert_int_equal(ask(&t.cache, "ab", &longer), GANTRY_OK);
    assert_int_equal(ask(&t.cache, "a", &again), GANTRY_OK);
    assert_int_equal(built, 3);
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(a, longer);
    char name[64];
    gantry__program_cache_name(&t.cache, b, name, sizeof name);
    assert_string_equal(name, "fused of test/made");
    end(&t);
}

TEST(each_failed_allocation_leaves_nothing) {
    static test_t t;
    gantry_backend_kernel_t *kernel;
    long failures = 0;
    for (long fail_at = 0;; ++fail_at) {
        begin(&t, fail_at);
        const gantry_status_t status = ask(&t.cache, "a", &kernel);
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            t.heap.fail_at = -1;
            assert_int_equal(ask(&t.cache, "a", &kernel), GANTRY_OK);
            ++failures;
        }
        end(&t);
        if (status == GANTRY_OK) break;
    }
    assert_true(failures >= 5); /* program, options, key, text, slots */
}

/* Kernels beyond the first table's room. */
enum { MANY = 200, READERS = 2 };

static void ask_many(test_t *t, gantry_backend_kernel_t **out_kernels) {
    char key[16];
    for (int i = 0; i < MANY; ++i) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(ask(&t->cache, key, &out_kernels[i]), GANTRY_OK);
    }
}

TEST(a_table_that_grows_keeps_its_kernels) {
    static test_t t;
    static gantry_backend_kernel_t *first[MANY], *again[MANY];
    begin(&t, -1);
    ask_many(&t, first);
    ask_many(&t, again);
    assert_int_equal(built, MANY);
    assert_memory_equal(first, again, sizeof first);
    end(&t);
}

typedef struct reader_t {
    pthread_t thread;
    test_t *test;
    gantry_backend_kernel_t *wanted;
    atomic_bool *is_over;
    uint64_t found, missed;
} reader_t;

static void *read_on(void *argument) {
    reader_t *reader = argument;
    do {
        gantry_backend_kernel_t *kernel = NULL;
        const gantry_status_t status = ask(&reader->test->cache, "first", &kernel);
        if (status == GANTRY_OK && kernel == reader->wanted)
            ++reader->found;
        else
            ++reader->missed;
    } while (!atomic_load(reader->is_over));
    return NULL;
}

TEST(threads_find_a_kernel_while_others_are_added) {
    static test_t t;
    static gantry_backend_kernel_t *others[MANY];
    atomic_bool is_over = false;
    reader_t readers[READERS];
    gantry_backend_kernel_t *wanted;
    begin(&t, -1);
    assert_int_equal(ask(&t.cache, "first", &wanted), GANTRY_OK);
    for (int i = 0; i < READERS; ++i) {
        readers[i] = (reader_t){.test = &t, .wanted = wanted, .is_over = &is_over};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    ask_many(&t, others);
    atomic_store(&is_over, true);
    for (int i = 0; i < READERS; ++i) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_true(readers[i].found > 0);
        assert_int_equal(readers[i].missed, 0);
    }
    assert_int_equal(built, MANY + 1);
    end(&t);
}

int main(void) { return test_main(); }
