/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tuning record chooses an algorithm of cuBLASLt where it is valid; a wrong record is
 * ignored with a warning.
 *
 * The stand-in has five algorithms. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "cuda_fixture.h"
#include "test.h"

#include "product_case.h"

#include "cuda/cublas/cuda_cublas_tuned.h"

/* ---- the values ---- */

TEST(values_are_read_or_refused_with_a_reason) {
    static const struct {
        const char *values, *reason; /* NULL: accepted */
        int choice;
    } rows[] = {
        {"use=0", NULL, 0},
        {"use=7 version=120900 gflops=14250.2 first=12011.9", NULL, 7},
        {"gflops=1  use=2", NULL, 2},
        {"", "use= is missing", 0},
        {"gflops=1", "use= is missing", 0},
        {"use=8", "use= stands once and is 0 to 7", 0},
        {"use=1.5", "use= stands once and is 0 to 7", 0},
        {"use=1 use=1", "use= stands once and is 0 to 7", 0},
        {"use=-1", "a value is not a number", 0},
        {"use=x", "a value is not a number", 0},
        {"use=nan", "a value is not a number", 0},
        {"use=", "a word is not NAME=VALUE", 0},
        {"use", "a word is not NAME=VALUE", 0},
        {"use=1 version=120800", "it was measured with another version", 0},
        {"use=1 own=2", "use=, version=, gflops= and first= are accepted", 0},
        {"use=1 gflops=111111111111111111111111111111111111111111111111", "a word is too long", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const char *reason = NULL;
        uint8_t choice = 99;
        bool is_read = gantry__cublas_tuned_parse(rows[i].values, 120900, &choice, &reason);

        assert_int_equal(is_read, rows[i].reason == NULL);
        if (rows[i].reason != NULL) assert_string_equal(reason, rows[i].reason);
        assert_int_equal(choice, rows[i].choice);
    }
}

/* ---- products ---- */

static const char *thin_values;

static int32_t find_record(void *self, const gantry_device_info_t *device, const char *what,
                           gantry_tuning_t *out_tuning) {
    (void)self;
    (void)device;
    if (strcmp(what, "cublaslt.matmul.float32.thin") != 0) return 0;
    out_tuning->line = 7;
    out_tuning->file = "records";
    out_tuning->measured = "2026-01-02T03:04:05Z";
    out_tuning->values = thin_values;
    return 1;
}

static char warning[512];

static void keep_warning(void *self, int32_t level, const char *text) {
    (void)self;
    if (level == GANTRY_LEVEL_WARNING) snprintf(warning, sizeof warning, "%s", text);
}

static void open_tuned(core_t *core, fixture_t *fixture, const char *values,
                       const char *precision) {
    memset(core, 0, sizeof *core);
    core->fixture = fixture;
    fixture_init(fixture);
    if (precision != NULL) fixture_set(fixture, "GANTRY_CUDA_MATMUL_PRECISION", precision);
    thin_values = values;
    warning[0] = '\0';
    fixture->host.tuning = find_record;
    fixture->host.log = keep_warning;
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
    fixture_control()->reset();
}

static void expect_choice(core_t *core, const product_t *p, int wanted) {
    uint64_t before[6];
    char name[32];

    for (int i = 0; i < 6; ++i) {
        snprintf(name, sizeof name, "choice %d", i);
        before[i] = fixture_control()->calls(name);
    }
    check_product(core, p);
    for (int i = 0; i < 6; ++i) {
        snprintf(name, sizeof name, "choice %d", i);
        assert_int_equal(fixture_control()->calls(name) - before[i], i == wanted);
    }
}

TEST(tuned_choice_is_taken_for_its_class_and_type) {
    fixture_t fixture;
    core_t core;
    product_t thin = plain(GANTRY_FLOAT32, 3, 40, 50, 0, 0);
    product_t small = plain(GANTRY_FLOAT32, 40, 4, 50, 0, 0);
    product_t doubles = plain(GANTRY_FLOAT64, 3, 40, 50, 0, 0);

    open_tuned(&core, &fixture, "use=3 version=120900", NULL);
    expect_choice(&core, &thin, 3);
    expect_choice(&core, &small, 0);
    expect_choice(&core, &doubles, 0);
    core.scratch_status = GANTRY_RESOURCE_EXHAUSTED; /* the library then lists other algorithms */
    expect_choice(&core, &thin, 0);
    assert_string_equal(warning, "");
    core_close(&core);
}

TEST(choice_that_does_not_hold_is_the_first) {
    fixture_t fixture;
    core_t core;
    product_t thin = plain(GANTRY_FLOAT32, 3, 40, 50, 0, 0);

    open_tuned(&core, &fixture, "use=7", NULL); /* the library gives five */
    expect_choice(&core, &thin, 0);
    core_close(&core);
    open_tuned(&core, &fixture, "use=3", "tf32"); /* the record was measured in float32 */
    expect_choice(&core, &thin, 0);
    core_close(&core);
    open_tuned(&core, &fixture, "use=3 version=120800", NULL);
    expect_choice(&core, &thin, 0);
    assert_string_equal(
        warning,
        "Tuning file records, line 7: cublaslt.matmul.float32.thin is not used: it was measured with another version");
    core_close(&core);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
