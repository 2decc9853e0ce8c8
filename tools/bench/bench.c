/* SPDX-License-Identifier: Apache-2.0 */
/* gantry bench: what is faster on this machine, the CPU or the GPU? Measures both and shows who
 * wins at what size. The program gantry_bench of bench/ measures Gantry itself. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "command/command.h"

#define DEFAULT_SECONDS 20.0

/* ---- values ---- */

static int compare_doubles(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double bench_median(const bench_cell_t *cell, int side) {
    double sorted[BENCH_MOST_SAMPLES];
    const size_t count = cell->counts[side];
    if (count == 0) return 0;
    memcpy(sorted, cell->samples[side], count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double bench_ratio(const bench_cell_t *cell) {
    const double cpu = bench_median(cell, 0), gpu = bench_median(cell, 1);
    return cpu > 0 && gpu > 0 ? cpu / gpu : 0;
}

double bench_value(const bench_cell_t *cell, int side) {
    const double seconds = bench_median(cell, side);
    if (!(seconds > 0)) return 0;
    return cell->series == BENCH_LAUNCH ? seconds * 1e6 : 1e-9 * cell->work / seconds;
}

const char *bench_unit(bench_series_t series) {
    return series == BENCH_LAUNCH ? "us" : series >= BENCH_MATMUL ? "GFLOP/s" : "GB/s";
}

const char *bench_series_name(bench_series_t series) {
    static const char *const names[BENCH_SERIES] = {"launch",      "stream", "to_device",
                                                    "from_device", "matmul", "matmul_copied"};
    return names[series];
}

const char *bench_series_title(bench_series_t series) {
    static const char *const titles[BENCH_SERIES] = {
        "launch",         "a + b",          "host to device",
        "device to host", "matrix product", "matrix product with copies"};
    return titles[series];
}

char *bench_size_text(bench_series_t series, double size, char out[GANTRY_TOOL_TEXT_BYTES]) {
    if (series >= BENCH_MATMUL)
        (void)snprintf(out, GANTRY_TOOL_TEXT_BYTES, "%.0f x %.0f", size, size);
    else
        (void)gantry_tool_size_text((uint64_t)(size * sizeof(float)), out);
    return out;
}

/* ---- crossings ---- */

bench_verdict_t bench_judge(const bench_t *bench, bench_series_t series) {
    bench_verdict_t verdict = {.crossing = BENCH_CROSSING_UNKNOWN};
    const bench_cell_t *first_win = NULL; /* of those without a loss after them */
    size_t wins = 0, losses = 0;
    for (size_t i = 0; i < bench->cell_count; ++i) {
        const bench_cell_t *cell = &bench->cells[i];
        const double ratio = bench_ratio(cell);
        if (cell->series != series || !(ratio > 0)) continue;
        if (wins + losses == 0) verdict.smallest = cell->size;
        verdict.largest = cell->size;
        wins += ratio >= 1;
        losses += ratio < 1;
        if (ratio < 1) first_win = NULL;
        if (ratio >= 1 && !first_win) first_win = cell;
    }
    if (wins + losses == 0) return verdict;
    verdict.crossing = losses == 0 ? BENCH_CROSSING_ALWAYS
                       : wins == 0 ? BENCH_CROSSING_NEVER
                       : first_win ? BENCH_CROSSING_AT
                                   : BENCH_CROSSING_MIXED;
    if (verdict.crossing == BENCH_CROSSING_AT) verdict.size = first_win->size;
    return verdict;
}

/* ---- text ---- */

static void print_value(const bench_cell_t *cell, int side) {
    char text[GANTRY_TOOL_TEXT_BYTES];
    const double value = bench_value(cell, side);
    (void)snprintf(text, sizeof text, value >= 100 ? "%.0f %s" : "%.2f %s", value,
                   bench_unit(cell->series));
    (void)printf("  %15s", value > 0 ? text : "-");
}

static void print_row(const bench_t *bench, const bench_cell_t *cell, bool is_first) {
    char size[GANTRY_TOOL_TEXT_BYTES];
    const double ratio = bench_ratio(cell);
    (void)printf("%-27s  %11s", is_first ? bench_series_title(cell->series) : "",
                 bench_size_text(cell->series, (double)cell->size, size));
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (*bench->sides[side].name) print_value(cell, side);
    }
    if (cell->is_skipped) (void)printf("  not measured: no time");
    if (ratio > 0)
        (void)printf("  %s %.2f x", bench->sides[ratio >= 1].name, ratio >= 1 ? ratio : 1 / ratio);
    (void)printf("\n");
}

static void print_crossing(const bench_t *bench, bench_series_t series) {
    char from[GANTRY_TOOL_TEXT_BYTES], smallest[GANTRY_TOOL_TEXT_BYTES],
        largest[GANTRY_TOOL_TEXT_BYTES];
    const char *gpu = bench->sides[1].name, *cpu = bench->sides[0].name;
    const bench_verdict_t verdict = bench_judge(bench, series);
    if (verdict.crossing == BENCH_CROSSING_UNKNOWN) return;
    (void)bench_size_text(series, (double)verdict.size, from);
    (void)bench_size_text(series, (double)verdict.smallest, smallest);
    (void)bench_size_text(series, (double)verdict.largest, largest);
    (void)printf("%-27s  ", bench_series_title(series));
    if (verdict.crossing == BENCH_CROSSING_AT)
        (void)printf("%s is faster from %s to %s, the largest measured size\n", gpu, from, largest);
    else if (verdict.crossing == BENCH_CROSSING_MIXED)
        (void)printf("%s is faster at %s, the largest measured size, and not at all smaller ones\n",
                     cpu, largest);
    else
        (void)printf(verdict.smallest == verdict.largest
                         ? "%s is faster at the one measured size, %s\n"
                         : "%s is faster at all measured sizes, %s to %s\n",
                     verdict.crossing == BENCH_CROSSING_ALWAYS ? gpu : cpu, smallest, largest);
}

static void print_table(const bench_t *bench) {
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (*bench->sides[side].name)
            (void)printf("%s: %s\n", bench->sides[side].name, bench->sides[side].hardware);
    }
    (void)printf("\n%-27s  %11s", "", "size");
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (*bench->sides[side].name) (void)printf("  %15s", bench->sides[side].name);
    }
    (void)printf("%s\n", *bench->sides[1].name ? "  faster" : "");
    for (size_t i = 0; i < bench->cell_count; ++i)
        print_row(bench, &bench->cells[i],
                  i == 0 || bench->cells[i].series != bench->cells[i - 1].series);
    if (!*bench->sides[1].name) return;
    (void)printf("\nCrossover\n");
    for (bench_series_t series = BENCH_STREAM; series < BENCH_SERIES; ++series) {
        if (series != BENCH_TO_DEVICE && series != BENCH_FROM_DEVICE) print_crossing(bench, series);
    }
}

/* ---- JSON ---- */

static void side_json(gantry_json_t *json, const bench_cell_t *cell, int side) {
    double least = INFINITY;
    for (size_t i = 0; i < cell->counts[side]; ++i) least = fmin(least, cell->samples[side][i]);
    gantry_json_object(json, side == 0 ? "cpu" : "gpu");
    gantry_json_number(json, "median_seconds", bench_median(cell, side));
    gantry_json_number(json, "least_seconds", least);
    gantry_json_unsigned(json, "samples", cell->counts[side]);
    gantry_json_number(json, "value", bench_value(cell, side));
    gantry_json_end(json);
}

static void cell_json(gantry_json_t *json, const bench_t *bench, const bench_cell_t *cell) {
    const double ratio = bench_ratio(cell);
    gantry_json_object(json, NULL);
    gantry_json_text(json, "series", bench_series_name(cell->series));
    gantry_json_unsigned(json, "size", cell->size);
    gantry_json_text(json, "unit", bench_unit(cell->series));
    gantry_json_bool(json, "skipped", cell->is_skipped);
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (cell->counts[side] > 0) side_json(json, cell, side);
    }
    gantry_json_text(json, "winner", ratio > 0 ? bench->sides[ratio >= 1].name : NULL);
    gantry_json_number(json, "cpu_time_over_gpu_time", ratio > 0 ? ratio : NAN);
    gantry_json_end(json);
}

static void crossings_json(gantry_json_t *json, const bench_t *bench) {
    static const char *const texts[] = {"unknown", "at", "always", "never", "mixed"};
    gantry_json_array(json, "crossover");
    for (bench_series_t series = BENCH_STREAM; series < BENCH_SERIES; ++series) {
        if (series == BENCH_TO_DEVICE || series == BENCH_FROM_DEVICE) continue;
        const bench_verdict_t verdict = bench_judge(bench, series);
        gantry_json_object(json, NULL);
        gantry_json_text(json, "series", bench_series_name(series));
        gantry_json_text(json, "gpu_is_faster", texts[verdict.crossing]);
        gantry_json_number(json, "size", verdict.size > 0 ? (double)verdict.size : NAN);
        gantry_json_unsigned(json, "smallest_measured", verdict.smallest);
        gantry_json_unsigned(json, "largest_measured", verdict.largest);
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void bench_print_json(const bench_t *bench) {
    gantry_json_t json;
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_unsigned(&json, "rounds", bench->rounds);
    gantry_json_array(&json, "devices");
    for (int side = 0; side < BENCH_SIDES; ++side) {
        if (!*bench->sides[side].name) continue;
        gantry_json_object(&json, NULL);
        gantry_json_text(&json, "name", bench->sides[side].name);
        gantry_json_text(&json, "hardware", bench->sides[side].hardware);
        gantry_json_end(&json);
    }
    gantry_json_end(&json);
    gantry_json_array(&json, "rows");
    for (size_t i = 0; i < bench->cell_count; ++i) cell_json(&json, bench, &bench->cells[i]);
    gantry_json_end(&json);
    crossings_json(&json, bench);
    gantry_json_end(&json);
}

/* ---- the command ---- */

static bool open_side(bench_t *bench, int side, const char *device) {
    bench_side_t *out = &bench->sides[side];
    const gantry_logical_device_t *logical;
    gantry_device_details_t details = {.struct_size = sizeof details};
    if (gantry_find_logical_device(bench->runtime, device, &logical) == GANTRY_OK &&
        gantry_get_device_details(bench->runtime, gantry_logical_device_physical(logical),
                                  &details) == GANTRY_OK)
        out->scope = gantry_scope_begin(bench->runtime, device);
    if (!out->scope) {
        (void)gantry_tool_fail_last();
        return false;
    }
    (void)snprintf(out->name, sizeof out->name, "%.60s", device);
    (void)snprintf(out->hardware, sizeof out->hardware, "%.255s", details.hardware_name);
    return true;
}

static bool has_gpu(const bench_t *bench) {
    size_t count = 0;
    return gantry_list_logical_devices(bench->runtime, "GPU", 0, NULL, &count) == GANTRY_OK &&
           count > 0;
}

static bool open_sides(const gantry_command_values_t *values, bench_t *bench) {
    const char *device = gantry_command_value(values, "device");
    /* an op that its device cannot run is an error, not a figure of another device */
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .placement_mode = GANTRY_PLACEMENT_REQUIRE,
                                              .log_level = GANTRY_LEVEL_WARNING};
    bench->runtime = gantry_command_open_runtime(values, &options);
    if (!bench->runtime || !open_side(bench, 0, "CPU:0")) return false;
    if (!device && !has_gpu(bench)) {
        (void)fprintf(
            stderr,
            "gantry: this machine has no GPU that Gantry can use, so only the CPU is measured; `gantry devices` says why\n");
        return true;
    }
    return open_side(bench, 1, device ? device : "GPU:0");
}

static int bench_report(const gantry_command_values_t *values, const bench_t *bench) {
    const char *svg = gantry_command_value(values, "svg");
    if (gantry_command_has(values, "json"))
        bench_print_json(bench);
    else
        print_table(bench);
    return !svg || bench_write_svg(bench, svg) ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

static int bench_run(const gantry_command_values_t *values) {
    double seconds = DEFAULT_SECONDS;
    if (!gantry_command_number(values, "seconds", 0.01, 3600, &seconds))
        return GANTRY_TOOL_WRONG_USAGE;
    bench_t *bench = calloc(1, sizeof *bench);
    if (!bench) return gantry_tool_fail("there is no memory for the table");
    bench->seconds = seconds;
    int code = GANTRY_TOOL_FAILED;
    if (open_sides(values, bench) && bench_measure(bench)) code = bench_report(values, bench);
    bench_release(bench);
    free(bench);
    return code;
}

const gantry_command_t gantry_command_bench = {
    .name = "bench",
    .summary = "measures what is faster on this machine, the CPU or the GPU",
    .description =
        "Measures the launch of an op, sums and matrix products of many sizes, and copies, on CPU:0 and on GPU:0 in turn. "
        "Every run waits for its result. The table has medians, the faster device and by how much, and then the sizes from "
        "which on the GPU is faster, among those that were measured.\n\n"
        "When time is short, the largest sizes are not measured. Run it on an idle machine.",
    .options = {{"device", "DEVICE", "measures this device in place of GPU:0", false, NULL,
                 GANTRY_OFFER_DEVICES},
                {"seconds", "N", "measures for N seconds (20)"},
                {"svg", "FILE", "draws the figures, too", false, NULL, GANTRY_OFFER_FILES},
                GANTRY_OPTION_JSON,
                GANTRY_OPTION_CPU_AS_GPU,
                GANTRY_OPTION_VERBOSE},
    .examples = {{"gantry bench", NULL}, {"gantry bench --seconds 5 --svg bench.svg", NULL}},
    .run = bench_run,
};
