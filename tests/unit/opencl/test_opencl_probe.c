/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A new OpenCL device is tried before it is used: a note records how it computes, and a
 * driver that crashes in the trial is not opened.
 * Promise: An OpenCL device that contracts products and sums, or flushes denormals, has a note that
 * says so.
 * Promise: An OpenCL driver whose fma of float64 rounds twice has a note that says so.
 *
 * PoCL has bad habits through a layer (stand_ins/opencl/rough_layer.c). If a card is removed, the
 * other cards keep working. Each test is a process of its own, with its own cache folder. */
#define _XOPEN_SOURCE 700
#include "icd_folder.h"
#include "locked_heap.h"
#include "log_lines.h"
#include "need_opencl.h"

#include <gantry/gantry.h>

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define LAYER_FILE(name) GANTRY_TEST_MODULES "/opencl/" name "_layer.so"

static icd_folder_t folder; /* of the kernel cache */
static log_lines_t lines;
static locked_heap_t heap;

static gantry_runtime_t *open_runtime(const char *cache) {
    gantry_runtime_t *runtime;
    log_lines_init(&lines);
    locked_heap_init(&heap, -1);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .reallocate = locked_heap_reallocate,
                                              .reallocate_user = &heap,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .kernel_cache = cache};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static void close_runtime(gantry_runtime_t *runtime) {
    gantry_runtime_release(runtime);
    assert_int_equal(heap.inner.live_blocks, 0);
    assert_false(heap.inner.wrong_size);
    locked_heap_deinit(&heap);
}

/* Computes 2 * 2 on the device; returns OK, or the status of the failed opening. */
static gantry_status_t compute(gantry_runtime_t *runtime, const char *device, char *why,
                               size_t why_bytes) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const float two = 2;
    float got = 0;
    assert_non_null(scope);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &two, sizeof two);
    const gantry_tensor_t *y = x ? gantry_mul(scope, x, x) : NULL;
    (void)snprintf(why, why_bytes, "%s", gantry_scope_message(scope));
    gantry_status_t status = gantry_scope_status(scope);
    if (y) {
        assert_int_equal(gantry_tensor_read(y, &got, sizeof got), GANTRY_OK);
        assert_true(got == 4);
    }
    (void)gantry_scope_end(scope);
    return status;
}

static void expect_computes(gantry_runtime_t *runtime, const char *device) {
    char why[1024];
    if (compute(runtime, device, why, sizeof why) != GANTRY_OK) fail_msg("%s: %s", device, why);
}

static void note_of(gantry_runtime_t *runtime, const char *alias, char *out, size_t out_bytes) {
    const gantry_physical_device_t *device;
    gantry_device_details_t details = {.struct_size = sizeof details};
    assert_int_equal(gantry_find_physical_device(runtime, alias, &device), GANTRY_OK);
    assert_int_equal(gantry_get_device_details(runtime, device, &details), GANTRY_OK);
    (void)snprintf(out, out_bytes, "%s", details.note);
}

/* The number of contexts so far, in all processes. */
static int contexts(void) {
    FILE *file = fopen(getenv("ROUGH_LOG"), "r");
    char line[32];
    int count = 0;
    while (file && fgets(line, sizeof line, file)) ++count;
    if (file) (void)fclose(file);
    return count;
}

static void set_habits(const char *habits) { assert_int_equal(setenv("ROUGH", habits, 1), 0); }

static void good_device_is_tried_once_and_has_no_note(void **state) {
    char note[1024];
    (void)state;
    for (int i = 0; i < 3; ++i) {
        gantry_runtime_t *runtime = open_runtime(folder.path);
        expect_computes(runtime, "opencl:0");
        note_of(runtime, "opencl:0", note, sizeof note);
        assert_null(strstr(note, "results may differ"));
        assert_int_equal(log_lines_with(&lines, "results may differ", ""), 0);
        close_runtime(runtime);
        /* the first time, the probing process makes one, too */
        assert_int_equal(contexts(), 2 + i);
    }
}

static void expect_note(const char *habits, const char *part, const char *other) {
    char note[1024];
    set_habits(habits);
    for (int i = 0; i < 2; ++i) { /* probed first, then read from the cache */
        gantry_runtime_t *runtime = open_runtime(folder.path);
        note_of(runtime, "opencl:0", note, sizeof note);
        assert_int_equal(strstr(note, "results may differ") != NULL, i);
        expect_computes(runtime, "opencl:0");
        note_of(runtime, "opencl:0", note, sizeof note);
        if (!strstr(note, "its results may differ from other devices': ") || !strstr(note, part))
            fail_msg("\"%s\" is not in the note \"%s\"", part, note);
        assert_true(!other || !strstr(note, other));
        const char *once = strstr(note, "results may differ");
        assert_null(strstr(once + 1, "results may differ"));
        /* a warning, and the device's line once the note is cached */
        assert_int_equal(log_lines_with(&lines, "results may differ", part), 1 + i);
        close_runtime(runtime);
    }
}

#define CONTRACTED "a * b + c is rounded once"
#define CONTRACTED_64 "a * b + c of float64 is rounded once"
#define FLUSHED "denormals are flushed"
#define SPLIT "fma is not rounded once, fma of float64 is not rounded once"

static void contraction_is_noted(void **state) {
    (void)state;
    expect_note("contract", CONTRACTED, FLUSHED);
    gantry_runtime_t *runtime = open_runtime(folder.path);
    char note[1024];
    note_of(runtime, "opencl:0", note, sizeof note);
    assert_non_null(strstr(note, CONTRACTED_64));
    close_runtime(runtime);
}

static void split_fma_is_noted(void **state) {
    (void)state;
    expect_note("split", SPLIT, CONTRACTED);
}

static void flushed_denormals_are_noted(void **state) {
    (void)state;
    expect_note("flush", FLUSHED, CONTRACTED);
}

static void both_are_noted(void **state) {
    (void)state;
    expect_note("contract flush", CONTRACTED ", " FLUSHED, NULL);
}

static void probe_in_this_process_notes_the_same(void **state) {
    (void)state;
    assert_int_equal(setenv("GANTRY_DEVICE_PROBE", "inside", 1), 0);
    expect_note("flush", FLUSHED, CONTRACTED);
    assert_int_equal(contexts(), 2);
}

static void crashing_driver_is_refused_and_the_others_go_on(void **state) {
    char why[1024];
    (void)state;
    set_habits("crash");
    for (int i = 0; i < 2; ++i) {
        gantry_runtime_t *runtime = open_runtime(folder.path);
        assert_int_equal(compute(runtime, "opencl:1", why, sizeof why), GANTRY_UNAVAILABLE);
        static const char expected[] =
            "opencl:1 is not opened: a process of its own that tried this driver first ended badly (it ended by signal 6)";
        if (!strstr(why, expected)) fail_msg("%s", why);
        expect_computes(runtime, "opencl:0");
        expect_computes(runtime, "CPU:0");
        close_runtime(runtime);
    }
}

static void ops_without_a_wish_pass_over_a_refused_device(void **state) {
    char why[1024];
    (void)state;
    set_habits("crash");
    assert_int_equal(setenv("GANTRY_OPENCL_CPU", "gpu", 1), 0);
    assert_int_equal(setenv("GANTRY_VISIBLE_DEVICES", "1", 1), 0);
    gantry_runtime_t *runtime = open_runtime(folder.path);
    assert_int_equal(compute(runtime, "", why, sizeof why), GANTRY_UNAVAILABLE);
    assert_non_null(strstr(why, "opencl:1 is not opened: "));
    expect_computes(runtime, "");
    assert_int_equal(log_lines_with(&lines, "is not used any more", "ended badly"), 1);
    close_runtime(runtime);
}

/* Two drivers show the first card as their device; the maker's driver crashes. */
static void crashing_driver_leaves_its_card_to_the_other_one(void **state) {
    (void)state;
    set_habits("crash");
    assert_int_equal(setenv("OPENCL_LAYERS", LAYER_FILE("rough") ":" LAYER_FILE("twin"), 1), 0);
    assert_int_equal(setenv("TWIN_0", "0000:17:00.0 - - Mesa", 1), 0);
    assert_int_equal(setenv("TWIN_1", "0000:17:00.0 - - Acme", 1), 0);
    assert_int_equal(setenv("GANTRY_OPENCL_MATMUL", "portable", 1), 0);
    gantry_runtime_t *runtime = open_runtime(folder.path);
    expect_computes(runtime, "GPU:0");
    assert_int_equal(log_lines_with(&lines, "opencl:0 serves this card in place of opencl:1",
                                    "a process of its own that tried this driver"),
                     1);
    close_runtime(runtime);
}

static void nothing_is_tried_when_it_is_off_or_nothing_is_kept(void **state) {
    char note[1024];
    (void)state;
    set_habits("flush");
    for (int i = 0; i < 2; ++i) {
        if (i == 0) assert_int_equal(setenv("GANTRY_DEVICE_PROBE", "off", 1), 0);
        if (i == 1) assert_int_equal(unsetenv("GANTRY_DEVICE_PROBE"), 0);
        gantry_runtime_t *runtime = open_runtime(i == 0 ? folder.path : "");
        expect_computes(runtime, "opencl:0");
        note_of(runtime, "opencl:0", note, sizeof note);
        assert_null(strstr(note, "results may differ"));
        close_runtime(runtime);
        assert_int_equal(contexts(), 1 + i);
    }
}

/* ---- a card that is removed ---- */

static void card_taken_away_at_work_is_lost_and_the_others_go_on(void **state) {
    char why[1024];
    float numbers[100] = {2};
    (void)state;
    gantry_runtime_t *runtime = open_runtime(folder.path);
    expect_computes(runtime, "opencl:0");
    expect_computes(runtime, "opencl:1");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "opencl:1");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(100), numbers, sizeof numbers);
    x = x ? gantry_mul(scope, x, x) : NULL;
    assert_non_null(x);
    set_habits("gone");
    assert_int_equal(gantry_tensor_read(x, numbers, sizeof numbers), GANTRY_UNAVAILABLE);
    assert_non_null(strstr(gantry_last_message(), "opencl:1 was lost: "));
    assert_non_null(strstr(gantry_last_message(), "CL_INVALID_COMMAND_QUEUE (-36)"));
    (void)gantry_scope_end(scope);
    expect_computes(runtime, "opencl:0");
    /* soft placement avoids it; without soft placement it stays lost */
    expect_computes(runtime, "opencl:1");
    gantry_set_soft_device_placement(runtime, false);
    set_habits("");
    assert_int_not_equal(compute(runtime, "opencl:1", why, sizeof why), GANTRY_OK);
    if (!strstr(why, "lost")) fail_msg("%s", why);
    close_runtime(runtime);
}

static void card_taken_away_before_it_is_opened_says_so(void **state) {
    char why[1024];
    (void)state;
    gantry_runtime_t *runtime = open_runtime(folder.path);
    set_habits("gone");
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(compute(runtime, "opencl:1", why, sizeof why), GANTRY_UNAVAILABLE);
        if (!strstr(why, "cannot be opened: ") || !strstr(why, "CL_DEVICE_NOT_AVAILABLE (-2)"))
            fail_msg("%s", why);
        expect_computes(runtime, "opencl:0");
    }
    set_habits(""); /* it was never open */
    expect_computes(runtime, "opencl:1");
    close_runtime(runtime);
}

static int run_alone(const struct CMUnitTest *test) {
    int state = -1;
    (void)fflush(stdout);
    icd_folder_make(&folder);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("POCL_DEVICES", "pthread pthread", 1);
        (void)setenv("OPENCL_LAYERS", LAYER_FILE("rough"), 1);
        (void)setenv("ROUGH", "", 1);
        (void)setenv("ROUGH_LOG", icd_folder_file(&folder, "contexts"), 1);
        (void)unsetenv("GANTRY_DEVICE_PROBE");
        _exit(_cmocka_run_group_tests("opencl_probe", test, 1, NULL, NULL));
    }
    int failed = child < 0 || waitpid(child, &state, 0) != child || state != 0;
    icd_folder_remove(&folder);
    return failed;
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_device_is_tried_once_and_has_no_note),
        cmocka_unit_test(contraction_is_noted),
        cmocka_unit_test(split_fma_is_noted),
        cmocka_unit_test(flushed_denormals_are_noted),
        cmocka_unit_test(both_are_noted),
        cmocka_unit_test(probe_in_this_process_notes_the_same),
        cmocka_unit_test(crashing_driver_is_refused_and_the_others_go_on),
        cmocka_unit_test(ops_without_a_wish_pass_over_a_refused_device),
        cmocka_unit_test(crashing_driver_leaves_its_card_to_the_other_one),
        cmocka_unit_test(nothing_is_tried_when_it_is_off_or_nothing_is_kept),
        cmocka_unit_test(card_taken_away_at_work_is_lost_and_the_others_go_on),
        cmocka_unit_test(card_taken_away_before_it_is_opened_says_so),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) failed += run_alone(&tests[i]);
    return failed;
}
