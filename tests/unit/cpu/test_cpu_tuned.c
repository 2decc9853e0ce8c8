/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The tuning file chooses the library for float32 products on the CPU backend; wrong
 * records and missing libraries do no harm.
 *
 * Every choice gives right products. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_kernel_call.h"
#include "test.h"

#include "kernels/matmul/cpu_blas.h"
#include "kernels/matmul/matmul_cpu.h"
#include "cpu/blas/cpu_tuned.h"

/* ---- libraries that a test hides ---- */

static const char *hidden; /* a part of a library's name; NULL: hides none */

void *dlopen(const char *name, int flags) {
    void *(*real)(const char *, int);
    void *symbol = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &symbol, sizeof real);
    return hidden != NULL && name != NULL && strstr(name, hidden) != NULL ? NULL
                                                                          : real(name, flags);
}

/* ---- a host with records ---- */

static const char *const class_names[] = {"thin", "small", "middle", "large"};
static const char *records[4]; /* one record per class; NULL: none */
static char warning[512];
static int asked;

static void keep_log(void *self, int32_t level, const char *text) {
    (void)self;
    if (level >= GANTRY_LEVEL_WARNING) {
        snprintf(warning, sizeof warning, "%s", text);
    }
}

static int32_t find_record(void *self, const gantry_device_info_t *device, const char *what,
                           gantry_tuning_t *out) {
    (void)self;
    assert_string_equal(device->hardware_name, "A processor");
    assert_int_equal(out->struct_size, sizeof *out);
    asked++;
    for (int i = 0; i < 4; ++i) {
        char name[64];
        snprintf(name, sizeof name, "cpu.matmul.float32.%s.2_threads", class_names[i]);
        if (strcmp(name, what) == 0 && records[i] != NULL) {
            out->values = records[i];
            out->measured = "2026-11-22T01:02:03Z";
            out->file = "/a/file";
            out->line = 7;
            return 1;
        }
    }
    return 0;
}

static bool asks_early;

static void has_in_listing(const cpu_call_t *cpu, const char *part) {
    const char *line = gantry__cpu_blas_library(cpu->device.blas);
    if (strstr(line, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, line);
    }
}

static const gantry_device_info_t processor = {.struct_size = sizeof processor,
                                               .hardware_name = "A processor"};

static void open_with(cpu_call_t *cpu, const char *option, const char *const values[4]) {
    cpu_call_open(cpu, -1, 2);
    cpu->host.log = keep_log;
    cpu->host.tuning = find_record;
    cpu->options[0][0] = "GANTRY_CPU_MATMUL";
    cpu->options[0][1] = option;
    cpu->option_count = 1;
    warning[0] = '\0';
    asked = 0;
    for (int i = 0; i < 4; ++i) {
        records[i] = values != NULL ? values[i] : NULL;
    }
    assert_int_equal(gantry__cpu_blas_create(&cpu->host, cpu->device.simd_level, &cpu->device.blas),
                     0);
    if (asks_early) has_in_listing(cpu, "not measured");
    gantry__cpu_blas_set_device(cpu->device.blas, &processor, 2);
}

static void close_call(cpu_call_t *cpu) {
    gantry__cpu_blas_release(cpu->device.blas);
    cpu_call_close(cpu);
    hidden = NULL;
}

/* One product of each class, of small multiples of 1/8: sums are exact in any order. */
static void check_products(cpu_call_t *cpu) {
    static const int64_t sizes[][3] = {
        {9, 200, 130}, {70, 65, 100}, {300, 200, 257}, {900, 1000, 901}};
    for (int s = 0; s < 4; ++s) {
        const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        const int64_t a_sizes[] = {m, k}, b_sizes[] = {k, n}, c_sizes[] = {m, n};
        gantry_arg_t *a = cpu_tensor(cpu, GANTRY_FLOAT32, 2, a_sizes),
                     *b = cpu_tensor(cpu, GANTRY_FLOAT32, 2, b_sizes),
                     *c = cpu_tensor(cpu, GANTRY_FLOAT32, 2, c_sizes);
        const gantry_arg_t *inputs[] = {a, b};
        const gantry_kernel_def_t *kernel =
            cpu_kernel(gantry__cpu_matmul_kernels, gantry__cpu_matmul_kernel_count, "MatMul");
        float *x = a->data, *y = b->data;
        assert_int_equal(gantry__cpu_product_class(m, n, k), s);
        for (int64_t i = 0; i < m * k; ++i) {
            x[i] = (float)(i * 7919 % 33 - 16) / 8;
        }
        for (int64_t i = 0; i < k * n; ++i) {
            y[i] = (float)(i * 104729 % 31 - 15) / 8;
        }
        assert_int_equal(cpu_compute(cpu, kernel, inputs, 2, c, NULL, 0), 0);
        for (int64_t look = 0; look < 300; ++look) {
            int64_t i = look * 7 % m, j = look * 13 % n;
            double sum = 0;
            for (int64_t p = 0; p < k; ++p) {
                sum += (double)x[i * k + p] * (double)y[p * n + j];
            }
            assert_true((double)((float *)c->data)[i * n + j] == sum);
        }
        cpu_call_clear(cpu);
    }
}

static int chosen(const cpu_call_t *cpu, int product_class) {
    static const int64_t sides[] = {20, 100, 500, 2000};
    int64_t n = sides[product_class];
    return gantry__cpu_blas_choose(cpu->device.blas, n, n, n);
}

/* ---- values ---- */

TEST(values_are_read_or_refused_with_a_reason) {
    static const char *const wrong[] = {"",
                                        "own=1",
                                        "use=mkl",
                                        "use=own use=own",
                                        "use=own own",
                                        "use=own x",
                                        "use=own own=1e9",
                                        "use=own own=-1",
                                        "use=own own=1 own=2",
                                        "use=own own=",
                                        "use=",
                                        "=",
                                        "use=own own=1.2.3",
                                        "use=own own=.",
                                        "use=own own=11111111111111111111111111111111111111"};
    gantry__cpu_tuned_t tuned;
    char reason[80];
    assert_int_equal(gantry__cpu_tuned_read("use=onednn own=41.5 onednn=48 openblas=9", &tuned,
                                            reason, sizeof reason),
                     1);
    assert_int_equal(tuned.use, GANTRY_CPU_BLAS_ONEDNN);
    assert_string_equal(tuned.figures, "own 41.5, oneDNN 48, OpenBLAS 9");
    assert_int_equal(gantry__cpu_tuned_read("use=own", &tuned, reason, sizeof reason), 1);
    assert_string_equal(tuned.figures, "");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        reason[0] = '\0';
        if (gantry__cpu_tuned_read(wrong[i], &tuned, reason, sizeof reason) || reason[0] == '\0') {
            fail_msg("accepted: %s", wrong[i]);
        }
        assert_int_equal(tuned.use, -1);
    }
}

TEST(classes_are_by_side_and_work) {
    assert_int_equal(gantry__cpu_product_class(31, 5000, 5000), GANTRY_CPU_PRODUCT_THIN);
    assert_int_equal(gantry__cpu_product_class(5000, 31, 5000), GANTRY_CPU_PRODUCT_THIN);
    assert_int_equal(gantry__cpu_product_class(32, 32, 64), GANTRY_CPU_PRODUCT_SMALL);
    assert_int_equal(gantry__cpu_product_class(224, 224, 224), GANTRY_CPU_PRODUCT_SMALL);
    assert_int_equal(gantry__cpu_product_class(224, 224, 225), GANTRY_CPU_PRODUCT_MIDDLE);
    assert_int_equal(gantry__cpu_product_class(896, 896, 896), GANTRY_CPU_PRODUCT_MIDDLE);
    assert_int_equal(gantry__cpu_product_class(896, 897, 896), GANTRY_CPU_PRODUCT_LARGE);
}

/* ---- auto ---- */

TEST(auto_takes_what_was_measured) {
    static const char *const values[] = {"use=openblas own=10 openblas=12.5",
                                         "use=own own=40 onednn=39", "use=onednn own=50 onednn=60",
                                         "use=own"};
    cpu_call_t cpu;
    open_with(&cpu, "auto", values);
    has_in_listing(&cpu, "matrix products");
    has_in_listing(
        &cpu,
        "thin OpenBLAS (own 10, OpenBLAS 12.5), small own (own 40, oneDNN 39), middle oneDNN");
    has_in_listing(&cpu, "measured 2026-11-22; libraries are opened on first need");
    int onednn = chosen(&cpu, GANTRY_CPU_PRODUCT_MIDDLE),
        openblas = chosen(&cpu, GANTRY_CPU_PRODUCT_THIN);
    assert_int_equal(chosen(&cpu, GANTRY_CPU_PRODUCT_SMALL), GANTRY_CPU_BLAS_OWN);
    assert_int_equal(chosen(&cpu, GANTRY_CPU_PRODUCT_LARGE), GANTRY_CPU_BLAS_OWN);
    /* own: this machine does not have it */
    assert_true(onednn == GANTRY_CPU_BLAS_ONEDNN || onednn == GANTRY_CPU_BLAS_OWN);
    assert_true(openblas == GANTRY_CPU_BLAS_OPENBLAS || openblas == GANTRY_CPU_BLAS_OWN);
    print_message("%s\n", gantry__cpu_blas_library(cpu.device.blas));
    check_products(&cpu);
    assert_string_equal(warning, "");
    close_call(&cpu);
}

/* A log line asks before the device is opened: its records count all the same. */
TEST(records_count_though_somebody_asked_before) {
    static const char *const values[] = {"use=own", "use=own", "use=own", "use=own own=7"};
    cpu_call_t cpu;
    asks_early = true;
    open_with(&cpu, "auto", values);
    asks_early = false;
    has_in_listing(&cpu, "measured 2026-11-22");
    assert_int_equal(chosen(&cpu, GANTRY_CPU_PRODUCT_LARGE), GANTRY_CPU_BLAS_OWN);
    close_call(&cpu);
}

TEST(auto_without_a_record_keeps_its_rule_and_says_so) {
    cpu_call_t cpu;
    open_with(&cpu, "auto", NULL);
    has_in_listing(&cpu, "not measured, `gantry tune` measures");
    int serving = chosen(&cpu, GANTRY_CPU_PRODUCT_LARGE);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(chosen(&cpu, i), serving);
    }
    has_in_listing(&cpu, "not measured, `gantry tune` measures");
    check_products(&cpu);
    close_call(&cpu);
}

TEST(classes_without_a_record_keep_the_rule) {
    static const char *const values[] = {NULL, NULL, NULL, "use=own own=3"};
    cpu_call_t cpu;
    hidden = "dnnl";
    open_with(&cpu, "auto", values);
    assert_int_equal(chosen(&cpu, GANTRY_CPU_PRODUCT_LARGE), GANTRY_CPU_BLAS_OWN);
    has_in_listing(&cpu, "(not measured)");
    has_in_listing(&cpu, "large own (own 3)");
    has_in_listing(&cpu, "libdnnl.so.3 and libdnnl.so.2 not found");
    check_products(&cpu);
    close_call(&cpu);
}

TEST(an_option_goes_before_records) {
    static const char *const values[] = {"use=onednn", "use=onednn", "use=onednn", "use=onednn"};
    cpu_call_t cpu;
    open_with(&cpu, "own", values);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(chosen(&cpu, i), GANTRY_CPU_BLAS_OWN);
    }
    assert_int_equal(asked, 0);
    has_in_listing(&cpu, "GANTRY_CPU_MATMUL=own");
    close_call(&cpu);
}

/* ---- rows of B that clash in the cache ---- */

/* Whether our own loops compute a product of m rows whose rows of B are b_row elements apart. */
static bool is_own(const cpu_call_t *cpu, int64_t m, int64_t b_row) {
    const gantry__cpu_gemm_t gemm = {.m = m,
                                     .n = 512,
                                     .k = 256,
                                     .a_row = 256,
                                     .a_column = 1,
                                     .b_row = b_row,
                                     .b_column = 1,
                                     .c_row = 512,
                                     .c_column = 1};
    return gantry__cpu_is_blocked(&cpu->device, &gemm, GANTRY_FLOAT32);
}

static void begin_clashing(cpu_call_t *cpu, const char *option, const char *const values[4],
                           int level) {
    open_with(cpu, option, values);
    gantry__cpu_blas_release(cpu->device.blas);
    assert_int_equal(gantry__cpu_blas_create(&cpu->host, level, &cpu->device.blas), 0);
    gantry__cpu_blas_set_device(cpu->device.blas, &processor, 2);
}

TEST(own_loops_take_rows_that_clash_unless_a_choice_says_otherwise) {
    static const char *const values[] = {NULL, NULL, "use=onednn", NULL};
    cpu_call_t cpu;
    begin_clashing(&cpu, "auto", NULL, GANTRY_CPU_AVX2);
    const bool has_onednn = chosen(&cpu, GANTRY_CPU_PRODUCT_MIDDLE) == GANTRY_CPU_BLAS_ONEDNN;
    assert_true(is_own(&cpu, 48, 512) && is_own(&cpu, 256, 1024));
    assert_int_equal(is_own(&cpu, 47, 512), !has_onednn);
    assert_int_equal(is_own(&cpu, 257, 512), !has_onednn);
    assert_int_equal(is_own(&cpu, 196, 513), !has_onednn);
    close_call(&cpu);
    begin_clashing(&cpu, "auto", NULL, GANTRY_CPU_AVX512);
    assert_int_equal(is_own(&cpu, 196, 512), !has_onednn);
    close_call(&cpu);
    begin_clashing(&cpu, "auto", values, GANTRY_CPU_AVX2);
    assert_int_equal(is_own(&cpu, 196, 512), !has_onednn);
    close_call(&cpu);
    begin_clashing(&cpu, "onednn", NULL, GANTRY_CPU_AVX2);
    assert_int_equal(is_own(&cpu, 196, 512), !has_onednn);
    close_call(&cpu);
}

TEST(a_wish_is_an_option_or_the_record_of_the_class) {
    static const char *const values[] = {"use=onednn", NULL, NULL, NULL};
    static const char *const options[] = {"auto", "own", "onednn"};
    for (int i = 0; i < 3; ++i) {
        cpu_call_t cpu;
        open_with(&cpu, options[i], values);
        assert_int_equal(gantry__cpu_blas_has_no_wish(cpu.device.blas, 300, 300, 300), i == 0);
        assert_false(gantry__cpu_blas_has_no_wish(cpu.device.blas, 20, 300, 300));
        assert_false(gantry__cpu_blas_is_open(cpu.device.blas));
        close_call(&cpu);
    }
}

/* ---- wrong records ---- */

TEST(a_library_that_is_not_there_leaves_products_to_our_loops) {
    static const char *const values[] = {"use=openblas own=1 openblas=2", "use=openblas",
                                         "use=openblas", "use=openblas"};
    cpu_call_t cpu;
    hidden = "openblas";
    open_with(&cpu, "auto", values);
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(chosen(&cpu, i), GANTRY_CPU_BLAS_OWN);
    }
    has_in_listing(&cpu, "thin own (own 1, OpenBLAS 2)");
    has_in_listing(&cpu, "own serves where a library is missing; libopenblas.so.0 not found");
    check_products(&cpu);
    close_call(&cpu);
}

TEST(a_wrong_record_is_warned_of_and_left_out) {
    static const char *const values[] = {"use=mkl", "nonsense", "use=own own=fast", "depth=512"};
    cpu_call_t cpu;
    open_with(&cpu, "auto", values);
    has_in_listing(&cpu, "not measured");
    has_in_listing(&cpu, "not measured");
    assert_int_equal(asked, 4); /* one warning each */
    assert_non_null(strstr(warning, "Tuning file /a/file, line 7: cpu.matmul.float32."));
    assert_non_null(strstr(warning, "is not used"));
    check_products(&cpu);
    close_call(&cpu);
}

TEST(a_core_without_the_service_is_fine) {
    cpu_call_t cpu;
    open_with(&cpu, "auto", NULL);
    cpu.host.struct_size = offsetof(gantry_host_t, tuning);
    (void)chosen(&cpu, GANTRY_CPU_PRODUCT_LARGE);
    assert_int_equal(asked, 0);
    close_call(&cpu);
}

int main(void) { return test_main(); }
