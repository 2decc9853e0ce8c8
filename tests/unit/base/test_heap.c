/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The host heap counts sizes, grows arrays, refuses overflow, and survives a program's own
 * allocator that fails. */
#include <string.h>

#include "base/failure.h"
#include "failing_heap.h"
#include "test.h"

TEST(default_heap_gives_and_takes) {
    const gantry__heap_t *heap = &gantry__heap_default;
    unsigned char *bytes = gantry__heap_zalloc(heap, 100);
    assert_non_null(bytes);
    for (int i = 0; i < 100; ++i) assert_int_equal(bytes[i], 0);
    bytes = gantry__heap_resize(heap, bytes, 100, 200, 1);
    assert_non_null(bytes);
    gantry__heap_free(heap, bytes, 200);
    gantry__heap_free(heap, NULL, 200);
    gantry__heap_free_text(heap, NULL);
}

TEST(size_zero_is_an_allocation_like_another) {
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    void *a = gantry__heap_alloc(&heap.heap, 0), *b = gantry__heap_zalloc(&heap.heap, 0);
    assert_true(a && b && a != b);
    /* a block of 0 bytes is freed as one of 1 byte: see free */
    a = gantry__heap_resize(&heap.heap, a, 1, 0, 1);
    assert_non_null(a);
    gantry__heap_free(&heap.heap, a, 0);
    gantry__heap_free(&heap.heap, b, 0);
    assert_int_equal(heap.live_blocks, 0);
    assert_false(heap.wrong_size);
}

TEST(sizes_given_back_are_those_asked_for) {
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    char *text = gantry__heap_strdup(&heap.heap, "twelve bytes");
    assert_string_equal(text, "twelve bytes");
    assert_int_equal(heap.live_bytes, 13);
    gantry__heap_free_text(&heap.heap, text);
    int64_t *items = gantry__heap_resize(&heap.heap, NULL, 0, 3, sizeof *items);
    assert_int_equal(heap.live_bytes, 24);
    items[2] = 7;
    items = gantry__heap_resize(&heap.heap, items, 3, 1000, sizeof *items);
    assert_int_equal(items[2], 7);
    gantry__heap_free(&heap.heap, items, 1000 * sizeof *items);
    assert_int_equal(heap.live_blocks, 0);
    assert_false(heap.wrong_size);
}

TEST(growing_array_doubles) {
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t count = 0; count < 1000; ++count) {
        assert_true(gantry__heap_grow(&heap.heap, &items, count, &capacity, sizeof *items));
        items[count] = count;
    }
    assert_int_equal(capacity, 1024);
    assert_int_equal(heap.live_bytes, 4096);
    for (uint32_t i = 0; i < 1000; ++i) assert_int_equal(items[i], i);
    gantry__heap_free(&heap.heap, items, capacity * sizeof *items);
    assert_int_equal(heap.live_blocks, 0);
    assert_false(heap.wrong_size);
}

TEST(overflowing_size_is_refused) {
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    assert_null(gantry__heap_resize(&heap.heap, NULL, 0, SIZE_MAX / 8 + 1, 8));
    assert_non_null(strstr(gantry__message(), "out of host memory"));
    void *kept = gantry__heap_alloc(&heap.heap, 8);
    assert_null(gantry__heap_resize(&heap.heap, kept, 1, SIZE_MAX, 8));
    assert_int_equal(heap.live_blocks, 1); /* the block is still allocated */
    gantry__heap_free(&heap.heap, kept, 8);
    uint64_t *items = NULL;
    size_t capacity = SIZE_MAX / 8;
    assert_false(gantry__heap_grow(&heap.heap, &items, capacity, &capacity, 8));
    assert_int_equal(capacity, SIZE_MAX / 8);
}

TEST(failing_heap_is_told_of) {
    failing_heap_t heap;
    failing_heap_init(&heap, 0);
    assert_null(gantry__heap_alloc(&heap.heap, 4711));
    assert_string_equal(gantry__message(), "out of host memory: 4711 bytes were requested");
    assert_null(gantry__heap_zalloc(&heap.heap, 1));
    assert_null(gantry__heap_strdup(&heap.heap, "text"));
    int *items = NULL;
    size_t capacity = 0;
    assert_false(gantry__heap_grow(&heap.heap, &items, 0, &capacity, sizeof *items));
    assert_null(items);
    assert_int_equal(capacity, 0);
}

TEST(grow_that_fails_keeps_the_array) {
    failing_heap_t heap;
    failing_heap_init(&heap, 1);
    int *items = NULL;
    size_t capacity = 0;
    assert_true(gantry__heap_grow(&heap.heap, &items, 0, &capacity, sizeof *items));
    items[7] = 42;
    assert_false(gantry__heap_grow(&heap.heap, &items, 8, &capacity, sizeof *items));
    assert_int_equal(items[7], 42);
    assert_int_equal(capacity, 8);
    gantry__heap_free(&heap.heap, items, capacity * sizeof *items);
    assert_int_equal(heap.live_blocks, 0);
}

int main(void) { return test_main(); }
