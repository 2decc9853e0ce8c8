/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Eager execution reuses the device memory of dropped tensors only after the work that
 * still uses it. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)

/* Waits until all work submitted to the device has ended. */
static void drain(uint32_t device) {
    if (!fake->wait_finished(device, fake->finished(device) + fake->waiting(device), 20000))
        fail_msg("device %u does not come to an end", device);
}

/* ---- memory in flight ---- */

#define STRESS_TENSORS 24
#define STRESS_SIZES 4

typedef struct stress_t {
    gantry_scope_t *scopes[3];
    uint64_t random;
    int64_t sizes[STRESS_SIZES];
    struct {
        gantry_scope_t *owner;
        const gantry_tensor_t *tensor;
        uint32_t *values;
        int size;
    } slots[STRESS_TENSORS];
} stress_t;

static uint32_t draw(stress_t *s, uint32_t below) {
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % below;
}

static void stress_make(stress_t *s, int slot, int size) {
    gantry_scope_t *scope = s->scopes[draw(s, 3)];
    s->slots[slot].owner = scope;
    s->slots[slot].size = size;
    for (int64_t i = 0; i < s->sizes[size]; ++i) s->slots[slot].values[i] = draw(s, UINT32_MAX);
    s->slots[slot].tensor = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(s->sizes[size]),
                                            s->slots[slot].values, (size_t)s->sizes[size] * 4);
    if (!s->slots[slot].tensor) fail_msg("%s", gantry_scope_message(scope));
}

static void stress_compute(stress_t *s, int target, int a, int b) {
    gantry_scope_t *scope = s->scopes[draw(s, 3)];
    uint32_t op = draw(s, 3);
    const gantry_tensor_t *x = s->slots[a].tensor, *y = s->slots[b].tensor;
    bool gives = (target == a || target == b) && scope == s->slots[target].owner && draw(s, 2) == 0;
    /* the result may be written in its place */
    if (gives) (void)gantry_tensor_donate(scope, s->slots[target].tensor);
    const gantry_tensor_t *z = op == 0   ? gantry_add(scope, x, y)
                               : op == 1 ? gantry_sub(scope, x, y)
                                         : gantry_mul(scope, x, y);
    if (!z) fail_msg("%s", gantry_scope_message(scope));
    for (int64_t i = 0; i < s->sizes[s->slots[a].size]; ++i) {
        uint32_t v = s->slots[a].values[i], w = s->slots[b].values[i];
        s->slots[target].values[i] = op == 0 ? v + w : op == 1 ? v - w : v * w;
    }
    /* perhaps with readers in flight */
    if (!gives) gantry_tensor_drop(s->slots[target].owner, s->slots[target].tensor);
    s->slots[target].owner = scope;
    s->slots[target].tensor = z;
}

static void stress_check(const stress_t *s, int slot) {
    static uint32_t got[4096];
    size_t bytes = (size_t)s->sizes[s->slots[slot].size] * 4;
    if (gantry_tensor_read(s->slots[slot].tensor, got, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_memory_equal(got, s->slots[slot].values, bytes);
}

static void begin_stress(stress_t *s, runtime_fixture_t *f, uint64_t seed,
                         const char *const *devices) {
    static uint32_t values[STRESS_TENSORS][4096];
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.memory_limit_bytes = 1 << 20; /* a small limit, so that memory is reused all the time */
    fake->set_device_count(2);
    runtime_fixture_open_with(f, &options);
    *s = (stress_t){.random = seed, .sizes = {3, 257, 1024, 4096}};
    for (size_t i = 0; i < 3; ++i) s->scopes[i] = runtime_fixture_scope(f, devices[i]);
    for (int i = 0; i < STRESS_TENSORS; ++i) {
        s->slots[i].values = values[i];
        stress_make(s, i, i % STRESS_SIZES);
    }
}

/* Slots of one size are STRESS_SIZES apart. */
static int draw_slot(stress_t *s, int size) {
    return (int)draw(s, STRESS_TENSORS / STRESS_SIZES) * STRESS_SIZES + size;
}

static void end_stress(stress_t *s, runtime_fixture_t *f) {
    for (int i = 0; i < STRESS_TENSORS; ++i) stress_check(s, i);
    for (size_t i = 0; i < 3; ++i) expect_ended_well(s->scopes[i]);
    runtime_fixture_close(f);
}

static void stress_step(stress_t *s) {
    int size = (int)draw(s, STRESS_SIZES), target = draw_slot(s, size);
    uint32_t what = draw(s, 16);
    if (what == 0) {
        stress_check(s, target);
    } else if (what < 3) {
        gantry_tensor_drop(s->slots[target].owner, s->slots[target].tensor);
        stress_make(s, target, size);
    } else {
        stress_compute(s, target, draw_slot(s, size), draw_slot(s, size));
    }
}

/* The fake backend counts it as a violation if two streams access the same bytes without order. */
TEST(memory_freed_in_flight_is_reused_safely) {
    static const char *const devices[] = {"CPU:0", "GPU:0", "GPU:1"};
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        runtime_fixture_t f;
        stress_t s;
        begin_stress(&s, &f, seed, devices);
        for (int step = 0; step < 1500; ++step) stress_step(&s);
        end_stress(&s, &f);
    }
}

TEST(memory_freed_behind_a_held_stream_is_reused_safely) {
    static const char *const devices[] = {"GPU:1", "GPU:1", "GPU:1"};
    runtime_fixture_t f;
    stress_t s;
    begin_stress(&s, &f, 7, devices);
    for (int burst = 0; burst < 20; ++burst) {
        drain(1);
        fake->close_gate(1, COMPUTE);
        for (int step = 0; step < 40; ++step) {
            int size = (int)draw(&s, STRESS_SIZES);
            stress_compute(&s, draw_slot(&s, size), draw_slot(&s, size), draw_slot(&s, size));
        }
        int size = (int)draw(&s, STRESS_SIZES), target = draw_slot(&s, size);
        gantry_tensor_drop(s.slots[target].owner, s.slots[target].tensor);
        stress_make(&s, target, size); /* into memory that held work may still use */
        assert_true(fake->waiting(1) >= 40);
        fake->open_gate(1, COMPUTE);
        for (int step = 0; step < 10; ++step) stress_step(&s);
    }
    end_stress(&s, &f);
}

TEST(dropped_tensors_come_back_to_the_pool) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.memory_limit_bytes = 4 << 20;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    static const float values[128 * 1024];
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(128 * 1024), values, sizeof values);
    for (int i = 0; i < 40; ++i) { /* 20 MiB in all, under a limit of 4 */
        const gantry_tensor_t *y = gantry_add(scope, x, x);
        assert_non_null(y);
        gantry_tensor_drop(scope, x);
        x = y;
    }
    const gantry_tensor_t *kept[16] = {x};
    int held = 1;
    while (held < 16 && (kept[held] = gantry_add(scope, x, x)) != NULL) ++held;
    assert_in_range(held, 6, 8);
    expect_scope_failure(
        scope, GANTRY_RESOURCE_EXHAUSTED,
        "OOM when allocating tensor with shape[131072] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc: ");
    gantry_tensor_drop(scope, kept[1]);
    assert_non_null(gantry_add(scope, x, x)); /* there is room again */
    expect_ended_well(scope);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.current_bytes, 0);
    assert_int_equal(info.limit_bytes, 4 << 20);
    assert_true(info.peak_bytes <= info.limit_bytes);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
