/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_bench: measures Gantry on every device of the machine, and its competitors.
 *
 *   gantry_bench [--case NAME[,NAME...]] [--device NAME[,NAME...]] [--repeat N] [--quick]
 *                [--json FILE] [--layers[=wait]] [--max-n N] [--max-bytes N]
 *                [--types TYPE[,TYPE...]]
 *                [--count-only]
 *   gantry_bench --drivers */
#define _GNU_SOURCE
#include "bench.h"
#include "list.h"

#include <stdlib.h>
#include <string.h>

#define BENCH_ROUNDS 9
#define BENCH_QUICK_ROUNDS 3

typedef struct case_t {
    const char *name, *what;
    void (*run)(bench_t *bench);
} case_t;

static const case_t cases[] = {
    {"dispatch", "an add of 4 elements, from the call to the result and its release",
     bench_dispatch},
    {"cores",
     "the cost of sharing: steps of one core, a cache line from one core to another and back",
     bench_cores},
    {"launch", "small ops, with one wait at the end or a wait for each op", bench_launch},
    {"function", "a function of small ops, by the node", bench_function},
    {"transfer", "host to device and back, 4 KiB to 64 MiB", bench_transfer},
    {"sharing", "a tensor over the program's memory, made and given back", bench_sharing},
    {"saved", "a saved function loaded, against its body traced", bench_saved},
    {"elementwise", "add, tanh and exp of 16 Mi float32", bench_elementwise},
    {"reduce", "sum of 16 Mi float32", bench_reduce},
    {"matmul", "square float32 products", bench_matmul},
    {"batch_invariant", "products and a convolution with the option batch_invariant, and without",
     bench_batch_invariant},
    {"listing", "listing devices in a fresh process", bench_listing},
    {"card_launch", "a small op against cuLaunchKernel", bench_card_launch},
    {"card_function", "a function of 100 small ops against a CUDA graph", bench_card_function},
    {"card_transfer", "pinned and ordinary memory against cuMemcpy...Async", bench_card_transfer},
    {"card_stream", "elementwise and sums, 64 MiB to 1 GiB, against cuMemcpyDtoDAsync",
     bench_card_stream},
    {"card_matmul", "square products of 4 types, n = 1024 to 16384, against cuBLASLt",
     bench_card_matmul},
    {"card_start", "start to first product in a fresh process, against driver and cuBLASLt",
     bench_card_start},
#ifdef GANTRY_BENCH_TRAINING
    {"all_reduce", "the sum of 64 MB over 2 and 4 parts of the CPU and of a GPU, and over all GPUs",
     bench_all_reduce},
    {"strategy", "a training step on one device and on parts of it", bench_strategy},
    {"training_compile", "tracing and planning the text classifier's training step",
     bench_training},
#endif
};
#define CASE_COUNT (sizeof cases / sizeof cases[0])

typedef struct options_t {
    const char *cases, *devices, *json, *types;
    int rounds, most_n;
    unsigned long long most_bytes;
    gantry_profile_mode_t layers;
    bool quick;
} options_t;

/* ---- services for the cases ---- */

bool bench_is_ok(gantry_status_t status, const char *device, const char *what) {
    if (status == GANTRY_OK) return true;
    (void)fprintf(stderr, "%s: %s: %s: %s\n", device, what, gantry_status_name(status),
                  gantry_last_message());
    return false;
}

/* Also keeps the line that names the library of the products. */
static void log_line(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    if (level >= GANTRY_LEVEL_WARNING || strstr(text, "take the portable kernels"))
        (void)fprintf(stderr, "%s\n", text);
}

gantry_runtime_t *bench_runtime(const char *const *extra) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .log = log_line,
                                        .log_level = GANTRY_LEVEL_INFO,
                                        .extra = extra};
    gantry_runtime_t *runtime = NULL;
    return bench_is_ok(gantry_runtime_create(&options, &runtime), "runtime",
                       "gantry_runtime_create")
               ? runtime
               : NULL;
}

gantry_scope_t *bench_scope(const bench_t *bench, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(bench->runtime, device);
    if (!scope) {
        (void)fprintf(stderr, "%s: %s\n", device, gantry_last_message());
        return NULL;
    }
    if (bench_is_ok(gantry_scope_status(scope), device, "gantry_scope_begin")) return scope;
    (void)gantry_scope_end(scope);
    return NULL;
}

const gantry_tensor_t *bench_random(gantry_scope_t *scope, gantry_shape_t shape, int64_t seed) {
    const gantry_tensor_t *tensor =
        gantry_stateless_random_uniform(scope, shape, GANTRY_FLOAT32, seed, 7);
    if (tensor && gantry_tensor_wait(tensor) == GANTRY_OK) return tensor;
    (void)fprintf(stderr, "random numbers: %s\n", gantry_last_message());
    return NULL;
}

/* ---- options ---- */

static const char *case_name(size_t number) { return cases[number].name; }

static int usage(FILE *out) {
    (void)fprintf(
        out,
        "usage: gantry_bench [--case NAME[,..]] [--device NAME[,..]] [--repeat N] [--quick] [--json FILE]\n"
        "                    [--layers[=wait]] [--max-n N] [--max-bytes N] [--types TYPE[,..]] [--count-only]\n       gantry_bench --drivers\n\n");
    for (size_t i = 0; i < CASE_COUNT; ++i)
        (void)fprintf(out, "  %-16s %s\n", cases[i].name, cases[i].what);
    (void)fprintf(
        out,
        "\n--device takes any spelling, e.g. cpu:0,opencl:0 or GPU:0. --repeat sets the number of rounds (1 to %d, default %d, with --quick %d).\n--max-n and --max-bytes limit matrices and tensors of the card_ cases; "
        "--types selects the types of card_matmul: float32, TF32, float16, bfloat16. --drivers prints the devices that the raw drivers list, and measures nothing.\n--layers runs each case once more, with few rounds, and prints how its ops spend their time; =wait waits for every op, so that the kernels of all devices are timed. The figures come from the runs without it. --count-only times nothing: bench/instructions uses it.\n",
        BENCH_MAX_ROUNDS, BENCH_ROUNDS, BENCH_QUICK_ROUNDS);
    return out == stdout ? 0 : 2;
}

/* Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv, options_t *options) {
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--help") == 0) return usage(stdout);
        if (strcmp(name, "--count-only") == 0) {
            bench_count_only();
            continue;
        }
        if (strcmp(name, "--quick") == 0) {
            options->quick = true;
            continue;
        }
        if (strcmp(name, "--layers") == 0 || strcmp(name, "--layers=wait") == 0) {
            options->layers = name[8] ? GANTRY_PROFILE_WAIT : GANTRY_PROFILE_ON;
            continue;
        }
        if (!value) return usage(stderr);
        ++i;
        if (strcmp(name, "--case") == 0) {
            options->cases = value;
        } else if (strcmp(name, "--device") == 0) {
            options->devices = value;
        } else if (strcmp(name, "--json") == 0) {
            options->json = value;
        } else if (strcmp(name, "--types") == 0) {
            options->types = value;
        } else if (strcmp(name, "--repeat") == 0 && atoi(value) >= 1 &&
                   atoi(value) <= BENCH_MAX_ROUNDS) {
            options->rounds = atoi(value);
        } else if (strcmp(name, "--max-n") == 0 && atoi(value) >= 16) {
            options->most_n = atoi(value);
        } else if (strcmp(name, "--max-bytes") == 0 && strtoull(value, NULL, 10) >= 4096) {
            options->most_bytes = strtoull(value, NULL, 10);
        } else {
            return usage(stderr);
        }
    }
    const char *unknown = bench_list_unknown(options->cases, case_name, CASE_COUNT);
    if (!unknown) return -1;
    (void)fprintf(stderr, "--case %s: no case of this name\n", unknown);
    return usage(stderr);
}

/* ---- the runtime ---- */

static void add_device(bench_t *bench, const gantry_physical_device_t *physical) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    if (gantry_get_device_details(bench->runtime, physical, &details) != GANTRY_OK) return;
    if (bench->device_count == BENCH_MAX_DEVICES) return;
    bench_device_t *device = &bench->devices[bench->device_count++];
    (void)snprintf(device->alias, sizeof device->alias, "%s", details.alias);
    (void)snprintf(device->hardware, sizeof device->hardware, "%s", details.hardware_name);
    (void)snprintf(device->uuid, sizeof device->uuid, "%s", details.uuid);
    (void)snprintf(device->other_view, sizeof device->other_view, "%s", details.other_view);
    (void)snprintf(device->line, sizeof device->line, "%s: %s; %s, driver %s", details.alias,
                   details.hardware_name, details.platform, details.driver_version);
}

/* wanted is a comma-separated list of names; NULL: all. */
static bool open_runtime(bench_t *bench, const char *wanted) {
    bench->runtime = bench_runtime(NULL);
    if (!bench->runtime) return false;
    const gantry_physical_device_t *views[64];
    size_t count = 0;
    if (!wanted && !bench_is_ok(gantry_list_device_views(bench->runtime, 64, views, &count),
                                "runtime", "gantry_list_device_views"))
        return false;
    for (size_t i = 0; i < count && i < 64; ++i) add_device(bench, views[i]);
    for (size_t length; wanted && *wanted; wanted += length + (wanted[length] == ',')) {
        char name[128];
        length = strcspn(wanted, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, wanted);
        if (gantry_find_physical_device(bench->runtime, name, &views[0]) != GANTRY_OK) {
            (void)fprintf(stderr, "--device: %s\n", gantry_last_message());
            return false;
        }
        add_device(bench, views[0]);
    }
    return bench->device_count > 0;
}

static void device_lines(const bench_t *bench, const char *out_lines[BENCH_MAX_DEVICES]) {
    for (size_t i = 0; i < bench->device_count; ++i) out_lines[i] = bench->devices[i].line;
}

bool bench_save(const bench_t *bench) {
    const char *lines[BENCH_MAX_DEVICES];
    device_lines(bench, lines);
    if (!bench->json ||
        bench_report_write_json(&bench->report, bench->json, lines, bench->device_count))
        return true;
    (void)fprintf(stderr, "%s could not be written\n", bench->json);
    return false;
}

static bool print_and_write(const bench_t *bench) {
    const char *lines[BENCH_MAX_DEVICES];
    device_lines(bench, lines);
    bench_report_print(&bench->report, lines, bench->device_count);
    return bench_save(bench);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--listing-child") == 0) return bench_listing_child(argv[2]);
    if (argc == 5 && strcmp(argv[1], "--start-child") == 0)
        return bench_card_start_child(argv[2], argv[3], argv[4]);
#ifdef GANTRY_BENCH_TRAINING
    if (argc == 4 && strcmp(argv[1], "--training-child") == 0)
        return bench_training_child(argv[2], argv[3]);
#endif
    if (argc == 2 && strcmp(argv[1], "--drivers") == 0) return bench_drivers();
    options_t options = {.most_n = 16384, .most_bytes = 1ull << 30};
    int code = parse(argc, argv, &options);
    if (code >= 0) return code;
    /* The threads of a library must sleep while others are measured, so the variable must be set
     * before a library is opened. */
    (void)setenv("OMP_WAIT_POLICY", "passive", 0);
    bench_t bench = {.program = "/proc/self/exe",
                     .json = options.json,
                     .quick = options.quick,
                     .most_n = options.most_n,
                     .types = options.types,
                     .most_bytes = (size_t)options.most_bytes};
    bench.rounds = options.rounds  ? options.rounds
                   : options.quick ? BENCH_QUICK_ROUNDS
                                   : BENCH_ROUNDS;
    bench_report_init(&bench.report);
    code = 1;
    if (open_runtime(&bench, options.devices)) {
        for (size_t i = 0; i < CASE_COUNT; ++i) {
            if (!bench_list_has(options.cases, cases[i].name)) continue;
            cases[i].run(&bench);
            if (options.layers) bench_layers(&bench, cases[i].name, cases[i].run, options.layers);
        }
        code = print_and_write(&bench) && !bench.is_wrong ? 0 : 1;
        if (bench.report.count == 0) {
            (void)fprintf(stderr, "nothing was measured: no case fits these devices\n");
            code = 1;
        }
    }
    gantry_runtime_release(bench.runtime);
    bench_report_deinit(&bench.report);
    return code;
}
