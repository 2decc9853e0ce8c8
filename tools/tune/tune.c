/* SPDX-License-Identifier: Apache-2.0 */
/* gantry tune: measures the variants that this machine's devices offer, and keeps the best ones in
 * the user's tuning file, each as soon as it is known. It ends when its time is up. If interrupted
 * it ends at once, and the records stay. */
#include "tune/tune.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "common/tool.h"
#include "base/os/clock.h"

#define PAUSE_MS 40 /* idle threads of a pool spin for up to some 20 ms */
#define MOST_TASKS 64
#define INTERRUPTED 130
#define LEAST_SECONDS 1e-3
#define MOST_SECONDS 86400
#define BUSY 0.1 /* the share of the cores' time that counts as busy */

/* ---- services for the parts ---- */

bool tune_is_over(const tune_t *tune) {
    return gantry__os_is_asked_to_end() || gantry__now_ns() >= tune->deadline_ns;
}

void tune_pause(void) { gantry__os_sleep_ns(PAUSE_MS * UINT64_C(1000000)); }

/* Whether one of the two begins with the other: "cpu" selects all records that begin with it. */
static bool begin_alike(const char *a, const char *b) {
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, length) == 0;
}

bool tune_wants(const tune_t *tune, const char *what) {
    return !tune->only || strncmp(what, tune->only, strlen(tune->only)) == 0;
}

bool tune_begins_class(tune_t *tune, const char *what, uint64_t deadline, int left,
                       bool *is_first) {
    return tune_wants(tune, what) && tune_takes_share(tune, what, deadline, left, is_first);
}

bool tune_takes_share(tune_t *tune, const char *what, uint64_t deadline, int left, bool *is_first) {
    uint64_t now = gantry__now_ns();
    if (now >= deadline && !*is_first) {
        printf("  %s: not measured: time is up\n", what);
        return false;
    }
    tune->deadline_ns = now >= deadline ? now : now + (deadline - now) / (uint64_t)left;
    *is_first = false;
    return true;
}

void tune_save(tune_t *tune, const char *what, const char *values) {
    if (!tune->is_dry &&
        gantry_put_tuning(tune->runtime, tune->device, what, values) != GANTRY_OK) {
        ++tune->failed;
        printf("  %s  %s\n    not kept: %s\n", what, values, gantry_last_message());
    } else {
        tune->found += strcmp(tune->last, what) != 0;
        (void)snprintf(tune->last, sizeof tune->last, "%s", what);
        printf("  %s  %s%s\n", what, values, tune->is_dry ? "  (not kept: --dry-run)" : "");
    }
    (void)fflush(stdout);
    if (!tune->json) return;
    gantry_json_object(tune->json, NULL);
    gantry_json_text(tune->json, "device", tune->details.alias);
    gantry_json_text(tune->json, "what", what);
    gantry_json_text(tune->json, "values", values);
    gantry_json_end(tune->json);
}

/* ---- options ---- */

typedef struct options_t {
    const char *device, *what;
    double seconds;
    bool is_dry, lists, resets;
    const tune_forms_t *forms; /* NULL: none */
    gantry_json_t *json;       /* NULL: text */
} options_t;

/* ---- devices, and the tunable parts of each ---- */

typedef struct task_t {
    const gantry_physical_device_t *device;
    gantry_device_details_t details;
    void (*run)(tune_t *tune);
} task_t;

static const struct {
    const char *what, *backend,
        *type; /* NULL: any; "clblast", if the user names it, fits any type of device */
    void (*run)(tune_t *tune);
} kinds[] = {{"cpu.matmul.float32", "cpu", "CPU", tune_cpu_products},
             {"opencl.cpu_matmul.float32", "opencl", "CPU", tune_opencl_blocks},
             {"clblast", "opencl", "GPU", tune_clblast},
             {"cublaslt.matmul.float32", "cuda", "GPU", tune_cublas},
             {"cudnn", "cuda", "GPU", tune_convolutions},
             {"crossover", NULL, NULL, tune_crossover}};

static bool tune_fits(const options_t *options, const gantry_device_details_t *details,
                      size_t kind) {
    if (kinds[kind].backend && strcmp(details->backend, kinds[kind].backend) != 0) return false;
    if (options->what && !begin_alike(options->what, kinds[kind].what)) return false;
    bool by_name = options->what && strncmp(options->what, "clblast", 7) == 0;
    return by_name || !kinds[kind].type || strcmp(details->type, kinds[kind].type) == 0;
}

/* Whether records of any device begin with the text. */
static bool is_known_record(const char *what) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        if (begin_alike(what, kinds[k].what)) return true;
    }
    return false;
}

/* Whether a task has a device of the same name, which shares its records. */
static bool tune_is_known(gantry_runtime_t *runtime, const task_t *tasks, size_t count,
                          const gantry_physical_device_t *device) {
    char name[256], other[256];
    if (gantry_get_tuning_name(runtime, device, name, sizeof name, NULL) != GANTRY_OK) return true;
    for (size_t i = 0; i < count; ++i) {
        if (tasks[i].device != device &&
            gantry_get_tuning_name(runtime, tasks[i].device, other, sizeof other, NULL) ==
                GANTRY_OK &&
            strcmp(name, other) == 0)
            return true;
    }
    return false;
}

/* Lists the tasks of the device, or of all devices if it is NULL. */
static size_t list_tasks(gantry_runtime_t *runtime, const options_t *options,
                         const gantry_physical_device_t *device, task_t *tasks) {
    const gantry_physical_device_t *views[TUNE_MOST_VIEWS];
    size_t views_count = 0, count = 0;
    if (gantry_list_device_views(runtime, TUNE_MOST_VIEWS, views, &views_count) != GANTRY_OK)
        return 0;
    for (size_t i = 0; i < views_count && i < TUNE_MOST_VIEWS; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (gantry_get_device_details(runtime, views[i], &details) != GANTRY_OK) continue;
        if (device && views[i] != device) continue;
        if (tune_is_known(runtime, tasks, count, views[i])) continue;
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && count < MOST_TASKS; ++k) {
            if (tune_fits(options, &details, k))
                tasks[count++] = (task_t){views[i], details, kinds[k].run};
        }
    }
    return count;
}

static bool have_convolutions(const task_t *tasks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (tasks[i].run == tune_convolutions) return true;
    }
    return false;
}

/* ---- tuning ---- */

static int tune_all(gantry_runtime_t *runtime, const options_t *options,
                    const gantry_physical_device_t *device) {
    task_t tasks[MOST_TASKS];
    tune_t tune = {.runtime = runtime,
                   .only = options->what,
                   .is_dry = options->is_dry,
                   .forms = options->forms,
                   .json = options->json};
    const size_t count = list_tasks(runtime, options, device, tasks);
    const uint64_t end = gantry__now_ns() + (uint64_t)(options->seconds * 1e9);
    const char *path = NULL;
    tune_machine_t machine;
    tune_machine_begin(&machine);
    if (!options->is_dry && gantry_get_tuning_file(runtime, &path) != GANTRY_OK) {
        (void)fprintf(stderr, "gantry: %s\n", gantry_last_message());
        return 1;
    }
    if (count == 0) printf("There is nothing to tune here.\n");
    if (options->forms && !have_convolutions(tasks, count))
        printf("No selected device measures the convolutions of --forms.\n");
    for (size_t i = 0; i < count && !gantry__os_is_asked_to_end(); ++i) {
        uint64_t now = gantry__now_ns();
        tune.device = tasks[i].device;
        tune.details = tasks[i].details;
        tune.last[0] = '\0';
        tune.deadline_ns = now >= end ? now : now + (end - now) / (count - i);
        printf("%s: %s\n", tune.details.alias, tune.details.hardware_name);
        (void)fflush(stdout);
        if (now >= end) printf("  not tuned: time is up\n");
        if (now < end) tasks[i].run(&tune);
    }
    printf("%s%zu record%s %s%s\n", gantry__os_is_asked_to_end() ? "interrupted; " : "", tune.found,
           tune.found == 1 ? "" : "s", options->is_dry ? "found" : "kept in ",
           options->is_dry ? "" : path);
    double others = tune_machine_others(&machine);
    if (others > BUSY)
        printf(
            "Other processes used %.0f%% of the cores' time meanwhile: tune again when the machine is idle.\n",
            100 * others);
    return gantry__os_is_asked_to_end() ? INTERRUPTED : tune.failed > 0 ? 1 : 0;
}

/* ---- the file ---- */

typedef struct listing_t {
    const options_t *options;
    char name[256]; /* of the selected device; "": all */
    size_t count;
} listing_t;

static bool print_record(void *user, const gantry_tuning_record_t *record) {
    listing_t *listing = user;
    const char *what = listing->options->what;
    if (listing->name[0] != '\0' && strcmp(listing->name, record->device) != 0) return true;
    if (what && strncmp(record->what, what, strlen(what)) != 0) return true;
    ++listing->count;
    gantry_json_t *json = listing->options->json;
    if (!json) {
        printf("%s  (%s)\n  %s  %s\n", record->device, record->measured, record->what,
               record->values);
        return true;
    }
    gantry_json_object(json, NULL);
    gantry_json_text(json, "machine", record->device);
    gantry_json_text(json, "measured", record->measured);
    gantry_json_text(json, "what", record->what);
    gantry_json_text(json, "values", record->values);
    gantry_json_end(json);
    return true;
}

/* Lists or removes the records of the device, or of all devices if it is NULL. */
static int list_or_reset(gantry_runtime_t *runtime, const options_t *options,
                         const gantry_physical_device_t *device) {
    listing_t listing = {.options = options};
    const char *path = NULL;
    size_t removed = 0;
    gantry_status_t status = gantry_get_tuning_file(runtime, &path);
    if (device && status == GANTRY_OK)
        status = gantry_get_tuning_name(runtime, device, listing.name, sizeof listing.name, NULL);
    if (status == GANTRY_OK) {
        status = options->resets ? gantry_remove_tuning(runtime, device, options->what, &removed)
                                 : gantry_list_tuning(runtime, print_record, &listing);
    }
    if (status != GANTRY_OK) {
        (void)fprintf(stderr, "gantry: %s\n", gantry_last_message());
        return 1;
    }
    if (options->resets)
        printf("%zu record%s removed from %s\n", removed, removed == 1 ? "" : "s", path);
    if (!options->resets)
        printf("%zu record%s in %s\n", listing.count, listing.count == 1 ? "" : "s", path);
    return 0;
}

/* ---- the command ---- */

static int tune_run_kinds(gantry_runtime_t *runtime, const options_t *options) {
    const gantry_physical_device_t *device = NULL;
    if (options->device &&
        gantry_find_physical_device(runtime, options->device, &device) != GANTRY_OK) {
        (void)fprintf(stderr, "gantry: --device: %s\n", gantry_last_message());
        return 1;
    }
    return options->lists || options->resets ? list_or_reset(runtime, options, device)
                                             : tune_all(runtime, options, device);
}

/* Records go to standard output as JSON, and the lines for people to standard error meanwhile. */
static int run_as_json(gantry_runtime_t *runtime, options_t *options) {
    FILE *file = gantry__os_output_take();
    gantry_json_t json;
    if (!file) return gantry_tool_fail("standard output cannot be used: %s", strerror(errno));
    gantry_json_init(&json, file);
    gantry_json_object(&json, NULL);
    gantry_json_array(&json, "records");
    options->json = &json;
    const int code = tune_run_kinds(runtime, options);
    gantry_json_end(&json);
    gantry_json_bool(&json, "interrupted", code == INTERRUPTED);
    gantry_json_end(&json);
    if (fclose(file) == 0) return code;
    return gantry_tool_fail("standard output cannot be written: %s", strerror(errno));
}

/* Writes the backend's own name ("opencl:0") of the user's device. The runtime for this has the
 * user's settings, because they decide which devices count as GPUs. */
static bool read_alias(const char *device, char *out, size_t out_bytes) {
    bool is_verbose = false;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = gantry_tool_log, .log_user = &is_verbose};
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_physical_device_t *found;
    gantry_runtime_t *runtime = NULL;
    bool is_good = gantry_runtime_create(&options, &runtime) == GANTRY_OK &&
                   gantry_find_physical_device(runtime, device, &found) == GANTRY_OK &&
                   gantry_get_device_details(runtime, found, &details) == GANTRY_OK;
    if (is_good) (void)snprintf(out, out_bytes, "%s", details.alias);
    if (!is_good) (void)fprintf(stderr, "gantry: --device: %s\n", gantry_last_message());
    gantry_runtime_release(runtime);
    return is_good;
}

/* Opens the runtime, and runs with the options. */
static int run_on_devices(const gantry_command_values_t *values, options_t *options) {
    gantry_runtime_options_t runtime_options = {
        .struct_size = sizeof runtime_options,
        .opencl_cpu_as_gpu = GANTRY_OFF /* a device's type decides which product it uses */};
    gantry_runtime_t *runtime = gantry_command_open_runtime(values, &runtime_options);
    if (!runtime) return GANTRY_TOOL_FAILED;
    gantry__os_note_requests();
    const int code = gantry_command_has(values, "json") ? run_as_json(runtime, options)
                                                        : tune_run_kinds(runtime, options);
    gantry_runtime_release(runtime);
    return code;
}

static int tune_run(const gantry_command_values_t *values) {
    options_t options = {.device = gantry_command_value(values, "device"),
                         .what = gantry_command_value(values, "what"),
                         .seconds = 60,
                         .is_dry = gantry_command_has(values, "dry-run"),
                         .lists = gantry_command_has(values, "list"),
                         .resets = gantry_command_has(values, "reset")};
    char alias[64];
    if (!gantry_command_number(values, "seconds", LEAST_SECONDS, MOST_SECONDS, &options.seconds))
        return GANTRY_TOOL_WRONG_USAGE;
    if (options.lists && options.resets)
        return gantry_command_refuse(values->command, "--list and --reset exclude each other");
    if (options.what && !options.lists && !options.resets && !is_known_record(options.what))
        return gantry_command_refuse(
            values->command,
            "--what is \"%s\"; accepted: the beginning of %s..., %s..., %s..., %s..., %s or %s",
            options.what, kinds[0].what, kinds[1].what, kinds[2].what, kinds[3].what, kinds[4].what,
            kinds[5].what);
    if (options.device && !read_alias(options.device, alias, sizeof alias))
        return GANTRY_TOOL_FAILED;
    if (options.device) options.device = alias;
    tune_forms_t forms = {.list = NULL};
    const char *path = gantry_command_value(values, "forms");
    if (path && !tune_forms_read(&forms, path)) return GANTRY_TOOL_FAILED;
    if (path) options.forms = &forms;
    const int code = run_on_devices(values, &options);
    tune_forms_deinit(&forms);
    return code;
}

const gantry_command_t gantry_command_tune = {
    .name = "tune",
    .summary =
        "measures products, convolutions and what work costs on each device, and keeps the best for later runs",
    .description =
        "Records are kept in the user's tuning file (GANTRY_TUNING_FILE), each as soon as it is known, "
        "and every program that uses Gantry reads them. docs/tuning.md lists what is measured.",
    .options = {{"device", "DEVICE", "tunes only this device, such as cpu:0 or opencl:0",
                 .offer = GANTRY_OFFER_DEVICES},
                {"what", "NAME", "selects the records whose names begin with this"},
                {"forms", "FILE",
                 "measures the convolutions that the text names, such as a log at level debug",
                 .offer = GANTRY_OFFER_FILES},
                {"seconds", "N", "measures for so long, all devices together; 60 if not given"},
                {"dry-run", NULL, "prints the records and keeps none"},
                {"list", NULL, "lists the kept records, of every machine, and measures nothing"},
                {"reset", NULL, "removes the kept records, and measures nothing"},
                {"json", NULL,
                 "prints the records as one JSON object; other lines go to standard error"},
                GANTRY_OPTION_VERBOSE},
    .exit_codes = {{1, "a measurement failed, or a record could not be kept"},
                   {INTERRUPTED, "interrupted; the records found until then are kept"}},
    .examples = {{"gantry tune --device cpu:0 --seconds 20", NULL},
                 {"gantry tune --what crossover", "measures what work costs on each device"},
                 {"gantry tune --what cudnn --forms debug.log",
                  "measures the convolutions of a program that wrote this log"},
                 {"gantry tune --list", NULL}},
    .run = tune_run};
