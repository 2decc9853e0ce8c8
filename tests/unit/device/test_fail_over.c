/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: If the backend that serves a card of two backends fails, the other backend takes the
 * card over, or, if it is no better, none does.
 * Promise: A view of a card that computes wrongly or builds no programs does not serve it, and if
 * both views fail, the error has both reasons.
 *
 * "other" has the higher rank, so other:0 serves /GPU:0, and fake:0 is the second view. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "device/driver_memory.h"
#include "device/fail_over.h"

#define PCI "0000:af:00.0"
#define MIB (UINT64_C(1) << 20)

static void set_card(const gantry_fake_control_t *control, uint32_t kinds) {
    gantry_fake_device_t settings;
    device_fixture_set_gpu(control, 0, PCI, "", 0);
    control->get_device(0, &settings);
    settings.program_kinds = kinds;
    control->set_device(0, &settings);
}

static int set_up(void **state) {
    (void)state;
    runtime_fixture_clear();
    set_card(fake, GANTRY_PROGRAM_OPENCL_C);
    set_card(other, GANTRY_PROGRAM_CUDA_C);
    return 0;
}

static gantry_runtime_options_t both(runtime_fixture_t *f) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.backend_path = FAKE_FOLDER("fake") ":" FAKE_FOLDER("other");
    options.backends = "cpu,fake,other";
    return options;
}

static void open_both(runtime_fixture_t *f) {
    gantry_runtime_options_t options = both(f);
    runtime_fixture_open_with(f, &options);
}

static void close_both(runtime_fixture_t *f) {
    runtime_fixture_close(f);
    fake_expect_nothing_lives(other);
}

static gantry_logical_device_t *find(const runtime_fixture_t *f, const char *name) {
    const gantry_logical_device_t *device;
    if (gantry_find_logical_device(f->runtime, name, &device) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return f->runtime->devices.logical[device->position];
}

/* An op that works on /GPU:0 with either backend. */
static void expect_adds(runtime_fixture_t *f) {
    gantry_scope_t *scope = runtime_fixture_scope(f, "GPU:0");
    const gantry_tensor_t *sum = gantry_add(scope, F32(scope, 1, 2), F32(scope, 10, 20));
    if (!sum) fail_msg("%s", gantry_scope_message(scope));
    expect_on(sum, "/device:GPU:0");
    EXPECT_F32(sum, 11, 22);
    expect_ended_well(scope);
}

static gantry_device_details_t details_of(const runtime_fixture_t *f, const char *alias) {
    for (size_t i = 0; i < f->runtime->devices.physical_count; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        assert_int_equal(
            gantry_get_device_details(f->runtime, f->runtime->devices.physical[i], &details),
            GANTRY_OK);
        if (strcmp(details.alias, alias) == 0) return details;
    }
    fail_msg("no record says %s", alias);
    return (gantry_device_details_t){0};
}

static void expect_served_by(runtime_fixture_t *f, const char *alias, const char *reason) {
    gantry_device_details_t details = details_of(f, alias);
    assert_string_equal(details.name, "/physical_device:GPU:0");
    assert_true(details.listed && details.visible);
    if (!strstr(details.note, reason)) fail_msg("note: %s", details.note);
}

/* ---- the serving view ---- */

TEST(view_that_works_serves) {
    runtime_fixture_t f;
    open_both(&f);
    /* the device is not needed before */
    assert_int_equal(other->calls("device_open") + fake->calls("device_open"), 0);
    expect_adds(&f);
    expect_served_by(&f, "other:0", "");
    assert_string_equal(details_of(&f, "other:0").note, "");
    assert_string_equal(details_of(&f, "other:0").other_view, "fake:0");
    assert_string_equal(details_of(&f, "fake:0").other_view, "other:0");
    assert_string_equal(details_of(&f, "cpu:0").other_view, "");
    /* the probe: it does not launch the fake backend's own kernels */
    assert_int_equal(other->calls("launch"), 1);
    assert_int_equal(fake->calls("device_open"), 0);
    expect_adds(&f);
    assert_int_equal(other->calls("build"), 1); /* one call */
    assert_int_equal(other->live(GANTRY_FAKE_PROGRAM), 0);
    close_both(&f);
}

TEST(lone_card_is_not_probed) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    expect_adds(&f);
    assert_int_equal(fake->calls("build") + fake->calls("launch"), 0);
    runtime_fixture_close(&f);
}

typedef struct failure_t {
    const char *slot;
    int32_t status;
    const char *text;
} failure_t;

static const failure_t failures[] = {
    {"device_open", GANTRY_UNAVAILABLE, "the driver is too old"},
    {"device_open", GANTRY_INTERNAL, "no idea"},
    {"build", GANTRY_INVALID_ARGUMENT, "unknown architecture"},
    {"kernel_find", GANTRY_NOT_FOUND, "no such kernel"},
    {"region_alloc", GANTRY_INTERNAL, "no memory unit"},
    {"stream_create", GANTRY_INTERNAL, "no stream"},
    {"launch", GANTRY_UNAVAILABLE, "launch failed"},
    {"to_host", GANTRY_INTERNAL, "no way back"},
    {"stream_synchronize", GANTRY_UNAVAILABLE, "an illegal address"},
    {"work", GANTRY_UNAVAILABLE, "an illegal instruction"},
};

TEST(other_view_takes_over_with_the_reason) {
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; ++i) {
        runtime_fixture_t f;
        const failure_t *it = &failures[i];
        open_both(&f);
        assert_true(other->fail_calls(it->slot, 1, 1, it->status, it->text));
        const gantry_logical_device_t *before = find(&f, "GPU:0");
        expect_adds(&f);
        expect_served_by(&f, "fake:0", "fake:0 serves this card in place of other:0: ");
        expect_served_by(&f, "fake:0", it->text);
        gantry_device_details_t failed = details_of(&f, "other:0");
        assert_false(failed.listed);
        assert_non_null(
            strstr(failed.note, "cannot be used, fake:0 serves this card in its place"));
        assert_non_null(strstr(failed.note, it->text));
        assert_int_equal(log_lines_with(&f.log, "/physical_device:GPU:0: fake:0 serves", it->text),
                         1);
        assert_int_equal(log_lines_with(&f.log, "Created device", "device: fake:0"), 1);
        assert_ptr_equal(find(&f, "GPU:0"), before); /* callers keep the same device pointer */
        assert_int_equal(other->live(GANTRY_FAKE_DEVICE), 0);
        expect_adds(&f); /* and fake:0 keeps serving */
        assert_int_equal(other->calls("device_open"), 1);
        close_both(&f);
        other->reset();
        set_card(other, GANTRY_PROGRAM_CUDA_C);
        fake->reset();
        set_card(fake, GANTRY_PROGRAM_OPENCL_C);
    }
}

TEST(view_that_computes_wrongly_does_not_serve) {
    runtime_fixture_t f;
    other->set_wrong(0, 1);
    open_both(&f);
    expect_adds(&f);
    expect_served_by(&f, "fake:0", "the first launch on other:0 wrote a112e1aa, not 5eed1e55");
    close_both(&f);
}

TEST(view_that_builds_no_programs_does_not_serve) {
    runtime_fixture_t f;
    gantry_fake_device_t settings;
    set_card(other, 0);
    other->get_device(0, &settings);
    (void)snprintf(settings.no_programs, sizeof settings.no_programs, "its compiler was not found");
    other->set_device(0, &settings);
    open_both(&f);
    expect_adds(&f);
    expect_served_by(&f, "fake:0", "other:0 builds no programs (its compiler was not found)");
    assert_int_equal(other->calls("device_open"), 0);
    /* only the listing asks for libraries */
    assert_int_equal(other->calls("libraries"), fake->calls("libraries"));
    close_both(&f);
    set_card(fake, 0); /* fake builds no programs either, so the rank decides */
    open_both(&f);
    expect_adds(&f);
    expect_served_by(&f, "other:0", "");
    close_both(&f);
}

TEST(names_follow_who_serves) {
    runtime_fixture_t f;
    const gantry_logical_device_t *device;
    open_both(&f);
    assert_true(other->fail_calls("launch", 1, 1, GANTRY_UNAVAILABLE, "launch failed"));
    assert_int_equal(find(&f, "fake:0")->index, -1);
    assert_ptr_equal(find(&f, "other:0"), find(&f, "GPU:0"));
    expect_adds(&f);
    static const char *const names[] = {"fake:0", "fake", "GPU:0@fake", "0000:af:00.0",
                                        "/physical_device:GPU:0"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (find(&f, names[i]) != find(&f, "GPU:0")) fail_msg("%s", names[i]);
    }
    static const char *const gone[] = {"other:0", "other", "GPU:0@other"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; ++i) {
        assert_int_equal(gantry_find_logical_device(f.runtime, gone[i], &device), GANTRY_NOT_FOUND);
        if (!strstr(gantry_last_message(), "in place of other:0: "))
            fail_msg("%s", gantry_last_message());
    }
    /* requested by name: soft placement chooses another device */
    gantry_scope_t *scope = runtime_fixture_scope(&f, "other:0");
    expect_on(gantry_add(scope, F32(scope, 1), F32(scope, 2)), "/device:GPU:0");
    expect_ended_well(scope);
    close_both(&f);
}

TEST(whoever_held_the_other_view_keeps_it) {
    runtime_fixture_t f;
    open_both(&f);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "fake:0");
    const gantry_tensor_t *early = gantry_add(scope, F32(scope, 1, 2), F32(scope, 1, 2));
    expect_on(early, "fake:0");
    assert_true(other->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    expect_adds(&f);
    gantry_scope_t *later = runtime_fixture_scope(&f, "fake:0"); /* this alias means GPU:0 now */
    const gantry_tensor_t *sum = gantry_add(later, early, F32(later, 10, 20));
    expect_on(sum, "/device:GPU:0");
    EXPECT_F32(sum, 12, 24);
    expect_ended_well(later);
    EXPECT_F32(early, 2, 4);
    expect_ended_well(scope);
    close_both(&f);
}

/* ---- settings that move to the other view ---- */

TEST(settings_hold_for_the_view_that_serves) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = both(&f);
    static const char *const extra[] = {"GANTRY_MEMORY_LIMIT=GPU:0=16M", NULL};
    options.extra = extra;
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_set_memory_growth(f.runtime, f.runtime->devices.physical[1], false),
                     GANTRY_OK);
    assert_true(other->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.limit_bytes, 16 * MIB);
    expect_adds(&f);
    /* without growth, all memory is taken at once, except for staging */
    if (fake->live_bytes(0) < 12 * MIB || fake->live_bytes(0) > 16 * MIB)
        fail_msg("%d bytes", (int)fake->live_bytes(0));
    close_both(&f);
}

TEST(parts_go_over_together) {
    runtime_fixture_t f;
    gantry_fake_device_t settings;
    fake->get_device(0, &settings);
    /* this view has no priorities: the parts' priorities have no effect */
    settings.least_priority = settings.greatest_priority = 0;
    fake->set_device(0, &settings);
    open_both(&f);
    const gantry_logical_device_config_t parts[] = {
        {.memory_limit_bytes = 8 * MIB, .has_priority = true, .priority = -1},
        {.memory_limit_bytes = 4 * MIB,
         .has_priority = true,
         .priority = 1,
         .max_work_group_size = 64}};
    assert_int_equal(gantry_set_logical_device_configuration(
                         f.runtime, f.runtime->devices.physical[1], parts, 2),
                     GANTRY_OK);
    assert_true(other->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    expect_adds(&f);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:1");
    expect_on(gantry_add(scope, F32(scope, 1), F32(scope, 2)), "/device:GPU:1");
    expect_ended_well(scope);
    gantry_logical_device_t *a = find(&f, "GPU:0"), *b = find(&f, "GPU:1");
    assert_true(a->limit_bytes == 8 * MIB && b->limit_bytes == 4 * MIB);
    assert_ptr_equal(a->handle, b->handle);
    assert_int_equal(b->info.max_work_group_size, 64);
    assert_string_equal(gantry__logical_view(b)->alias, "fake:0");
    assert_int_equal(fake->calls("device_open"), 1);
    assert_int_equal(log_lines_with(&f.log, "fake:0 serves this card", ""), 1);
    gantry_device_details_t details = details_of(&f, "fake:0");
    assert_true(details.listed);
    close_both(&f);
}

TEST(visible_list_goes_over) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = both(&f);
    fake->set_device_count(2);
    device_fixture_set_gpu(fake, 1, "0000:b0:00.0", "", 0);
    options.visible_devices = "1,0";
    runtime_fixture_open_with(&f, &options);
    assert_true(other->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:1"); /* the card with two views */
    expect_on(gantry_add(scope, F32(scope, 1), F32(scope, 2)), "/device:GPU:1");
    expect_ended_well(scope);
    assert_string_equal(gantry__logical_view(find(&f, "GPU:1"))->alias, "fake:0");
    assert_string_equal(gantry__logical_view(find(&f, "GPU:0"))->alias, "fake:1");
    close_both(&f);
}

/* ---- no view can take over ---- */

TEST(both_views_failing_fail_with_both_reasons) {
    runtime_fixture_t f;
    open_both(&f);
    assert_true(other->fail_calls("device_open", 1, 2, GANTRY_UNAVAILABLE, "too old"));
    assert_true(fake->fail_calls("device_open", 1, 1, GANTRY_INTERNAL, "too new"));
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    assert_null(gantry_add(scope, F32(scope, 1), F32(scope, 2)));
    expect_scope_failure(scope, GANTRY_UNAVAILABLE,
                         "/device:GPU:0 (other:0) cannot be opened: too old");
    (void)gantry_scope_end(scope);
    assert_int_equal(log_lines_with(&f.log, "serves this card", ""), 0);
    expect_adds(&f); /* the next initialisation tries again */
    expect_served_by(&f, "other:0", "");
    close_both(&f);
    other->reset(), fake->reset();
    (void)set_up(NULL);
    open_both(&f);
    assert_true(other->fail_calls("device_open", 1, 2, GANTRY_UNAVAILABLE, "too old"));
    assert_true(fake->fail_calls("device_open", 1, 1, GANTRY_INTERNAL, "too new"));
    assert_int_equal(gantry__logical_device_open(find(&f, "GPU:0")), GANTRY_UNAVAILABLE);
    assert_non_null(strstr(gantry_last_message(),
                           "; nor can fake:0: /device:GPU:0 (fake:0) cannot be opened: too new"));
    close_both(&f);
}

TEST(view_that_is_no_better_does_not_take_over) {
    runtime_fixture_t f;
    set_card(other, 0); /* it builds no programs, but has kernels of its own */
    open_both(&f);
    assert_true(fake->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    expect_adds(&f);
    expect_served_by(&f, "other:0", "");
    assert_int_equal(log_lines_with(&f.log, "other:0 serves this card as well as it can", "gone"),
                     1);
    close_both(&f);
}

TEST(short_memory_is_no_reason_to_change) {
    runtime_fixture_t f;
    open_both(&f);
    assert_true(
        other->fail_calls("device_open", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "no room for a context"));
    assert_int_equal(gantry__logical_device_open(find(&f, "GPU:0")), GANTRY_RESOURCE_EXHAUSTED);
    expect_adds(&f);
    expect_served_by(&f, "other:0", "");
    assert_int_equal(fake->calls("device_open"), 0);
    close_both(&f);
}

TEST(lost_later_is_lost) {
    runtime_fixture_t f;
    open_both(&f);
    expect_adds(&f);
    other->set_lost(0, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    (void)gantry_add(scope, F32(scope, 1), F32(scope, 2));
    expect_scope_failure(scope, GANTRY_UNAVAILABLE, "was lost");
    (void)gantry_scope_end(scope);
    /* tensors may lie there: the device must not change */
    assert_int_equal(fake->calls("device_open"), 0);
    other->set_lost(0, 0);
    close_both(&f);
}

/* ---- plans, threads, memory ---- */

TEST(plans_made_before_do_not_hold) {
    runtime_fixture_t f;
    open_both(&f);
    bool has = false;
    const char *source;
    assert_int_equal(
        gantry_op_has_kernel(f.runtime, "Add", find(&f, "GPU:0"), GANTRY_FLOAT32, &has, &source),
        GANTRY_OK);
    assert_string_equal(source, "other");
    assert_true(other->fail_calls("device_open", 1, 3, GANTRY_UNAVAILABLE, "gone"));
    assert_true(fake->fail_calls("device_open", 1, 1, GANTRY_INTERNAL, "not yet"));
    /* this caches a plan with other's kernels */
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    assert_null(gantry_add(scope, F32(scope, 1), F32(scope, 2)));
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    expect_adds(&f);
    assert_int_equal(other->calls("compute"), 0);
    assert_int_equal(
        gantry_op_has_kernel(f.runtime, "Add", find(&f, "GPU:0"), GANTRY_FLOAT32, &has, &source),
        GANTRY_OK);
    assert_string_equal(source, "fake");
    close_both(&f);
}

static void *add_in_a_thread(void *user) {
    runtime_fixture_t *f = user;
    for (int i = 0; i < 20; ++i) expect_adds(f);
    return NULL;
}

TEST(threads_meet_at_the_first_opening) {
    for (int round = 0; round < 10; ++round) {
        runtime_fixture_t f;
        pthread_t threads[4];
        open_both(&f);
        assert_true(other->fail_calls(round % 2 ? "launch" : "device_open", 1, 1,
                                      GANTRY_UNAVAILABLE, "gone"));
        for (int i = 0; i < 4; ++i)
            assert_int_equal(pthread_create(&threads[i], NULL, add_in_a_thread, &f), 0);
        for (int i = 0; i < 40; ++i) {
            gantry_device_details_t details = {.struct_size = sizeof details};
            (void)gantry_get_device_details(f.runtime, f.runtime->devices.physical[1], &details);
            assert_true(strlen(details.note) < 512);
        }
        for (int i = 0; i < 4; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(other->calls("compute"), 0);
        expect_served_by(&f, "fake:0", "gone");
        assert_int_equal(log_lines_with(&f.log, "fake:0 serves", ""), 1);
        close_both(&f);
        (void)set_up(NULL);
    }
}

TEST(free_memory_is_asked_of_the_other_view) {
    runtime_fixture_t f;
    open_both(&f);
    assert_true(fake->fail_calls("memory_info", 1, UINT64_MAX, GANTRY_UNIMPLEMENTED, "not told"));
    other->set_capacity(0, 5 * MIB);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "fake:0", &info), GANTRY_OK);
    assert_true(info.driver_free_bytes == 5 * MIB && info.driver_total_bytes == 64 * MIB);
    assert_int_equal(other->calls("device_open"), 0); /* no context was made for it */
    assert_true(other->fail_calls("card_memory", 1, 1, GANTRY_UNAVAILABLE, "no NVML"));
    assert_int_equal(gantry_get_memory_info(f.runtime, "fake:0", &info), GANTRY_OK);
    assert_true(info.driver_free_bytes == 0 && info.driver_total_bytes == 0);
    assert_true(other->fail_calls("device_open", 1, 1, GANTRY_UNAVAILABLE, "gone"));
    /* this holds after a fail-over, too */
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_true(info.driver_free_bytes == 5 * MIB);
    close_both(&f);
}

TEST(fraction_counts_from_the_total_not_from_what_is_free) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = both(&f);
    options.memory_fraction = 0.25;
    runtime_fixture_open_with(&f, &options);
    other->set_capacity(0, 20 * MIB); /* another process uses the rest */
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_true(info.limit_bytes == 16 * MIB);
    assert_true(info.driver_free_bytes == 20 * MIB);
    close_both(&f);
}

TEST(memory_running_out_changes_nothing) {
    bool is_done = false;
    for (long at = 0; !is_done && at < 400; ++at) {
        runtime_fixture_t f;
        open_both(&f);
        gantry_logical_device_t *device = find(&f, "GPU:0");
        f.heap.inner.fail_at = at;
        gantry_status_t status = gantry__logical_device_open(device);
        f.heap.inner.fail_at = -1;
        is_done = status == GANTRY_OK;
        if (!is_done) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        expect_adds(&f);
        expect_served_by(&f, "other:0", "");
        close_both(&f);
        (void)set_up(NULL);
    }
    assert_true(is_done);
}

int main(void) { return test_main_each(set_up, runtime_fixture_tear_down); }
