/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A memory report shows a pool's snapshot, its map, owners and sizes, in both text
 * forms. */
#define _XOPEN_SOURCE 700

#include "bfc_pool.h"
#include "test.h"

#include <string.h>

#include "failing_heap.h"
#include "json_reader.h"
#include "memory/memory_report.h"

static gantry__bfc_chunk_t *get_for(pool_t *pool, uint64_t bytes, const char *op, const char *tag) {
    gantry__bfc_chunk_t *chunk = must_get(pool, bytes);
    chunk->owner = op;
    chunk->tag = tag;
    return chunk;
}

static gantry__memory_report_t *report_of(const pool_t *pool) {
    gantry__memory_report_t *report = malloc(sizeof *report);
    assert_non_null(report);
    memset(report, 0xa5, sizeof *report);
    gantry__memory_report_take(report, &pool->bfc, "GPU_0_bfc");
    return report;
}

static char *written(const gantry__memory_report_t *report, bool json) {
    gantry__text_t text;
    gantry__text_init(&text, &gantry__heap_default);
    if (json) {
        gantry__memory_report_write_json(report, &text);
    } else {
        gantry__memory_report_write_text(report, &text);
    }
    assert_int_equal(gantry__text_status(&text), GANTRY_OK);
    char *copy = strdup(gantry__text_get(&text));
    assert_non_null(copy);
    gantry__text_deinit(&text);
    if (json && !json_is_valid(copy)) fail_msg("not JSON: %s", copy);
    return copy;
}

#define expect_text(text, part)                                          \
    do {                                                                 \
        if (!strstr(text, part)) fail_msg("%s\nnot in\n%s", part, text); \
    } while (0)

#define expect_json(text, path, value)                                                        \
    do {                                                                                      \
        if (!json_has(text, path, value)) fail_msg("%s is not %s in\n%s", path, value, text); \
    } while (0)

/* ---- the snapshot ---- */

TEST(empty_pool_says_so) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .growth = true});
    gantry__memory_report_t *report = report_of(&pool);
    assert_int_equal(report->fragmentation, 0);
    assert_int_equal(report->owner_count + report->regions_kept + report->chunks_kept, 0);
    char *text = written(report, false), *json = written(report, true);
    expect_text(text, "<allocator contains no memory>");
    expect_text(text, "Memory of allocator GPU_0_bfc.");
    expect_json(json, "map", "\"\"");
    expect_json(json, "request", "null");
    expect_json(json, "stats.fragmentation", "0.0000");
    assert_int_equal(json_count(json, "bins"), 21);
    assert_int_equal(json_count(json, "chunks"), 0);
    free(text);
    free(json);
    free(report);
    close_pool(&pool);
}

TEST(map_shows_what_is_in_use) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 100 * 4096, .split_bytes = 256});
    (void)must_get(&pool, 50 * 4096);
    gantry__bfc_chunk_t *hole = must_get(&pool, 20 * 4096);
    (void)must_get(&pool, 4096 + 256);
    gantry__bfc_free(&pool.bfc, hole);
    gantry__memory_report_t *report = report_of(&pool);
    char expected[101];
    memset(expected, '*', 50);
    memset(expected + 50, '_', 20);
    memcpy(expected + 70, "*x", 2);
    memset(expected + 72, '_', 28);
    expected[100] = '\0';
    assert_string_equal(report->map, expected);
    assert_int_equal(report->free_chunks, 2);
    assert_int_equal(report->stats.largest_free_block_bytes, 29 * 4096 - 256);
    /* 20 of 48.9375 cells lie outside the largest hole */
    assert_int_equal(report->fragmentation, 4087);
    free(report);
    close_pool(&pool);
}

TEST(map_has_100_characters_for_pools_of_any_length) {
    static const uint64_t lengths[] = {256,       512, 99 * 256,
                                       101 * 256, GIB, (UINT64_C(1) << 62) + 256};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        pool_t pool;
        open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = lengths[i]});
        (void)must_get(&pool, lengths[i]);
        gantry__memory_report_t *report = report_of(&pool);
        assert_int_equal(strlen(report->map), 100);
        assert_int_equal(strspn(report->map, "*"), 100);
        free(report);
        close_pool(&pool);
    }
}

TEST(owners_are_counted_by_op_and_tag_and_sorted) {
    pool_t pool;
    char same_text[] = "MatMul"; /* at another address */
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = GIB, .split_bytes = 256});
    (void)get_for(&pool, 1000, "MatMul", NULL);
    (void)get_for(&pool, 5000, "Add", "head");
    (void)get_for(&pool, 1000, same_text, NULL);
    (void)get_for(&pool, 3000, "MatMul", "body");
    (void)get_for(&pool, 100, NULL, NULL);
    gantry__memory_report_t *report = report_of(&pool);
    assert_int_equal(report->name_count, 4);
    assert_int_equal(report->owner_count, 4);
    static const struct {
        const char *op, *tag;
        uint64_t chunks, bytes, requested;
    } expected[] = {{"Add", "head", 1, 5120, 5000},
                    {"MatMul", "body", 1, 3072, 3000},
                    {"MatMul", "", 2, 2048, 2000},
                    {"", "", 1, 256, 100}};
    for (size_t i = 0; i < 4; ++i) {
        const gantry__report_name_t *name = &report->names[report->owners[i]];
        assert_string_equal(name->op, expected[i].op);
        assert_string_equal(name->tag, expected[i].tag);
        assert_int_equal(name->chunks, expected[i].chunks);
        assert_int_equal(name->bytes, expected[i].bytes);
        assert_int_equal(name->requested_bytes, expected[i].requested);
    }
    char *text = written(report, false), *json = written(report, true);
    expect_text(text, "   5.00KiB in 1 chunks: Add [head]\n");
    expect_text(text, "in 1 chunks: (unknown)\n");
    expect_json(json, "owners.1.op", "\"MatMul\"");
    expect_json(json, "owners.1.tag", "\"body\"");
    expect_json(json, "owners.2.chunks", "2");
    free(text);
    free(json);
    free(report);
    close_pool(&pool);
}

TEST(more_names_sizes_regions_and_chunks_than_there_is_room_for_are_counted) {
    enum { COUNT = 1500 };
    pool_t pool;
    static char names[COUNT][8];
    open_pool(
        &pool,
        (gantry__bfc_options_t){
            .limit_bytes = GIB, .max_step_bytes = 2 * MIB, .split_bytes = 256, .growth = true});
    uint64_t bytes = 0;
    for (int i = 0; i < COUNT; ++i) {
        (void)snprintf(names[i], sizeof names[i], "Op%d", i);
        bytes += get_for(&pool, 256 * (uint64_t)(1 + i), names[i], NULL)->bytes;
    }
    gantry__memory_report_t *report = report_of(&pool);
    assert_int_equal(report->chunks_in_use, COUNT);
    assert_int_equal(report->stats.bytes_in_use, bytes);
    assert_int_equal(report->chunks_kept, GANTRY__REPORT_CHUNKS);
    assert_int_equal(report->regions_kept, GANTRY__REPORT_REGIONS);
    assert_true(report->stats.region_count > GANTRY__REPORT_REGIONS);
    uint64_t by_name = 0, by_size = 0, by_bin = 0;
    for (uint32_t i = 0; i < report->name_count; ++i) by_name += report->names[i].bytes;
    for (uint32_t i = 0; i < report->size_count; ++i) by_size += report->sizes[i].total_bytes;
    for (uint32_t i = 0; i < GANTRY__BFC_BINS; ++i) by_bin += report->bins[i].bytes_in_use;
    assert_int_equal(by_name, bytes);
    assert_int_equal(by_size, bytes);
    assert_int_equal(by_bin, bytes);
    assert_string_equal(report->names[GANTRY__REPORT_NAMES - 1].op, "(others)");
    for (uint32_t i = 0; i < report->owner_count; ++i)
        assert_true(report->owners[i] != GANTRY__REPORT_NAMES - 1);
    for (uint32_t i = 1; i + 1 < report->size_count; ++i)
        assert_true(report->sizes[i - 1].bytes < report->sizes[i].bytes);
    char *text = written(report, false), *json = written(report, true);
    expect_text(text, "that are not listed\n");
    expect_text(text, " of other sizes: ");
    expect_json(json, "sizes.255.bytes", "null");
    assert_int_equal(json_count(json, "chunks"), GANTRY__REPORT_CHUNKS);
    free(text);
    free(json);
    free(report);
    close_pool(&pool);
}

/* ---- texts ---- */

TEST(texts_are_cut_between_characters) {
    char out[6];
    gantry__report_copy_text(out, sizeof out, "abcd\xc3\xa4");
    assert_string_equal(out, "abcd");
    gantry__report_copy_text(out, sizeof out, "abc\xc3\xa4");
    assert_string_equal(out, "abc\xc3\xa4");
    gantry__report_copy_text(out, sizeof out, "ab\xf0\x9f\x98\x80");
    assert_string_equal(out, "ab");
    gantry__report_copy_text(out, sizeof out, NULL);
    assert_string_equal(out, "");
}

TEST(strings_of_json_are_escaped) {
    static const struct {
        const char *tag, *json;
    } cases[] = {{"a\"b\\c", "\"a\\\"b\\\\c\""},
                 {"line\n\ttab\x01\x7f", "\"line\\u000a\\u0009tab\\u0001\\u007f\""},
                 {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                  "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
                 {"bad \xff\xc3 \xed\xa0\x80 \xc0\x80!",
                  "\"bad \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd!\""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        pool_t pool;
        open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = MIB, .split_bytes = 256});
        (void)get_for(&pool, 1000, "Op", cases[i].tag);
        gantry__memory_report_t *report = report_of(&pool);
        char *json = written(report, true);
        expect_json(json, "owners.0.tag", cases[i].json);
        expect_json(json, "chunks.0.tag", cases[i].json);
        free(json);
        free(report);
        close_pool(&pool);
    }
}

/* ---- out of memory ---- */

TEST(out_of_memory_tells_what_was_asked_and_tried) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = 8 * MIB, .split_bytes = 256});
    gantry__bfc_chunk_t *first = get_for(&pool, 3 * MIB, "A", NULL);
    (void)get_for(&pool, 2 * MIB, "B", "x");
    gantry__bfc_free(&pool.bfc, first);
    gantry__memory_report_t *report = report_of(&pool);
    report->out_of_memory = true;
    report->asked_bytes = 5 * MIB - 10;
    report->rounded_bytes = 5 * MIB;
    (void)snprintf(report->op, sizeof report->op, "Conv2D");
    (void)snprintf(report->tag, sizeof report->tag, "stem");
    (void)snprintf(report->driver_text, sizeof report->driver_text, "no more \"memory\"");
    static const gantry__rung_t rungs[] = {
        {GANTRY__RUNG_REUSE, 3 * MIB, 0, 0},     {GANTRY__RUNG_EXTEND, 0, 0, 1536},
        {GANTRY__RUNG_WAIT, 2500000, 3, 0},      {GANTRY__RUNG_GIVE_BACK, 4 * MIB, 2, 65536},
        {GANTRY__RUNG_TAKE_KEPT, 3 * MIB, 0, 0}, {GANTRY__RUNG_EXTEND, 6 * MIB, 2, 7 * MIB}};
    memcpy(report->rungs, rungs, sizeof rungs);
    report->rung_count = 6;
    char *text = written(report, false), *json = written(report, true);
    static const char *const parts[] = {
        "Allocator GPU_0_bfc ran out of memory: Conv2D [stem] requested 4.99MiB (5242870 bytes, rounded to 5242880).",
        "reuse: the largest free chunk has 3.00MiB\n",
        "extend: limit and largest region leave 1.50KiB\n",
        "wait: memory came free 3 times in 2500 us, never enough\n",
        "give back: 2 empty regions of 4.00MiB in all, 64.00KiB of idle staging\n",
        "free idle blocks of functions: 3.00MiB in all\n",
        "extend: the driver refused 2 times, first 6.00MiB: no more \"memory\"\n",
        "There is enough memory, but not in one piece: 6.00MiB free in 2 chunks",
        "Bin (256): \tchunks: 0, in use: 0. 0B in chunks. 0B in use. 0B of that requested.\n",
        "Bin (2097152): \tchunks: 3, in use: 1. 8.00MiB in chunks. 2.00MiB in use. 2.00MiB of that requested.\n",
        "The request's bin is 4.00MiB; its free chunks: none\n",
        "Region 0 of size 8388608: 3 chunks, 2.00MiB in use, largest free 3.00MiB\n",
        "Free  at 0 of size 3145728\nInUse at 300000 of size 2097152 (asked 2097152) by B [x]\n",
        "Chunks in use by size:\n1 of size 2097152: 2.00MiB\nAll chunks in use: 2.00MiB\n",
        "LargestFreeBlock               3145728\n",
        "Fragmentation                     50.00%\n",
        "Biggest owners:\n",
        "__x**",
        "**x__"};
    const char *at = text;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        const char *found = strstr(at, parts[i]); /* and in this order */
        if (!found) fail_msg("%s\nnot in, or too early in\n%s", parts[i], text);
        at = found;
    }
    expect_json(json, "request.bytes", "5242870");
    expect_json(json, "request.op", "\"Conv2D\"");
    expect_json(json, "request.tag", "\"stem\"");
    assert_int_equal(json_count(json, "request.tried"), 6);
    expect_json(json, "request.tried.0.largest_free_bytes", "3145728");
    expect_json(json, "request.tried.1.available_bytes", "1536");
    expect_json(json, "request.tried.2.frees", "3");
    expect_json(json, "request.tried.3.staging_bytes", "65536");
    expect_json(json, "request.tried.4.rung", "\"free_idle_blocks\"");
    expect_json(json, "request.tried.4.bytes", "3145728");
    expect_json(json, "request.tried.5.driver", "\"no more \\\"memory\\\"\"");
    expect_json(json, "stats.fragmentation", "0.5000");
    expect_json(json, "stats.limit_bytes", "8388608");
    expect_json(json, "bins.13.in_use_bytes", "2097152");
    expect_json(json, "regions.0.largest_free_bytes", "3145728");
    expect_json(json, "chunks.1.op", "\"B\"");
    expect_json(json, "chunks.1.in_use", "true");
    expect_json(json, "chunks_left_out", "0");
    free(text);
    free(json);
    free(report);
    close_pool(&pool);
}

TEST(writing_without_host_memory_fails) {
    pool_t pool;
    open_pool(&pool, (gantry__bfc_options_t){.limit_bytes = MIB});
    gantry__memory_report_t *report = report_of(&pool);
    for (long at = 0; at < 4; ++at) {
        failing_heap_t heap;
        gantry__text_t text;
        failing_heap_init(&heap, at);
        gantry__text_init(&text, &heap.heap);
        gantry__memory_report_write_text(report, &text);
        gantry__memory_report_write_json(report, &text);
        assert_int_equal(gantry__text_status(&text), GANTRY_RESOURCE_EXHAUSTED);
        gantry__text_deinit(&text);
        assert_int_equal(heap.live_blocks, 0);
    }
    free(report);
    close_pool(&pool);
}

int main(void) { return test_main(); }
