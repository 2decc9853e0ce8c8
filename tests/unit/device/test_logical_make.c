/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Logical devices are made from configured cards: their count, numbers and names, the
 * options they are opened with, and the order of opening and closing. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "split_card.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)
#define PART(mib) \
    { .memory_limit_bytes = (mib)*MIB }
#define NUMBERED(n, mib) \
    { .memory_limit_bytes = (mib)*MIB, .has_ordinal = true, .ordinal = n }
#define CARD(n) "/physical_device:GPU:" #n

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static void freeze(device_fixture_t *f) {
    if (gantry__device_table_freeze(&f->table, "this test") != GANTRY_OK)
        fail_msg("%s", gantry__message());
}

static gantry_logical_device_t *find(device_fixture_t *f, const char *name) {
    gantry_logical_device_t *device = device_fixture_find(f, name, NULL);
    if (!device) fail_msg("%s", gantry__message());
    return device;
}

static gantry_logical_device_t *find_open(device_fixture_t *f, const char *name) {
    gantry_logical_device_t *device = find(f, name);
    if (gantry__logical_device_open(device) != GANTRY_OK) fail_msg("%s", gantry__message());
    return device;
}

static void expect_part(device_fixture_t *f, const char *name, const char *alias, int part) {
    const gantry_logical_device_t *device = find(f, name);
    assert_string_equal(device->physical->alias, alias);
    assert_ptr_equal(f->table.logical[device->position], device);
    if (part >= 0)
        assert_ptr_equal(device->part, &device->card->parts[part]);
    else
        assert_null(device->part);
}

/* ---- numbers and names ---- */

TEST(parts_are_numbered_card_by_card) {
    device_fixture_t f;
    fake->set_device_count(3);
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(16));
    SPLIT(&f.table, CARD(2), PART(4), PART(4), PART(4));
    freeze(&f);
    assert_int_equal(f.table.listed_count, 7); /* plus the CPU */
    expect_part(&f, "GPU:0", "fake:0", 0);
    expect_part(&f, "GPU:1", "fake:0", 1);
    expect_part(&f, "GPU:2", "fake:1", -1);
    expect_part(&f, "GPU:3", "fake:2", 0);
    expect_part(&f, "GPU:5", "fake:2", 2);
    assert_string_equal(find(&f, "GPU:5")->name, "/device:GPU:5");
    assert_string_equal(find(&f, "GPU:5")->full_name,
                        "/job:localhost/replica:0/task:0/device:GPU:5");
    assert_int_equal(log_lines_with(&f.log, "Found device /device:GPU:4 (fake:2, part 2 of 3)", ""),
                     1);
    device_fixture_close(&f);
}

TEST(ordinals_number_parts_across_cards) {
    device_fixture_t f;
    fake->set_device_count(3);
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), NUMBERED(1, 8), NUMBERED(0, 8));
    SPLIT(&f.table, CARD(2), NUMBERED(0, 8), NUMBERED(1, 8));
    freeze(&f);
    expect_part(&f, "GPU:0", "fake:0", 1);
    expect_part(&f, "GPU:1", "fake:1", -1); /* without a backend: 0 */
    expect_part(&f, "GPU:2", "fake:2", 0);
    expect_part(&f, "GPU:3", "fake:0", 0);
    expect_part(&f, "GPU:4", "fake:2", 1);
    expect_part(&f, "CPU:0", "cpu:0", -1); /* other types keep their numbers */
    assert_ptr_equal(f.table.logical[0], find(&f, "CPU:0"));
    device_fixture_close(&f);
}

TEST(one_part_is_the_card_with_its_settings) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(1), PART(12));
    freeze(&f);
    assert_int_equal(f.table.listed_count, 3);
    expect_part(&f, "GPU:1", "fake:1", 0);
    assert_int_equal(find_open(&f, "GPU:1")->limit_bytes, 12 * MIB);
    assert_int_equal(find_open(&f, "GPU:0")->limit_bytes, 64 * MIB);
    device_fixture_close(&f);
}

TEST(hidden_card_has_no_parts) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(8));
    const gantry_physical_device_t *visible[] = {device_fixture_physical(&f, "cpu:0"),
                                                 device_fixture_physical(&f, "fake:1")};
    assert_int_equal(gantry__device_set_visible(&f.table, visible, 2, NULL), GANTRY_OK);
    freeze(&f);
    assert_int_equal(f.table.logical_count, 2);
    expect_part(&f, "GPU:0", "fake:1", -1);
    device_fixture_close(&f);
}

TEST(cards_names_match_all_their_parts) {
    device_fixture_t f;
    static const char *const names[] = {"fake:0", "/physical_device:GPU:0", "GPU-11111111",
                                        "0000:17:00.0"};
    device_fixture_set_gpu(fake, 0, "0000:17:00.0", "GPU-11111111-2222-3333-4444-555555555555", 0);
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(8));
    freeze(&f);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        gantry__device_reference_t reference;
        assert_int_equal(gantry__device_reference_from_user(&f.table, names[i], &reference),
                         GANTRY_OK);
        assert_true(gantry__device_reference_matches(&reference, find(&f, "GPU:0")));
        assert_true(gantry__device_reference_matches(&reference, find(&f, "GPU:1")));
        assert_false(gantry__device_reference_matches(&reference, find(&f, "GPU:2")));
        gantry_status_t status;
        assert_null(device_fixture_find(&f, names[i], &status));
        assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry__message(), "Multiple devices match the provided string"));
        assert_non_null(strstr(gantry__message(), "'/device:GPU:0' and '/device:GPU:1'."));
    }
    device_fixture_close(&f);
}

TEST(other_view_of_a_card_answers_to_all_its_numbers) {
    device_fixture_t f;
    fake->set_device_count(1);
    other->set_device_count(2);
    device_fixture_set_gpu(fake, 0, "0000:18:00.0", "", 0);
    device_fixture_set_gpu(other, 0, "0000:17:00.0", "", 0);
    device_fixture_set_gpu(other, 1, "0000:18:00.0", "", 0);
    device_fixture_open(&f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"), NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(8));
    SPLIT(&f.table, CARD(1), PART(8), PART(8));
    freeze(&f);
    expect_part(&f, "GPU:3", "other:1", 1);
    expect_part(&f, "GPU:2@fake", "fake:0", -1);
    expect_part(&f, "GPU:3@fake", "fake:0", -1);
    assert_null(device_fixture_find(&f, "GPU:1@fake", NULL)); /* that card has no such view */
    device_fixture_close(&f);
}

/* ---- the options of a part ---- */

TEST(parts_share_the_card_and_nothing_else) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(24));
    freeze(&f);
    gantry_logical_device_t *a = find_open(&f, "GPU:0");
    assert_int_equal(fake->calls("stream_create"), GANTRY__STREAMS);
    gantry_logical_device_t *b = find_open(&f, "GPU:1");
    assert_int_equal(fake->calls("device_open"), 1);
    assert_int_equal(fake->calls("stream_create"), 2 * GANTRY__STREAMS);
    assert_ptr_equal(a->handle, b->handle);
    assert_int_equal(a->limit_bytes, 8 * MIB);
    assert_int_equal(b->limit_bytes, 24 * MIB);
    assert_string_equal(a->allocator.name, "GPU_0_bfc");
    assert_string_equal(b->allocator.name, "GPU_1_bfc");
    assert_int_equal(
        log_lines_with(&f.log,
                       "Created device /job:localhost/replica:0/task:0/device:GPU:1 with 24 MB",
                       "fake:0"),
        1);
    gantry__logical_device_close(a);
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 1); /* the other part still uses it */
    assert_int_equal(gantry__logical_device_synchronize(b), GANTRY_OK);
    device_fixture_close(&f);
    assert_int_equal(fake->calls("device_close"), 1);
}

TEST(parts_without_a_limit_share_what_is_left) {
    static const struct {
        uint64_t limit, parts[3], expected[3]; /* MiB */
    } cases[] = {
        {0, {0, 0, 0}, {64 / 3, 64 / 3, 64 / 3}}, {0, {24, 0, 0}, {24, 20, 20}},
        {30, {10, 0, 0}, {10, 10, 10}},           {0, {32, 32, 0}, {32, 32, 0}},
        {0, {16, 16, 16}, {16, 16, 16}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        gantry_runtime_options_t options = {.struct_size = sizeof options,
                                            .memory_limit_bytes = cases[i].limit * MIB};
        device_fixture_open(&f, NULL, &options);
        SPLIT(&f.table, CARD(0), PART(cases[i].parts[0]), PART(cases[i].parts[1]),
              PART(cases[i].parts[2]));
        freeze(&f);
        for (int k = 0; k < 3; ++k) {
            char name[8];
            (void)snprintf(name, sizeof name, "GPU:%d", k);
            /* the setter refuses limits whose sum leaves nothing */
            if (cases[i].expected[k] == 0) continue;
            assert_int_equal(find_open(&f, name)->limit_bytes / MIB, cases[i].expected[k]);
        }
        device_fixture_close(&f);
    }
}

TEST(priority_reaches_the_streams) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), {.memory_limit_bytes = MIB, .has_priority = true, .priority = -1},
          {.memory_limit_bytes = MIB, .has_priority = true, .priority = 1});
    freeze(&f);
    assert_int_equal(find(&f, "GPU:0")->info.least_priority, 1);
    assert_int_equal(find(&f, "GPU:0")->info.greatest_priority, -1);
    (void)find_open(&f, "GPU:0");
    assert_int_equal(fake->streams_with_priority(0, -1), GANTRY__STREAMS);
    (void)find_open(&f, "GPU:1");
    (void)find_open(&f, "GPU:2");
    assert_int_equal(fake->streams_with_priority(0, 1), GANTRY__STREAMS);
    assert_int_equal(fake->streams_with_priority(0, -1), GANTRY__STREAMS);
    /* only the streams of the card without parts */
    assert_int_equal(fake->calls("stream_create"), GANTRY__STREAMS);
    device_fixture_close(&f);
}

TEST(priority_on_a_backend_without_the_slot_is_no_error) {
    device_fixture_t f;
    const gantry_fake_control_t *previous = fake_module_control(FAKE_FILE("previous", "fake"));
    previous->reset();
    device_fixture_open(&f, FAKE_FOLDER("previous"), NULL);
    SPLIT(&f.table, CARD(0), {.memory_limit_bytes = MIB, .has_priority = true, .priority = 0});
    freeze(&f);
    assert_int_equal(find(&f, "GPU:0")->info.least_priority, 0);
    (void)find_open(&f, "GPU:0");
    assert_int_equal(previous->calls("stream_create"), GANTRY__STREAMS);
    device_fixture_close(&f);
    fake_expect_nothing_lives(previous);
}

TEST(failing_stream_with_priority_leaves_the_part_closed) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), {.has_priority = true, .priority = 0});
    freeze(&f);
    assert_true(fake->fail_calls("stream_create_with_priority", 2, 1, GANTRY_UNAVAILABLE,
                                 "no more queues"));
    expect_failure(gantry__logical_device_open(find(&f, "GPU:0")), GANTRY_UNAVAILABLE,
                   "no more queues");
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE) + fake->live(GANTRY_FAKE_STREAM), 0);
    (void)find_open(&f, "GPU:0");
    device_fixture_close(&f);
}

TEST(part_imitates_less_and_never_more) {
    device_fixture_t f;
    /* 256 work-items, 32 KiB of local memory, no bound on an allocation */
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0),
          {.max_work_group_size = 64, .local_memory_bytes = 16384, .largest_allocation_bytes = MIB},
          {.max_work_group_size = 1024, .local_memory_bytes = 65536}, {.memory_limit_bytes = MIB});
    freeze(&f);
    const gantry_logical_device_t *a = find(&f, "GPU:0"), *b = find(&f, "GPU:1"),
                                  *c = find(&f, "GPU:2");
    assert_int_equal(a->info.max_work_group_size, 64);
    assert_int_equal(a->info.local_memory_bytes, 16384);
    assert_int_equal(a->info.largest_allocation_bytes, MIB);
    assert_true(a->imitates_launches);
    assert_int_equal(b->info.max_work_group_size, 256);
    assert_int_equal(b->info.local_memory_bytes, 32768);
    assert_false(b->imitates_launches || c->imitates_launches);
    assert_int_equal(a->physical->info.max_work_group_size, 256); /* the card's own limits stay */
    assert_string_equal(a->info.hardware_name, "Fake Device 0");
    device_fixture_close(&f);
}

TEST(imitated_largest_allocation_bounds_regions) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), {.memory_limit_bytes = 16 * MIB, .largest_allocation_bytes = MIB},
          PART(16));
    freeze(&f);
    gantry_logical_device_t *devices[2] = {find_open(&f, "GPU:0"), find_open(&f, "GPU:1")};
    const gantry__allocation_t request = {.bytes = 3 * MIB / 2, .owner = "Test"};
    gantry__bfc_chunk_t *chunk;
    expect_failure(gantry__allocator_allocate(&devices[0]->allocator, &request, &chunk),
                   GANTRY_RESOURCE_EXHAUSTED, "GPU_0_bfc");
    assert_int_equal(gantry__allocator_allocate(&devices[1]->allocator, &request, &chunk),
                     GANTRY_OK);
    gantry__allocator_free(&devices[1]->allocator, chunk);
    device_fixture_close(&f);
}

/* ---- the default limit ---- */

TEST(take_all_leaves_a_reserve_of_what_is_free) {
    static const struct {
        uint32_t flags;
        uint64_t total, free, expected; /* MiB */
    } cases[] = {
        {0, 64, 64, 64}, /* the reserve exceeds the free memory: it is ignored */
        {0, 1024, 512, 512 - 225},
        {0, 8192, 4096, 4096 - 500},
        /* a sixteenth of the machine's memory */
        {GANTRY_DEVICE_HOST_BACKED, 16384, 8192, 8192 - 1024},
    };
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int is_growing = 0; is_growing < 2; ++is_growing) {
            device_fixture_t f;
            gantry_fake_device_t settings;
            fake->get_device(0, &settings);
            settings.flags = cases[i].flags;
            settings.total_bytes = cases[i].total * MIB;
            fake->set_device(0, &settings);
            fake->set_capacity(0, cases[i].free * MIB);
            device_fixture_open(&f, NULL, is_growing ? NULL : &options);
            freeze(&f);
            assert_int_equal(find_open(&f, "GPU:0")->limit_bytes / MIB,
                             is_growing ? cases[i].total : cases[i].expected);
            device_fixture_close(&f);
        }
    }
}

TEST(take_all_on_the_cpu_leaves_the_machine_room) {
    device_fixture_t f;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    device_fixture_open(&f, NULL, &options);
    freeze(&f);
    const gantry_logical_device_t *cpu = find_open(&f, "CPU:0");
    assert_true(cpu->limit_bytes <= cpu->info.total_bytes - cpu->info.total_bytes / 16);
    device_fixture_close(&f);
}

/* This driver uses the machine's memory and does not report what is free: the CPU backend
 * answers. */
TEST(host_backed_card_of_a_silent_driver_is_held_to_the_machine) {
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    for (int is_growing = 0; is_growing < 2; ++is_growing) {
        device_fixture_t f;
        gantry_fake_device_t settings;
        gantry__bfc_chunk_t *chunk;
        fake->reset();
        fake->get_device(0, &settings);
        settings.flags = GANTRY_DEVICE_HOST_BACKED;
        settings.total_bytes = UINT64_C(1) << 50;
        fake->set_device(0, &settings);
        device_fixture_open(&f, NULL, is_growing ? NULL : &options);
        freeze(&f);
        assert_true(
            fake->fail_calls("memory_info", 1, UINT64_MAX, GANTRY_UNIMPLEMENTED, "not told"));
        const gantry_logical_device_t *cpu = find_open(&f, "CPU:0");
        gantry_logical_device_t *gpu = find_open(&f, "GPU:0");
        if (is_growing) {
            const gantry__allocation_t request = {.bytes = UINT64_C(1) << 49, .owner = "Test"};
            expect_failure(gantry__allocator_allocate(&gpu->allocator, &request, &chunk),
                           GANTRY_RESOURCE_EXHAUSTED, "ran out of memory");
            assert_int_equal(fake->calls("region_alloc"), 0); /* an allocation would succeed */
        } else {
            assert_true(gpu->limit_bytes < cpu->info.total_bytes);
        }
        device_fixture_close(&f);
    }
}

/* ---- concurrent opening ---- */

TEST(threads_open_parts_of_one_card) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(8), PART(8), PART(8));
    freeze(&f);
    device_fixture_open_at_once(f.table.logical + 1, 4);
    assert_int_equal(fake->calls("device_open"), 1);
    assert_int_equal(fake->calls("stream_create"), 4 * GANTRY__STREAMS);
    device_fixture_close(&f);
}

TEST(failed_opening_of_one_part_leaves_the_other_at_work) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    SPLIT(&f.table, CARD(0), PART(8), PART(8));
    freeze(&f);
    gantry_logical_device_t *a = find_open(&f, "GPU:0"), *b = find(&f, "GPU:1");
    assert_true(fake->fail_calls("stream_create", 3, 1, GANTRY_UNAVAILABLE, "no more queues"));
    expect_failure(gantry__logical_device_open(b), GANTRY_UNAVAILABLE, "no more queues");
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 1);
    assert_int_equal(fake->live(GANTRY_FAKE_STREAM), GANTRY__STREAMS);
    assert_int_equal(gantry__logical_device_synchronize(a), GANTRY_OK);
    assert_int_equal(gantry__logical_device_open(b), GANTRY_OK);
    device_fixture_close(&f);
}

TEST(memory_running_out_leaks_nothing) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    for (long at = 0; status != GANTRY_OK; ++at) {
        device_fixture_t f;
        assert_in_range(at, 0, 100);
        device_fixture_open(&f, NULL, NULL);
        SPLIT(&f.table, CARD(0), PART(8), PART(8));
        f.heap.inner.calls = 0;
        f.heap.inner.fail_at = at;
        status = gantry__device_table_freeze(&f.table, "this test");
        f.heap.inner.fail_at = -1;
        freeze(&f); /* the next initialisation makes them */
        assert_int_equal(f.table.listed_count, 4);
        device_fixture_close(&f);
    }
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
