/* SPDX-License-Identifier: Apache-2.0 */
/* The memory chapter of TensorFlow's guide "Use a GPU", in C, on any device: growth, a limit,
 * virtual devices, statistics, running out of memory on purpose, and continuing. Every step prints
 * its expectation and checks it. The exit code is 1 if one is not met.
 *
 *   memory_control [--device NAME]      in any spelling: GPU:0, /GPU:0, opencl:0, a UUID's
 *                                       beginning, ...
 *
 * The default is the first GPU, or the CPU if there is none. This program lets OpenCL CPU devices
 * (PoCL) count as GPUs. Except for the device's name, the output is the same on every backend. Each
 * chapter must have its own runtime, because settings freeze with the first operation. */
#include <string.h>

#include "example.h"

#define MIB (UINT64_C(1) << 20)

static const char *wanted = ""; /* the device's name, as the user writes it: "GPU:0" */

static void heading(const char *text) { (void)printf("\n== %s ==\n", text); }

/* Prints an expectation, and ends the program if it is not met. */
static void expect(bool is_so, const char *what) {
    (void)printf("  %s: %s\n", is_so ? "yes" : "NO ", what);
    if (is_so) return;
    (void)fflush(stdout);
    (void)fprintf(stderr, "memory_control: this did not hold: %s\n", what);
    exit(1);
}

static double mib(uint64_t bytes) { return (double)bytes / (double)MIB; }

/* ---- services for the chapters ---- */

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .log = example_log,
                                        .log_level = GANTRY_LEVEL_ERROR,
                                        .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    return runtime;
}

/* The card that `wanted` names. */
static const gantry_physical_device_t *find_card(gantry_runtime_t *runtime) {
    const gantry_physical_device_t *card = NULL;
    if (gantry_find_physical_device(runtime, wanted, &card) == GANTRY_OK) return card;
    (void)fprintf(stderr, "--device: %s\n", gantry_last_message());
    exit(2);
}

static gantry_memory_info_t info_of(gantry_runtime_t *runtime, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    example_check(gantry_get_memory_info(runtime, device, &info), "gantry_get_memory_info");
    return info;
}

static void show(gantry_runtime_t *runtime, const char *device) {
    (void)printf("%s: %.1f MiB in use\n", device, mib(info_of(runtime, device).requested_bytes));
}

/* The error of the last make. */
static char message[2048];

/* A tensor of `halves` halves of a MiB on a device, owned by the caller; NULL if there is no memory
 * for it. */
static gantry_tensor_t *make(gantry_runtime_t *runtime, const char *device, const char *tag,
                             int64_t halves) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    example_check(gantry_scope_status(scope), "gantry_scope_begin");
    example_check(gantry_scope_set_tag(scope, tag), "gantry_scope_set_tag");
    const gantry_tensor_t *zeros =
        gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(halves, 256, 512));
    gantry_tensor_t *tensor = zeros ? gantry_scope_keep(scope, zeros) : NULL;
    if (tensor) example_check(gantry_tensor_wait(tensor), "gantry_tensor_wait");
    (void)snprintf(message, sizeof message, "%s", gantry_scope_message(scope));
    gantry_status_t status = gantry_scope_end(scope);
    if (tensor) return tensor;
    if (status != GANTRY_RESOURCE_EXHAUSTED) example_check(status, "gantry_zeros");
    return NULL;
}

static gantry_tensor_t *must_make(gantry_runtime_t *runtime, const char *device, const char *tag,
                                  int64_t halves) {
    gantry_tensor_t *tensor = make(runtime, device, tag, halves);
    if (tensor) return tensor;
    (void)fprintf(stderr, "%s: %.1f MiB for %s: %s\n", device, (double)halves / 2, tag, message);
    exit(1);
}

/* ---- growth ---- */

static void grow(void) {
    heading("Growth: memory is taken when it is needed");
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *card = find_card(runtime);
    example_check(gantry_set_memory_growth(runtime, card, true), "gantry_set_memory_growth");
    expect(info_of(runtime, wanted).pool_bytes == 0, "no memory is taken before the first tensor");
    gantry_tensor_t *small = must_make(runtime, wanted, "small", 1);
    show(runtime, wanted);
    expect(info_of(runtime, wanted).pool_bytes == 2 * MIB, "the first region has 2 MiB");
    gantry_tensor_t *large = must_make(runtime, wanted, "large", 2 * 12);
    show(runtime, wanted);
    expect(info_of(runtime, wanted).pool_bytes == 18 * MIB,
           "the next region is doubled until 12 MiB fit: 16 MiB more");
    expect(gantry_set_memory_growth(runtime, card, false) == GANTRY_FAILED_PRECONDITION,
           "a setting cannot be changed once the device is in use");
    (void)printf("  %s\n", gantry_last_message());
    gantry_tensor_release(small);
    gantry_tensor_release(large);
    gantry_runtime_release(runtime);
}

static void take_all(void) {
    heading("Without growth: the first tensor takes the whole limit");
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *card = find_card(runtime);
    example_check(gantry_set_memory_growth(runtime, card, false), "gantry_set_memory_growth");
    example_check(gantry_set_memory_limit(runtime, card, 64 * MIB), "gantry_set_memory_limit");
    gantry_tensor_t *tensor = must_make(runtime, wanted, "small", 1);
    gantry_memory_info_t info = info_of(runtime, wanted);
    expect(info.pool_bytes > 32 * MIB && info.region_count == 1,
           "the pool is one region of nearly the limit");
    gantry_tensor_release(tensor);
    gantry_runtime_release(runtime);
}

/* ---- a limit ---- */

static void limit(void) {
    heading("A limit of 256 MiB");
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *card = find_card(runtime);
    example_check(gantry_set_memory_limit(runtime, card, 256 * MIB), "gantry_set_memory_limit");
    gantry_setting_t setting = {.struct_size = sizeof setting};
    example_check(gantry_get_setting(runtime, "memory_limit", card, &setting),
                  "gantry_get_setting");
    (void)printf("memory_limit = %s, set by %s\n", setting.value, setting.set_by);
    expect(setting.source == GANTRY_FROM_CALL, "the call overrules options and environment");
    expect(info_of(runtime, wanted).limit_bytes == 256 * MIB, "the device has the limit");
    expect(!make(runtime, wanted, "too large", 2 * 300), "300 MiB are refused");
    gantry_tensor_t *tensor = must_make(runtime, wanted, "fits", 2 * 200);
    expect(info_of(runtime, wanted).pool_bytes <= 256 * MIB,
           "200 MiB fit, and the pool stays below the limit");
    gantry_tensor_release(tensor);
    gantry_runtime_release(runtime);
}

/* ---- virtual devices ---- */

/* Finds the logical devices of the card. Returns whether there are two. */
static bool find_parts(gantry_runtime_t *runtime, const gantry_physical_device_t *card,
                       const char *names[2]) {
    const gantry_logical_device_t *all[32];
    size_t count, found = 0;
    example_check(gantry_list_logical_devices(runtime, NULL, 32, all, &count),
                  "gantry_list_logical_devices");
    for (size_t i = 0; i < count && i < 32; ++i) {
        if (gantry_logical_device_physical(all[i]) != card) continue;
        if (found < 2) names[found] = gantry_logical_device_name(all[i]);
        ++found;
    }
    return found == 2;
}

static void split(void) {
    heading("Two virtual devices of 1024 MB");
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *card = find_card(runtime);
    const gantry_logical_device_config_t parts[2] = {{.memory_limit_bytes = 1024 * MIB},
                                                     {.memory_limit_bytes = 1024 * MIB}};
    example_check(gantry_set_logical_device_configuration(runtime, card, parts, 2),
                  "gantry_set_logical_device_configuration");
    const char *names[2] = {"", ""};
    expect(find_parts(runtime, card, names), "one physical device, two logical ones");
    gantry_tensor_t *tensor = must_make(runtime, names[1], "second", 2 * 16);
    for (int i = 0; i < 2; ++i) show(runtime, names[i]);
    expect(info_of(runtime, names[0]).limit_bytes == 1024 * MIB, "each has a limit of its own");
    expect(info_of(runtime, names[0]).pool_bytes == 0,
           "a tensor on the second one does not count on the first one");
    gantry_scope_t *scope = gantry_scope_begin(runtime, names[0]);
    gantry_tensor_t *copy = gantry_scope_keep(scope, gantry_identity(scope, tensor));
    example_check(gantry_scope_end(scope), "gantry_identity");
    expect(strcmp(gantry_logical_device_name(gantry_tensor_device(copy)), names[0]) == 0,
           "a tensor is copied between them");
    expect(info_of(runtime, names[0]).requested_bytes == 16 * MIB, "and the copy counts there");
    gantry_tensor_release(copy);
    gantry_tensor_release(tensor);
    gantry_runtime_release(runtime);
}

/* ---- statistics ---- */

static void count(void) {
    heading("Statistics: current, peak, reset");
    gantry_runtime_t *runtime = open_runtime();
    (void)find_card(runtime);
    gantry_tensor_t *kept = must_make(runtime, wanted, "kept", 2 * 4);
    gantry_tensor_release(must_make(runtime, wanted, "passing", 2 * 8));
    example_check(gantry_runtime_synchronize(runtime), "gantry_runtime_synchronize");
    gantry_memory_info_t info = info_of(runtime, wanted);
    (void)printf("%s: %.1f MiB in use, peak %.1f\n", wanted, mib(info.current_bytes),
                 mib(info.peak_bytes));
    expect(info.current_bytes / MIB == 4, "4 MiB are in use");
    expect(info.peak_bytes / MIB == 12, "12 MiB were at the peak");
    expect(info.allocation_count >= 2, "allocations are counted");
    example_check(gantry_reset_memory_stats(runtime, wanted), "gantry_reset_memory_stats");
    info = info_of(runtime, wanted);
    (void)printf("%s: %.1f MiB in use, peak %.1f\n", wanted, mib(info.current_bytes),
                 mib(info.peak_bytes));
    expect(info.peak_bytes == info.current_bytes && info.allocation_count == 0,
           "after the reset the peak is the memory in use");
    gantry_tensor_release(kept);
    gantry_runtime_release(runtime);
}

/* ---- out of memory ---- */

/* Prints the beginning of the report: the request and the steps that were tried. Leaves their
 * numbers out, because these differ between devices. */
static void show_report(gantry_runtime_t *runtime) {
    static char text[65536];
    size_t needed;
    example_check(
        gantry_get_oom_report(runtime, wanted, GANTRY_REPORT_TEXT, text, sizeof text, &needed),
        "gantry_get_oom_report");
    const char *line = text;
    for (int i = 0; *line && (i < 2 || *line == ' '); ++i) {
        (void)printf("  | %.*s\n", (int)strcspn(line, i < 2 ? "\n" : ":\n"), line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    expect(strstr(text, "parameters") != NULL,
           "the report names the holder of the memory: \"parameters\"");
    example_check(
        gantry_get_oom_report(runtime, wanted, GANTRY_REPORT_JSON, text, sizeof text, &needed),
        "gantry_get_oom_report");
    expect(text[0] == '{', "programs get the report as JSON");
}

static void run_out(void) {
    heading("Out of memory");
    gantry_runtime_t *runtime = open_runtime();
    example_check(gantry_set_memory_limit(runtime, find_card(runtime), 64 * MIB),
                  "gantry_set_memory_limit");
    gantry_tensor_t *parameters = must_make(runtime, wanted, "parameters", 2 * 16);
    gantry_tensor_t *cache = must_make(runtime, wanted, "cache", 2 * 16);
    show(runtime, wanted);
    expect(!make(runtime, wanted, "activations", 2 * 36),
           "36 MiB more do not fit: the op fails, and the program continues");
    const char *numbers = strstr(message, ": "); /* these differ between devices */
    (void)printf("  %.*s\n", numbers ? (int)(numbers - message) : (int)strlen(message), message);
    expect(strstr(message, "OOM when allocating tensor with shape[72,256,512]") != NULL,
           "the message names the tensor");
    show_report(runtime);
    expect(info_of(runtime, wanted).out_of_memory_count > 0, "it is counted");
    gantry_tensor_release(cache);
    gantry_tensor_t *activations = must_make(runtime, wanted, "activations", 2 * 36);
    show(runtime, wanted);
    expect(true, "after the release of the cache the same op succeeds");
    gantry_tensor_release(activations);
    gantry_tensor_release(parameters);
    uint64_t pool_bytes = 1;
    example_check(gantry_trim_memory(runtime, wanted, 0, &pool_bytes), "gantry_trim_memory");
    show(runtime, wanted);
    expect(pool_bytes == 0, "with nothing in use, trim returns all memory to the driver");
    gantry_runtime_release(runtime);
}

/* ---- */

static void choose_device(void) {
    gantry_runtime_t *runtime = open_runtime();
    size_t count;
    example_check(gantry_list_physical_devices(runtime, "GPU", 0, NULL, &count),
                  "gantry_list_physical_devices");
    wanted = count > 0 ? "GPU:0" : "CPU:0";
    gantry_runtime_release(runtime);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--device") == 0) {
        wanted = argv[2];
    } else if (argc == 1) {
        choose_device();
    } else {
        (void)fprintf(stderr, "usage: memory_control [--device NAME]\n");
        return 2;
    }
    grow();
    take_all();
    limit();
    split();
    count();
    run_out();
    (void)printf("\nAll expectations were met.\n");
    return 0;
}
