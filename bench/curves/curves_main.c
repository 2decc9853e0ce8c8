/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_bench_curves: the rates of one device over sizes, as lines of JSON for bench/curves/run.
 *
 *   gantry_bench_curves --device NAME [--case NAME[,NAME...]] [--max-bytes N] [--step 2|4]
 *   [--seconds S] [--longest S] [--list]
 *
 * Sizes of inputs go from 16 bytes to N by the step. One call builds the programs, and a quarter of
 * S warms up. Then the point is called for S seconds, at least three times. Calls shorter than 20
 * us are timed in batches. A case ends at the first size whose call takes longer than --longest.
 * The caller sets the number of threads: by affinity, GANTRY_CPU_THREADS and the driver's own
 * variables. Exit code: 0 success, 1 a call failed, 2 wrong usage. */
#include "curves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "timer.h"

#define SAMPLES 1024
#define SHORT_NS 20000.0

typedef struct options_t {
    const char *device, *cases;
    long long most_bytes;
    int step;
    double seconds, longest;
} options_t;

typedef struct figure_t {
    double median, best; /* seconds of a call */
    long long calls;
} figure_t;

/* The nanoseconds of a call, as the mean of a batch; negative if a call fails. */
static double time_batch(const curve_case_t *item, const curve_point_t *point, int batch) {
    uint64_t start = bench_now_ns();
    for (int i = 0; i < batch; ++i) {
        if (!item->call(point)) return -1;
    }
    return (double)(bench_now_ns() - start) / batch;
}

/* The number of calls of a batch that is not too short. Also warms up. */
static int find_batch(const curve_case_t *item, const curve_point_t *point, double seconds) {
    int batch = 1;
    double took = 0;
    for (uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);
         bench_now_ns() < end || took <= 0;) {
        took = time_batch(item, point, batch);
        if (took < 0) return 0;
        if (took * batch < SHORT_NS) batch *= 2;
    }
    return batch;
}

static bool measure(const curve_case_t *item, const curve_point_t *point, double seconds,
                    figure_t *out_figure) {
    static double samples[SAMPLES];
    size_t count = 0;
    if (!item->call(point)) return false;
    int batch = find_batch(item, point, seconds / 4);
    if (batch == 0) return false;
    uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);
    while (count < 3 || (count < SAMPLES && bench_now_ns() < end)) {
        double took = time_batch(item, point, batch);
        if (took < 0) return false;
        samples[count++] = took * 1e-9;
    }
    out_figure->calls = (long long)count * batch;
    out_figure->median = bench_median(samples, count); /* sorts them */
    out_figure->best = samples[0];
    return true;
}

static bool fail(const options_t *options, const curve_case_t *item, long long bytes) {
    (void)fprintf(stderr, "%s: %s of %lld bytes: %s\n", options->device, item->name, bytes,
                  gantry_last_message());
    return false;
}

static void print(const curve_case_t *item, const curve_point_t *point, const figure_t *figure) {
    (void)printf(
        "{\"case\": \"%s\", \"bytes\": %lld, \"work\": %.17g, \"median_s\": %.6g, \"best_s\": %.6g, \"calls\": %lld}\n",
        item->name, (long long)point->bytes, point->work, figure->median, figure->best,
        figure->calls);
    (void)fflush(stdout);
}

static bool run_case(const options_t *options, gantry_scope_t *scope, const curve_case_t *item) {
    long long most = options->most_bytes;
    if (item->most_bytes > 0 && item->most_bytes < most) most = item->most_bytes;
    int64_t before = 0; /* shapes round sizes; no size is measured twice */
    for (long long bytes = 16; bytes <= most; bytes *= options->step) {
        curve_point_t point = {.scope = scope, .bytes = -1};
        figure_t figure;
        bool is_made = item->make(&point, bytes);
        bool is_new = is_made && point.bytes > before;
        bool is_good = is_made ? !is_new || measure(item, &point, options->seconds, &figure)
                               : point.bytes == 0;
        if (is_good && is_new) {
            print(item, &point, &figure);
            before = point.bytes;
        }
        curve_point_release(&point);
        if (!is_good) return fail(options, item, bytes);
        if (is_new && figure.median > options->longest) break;
    }
    return true;
}

/* ---- the program ---- */

static const char *case_name(size_t number) { return curve_cases[number].name; }

static int list_cases(void) {
    for (size_t i = 0; i < curve_case_count; ++i)
        (void)printf("{\"case\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\"}\n",
                     curve_cases[i].name, curve_cases[i].what, curve_cases[i].unit);
    return 0;
}

static int usage(void) {
    (void)fprintf(
        stderr,
        "usage: gantry_bench_curves --device NAME [--case NAME[,..]] [--max-bytes N] [--step 2|4] [--seconds S] [--longest S]\n       gantry_bench_curves --list\n");
    return 2;
}

static bool parse(int argc, char **argv, options_t *options) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--device") == 0) {
            options->device = value;
        } else if (strcmp(name, "--case") == 0) {
            options->cases = value;
        } else if (strcmp(name, "--max-bytes") == 0) {
            options->most_bytes = atoll(value);
        } else if (strcmp(name, "--step") == 0) {
            options->step = atoi(value);
        } else if (strcmp(name, "--seconds") == 0) {
            options->seconds = atof(value);
        } else if (strcmp(name, "--longest") == 0) {
            options->longest = atof(value);
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && options->device && options->most_bytes >= 16 &&
           (options->step == 2 || options->step == 4) && options->seconds > 0 &&
           options->longest > 0;
}

static void log_warning(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s\n", text);
}

static bool run(const options_t *options, gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, options->device);
    bool is_good = scope && gantry_scope_status(scope) == GANTRY_OK;
    if (!is_good) (void)fprintf(stderr, "%s: %s\n", options->device, gantry_last_message());
    for (size_t i = 0; is_good && i < curve_case_count; ++i) {
        if (bench_list_has(options->cases, curve_cases[i].name))
            is_good = run_case(options, scope, &curve_cases[i]);
    }
    if (scope) (void)gantry_scope_end(scope);
    return is_good;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list_cases();
    options_t options = {.most_bytes = 1ll << 30, .step = 4, .seconds = 0.2, .longest = 2};
    if (!parse(argc, argv, &options)) return usage();
    const char *unknown = bench_list_unknown(options.cases, case_name, curve_case_count);
    if (unknown) {
        (void)fprintf(stderr, "--case %s: no case of this name; --list has them\n", unknown);
        return 2;
    }
    /* soft placement must be off, because an op that only the CPU has would be a figure of another
     * device */
    gantry_runtime_options_t settings = {.struct_size = sizeof settings,
                                         .log = log_warning,
                                         .log_level = GANTRY_LEVEL_WARNING,
                                         .placement_mode = GANTRY_PLACEMENT_REQUIRE};
    gantry_runtime_t *runtime = NULL;
    if (gantry_runtime_create(&settings, &runtime) != GANTRY_OK) {
        (void)fprintf(stderr, "%s\n", gantry_last_message());
        return 1;
    }
    bool is_good = run(&options, runtime);
    gantry_runtime_release(runtime);
    return is_good ? 0 : 1;
}
