/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry bench` prints a table, JSON and a picture that agree, and says so where the
 * machine has no GPU.
 * Promise: gantry bench judges no size that it did not measure.
 * Promise: When gantry bench cannot write its picture, because of ulimit -f among other causes, the
 * old picture stays and no temporary file is left.
 *
 * No figure is judged. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

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

TEST(figures_and_winners_agree) {
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

/* What "Crossover" says follows from rows that were measured. */
static void check_verdict(const cJSON *all, const cJSON *verdict) {
    const char *series = cJSON_GetObjectItem(verdict, "series")->valuestring,
               *says = cJSON_GetObjectItem(verdict, "gpu_is_faster")->valuestring;
    const cJSON *size = cJSON_GetObjectItem(verdict, "size"), *row;
    double smallest = 0, largest = 0;
    int wins = 0, losses = 0, wins_from = 0, losses_from = 0;
    bool is_measured = false, wins_at_largest = false;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(all, "rows")) {
        const char *winner = cJSON_GetStringValue(cJSON_GetObjectItem(row, "winner"));
        if (strcmp(cJSON_GetObjectItem(row, "series")->valuestring, series) != 0 || !winner)
            continue;
        const double at = cJSON_GetObjectItem(row, "size")->valuedouble;
        const bool is_win = strcmp(winner, "GPU:0") == 0;
        if (smallest <= 0) smallest = at;
        largest = at;
        wins_at_largest = is_win;
        wins += is_win;
        losses += !is_win;
        if (!cJSON_IsNumber(size) || at < size->valuedouble) continue;
        is_measured = is_measured || !(at > size->valuedouble);
        wins_from += is_win;
        losses_from += !is_win;
    }
    assert_true(fabs(cJSON_GetObjectItem(verdict, "smallest_measured")->valuedouble - smallest) <
                0.5);
    assert_true(fabs(cJSON_GetObjectItem(verdict, "largest_measured")->valuedouble - largest) <
                0.5);
    assert_int_equal(strcmp(says, "unknown") == 0, wins + losses == 0);
    assert_int_equal(strcmp(says, "always") == 0, wins > 0 && losses == 0);
    assert_int_equal(strcmp(says, "never") == 0, wins == 0 && losses > 0);
    assert_int_equal(strcmp(says, "at") == 0, wins > 0 && losses > 0 && wins_at_largest);
    assert_int_equal(cJSON_IsNumber(size), strcmp(says, "at") == 0);
    if (cJSON_IsNumber(size)) assert_true(is_measured && wins_from > 0 && losses_from == 0);
}

TEST(no_size_is_judged_that_was_not_measured) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    static const char *const seconds[] = {"0.01", "0.3"};
    for (size_t i = 0; i < 2; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "$BIN/gantry bench --seconds %s --json 2>/dev/null",
                       seconds[i]);
        expect_run(0, line);
        cJSON *all = cJSON_Parse(output);
        assert_non_null(all);
        const cJSON *verdict;
        cJSON_ArrayForEach(verdict, cJSON_GetObjectItem(all, "crossover"))
            check_verdict(all, verdict);
        cJSON_Delete(all);
    }
    expect_run(0, "$BIN/gantry bench --seconds 0.01 2>/dev/null | sed '1,/^Crossover/d' >lines");
    expect_run(0, "grep -c . lines");
    expect_run(1, "grep -v measured lines");
}

TEST(table_shows_both_devices) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/gantry bench --seconds 0.01 2>/dev/null");
    expect_in_output("CPU:0: ");
    expect_in_output("GPU:0: ");
    expect_in_output("launch                          64 bytes ");
    expect_in_output("matrix product                   64 x 64 ");
    expect_in_output("Crossover\n");
}

TEST(machine_without_a_gpu_is_told) {
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
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
