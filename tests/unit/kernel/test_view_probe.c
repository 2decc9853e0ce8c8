/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The probe of a card's view runs on a real driver, PoCL, which takes over a card from a
 * fake backend and serves it with the portable kernels.
 *
 * Neither driver knows the address of the other's card, so the test declares the two views one
 * card. */
#define _XOPEN_SOURCE 700

#include "need_opencl.h"
#include "runtime_fixture.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static gantry_runtime_options_t options_of(runtime_fixture_t *f) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.backend_path = MODULES ":" FAKE_FOLDER("other");
    options.backends = "cpu,opencl,other";
    options.opencl_cpu_as_gpu = GANTRY_ON;
    return options;
}

static struct gantry_physical_device_t *find(const runtime_fixture_t *f, const char *alias) {
    for (size_t i = 0; i < f->runtime->devices.physical_count; ++i) {
        if (strcmp(f->runtime->devices.physical[i]->alias, alias) == 0)
            return f->runtime->devices.physical[i];
    }
    return NULL;
}

static int set_up(void **state) {
    (void)state;
    runtime_fixture_clear();
    gantry_fake_device_t settings;
    other->get_device(0, &settings);
    settings.program_kinds = GANTRY_PROGRAM_CUDA_C;
    other->set_device(0, &settings);
    return 0;
}

TEST(probe_passes_on_a_real_driver) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = options_of(&f);
    runtime_fixture_open_with(&f, &options);
    const struct gantry_physical_device_t *view = find(&f, "opencl:0");
    gantry_backend_device_t *handle;
    const gantry_backend_t *backend = view->backend->table;
    assert_int_equal(backend->device_open(view->backend->instance, 0, &handle), 0);
    for (int i = 0; i < 2; ++i) {
        if (gantry__view_probe(&f.runtime->probe, view, handle) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
    }
    backend->device_close(handle);
    runtime_fixture_close(&f);
}

/* other:0 and opencl:0 become views of one card. */
static void join(const runtime_fixture_t *f) {
    struct gantry_physical_device_t *card = find(f, "other:0"), *view = find(f, "opencl:0");
    const gantry_physical_device_t *visible[] = {card};
    assert_int_equal(gantry_set_visible_devices(f->runtime, visible, 1, "GPU"), GANTRY_OK);
    view->listed = false;
    view->served_by = card;
}

TEST(real_driver_takes_a_card_over) {
    static const char *const slots[] = {"device_open", "launch"};
    for (size_t i = 0; i < 2; ++i) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = options_of(&f);
        options.memory_limit_bytes = 32 << 20;
        runtime_fixture_open_with(&f, &options);
        join(&f);
        assert_true(other->fail_calls(slots[i], 1, 1, GANTRY_UNAVAILABLE, "launch timed out"));
        gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
        const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
        /* the fake backend has no Sqrt */
        const gantry_tensor_t *y = gantry_sqrt(scope, gantry_mul(scope, x, x));
        expect_on(y, "/device:GPU:0");
        EXPECT_F32(y, 1, 2, 3, 4);
        expect_ended_well(scope);
        gantry_memory_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
        assert_int_equal(info.limit_bytes, 32 << 20);
        assert_int_equal(log_lines_with(&f.log, "opencl:0 serves this card in place of other:0",
                                        "launch timed out"),
                         1);
        assert_int_equal(other->calls("compute"), 0);
        runtime_fixture_close(&f);
        fake_expect_nothing_lives(other);
    }
}

/* Both views work: one driver serves the card, the other one its second view, and tensors are
 * copied between them. */
TEST(copies_go_between_a_fake_and_a_real_driver) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = options_of(&f);
    runtime_fixture_open_with(&f, &options);
    join(&f);
    const int64_t count = (9 << 20) / 4;
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)(i % 1000);
    gantry_scope_t *card = runtime_fixture_scope(&f, "GPU:0"),
                   *view = runtime_fixture_scope(&f, "GPU:0@opencl");
    const gantry_tensor_t *x = make_f32(card, count, values), *there = gantry_add(view, x, x);
    expect_on(there, "opencl:0");
    const gantry_tensor_t *back = gantry_add(card, there, x);
    expect_on(back, "/device:GPU:0");
    memset(values, 0, (size_t)count * sizeof *values);
    assert_int_equal(gantry_tensor_read(back, values, (size_t)count * sizeof *values), GANTRY_OK);
    for (int64_t i = 0; i < count; ++i) assert_true((int64_t)values[i] == 3 * (i % 1000));
    free(values);
    expect_ended_well(view);
    expect_ended_well(card);
    runtime_fixture_close(&f);
    fake_expect_nothing_lives(other);
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_each(set_up, runtime_fixture_tear_down);
}
