/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Growing texts join their parts, grow as needed, and report a failed allocation at the
 * end. */
#include <string.h>

#include "base/text.h"
#include "failing_heap.h"
#include "test.h"

TEST(text_without_content_is_empty) {
    gantry__text_t text;
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    gantry__text_init(&text, &heap.heap);
    assert_string_equal(gantry__text_get(&text), "");
    assert_int_equal(gantry__text_status(&text), GANTRY_OK);
    gantry__text_deinit(&text);
    assert_int_equal(heap.calls, 0);
    gantry__text_deinit(&text); /* a second call is harmless */
}

TEST(appended_parts_stand_one_after_another) {
    gantry__text_t text;
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    gantry__text_init(&text, &heap.heap);
    gantry__text_append(&text, "%d%%", 7);
    gantry__text_append(&text, "%s", "");
    gantry__text_append_bytes(&text, "abcdef", 3);
    gantry__text_append_bytes(&text, "", 0);
    gantry__text_append(&text, "-%s", "end");
    assert_string_equal(gantry__text_get(&text), "7%abc-end");
    assert_int_equal(text.length, 9);
    gantry__text_deinit(&text);
    assert_int_equal(heap.live_blocks, 0);
    assert_false(heap.wrong_size);
}

TEST(text_grows_past_every_capacity) {
    gantry__text_t text;
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    gantry__text_init(&text, &heap.heap);
    for (size_t i = 0; i < 2000; ++i) {
        assert_int_equal(text.length, i);
        assert_int_equal(strlen(gantry__text_get(&text)), i);
        gantry__text_append(&text, "%c", (int)('a' + i % 26));
    }
    char large[5000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    gantry__text_append(&text, "%s", large);
    assert_int_equal(text.length, 2000 + sizeof large - 1);
    assert_memory_equal(gantry__text_get(&text) + 2000, large, sizeof large);
    gantry__text_deinit(&text);
    assert_int_equal(heap.live_blocks, 0);
    assert_false(heap.wrong_size);
}

TEST(failure_is_kept_to_the_end) {
    gantry__text_t text;
    failing_heap_t heap;
    failing_heap_init(&heap, 1);
    gantry__text_init(&text, &heap.heap);
    gantry__text_append(&text, "fits");
    for (int i = 0; i < 100; ++i) gantry__text_append(&text, "and then no more");
    heap.fail_at = -1;
    gantry__text_append(&text, "x");
    assert_string_equal(gantry__text_get(&text), "");
    assert_int_equal(gantry__text_status(&text), GANTRY_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(gantry__message(), "out of host memory"));
    gantry__text_deinit(&text);
    assert_int_equal(heap.live_blocks, 0);
}

int main(void) { return test_main(); }
