/* SPDX-License-Identifier: Apache-2.0 */
/* Runs gantry bench for a moment as a user would: the table, the JSON and the picture agree, and a
 * machine without a GPU is told so. No figure is judged.
 * Promise: a picture that cannot be written, also by ulimit -f, keeps the old one and leaves
 * nothing. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"

#include <math.h>

#include <cjson/cJSON.h>

static bool has_opencl;

static double number_of(const cJSON *object, const char *side, const char *key) {
    const cJSON *of = cJSON_GetObjectItem(object, side), *item = cJSON_GetObjectItem(of, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void check_row(const cJSON *row) {
    const double cpu = number_of(row, "cpu", "median_seconds"),
                 gpu = number_of(row, "gpu", "median_seconds"),
                 ratio = cJSON_GetObjectItem(row, "cpu_time_over_gpu_time")->valuedouble;
    if (cJSON_IsTrue(cJSON_GetObjectItem(row, "skipped"))) {
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "winner")));
        return;
    }
    assert_true(cpu > 0 && gpu > 0);
    assert_true(number_of(row, "cpu", "least_seconds") <= cpu);
    assert_true(fabs(ratio - cpu / gpu) <= 1e-9 * ratio);
    assert_string_equal(cJSON_GetObjectItem(row, "winner")->valuestring,
                        ratio >= 1 ? "GPU:0" : "CPU:0");
}

static void figures_and_winners_agree(void **state) {
    (void)state;
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    static const char *const names[] = {"launch",      "stream", "to_device",
                                        "from_device", "matmul", "matmul_copied"};
    size_t measured[6] = {0};
    expect_run(0, "$BIN/gantry bench --seconds 0.05 --json --svg b.svg 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "devices")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "crossover")), 3);
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(all, "rows")) {
        const char *series = cJSON_GetObjectItem(row, "series")->valuestring;
        check_row(row);
        for (size_t i = 0; i < 6; ++i) {
            measured[i] +=
                strcmp(series, names[i]) == 0 && !cJSON_IsTrue(cJSON_GetObjectItem(row, "skipped"));
        }
    }
    for (size_t i = 0; i < 6; ++i) assert_true(measured[i] >= 1);
    cJSON_Delete(all);
    expect_run(0, "head -c 5 b.svg; tail -n 1 b.svg");
    expect_in_output("<svg </svg>");
    expect_run(0, "grep -c polyline b.svg | grep -q '^[1-8]$'");
    if (run("grep -E 'nan|inf' b.svg") == 0) fail_msg("%s", output);
    expect_run(0, "test -z \"$(ls | grep tmp)\"");
}

static void table_shows_both_devices(void **state) {
    (void)state;
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/gantry bench --seconds 0.01 2>/dev/null");
    expect_in_output("CPU:0: ");
    expect_in_output("GPU:0: ");
    expect_in_output("launch                          64 bytes ");
    expect_in_output("matrix product                   64 x 64 ");
    expect_in_output("Crossover\n");
}

static void machine_without_a_gpu_is_told(void **state) {
    (void)state;
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry bench --seconds 0.01");
    expect_in_output("this machine has no GPU that Gantry can use, so only the CPU is measured");
    expect_in_output("a + b ");
    if (strstr(output, "Crossover")) fail_msg("%s", output);
    expect_run(1, "$BIN/gantry bench --seconds 0.01 --device GPU:9");
    expect_in_output("unknown device");
    expect_run(2, "$BIN/gantry bench --seconds never");
    expect_run(1, "GANTRY_BACKENDS=cpu $BIN/gantry bench --seconds 0.01 --svg no/such/b.svg");
    expect_in_output("cannot write 'no/such/b.svg': No such file or directory");
    expect_run(1,
               "echo old >kept.svg; ulimit -f 1; GANTRY_BACKENDS=cpu $BIN/gantry bench "
               "--seconds 0.01 --svg kept.svg");
    expect_in_output("kept.svg': File too large");
    expect_run(0, "cat kept.svg; ls kept.svg*");
    assert_string_equal(output, "old\nkept.svg\n");
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_and_winners_agree),
        cmocka_unit_test(table_shows_both_devices),
        cmocka_unit_test(machine_without_a_gpu_is_told),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
